//! Result files as studies could leave them: each preset, cut down, with made-up runs of its plan.

use crate::made_probe;
use crate::random::Random;
use std::path::Path;
use threadwise_engine::latency;
use threadwise_machine::{BootFacts, Topology};
use threadwise_store::{EndState, Store, Versions};
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{
    BlockPlan, CpuTimes, CpuTimesSum, LongWindows, OptionValue, QueryExecution, Reading, Run, RunStatus,
    SessionSlice, Slice, Stopping, Study, Treatment, Workload, command, plan_block, plan_long_block, presets,
    worklist,
};

const BLOCKS: u32 = 8;
const MOST_TREATMENTS: usize = 6;
/// Studies that are also made with long windows.
const WITH_LONG_WINDOWS: usize = 2;
const LONG_WINDOWS: LongWindows = LongWindows { blocks: 3, window_ns: 10_000_000_000 };
/// For every text of a file that another program or machine provides: an escape, a CSI in one
/// character, direction marks, nothing visible, a soft hyphen, a tag, a Unicode line separator.
const DECEPTIVE: &str = "\u{1b}[31m\u{9b}2J\u{202e}b\u{200b}\u{2066}c\u{ad}\u{e0041}\u{2028}e";

/// Every preset that one of the machines can run, with few treatments and rounds; some once more with long windows.
///
/// # Errors
/// A preset that comes with the program cannot be read.
pub fn studies(topologies: &[Topology]) -> Result<Vec<(Study, Topology)>, String> {
    let text = |text: &str| OptionValue::Text(text.to_owned());
    let mut found = Vec::new();
    for (at, (name, _)) in presets::names().into_iter().enumerate() {
        let file = StudyFile::preset(name).map_err(|error| error.to_string())?;
        let mut overrides = Overrides { seed: Some(7), budget_s: Some(36_000.0), ..Overrides::default() };
        if file.first_arm(7).is_some() {
            overrides.budget_s = None;
        }
        match file.workload() {
            Workload::Command => {
                overrides.options.insert("command".to_owned(), text("bench -c {sessions}"));
                overrides.options.insert("metric.tps".to_owned(), text("tx/s higher regex:^tps = ([0-9.]+)"));
            }
            Workload::WorkList => {
                drop(overrides.options.insert("items".to_owned(), OptionValue::Integer(12)))
            }
            _ => {}
        }
        let turned = topologies.iter().cycle().skip(at).take(topologies.len());
        let resolved = turned.map(|topology| (file.resolve(topology, &overrides), topology));
        found.extend(
            resolved.filter_map(|(study, topology)| Some((cut(study.ok()?), topology.clone()))).next(),
        );
    }
    let timed = found.iter().filter(|(study, _)| !study.is_fixed_work() && study.quota.is_none());
    let with_long_windows = |(study, topology): &(Study, Topology)| {
        let mut study = study.clone();
        study.design.long_windows = Some(LONG_WINDOWS);
        (study, topology.clone())
    };
    let long: Vec<_> = timed.take(WITH_LONG_WINDOWS).map(with_long_windows).collect();
    match long.len() {
        WITH_LONG_WINDOWS => Ok(found.into_iter().chain(long).collect()),
        few => Err(format!("{few} studies could have long windows")),
    }
}

/// The first treatments and their comparisons: mutations of a small file hit relevant parts.
fn cut(mut study: Study) -> Study {
    let group = study.treatments.first().map(|first| first.group.clone()).unwrap_or_default();
    study.treatments.retain(|treatment| treatment.group == group);
    study.treatments.truncate(MOST_TREATMENTS);
    let names: Vec<String> = study.treatments.iter().map(|treatment| treatment.name.clone()).collect();
    let there = |name: &String| names.contains(name);
    study.comparisons.retain(|one| there(&one.treatment) && one.baseline.iter().all(there));
    study.design.rounds = if study.is_fixed_work() { study.design.rounds.min(4) } else { 2 };
    study.design.stopping = Stopping::Blocks { blocks: BLOCKS };
    study.title.push_str(DECEPTIVE);
    if let Some(external) = &mut study.external {
        external.treatments = study.treatments.len() as u32;
        external.blocks = BLOCKS / external.boots;
    }
    study
}

/// Writes the file of a study that is complete except for a failed and an invalid run.
///
/// # Errors
/// Errors of plan or store.
pub fn write(path: &Path, study: &Study, topology: &Topology) -> Result<(), String> {
    let versions = Versions {
        program: "0.1.0".to_owned(),
        engine: study.engine.clone(),
        engine_version: format!("1.0 {DECEPTIVE}"),
        created_utc: "2026-01-01T12:00:00Z".to_owned(),
    };
    let random = &mut Random::of(study.treatments.len() as u64, 0);
    let failed = |error: threadwise_store::StoreError| error.to_string();
    let mut store = Store::create(path, study, topology, &versions).map_err(failed)?;
    store.set_planned_blocks(BLOCKS).map_err(failed)?;
    for probe in 0..2 {
        store.add_probe(0.5, &made_probe::probe(probe)).map_err(failed)?;
    }
    for block in 0..BLOCKS {
        let plan = plan_block(study, topology, block).map_err(|error| error.to_string())?;
        enter_boot(&mut store, study, block).map_err(failed)?;
        store.block_started(block, 0, f64::from(block)).map_err(failed)?;
        for at in 0..study.treatments.len() {
            let mut run = run(random, study, &plan, at);
            match (block, at) {
                (3, 1) => {
                    run.status = RunStatus::Failed {
                        kind: "crash".to_owned(),
                        message: format!("signal 9 {DECEPTIVE}"),
                    }
                }
                (5, 0) => {
                    run.status = RunStatus::Invalid {
                        kind: "lost-pin".to_owned(),
                        message: format!("0-3 {DECEPTIVE}"),
                    }
                }
                _ => {}
            }
            store.append_run(&run).map_err(failed)?;
        }
        store.block_complete(block, 0, f64::from(block) + 0.9).map_err(failed)?;
    }
    for number in 0..study.design.long_windows.map_or(0, |long| long.blocks) {
        let plan = plan_long_block(study, topology, number).map_err(|error| error.to_string())?;
        let Some(plan) = plan else { return Err("a block of long windows has no plan".to_owned()) };
        let began_s = f64::from(BLOCKS) + 100.0 * f64::from(number);
        store.block_started(plan.block, 0, began_s).map_err(failed)?;
        for at in 0..study.treatments.len() {
            store.append_run(&run(random, study, &plan, at)).map_err(failed)?;
        }
        store.block_complete(plan.block, 0, began_s + 90.0).map_err(failed)?;
    }
    store.note(format!("the data is in the cache {DECEPTIVE}")).map_err(failed)?;
    let hashes: Vec<String> =
        store.boots().map_err(failed)?.into_iter().filter_map(|boot| boot.machine_hash).collect();
    store.finish(EndState::Complete).map_err(failed)?;
    drop(store);
    without_draws(path, hashes)
}

/// Replaces the random salt and the values that follow from it by zeros: an input must be reproducible.
fn without_draws(path: &Path, hashes: Vec<String>) -> Result<(), String> {
    const KEY: &[u8] = b"salt";
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = std::fs::read(path).map_err(failed)?;
    let salts = bytes.windows(KEY.len() + 64).filter_map(|window| {
        let salt = window.strip_prefix(KEY)?;
        salt.iter().all(u8::is_ascii_hexdigit).then(|| String::from_utf8_lossy(salt).into_owned())
    });
    let drawn: Vec<String> = salts.chain(hashes).collect();
    for text in &drawn {
        let places: Vec<usize> =
            (0..bytes.len()).filter(|at| bytes[*at..].starts_with(text.as_bytes())).collect();
        places.into_iter().for_each(|at| bytes[at..at + text.len()].fill(b'0'));
    }
    std::fs::write(path, bytes).map_err(failed)
}

/// A study with external arms has a boot for each part, the others have one.
fn enter_boot(store: &mut Store, study: &Study, block: u32) -> Result<(), threadwise_store::StoreError> {
    let due = study.external.as_ref().and_then(|external| external.due(study.seed, block));
    let number = due.as_ref().map_or(0, |part| part.number);
    let facts = BootFacts {
        boot_id: Some(number.to_string()),
        machine_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        kernel: Some(format!("6.{number} {DECEPTIVE}")),
        smt_active: Some(number.is_multiple_of(2)),
        parameters: Some(DECEPTIVE.to_owned()),
        ..BootFacts::default()
    };
    store
        .enter_boot(&facts, due.as_ref().map(|part| part.arm.as_str()), "1.0", "2026-01-01T12:00:00Z")
        .map(drop)
}

fn run(random: &mut Random, study: &Study, plan: &BlockPlan, at: usize) -> Run {
    let treatment = &study.treatments[at];
    let cpus = plan.placements[at].cpus.clone();
    let slices: Vec<Slice> =
        (0..plan.rounds.len()).map(|round| slice(random, study, treatment, plan, round)).collect();
    Run {
        id: 0,
        block: plan.block,
        attempt: 0,
        treatment: treatment.name.clone(),
        other_cpu_times: Vec::new(),
        readings: readings(random, study, treatment, &cpus),
        cpus,
        status: RunStatus::Valid,
        slices,
        started_s: f64::from(plan.block),
        prepare_ns: 1_000_000,
    }
}

fn slice(random: &mut Random, study: &Study, treatment: &Treatment, plan: &BlockPlan, round: usize) -> Slice {
    let sessions = treatment.sessions as usize;
    let scripts = plan.scripts(round as u32, sessions);
    let sequence = u64::from(plan.block) * 1000 + round as u64;
    let window_ns = if study.is_fixed_work() { 900_000_000 } else { plan.window_ns };
    let one = |at: usize| {
        let mut session = session(random, window_ns, scripts.get(at).map_or(&[][..], Vec::as_slice));
        let pieces = plan.piece_ns.map_or(0, |piece_ns| window_ns.div_ceil(piece_ns));
        // A stall now and then leaves a part of a piece.
        session.rows_by_piece =
            (0..pieces).map(|_| session.rows / pieces / [1, 1, 1, 8][random.below(4)]).collect();
        session
    };
    let sessions: Vec<SessionSlice> = (0..sessions).map(one).collect();
    let used: u64 = sessions.iter().map(|session| session.cpu_ns).sum();
    let times = |cpu: u32| CpuTimes { cpu, busy_ns: used / 16, steal_ns: 1000, total_ns: window_ns };
    Slice {
        sequence,
        round: round as u32,
        start_ns: sequence * 1_000_000_000,
        window_ns,
        sessions,
        counters: [("waits_sampled".to_owned(), 90), (format!("waits/LWLock:{DECEPTIVE}"), 30)].into(),
        cpu_times: (0..4).map(times).collect(),
        other_cpus: CpuTimesSum::default(),
        looks: Vec::new(),
    }
}

fn session(random: &mut Random, window_ns: u64, script: &[u8]) -> SessionSlice {
    let steps = 40 + random.below(9) as u64;
    let mut bytes = Vec::new();
    if let (Ok(mut histogram), true) = (latency::histogram(), script.is_empty()) {
        (0..steps).for_each(|_| histogram.saturating_record(20_000 + random.below(20_000) as u64));
        bytes = latency::to_bytes(&histogram).unwrap_or_default();
    }
    let mut started_ns = 0;
    let execution = |query: &u8| {
        let elapsed_ns = 1_000_000 + random.below(9_000_000) as u64;
        started_ns += elapsed_ns;
        QueryExecution {
            query: *query,
            started_ns: started_ns - elapsed_ns,
            elapsed_ns,
            cpu_ns: Some(elapsed_ns),
            dop: Some(1 + random.below(4) as u32),
            rows: 10,
            plan: Some(format!("AGGREGATE\n  ~ GATHER\n    SCAN lineitem {}\u{202e}", random.below(2))),
            counters: [("read_bytes".to_owned(), 1 << 20)].into(),
            ..QueryExecution::default()
        }
    };
    SessionSlice {
        steps,
        rows: steps * 64,
        answers_checked: steps,
        cpu_ns: window_ns - window_ns / 50,
        voluntary_switches: 2,
        involuntary_switches: 3,
        run_queue_wait_ns: Some(1_000_000),
        counters: [("logical_reads".to_owned(), steps * 64), (format!("lock_waits{DECEPTIVE}"), 3)].into(),
        latency: bytes,
        finished_ns: (!script.is_empty()).then_some(window_ns / 2),
        queries: script.iter().map(execution).collect(),
        ..SessionSlice::default()
    }
}

/// Readings of samplers, a command's output and a work list for a run.
fn readings(random: &mut Random, study: &Study, treatment: &Treatment, cpus: &[u32]) -> Vec<Reading> {
    let reading = |sampler: &str, metric: &str, cpu: Option<u32>, value: f64| Reading {
        sampler: sampler.to_owned(),
        metric: metric.to_owned(),
        cpu,
        start_ns: 1_000_000_000,
        end_ns: 1_900_000_000,
        value: Some(value),
        gap: None,
    };
    let mut readings = vec![
        reading("clock", "window_ns", None, 9e8),
        reading("process", "user_ns", None, 5e8),
        reading("process", "window_ns", None, 9e8),
        reading("energy", "package_j", None, 20.5),
        Reading {
            value: None,
            gap: Some(format!("no perf {DECEPTIVE}")),
            ..reading("counters", "cycles", None, 0.0)
        },
    ];
    readings.extend(cpus.iter().map(|cpu| reading("clock", "mhz_ns", Some(*cpu), 2.4e12)));
    if study.runs_whole() {
        let value = 1000.0 + random.below(50) as f64;
        readings.push(reading(command::SAMPLER, "elapsed", None, 0.9));
        readings.extend(
            command::metrics(&treatment.options)
                .iter()
                .map(|spec| reading(command::SAMPLER, &spec.name, None, value)),
        );
    }
    if study.workload == Workload::WorkList {
        let item = |index: u64| {
            let job = (index % u64::from(treatment.sessions.max(1))) as f64;
            let start_ns = 1_000_000_000 + index * 50_000_000;
            let metric = format!("{index:05} item-{index}{DECEPTIVE}.db");
            Reading {
                start_ns,
                end_ns: start_ns + 90_000_000,
                ..reading(worklist::SAMPLER, &metric, None, job)
            }
        };
        readings.extend((0..12).map(item));
        readings.extend(
            [("item_s", 0.07), ("idle_share", 0.1)]
                .map(|(name, value)| reading(command::SAMPLER, name, None, value)),
        );
    }
    readings
}
