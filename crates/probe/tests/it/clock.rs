//! Clocks of a modelled machine with turbo: 4000 MHz for one busy logical CPU, 3000 MHz for all.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use threadwise_machine::pin::current_affinity;
use threadwise_probe::bench::{Bench, ProbeError, Timing};
use threadwise_probe::clock::{Clocks, measure, measure_with};
use threadwise_probe::kernels::Kernel;
use threadwise_probe::live::LiveBench;
use threadwise_study::probe::{ClockReading, ClockSource, ProbeForm};
use threadwise_telemetry::perf::open::{Group, OpenError, Opened, Snapshot, Source};
use threadwise_telemetry::perf::pmu::Event;

const ALONE_MHZ: f64 = 4000.0;
const TOGETHER_MHZ: f64 = 3000.0;
const TSC_MHZ: f64 = 2600.0;
/// Time in which the bench wakes and stops its threads, with the CPUs idle.
const IDLE_US: f64 = 300.0;

/// Registers of one logical CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Registers {
    aperf: f64,
    mperf: f64,
}

#[derive(Debug, Default)]
struct Machine {
    now_us: f64,
    registers: BTreeMap<u32, Registers>,
    /// Whether the registers move.
    frozen: bool,
    windows: u32,
}

#[derive(Debug, Clone, Default)]
struct Model {
    machine: Arc<Mutex<Machine>>,
    /// Windows after which the user stops it.
    stop_after: Option<u32>,
    /// Cycles that a step takes; 0 stands for the usual one.
    extra_cycles: f64,
}

impl Bench for Model {
    fn run(&mut self, kernel: Kernel, cpus: &[u32], window_ns: u64) -> Result<Vec<Timing>, ProbeError> {
        assert_eq!(kernel, Kernel::Chain);
        let mut machine = self.machine.lock().unwrap();
        machine.windows += 1;
        if self.stop_after.is_some_and(|most| machine.windows > most) {
            return Err(ProbeError::Stopped);
        }
        let mhz = if cpus.len() == 1 { ALONE_MHZ } else { TOGETHER_MHZ };
        let window_us = window_ns as f64 / 1e3;
        machine.now_us += window_us + IDLE_US;
        let (windows, frozen) = (machine.windows, machine.frozen);
        let mut timings = Vec::new();
        for &cpu in cpus {
            let registers = machine.registers.entry(cpu).or_default();
            if !frozen {
                registers.aperf += mhz * window_us;
                registers.mperf += TSC_MHZ * window_us;
            }
            // Up to 1% of noise, and a window in seven that is disturbed.
            let noise = 1.0 + 0.01 * f64::from((windows * 7 + cpu * 3) % 11) / 11.0;
            let disturbed = if windows % 7 == 3 { 1.6 } else { 1.0 };
            let step_ns = 1e3 / mhz * noise * disturbed * (1.0 + self.extra_cycles);
            timings.push(Timing {
                cpu,
                step_ns,
                steps_per_ns: 1.0 / step_ns,
                on_cpu_share: 1.0,
                involuntary_switches: 0,
            });
        }
        Ok(timings)
    }
}

struct ModelGroup {
    machine: Arc<Mutex<Machine>>,
    cpu: u32,
    names: Vec<String>,
}

impl Group for ModelGroup {
    fn read(&mut self) -> io::Result<Snapshot> {
        let machine = self.machine.lock().unwrap();
        let registers = machine.registers.get(&self.cpu).copied().unwrap_or_default();
        let value = |name: &String| match name.as_str() {
            "msr/aperf/" => Some(registers.aperf as u64),
            "msr/mperf/" => Some(registers.mperf as u64),
            "msr/tsc/" => Some((machine.now_us * TSC_MHZ) as u64),
            other => panic!("{other} was asked for"),
        };
        let now_ns = (machine.now_us * 1e3) as u64;
        Ok(Snapshot {
            enabled_ns: now_ns,
            running_ns: now_ns,
            values: self.names.iter().map(value).collect(),
        })
    }
}

impl Source for Model {
    fn open(&mut self, cpu: u32, events: &[Event]) -> Result<Opened, OpenError> {
        let names = events.iter().map(|event| event.name.clone()).collect();
        let group = ModelGroup { machine: Arc::clone(&self.machine), cpu, names };
        Ok(Opened { group: Box::new(group), missing: vec![None; events.len()] })
    }
}

struct Denied;

impl Source for Denied {
    fn open(&mut self, _: u32, _: &[Event]) -> Result<Opened, OpenError> {
        Err(OpenError::Denied { why: "not allowed".into(), remedy: "ask root".into() })
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A tree with a PMU `msr` that has some events.
fn root(events: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = "sys/bus/event_source/devices/msr";
    write(root.path(), &format!("{folder}/type"), "9\n");
    write(root.path(), &format!("{folder}/format/event"), "config:0-63\n");
    for (at, event) in events.iter().enumerate() {
        write(root.path(), &format!("{folder}/events/{event}"), &format!("event={at}\n"));
    }
    write(root.path(), "proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
    root
}

fn of(clocks: &Clocks, source: ClockSource, cpu: u32, busy_cpus: u32) -> ClockReading {
    let same = |one: &&ClockReading| one.source == source && one.cpu == cpu && one.busy_cpus == busy_cpus;
    let found: Vec<_> = clocks.readings.iter().filter(same).collect();
    assert_eq!(found.len(), 1, "{source:?} of CPU {cpu} with {busy_cpus} busy: {clocks:?}");
    found[0].clone()
}

fn near(figure: Option<f64>, truth: f64) {
    let figure = figure.unwrap_or_else(|| panic!("no figure where {truth} is true"));
    assert!((figure / truth - 1.0).abs() < 0.02, "{figure} where {truth} is true");
}

#[test]
fn turbo_is_found_by_both_methods() {
    let root = root(&["tsc", "aperf", "mperf"]);
    let mut model = Model::default();
    let source = Box::new(model.clone());
    let clocks = measure_with(&mut model, source, root.path(), &[5, 0, 2], ProbeForm::Standard).unwrap();
    assert!(clocks.gaps.is_empty() && !clocks.interrupted, "{:?}", clocks.gaps);
    // Three CPUs, alone and together, by two methods.
    assert_eq!(clocks.readings.len(), 12);
    for cpu in [0, 2, 5] {
        for (busy, mhz) in [(1, ALONE_MHZ), (3, TOGETHER_MHZ)] {
            let counted = of(&clocks, ClockSource::Perf, cpu, busy);
            near(counted.bzy_mhz, mhz);
            near(counted.tsc_mhz, TSC_MHZ);
            // 20 ms busy and 0.3 ms idle.
            near(counted.busy_pct, 100.0 * 20.0 / 20.3);
            near(counted.avg_mhz, mhz * 20.0 / 20.3);
            near(of(&clocks, ClockSource::Chain, cpu, busy).bzy_mhz, mhz);
        }
    }
}

#[test]
fn a_guest_gives_the_time_stamp_counter_and_says_why_no_more() {
    let root = root(&["tsc", "smi"]);
    let mut model = Model::default();
    let source = Box::new(model.clone());
    let clocks = measure_with(&mut model, source, root.path(), &[0, 1], ProbeForm::Short).unwrap();
    for (cpu, busy) in [(0, 1), (1, 1), (0, 2), (1, 2)] {
        let counted = of(&clocks, ClockSource::Perf, cpu, busy);
        near(counted.tsc_mhz, TSC_MHZ);
        assert_eq!((counted.avg_mhz, counted.busy_pct, counted.bzy_mhz), (None, None, None));
        let chain = of(&clocks, ClockSource::Chain, cpu, busy);
        near(chain.bzy_mhz, if busy == 1 { ALONE_MHZ } else { TOGETHER_MHZ });
    }
    let gaps = clocks.gaps.join("\n");
    assert!(gaps.contains("hypervisor hides them"), "{gaps}");
    assert!(clocks.gaps.len() <= 2, "each reason once: {gaps}");
}

#[test]
fn registers_that_stand_still_are_no_zero() {
    let root = root(&["tsc", "aperf", "mperf"]);
    let mut model = Model::default();
    model.machine.lock().unwrap().frozen = true;
    let source = Box::new(model.clone());
    let clocks = measure_with(&mut model, source, root.path(), &[0, 1], ProbeForm::Standard).unwrap();
    let counted = of(&clocks, ClockSource::Perf, 0, 1);
    assert_eq!((counted.avg_mhz, counted.busy_pct, counted.bzy_mhz), (None, None, None));
    assert!(clocks.gaps.iter().any(|gap| gap.contains("do not move")), "{:?}", clocks.gaps);
}

#[test]
fn where_perf_is_denied_cpufreq_stands_in_with_the_reason() {
    let root = root(&["tsc", "aperf", "mperf"]);
    write(root.path(), "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3500000\n");
    write(root.path(), "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "<unknown>\n");
    let mut model = Model::default();
    let clocks =
        measure_with(&mut model, Box::new(Denied), root.path(), &[0, 1], ProbeForm::Standard).unwrap();
    assert_eq!(of(&clocks, ClockSource::Cpufreq, 1, 2).bzy_mhz, Some(3500.0));
    assert!(clocks.readings.iter().all(|one| one.source != ClockSource::Perf));
    assert!(!clocks.readings.iter().any(|one| one.cpu == 0 && one.source == ClockSource::Cpufreq));
    assert_eq!(clocks.gaps, ["not allowed; ask root"]);
}

#[test]
fn a_step_that_is_no_cycle_is_reported() {
    let root = root(&["tsc", "aperf", "mperf"]);
    let mut model = Model { extra_cycles: 0.25, ..Model::default() };
    let source = Box::new(model.clone());
    let clocks = measure_with(&mut model, source, root.path(), &[0], ProbeForm::Standard).unwrap();
    assert_eq!(clocks.readings.len(), 2, "one CPU has one state");
    assert!(clocks.gaps.iter().any(|gap| gap.contains("a dependent add took 1.2")), "{:?}", clocks.gaps);
}

#[test]
fn what_was_measured_before_the_stop_is_kept() {
    let root = root(&["tsc", "aperf", "mperf"]);
    // The first state's two windows and the settling of the second.
    let mut model = Model { stop_after: Some(3), ..Model::default() };
    let source = Box::new(model.clone());
    let clocks = measure_with(&mut model, source, root.path(), &[0, 1], ProbeForm::Standard).unwrap();
    assert!(clocks.interrupted);
    near(of(&clocks, ClockSource::Perf, 0, 1).bzy_mhz, ALONE_MHZ);
    assert!(clocks.readings.iter().all(|one| one.cpu == 0 && one.busy_cpus == 1));
}

#[test]
fn a_large_machine_is_sampled() {
    let root = root(&["tsc", "aperf", "mperf"]);
    let cpus: Vec<u32> = (0..768).collect();
    let mut model = Model::default();
    let source = Box::new(model.clone());
    let clocks = measure_with(&mut model, source, root.path(), &cpus, ProbeForm::Standard).unwrap();
    let count = |source, busy| {
        clocks.readings.iter().filter(|one| one.source == source && one.busy_cpus == busy).count()
    };
    assert_eq!((count(ClockSource::Perf, 1), count(ClockSource::Perf, 768)), (16, 16));
    assert_eq!((count(ClockSource::Chain, 1), count(ClockSource::Chain, 768)), (16, 768));
    let modelled_s = model.machine.lock().unwrap().now_us / 1e6;
    assert!(modelled_s < 3.0, "{modelled_s} s");
}

#[test]
fn no_cpu_is_an_error() {
    let empty = tempfile::tempdir().unwrap();
    let error = measure(&mut Model::default(), empty.path(), &[], ProbeForm::Standard).unwrap_err();
    assert!(error.to_string().contains("no logical CPU"), "{error}");
}

mod lab_clock {
    use super::*;

    #[test]
    #[ignore = "laboratory: clock"]
    fn smoke_this_machine_has_clocks_or_says_why_not() {
        let cpus = current_affinity().unwrap();
        let list: Vec<u32> = cpus.iter().take(2).collect();
        let mut bench =
            LiveBench::new(&list.iter().copied().collect(), Arc::new(AtomicBool::new(false))).unwrap();
        let clocks = measure(&mut bench, Path::new("/"), &list, ProbeForm::Short).unwrap();
        println!("{clocks:#?}");
        for &cpu in &list {
            let chain = of(&clocks, ClockSource::Chain, cpu, 1).bzy_mhz.unwrap();
            // No processor that this runs on is outside of these, whoever else is busy.
            assert!(chain > 100.0 && chain < 10_000.0, "{chain} MHz");
        }
        let counted =
            clocks.readings.iter().any(|one| one.source == ClockSource::Perf && one.bzy_mhz.is_some());
        assert!(counted || !clocks.gaps.is_empty(), "no clock by APERF and no reason: {clocks:?}");
        for one in &clocks.readings {
            let figures = [one.avg_mhz, one.busy_pct, one.bzy_mhz, one.tsc_mhz];
            assert!(figures.iter().flatten().all(|figure| figure.is_finite() && *figure > 0.0), "{one:?}");
        }
    }
}
