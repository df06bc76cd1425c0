//! A data folder of `tpch` as the runner makes it, and a study on it without the runner.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;
use threadwise_engine::{
    Engine, EngineError, Keeper, LoadRequest, Running, Session, SessionRequest, StartRequest, Window, clock,
};
use threadwise_machine::CpuSet;
use threadwise_study::{OptionValue, Options, QueryExecution, SessionSlice};
use threadwise_tpch::{Dialect, Parameters, sql};

/// Where `tpchgen-cli` is: in an environment of the engines that are Python packages.
pub fn generator() -> PathBuf {
    let folder = std::env::var_os("THREADWISE_TEST_ENGINES").map(PathBuf::from);
    let program = folder.map(|folder| folder.join("bin/tpchgen-cli")).filter(|program| program.is_file());
    program.expect(
        "these tests need tpchgen-cli: run them by cargo xtask lab servers, or set THREADWISE_TEST_ENGINES to the \
         folder of an environment that has bin/tpchgen-cli",
    )
}

/// The generator's text, made once for all tests and kept: each of its runs takes a second before the first
/// row.
fn texts() -> &'static Path {
    static TEXTS: OnceLock<PathBuf> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let program = generator();
        let entry = std::fs::metadata(&program).unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("tpch-0.01-{}-{}", entry.len(), entry.mtime()));
        if !folder.is_dir() {
            let part = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let mut make = Command::new(program);
            make.args(["csv", "--quiet", "--scale-factor", "0.01", "--output-dir"]).arg(part.path());
            assert!(make.status().unwrap().success());
            // Another test program may have been quicker.
            assert!(std::fs::rename(part.path(), &folder).is_ok() || folder.is_dir());
        }
        folder
    })
}

/// Options from pairs: whole numbers, numbers, yes and no, else words.
pub fn options(pairs: &[(&str, &str)]) -> Options {
    let value = |text: &str| {
        let whole = text.parse().ok().map(OptionValue::Integer);
        let number = || text.parse().ok().map(OptionValue::Number);
        let flag = || text.parse().ok().map(OptionValue::Flag);
        whole.or_else(number).or_else(flag).unwrap_or_else(|| OptionValue::Text(text.to_owned()))
    };
    pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

/// A request at scale factor 0.01, where no other is given, for sessions of an engine.
pub fn request(folder: &Path, given: &[(&str, &str)], engine: &[(&str, &str)], sessions: u32) -> LoadRequest {
    LoadRequest {
        workload: "tpch".into(),
        options: options(&[&[("scale", "0.01")], given].concat()),
        engine_options: options(engine),
        data_dir: folder.to_owned(),
        treatment: "t".into(),
        sessions,
        seed: 7,
    }
}

/// A folder with the generator and the queries of some streams.
pub fn folder(dialect: Dialect, streams: u32) -> TempDir {
    filled(crate::support::folder(), dialect, streams)
}

/// Puts the generator and the queries of some streams into a folder.
pub fn filled(folder: TempDir, dialect: Dialect, streams: u32) -> TempDir {
    // Called as `csv --stdout --quiet --tables NAME --scale-factor 0.01`.
    let script = format!("#!/bin/sh\n[ \"$4\" = --tables ] && exec cat '{}'/\"$5\".csv\n", texts().display());
    let link = folder.path().join("generator");
    std::fs::write(&link, script).unwrap();
    std::fs::set_permissions(&link, std::fs::Permissions::from_mode(0o755)).unwrap();
    for stream in 0..streams {
        for query in 1..=22 {
            let parameters = match stream {
                0 => Parameters::validation(query, 0.01).unwrap(),
                _ => Parameters::seeded(query, 0.01, 7, stream).unwrap(),
            };
            write(folder.path(), stream, query, &sql(dialect, query, &parameters).unwrap());
        }
    }
    folder
}

/// Puts a text in place of a query's.
pub fn write(folder: &Path, stream: u32, query: u8, text: &str) {
    let file = folder.join(format!("queries/{stream}/q{query:02}.sql"));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// An engine with its data loaded, until it is ended.
pub struct Study {
    engine: &'static dyn Engine,
    pub folder: TempDir,
    keeper: Option<Box<dyn Keeper>>,
}

impl Study {
    pub fn of(engine: &'static dyn Engine, folder: TempDir, first: &LoadRequest) -> Self {
        engine.check(first).unwrap();
        let keeper = engine.keep(first, 0).unwrap();
        engine.load(first).unwrap();
        Self { engine, folder, keeper }
    }

    pub fn end(self) {
        if let Some(keeper) = self.keeper {
            keeper.end().unwrap();
        }
    }

    /// A treatment on these logical CPUs, which all of its sessions share.
    pub fn start(&self, load: &LoadRequest, cpus: &CpuSet) -> AtWork {
        self.try_start(load, cpus).unwrap()
    }

    pub fn try_start(&self, load: &LoadRequest, cpus: &CpuSet) -> Result<AtWork, EngineError> {
        let start = StartRequest {
            load: load.clone(),
            sessions: vec![cpus.clone(); load.sessions as usize],
            service: cpus.clone(),
            seed: 7,
            journal: None,
        };
        let running = self.engine.start(&start)?;
        let mut sessions = Vec::new();
        for session in 0..load.sessions {
            let cpus = cpus.clone();
            let request =
                SessionRequest { load: load.clone(), session, sessions: load.sessions, cpus, seed: 7 };
            let mut opened = running.open(&request)?;
            opened.warm()?;
            sessions.push(opened);
        }
        Ok(AtWork { running, sessions })
    }
}

/// A treatment with its sessions open and warm.
pub struct AtWork {
    pub running: Box<dyn Running>,
    pub sessions: Vec<Box<dyn Session>>,
}

/// A window that begins soon and is so long.
pub fn window(milliseconds: u64) -> Window {
    let start_ns = clock::monotonic_ns() + 5_000_000;
    Window {
        sequence: 0,
        start_ns,
        end_ns: start_ns + milliseconds * 1_000_000,
        piece_ns: None,
        arrivals: None,
    }
}

impl AtWork {
    /// One slice of a single session.
    pub fn ask(&mut self, queries: &[u8], limit_ms: u64) -> Result<SessionSlice, EngineError> {
        self.running.before()?;
        let window = window(limit_ms);
        let Self { running, sessions } = self;
        let slice = std::thread::scope(|scope| {
            let during = scope.spawn(|| running.during(&window));
            let slice = sessions[0].queries(&window, queries);
            // What the session says weighs more, as it does in a worker.
            let looked = during.join().unwrap();
            slice.and_then(|slice| looked.map(|()| slice))
        })?;
        let mut slices = [slice];
        self.running.after(&mut slices)?;
        let [slice] = slices;
        Ok(slice)
    }

    /// One execution.
    pub fn one(&mut self, query: u8) -> QueryExecution {
        let slice = self.ask(&[query], 120_000).unwrap();
        slice.queries.into_iter().next().unwrap()
    }

    pub fn finish(self) {
        drop(self.sessions);
        self.running.finish().unwrap();
    }
}
