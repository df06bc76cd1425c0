//! Measurement of the hardware before a study: the short probe.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use threadwise_machine::Topology;
use threadwise_probe::bench::ProbeError;
use threadwise_probe::whole::{self, Phase, Request};
use threadwise_study::probe::{Probe, ProbeForm};

/// The short probe of all allowed logical CPUs.
///
/// # Errors
/// See [`whole::probe`].
pub fn probe(
    topology: &Topology,
    seed: u64,
    stop: &Arc<AtomicBool>,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<Probe, ProbeError> {
    let cpus = whole::choose(topology, None)?;
    let request = Request { topology, cpus: &cpus, form: ProbeForm::Short, seed, root: Path::new("/") };
    whole::probe(&request, stop, observe)
}
