//! A whole probe, in the order in which its answers are needed: shared cores, neighbours,
//! latencies, wake-ups, clocks. If one part fails, it is a gap, and the others continue.

use crate::bench::{Bench, ProbeError};
use crate::groups::groups;
use crate::latency::{self, LineBench, LiveLines};
use crate::live::LiveBench;
use crate::wakeup::{self, LiveWakes, WakeBench};
use crate::{clock, neighbour, siblings};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use threadwise_machine::topology::Group;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{Probe, ProbeForm};

/// A probe request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The machine as it declares itself: it determines the order of measurements, never the answer.
    pub topology: &'a Topology,
    /// Logical CPUs, from [`choose`].
    pub cpus: &'a [u32],
    /// How much.
    pub form: ProbeForm,
    /// Seed of every order.
    pub seed: u64,
    /// Root of the proc and sys folders.
    pub root: &'a Path,
}

/// A part of the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Shared cores.
    Siblings,
    /// Neighbours on siblings.
    Neighbours,
    /// Cache-line latency.
    Latency,
    /// Wake-ups of sleeping threads.
    Wakeups,
    /// Clocks.
    Clock,
}

impl Phase {
    /// As text for a progress display.
    pub fn words(self) -> &'static str {
        match self {
            Self::Siblings => "which logical CPUs share a core",
            Self::Neighbours => "neighbours on siblings",
            Self::Latency => "cache-line latency",
            Self::Wakeups => "wake-ups of sleeping threads",
            Self::Clock => "clocks",
        }
    }
}

/// The logical CPUs to probe, ascending: the requested ones, or all that this process may use.
///
/// # Errors
/// A requested CPU does not exist, is offline or not allowed; or none is left.
pub fn choose(topology: &Topology, wanted: Option<&CpuSet>) -> Result<Vec<u32>, ProbeError> {
    let allowed = topology.allowed();
    let Some(wanted) = wanted else { return Ok(allowed.iter().collect()) };
    if wanted.is_empty() {
        return Err(ProbeError::Cpus("no logical CPU to probe: the list is empty".to_owned()));
    }
    for cpu in wanted.iter() {
        let why = match topology.logical_cpus.iter().find(|known| known.os_id == cpu) {
            None => "this machine does not have it",
            Some(known) if !known.online => "it is offline",
            Some(_) if !allowed.contains(cpu) => "this process may not use it (cpuset or affinity mask)",
            Some(_) => continue,
        };
        return Err(ProbeError::Cpus(format!(
            "cannot probe logical CPU {cpu}: {why}; allowed are {allowed}"
        )));
    }
    Ok(wanted.iter().collect())
}

/// Probes this machine. If the user stops it, what was measured is kept and marked.
///
/// # Errors
/// The CPUs are not available, or the clock is too coarse.
pub fn probe(
    request: &Request<'_>,
    stop: &Arc<AtomicBool>,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<Probe, ProbeError> {
    let cpus = request.cpus.iter().copied().collect();
    let mut bench = LiveBench::new(&cpus, Arc::clone(stop))?;
    let mut lines = LiveLines::new(Arc::clone(stop))?;
    let mut wakes = LiveWakes::new(Arc::clone(stop));
    probe_on(request, Benches { kernels: &mut bench, lines: &mut lines, wakes: &mut wakes }, observe)
}

/// What measures.
pub struct Benches<'a> {
    /// Runs kernels.
    pub kernels: &'a mut dyn Bench,
    /// Passes cache lines.
    pub lines: &'a mut dyn LineBench,
    /// Wakes threads.
    pub wakes: &'a mut dyn WakeBench,
}

/// As [`probe`], on any bench.
///
/// # Errors
/// Those of the benches, except being stopped.
pub fn probe_on(
    request: &Request<'_>,
    benches: Benches<'_>,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<Probe, ProbeError> {
    let began = Instant::now();
    let Benches { kernels, lines, wakes } = benches;
    let mut probe =
        Probe { form: request.form, cpus: request.cpus.iter().copied().collect(), ..Probe::default() };
    let whole = cores_and_neighbours(request, kernels, &mut probe, observe)
        .and_then(|()| latencies(request, lines, &mut probe, observe))
        .and_then(|()| wakeups(request, wakes, &mut probe, observe))
        .and_then(|()| clocks(request, kernels, &mut probe, observe));
    match whole {
        Err(ProbeError::Stopped) => stopped(&mut probe),
        other => other?,
    }
    probe.duration_s = began.elapsed().as_secs_f64();
    Ok(probe)
}

/// Marks a stopped probe, and lists what it did not measure.
fn stopped(probe: &mut Probe) {
    probe.interrupted = true;
    let lacks = [
        (probe.neighbours.is_empty(), "neighbours"),
        (probe.latencies.is_empty() && probe.cpus.len() > 1, "cache-line latency"),
        (probe.wakeups.is_empty(), "wake-ups"),
        (probe.clocks.is_empty(), "clocks"),
    ];
    let lacks: Vec<&str> = lacks.into_iter().filter_map(|(lacks, what)| lacks.then_some(what)).collect();
    if !lacks.is_empty() {
        probe.gaps.push(format!("stopped before it was measured: {}", lacks.join(", ")));
    }
}

fn cores_and_neighbours(
    request: &Request<'_>,
    bench: &mut dyn Bench,
    probe: &mut Probe,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<(), ProbeError> {
    let declared = declared_cores(request);
    if request.cpus.len() > 1 {
        let asked = siblings::Request {
            cpus: request.cpus,
            declared_cores: &declared,
            form: request.form,
            seed: request.seed,
        };
        let found = siblings::measure(bench, &asked, &mut |share| observe(Phase::Siblings, share))?;
        probe.pairs = found.pairs;
        probe.sets = found.sets;
        probe.gaps.extend(found.gaps);
        unless_stopped(found.interrupted)?;
    } else {
        probe
            .gaps
            .push("one logical CPU: no other one to share a core with or to measure a latency to".to_owned());
    }
    observe(Phase::Neighbours, 0.0);
    // Our own siblings must not count as neighbours, whatever is declared.
    let (cores, kinds) = (groups(probe), kinds(request.topology));
    let watch = neighbour::Watch { kinds: &kinds, ..neighbour::Watch::of(request.form, &cores) };
    probe.neighbours = neighbour::watch(bench, request.cpus, &watch)?;
    Ok(())
}

fn latencies(
    request: &Request<'_>,
    lines: &mut dyn LineBench,
    probe: &mut Probe,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<(), ProbeError> {
    if request.cpus.len() < 2 {
        return Ok(());
    }
    let sets = |groups: &[Group]| groups.iter().map(|group| group.cpus.clone()).collect::<Vec<CpuSet>>();
    let asked = latency::Request {
        cpus: request.cpus,
        cores: &declared_cores(request),
        llcs: &sets(&request.topology.llc_domains),
        packages: &sets(&request.topology.packages),
        form: request.form,
        seed: request.seed,
    };
    let found = latency::measure(lines, &asked, &mut |share| observe(Phase::Latency, share))?;
    probe.latencies = found.pairs;
    probe.levels = found.levels;
    probe.gaps.extend(found.gaps);
    unless_stopped(found.interrupted)
}

fn wakeups(
    request: &Request<'_>,
    wakes: &mut dyn WakeBench,
    probe: &mut Probe,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<(), ProbeError> {
    let pairs = wakeup::representatives(request.topology, request.cpus);
    let asked = wakeup::Request { pairs: &pairs, form: request.form, seed: request.seed };
    let found = wakeup::measure(wakes, &asked, &mut |share| observe(Phase::Wakeups, share))?;
    probe.wakeups = found.wakeups;
    probe.gaps.extend(found.gaps);
    unless_stopped(found.interrupted)
}

fn clocks(
    request: &Request<'_>,
    bench: &mut dyn Bench,
    probe: &mut Probe,
    observe: &mut dyn FnMut(Phase, f64),
) -> Result<(), ProbeError> {
    observe(Phase::Clock, 0.0);
    let found = clock::measure(bench, request.root, request.cpus, request.form)?;
    probe.clocks = found.readings;
    probe.gaps.extend(found.gaps);
    unless_stopped(found.interrupted)
}

fn unless_stopped(interrupted: bool) -> Result<(), ProbeError> {
    if interrupted { Err(ProbeError::Stopped) } else { Ok(()) }
}

/// The logical CPUs of each core kind.
pub fn kinds(topology: &Topology) -> Vec<CpuSet> {
    topology.kinds.iter().map(|kind| kind.cpus.clone()).collect()
}

/// The declared cores, restricted to the probed CPUs.
fn declared_cores(request: &Request<'_>) -> Vec<CpuSet> {
    let probed: CpuSet = request.cpus.iter().copied().collect();
    let cores = request.topology.cores.iter().map(|core| core.cpus.intersection(&probed));
    cores.filter(|cpus| !cpus.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::topology::LogicalCpu;

    fn machine() -> Topology {
        let cpu = |os_id, allowed, online| LogicalCpu { os_id, allowed, online, ..LogicalCpu::default() };
        let logical_cpus = vec![cpu(0, true, true), cpu(1, false, true), cpu(2, false, false)];
        Topology { logical_cpus, ..Topology::default() }
    }

    fn refused(list: &str) -> String {
        choose(&machine(), Some(&CpuSet::parse_list(list).unwrap())).unwrap_err().to_string()
    }

    #[test]
    fn cpus_that_cannot_be_had_are_named_with_the_reason() {
        assert_eq!(choose(&machine(), None).unwrap(), [0]);
        assert_eq!(choose(&machine(), Some(&CpuSet::parse_list("0").unwrap())).unwrap(), [0]);
        assert!(refused("0,7").starts_with("cannot probe logical CPU 7: this machine does not have it"));
        assert!(refused("2").contains("it is offline"));
        assert!(refused("1").contains("may not use it"), "{}", refused("1"));
        assert!(refused("").contains("the list is empty"));
    }
}
