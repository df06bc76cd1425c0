//! Databases that are left alone, byte for byte, with the reason.

use crate::lab_servers::firebird::support::{Place, options, place, reason, reloaded, settings};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use threadwise_reload::driver::Settings;
use threadwise_reload::item::{ItemOptions, Outcome, Stage, reload};

/// Reloads, and expects a message that says why not, with the file and its folder as they were.
fn refused(place: &Place, path: &Path, words: &str) {
    let (bytes, names) = (std::fs::read(path).unwrap(), place.names());
    let report = reloaded(path, &options());
    assert!(reason(&report).contains(words), "{report:?}");
    assert!(std::fs::read(path).unwrap() == bytes, "{} was written to", path.display());
    assert_eq!(place.names(), names);
    assert!(!report.left_behind);
}

/// A session of another program; it ends with the value.
struct Session(Child, #[allow(dead_code)] BufReader<ChildStdout>);

impl Session {
    fn open(place: &Place, path: &Path, statement: &str) -> Self {
        let mut command = place.command("isql-fb");
        command.args(["-q", "-user", "SYSDBA"]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{statement}\nselect 'ready' from rdb$database;").unwrap();
        input.flush().unwrap();
        child.stdin = Some(input);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut said = output.by_ref().lines().map_while(Result::ok);
        assert!(said.any(|line| line.trim() == "ready"));
        // Its output stays open: isql writes a line more.
        Self(child, output)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_database_in_use_is_skipped_and_its_session_goes_on() {
    let place = place();
    let path = place.numbered("base.fdb", 3);
    // Idle, and with a transaction that has written.
    for statement in ["", "insert into items values (4);"] {
        let mut session = Session::open(&place, &path, statement);
        refused(&place, &path, "in use");
        let look = crate::lab_servers::firebird::support::driver(&settings()).look(&path).unwrap_err();
        let pid = session.0.id().to_string();
        assert!(look.to_string().contains("in use") && look.to_string().contains(&pid), "{look}");
        writeln!(session.0.stdin.as_mut().unwrap(), "commit; quit;").unwrap();
        assert!(session.0.wait().unwrap().success());
    }
    crate::lab_servers::firebird::support::driver(&settings()).look(&path).unwrap();
    assert_eq!(place.rows(&path).unwrap(), [1, 2, 3, 4]);
    assert_eq!(reloaded(&path, &options()).outcome, Outcome::Done);
    assert_eq!(place.rows(&path).unwrap(), [1, 2, 3, 4]);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_session_that_ends_in_time_is_waited_for() {
    let place = place();
    let path = place.numbered("base.fdb", 3);
    let session = Session::open(&place, &path, "");
    let ending = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(session);
    });
    let settings = Settings { wait: std::time::Duration::from_secs(60), ..settings() };
    assert_eq!(reloaded(&path, &ItemOptions { settings, ..options() }).outcome, Outcome::Done);
    ending.join().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_that_shares_the_database_counts_as_use() {
    let place = place();
    let path = place.numbered("base.fdb", 3);
    // What a process in the modes Classic and SuperClassic holds (lockDatabaseFile in unix.cpp).
    let file = std::fs::File::open(&path).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockShared).unwrap();
    refused(&place, &path, "in use");
}

#[test]
#[ignore = "laboratory: servers"]
fn databases_of_several_files_are_skipped() {
    let place = place();
    let second = place.path("second.fdb");
    let clauses = format!("page_size 4096 length 300 file '{}' starting at page 301", second.display());
    let path = place.create("several.fdb", "SYSDBA", &clauses, "create table t (n integer); commit;");
    refused(&place, &path, "second file");
    let reason = reason(&reloaded(&second, &options())).to_owned();
    assert!(reason.contains("second file"), "{reason}");
    for kind in ["auto", "manual"] {
        let path = place.numbered(&format!("{kind}.fdb"), 1);
        let shadow = place.path(&format!("{kind}.shd"));
        place.sql(&path, &format!("create shadow 1 {kind} '{}'; commit;", shadow.display())).unwrap();
        let before = std::fs::read(&shadow).unwrap();
        refused(&place, &path, "shadow");
        refused(&place, &shadow, "shadow of another");
        assert!(std::fs::read(&shadow).unwrap() == before, "the shadow was written to");
    }
    let path = place.numbered("difference.fdb", 1);
    let delta = place.path("elsewhere.delta");
    place.sql(&path, &format!("alter database add difference file '{}'; commit;", delta.display())).unwrap();
    refused(&place, &path, "difference");
}

#[test]
#[ignore = "laboratory: servers"]
fn external_tables_are_skipped() {
    let place = place();
    let script =
        format!("create table e external file '{}' (a char(10)); commit;", place.path("e.dat").display());
    let path = place.create("external.fdb", "SYSDBA", "", &script);
    refused(&place, &path, "external");
}

#[test]
#[ignore = "laboratory: servers"]
fn states_of_a_database_that_a_reload_would_lose_are_skipped() {
    let place = place();
    for state in ["multi", "single", "full"] {
        let path = place.numbered(&format!("{state}.fdb"), 1);
        place.tool("gfix", &["-shut", state, "-force", "0", "-user", "SYSDBA", &format!("{state}.fdb")]);
        refused(&place, &path, "shut down");
    }
    let path = place.numbered("locked.fdb", 1);
    place.sql(&path, "alter database begin backup; commit;").unwrap();
    refused(&place, &path, "physical backup");
}

#[test]
#[ignore = "laboratory: servers"]
fn what_is_no_database_of_firebird_is_skipped() {
    let place = place();
    let path = place.path("other.fdb");
    std::fs::write(&path, b"").unwrap();
    refused(&place, &path, "not a database of Firebird");
    rusqlite::Connection::open(&path).unwrap().execute_batch("create table t (n integer)").unwrap();
    refused(&place, &path, "not a database of Firebird");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_damaged_database_fails_and_stays_as_it_was() {
    let place = place();
    let path = place.numbered("base.fdb", 2000);
    let mut bytes = std::fs::read(&path).unwrap();
    // The pages of the table, which is the last that was made, are in the last third.
    let start = bytes.len() * 2 / 3 / 4096 * 4096;
    for page in bytes[start..].chunks_exact_mut(4096) {
        page[..64].fill(0x5a);
    }
    std::fs::write(&path, &bytes).unwrap();
    let names = place.names();
    let report = reloaded(&path, &options());
    let Outcome::Failed(why) = &report.outcome else { panic!("{report:?}") };
    assert!(why.contains("original") && !why.contains('\n'), "{why}");
    assert!(std::fs::read(&path).unwrap() == bytes);
    assert_eq!(place.names(), names);
}

/// A backup reads no index, and a restore makes them again.
#[test]
#[ignore = "laboratory: servers"]
fn damage_that_a_backup_does_not_see_is_reported() {
    let place = place();
    let path = place.numbered("base.fdb", 2000);
    let mut bytes = std::fs::read(&path).unwrap();
    // A page of type 7 is one of an index; the last is the table's.
    let page = bytes.chunks_exact_mut(4096).rfind(|page| page[0] == 7).unwrap();
    page[40..].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    let names = place.names();
    let report = reloaded(&path, &options());
    let Outcome::Failed(why) = &report.outcome else { panic!("{report:?}") };
    assert!(why.starts_with("the original is damaged: Number of") && !why.contains('\n'), "{why}");
    assert!(std::fs::read(&path).unwrap() == bytes);
    assert_eq!(place.names(), names);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_user_who_stops_gets_the_database_back_as_it_was() {
    let place = place();
    let path = place.numbered("base.fdb", 3);
    let (bytes, names) = (std::fs::read(&path).unwrap(), place.names());
    for at in [Stage::Backup, Stage::Restore, Stage::Check] {
        let stop = Arc::new(AtomicBool::new(false));
        let options = ItemOptions { stop: Arc::clone(&stop), ..options() };
        let on_stage = |stage| {
            if stage == at {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        };
        let driver = crate::lab_servers::firebird::support::driver(&options.settings);
        let report = reload(&path, driver.as_ref(), &options, &on_stage);
        assert_eq!(report.outcome, Outcome::Stopped, "{at:?}");
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(place.names(), names);
    }
    assert_eq!(place.rows(&path).unwrap(), [1, 2, 3]);
}
