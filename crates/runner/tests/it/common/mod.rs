//! A small study with a worker in Python, for tests of the runner. Python must be there: without
//! it these tests fail.

// Every test program uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;
use threadwise_machine::{CpuSet, Memory, Pin, Topology, pin};
use threadwise_runner::{Deadlines, Decision, Event, Outcome, RunnerError, Settings, Worker, run};
use threadwise_store::{Expectation, Store, Versions};
use threadwise_study::{Design, Options, Role, Run, Stopping, Study, Treatment};

/// What `hello` orders the worker to do wrong, beside what treatments' names say.
pub const GOOD: &str = "good";

/// A folder for everything of one test.
pub struct Bench {
    pub folder: TempDir,
    pub topology: Topology,
    pub settings: Settings,
}

/// The machine that the test runs on.
pub fn live_topology() -> Topology {
    let allowed = pin::current_affinity().unwrap();
    Topology::read(Path::new("/"), Some(&allowed)).unwrap()
}

impl Bench {
    pub fn new(hello: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_root = folder.path().join("data");
        std::fs::create_dir(&data_root).unwrap();
        let settings = settings(folder.path(), &data_root, hello);
        Self { folder, topology: live_topology(), settings }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("study.sqlite")
    }

    pub fn create(&self, study: &Study) -> Store {
        Store::create(&self.file(), study, &self.topology, &versions()).unwrap()
    }

    pub fn resume(&self) -> Store {
        let versions = versions();
        let expected = Expectation {
            topology: &self.topology,
            program: &versions.program,
            engine: &versions.engine,
            engine_version: &versions.engine_version,
            study: None,
        };
        Store::resume(&self.file(), &expected).unwrap()
    }

    /// Runs the study to its end.
    pub fn run(&self, store: &mut Store) -> Result<Outcome, RunnerError> {
        let stop = Arc::new(AtomicBool::new(false));
        run(&self.topology, &self.settings, store, &mut |_| {}, &mut |_, _| Decision::Continue, &stop)
    }

    /// Runs the study and hands every event to `observer`, with the flag that stops it.
    pub fn observe(
        &self,
        store: &mut Store,
        observer: &mut dyn FnMut(&Event<'_>, &AtomicBool),
    ) -> Result<Outcome, RunnerError> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut forward = |event: Event<'_>| observer(&event, &stop);
        run(&self.topology, &self.settings, store, &mut forward, &mut |_, _| Decision::Continue, &stop)
    }

    /// Process numbers of all workers so far: none where none has come as far as to write its own.
    pub fn pids(&self) -> Vec<u32> {
        let text = match std::fs::read_to_string(self.folder.path().join("pids")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.unwrap(),
        };
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// What is left below the data root.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.settings.data_root).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

pub fn versions() -> Versions {
    Versions {
        program: "0".into(),
        engine: "test".into(),
        engine_version: "1.2".into(),
        created_utc: "2025-01-01T00:00:00Z".into(),
    }
}

/// Whether the worker of these tests can run; where it cannot, says that they are skipped.
pub fn has_python() -> bool {
    let is_here = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !is_here {
        // Not by the macro, whose output the test program keeps back.
        let line =
            b"SKIPPED: the runner with a worker in another language: no python3 here (Debian: python3)\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line);
    }
    is_here
}

/// Settings with the Python worker, which writes what a test wants to know into `spy`.
pub fn settings(spy: &Path, data_root: &Path, hello: &str) -> Settings {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/common/worker.py");
    let args = [script, spy.to_str().unwrap(), hello].map(str::to_owned).to_vec();
    let mut settings = Settings::new(Worker {
        program: "python3".into(),
        args,
        environment: Vec::new(),
        withheld: Vec::new(),
    });
    settings.data_root = data_root.to_owned();
    settings.allow_busy = true;
    settings.deadlines = Deadlines { slice: Duration::from_secs(60), ..Deadlines::default() };
    settings
}

/// A baseline, its twin, and further treatments of one session each.
pub fn study(others: &[&str], blocks: u32) -> Study {
    let cpu = pin::current_affinity().unwrap().first().unwrap();
    let mut treatments = vec![
        treatment("alone", Role::Baseline, &cpu.to_string()),
        treatment("alone again", Role::BaselineTwin, &cpu.to_string()),
    ];
    treatments.extend(others.iter().map(|name| treatment(name, Role::Compared, &cpu.to_string())));
    Study {
        name: "test".into(),
        title: "A test of the runner".into(),
        seed: 7,
        engine: "test".into(),
        engine_properties: None,
        engine_options: Options::new(),
        workload: "logical-io".into(),
        treatments,
        comparisons: Vec::new(),
        design: Design {
            rounds: 3,
            slice_ns: 1_000_000,
            rewarm_ns: Some(100_000),
            stopping: Stopping::Blocks { blocks },
            level: 0.95,
            margin: 0.03,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: Vec::new(),
    }
}

pub fn treatment(name: &str, role: Role, placement: &str) -> Treatment {
    Treatment {
        name: name.into(),
        group: String::new(),
        role,
        placement: placement.parse().unwrap(),
        sessions: 1,
        pin: Pin::Each,
        memory: Memory::Local,
        service: None,
        arm: threadwise_study::Arm::default(),
        instance: Default::default(),
        options: Options::new(),
        factors: BTreeMap::new(),
    }
}

/// All CPUs that the test may use, as one set for one session.
pub fn floating(name: &str) -> Treatment {
    let allowed: CpuSet = pin::current_affinity().unwrap();
    assert!(allowed.len() > 1, "this test needs two logical CPUs");
    Treatment { pin: Pin::Set, ..treatment(name, Role::Compared, &allowed.to_string()) }
}

/// The one run of a treatment.
pub fn run_of<'a>(runs: &'a [Run], treatment: &str) -> &'a Run {
    let mut found = runs.iter().filter(|run| run.treatment == treatment);
    let run = found.next().unwrap();
    assert!(found.next().is_none(), "{treatment} has more than one run");
    run
}

/// Whether a process of this number runs; an ended one for which its parent has not waited does not.
pub fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
