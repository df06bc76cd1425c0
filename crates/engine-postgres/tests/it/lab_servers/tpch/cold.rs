//! Queries that find their data in no cache: a server for each of them.

use super::LONG;
use super::place::{AtWork, Study, filled, folder, request, write};
use crate::support::{cpus, engine, eventually, folder_on_disk, processes_in};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use threadwise_engine::engines::sqlite::Sqlite;
use threadwise_engine::{EngineError, LoadRequest, SessionRequest, StartRequest};
use threadwise_machine::{CpuSet, pin};
use threadwise_process::{Signal, proc};
use threadwise_tpch::{Dialect, Reference, compare};

fn cold_folder() -> TempDir {
    filled(folder_on_disk(), Dialect::Postgres, 1)
}

fn cold(folder: &Path, given: &[(&str, &str)]) -> LoadRequest {
    request(folder, &[&[("cache", "cold")], given].concat(), &[], 1)
}

/// What this process and all that it waited for have read from block devices (proc_pid_io(5)).
fn storage_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let bytes = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    bytes.unwrap().parse().unwrap()
}

#[test]
#[ignore = "laboratory: servers"]
fn a_cold_query_reads_its_tables_from_storage_each_time_and_answers_right() {
    let theirs = folder(Dialect::Sqlite, 1);
    let load = request(theirs.path(), &[("queries", "3,6")], &[], 1);
    let sqlite = Study::of(&Sqlite, theirs, &load);
    let mut reference = sqlite.start(&load, &cpus());
    let folder = cold_folder();
    // Not one of TPC-H: what there is to read.
    write(folder.path(), 0, 2, "SELECT pg_relation_size('lineitem')");
    let serial = cold(folder.path(), &[("dop", "1"), ("queries", "2,3,6")]);
    let held = cold(folder.path(), &[("dop", "2"), ("hold_plan", "true"), ("queries", "2,3,6")]);
    let study = Study::of(engine(), folder, &serial);
    engine().load(&held).unwrap();
    let mut treatments = [study.start(&serial, &cpus()), study.start(&held, &cpus())];
    let table_bytes: u64 =
        treatments[0].one(2).answer.unwrap()[0][0].as_ref().map(|size| size.parse().unwrap()).unwrap();
    assert!(table_bytes > 5_000_000, "{table_bytes}");
    for query in [6, 3, 6] {
        let wanted = reference.one(query).answer.unwrap();
        let wanted = Reference { engine: "sqlite".into(), version: String::new(), answer: wanted };
        for (treatment, dop) in treatments.iter_mut().zip([1, 2]) {
            let before_bytes = storage_bytes();
            let execution = treatment.one(query);
            // Others of these tests may have read as well: no less than this query.
            let storage_bytes = storage_bytes() - before_bytes;
            compare(query, &wanted, execution.answer.as_ref().unwrap()).unwrap();
            let read_bytes = execution.counters["read_bytes"];
            assert!(
                read_bytes >= table_bytes && storage_bytes >= table_bytes,
                "{execution:?} {storage_bytes}"
            );
            // Planning looks at the ends of some indexes.
            assert!(query != 6 || read_bytes < table_bytes + table_bytes / 10, "{execution:?}");
            assert_eq!(execution.dop, Some(dop), "{execution:?}");
            assert!(execution.cpu_ns.is_some_and(|cpu_ns| cpu_ns > 0), "{execution:?}");
        }
        assert_eq!(processes_in(study.folder.path()), [0; 0], "a server between queries");
    }
    let standing = treatments[0].running.standing().unwrap();
    assert!(standing.placed.is_empty());
    assert!(standing.notes.iter().any(|note| note.text.starts_with("cold: ")), "{:?}", standing.notes);
    assert!(
        standing.notes.iter().any(|note| note.text.starts_with("shared_buffers")),
        "{:?}",
        standing.notes
    );
    treatments.into_iter().for_each(AtWork::finish);
    reference.finish();
    sqlite.end();
    let path = study.folder.path().to_owned();
    let home = home_in(&path).unwrap();
    study.end();
    assert!(!home.exists() && processes_in(&path).is_empty());
}

/// The folder of the study's server.
fn home_in(folder: &Path) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.join("data/PG_VERSION").exists())
}

/// A treatment whose sessions and service processes are to be apart.
fn start(load: &LoadRequest, cpus: &CpuSet, service: &CpuSet) -> Result<AtWork, EngineError> {
    let (load, sessions, service) = (load.clone(), vec![cpus.clone()], service.clone());
    let running =
        engine().start(&StartRequest { load: load.clone(), sessions, service, seed: 7, journal: None })?;
    let session = SessionRequest { load, session: 0, sessions: 1, cpus: cpus.clone(), seed: 7 };
    let sessions = vec![running.open(&session)?];
    Ok(AtWork { running, sessions })
}

#[test]
#[ignore = "laboratory: servers"]
fn every_new_server_is_placed_anew() {
    let folder = cold_folder();
    write(folder.path(), 0, 1, LONG);
    let load = cold(folder.path(), &[("dop", "2"), ("hold_plan", "true"), ("queries", "1")]);
    let study = Study::of(engine(), folder, &load);
    let all = cpus();
    let one = |cpu: Option<u32>| -> CpuSet { cpu.into_iter().collect() };
    let (first, last) = (one(all.iter().next()), one(all.iter().last()));
    // In turn, so that a place of one would be found with the other.
    let mut treatments = [(&first, &last), (&last, &first)]
        .map(|(cpus, service)| (start(&load, cpus, service).unwrap(), cpus, service));
    for (treatment, cpus, service) in &mut treatments {
        let is_over = AtomicBool::new(false);
        let seen: Vec<(String, CpuSet)> = std::thread::scope(|scope| {
            let look =
                scope.spawn(|| {
                    let mut seen = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let titles = processes_in(study.folder.path()).into_iter();
                        let titles = titles.filter_map(|pid| Some((proc::title(pid)?, pid)));
                        let titled: Vec<_> = titles.collect();
                        // All are placed before the session works.
                        if titled.iter().any(|(title, _)| title.contains("parallel worker")) {
                            seen.extend(titled.into_iter().filter_map(|(title, pid)| {
                                Some((title, pin::thread_affinity(pid, pid).ok()?))
                            }));
                        }
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    seen
                });
            assert_eq!(treatment.one(1).dop, Some(2));
            is_over.store(true, Ordering::Relaxed);
            look.join().unwrap()
        });
        for (part, wanted) in [("parallel worker", &*cpus), ("EXECUTE", cpus), ("checkpointer", service)] {
            let mut found = seen.iter().filter(|(title, _)| title.contains(part)).peekable();
            assert!(found.peek().is_some(), "no {part} was seen: {seen:?}");
            assert!(found.all(|(_, mask)| mask == *wanted), "{part} is not on {wanted}: {seen:?}");
        }
    }
    treatments.into_iter().for_each(|(treatment, ..)| treatment.finish());
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_cold_server_that_is_killed_is_an_error_and_the_next_one_has_nothing_to_recover() {
    let folder = cold_folder();
    write(folder.path(), 0, 18, LONG);
    let load = cold(folder.path(), &[("dop", "1"), ("queries", "6,18")]);
    let study = Study::of(engine(), folder, &load);
    let mut treatment = study.start(&load, &cpus());
    let path = study.folder.path().to_owned();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut leader = None;
            eventually("no query was seen", || {
                let is_busy = |pid: &u32| proc::title(*pid).is_some_and(|title| title.contains("EXECUTE"));
                leader = processes_in(&path).into_iter().find(is_busy);
                leader.is_some()
            });
            let pid = rustix::process::Pid::from_raw(leader.unwrap().cast_signed()).unwrap();
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
        });
        treatment.ask(&[18], 600_000).unwrap_err()
    });
    assert!(error.kind() == "engine" && error.to_string().contains("q18"), "{error}");
    drop(treatment);
    eventually("processes are left", || processes_in(&path).is_empty());
    let mut again = study.start(&load, &cpus());
    assert!(again.one(6).counters["read_bytes"] > 5_000_000);
    let log = std::fs::read_to_string(home_in(&path).unwrap().join("log")).unwrap();
    let starts: Vec<&str> = log.lines().filter(|line| line.contains("database system was")).collect();
    assert_eq!(starts.iter().filter(|line| line.contains("interrupted")).count(), 1, "{starts:?}");
    assert!(starts.last().unwrap().contains("shut down at"), "{starts:?}");
    again.finish();
    // A study that is not ended but lost, as when its keeper is killed.
    drop(study);
    assert!(processes_in(&path).is_empty() && !path.exists());
}

fn refusal(result: Result<impl Sized, EngineError>) -> String {
    match result.err() {
        Some(error @ EngineError::Option { .. }) => error.to_string(),
        other => panic!("{other:?} instead of a refused option"),
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn warm_and_cold_treatments_do_not_mix_and_a_server_of_the_users_is_not_restarted() {
    let folder = cold_folder();
    let path = folder.path().to_owned();
    let (warm, cold_one) = (request(&path, &[("queries", "6")], &[], 1), cold(&path, &[("queries", "6")]));
    let mut theirs = cold_one.clone();
    theirs.engine_options = super::place::options(&[("url", "postgres://db.example/sales")]);
    let message = refusal(engine().check(&theirs));
    assert!(message.contains("option 'cache'") && message.contains("your own server"), "{message}");
    let streams = cold(&path, &[("queries", "6"), ("test", "throughput")]);
    assert!(refusal(engine().check(&streams)).contains("test=power"));
    for (first, second) in [(&warm, &cold_one), (&cold_one, &warm)] {
        let kept = engine().keep(first, 0).unwrap().unwrap();
        // Before the data of either is made.
        assert!(refusal(engine().load(second)).contains("all of them warm, or all of them cold"));
        assert!(refusal(start(second, &cpus(), &cpus())).contains("all of them cold"));
        let message = start(first, &cpus(), &cpus()).err().unwrap().to_string();
        assert!(message.contains("load it before start"), "{message}");
        kept.end().unwrap();
        assert!(home_in(&path).is_none());
    }
    let message = start(&cold_one, &cpus(), &cpus()).err().unwrap().to_string();
    assert!(message.contains("load it before start"), "{message}");
}
