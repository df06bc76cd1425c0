//! The runner's settings beside the study: programs, folders, deadlines.

use crate::RunnerError;
use crate::looks::Looks;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use threadwise_engine::Engine;
use threadwise_machine::CpuSet;
use threadwise_process::watchdog::Start;
use threadwise_study::{Study, Treatment};
use threadwise_tpch::Dialect;

/// A program that speaks the worker protocol, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, such as `worker --engine sqlite`.
    pub args: Vec<String>,
    /// Prefixes of environment variables that it gets although they may hold a password
    /// (`PG`): those of its own engine, which is then a client of a server.
    pub environment: Vec<String>,
    /// The prefixes of all engines: it gets no variable of another engine's.
    pub withheld: Vec<String>,
}

impl Worker {
    /// Whether its engine is a client of a server.
    pub fn is_client(&self) -> bool {
        !self.environment.is_empty()
    }
}

/// How long to wait for a worker before it counts as hanging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From its start to `hello`.
    pub hello: Duration,
    /// For the data of one treatment.
    pub load: Duration,
    /// From `prepare` to `ready`.
    pub prepare: Duration,
    /// For a slice, beyond its re-warm and window.
    pub slice: Duration,
    /// From `stop` to its end.
    pub stop: Duration,
    /// From a stop of the study to the end of a worker that must clean up; then it is
    /// killed.
    pub interrupt: Duration,
}

impl Deadlines {
    /// [`Deadlines::interrupt`] of workers that have more to restore than private files: servers, and
    /// commands with a `teardown`.
    pub const CLEAN_UP: Duration = Duration::from_secs(90);
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(30),
            load: Duration::from_secs(1800),
            prepare: Duration::from_secs(300),
            slice: Duration::from_secs(30),
            stop: Duration::from_secs(10),
            interrupt: Duration::from_secs(5),
        }
    }
}

/// Programs and folders of a study of queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuerySettings {
    /// Folder in which data sets are kept from study to study.
    pub cache_root: PathBuf,
    /// The data generator, `tpchgen-cli`.
    pub generator: PathBuf,
    /// The interpreter of the two scripts.
    pub python: PathBuf,
    /// Script that orders a data set by shipping date.
    pub cluster_script: PathBuf,
    /// Script that counts the rows of a data set.
    pub count_script: PathBuf,
    /// Worker of the engine whose answers are the reference.
    pub referee: Worker,
    /// Its engine's name.
    pub referee_engine: String,
    /// The dialect of its queries.
    pub referee_dialect: Dialect,
}

/// How the machine is switched for arms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switching {
    /// The watchdog, which gets the journal and must call `threadwise_smt::watchdog::watch`.
    pub watchdog: Start,
    /// Folder of journals, `threadwise_process::state::folder`.
    pub folder: PathBuf,
    /// Logical CPUs that this control group allows; `None` for all.
    pub cpuset: Option<CpuSet>,
}

/// All settings of the runner beside the study.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workers' program.
    pub worker: Worker,
    /// Programs of treatments, by name, whose workers run another one: another version of the engine.
    pub other_workers: BTreeMap<String, Worker>,
    /// The watchdog of the private folder, which gets the folder and must call [`crate::watch`]. With `None` the next
    /// start removes the folder.
    pub watchdog: Option<Start>,
    /// Folder below which the private folder is made, such as `std::env::temp_dir()`.
    pub data_root: PathBuf,
    /// How the machine is switched; `None` if no study may switch it.
    pub switching: Option<Switching>,
    /// Measure even on a busy machine and beside database servers.
    pub allow_busy: bool,
    /// Whether to probe the hardware first.
    pub probe: bool,
    /// Which slices have looks at where their logical CPUs are.
    pub looks: Looks,
    /// Start of this program, from which its limit counts.
    pub began: Instant,
    /// Most time of this start of the program, except for ending in order; `None` without
    /// a limit: then the number of blocks is planned from the study's budget.
    pub limit: Option<Duration>,
    /// How long to wait for workers.
    pub deadlines: Deadlines,
    /// For a workload of queries.
    pub queries: Option<QuerySettings>,
    /// The engine, if it measures the user's server: it is asked before every block how many
    /// connections are free, so that none that is reserved for others is taken.
    pub users_server: Option<&'static dyn Engine>,
    /// Programs that engines start in the data folder and that may outlive their workers; they end
    /// with the folder.
    pub started_programs: Vec<String>,
    /// The study as this start runs it, up to the end of its part, if the result file's has external arms; `None`
    /// if it runs the file's.
    pub part_study: Option<Study>,
    /// Bytes that the data of all treatments needs, if known beforehand; otherwise 0, and memory
    /// and disk are checked only when the data exists.
    pub planned_bytes: u64,
}

impl Settings {
    /// Settings with the usual values: data below the system's folder for temporary files, no
    /// watchdog, no time limit.
    pub fn new(worker: Worker) -> Self {
        // A server checks its table, restores it and shuts down.
        let usual = Deadlines::default();
        let (stop, interrupt) = match worker.is_client() {
            true => (Duration::from_secs(300), Deadlines::CLEAN_UP),
            false => (usual.stop, usual.interrupt),
        };
        Self {
            worker,
            other_workers: BTreeMap::new(),
            watchdog: None,
            switching: None,
            data_root: std::env::temp_dir(),
            allow_busy: false,
            probe: false,
            looks: Looks::None,
            began: Instant::now(),
            limit: None,
            deadlines: Deadlines { stop, interrupt, ..usual },
            queries: None,
            users_server: None,
            started_programs: Vec::new(),
            part_study: None,
            planned_bytes: 0,
        }
    }

    /// The program of a treatment's workers.
    pub fn worker_of(&self, treatment: &Treatment) -> &Worker {
        self.other_workers.get(&treatment.name).unwrap_or(&self.worker)
    }
}

/// The worker program of an engine: `current_exe` itself for one of `built_in`, otherwise
/// `threadwise-engine-NAME` from the folders of `path` (the value of `PATH`). Skips folders that are not
/// absolute: they would mean another program in every working folder.
///
/// # Errors
/// The engine is neither built in nor such a program.
pub fn find_worker(
    engine: &str,
    built_in: &[&dyn Engine],
    current_exe: &Path,
    path: &std::ffi::OsStr,
) -> Result<Worker, RunnerError> {
    if let Some(found) = built_in.iter().find(|one| one.name() == engine) {
        let args = ["worker", "--engine", engine].map(str::to_owned).to_vec();
        let environment = found.environment().iter().map(|&prefix| prefix.to_owned()).collect();
        let withheld = variables(built_in);
        return Ok(Worker { program: current_exe.to_owned(), args, environment, withheld });
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let named = !engine.is_empty() && engine.chars().all(is_plain);
    std::env::split_paths(path)
        .filter(|folder| named && folder.is_absolute())
        .map(|folder| folder.join(format!("threadwise-engine-{engine}")))
        .find(|program| is_program(program))
        .map(|program| Worker {
            program,
            args: Vec::new(),
            environment: Vec::new(),
            withheld: variables(built_in),
        })
        .ok_or_else(|| RunnerError::NoEngine {
            engine: engine.to_owned(),
            known: built_in.iter().map(|engine| engine.name()).collect::<Vec<_>>().join(", "),
        })
}

/// Prefixes of the variables that some engine reads. An engine that gets all of them names none.
pub fn variables(engines: &[&dyn Engine]) -> Vec<String> {
    let all = engines.iter().flat_map(|engine| engine.environment());
    all.filter(|prefix| !prefix.is_empty()).map(|&prefix| prefix.to_owned()).collect()
}

/// Whether a path is a file that may be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|entry| entry.is_file() && entry.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use threadwise_engine::engines;

    #[test]
    fn built_in_engines_run_in_our_own_program() {
        let program = Path::new("/bin/threadwise");
        let worker = find_worker("sqlite", engines::all(), program, OsStr::new("")).unwrap();
        assert_eq!(worker.program, Path::new("/bin/threadwise"));
        assert_eq!(worker.args, ["worker", "--engine", "sqlite"]);
    }

    #[test]
    fn other_engines_are_programs_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("threadwise-engine-mine");
        let path =
            std::env::join_paths([Path::new("relative"), Path::new("/proc/nowhere"), folder.path()]).unwrap();
        let find = |name: &str| find_worker(name, engines::all(), Path::new("/bin/threadwise"), &path);
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        assert!(find("mine").is_err(), "not executable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("mine").unwrap().program, program);
        let error = find("absent").unwrap_err().to_string();
        assert!(error.contains("threadwise-engine-absent on PATH") && error.contains("sqlite"), "{error}");
        assert!(find("../mine").is_err() && find("").is_err());
    }
}
