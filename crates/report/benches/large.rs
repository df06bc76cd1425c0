//! Reports of stored studies on 1,000 logical CPUs: 300 runs of 20 slices with two looks at 16 logical CPUs each, and
//! 40 runs of 10 minutes with ten looks a second. Seconds and peak memory of reading, analysing and writing each form,
//! in a process of its own as `threadwise report` is one.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // A program for people, with the tests' fixture.

#[path = "../tests/it/report/looks/stored.rs"]
mod stored;
#[path = "../tests/it/support.rs"]
mod support;

use std::path::Path;
use std::process::Command;
use std::time::Instant;
use support::{Draws, Fixture};
use threadwise_analysis::{Facts, analyse_probed, document};
use threadwise_machine::topology::{Core, CoreKind, Group, LogicalCpu};
use threadwise_machine::{CpuSet, Topology};
use threadwise_report::terminal::{self, Style};
use threadwise_report::{html, json};
use threadwise_store::Store;
use threadwise_study::{
    Alone, CpuLook, CpuTimes, CpuTimesSum, Look, Moment, PairLook, Run, RunStatus, SessionSlice, Slice,
    SliceLook, Stopping,
};

const CPUS: u32 = 1_000;
const PACKAGES: u32 = 10;
const LOOKED_AT: u32 = 16;
const REPEATS: usize = 3;

/// How much a study has.
struct Shape {
    blocks: u32,
    rounds: u32,
    window_ns: u64,
    /// Looks during a slice.
    during: u64,
}

const SLICES: Shape = Shape { blocks: 60, rounds: 20, window_ns: 50_000_000, during: 0 };
const MINUTES: Shape = Shape { blocks: 8, rounds: 1, window_ns: 600_000_000_000, during: 6_000 };
const FORMS: [&str; 4] = ["none", "terminal", "html", "json"];

/// Treatments with how many of the logical CPUs that are looked at they use.
const TREATMENTS: [(&str, usize); 5] =
    [("alone/l2", 1), ("alone'/l2", 1), ("same-core/l2", 2), ("same-package/l2", 2), ("sessions-7/l2", 16)];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, form, path] = args.as_slice()
        && FORMS.contains(&form.as_str())
    {
        return report(form, Path::new(path));
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, shape) in [("slices", &SLICES), ("minutes", &MINUTES)] {
        let path = folder.path().join(name);
        stored::store(&made(shape), &path);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let title = Fixture::generated(1, 1).document().title;
        println!("{name}, {} MB: {title}", bytes / 1_000_000);
        for form in FORMS {
            // One that is not counted fills the cache of files.
            for repeat in 0..=REPEATS {
                let child = Command::new(&args[0]).arg(form).arg(&path).output().unwrap();
                assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
                if repeat > 0 {
                    print!("{}", String::from_utf8_lossy(&child.stdout));
                }
            }
        }
    }
}

/// Reads, analyses and writes one form, as `threadwise report` does.
fn report(form: &str, path: &Path) {
    let began = Instant::now();
    let store = Store::open(path).unwrap();
    let runs = store.runs().unwrap();
    let read = began.elapsed();
    let analysis = analyse_probed(store.study(), Some(store.topology()), None, &runs, 1.0);
    let analysed = began.elapsed() - read;
    let facts = Facts { runs: &runs, ..Facts::new(store.study(), store.topology(), &analysis) };
    let document = document(&facts);
    let documented = began.elapsed() - read - analysed;
    let style = Style { color: true, unicode: true, width: 100 };
    let bytes = match form {
        "terminal" => terminal::verdict(&document, style).len() + terminal::sections(&document, style).len(),
        "html" => html::render(&document).unwrap().len(),
        "json" => json::report(&facts, &document).len(),
        _ => 0,
    };
    println!(
        "{form}: {:.2} s (read {:.2}, analysed {:.2}, document {:.2}), {} KB, peak {} MB",
        began.elapsed().as_secs_f64(),
        read.as_secs_f64(),
        analysed.as_secs_f64(),
        documented.as_secs_f64(),
        bytes / 1_000,
        peak_kib() / 1_000
    );
}

/// Peak of the memory of this process (`VmHWM` in proc_pid_status(5)).
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn core_of(cpu: u32) -> u32 {
    cpu % (CPUS / 2)
}

fn package_of(core: u32) -> u32 {
    core / (CPUS / 2 / PACKAGES)
}

fn topology() -> Topology {
    let siblings = |core: u32| -> CpuSet { [core, core + CPUS / 2].into_iter().collect() };
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        core: Some(core_of(os_id)),
        package: Some(package_of(core_of(os_id))),
        siblings: siblings(core_of(os_id)),
        kind: Some(0),
        allowed: true,
        online: true,
        ..LogicalCpu::default()
    };
    let core = |core: u32| Core {
        os_id: Some(i64::from(core)),
        cpus: siblings(core),
        package: Some(package_of(core)),
        kind: 0,
    };
    let package = |package: u32| Group {
        os_id: Some(i64::from(package)),
        cpus: (0..CPUS).filter(|cpu| package_of(core_of(*cpu)) == package).collect(),
    };
    Topology {
        logical_cpus: (0..CPUS).map(cpu).collect(),
        cores: (0..CPUS / 2).map(core).collect(),
        packages: (0..PACKAGES).map(package).collect(),
        kinds: vec![CoreKind { name: "core".into(), evidence: "one kind".into(), cpus: (0..CPUS).collect() }],
        ..Topology::default()
    }
}

fn made(shape: &Shape) -> Fixture {
    let mut fixture = Fixture::generated(1, 1);
    let kept = |name: &str| TREATMENTS.iter().any(|(known, _)| *known == name);
    let study = &mut fixture.study;
    (study.engine, study.engine_properties) = ("sqlite".to_owned(), None);
    (study.design.rounds, study.design.stopping) = (shape.rounds, Stopping::Blocks { blocks: shape.blocks });
    study.treatments.retain(|treatment| kept(&treatment.name));
    study.treatments.iter_mut().for_each(|treatment| treatment.group.clear());
    study.comparisons.retain(|one| kept(&one.treatment) && one.kind.word() == "baseline");
    assert_eq!(study.treatments.len(), TREATMENTS.len());
    fixture.topology = topology();
    let mut draws = Draws(3);
    let mut host = [false; LOOKED_AT as usize];
    fixture.study.design.slice_ns = shape.window_ns;
    fixture.runs =
        (0..shape.blocks).flat_map(|block| self::block(shape, block, &mut host, &mut draws)).collect();
    fixture
}

/// The logical CPUs of a block, each on a core of its own.
fn looked_at(block: u32) -> Vec<u32> {
    let mut cpus: Vec<u32> = (0..LOOKED_AT).map(|at| (block * 7 + at * 31) % (CPUS / 2)).collect();
    cpus.sort_unstable();
    cpus
}

fn block(shape: &Shape, block: u32, host: &mut [bool; LOOKED_AT as usize], draws: &mut Draws) -> Vec<Run> {
    let cpus = looked_at(block);
    let turn_ns = shape.window_ns + 12_000_000;
    let count = TREATMENTS.len() as u64;
    let begin_ns = u64::from(block) * (count * u64::from(shape.rounds) * turn_ns + 4_000_000_000);
    let mut runs: Vec<Run> = (0..TREATMENTS.len()).map(|at| run(block, at, &cpus, begin_ns)).collect();
    let mut number = 0;
    for round in 0..shape.rounds {
        for run in &mut runs {
            let start_ns = begin_ns + number * turn_ns;
            let looks = looks(shape, start_ns, (&cpus, number), host, draws);
            let rows = 24_000.0 * (0.97 + 0.06 * draws.next()) * shape.window_ns as f64 / 5e7;
            let session = SessionSlice {
                rows: rows as u64,
                cpu_ns: shape.window_ns,
                run_queue_wait_ns: Some(100_000),
                ..SessionSlice::default()
            };
            let slice = Slice {
                sequence: u64::from(block) * u64::from(shape.rounds) * count + number,
                round,
                start_ns: start_ns + 10_000_000,
                window_ns: shape.window_ns,
                sessions: vec![session; run.cpus.len()],
                counters: Default::default(),
                cpu_times: run.cpus.iter().map(|cpu| times(*cpu, 0.98)).collect(),
                other_cpus: CpuTimesSum::default(),
                looks,
            };
            run.slices.push(slice);
            number += 1;
        }
    }
    runs
}

fn run(block: u32, at: usize, cpus: &[u32], begin_ns: u64) -> Run {
    let (name, count) = TREATMENTS[at];
    let others = (0..CPUS).filter(|cpu| !cpus.contains(cpu));
    Run {
        id: u64::from(block) * TREATMENTS.len() as u64 + at as u64 + 1,
        block,
        attempt: 0,
        treatment: name.to_owned(),
        cpus: cpus.iter().copied().take(count).collect(),
        status: RunStatus::Valid,
        slices: Vec::new(),
        started_s: begin_ns as f64 / 1e9,
        prepare_ns: 1_000_000,
        readings: Vec::new(),
        other_cpu_times: others.map(|cpu| times(cpu, 0.03)).collect(),
    }
}

/// Before, during and after a slice.
fn looks(
    shape: &Shape,
    start_ns: u64,
    (cpus, number): (&[u32], u64),
    host: &mut [bool; LOOKED_AT as usize],
    draws: &mut Draws,
) -> Vec<SliceLook> {
    let last = shape.during + 1;
    let one = |at: u64| {
        // Each neighbour comes and goes.
        host.iter_mut().for_each(|is_on| *is_on ^= draws.next() < if *is_on { 0.1 } else { 0.02 });
        let moment = match at {
            0 => Moment::Before,
            at if at == last => Moment::After,
            _ => Moment::During,
        };
        let look =
            look(start_ns + at * (shape.window_ns + 11_000_000) / last, cpus, host, number + at, draws);
        SliceLook { moment, look }
    };
    (0..=last).map(one).collect()
}

fn times(cpu: u32, share: f64) -> CpuTimes {
    CpuTimes { cpu, busy_ns: (share * 6e7) as u64, steal_ns: 0, total_ns: 60_000_000 }
}

/// A look at pairs that change from one to the next.
fn look(start_ns: u64, cpus: &[u32], neighbours: &[bool], number: u64, draws: &mut Draws) -> Look {
    let count = cpus.len();
    let package = |cpu: u32| package_of(core_of(cpu));
    let mut noisy = |value: f64| ((1.0 + 0.03 * (draws.next() - 0.5)) * value * 1000.0).round() / 1000.0;
    let adds = cpus.iter().zip(neighbours).map(|(cpu, is_on)| CpuLook {
        cpu: *cpu,
        chain_ns: Some(0.278),
        adds_per_step: Some(noisy(if *is_on { 2.45 } else { 4.68 })),
    });
    let adds = adds.collect();
    let offset = 1 + 2 * (number as usize % (count / 2));
    let pairs = (0..count).step_by(2).map(|at| (cpus[at], cpus[(at + offset) % count]));
    let line = |(a, b): (u32, u32)| PairLook {
        a: a.min(b),
        b: a.max(b),
        line_ns: Some(noisy(if package(a) == package(b) { 61.0 } else { 130.0 })),
    };
    let mut pairs: Vec<PairLook> = pairs.map(line).collect();
    pairs.sort_by_key(|pair| (pair.a, pair.b));
    let tested = pairs.get(number as usize % pairs.len().max(1));
    let alone =
        tested.map(|pair| Alone { a: pair.a, b: pair.b, a_adds_per_step: 4.68, b_adds_per_step: 4.68 });
    Look { start_ns, took_ns: 90_000, cpus: adds, pairs, alone }
}
