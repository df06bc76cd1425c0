//! The checks: one function each, and one line each in [`REGISTRY`].

mod clock;
mod heat;
mod kernel;
mod limits;
mod load;
mod machine;
mod memory;
mod smt;

use crate::answer::Answer;
use crate::case::{Case, Facts};
use crate::check::Check;
use threadwise_machine::text::one_line;

type Look = fn(&Case<'_>) -> Answer;

/// Names and functions, in the order of the report: the most harmful first.
const REGISTRY: [(&str, Look); 32] = [
    ("other-load", load::other_load),
    ("database-server", load::database_server),
    ("steal", load::steal),
    ("neighbour", load::neighbour),
    ("virtual-machine", machine::virtual_machine),
    ("container", machine::container),
    ("cpu-quota", limits::cpu_quota),
    ("allowed-cpus", limits::allowed_cpus),
    ("memory-limit", limits::memory_limit),
    ("smt", smt::smt),
    ("core-scheduling", smt::core_scheduling),
    ("mitigations", smt::mitigations),
    ("governor", clock::governor),
    ("energy-preference", clock::energy_preference),
    ("turbo", clock::turbo),
    ("idle-states", clock::idle_states),
    ("thermal", heat::thermal),
    ("battery", heat::battery),
    ("time-source", clock::time_source),
    ("numa-balancing", memory::numa_balancing),
    ("sub-numa", memory::sub_numa),
    ("transparent-hugepages", memory::transparent_hugepages),
    ("reserved-hugepages", memory::reserved_hugepages),
    ("samepage-merging", memory::samepage_merging),
    ("swap", memory::swap),
    ("swappiness", memory::swappiness),
    ("irqbalance", kernel::irqbalance),
    ("isolated-cpus", kernel::isolated_cpus),
    ("scheduler", kernel::scheduler),
    ("autogroup", kernel::autogroup),
    ("nmi-watchdog", kernel::nmi_watchdog),
    ("perf", machine::perf),
];

/// Maximum characters of a line; a command is never cut, since half a command is worse than none.
const LINE_CHARS: usize = 300;

/// Runs all checks once, in a fixed order. Texts are single lines without control characters, whatever the files
/// contain.
pub fn examine(facts: &Facts<'_>) -> Vec<Check> {
    let case = Case::new(facts);
    let look = |(name, look): &(&'static str, Look)| {
        let answer = look(&case);
        Check {
            name,
            outcome: answer.outcome,
            found: one_line(&answer.found, LINE_CHARS),
            source: one_line(&answer.source, LINE_CHARS),
            remedy: answer.remedy.map(|remedy| one_line(&remedy, usize::MAX)),
        }
    };
    REGISTRY.iter().map(look).collect()
}
