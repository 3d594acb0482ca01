//! Pods of the same kinds as in Karpenter's benchmark, drawn from a stream of our own.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore as _, SeedableRng as _};

/// One pod a line, `kind,label,selector,cpu_m,mem_Mi`, a fifth of each kind.
pub fn lines(count: usize) -> String {
    let mut stream = ChaCha8Rng::seed_from_u64(42);
    let mut below = |most: u32| stream.next_u32() % most;
    let mut lines = String::new();
    for at in 0..count {
        let mut label = || char::from(b'a' + below(7) as u8);
        let (label, other) = (label(), label());
        let (kind, label, selector) = match at / (count / 5).max(1) {
            1 => ("spread-zone", label.to_string(), other.to_string()),
            2 => ("spread-host", label.to_string(), other.to_string()),
            3 => ("affinity-zone", label.to_string(), label.to_string()),
            4 => ("anti-host", "nginx".to_owned(), "nginx".to_owned()),
            _ => ("generic", label.to_string(), "-".to_owned()),
        };
        let cpu = [100, 250, 500, 1000, 1500][below(5) as usize];
        let memory = [100, 256, 512, 1024, 2048, 4096][below(6) as usize];
        lines.push_str(&format!("{kind},{label},{selector},{cpu},{memory}\n"));
    }
    lines
}
