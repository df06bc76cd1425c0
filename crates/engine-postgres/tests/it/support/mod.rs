//! What the tests with real servers share.
#![allow(dead_code)]

pub mod theirs;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use threadwise_engine::{Engine, LoadRequest, SessionRequest, StartRequest, Window, clock};
use threadwise_engine_postgres::Postgres;
use threadwise_engine_postgres::cluster::Programs;
use threadwise_machine::{CpuSet, pin};
use threadwise_study::{OptionValue, Options};

/// PostgreSQL's programs.
pub fn programs() -> Programs {
    Programs::find(None).unwrap()
}

/// A data folder that the server's user can pass through.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

/// A data folder that does not lie in memory, as /tmp does on many systems (statfs(2), TMPFS_MAGIC).
pub fn folder_on_disk() -> TempDir {
    let is_in_memory = |path: &Path| rustix::fs::statfs(path).unwrap().f_type == 0x0102_1994;
    let folder = folder();
    if !is_in_memory(folder.path()) {
        return folder;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

/// Options from pairs; whole numbers become numbers.
pub fn options(pairs: &[(&str, &str)]) -> Options {
    let value =
        |text: &str| text.parse().map_or_else(|_| OptionValue::Text(text.to_owned()), OptionValue::Integer);
    pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

/// A request for two sessions of a workload.
pub fn load(data_dir: &Path, workload: &str, given: &[(&str, &str)], engine: &[(&str, &str)]) -> LoadRequest {
    LoadRequest {
        workload: workload.into(),
        options: options(given),
        engine_options: options(engine),
        data_dir: data_dir.to_owned(),
        treatment: "t".into(),
        sessions: 2,
        seed: 7,
    }
}

/// The logical CPUs that this test may use.
pub fn cpus() -> CpuSet {
    pin::current_affinity().unwrap()
}

/// A start of that request, each session on one logical CPU.
pub fn start(load: &LoadRequest) -> StartRequest {
    let all: Vec<u32> = cpus().iter().collect();
    let one = |session: usize| [all[session % all.len()]].into_iter().collect::<CpuSet>();
    StartRequest {
        load: load.clone(),
        sessions: (0..load.sessions as usize).map(one).collect(),
        service: one(load.sessions as usize + 1),
        seed: 7,
        journal: None,
    }
}

/// A session of that start.
pub fn session(start: &StartRequest, session: u32) -> SessionRequest {
    SessionRequest {
        load: start.load.clone(),
        session,
        sessions: start.load.sessions,
        cpus: start.sessions[session as usize].clone(),
        seed: start.seed,
    }
}

/// A window that begins soon.
pub fn window(milliseconds: u64) -> Window {
    let start_ns = clock::monotonic_ns() + 20_000_000;
    Window {
        sequence: 0,
        start_ns,
        end_ns: start_ns + milliseconds * 1_000_000,
        piece_ns: None,
        arrivals: None,
    }
}

/// The engine.
pub fn engine() -> &'static dyn Engine {
    &Postgres
}

/// Processes whose current folder lies in this one; a server's process is known by that.
pub fn processes_in(folder: &Path) -> Vec<u32> {
    threadwise_process::folder_processes::in_folder(folder).unwrap()
}

/// Waits until something holds, for at most so long that only a fault takes longer.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
