//! Making the data of every treatment, once per study, by one worker.

use crate::RunnerError;
use crate::event::Event;
use crate::guard;
use crate::places::Folders;
use crate::queries::QueryData;
use crate::settings::Settings;
use crate::worker_process::{Failure, WorkerLaunch, WorkerProcess};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threadwise_engine::connections::Need;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireLoad};
use threadwise_engine::workloads::logical_io::DEFAULT_BLOCKS;
use threadwise_engine::{Engine, LoadRequest};
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::engine::Properties;
use threadwise_study::insert::{self, added_bytes};
use threadwise_study::{OptionValue, Study, Treatment, Workload, parallel};
use threadwise_tpch::TpchOptions;

/// Checks of the connections of the user's server before a block, and the pause between them: 3 s.
const CONNECTION_LOOKS: u32 = 10;
const CONNECTION_STEP: Duration = Duration::from_millis(300);

/// The data of a study.
#[derive(Debug)]
pub struct Data {
    /// Workers that made it and must stay until the study's end, at most one for each instance of the engine.
    pub keepers: Vec<WorkerProcess>,
    /// The data of each treatment's workers, in study order.
    pub loads: Vec<WireLoad>,
    /// Notes of the engine, each once.
    pub notes: Vec<String>,
    /// Data and answers of queries, if the workload has queries.
    pub queries: Option<QueryData>,
}

impl Data {
    /// Notes for the reader of a report.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.queries.iter().flat_map(|queries| &queries.notes).chain(&self.notes)
    }

    /// Has the workers that stayed end what they kept. Returns what could not be ended, in one line.
    pub fn end(mut self, stop: &AtomicBool) -> Option<String> {
        self.keepers.iter_mut().for_each(WorkerProcess::ask_to_stop);
        let ended = self.keepers.into_iter().filter_map(|keeper| keeper.stopped(stop).err());
        let left: Vec<String> = ended.map(|failure| failure.to_string()).collect();
        (!left.is_empty()).then(|| left.join("; "))
    }
}

/// The input of a treatment's data. Treatments with the same options can share their data, and
/// must then ask for the same number of sessions; the engine knows whether it may be shared.
pub fn request(study: &Study, treatment: &Treatment, data_dir: &Path) -> LoadRequest {
    let is_alike =
        |other: &&Treatment| other.options == treatment.options && other.instance == treatment.instance;
    let alike = study.treatments.iter().filter(is_alike);
    LoadRequest {
        workload: study.workload.clone(),
        options: treatment.options.clone(),
        engine_options: study.engine_options_of(treatment),
        data_dir: data_dir.to_owned(),
        treatment: treatment.name.clone(),
        sessions: alike.map(|other| study.worker_sessions(other)).max().unwrap_or(treatment.sessions),
        seed: study.seed,
    }
}

/// Connections that a study of a server holds at once.
pub fn connections(study: &Study) -> Need {
    let sessions = study.treatments.iter().map(|treatment| study.worker_sessions(treatment));
    match study.takes_turns() {
        true => Need::of(sessions.max()),
        false => Need::of(sessions),
    }
}

/// Refuses a block that would take connections of the user's server which are reserved for others. The server
/// may not have closed all those of the block before.
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
        need.expect_free(&limits)
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

/// Least bytes that the data of all treatments takes on disk, by device, as far as the study shows; 0 if unknown.
pub fn known_bytes_by_device(study: &Study) -> BTreeMap<Option<&str>, u64> {
    let mut bytes: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for instance in study.instances() {
        let first = instance.first().and_then(|at| study.treatments.get(*at));
        let device = first.and_then(|treatment| treatment.instance.device.as_deref());
        let sum = bytes.entry(device).or_default();
        *sum = sum.saturating_add(known_bytes(&study.only(&instance)));
    }
    bytes
}

/// The same for one instance of the engine: for every number of blocks a template, and a copy for each session of the
/// treatment with most of them. A model has no data, and a user's server has it elsewhere.
pub fn known_bytes(study: &Study) -> u64 {
    let engine = study.properties();
    match study.workload {
        _ if engine.simulated || study.is_users_server() => 0,
        Workload::LogicalIo => blocks_bytes(study, &engine),
        Workload::Insert => seeded_bytes(study, &engine),
        Workload::Tpch => query_bytes(study, &engine),
        Workload::ParallelScan => scanned_bytes(study),
        _ => 0,
    }
}

/// Disk space for loading a data set.
fn query_bytes(study: &Study, engine: &Properties) -> u64 {
    let scale = study.treatments.first().and_then(|treatment| TpchOptions::read(&treatment.options).ok());
    scale.map_or(0, |options| (options.scale * engine.tpch_bytes as f64) as u64)
}

/// One table that all treatments scan.
fn scanned_bytes(study: &Study) -> u64 {
    let rows = study.treatments.first().map_or(0, |treatment| parallel::rows(&treatment.options));
    rows.saturating_mul(parallel::ROW_BYTES)
}

/// Each treatment inserts into its own copy of a seeded table.
fn seeded_bytes(study: &Study, engine: &Properties) -> u64 {
    let rows = study.treatments.iter().map(insert::seed_rows);
    let bytes = rows.map(|rows| rows.saturating_mul(engine.row_bytes));
    bytes.fold(0, u64::saturating_add)
}

fn blocks_bytes(study: &Study, engine: &Properties) -> u64 {
    let mut files: BTreeMap<u64, u64> = BTreeMap::new();
    for treatment in &study.treatments {
        let blocks = match treatment.options.get("blocks") {
            None => DEFAULT_BLOCKS,
            Some(blocks) => blocks.whole().unwrap_or(0),
        };
        let is_shared = treatment.options.get("shared") == Some(&OptionValue::Flag(true));
        let copies = if is_shared { 1 } else { u64::from(treatment.sessions) };
        let most = files.entry(blocks).or_default();
        *most = copies.max(*most);
    }
    let sizes =
        files.into_iter().map(|(blocks, copies)| blocks.saturating_mul(engine.block_bytes * (copies + 1)));
    sizes.fold(0, u64::saturating_add)
}

/// Makes the data of all treatments, and checks during growth that memory and disk suffice.
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
    let mut data = Data { keepers: Vec::new(), loads: Vec::new(), notes: Vec::new(), queries: None };
    guard::check_memory(settings.planned_bytes, memory_limit)?;
    let mut loading = Loading { loads: BTreeMap::new(), memory_bytes: 0, memory_limit, number: 0 };
    for instance in study.instances() {
        let loaded =
            load_instance(&mut loading, (study, &instance), settings, (allowed, folders), stop, observer)?;
        let new: Vec<String> = loaded.notes.into_iter().filter(|note| !data.notes.contains(note)).collect();
        data.notes.extend(new);
        data.keepers.extend(loaded.keeper);
    }
    data.loads = loading.loads.into_values().collect();
    Ok(data)
}

/// Whether a load ended with a worker that was killed in it, and could not drop what it had made.
pub fn was_cut_short(error: &RunnerError) -> bool {
    match error {
        RunnerError::Stopped => true,
        RunnerError::Load { failure, .. } => ["timeout", "crash"].contains(&failure.kind.as_str()),
        _ => false,
    }
}

/// Drops what such a load left in the user's server, as the next study would. What fails here is left to that.
pub fn drop_left(study: &Study, server: Option<&dyn Engine>, data_dir: &Path) {
    let (Some(engine), Some(first)) = (server, study.treatments.first()) else { return };
    if let Ok(Some(keeper)) = engine.keep(&request(study, first, data_dir), 0) {
        // The study's own error is reported.
        let _ = keeper.end();
    }
}

/// Progress of loading.
struct Loading {
    /// The data of workers, by treatment.
    loads: BTreeMap<usize, WireLoad>,
    memory_bytes: u64,
    memory_limit: u64,
    number: usize,
}

/// An instance's data.
struct LoadedInstance {
    keeper: Option<WorkerProcess>,
    notes: Vec<String>,
}

/// Makes the data of an instance's treatments, with one worker.
fn load_instance(
    loading: &mut Loading,
    (study, instance): (&Study, &[usize]),
    settings: &Settings,
    (allowed, folders): (&CpuSet, Folders<'_>),
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<LoadedInstance, RunnerError> {
    let fail = |treatment: &Treatment, failure: Failure| match failure.is_stop() {
        true => RunnerError::Stopped,
        false => RunnerError::Load { treatment: treatment.name.clone(), failure },
    };
    let treatments = || instance.iter().filter_map(|at| Some((*at, study.treatments.get(*at)?)));
    let mut loaded = LoadedInstance { keeper: None, notes: Vec::new() };
    let Some((at, first)) = treatments().next() else { return Ok(loaded) };
    let folder = folders.instances.get(at).map_or(folders.data, PathBuf::as_path);
    let planned = settings.planned_bytes.max(known_bytes(&study.only(instance)));
    guard::check_disk(folder, planned, guard::read_free_bytes(folder))?;
    let log = folders.logs.join(format!("load-{at}.log"));
    // The loader makes files; the measured caches belong to other workers.
    let memory = MemoryBinding::default();
    let launch = WorkerLaunch { cpus: allowed, memory: &memory, folder, log: &log, mark: &log };
    let program = settings.worker_of(first);
    let mut worker =
        WorkerProcess::start(program, launch, settings.deadlines).map_err(|why| fail(first, why))?;
    // A server that all treatments share is started for the first one's data.
    let connections = program.is_client().then(|| connections(study).total());
    worker.hello(stop).map_err(|why| fail(first, why))?;
    let mut keep = false;
    for (at, treatment) in treatments() {
        observer(Event::Loading {
            what: &treatment.name,
            number: loading.number,
            count: study.treatments.len(),
        });
        loading.number += 1;
        let wire = WireLoad::try_from(&request(study, treatment, folder))
            .map_err(|error| fail(treatment, Failure::new("protocol", error.to_string())))?;
        let made = load_one(&mut worker, (&wire, connections), settings, stop)
            .map_err(|why| fail(treatment, why))?;
        // Every parked worker keeps its own cache, and its table in memory.
        let cached_bytes = made.bytes.saturating_mul(u64::from(study.worker_sessions(treatment)));
        loading.memory_bytes =
            loading.memory_bytes.saturating_add(cached_bytes).saturating_add(added_bytes(study, treatment));
        guard::check_memory(loading.memory_bytes, loading.memory_limit)?;
        guard::check_disk(folder, made.bytes, guard::read_free_bytes(folder))?;
        let new: Vec<String> = made.notes.into_iter().filter(|note| !loaded.notes.contains(note)).collect();
        loaded.notes.extend(new);
        loading.loads.insert(at, wire);
        keep |= made.keep;
    }
    if keep {
        loaded.keeper = Some(worker);
        return Ok(loaded);
    }
    worker.ask_to_stop();
    // The data is complete; how the worker ends does not matter any more.
    let _ = worker.stopped(stop);
    Ok(loaded)
}

/// A worker's reply on the data of one treatment.
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
            placement: "1c1t".parse().unwrap(),
            sessions,
            pin: Pin::Each,
            memory: Memory::Local,
            service: None,
            arm: threadwise_study::Arm::default(),
            instance: Default::default(),
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
            workload: Workload::LogicalIo,
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
        one.engine_properties = None;
        one.engine_options.insert("url".into(), OptionValue::Text("x://".into()));
        assert_eq!(known_bytes(&one), 0, "the tables lie on the user's server");
        let shared = ("shared", OptionValue::Flag(true));
        assert_eq!(known_bytes(&study(vec![treatment(9, &[blocks(10), shared])])), 4096 * 20);
        assert_eq!(known_bytes(&study(vec![treatment(9, &[])])), 4096 * 8192 * 10, "the workload's own size");
        assert_eq!(known_bytes(&study(vec![treatment(9, &[blocks(i64::MAX)])])), u64::MAX);
        let seeded = || treatment(2, &[("seed_rows", OptionValue::Integer(1000))]);
        let mut inserts = study(vec![seeded(), seeded()]);
        inserts.workload = Workload::Insert;
        assert_eq!(known_bytes(&inserts), 2000 * 165);
        inserts.engine_properties = Some(Properties { row_bytes: 0, ..Properties::default() });
        assert_eq!(known_bytes(&inserts), 0);
        let mut queries = study(vec![treatment(1, &[("scale", OptionValue::Number(0.5))])]);
        queries.workload = Workload::Tpch;
        assert_eq!(known_bytes(&queries), 0);
        queries.engine_properties = Some(Properties { tpch_bytes: 2000, ..Properties::default() });
        assert_eq!(known_bytes(&queries), 1000);
        queries.engine_options.insert("url".into(), OptionValue::Text("x://".into()));
        assert_eq!(known_bytes(&queries), 0, "the tables lie on the user's server");
    }
}
