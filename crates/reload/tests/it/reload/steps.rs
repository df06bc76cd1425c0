//! Stopped after every step as a kill would stop it: the database is there with all its rows, and a
//! recovery, or the next run, brings it to one of the two ends.

use crate::reload::bench::{Bench, contents, driver, options, reloaded, settings};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use threadwise_reload::Originals;
use threadwise_reload::item::{Outcome, Step};
use threadwise_reload::recover::{Recovered, is_left_of, recover};

/// Whether the new file has the name after this step.
fn swapped(step: Step) -> bool {
    [Step::Swapped, Step::Reopened, Step::Released, Step::Removed].contains(&step)
}

fn stop_after(bench: &Bench, journal_mode: &str, originals: Originals, step: Step) {
    let path = bench.path().join("db");
    let mut options = options(originals);
    options.hook = Some(Arc::new(move |at, _: &Path| at != step));
    let inode = fs::metadata(&path).unwrap().ino();
    let report = reloaded(&path, &options);
    assert!(report.left_behind && matches!(report.outcome, Outcome::Failed(_)), "{journal_mode} {step:?}");
    assert_eq!(fs::metadata(&path).unwrap().ino() != inode, swapped(step), "{step:?}");
}

/// The rows, without the journal mode, which is another until the recovery.
fn rows(path: &Path) -> Vec<Vec<Value>> {
    let modes = ["wal", "delete"].map(|mode| vec![Value::Text(mode.into())]);
    contents(path).into_iter().filter(|row| !modes.contains(row)).collect()
}

#[test]
fn a_recovery_after_every_step_ends_well_and_may_be_repeated() {
    for journal_mode in ["delete", "wal"] {
        for originals in [Originals::Keep, Originals::Remove] {
            for step in Step::ALL {
                let case = format!("{journal_mode} {originals:?} {step:?}");
                let bench = Bench::new();
                let path = bench.database("db", journal_mode);
                let before = contents(&path);
                let expected = rows(&path);
                stop_after(&bench, journal_mode, originals, step);
                assert_eq!(rows(&path), expected, "{case}: as the kill left it");
                let recovered = recover(&path, &settings()).unwrap();
                let right = match step {
                    Step::Removed => Recovered::Nothing,
                    step if swapped(step) => Recovered::Finished,
                    _ => Recovered::PutBack,
                };
                assert_eq!(recovered, right, "{case}");
                assert_eq!(contents(&path), before, "{case}: after the recovery");
                let kept = swapped(step) && originals == Originals::Keep;
                let names = if kept { vec!["db", "db.before-reload"] } else { vec!["db"] };
                assert_eq!(bench.names(), names, "{case}");
                assert_eq!(recover(&path, &settings()), Ok(Recovered::Nothing), "{case}");
                Connection::open(&path).unwrap().execute("INSERT INTO empty VALUES (1)", []).unwrap();
            }
        }
    }
}

#[test]
fn the_original_is_shut_before_the_new_file_gets_its_name() {
    for journal_mode in ["delete", "wal"] {
        for (step, is_shut) in [(Step::Linked, false), (Step::Sealed, true)] {
            let bench = Bench::new();
            let path = bench.database("db", journal_mode);
            stop_after(&bench, journal_mode, Originals::Keep, step);
            assert_eq!(driver().is_sealed(&path).unwrap(), is_shut, "{journal_mode} {step:?}");
        }
    }
}

#[test]
fn the_next_run_recovers_first() {
    for step in Step::ALL {
        let bench = Bench::new();
        let path = bench.database("db", "wal");
        let before = contents(&path);
        stop_after(&bench, "wal", Originals::Remove, step);
        let report = reloaded(&path, &options(Originals::Remove));
        assert_eq!(report.outcome, Outcome::Done, "{step:?}");
        assert_eq!(contents(&path), before, "{step:?}");
        assert_eq!(bench.names(), ["db"], "{step:?}");
    }
}

#[test]
fn a_file_that_somebody_put_in_its_place_is_not_touched() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let before = contents(&path);
    stop_after(&bench, "delete", Originals::Remove, Step::Swapped);
    fs::write(bench.path().join("theirs"), "theirs").unwrap();
    fs::rename(bench.path().join("theirs"), &path).unwrap();
    let error = recover(&path, &settings()).unwrap_err().to_string();
    assert!(error.contains("another file has the name") && error.contains("db.before-reload"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(rows(&bench.path().join("db.before-reload")), {
        let modes = ["wal", "delete"].map(|mode| vec![Value::Text(mode.into())]);
        before.into_iter().filter(|row| !modes.contains(row)).collect::<Vec<_>>()
    });
}

/// Puts a file into the work folder as an exchange leaves one that got the name after the last look.
fn theirs(path: &Path) -> std::path::PathBuf {
    let left = path.with_file_name(".threadwise-reload-db").join("new");
    fs::write(path.with_file_name("theirs"), "theirs").unwrap();
    fs::rename(path.with_file_name("theirs"), &left).unwrap();
    left
}

#[test]
fn what_had_the_name_in_the_last_moment_is_reported_and_stays() {
    for originals in [Originals::Keep, Originals::Remove] {
        // The run goes on after the exchange; and it is killed right after it.
        for goes_on in [true, false] {
            let bench = Bench::new();
            let path = bench.database("db", "wal");
            let before = contents(&path);
            let mut options = options(originals);
            options.hook = Some(Arc::new(move |at, path: &Path| {
                if at == Step::Swapped {
                    theirs(path);
                }
                goes_on || at != Step::Swapped
            }));
            let report = reloaded(&path, &options);
            let left = path.with_file_name(".threadwise-reload-db").join("new");
            assert!(report.left_behind, "{report:?}");
            if goes_on {
                let Outcome::Failed(why) = &report.outcome else { panic!("{:?}", report.outcome) };
                assert!(
                    why.contains("another process gave the name") && why.contains("db.before-reload"),
                    "{why}"
                );
            }
            // However often, and by the next run too.
            for _ in 0..2 {
                let refusal = recover(&path, &settings()).unwrap_err().to_string();
                assert!(refusal.contains(left.to_str().unwrap()) && !refusal.contains('\n'), "{refusal}");
                let next = reloaded(&path, &options);
                assert!(
                    matches!(&next.outcome, Outcome::Skipped(why) if *why == refusal),
                    "{:?}",
                    next.outcome
                );
                assert_eq!(fs::read(&left).unwrap(), b"theirs");
                assert_eq!(rows(&path.with_file_name("db.before-reload")), rows(&path));
            }
            fs::rename(&left, path.with_file_name("theirs")).unwrap();
            assert_eq!(recover(&path, &settings()), Ok(Recovered::Finished));
            assert_eq!(contents(&path), before);
            let kept = fs::exists(path.with_file_name("db.before-reload")).unwrap();
            assert_eq!(kept, originals == Originals::Keep);
            assert!(!bench.names().iter().any(|name| name.starts_with(".threadwise")));
        }
    }
}

#[test]
fn a_state_that_is_not_ours_is_left_alone() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    stop_after(&bench, "delete", Originals::Keep, Step::Held);
    let state = bench.path().join(".threadwise-reload-db/state");
    let text = fs::read_to_string(&state).unwrap();
    for other in ["garbage".to_owned(), text.replace("engine sqlite", "engine novel")] {
        fs::write(&state, &other).unwrap();
        assert!(recover(&path, &settings()).is_err());
        let report = reloaded(&path, &options(Originals::Keep));
        assert!(matches!(report.outcome, Outcome::Skipped(_)), "{:?}", report.outcome);
        assert_eq!(fs::read_to_string(&state).unwrap(), other);
    }
    fs::write(&state, text).unwrap();
    assert_eq!(recover(&path, &settings()), Ok(Recovered::PutBack));
}

#[test]
fn a_file_that_takes_the_name_before_the_link_gets_no_second_name() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let before = contents(&path);
    let mut options = options(Originals::Keep);
    options.hook = Some(Arc::new(|at, path: &Path| {
        if at == Step::Ready {
            fs::rename(path, path.with_file_name("moved")).unwrap();
            fs::write(path, "theirs").unwrap();
        }
        true
    }));
    let report = reloaded(&path, &options);
    let Outcome::Failed(why) = &report.outcome else { panic!("{report:?}") };
    assert!(why.contains("another file took the database's name"), "{why}");
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(contents(&bench.path().join("moved")), before);
    assert_eq!(bench.names(), ["db", "moved"], "no second name, no work folder");
}

#[test]
fn a_recovery_waits_for_no_pipe_and_sees_what_was_left_beside_a_link() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let before = contents(&path);
    stop_after(&bench, "delete", Originals::Keep, Step::Sealed);
    let state = bench.path().join(".threadwise-reload-db/state");
    let text = fs::read(&state).unwrap();
    fs::remove_file(&state).unwrap();
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &state, fifo, mode, 0).unwrap();
    let refused = recover(&path, &settings()).unwrap_err().to_string();
    assert!(refused.contains("is not a regular file"), "{refused}");
    fs::remove_file(&state).unwrap();
    fs::write(&state, text).unwrap();
    fs::remove_file(bench.path().join("db.before-reload")).unwrap();
    fs::create_dir(bench.path().join("far")).unwrap();
    fs::rename(&path, bench.path().join("far/db")).unwrap();
    std::os::unix::fs::symlink("far/db", &path).unwrap();
    assert!(is_left_of(&path));
    let refused = recover(&path, &settings()).unwrap_err().to_string();
    assert!(refused.contains("the name is a link now") && refused.contains("db.before-reload"), "{refused}");
    fs::rename(bench.path().join("far/db"), &path).unwrap();
    assert_eq!(recover(&path, &settings()), Ok(Recovered::PutBack));
    assert_eq!(contents(&path), before);
    assert_eq!(bench.names(), ["db", "far"]);
    // A link to what was left is that file's, wherever the link is.
    stop_after(&bench, "delete", Originals::Keep, Step::Sealed);
    std::os::unix::fs::symlink("../db", bench.path().join("far/link")).unwrap();
    assert!(is_left_of(&bench.path().join("far/link")));
    assert_eq!(recover(&bench.path().join("far/link"), &settings()), Ok(Recovered::PutBack));
}
