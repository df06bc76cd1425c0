//! The declared machine compared with the measured one: who shares a core, latencies between logical CPUs, neighbours,
//! clocks. Pure: takes the probe's figures, returns sentences.
//!
//! Source of the methods: docs/PROBE.md.

mod cores;
mod latency;
mod lines;
mod sharing;
pub mod shown;
mod types;

#[cfg(test)]
mod tests;

pub use types::{Difference, Hardware, MAX_DIFFERENCES, PairCounts};

use crate::words::{finding, shortened};
use crate::{Finding, FindingKind};
use lines::sentence_part;
use sharing::Compared;
use threadwise_document::{Prose, prose};
use threadwise_machine::Topology;
use threadwise_study::probe::Probe;

/// Compares the declaration with the measurement.
///
/// Pairs that were not measured on their own follow from sets and from other pairs: a logical CPU that shares a core
/// with one of two siblings shares it with the other. Contradictory measurements are undecided. Time and memory grow
/// with the square of the probed logical CPUs.
pub fn compare(topology: &Topology, probe: &Probe) -> Hardware {
    let compared = Compared::new(topology, probe);
    if topology.identity.is_emulated() {
        return emulated(compared, probe);
    }
    let (mut differences, total) = compared.differences();
    let mut verdict = vec![compared.sharing(&differences, total)];
    let (latency, split) = latency::latency(topology, probe);
    differences.extend(split);
    verdict.extend(lines::neighbour(probe));
    verdict.extend(latency);
    verdict.extend(lines::clock(probe));
    verdict.extend(gaps(probe));
    differences.truncate(MAX_DIFFERENCES);
    Hardware {
        measured: compared.in_few_words(),
        measured_cores: compared.measured,
        undecided: compared.undecided,
        declared_cores: compared.cores.declared,
        pairs: compared.pairs,
        differences,
        verdict,
    }
}

/// Software emulation has no cores for logical CPUs to share: widths and latencies are the emulator's, and a figure
/// that looks like a neighbour's is not one.
fn emulated(compared: Compared<'_>, probe: &Probe) -> Hardware {
    let text = "Emulated: issue width and latencies are the emulator's, and say nothing about cores, siblings or \
     distances";
    Hardware {
        measured: prose!("nothing about who shares a core, since it is emulated"),
        undecided: probe.cpus.clone(),
        declared_cores: compared.cores.declared,
        // Whatever was measured, nothing follows from it.
        pairs: PairCounts { unknown: compared.pairs.all(), ..PairCounts::default() },
        verdict: std::iter::once(finding(FindingKind::ProbeEmulated, text, &[])).chain(gaps(probe)).collect(),
        ..Hardware::default()
    }
}

/// Gaps of the probe.
fn gaps(probe: &Probe) -> Option<Finding> {
    let mut parts = Vec::new();
    if probe.interrupted {
        parts.push(prose!("The probe was stopped before its end; only what it measured is reported here."));
    }
    if !probe.gaps.is_empty() {
        let texts: Vec<Prose> = probe.gaps.iter().map(|gap| sentence_part(gap).into()).collect();
        parts.push(prose!("Gaps: {}.", shortened(&texts)));
    }
    (!parts.is_empty()).then(|| finding(FindingKind::ProbeGap, Prose::join(parts, " "), &[]))
}
