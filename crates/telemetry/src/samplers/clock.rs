//! Clocks of the logical CPUs of the placement: growth of APERF, MPERF and the time stamp counter, for
//! turbostat's figures ([`crate::perf::turbostat`]); without them, cpufreq's
//! current frequency times the window.
//!
//! Source: [`crate::perf::msr`]; kernel `Documentation/admin-guide/pm/cpufreq.rst` (`scaling_cur_freq`
//! is in kHz, and on many drivers the requested clock, not the actual one).

use super::{Counter, Span, reading};
use crate::perf::kept::{Kept, MOST_CPUS, Plan, evenly};
use crate::perf::msr::{self, APERF, MPERF, TSC};
use crate::perf::open::{Source, most_fds, source};
use crate::perf::turbostat::distrust;
use crate::{Moment, Sampler, Status};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use threadwise_machine::CpuSet;
use threadwise_study::Reading;

/// Metric of cpufreq's clock: MHz times nanoseconds.
const CPUFREQ: &str = "cpufreq_mhz_ns";

/// The sampler.
pub struct Clock {
    origin: Origin,
    start_ns: u64,
}

enum Origin {
    Registers {
        kept: Kept,
        plan: Plan,
    },
    /// Why the registers are missing.
    Cpufreq {
        files: Frequencies,
        why: String,
    },
    Nothing(Status),
}

impl Clock {
    /// Finds the source of clocks below `root`.
    pub fn new(root: &Path) -> Self {
        Self::with(root, source(root))
    }

    /// The same with counters from `source`.
    pub fn with(root: &Path, mut source: Box<dyn Source>) -> Self {
        let registers = msr::registers(root);
        let cpu = msr::first_online(root);
        let lack = match (registers.plan, registers.lack) {
            (Some(plan), None) => match msr::try_out(source.as_mut(), &plan, cpu) {
                Ok(()) => {
                    // Three eighths of the limit; the other perf sampler takes as many.
                    let kept = Kept::new(source, most_fds(root) / 8 * 3);
                    return Self { origin: Origin::Registers { kept, plan }, start_ns: 0 };
                }
                Err(error) => error.status(),
            },
            (_, lack) => Status::Unsupported { why: lack.unwrap_or_default() },
        };
        let mut files = Frequencies::new(root);
        let origin = match files.mhz(cpu) {
            Ok(_) => Origin::Cpufreq { files, why: line(&lack) },
            Err(_) => Origin::Nothing(without_cpufreq(lack)),
        };
        Self { origin, start_ns: 0 }
    }
}

fn line(status: &Status) -> String {
    match status {
        Status::Ready => String::new(),
        Status::Unsupported { why } => why.clone(),
        Status::Denied { why, remedy } => format!("{why}; {remedy}"),
    }
}

fn without_cpufreq(lack: Status) -> Status {
    match lack {
        Status::Unsupported { why } => Status::Unsupported { why: format!("{why}; and there is no cpufreq") },
        other => other,
    }
}

impl Sampler for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn status(&self) -> Status {
        match &self.origin {
            Origin::Nothing(status) => status.clone(),
            _ => Status::Ready,
        }
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        match &mut self.origin {
            Origin::Registers { kept, plan } => kept.start(at.cpus, |_| vec![plan.clone()]),
            Origin::Cpufreq { files, .. } => files.start(at.now_ns, at.cpus),
            Origin::Nothing(_) => {}
        }
    }

    fn tick(&mut self, at: &Moment<'_>) {
        if let Origin::Cpufreq { files, .. } = &mut self.origin {
            files.look(at.now_ns);
        }
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let name = self.name();
        match &mut self.origin {
            Origin::Registers { kept, plan: _ } => {
                let window_ns = at.now_ns.saturating_sub(self.start_ns);
                let left_out = kept.finish(window_ns, |cpu, plan, grown| {
                    let values = [APERF, MPERF, TSC].into_iter().zip(values(plan, grown));
                    readings
                        .extend(values.map(|(metric, value)| reading(name, metric, Some(cpu), span, value)));
                });
                readings.extend(left_out.map(|why| reading(name, APERF, None, span, Err(why))));
            }
            Origin::Cpufreq { files, why } => {
                files.look(at.now_ns);
                readings.push(reading(name, APERF, None, span, Err(why.clone())));
                readings.extend(
                    files
                        .cpus
                        .iter()
                        .map(|(&cpu, seen)| reading(name, CPUFREQ, Some(cpu), span, seen.mhz_ns.clone())),
                );
                let left_out = files.left_out.clone();
                readings.extend(left_out.map(|why| reading(name, CPUFREQ, None, span, Err(why))));
            }
            Origin::Nothing(status) => readings.push(reading(name, APERF, None, span, Err(line(status)))),
        }
    }
}

/// Growth of APERF, MPERF and TSC. Registers that were read but do not move are a gap.
fn values(plan: &Plan, grown: Result<crate::perf::kept::Grown, String>) -> [Result<f64, String>; 3] {
    let grown = match grown {
        Ok(grown) => grown,
        Err(why) => return [Err(why.clone()), Err(why.clone()), Err(why)],
    };
    let counts = msr::counts(plan, &grown);
    let frozen = counts.aperf.zip(counts.mperf).and_then(|(aperf, mperf)| distrust(aperf, mperf));
    let value = |count: Option<u64>| {
        count
            .map(|count| count as f64)
            .ok_or_else(|| "the counter ran backwards or was not opened".to_owned())
    };
    let of_pair = |count| frozen.clone().map_or_else(|| value(count), Err);
    [of_pair(counts.aperf), of_pair(counts.mperf), value(counts.tsc)]
}

/// cpufreq's files, kept open.
struct Frequencies {
    root: PathBuf,
    files: BTreeMap<u32, Result<Counter, String>>,
    /// The present window.
    cpus: BTreeMap<u32, CpuClock>,
    left_out: Option<String>,
    looked_ns: u64,
}

/// The clock of a logical CPU in a window.
struct CpuClock {
    /// At the last reading.
    mhz: f64,
    /// Sum over the window so far.
    mhz_ns: Result<f64, String>,
}

impl Frequencies {
    fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root, files: BTreeMap::new(), cpus: BTreeMap::new(), left_out: None, looked_ns: 0 }
    }

    /// The clock of a logical CPU now.
    fn mhz(&mut self, cpu: u32) -> Result<f64, String> {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        let open = || Counter::open(&self.root.join(&path)).map_err(|error| format!("/{path}: {error}"));
        let file = self.files.entry(cpu).or_insert_with(open);
        let text =
            file.as_mut().map_err(|why| why.clone())?.read().map_err(|error| format!("/{path}: {error}"));
        let khz = text.and_then(|text| {
            // A driver that does not know the clock prints `<unknown>`.
            text.trim()
                .parse::<u64>()
                .ok()
                .filter(|&khz| khz > 0)
                .ok_or_else(|| format!("/{path} has no clock"))
        });
        if khz.is_err() {
            // A CPU that went offline loses its files and gets new ones.
            self.files.remove(&cpu);
        }
        khz.map(|khz| khz as f64 / 1e3)
    }

    fn start(&mut self, now_ns: u64, cpus: &CpuSet) {
        self.looked_ns = now_ns;
        self.cpus.clear();
        let chosen = evenly(cpus, MOST_CPUS);
        self.left_out = (chosen.len() < cpus.len())
            .then(|| format!("cpufreq is read on {} of {} logical CPUs", chosen.len(), cpus.len()));
        for cpu in chosen {
            let seen = match self.mhz(cpu) {
                Ok(mhz) => CpuClock { mhz, mhz_ns: Ok(0.0) },
                Err(why) => CpuClock { mhz: 0.0, mhz_ns: Err(why) },
            };
            self.cpus.insert(cpu, seen);
        }
    }

    /// Adds the time since the last reading at the mean of both readings' clocks.
    fn look(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns) as f64;
        self.looked_ns = now_ns;
        let mut cpus = std::mem::take(&mut self.cpus);
        for (&cpu, seen) in cpus.iter_mut().filter(|(_, seen)| seen.mhz_ns.is_ok()) {
            let mhz = self.mhz(cpu);
            seen.mhz_ns = mhz.and_then(|mhz| {
                let sum = seen.mhz_ns.clone()? + (seen.mhz + mhz) / 2.0 * elapsed_ns;
                seen.mhz = mhz;
                Ok(sum)
            });
        }
        self.cpus = cpus;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::write;
    use super::*;
    use crate::perf::kept::testing::{Series, Step, opened, read};
    use crate::perf::msr::testing::write_msr;
    use crate::perf::open::OpenError;

    fn at(now_ns: u64, cpus: &CpuSet) -> Moment<'_> {
        Moment { now_ns, cpus, pids: &[] }
    }

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn series_root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        write_msr(root.path(), &["tsc", "aperf", "mperf"]);
        write(root.path(), "sys/devices/system/cpu/online", "0-3\n");
        root
    }

    /// Opening and the two looks of the trial.
    fn trial() -> [Step; 3] {
        [opened(), read(1, 1, &[1, 1, 1]), read(9, 9, &[2, 2, 2])]
    }

    fn window(sampler: &mut Clock, cpus: &CpuSet, end_ns: u64) -> Vec<Reading> {
        let mut readings = Vec::new();
        sampler.start(&at(0, cpus));
        sampler.finish(&at(end_ns, cpus), &mut readings);
        readings
    }

    #[test]
    fn registers_of_the_placement_grow() {
        let root = series_root();
        let mut zero = trial().to_vec();
        zero.extend([opened(), read(0, 0, &[5, 5, 5]), read(100, 100, &[395, 265, 265])]);
        // Frozen in the window: a gap for both, and the time stamp counter still counts.
        let two = [opened(), read(0, 0, &[5, 5, 5]), read(100, 100, &[5, 5, 265])];
        let mut sampler = Clock::with(root.path(), Box::new(Series::of(&[(0, &zero), (2, &two)])));
        assert_eq!(sampler.status(), Status::Ready);
        let readings = window(&mut sampler, &set("0,2"), 100);
        let seen: Vec<_> =
            readings.iter().map(|one| (one.cpu, one.metric.as_str(), one.value, one.gap.is_some())).collect();
        assert_eq!(
            seen,
            [
                (Some(0), APERF, Some(390.0), false),
                (Some(0), MPERF, Some(260.0), false),
                (Some(0), TSC, Some(260.0), false),
                (Some(2), APERF, None, true),
                (Some(2), MPERF, None, true),
                (Some(2), TSC, Some(260.0), false),
            ]
        );
    }

    #[test]
    fn a_guest_with_the_time_stamp_counter_alone_is_unsupported() {
        let root = tempfile::tempdir().unwrap();
        write_msr(root.path(), &["tsc", "smi"]);
        write(root.path(), "proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
        let mut sampler = Clock::new(root.path());
        let Status::Unsupported { why } = sampler.status() else { panic!("{:?}", sampler.status()) };
        assert!(why.contains("hypervisor hides them") && why.contains("no cpufreq"), "{why}");
        assert!(
            window(&mut sampler, &set("0"), 5).iter().all(|one| one.value.is_none() && one.gap.is_some())
        );
    }

    #[test]
    fn a_refusal_keeps_its_remedy_and_registers_that_stand_still_are_unsupported() {
        let root = series_root();
        let denied = OpenError::Denied { why: "no".into(), remedy: "ask".into() };
        let series = Series::of(&[(0, &[Step::Open(Err(denied.clone()))])]);
        assert_eq!(Clock::with(root.path(), Box::new(series)).status(), denied.status());
        let frozen = [opened(), read(1, 1, &[0, 0, 1]), read(9, 9, &[0, 0, 2])];
        let sampler = Clock::with(root.path(), Box::new(Series::of(&[(0, &frozen)])));
        assert!(matches!(sampler.status(), Status::Unsupported { why } if why.contains("do not move")));
    }

    #[test]
    fn cpufreq_stands_in_with_the_reason() {
        let root = tempfile::tempdir().unwrap();
        let clock = |cpu: u32, khz: &str| {
            write(root.path(), &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"), khz);
        };
        clock(0, "2000000\n");
        clock(1, "<unknown>\n");
        let mut sampler = Clock::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        let cpus = set("0-2");
        sampler.start(&at(0, &cpus));
        clock(0, "3000000\n");
        sampler.tick(&at(100, &cpus));
        let mut readings = Vec::new();
        sampler.finish(&at(200, &cpus), &mut readings);
        assert_eq!((readings[0].metric.as_str(), readings[0].value), (APERF, None));
        assert!(readings[0].gap.as_ref().unwrap().contains("x86 only"));
        // 100 ns at a mean of 2500 MHz and 100 ns at 3000 MHz.
        assert_eq!((readings[1].cpu, readings[1].value), (Some(0), Some(550_000.0)));
        assert!(readings[2].gap.as_ref().unwrap().contains("has no clock"));
        assert!(readings[3].gap.as_ref().unwrap().contains("cpu2"));
    }

    #[test]
    fn the_live_system_gives_clocks_or_says_why_not() {
        let mut sampler = Clock::new(Path::new("/"));
        let cpus = threadwise_machine::pin::current_affinity().unwrap();
        let readings = window(&mut sampler, &cpus, 1);
        assert!(!readings.is_empty());
        for one in &readings {
            assert_ne!(one.value.is_some(), one.gap.is_some(), "{one:?}");
            assert!(one.value.is_none_or(|value| value > 0.0), "{one:?}");
        }
        match sampler.status() {
            Status::Ready => {}
            Status::Unsupported { why } => assert!(!why.is_empty()),
            Status::Denied { why, remedy } => assert!(!why.is_empty() && !remedy.is_empty()),
        }
    }
}
