//! Results of a probe compared with the declared machine.

use crate::Finding;
use crate::words::shortened_of;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::Prose;
use threadwise_machine::CpuSet;

/// Results of a probe compared with the declared machine.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Hardware {
    /// The probed logical CPUs as the system groups them into cores, ascending by first member.
    pub declared_cores: Vec<CpuSet>,
    /// The probed logical CPUs as measured: groups on one core, and single ones that were measured apart from every
    /// other. Ascending by first member.
    pub measured_cores: Vec<CpuSet>,
    /// Probed logical CPUs that are in none of `measured_cores`: some of their pairs were masked, moving, unclear or
    /// not measured, or contradict each other.
    pub undecided: CpuSet,
    /// Pairs of probed logical CPUs by how they compare.
    #[serde(rename = "pair_counts")]
    pub pairs: PairCounts,
    /// Differences between declaration and measurement, the first [`MAX_DIFFERENCES`]; those about cores come before
    /// those about latencies.
    pub differences: Vec<Difference>,
    /// The measurement in a few words, to follow the declaration: `two cores (independent adds 1.04x, dependent adds
    /// 1.01x as long together)`.
    pub measured: Prose,
    /// Findings, line by line. Kinds: `probe-sharing`, `probe-neighbour`, `probe-latency`, `probe-clock`, `probe-gap`.
    pub verdict: Vec<Finding>,
}

/// Most entries in [`Hardware::differences`].
pub const MAX_DIFFERENCES: usize = 100;

/// Pairs of probed logical CPUs. The counts add up to all pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct PairCounts {
    /// Measured as declared.
    pub agree: u64,
    /// Measured to differ from the declaration.
    pub differ: u64,
    /// Measured without an answer: neighbours on the same cores hid it.
    pub masked: u64,
    /// The answer changed while it was measured.
    pub moving: u64,
    /// The figures fit no answer, or contradict those of other pairs.
    pub unclear: u64,
    /// Not measured, and not implied by other measurements; or not declared.
    pub unknown: u64,
}

impl PairCounts {
    /// All pairs.
    pub fn all(&self) -> u64 {
        let Self { agree, differ, masked, moving, unclear, unknown } = self;
        agree + differ + masked + moving + unclear + unknown
    }
}

/// Logical CPUs whose declaration and measurement differ.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Difference {
    /// A pair, or a set in which every pair differs.
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

    /// The differences about cores, as one text with the number of those left out.
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
