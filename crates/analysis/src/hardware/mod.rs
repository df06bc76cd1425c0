//! The machine as declared beside the machine as measured: who shares a core, how far it is between
//! logical CPUs, co-runners, clocks. Pure; the probe's figures come in, sentences go out.
//!
//! Source of the methods: docs/PROBE.md.

mod clock;
mod co_runner;
mod cores;
mod latency;
mod sharing;
pub mod shown;

#[cfg(test)]
mod tests;

pub use crate::sections::hardware::document;

use crate::Finding;
use crate::findings::finding;
use crate::findings::words::MAX_LISTED;
use cores::Cores;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::Probe;

/// What a probe says about a declared machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Hardware {
    /// The probed logical CPUs as the system groups them into cores, ascending by first member.
    pub declared_cores: Vec<CpuSet>,
    /// The probed logical CPUs as measured: groups on one core, and single ones that were measured
    /// apart from every other. Ascending by first member.
    pub measured_cores: Vec<CpuSet>,
    /// Probed logical CPUs that are in none of `measured_cores`: some of their pairs were masked,
    /// moving, unclear or not measured, or contradict each other.
    pub undecided: CpuSet,
    /// Pairs of probed logical CPUs by how they compare.
    #[serde(rename = "pair_counts")]
    pub pairs: PairCounts,
    /// Where declaration and measurement differ, the first [`MAX_DIFFERENCES`]; those about cores
    /// come before those about latencies.
    pub differences: Vec<Difference>,
    /// What was measured in a few words, to stand after what is declared: `two cores (independent
    /// adds 1.04x, dependent adds 1.01x as long together)`.
    pub measured: Prose,
    /// What it means, line by line. Kinds: `probe-sharing`, `probe-co-runner`, `probe-latency`,
    /// `probe-clock`, `probe-gap`.
    pub verdict: Vec<Finding>,
}

/// Most entries in [`Hardware::differences`].
pub const MAX_DIFFERENCES: usize = 100;

/// Pairs of probed logical CPUs. The counts add up to all pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PairCounts {
    /// Measured as declared.
    pub agree: u64,
    /// Measured otherwise than declared.
    pub differ: u64,
    /// Measured without an answer: others' work on the same cores hid it.
    pub masked: u64,
    /// The answer changed while it was measured.
    pub moving: u64,
    /// The figures fit no answer, or contradict those of other pairs.
    pub unclear: u64,
    /// Not measured, and nothing follows from what was; or nothing is declared to compare with.
    pub unknown: u64,
}

/// Logical CPUs of which declaration and measurement say different things.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Difference {
    /// A pair, or a set of which it holds.
    #[serde(rename = "os_cpus")]
    pub cpus: CpuSet,
    /// What the system declares, such as `two cores`.
    pub declared: String,
    /// What was measured, such as `one core`.
    pub measured: String,
    /// One line with the figures.
    pub text: Prose,
}

impl Hardware {
    /// Whether logical CPUs were measured to share cores otherwise than declared.
    pub fn is_declared_wrongly(&self) -> bool {
        self.pairs.differ > 0
    }

    /// The differences about cores, as one text with the number of those that it leaves out.
    pub fn wrong_cores_text(&self) -> Prose {
        let about_cores = self.differences.iter().filter(|difference| difference.declared.contains("core"));
        let texts: Vec<Prose> = about_cores.map(|difference| difference.text.clone()).collect();
        let counted = spanning(&self.measured_cores, &self.declared_cores)
            + spanning(&self.declared_cores, &self.measured_cores);
        shortened_of(&texts, counted.max(texts.len()))
    }
}

/// How many sets have members in more than one of the others.
fn spanning(sets: &[CpuSet], others: &[CpuSet]) -> usize {
    let numbered = others.iter().enumerate();
    let place: BTreeMap<u32, usize> =
        numbered.flat_map(|(at, other)| other.iter().map(move |cpu| (cpu, at))).collect();
    let spans = |set: &&CpuSet| {
        let mut places = set.iter().filter_map(|cpu| place.get(&cpu));
        places.next().is_some_and(|first| places.any(|place| place != first))
    };
    sets.iter().filter(spans).count()
}

/// Compares what is declared with what was measured.
///
/// Pairs that were not measured on their own follow from sets and from other pairs: who shares a
/// core with one of two siblings shares it with the other. Measurements that contradict each other
/// are undecided. Time and memory grow with the square of the probed logical CPUs.
pub fn compare(topology: &Topology, probe: &Probe) -> Hardware {
    let cores = Cores::new(topology, probe);
    let pairs = cores.count();
    let (mut differences, total) = sharing::differences(&cores, probe);
    let differing = (differences.as_slice(), total);
    let mut verdict = vec![sharing::sharing(topology, probe, &cores, &pairs, differing)];
    let (latency, split) = latency::latency(topology, probe);
    differences.extend(split);
    verdict.extend(co_runner::co_runner(probe));
    verdict.extend(latency);
    verdict.extend(clock::clock(probe));
    verdict.extend(gaps(probe));
    differences.truncate(MAX_DIFFERENCES);
    Hardware {
        measured: sharing::in_few_words(probe, &cores, &pairs),
        measured_cores: cores.measured(),
        undecided: cores.undecided(),
        declared_cores: cores.declared,
        pairs,
        differences,
        verdict,
    }
}

/// What could not be had.
fn gaps(probe: &Probe) -> Option<Finding> {
    let mut parts = Vec::new();
    if probe.interrupted {
        parts.push(prose!("The probe was stopped before its end; what is reported here was measured."));
    }
    if !probe.gaps.is_empty() {
        let texts: Vec<Prose> = probe.gaps.iter().map(|gap| sentence_part(gap).into()).collect();
        parts.push(prose!("Gaps: {}.", shortened(&texts)));
    }
    (!parts.is_empty()).then(|| finding("probe-gap", Prose::join(parts, " "), &[]))
}

/// `one core`, `13 cores`.
fn count_of(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", numbers::count_word(count as u32), if count == 1 { "" } else { "s" })
}

/// A ratio of times, as `1.98x`.
fn slowed(ratio: f64) -> Prose {
    Prose::figure(numbers::value(ratio, "ratio"))
}

/// The first few, and how many more.
fn shortened(lines: &[Prose]) -> Prose {
    shortened_of(lines, lines.len())
}

/// The first few, and how many more of `total`.
fn shortened_of(lines: &[Prose], total: usize) -> Prose {
    let mut shown = Prose::join(lines.iter().take(MAX_LISTED).cloned(), "; ");
    if let more @ 1.. = total.saturating_sub(MAX_LISTED) {
        shown.push(prose!("; and {} more", more));
    }
    shown
}

/// A text without its full stop, to stand inside a sentence.
fn sentence_part(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}

/// `CPU 3`, `CPUs 0-1,8`; beyond what fits into a line how many.
fn cpus_text(cpus: &CpuSet) -> String {
    let text = cpus.to_string();
    match cpus.len() {
        1 => format!("CPU {text}"),
        many if text.len() > 30 => {
            format!("{} (the first is {})", numbers::counted(many, "CPU"), first(cpus))
        }
        _ => format!("CPUs {text}"),
    }
}

fn first(cpus: &CpuSet) -> u32 {
    cpus.first().unwrap_or(0)
}
