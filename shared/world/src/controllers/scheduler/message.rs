//! Why a pod fits nowhere, in the words of the real scheduler.

use std::collections::BTreeMap;

use super::filter::Rejection;

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
const NO_HELP: &str = "Preemption is not helpful for scheduling";

/// Reasons counted over nodes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    reasons: BTreeMap<String, usize>,
    preemption: BTreeMap<&'static str, usize>,
    pub(super) plugins: u16,
}

impl Tally {
    pub(super) fn add(&mut self, rejection: &Rejection) {
        for reason in &rejection.reasons {
            match self.reasons.get_mut(reason) {
                Some(count) => *count += 1,
                None => _ = self.reasons.insert(reason.clone(), 1),
            }
        }
        *self.preemption.entry(if rejection.for_good { NO_HELP } else { NO_VICTIMS }).or_insert(0) += 1;
        self.plugins |= rejection.plugin;
    }

    pub(super) fn message(&self, nodes: usize, never_preempts: bool) -> String {
        let reasons = listed(self.reasons.iter().map(|(reason, count)| (reason.as_str(), *count)));
        let preemption = listed(self.preemption.iter().map(|(reason, count)| (*reason, *count)));
        compose(nodes, &reasons, &preemption, never_preempts)
    }
}

/// A reason that holds whatever the node.
pub(super) fn for_every_node(nodes: usize, reason: &str) -> String {
    // No node was looked at, so preemption finds nothing to say about any.
    format!("0/{nodes} nodes are available: {reason}. not found")
}

fn listed<'a>(counted: impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut texts: Vec<String> = counted.map(|(reason, count)| format!("{count} {reason}")).collect();
    // Sorted as texts, counts and all, like the real one.
    texts.sort();
    texts.join(", ")
}

fn compose(nodes: usize, reasons: &str, preemption: &str, never_preempts: bool) -> String {
    if never_preempts {
        return format!(
            "0/{nodes} nodes are available: {reasons}. no new claims to deallocate, preemption: not eligible due to \
             preemptionPolicy=Never."
        );
    }
    format!(
        "0/{nodes} nodes are available: {reasons}. no new claims to deallocate, preemption: 0/{nodes} nodes are \
         available: {preemption}."
    )
}
