//! Counters of the processor per logical CPU of the placement: cycles, instructions, branches, cache
//! misses, and the slots of top-down analysis if there are such events.
//!
//! Source: [`crate::perf::cores`] (events), [`crate::perf::kept`] (scaling). A count is scaled to the
//! window; with each group goes the time in which the hardware counted, `GROUP_running_ns`, whose
//! share of the window shows the extent of the scaling.

use super::{Span, reading};
use crate::perf::cores::{Core, cores};
use crate::perf::kept::{Grown, Kept, Plan};
use crate::perf::msr::first_online;
use crate::perf::open::{Source, most_fds, source};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

/// The sampler.
pub struct Counters {
    opened: Result<Opened, Status>,
    start_ns: u64,
}

struct Opened {
    kept: Kept,
    cores: Vec<Core>,
}

impl Counters {
    /// Finds the counters below `root`.
    pub fn new(root: &Path) -> Self {
        Self::with(root, source(root))
    }

    /// The same with counters from `source`.
    pub fn with(root: &Path, mut source: Box<dyn Source>) -> Self {
        let opened = cores(root).map_err(|why| Status::Unsupported { why }).and_then(|cores| {
            try_out(source.as_mut(), &cores, first_online(root))?;
            // Three eighths of the limit; the clock takes as many.
            Ok(Opened { kept: Kept::new(source, most_fds(root) / 8 * 3), cores })
        });
        Self { opened, start_ns: 0 }
    }
}

/// Opens the first group of one logical CPU, to learn whether this user may.
fn try_out(source: &mut dyn Source, cores: &[Core], cpu: u32) -> Result<(), Status> {
    let core = cores.iter().find(|core| core.pmu.counts_on(cpu)).or(cores.first());
    let Some(plan) = core.and_then(|core| core.plans.first()) else { return Ok(()) };
    let cpu = core.and_then(|core| core.pmu.cpus.as_ref()?.first()).unwrap_or(cpu);
    let events: Vec<_> = plan.metrics.iter().map(|(_, event)| event.clone()).collect();
    source.open(cpu, &events).map(|_| ()).map_err(|error| error.status())
}

fn plans_of(cores: &[Core], cpu: u32) -> Vec<Plan> {
    cores.iter().find(|core| core.pmu.counts_on(cpu)).map(|core| core.plans.clone()).unwrap_or_default()
}

impl Sampler for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn status(&self) -> Status {
        self.opened.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        if let Ok(Opened { kept, cores }) = &mut self.opened {
            kept.start(at.cpus, |cpu| plans_of(cores, cpu));
        }
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let name = self.name();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let mut gap = |metric: &str, why: String| readings.push(reading(name, metric, None, span, Err(why)));
        let Opened { kept, cores } = match &mut self.opened {
            Ok(opened) => opened,
            Err(Status::Denied { why, remedy }) => return gap("cycles", format!("{why}; {remedy}")),
            Err(Status::Unsupported { why }) => return gap("cycles", why.clone()),
            Err(Status::Ready) => return gap("cycles", "not opened".to_owned()),
        };
        for (metric, why) in cores.iter().flat_map(|core| &core.lacks) {
            gap(metric, why.clone());
        }
        let window_ns = at.now_ns.saturating_sub(self.start_ns);
        let left_out = kept.finish(window_ns, |cpu, plan, grown| {
            group(name, cpu, plan, span, grown, readings);
        });
        readings.extend(left_out.map(|why| reading(name, "cycles", None, span, Err(why))));
    }
}

/// Readings of one group on one logical CPU.
fn group(
    name: &str,
    cpu: u32,
    plan: &Plan,
    span: Span,
    grown: Result<Grown, String>,
    readings: &mut Vec<Reading>,
) {
    let running = grown.as_ref().map(|grown| grown.running_ns as f64).map_err(Clone::clone);
    for (at, (metric, _)) in plan.metrics.iter().enumerate() {
        let value = grown.as_ref().map_err(Clone::clone).and_then(|grown| {
            grown.values.get(at).cloned().unwrap_or_else(|| Err("the kernel left it out".to_owned()))
        });
        readings.push(reading(name, metric, Some(cpu), span, value));
    }
    readings.push(reading(name, &format!("{}_running_ns", plan.name), Some(cpu), span, running));
}

#[cfg(test)]
mod tests {
    use super::super::testing::write;
    use super::*;
    use crate::perf::cores::testing::write_cpu;
    use crate::perf::kept::testing::{Series, Step, opened, read};
    use crate::perf::open::OpenError;
    use threadwise_machine::CpuSet;

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        write_cpu(root.path(), "cpu", 4, false);
        write(root.path(), "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
        root
    }

    fn window(sampler: &mut Counters, list: &str, end_ns: u64) -> Vec<Reading> {
        let cpus = CpuSet::parse_list(list).unwrap();
        let mut readings = Vec::new();
        sampler.start(&Moment { now_ns: 0, cpus: &cpus, pids: &[] });
        sampler.finish(&Moment { now_ns: end_ns, cpus: &cpus, pids: &[] }, &mut readings);
        readings
    }

    #[test]
    fn groups_are_scaled_and_one_that_never_ran_is_a_gap() {
        let no_branches = Some(OpenError::Unsupported("branches cannot be counted".into()));
        let steps = [
            // The trial of the first group.
            opened(),
            // Basic, without branches; then the cache group.
            Step::Open(Ok(vec![None, None, no_branches, None])),
            read(0, 0, &[0, 0, 0, 0]),
            opened(),
            read(0, 0, &[0]),
            // Basic ran half of the time, cache never.
            Step::Read(crate::perf::open::Snapshot {
                enabled_ns: 100,
                running_ns: 50,
                values: vec![Some(150), Some(300), None, Some(2)],
            }),
            read(100, 0, &[0]),
        ];
        let root = root();
        let mut sampler = Counters::with(root.path(), Box::new(Series::of(&[(0, &steps)])));
        assert_eq!(sampler.status(), Status::Ready);
        let readings = window(&mut sampler, "0", 100);
        let seen: Vec<_> = readings.iter().map(|one| (one.metric.as_str(), one.cpu, one.value)).collect();
        assert_eq!(
            seen,
            [
                ("l2_misses", None, None),
                ("slots", None, None),
                ("cycles", Some(0), Some(300.0)),
                ("instructions", Some(0), Some(600.0)),
                ("branches", Some(0), None),
                ("branch_misses", Some(0), Some(4.0)),
                ("basic_running_ns", Some(0), Some(50.0)),
                ("llc_misses", Some(0), None),
                ("cache_running_ns", Some(0), None),
            ]
        );
        assert_eq!(readings[4].gap.as_deref(), Some("branches cannot be counted"));
        assert!(readings[7].gap.as_ref().unwrap().contains("NMI watchdog"));
    }

    #[test]
    fn refusals_and_missing_units_are_the_status() {
        let empty = tempfile::tempdir().unwrap();
        let mut sampler = Counters::new(empty.path());
        assert!(matches!(sampler.status(), Status::Unsupported { .. }));
        assert!(window(&mut sampler, "0", 5)[0].gap.is_some());
        let denied = OpenError::Denied { why: "no".into(), remedy: "ask".into() };
        let steps = [Step::Open(Err(denied.clone()))];
        let root = root();
        let mut sampler = Counters::with(root.path(), Box::new(Series::of(&[(0, &steps)])));
        assert_eq!(sampler.status(), denied.status());
        assert_eq!(window(&mut sampler, "0", 5)[0].gap.as_deref(), Some("no; ask"));
    }

    #[test]
    fn the_live_system_counts_or_says_why_not() {
        let mut sampler = Counters::new(Path::new("/"));
        let cpus = threadwise_machine::pin::current_affinity().unwrap();
        let readings = window(&mut sampler, &cpus.to_string(), 1);
        assert!(!readings.is_empty());
        for one in &readings {
            assert_ne!(one.value.is_some(), one.gap.is_some(), "{one:?}");
        }
        match sampler.status() {
            Status::Ready => {}
            Status::Unsupported { why } => assert!(!why.is_empty()),
            Status::Denied { why, remedy } => assert!(!why.is_empty() && !remedy.is_empty()),
        }
    }
}
