//! Making the data of every treatment, once per study, by one worker.

use crate::RunnerError;
use crate::event::Event;
use crate::guard;
use crate::places::Folders;
use crate::queries::QueryData;
use crate::settings::Settings;
use crate::workdir::Workdir;
use crate::worker_process::{Failure, Hello, Place, WorkerProcess};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threadwise_engine::connections::Need;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireLoad};
use threadwise_engine::{Engine, LoadRequest};
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::engine::Properties;
use threadwise_study::insert::{self, added_bytes};
use threadwise_study::{OptionValue, Study, Treatment, tpch};
use threadwise_tpch::TpchOptions;

/// Looks at the connections of the user's server before a block, and the pause between them: 3 s.
const CONNECTION_LOOKS: u32 = 10;
const CONNECTION_STEP: Duration = Duration::from_millis(300);

/// The data of a study.
#[derive(Debug)]
pub struct Data {
    /// The worker that made it, where it has to stay until the study's end.
    pub keeper: Option<WorkerProcess>,
    /// What each treatment's workers are given of it, in study order.
    pub loads: Vec<WireLoad>,
    /// Notes of the engine, each once.
    pub notes: Vec<String>,
    /// Data and answers of queries, where the workload has queries.
    pub queries: Option<QueryData>,
}

impl Data {
    /// What the reader of a report should know.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.queries.iter().flat_map(|queries| &queries.notes).chain(&self.notes)
    }

    /// Has the worker that stayed end what it kept. Gives what could not be ended, in one line.
    pub fn end(self, stop: &AtomicBool) -> Option<String> {
        let mut keeper = self.keeper?;
        keeper.ask_to_stop();
        keeper.stopped(stop).err().map(|failure| failure.to_string())
    }
}

/// Starts a worker only to ask what its engine is like, which a study has to know before it is planned.
///
/// # Errors
/// The worker cannot be started, speaks another protocol, or says nothing in time.
pub fn hello(settings: &Settings) -> Result<Hello, RunnerError> {
    let workdir = Workdir::of(settings)?;
    let log = workdir.path().join("hello.log");
    let (everywhere, memory) = (CpuSet::new(), MemoryBinding::default());
    let place = Place { cpus: &everywhere, memory: &memory, folder: workdir.path(), log: &log, mark: &log };
    let ask = || {
        let mut worker = WorkerProcess::start(&settings.worker, place, settings.deadlines)?;
        let never = AtomicBool::new(false);
        let hello = worker.hello(&never)?;
        worker.ask_to_stop();
        worker.stopped(&never)?;
        Ok(hello)
    };
    let hello =
        ask().map_err(|failure| RunnerError::Worker { program: settings.worker.program.clone(), failure })?;
    workdir.close().map(|()| hello)
}

/// What a treatment's data is made from. Treatments with the same options can share their data, and
/// must then ask for the same number of sessions; the engine knows whether it may be shared.
pub fn request(study: &Study, treatment: &Treatment, data_dir: &Path) -> LoadRequest {
    let alike = study.treatments.iter().filter(|other| other.options == treatment.options);
    LoadRequest {
        workload: study.workload.clone(),
        options: treatment.options.clone(),
        engine_options: study.engine_options.clone(),
        data_dir: data_dir.to_owned(),
        treatment: treatment.name.clone(),
        sessions: alike.map(|other| study.worker_sessions(other)).max().unwrap_or(treatment.sessions),
        seed: study.seed,
    }
}

/// Connections that a study of a server holds at once.
pub fn connections(study: &Study) -> Need {
    Need::of(study.treatments.iter().map(|treatment| study.worker_sessions(treatment)))
}

/// Refuses a block that would take connections of the user's server which are left to others. Those of
/// the block before may not all be closed by the server yet.
///
/// # Errors
/// The limit that is too low, in numbers, or why the server cannot be asked.
pub fn await_connections(
    study: &Study,
    server: Option<&dyn Engine>,
    stop: &AtomicBool,
) -> Result<(), String> {
    let Some(engine) = server else { return Ok(()) };
    let need = connections(study).of_block();
    let look = || {
        let limits = engine.limits(&study.engine_options).map_err(|error| error.to_string())?;
        need.expect_room(&limits)
    };
    for _ in 1..CONNECTION_LOOKS {
        if look().is_ok() {
            return Ok(());
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(CONNECTION_STEP);
    }
    look()
}

/// Bytes that the data of all treatments takes on disk at the least, as far as the study tells: for
/// every number of blocks a template, and a copy for each session of the treatment with most of them.
/// 0 where nothing is known; a model has no data.
pub fn known_bytes(study: &Study) -> u64 {
    let engine = study.properties();
    match study.workload.as_str() {
        _ if engine.simulated => 0,
        "logical-io" => blocks_bytes(study, &engine),
        insert::WORKLOAD => seeded_bytes(study, &engine),
        tpch::WORKLOAD => query_bytes(study, &engine),
        _ => 0,
    }
}

/// What loading a data set takes on disk. A server of the user's has it elsewhere.
fn query_bytes(study: &Study, engine: &Properties) -> u64 {
    let bytes_per_scale = if study.is_users_server() { 0 } else { engine.tpch_bytes };
    let scale = study.treatments.first().and_then(|treatment| TpchOptions::read(&treatment.options).ok());
    scale.map_or(0, |options| (options.scale * bytes_per_scale as f64) as u64)
}

/// Each treatment inserts into a copy of its own of a seeded table.
fn seeded_bytes(study: &Study, engine: &Properties) -> u64 {
    let rows = study.treatments.iter().map(insert::seed_rows);
    let bytes = rows.map(|rows| rows.saturating_mul(engine.row_bytes));
    bytes.fold(0, u64::saturating_add)
}

fn blocks_bytes(study: &Study, engine: &Properties) -> u64 {
    let mut files: BTreeMap<u64, u64> = BTreeMap::new();
    for treatment in &study.treatments {
        let Some(OptionValue::Integer(blocks)) = treatment.options.get("blocks") else { continue };
        let is_shared = treatment.options.get("shared") == Some(&OptionValue::Flag(true));
        let copies = if is_shared { 1 } else { u64::from(treatment.sessions) };
        let most = files.entry(u64::try_from(*blocks).unwrap_or(0)).or_default();
        *most = copies.max(*most);
    }
    let sizes =
        files.into_iter().map(|(blocks, copies)| blocks.saturating_mul(engine.block_bytes * (copies + 1)));
    sizes.fold(0, u64::saturating_add)
}

/// Makes the data of all treatments, and checks as it grows that memory and disk suffice.
///
/// # Errors
/// The worker fails, memory or disk do not suffice, or the study is stopped.
pub fn load_all(
    study: &Study,
    settings: &Settings,
    allowed: &CpuSet,
    folders: Folders<'_>,
    memory_limit: u64,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Data, RunnerError> {
    let fail = |treatment: &Treatment, failure: Failure| match failure.is_stop() {
        true => RunnerError::Stopped,
        false => RunnerError::Load { treatment: treatment.name.clone(), failure },
    };
    let mut data = Data { keeper: None, loads: Vec::new(), notes: Vec::new(), queries: None };
    let mut keep = false;
    let Some(first) = study.treatments.first() else { return Ok(data) };
    guard::check_memory(settings.planned_bytes, memory_limit)?;
    let planned = settings.planned_bytes.max(known_bytes(study));
    guard::check_disk(folders.data, planned, guard::read_free_bytes(folders.data))?;
    let log = folders.logs.join("load.log");
    // What the loader makes is files; the caches that are measured belong to other workers.
    let memory = MemoryBinding::default();
    let place = Place { cpus: allowed, memory: &memory, folder: folders.data, log: &log, mark: &log };
    let mut worker =
        WorkerProcess::start(&settings.worker, place, settings.deadlines).map_err(|why| fail(first, why))?;
    // A server that all treatments share is started for the first one's data.
    let connections = settings.worker.is_client().then(|| connections(study).total());
    worker.hello(stop).map_err(|why| fail(first, why))?;
    let mut notes = BTreeSet::new();
    let mut memory_bytes = 0_u64;
    for (number, treatment) in study.treatments.iter().enumerate() {
        observer(Event::Loading { what: &treatment.name, number, count: study.treatments.len() });
        let wire = WireLoad::try_from(&request(study, treatment, folders.data))
            .map_err(|error| fail(treatment, Failure::new("protocol", error.to_string())))?;
        let loaded = load_one(&mut worker, (&wire, connections), settings, stop)
            .map_err(|why| fail(treatment, why))?;
        // Every parked worker keeps its own cache, and its table in memory.
        let cached_bytes = loaded.bytes.saturating_mul(u64::from(study.worker_sessions(treatment)));
        memory_bytes =
            memory_bytes.saturating_add(cached_bytes).saturating_add(added_bytes(study, treatment));
        guard::check_memory(memory_bytes, memory_limit)?;
        guard::check_disk(folders.data, loaded.bytes, guard::read_free_bytes(folders.data))?;
        data.notes.extend(loaded.notes.into_iter().filter(|note| notes.insert(note.clone())));
        data.loads.push(wire);
        keep |= loaded.keep;
    }
    if keep {
        data.keeper = Some(worker);
        return Ok(data);
    }
    worker.ask_to_stop();
    // The data is whole; how the worker goes does not matter any more.
    let _ = worker.stopped(stop);
    Ok(data)
}

/// What a worker said of the data of one treatment.
struct Made {
    /// Bytes of one session's data.
    bytes: u64,
    notes: Vec<String>,
    keep: bool,
}

fn load_one(
    worker: &mut WorkerProcess,
    (load, connections): (&WireLoad, Option<u32>),
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Made, Failure> {
    worker.send(&Request::Load { protocol: VERSION, load: load.clone(), connections }, stop)?;
    match worker.receive("load", settings.deadlines.load, Some(stop))? {
        Reply::Loaded { bytes_per_session, notes, keep, .. } => {
            Ok(Made { bytes: bytes_per_session, notes, keep })
        }
        other => Err(worker.unexpected("loaded", &other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::{Memory, Pin};
    use threadwise_study::{Design, Options, Role, Stopping};

    fn treatment(sessions: u32, options: &[(&str, OptionValue)]) -> Treatment {
        Treatment {
            name: "one".into(),
            group: String::new(),
            role: Role::Compared,
            placement: "1c1t".into(),
            sessions,
            pin: Pin::Each,
            memory: Memory::Local,
            service: None,
            arm: threadwise_study::Arm::default(),
            options: options.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
            factors: BTreeMap::new(),
        }
    }

    fn study(treatments: Vec<Treatment>) -> Study {
        Study {
            name: "x".into(),
            title: "x".into(),
            seed: 1,
            engine: "sqlite".into(),
            engine_properties: None,
            engine_options: Options::new(),
            workload: "logical-io".into(),
            treatments,
            comparisons: Vec::new(),
            design: Design {
                rounds: 20,
                slice_ns: 1,
                rewarm_ns: Some(1),
                stopping: Stopping::Blocks { blocks: 8 },
                level: 0.95,
                margin: 0.03,
                long_windows: None,
            },
            quota: None,
            external: None,
            left_out: Vec::new(),
        }
    }

    #[test]
    fn data_is_counted_once_for_each_number_of_blocks() {
        let blocks = |count: i64| ("blocks", OptionValue::Integer(count));
        let small = || treatment(1, &[blocks(100)]);
        let mut one =
            study(vec![small(), small(), treatment(3, &[blocks(100)]), treatment(2, &[blocks(1000)])]);
        assert_eq!(known_bytes(&one), 4096 * (100 * 4 + 1000 * 3));
        one.engine_properties = Some(Properties { block_bytes: 8192, ..Properties::default() });
        assert_eq!(known_bytes(&one), 8192 * (100 * 4 + 1000 * 3));
        one.engine_properties = Some(Properties { simulated: true, ..Properties::default() });
        assert_eq!(known_bytes(&one), 0);
        let shared = ("shared", OptionValue::Flag(true));
        assert_eq!(known_bytes(&study(vec![treatment(9, &[blocks(10), shared])])), 4096 * 20);
        assert_eq!(known_bytes(&study(vec![treatment(9, &[])])), 0);
        assert_eq!(known_bytes(&study(vec![treatment(9, &[blocks(i64::MAX)])])), u64::MAX);
        let seeded = || treatment(2, &[("seed_rows", OptionValue::Integer(1000))]);
        let mut inserts = study(vec![seeded(), seeded()]);
        inserts.workload = "insert".into();
        assert_eq!(known_bytes(&inserts), 2000 * 165);
        inserts.engine_properties = Some(Properties { row_bytes: 0, ..Properties::default() });
        assert_eq!(known_bytes(&inserts), 0);
        let mut queries = study(vec![treatment(1, &[("scale", OptionValue::Number(0.5))])]);
        queries.workload = tpch::WORKLOAD.into();
        assert_eq!(known_bytes(&queries), 0);
        queries.engine_properties = Some(Properties { tpch_bytes: 2000, ..Properties::default() });
        assert_eq!(known_bytes(&queries), 1000);
        queries.engine_options.insert("url".into(), OptionValue::Text("x://".into()));
        assert_eq!(known_bytes(&queries), 0, "the tables lie on the user's server");
    }
}
