//! Killed at random moments while a writer inserts numbered rows: none that was committed is ever lost.

use crate::lab_servers::firebird::support::{Place, options, place, reloaded};
use rand::{RngExt, SeedableRng};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use threadwise_reload::driver::Settings;
use threadwise_reload::error::ItemError;
use threadwise_reload::item::{ItemOptions, Outcome};
use threadwise_reload::{Originals, recover};

/// Kills, unless THREADWISE_TEST_KILLS says another number.
const KILLS: usize = 20;
/// Names the database that a child process of this test is to reload.
const CHILD: &str = "THREADWISE_TEST_RELOAD";

fn child_options() -> ItemOptions {
    let settings = Settings { wait: Duration::from_secs(60), ..Settings::default() };
    ItemOptions { settings, originals: Originals::Remove, ..options() }
}

/// Not a test but what `reload` in a process of its own does; without the variable there is nothing to do.
#[test]
#[ignore = "laboratory: servers"]
fn as_a_child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let report = reloaded(Path::new(&path), &child_options());
    assert_eq!(report.outcome, Outcome::Done);
}

fn child(path: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lab_servers::firebird::kills::as_a_child", "--include-ignored"])
        .env(CHILD, path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Inserts numbers one after another, each in its own transaction, and notes which were committed, and
/// which may have been: those whose insert failed for whatever reason.
struct Writer {
    committed: Vec<u32>,
    next: u32,
}

impl Writer {
    fn insert(&mut self, place: &Place, path: &Path) {
        let number = self.next;
        if place.sql(path, &format!("insert into items values ({number}); commit;")).is_ok() {
            self.committed.push(number);
        }
        self.next += 1;
    }
}

/// What the watchdog does. A program that the killed process had just forked has its locks for a moment
/// more, until its own death signal, and a session of the writer may be in the way too.
fn until_recovered(path: &Path) -> recover::Recovered {
    let settings = child_options().settings;
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match recover::recover(path, &settings) {
            Ok(recovered) => return recovered,
            // The writer was there first, so that the files cannot be compared: the user decides for the new file.
            Err(ItemError::Undecided(why)) => {
                assert!(why.contains("written to since"), "{why}");
                std::fs::remove_file(crate::lab_servers::firebird::support::kept(path)).unwrap();
            }
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn check(place: &Place, path: &Path, writer: &Writer, when: &str) {
    let rows = place.rows(path).unwrap_or_else(|error| panic!("{when}: cannot be opened: {error}"));
    let lost: Vec<_> = writer.committed.iter().filter(|&number| !rows.contains(number)).collect();
    assert!(lost.is_empty(), "{when}: lost {lost:?}");
    assert!(rows.iter().all(|&row| row < writer.next), "{when}: {rows:?}");
}

/// Waits until more rows than so many are committed; gives their number.
fn more_rows(writer: &Mutex<Writer>, than: usize) -> usize {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let rows = writer.lock().unwrap().committed.len();
        if rows > than {
            return rows;
        }
        assert!(Instant::now() < until, "no row after {than} within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn no_committed_row_is_lost_when_killed_at_random_moments() {
    let place = place();
    let path = place.numbered("base.fdb", 0);
    let place = Arc::new(place);
    let writer = Arc::new(Mutex::new(Writer { committed: Vec::new(), next: 1 }));
    let stop = Arc::new(AtomicBool::new(false));
    let writing = {
        let (place, path, writer, stop) =
            (Arc::clone(&place), path.clone(), Arc::clone(&writer), Arc::clone(&stop));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                writer.lock().unwrap().insert(&place, &path);
                // The hold must get its turn.
                std::thread::sleep(Duration::from_millis(10));
            }
        })
    };
    // How long one takes here and now, so that kills come at all its stages.
    let begun = Instant::now();
    assert!(child(&path).wait().unwrap().success());
    let whole = begun.elapsed();
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(6);
    let kills = std::env::var("THREADWISE_TEST_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let (mut killed, mut done) = (0, 0);
    let mut rows = 0;
    while killed < kills {
        // Where a reload is over sooner than a session of the writer, most kills would have no row between them.
        rows = more_rows(&writer, rows);
        let mut child = child(&path);
        std::thread::sleep(whole.mul_f64(random.random_range(0.0..1.1)));
        child.kill().unwrap();
        match child.wait().unwrap().success() {
            true => done += 1,
            false => killed += 1,
        }
        let recovered = until_recovered(&path);
        let writer = writer.lock().unwrap();
        check(&place, &path, &writer, &format!("kill {killed}, {recovered:?}"));
    }
    more_rows(&writer, rows);
    stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    let writer = writer.lock().unwrap();
    assert!(
        writer.committed.len() > kills,
        "{} rows were written, {done} reloads done",
        writer.committed.len()
    );
    check(&place, &path, &writer, "at the end");
    println!("{killed} kills, {done} reloads done, {} rows committed, none lost", writer.committed.len());
    assert_eq!(place.names(), ["base.fdb"], "nothing is left");
}
