//! Starting a machine anew: by its controller's own restart where there is one, else off and on again.
//!
//! How far it has come is noted in the machine's hold, so that any process goes on; the hold stays with its claim.

use model::{InstanceKey, Rebooted, Uid};
use provider::ProviderError;

use crate::{
    Power, back_end,
    errors::Doing,
    holders::Hold,
    machine::Machine,
    note::{Note, RebootNote, RebootStage},
    step::{PowerState, Reached, Record, Want},
};

const LOOK_AGAIN_SECONDS: u32 = 5;

impl Power {
    pub(crate) async fn reboot_machine(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        let held = self.holders.held().await?;
        let ours = self.machines.iter().find_map(|machine| {
            let hold = held.get(&machine.name).filter(|hold| hold.claim == key.claim)?;
            Some((machine, hold))
        });
        let Some((machine, hold)) = ours else {
            return Ok(Rebooted::NotAble { why: format!("{} holds no machine", key.name) });
        };
        let noted = Note::parse(hold.note.as_deref());
        let epoch = noted.as_ref().map(|note| note.epoch).unwrap_or_default();
        let begun = noted.and_then(|note| note.reboot).filter(|reboot| reboot.operation == operation);
        let go = |stage| RebootNote { operation: operation.to_owned(), stage };
        match begun.map(|reboot| reboot.stage) {
            Some(RebootStage::Issued) => Ok(Rebooted::Issued),
            None | Some(RebootStage::Restarting) => self.restart(machine, hold, epoch, go).await,
            Some(RebootStage::GoingOff) => self.switch_off(machine, hold, epoch, go).await,
            Some(RebootStage::ComingOn) => self.switch_on(machine, hold, epoch, go).await,
        }
    }

    /// In one command, if its controller takes one; else the first step of off and on.
    async fn restart(
        &self,
        machine: &Machine,
        hold: &Hold,
        epoch: u32,
        go: impl Fn(RebootStage) -> RebootNote,
    ) -> Result<Rebooted, ProviderError> {
        let reading = back_end::read(&self.caller(), machine, (self.clock)()).await?;
        let is_on = reading.power == PowerState::On;
        let stage = if is_on && reading.has_restart() { RebootStage::Restarting } else { RebootStage::GoingOff };
        let record = Record::fresh(if stage == RebootStage::Restarting { Want::On } else { Want::Off }, (self.clock)());
        let noted = go(stage);
        self.note(machine, &hold.claim, epoch, &record, Some(&noted)).await?;
        if stage == RebootStage::GoingOff {
            return Ok(Rebooted::InProgress { look_again_seconds: 1 });
        }
        let request_id = request_id(&hold.claim, machine, &noted.operation);
        back_end::restart(&self.caller(), machine, &reading, &hold.claim, &request_id, (self.clock)()).await?;
        self.note(machine, &hold.claim, epoch, &record, Some(&go(RebootStage::Issued))).await?;
        Ok(Rebooted::Issued)
    }

    async fn switch_off(
        &self,
        machine: &Machine,
        hold: &Hold,
        epoch: u32,
        go: impl Fn(RebootStage) -> RebootNote,
    ) -> Result<Rebooted, ProviderError> {
        let step = self.advance(Want::Off, machine, hold, Some(epoch), Some(&go(RebootStage::GoingOff))).await?;
        match step.reached {
            Reached::Working { look_again_seconds } => Ok(Rebooted::InProgress { look_again_seconds }),
            Reached::On | Reached::Off | Reached::GaveUp => {
                // The attempts are counted on: they are a part of the keys that receivers know commands by.
                let record = Record { attempt: step.record.attempt, ..Record::fresh(Want::On, (self.clock)()) };
                self.note(machine, &hold.claim, epoch, &record, Some(&go(RebootStage::ComingOn))).await?;
                Ok(Rebooted::InProgress { look_again_seconds: 1 })
            }
        }
    }

    async fn switch_on(
        &self,
        machine: &Machine,
        hold: &Hold,
        epoch: u32,
        go: impl Fn(RebootStage) -> RebootNote,
    ) -> Result<Rebooted, ProviderError> {
        let step = self.advance(Want::On, machine, hold, Some(epoch), Some(&go(RebootStage::ComingOn))).await?;
        match step.reached {
            Reached::Working { look_again_seconds } => {
                Ok(Rebooted::InProgress { look_again_seconds: look_again_seconds.max(LOOK_AGAIN_SECONDS) })
            }
            Reached::On => {
                self.note(machine, &hold.claim, epoch, &step.record, Some(&go(RebootStage::Issued))).await?;
                Ok(Rebooted::Issued)
            }
            Reached::Off | Reached::GaveUp => {
                let doing = Doing { what: format!("switch {} on again", machine.name), changes: true };
                Err(doing.unavailable("it did not come up within its attempts and boot budget"))
            }
        }
    }
}

fn request_id(claim: &Uid, machine: &Machine, operation: &str) -> String {
    format!("{claim}-{}-restart-{operation}", machine.name)
}
