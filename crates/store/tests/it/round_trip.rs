//! What was stored comes back exactly; what cannot be stored is refused and changes nothing.

use crate::{made, made_probe, made_queries};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;
use threadwise_machine::{BootFacts, CpuSet, Topology};
use threadwise_store::{EndState, Expectation, Problem, Store, StoreError};
use threadwise_study::asked::{Asked, LicencePer, Prices};
use threadwise_study::{Note, NoteCode, Run, RunStatus, Study};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn create(path: &Path) -> Store {
    Store::create(path, &made::study(), &made::topology(), &made::versions()).unwrap()
}

fn resume(path: &Path) -> Result<Store, StoreError> {
    let (topology, versions) = (made::topology(), made::versions());
    let expected = Expectation {
        topology: &topology,
        program: &versions.program,
        engine: &versions.engine,
        engine_version: &versions.engine_version,
        study: None,
    };
    Store::resume(path, &expected)
}

#[test]
fn what_was_asked_is_kept() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut store = create(&path);
    assert_eq!(store.asked().unwrap(), Asked::default());
    let prices = Prices { machine_per_h: 3.2, licence_per_h: 0.1 + 0.2, per: LicencePer::Core };
    store.set_asked(&Asked { p99_ns: Some(10e6), prices: None }).unwrap();
    store.set_asked(&Asked { p99_ns: None, prices: Some(prices) }).unwrap();
    store.set_asked(&Asked::default()).unwrap();
    store.finish(EndState::Complete).unwrap();
    drop(store);
    let asked = Asked { p99_ns: Some(10e6), prices: Some(prices) };
    assert_eq!(Store::open(&path).unwrap().asked().unwrap(), asked);
    let cheaper = Prices { machine_per_h: 1.0, ..prices };
    let mut store = resume(&path).unwrap();
    assert_eq!(store.asked().unwrap(), asked);
    store.set_asked(&Asked { prices: Some(cheaper), p99_ns: None }).unwrap();
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(store.set_asked(&Asked { p99_ns: Some(bad), prices: None }).is_err());
    }
    drop(store);
    assert_eq!(Store::open(&path).unwrap().asked().unwrap(), Asked { prices: Some(cheaper), ..asked });
    for (value, words) in [
        (r#"{"p99_ns":0,"prices":null}"#, "p99_ns is 0"),
        (r#"{"p99_ns":"soon","prices":null}"#, "invalid type: string"),
        (
            r#"{"p99_ns":null,"prices":{"machine_per_h":-1,"licence_per_h":0,"per":"core"}}"#,
            "a price or latency is -1",
        ),
        (
            r#"{"p99_ns":null,"prices":{"machine_per_h":1,"licence_per_h":0,"per":"table"}}"#,
            "unknown variant `table`",
        ),
    ] {
        let other = folder.path().join("other");
        fs::copy(&path, &other).unwrap();
        let plain = rusqlite::Connection::open(&other).unwrap();
        plain.execute("UPDATE meta SET value = ? WHERE key = 'asked'", [value]).unwrap();
        drop(plain);
        let said = Store::open(&other).unwrap().asked().unwrap_err().to_string();
        assert!(said.contains("meta.value is not valid") && said.contains(words), "{said}");
    }
}

#[test]
fn notes_keep_their_codes() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut store = create(&path);
    let notes = [
        Note::not_pinned("it runs on another machine"),
        Note::from("server not pinned, for the reader alone"),
        Note::new(NoteCode::NoReadings("clock".to_owned()), "hidden: by root"),
    ];
    for note in &notes {
        store.note(note.clone()).unwrap();
    }
    drop(store);
    assert_eq!(Store::open(&path).unwrap().notes().unwrap(), notes);
}

#[test]
fn everything_comes_back() {
    let folder = folder();
    let path = folder.path().join("a study.tw");
    let mut runs: Vec<Run> = (0..5).map(|seed| made::run(seed, 0, 0, 3, 2, 4)).collect();
    runs[1].status = RunStatus::Failed { kind: "crash".into(), message: "signal 11\n'x'\0".into() };
    runs[1].slices.clear();
    runs[2].status = RunStatus::Invalid { kind: "not-cached".into(), message: String::new() };
    runs[3].status = RunStatus::Superseded;
    runs[3].cpus.clear();
    runs[3].add_up_other_cpus(&CpuSet::new());
    runs[4].readings.clear();
    runs[4].slices[0].sessions.clear();
    runs[4].slices[1].cpu_times.clear();
    runs[4].slices[2].sessions[0].latency.clear();
    runs[4].slices[2].sessions[1].counters.clear();
    let mut store = create(&path);
    store.block_started(0, 0, 0.5).unwrap();
    for (at, run) in runs.iter_mut().enumerate() {
        run.id = store.append_run(run).unwrap();
        assert_eq!(run.id, at as u64 + 1);
    }
    store.note("a note\nof two lines").unwrap();
    store.set_planned_blocks(12).unwrap();
    store.block_complete(0, 0, 2.5).unwrap();
    assert_eq!(store.runs().unwrap(), runs);
    store.finish(EndState::Complete).unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.runs().unwrap(), runs);
    assert_eq!(store.study(), &made::study());
    assert_eq!(store.topology(), &made::topology());
    assert_eq!(store.versions(), &made::versions());
    assert_eq!(store.notes().unwrap(), ["a note\nof two lines".into()]);
    assert_eq!(store.state().unwrap(), EndState::Complete);
    assert_eq!(store.planned_blocks().unwrap(), Some(12));
    assert_eq!(store.complete_blocks().unwrap(), [0]);
    assert_eq!((store.next_attempt(0).unwrap(), store.next_attempt(1).unwrap()), (1, 0));
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a study.tw"], "one study is one file");
}

#[test]
fn an_empty_machine_and_large_numbers_come_back() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut study = made::study();
    study.seed = i64::MAX as u64;
    let store = Store::create(&path, &study, &Topology::default(), &made::versions()).unwrap();
    assert_eq!(store.runs().unwrap(), []);
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!((store.study(), store.topology()), (&study, &Topology::default()));
}

#[test]
fn a_thousand_logical_cpus_come_back() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut topology = made::topology();
    let like = topology.logical_cpus[0].clone();
    topology.logical_cpus =
        (0..1024).map(|os_id| threadwise_machine::topology::LogicalCpu { os_id, ..like.clone() }).collect();
    let mut run = made::run(1, 0, 0, 2, 1, 1024);
    run.cpus = (0..1024).rev().collect();
    let mut store = Store::create(&path, &made::study(), &topology, &made::versions()).unwrap();
    store.block_started(0, 0, 0.0).unwrap();
    run.id = store.append_run(&run).unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.topology(), &topology);
    assert_eq!(store.runs().unwrap(), [run]);
}

#[test]
fn blocks_are_superseded_and_redone() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut store = create(&path);
    for block in 0..2 {
        store.block_started(block, 0, 0.0).unwrap();
        store.append_run(&made::run(1, block, 0, 1, 1, 1)).unwrap();
    }
    store.block_complete(0, 0, 1.0).unwrap();
    let mut failed = made::run(2, 1, 0, 1, 1, 1);
    failed.status = RunStatus::Failed { kind: "timeout".into(), message: "late".into() };
    store.append_run(&failed).unwrap();
    assert!(store.block_started(1, 1, 2.0).is_err(), "attempt 0 is not superseded yet");
    drop(store);

    let mut store = resume(&path).unwrap();
    assert_eq!(store.supersede_incomplete_blocks().unwrap(), [1]);
    assert_eq!(store.supersede_incomplete_blocks().unwrap(), [] as [u32; 0]);
    assert_eq!(store.next_attempt(1).unwrap(), 1);
    assert!(store.append_run(&made::run(3, 1, 0, 1, 1, 1)).is_err(), "attempt 0 is over");
    store.block_started(1, 1, 3.0).unwrap();
    store.append_run(&made::run(3, 1, 1, 1, 1, 1)).unwrap();
    store.block_complete(1, 1, 4.0).unwrap();
    let runs = store.runs().unwrap();
    let seen: Vec<_> = runs.iter().map(|run| (run.block, run.attempt, run.status.clone())).collect();
    let (valid, superseded) = (RunStatus::Valid, RunStatus::Superseded);
    let expected = [(0, 0, valid.clone()), (1, 0, superseded.clone()), (1, 0, superseded), (1, 1, valid)];
    assert_eq!(seen, expected);
    assert_eq!(store.complete_blocks().unwrap(), [0, 1]);
    drop(store);
    let reader = rusqlite::Connection::open(&path).unwrap();
    let kept: String =
        reader.query_row("SELECT message FROM runs WHERE id = 3", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "late", "how a superseded run ended stays in the file");
}

#[test]
fn a_block_is_stored_whole_or_not_at_all() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut store = create(&path);
    store.block_started(0, 0, 0.0).unwrap();
    let mut runs: Vec<Run> = (1..4).map(|seed| made::run(seed, 0, 0, 2, 2, 2)).collect();
    runs[2].treatment = "x".into();
    let error = store.append_block(&runs, 0, 0, 1.0).unwrap_err();
    assert!(matches!(error.problem, Problem::Unstorable(_)), "{error}");
    assert_eq!((store.runs().unwrap().len(), store.complete_blocks().unwrap().len()), (0, 0));
    runs.truncate(2);
    store.append_block(&runs, 0, 0, 1.0).unwrap();
    assert_eq!(store.complete_blocks().unwrap(), [0]);
    let stored: Vec<Run> = store.runs().unwrap();
    runs.iter_mut().zip(1..).for_each(|(run, id)| run.id = id);
    assert_eq!(stored, runs);
    assert!(store.append_block(&runs, 0, 0, 2.0).is_err(), "it is complete already");
}

#[test]
fn what_cannot_be_stored_is_named_and_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut store = create(&path);
    store.block_started(0, 0, 0.0).unwrap();
    store.append_run(&made::run(1, 0, 0, 2, 2, 2)).unwrap();
    let before = store.runs().unwrap();
    type Spoil = fn(&mut Run);
    let spoils: [(&str, Spoil); 17] = [
        ("no treatment 'x'", |run| run.treatment = "x".into()),
        ("block 7 was not started", |run| run.block = 7),
        ("attempt 1", |run| run.attempt = 1),
        ("NaN", |run| run.started_s = f64::NAN),
        ("out of range", |run| run.prepare_ns = u64::MAX),
        ("window_ns BETWEEN 1", |run| run.slices[1].window_ns = 0),
        ("rows BETWEEN 0", |run| run.slices[1].sessions[1].rows = 1 << 50),
        ("round BETWEEN 0", |run| run.slices[1].round = u32::MAX),
        ("histogram has", |run| run.slices[1].sessions[1].latency = vec![0; (1 << 20) + 1]),
        ("counters: a name has", |run| {
            run.slices[1].sessions[1].counters.insert("n".repeat(300), 1);
        }),
        ("times of logical CPUs: they are out of order", |run| {
            let again = run.slices[1].cpu_times[0].clone();
            run.slices[1].cpu_times.push(again);
        }),
        ("times of logical CPUs: they are out of order", |run| {
            run.other_cpu_times.push(run.other_cpu_times[0].clone())
        }),
        ("logical CPU is 65536", |run| run.cpus = vec![65_536]),
        ("a look: its logical CPUs or pairs are out of order", |run| {
            run.slices[0].looks[0].look.cpus.reverse()
        }),
        ("a look: its logical CPUs or pairs are out of order", |run| {
            let pair = &mut run.slices[0].looks[0].look.pairs[0];
            (pair.a, pair.b) = (64, 0);
        }),
        ("a look: a figure is -0.001", |run| run.slices[0].looks[1].look.pairs[0].line_ns = Some(-0.001)),
        ("a look: start_ns is", |run| run.slices[0].looks[1].look.start_ns = 1 << 60),
    ];
    for (words, spoil) in spoils {
        let mut run = made::run(2, 0, 0, 2, 2, 2);
        spoil(&mut run);
        let error = store.append_run(&run).unwrap_err();
        assert!(matches!(error.problem, Problem::Unstorable(_)), "{words}: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(store.runs().unwrap(), before);
    let mut run = made::run(3, 0, 0, 1, 1, 1);
    run.readings[0].value = Some(f64::INFINITY);
    store.append_run(&run).unwrap();
    let reading = store.runs().unwrap()[1].readings[0].clone();
    assert_eq!((reading.value, reading.gap.unwrap().as_str()), (None, "the sampler gave no finite number"));
}

#[test]
fn nothing_is_overwritten_and_nothing_half_made_stays() {
    let folder = folder();
    let path = folder.path().join("s");
    let again = || Store::create(&path, &made::study(), &made::topology(), &made::versions());
    fs::write(&path, "mine").unwrap();
    assert!(matches!(again().unwrap_err().problem, Problem::Exists));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    fs::remove_file(&path).unwrap();

    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(matches!(again().unwrap_err().problem, Problem::Exists), "a dangling link is not followed");
    fs::remove_file(&path).unwrap();

    let journal = folder.path().join("s-journal");
    fs::write(&journal, "old").unwrap();
    assert!(matches!(again().unwrap_err().problem, Problem::LeftOver));
    assert_eq!(fs::read(&journal).unwrap(), b"old");
    fs::remove_file(&journal).unwrap();

    let mut study = made::study();
    study.treatments[1].name = "n".repeat(300);
    let error = Store::create(&path, &study, &made::topology(), &made::versions()).unwrap_err();
    assert!(matches!(error.problem, Problem::Unstorable(_)), "{error}");
    let mut topology = made::topology();
    topology.cores[0].kind = 9;
    let error = Store::create(&path, &made::study(), &topology, &made::versions()).unwrap_err();
    assert!(error.to_string().contains("core 0 names a package or kind"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = folder.path().join("no/folder/s");
    let missing = missing.as_path();
    let error = Store::create(missing, &made::study(), &made::topology(), &made::versions()).unwrap_err();
    assert!(error.to_string().contains("folder does not exist"), "{error}");
    again().unwrap();
}

#[test]
fn only_one_at_a_time() {
    let folder = folder();
    let path = folder.path().join("s");
    let store = create(&path);
    assert!(matches!(Store::open(&path).unwrap_err().problem, Problem::InUse));
    assert!(matches!(resume(&path).unwrap_err().problem, Problem::InUse));
    drop(store);
    let store = resume(&path).unwrap();
    assert!(matches!(resume(&path).unwrap_err().problem, Problem::InUse));
    drop(store);
    let (one, two) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    assert_eq!(one.runs().unwrap(), two.runs().unwrap());
}

/// What this process knows of its own writers keeps no other process out: SQLite's lock has to, between
/// transactions too.
#[test]
fn a_writer_keeps_the_lock_between_transactions() {
    let folder = folder();
    let path = folder.path().join("s");
    let rows = || {
        let other = rusqlite::Connection::open(&path)?;
        other.busy_timeout(std::time::Duration::ZERO)?;
        other.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, u32>(0))
    };
    let is_locked = || rows().is_err_and(|error| error.to_string().contains("locked"));
    let mut store = create(&path);
    assert!(is_locked());
    store.note("one transaction").unwrap();
    assert!(is_locked());
    drop(store);
    assert_eq!(rows(), Ok(0));
    let store = resume(&path).unwrap();
    assert!(is_locked());
    drop(store);
    assert_eq!(rows(), Ok(0));
}

#[test]
fn a_reader_does_not_write() {
    let folder = folder();
    let path = folder.path().join("s");
    create(&path).block_started(0, 0, 0.0).unwrap();
    let before = fs::read(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let mut store = Store::open(&path).unwrap();
    let error = store.append_run(&made::run(1, 0, 0, 1, 1, 1)).unwrap_err();
    assert!(matches!(error.problem, Problem::ReadOnly), "{error}");
    assert!(store.note("x").is_err() && store.finish(EndState::Failed).is_err());
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Root may write anywhere, so that there is nothing to see when the tests run as root.
#[test]
fn files_and_folders_that_may_not_be_written() {
    let folder = folder();
    let path = folder.path().join("s");
    drop(create(&path));
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&path, 0o444);
    mode(folder.path(), 0o555);
    let root = fs::write(folder.path().join("probe"), "").is_ok();
    let (read, resumed) = (Store::open(&path).map(drop), resume(&path).map(drop));
    let new = folder.path().join("new");
    let made = Store::create(&new, &made::study(), &made::topology(), &made::versions()).map(drop);
    mode(&path, 0o644);
    let no_journal = resume(&path).map(drop);
    mode(&path, 0o000);
    let hidden = Store::open(&path).map(drop);
    mode(folder.path(), 0o755);
    read.unwrap();
    if root {
        println!("root: that missing permissions are reported was not tested");
        return;
    }
    for result in [resumed, no_journal] {
        let error = result.unwrap_err();
        assert!(matches!(error.problem, Problem::ReadOnly), "{error}");
    }
    for (result, action) in [(made, "make"), (hidden, "read")] {
        let error = result.unwrap_err();
        assert!(error.to_string().starts_with(&format!("no permission to {action} ")), "{error}");
    }
}

#[test]
fn a_changed_study_machine_or_program_is_not_resumed() {
    let folder = folder();
    let path = folder.path().join("s");
    drop(create(&path));
    let refused = |topology: &Topology, program: &str, engine_version: &str, study: Option<&Study>| {
        let expected = Expectation { topology, program, engine: "sqlite", engine_version, study };
        Store::resume(&path, &expected).map(drop)
    };
    let (mut topology, mut study) = (made::topology(), made::study());
    topology.identity.kernel = None;
    topology.identity.memory_bytes = Some(5);
    topology.numa_nodes[0].memory_bytes = None;
    refused(&topology, "0.1.0", "3.50.0", Some(&study)).unwrap();
    let before = fs::read(&path).unwrap();
    let text_of = |result: Result<(), StoreError>| result.unwrap_err().to_string();
    assert_eq!(
        text_of(refused(&topology, "0.1.0", "3.51.0", None)),
        format!(
            "{} cannot be resumed: the version of the engine was 3.50.0 and is 3.51.0; its numbers would not compare, so start a new study",
            path.display()
        )
    );
    assert!(
        text_of(refused(&topology, "0.2.0", "3.50.0", None)).contains("threadwise was 0.1.0 and is 0.2.0")
    );
    study.treatments[2].sessions = 3;
    assert!(
        text_of(refused(&topology, "0.1.0", "3.50.0", Some(&study)))
            .contains("the study's treatment.2.sessions was 2 and is 3")
    );
    study = made::study();
    study.design.rounds = 40;
    assert!(text_of(refused(&topology, "0.1.0", "3.50.0", Some(&study))).contains("design"));
    topology.packages.clear();
    assert!(
        text_of(refused(&topology, "0.1.0", "3.50.0", None))
            .contains("the number of the machine's packages was 1 and is 0")
    );
    assert_eq!(fs::read(&path).unwrap(), before, "a refused file is left as it is");
}

/// The queries of docs/STORE.md work on a file as it is written.
#[test]
fn documented_queries_work() {
    let folder = folder();
    let path = folder.path().join("s");
    let mut store = create(&path);
    store.enter_boot(&BootFacts::default(), None, "3.50.0", "2026-01-01T00:00:00Z").unwrap();
    store.block_started(0, 0, 0.0).unwrap();
    store.append_run(&made::run(1, 0, 0, 3, 2, 4)).unwrap();
    let mut queries = made_queries::query_run(3, 0, 2, 1, 2);
    queries.slices[1].sessions[0].queries[0].plan = Some("another plan of query 2".into());
    queries.slices.iter_mut().for_each(|slice| slice.cpu_times.clear());
    store.append_run(&queries).unwrap();
    let mut failed = made::run(2, 0, 0, 1, 2, 4);
    failed.status = RunStatus::Failed { kind: "crash".into(), message: "signal 11".into() };
    store.append_run(&failed).unwrap();
    let any_pair = (0..).map(made_probe::probe).find(|probe| probe.pairs.len() == 3).unwrap();
    store.add_probe(0.0, &any_pair).unwrap();
    drop(store);
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/STORE.md")).unwrap();
    let plain = rusqlite::Connection::open(&path).unwrap();
    let mut rows = Vec::new();
    for query in text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        let count = format!("SELECT count(*) FROM ({})", query.trim().trim_end_matches(';'));
        rows.push(plain.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap());
    }
    // Two valid runs; three counters; a logical CPU of theirs in 2 runs; 3, 1 and 3 others; 6 slices with a look before; queries 1 to 3; two plans of query 2;
    // no long window; the treatments of the valid runs on their boot; one failed run; three probed pairs.
    assert_eq!(rows, [2, 3, 2, 7, 6, 3, 2, 0, 1, 1, 3]);
    let schema = include_str!("../../src/schema.sql");
    for table in schema.lines().filter_map(|line| line.strip_prefix("CREATE TABLE ")) {
        let name = table.split(' ').next().unwrap();
        assert!(text.contains(&format!("`{name}`")), "docs/STORE.md does not mention {name}");
    }
}
