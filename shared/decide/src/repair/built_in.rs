//! The policies that hold where nobody says otherwise: the kubelet's own word, Azure's, those of node-problem-detector, and
//! what is known of GPU faults.

use jiff::SignedDuration;
use model::{NodeCondition, Truth, disruption::Remedy, names};
use regex::Regex;

use super::Policy;

/// A line of the table: condition, status, pattern of the reason, minutes, priority, remedy.
type Line = (&'static str, Truth, Option<&'static str>, i64, u8, Option<Remedy>);

const REBOOT: Option<Remedy> = Some(Remedy::Reboot);
const REPLACE: Option<Remedy> = Some(Remedy::Replace);

/// Faults of NVIDIA GPUs, by the number of their XID. The memory is worn out, or rows cannot be remapped any more: no restart
/// mends that.
const WORN_OUT: &str = r"(?i)xid\D{0,8}(64|92|160|161)(\D|$)";
/// Fallen off the bus, uncontained memory errors, links and firmware that hang: a restart helps.
const HUNG: &str = r"(?i)xid\D{0,8}(48|62|63|74|79|95|109|119|120|136|140|143|154)(\D|$)";
/// What a program did wrong, or what was contained: the GPU is well.
const OF_THE_PROGRAM: &str = r"(?i)xid\D{0,8}(8|13|31|43|45|68|69|94)(\D|$)";

const LINES: &[Line] = &[
    ("Ready", Truth::False, None, 10, 50, REBOOT),
    ("Ready", Truth::Unknown, None, 10, 50, REBOOT),
    ("kubernetes.azure.com/NodeHealthy", Truth::False, None, 10, 40, REPLACE),
    // node-problem-detector.
    ("KernelDeadlock", Truth::True, None, 10, 40, REBOOT),
    ("ReadonlyFilesystem", Truth::True, None, 10, 40, REBOOT),
    ("CorruptDockerOverlay2", Truth::True, None, 10, 30, REPLACE),
    ("FrequentKubeletRestart", Truth::True, None, 20, 20, REBOOT),
    ("FrequentDockerRestart", Truth::True, None, 20, 20, REBOOT),
    ("FrequentContainerdRestart", Truth::True, None, 20, 20, REBOOT),
    ("FrequentUnregisterNetDevice", Truth::True, None, 20, 20, REBOOT),
    // GPUs, as AKS's detector and the monitors of other clouds spell them.
    ("XIDErrors", Truth::True, Some(WORN_OUT), 5, 60, REPLACE),
    ("XIDErrors", Truth::True, Some(OF_THE_PROGRAM), 0, 0, None),
    ("XIDErrors", Truth::True, None, 5, 60, REBOOT),
    ("GPUMissing", Truth::True, None, 5, 60, REBOOT),
    ("NVLinkStatusInactive", Truth::True, None, 5, 60, REBOOT),
    ("IBLinkFlapping", Truth::True, None, 10, 60, REPLACE),
    ("AcceleratedHardwareReady", Truth::False, Some(WORN_OUT), 5, 60, REPLACE),
    ("AcceleratedHardwareReady", Truth::False, Some(HUNG), 5, 60, REBOOT),
    ("AcceleratedHardwareReady", Truth::False, Some(OF_THE_PROGRAM), 0, 0, None),
    ("AcceleratedHardwareReady", Truth::False, None, 10, 60, REBOOT),
];

/// Whether a cloud has said that it takes the machine away in a moment.
pub fn is_notice(condition: &NodeCondition) -> bool {
    condition.status == Truth::True && names::NOTICES.contains(&condition.kind.as_str())
}

pub fn built_in() -> Vec<Policy> {
    let line = |(condition, status, reason, minutes, priority, remedy): &Line| Policy {
        condition: (*condition).to_owned(),
        status: *status,
        // One that could not be read would be none, and a fallback with it: a test reads all of them.
        reason: reason.and_then(|pattern| Regex::new(pattern).ok()),
        tolerate: SignedDuration::from_mins(*minutes),
        drain_within: None,
        priority: *priority,
        remedy: *remedy,
        urgent: false,
    };
    let notice = |condition: &str| Policy {
        condition: condition.to_owned(),
        status: Truth::True,
        reason: None,
        tolerate: SignedDuration::ZERO,
        drain_within: None,
        priority: 100,
        remedy: REPLACE,
        urgent: true,
    };
    names::NOTICES.into_iter().map(notice).chain(LINES.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_read() {
        let patterns = LINES.iter().filter(|line| line.2.is_some()).count();
        assert_eq!(built_in().iter().filter(|policy| policy.reason.is_some()).count(), patterns);
    }
}
