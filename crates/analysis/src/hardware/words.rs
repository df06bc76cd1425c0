//! Words that the lines of a probe share.

use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::CpuSet;

/// A ratio of times, as `1.98x`.
pub fn slowed(ratio: f64) -> Prose {
    Prose::figure(numbers::value(ratio, "ratio"))
}

/// A text without its full stop, for use inside a sentence.
pub fn sentence_part(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}

/// `CPU 3`, `CPUs 0-1,8`; their number if they do not fit into a line.
pub fn cpus_text(cpus: &CpuSet) -> String {
    let text = cpus.to_string();
    match cpus.len() {
        1 => format!("CPU {text}"),
        many if text.len() > 30 => {
            let first = cpus.first().unwrap_or(0);
            format!("{} (the first is {first})", numbers::counted(many, "CPU"))
        }
        _ => format!("CPUs {text}"),
    }
}

/// `41.0 ns to 52.3 ns`; one figure if both look the same.
pub fn from_to(low: Prose, high: Prose) -> Prose {
    if low == high { low } else { prose!("{} to {}", low, high) }
}
