//! What is measured of the hardware around a study: the short probe before it, and co-runners on the
//! siblings of our logical CPUs before and after every block.
//!
//! Methods and figures: docs/PROBE.md.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use threadwise_machine::{CpuSet, Topology};
use threadwise_probe::bench::ProbeError;
use threadwise_probe::co_runner::{self, Watch};
use threadwise_probe::groups::groups;
use threadwise_probe::live::LiveBench;
use threadwise_probe::whole::{self, Phase, Request};
use threadwise_study::Reading;
use threadwise_study::probe::{CoRunner, Probe, ProbeForm};

/// Windows of each kernel in a look before or after a block: 0.16 s a logical CPU of the fullest core.
const WINDOWS: u32 = 40;
/// Length of a window.
const WINDOW_NS: u64 = 2_000_000;

/// Threads that wait on our logical CPUs, and what the first probe found.
#[derive(Debug)]
pub struct Hardware {
    bench: LiveBench,
    /// Who may not be kept busy at the same time.
    cores: Vec<CpuSet>,
    kinds: Vec<CpuSet>,
    /// Adds per chain step of a free core of each kind, where the probe saw one.
    widths: Vec<Option<f64>>,
}

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

impl Hardware {
    /// Starts a sleeping thread on each probed logical CPU.
    ///
    /// # Errors
    /// See [`LiveBench::new`].
    pub fn new(topology: &Topology, probe: &Probe, stop: Arc<AtomicBool>) -> Result<Self, ProbeError> {
        let kinds = whole::kinds(topology);
        let of_kind = |kind: &CpuSet| {
            co_runner::width_of(probe.co_runners.iter().filter(|co_runner| kind.contains(co_runner.cpu)))
        };
        let widths = kinds.iter().map(of_kind).collect();
        Ok(Self { bench: LiveBench::new(&probe.cpus, stop)?, cores: groups(probe), kinds, widths })
    }

    /// Who is busy on the siblings of these logical CPUs now.
    ///
    /// # Errors
    /// The user asked to stop, or a CPU is gone.
    pub fn look(&mut self, cpus: &CpuSet) -> Result<Vec<CoRunner>, ProbeError> {
        let mut found = Vec::new();
        for (kind, width) in self.kinds.iter().zip(&self.widths) {
            let of_kind: Vec<u32> = cpus.intersection(kind).iter().collect();
            let watch = Watch {
                cores: &self.cores,
                kinds: std::slice::from_ref(kind),
                baseline: *width,
                windows: WINDOWS,
                window_ns: WINDOW_NS,
            };
            found.extend(co_runner::watch(&mut self.bench, &of_kind, &watch)?);
        }
        Ok(found)
    }
}

/// What a look that failed says of each logical CPU.
pub fn unknown(cpus: &CpuSet, why: &str) -> Vec<CoRunner> {
    let of_cpu = |cpu| CoRunner {
        cpu,
        windows: 0,
        adds_per_step_p10: None,
        adds_per_step_p50: None,
        adds_per_step_p90: None,
        busy_share: None,
        off_cpu_share: 0.0,
        why: why.to_owned(),
    };
    cpus.iter().map(of_cpu).collect()
}

/// What a look found on a run's own logical CPUs, as readings of the sampler `co-runner`; `when` is
/// `before` or `after`.
pub fn readings(
    co_runners: &[CoRunner],
    cpus: &CpuSet,
    when: &str,
    start_ns: u64,
    end_ns: u64,
) -> Vec<Reading> {
    let chosen = co_runners.iter().filter(|co_runner| cpus.contains(co_runner.cpu));
    chosen
        .flat_map(|co_runner| {
            let reading = |metric: &str, value: Option<f64>| Reading {
                sampler: "co-runner".to_owned(),
                metric: format!("{when}_{metric}"),
                cpu: Some(co_runner.cpu),
                start_ns,
                end_ns,
                value,
                gap: value.is_none().then(|| co_runner.why.clone()),
            };
            [
                reading("busy_share", co_runner.busy_share),
                reading("adds_per_step", co_runner.adds_per_step_p50),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_the_readings_of_its_own_cpus_and_gaps_keep_their_reason() {
        let co_runner = |cpu: u32, busy_share: Option<f64>| CoRunner {
            cpu,
            windows: 40,
            adds_per_step_p10: Some(2.5),
            adds_per_step_p50: Some(4.9),
            adds_per_step_p90: Some(5.0),
            busy_share,
            off_cpu_share: 0.0,
            why: "because".to_owned(),
        };
        let co_runners = [co_runner(0, Some(0.1)), co_runner(1, Some(0.9)), co_runner(2, None)];
        let cpus = CpuSet::parse_list("0,2").unwrap();
        let found = readings(&co_runners, &cpus, "before", 5, 9);
        let seen: Vec<_> =
            found.iter().map(|one| (one.metric.as_str(), one.cpu, one.value, one.gap.as_deref())).collect();
        assert_eq!(
            seen,
            [
                ("before_busy_share", Some(0), Some(0.1), None),
                ("before_adds_per_step", Some(0), Some(4.9), None),
                ("before_busy_share", Some(2), None, Some("because")),
                ("before_adds_per_step", Some(2), Some(4.9), None),
            ]
        );
        let failed = unknown(&cpus, "gone");
        let gaps = readings(&failed, &cpus, "after", 5, 9);
        assert_eq!(gaps.len(), 4);
        assert!(gaps.iter().all(|one| one.value.is_none() && one.gap.as_deref() == Some("gone")));
        assert!(found.iter().all(|one| one.sampler == "co-runner" && (one.start_ns, one.end_ns) == (5, 9)));
    }
}
