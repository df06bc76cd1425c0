//! TPC-H on SQLite at the smallest scale: answers, the time limit, damaged loads, refused options.

use super::super::Sqlite;
use super::*;
use crate::{Engine, StartRequest, clock};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::CpuSet;
use threadwise_study::{OptionValue, Options, QueryExecution};
use threadwise_tpch::{Dialect, Parameters, sql};

/// Takes longer than any time limit here.
const LONG: &str = "SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_comment < b.l_comment";

fn generator() -> PathBuf {
    let folder = std::env::var_os("THREADWISE_TEST_ENGINES").map(PathBuf::from);
    let program = folder.map(|folder| folder.join("bin/tpchgen-cli")).filter(|program| program.is_file());
    program.expect("these tests need tpchgen-cli: cargo xtask lab engines")
}

fn folder() -> TempDir {
    let generator = generator();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(generator, folder.path().join("generator")).unwrap();
    std::fs::create_dir_all(folder.path().join("queries/0")).unwrap();
    for query in 1..=22 {
        let parameters = Parameters::validation(query, 0.01).unwrap();
        write(folder.path(), query, &sql(Dialect::Sqlite, query, &parameters).unwrap());
    }
    folder
}

fn write(folder: &Path, query: u8, text: &str) {
    std::fs::write(crate::workloads::tpch::query_file(folder, 0, query), text).unwrap();
}

fn request(folder: &Path, more: &[(&str, OptionValue)]) -> LoadRequest {
    let scale = [("scale", OptionValue::Number(0.01))];
    let pairs = scale.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone()));
    LoadRequest {
        workload: "tpch".into(),
        options: pairs.collect(),
        engine_options: Options::new(),
        data_dir: folder.to_owned(),
        treatment: "t".into(),
        sessions: 1,
        seed: 7,
    }
}

/// Loaded, started, and one session open and warm.
fn start_loaded(load: &LoadRequest) -> (Box<dyn Running>, Box<dyn Session>) {
    let cpus: CpuSet = [0].into_iter().collect();
    let (sessions, service) = (vec![cpus.clone()], cpus.clone());
    let start = StartRequest { load: load.clone(), sessions, service, seed: 7, journal: None };
    let running = Sqlite.start(&start).unwrap();
    let session_request = SessionRequest { load: load.clone(), session: 0, sessions: 1, cpus, seed: 7 };
    let mut session = running.open(&session_request).unwrap();
    session.warm().unwrap();
    (running, session)
}

fn ask(
    running: &dyn Running,
    session: &mut dyn Session,
    query: u8,
    limit_ms: u64,
) -> Result<QueryExecution, EngineError> {
    running.before()?;
    let start_ns = clock::monotonic_ns() + 1_000_000;
    let window = Window {
        sequence: 0,
        start_ns,
        end_ns: start_ns + limit_ms * 1_000_000,
        piece_ns: None,
        arrivals: None,
    };
    std::thread::scope(|scope| {
        let during = scope.spawn(|| running.during(&window));
        let slice = session.queries(&window, &[query]);
        during.join().unwrap()?;
        slice.map(|mut slice| slice.queries.remove(0))
    })
}

#[test]
fn what_sqlite_cannot_follow_is_refused_by_name() {
    let word = |text: &str| OptionValue::Text(text.into());
    for (option, value, part) in [
        ("dop", OptionValue::Integer(2), "one thread"),
        ("scale", OptionValue::Integer(10), "at most 1"),
        ("cluster", word("shipdate"), "orderkey"),
        ("cache", word("cold"), "warm"),
        ("storage", word("memory"), "own file"),
        ("jit", OptionValue::Flag(true), "no compiler"),
        ("settings.cache_size", OptionValue::Integer(1), "no settings"),
        ("scael", OptionValue::Integer(1), "no such option"),
    ] {
        let message = Sqlite.check(&request(Path::new("/"), &[(option, value)])).unwrap_err().to_string();
        assert!(message.contains(&format!("option '{option}'")) && message.contains(part), "{message}");
    }
    let short = [("test", word("throughput")), ("short", OptionValue::Integer(2))];
    let message = Sqlite.check(&request(Path::new("/"), &short)).unwrap_err().to_string();
    assert!(message.contains("option 'short'") && message.contains("postgres"), "{message}");
    Sqlite.check(&request(Path::new("/"), &[("dop", OptionValue::Integer(1))])).unwrap();
}

mod lab_engines {
    use super::*;

    #[test]
    #[ignore = "laboratory: engines"]
    fn queries_are_answered_from_the_cache_and_stopped_at_the_time_limit() {
        let folder = folder();
        write(folder.path(), 18, LONG);
        let load = request(folder.path(), &[("queries", OptionValue::Text("1,6,14,18".into()))]);
        let loaded = Sqlite.load(&load).unwrap();
        assert!(loaded.bytes_per_session > 8_000_000, "{loaded:?}");
        assert_eq!(Sqlite.load(&load).unwrap(), loaded, "found again");
        let (running, mut session) = start_loaded(&load);
        let six = ask(running.as_ref(), session.as_mut(), 6, 60_000).unwrap();
        assert_eq!((six.rows, six.dop, six.counters["read_bytes"]), (1, Some(1), 0));
        assert!(six.planning_ns.unwrap() > 0 && six.cpu_ns.unwrap() > 0 && six.elapsed_ns > 0, "{six:?}");
        assert_eq!(six.plan.as_deref(), Some("SCAN lineitem\n"));
        let answer = six.answer.unwrap();
        let sum: f64 = answer[0][0].as_deref().unwrap().parse().unwrap();
        assert!((sum - 1_193_053.225_3).abs() < 1e-3, "{sum}");
        let one = ask(running.as_ref(), session.as_mut(), 1, 60_000).unwrap();
        assert_eq!((one.rows, one.answer.unwrap()[0][0].as_deref()), (4, Some("A")));
        let message = ask(running.as_ref(), session.as_mut(), 18, 100).unwrap_err().to_string();
        assert!(message.contains("q18") && message.contains("slice_ms"), "{message}");
        // The session goes on, and a query that was not asked for is no panic.
        assert_eq!(ask(running.as_ref(), session.as_mut(), 6, 60_000).unwrap().rows, 1);
        let message = ask(running.as_ref(), session.as_mut(), 2, 60_000).unwrap_err().to_string();
        assert!(message.contains("q02"), "{message}");
    }

    #[test]
    #[ignore = "laboratory: engines"]
    fn a_load_that_fails_leaves_nothing_that_looks_whole() {
        let folder = folder();
        let load = request(folder.path(), &[("queries", OptionValue::Integer(6))]);
        let link = folder.path().join("generator");
        std::fs::remove_file(&link).unwrap();
        assert!(Sqlite.load(&load).unwrap_err().to_string().contains("generator"));
        std::fs::write(&link, "#!/bin/sh\necho r_regionkey,r_name,r_comment\necho 0,A\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&link, mode).unwrap();
        let message = Sqlite.load(&load).unwrap_err().to_string();
        assert!(message.contains("region"), "{message}");
        let start = StartRequest {
            load,
            sessions: vec![CpuSet::new()],
            service: CpuSet::new(),
            seed: 7,
            journal: None,
        };
        assert!(Sqlite.start(&start).err().unwrap().to_string().contains("load it first"));
        let is_data = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("tpch");
        assert!(!std::fs::read_dir(folder.path()).unwrap().flatten().any(|entry| is_data(&entry)));
    }
}
