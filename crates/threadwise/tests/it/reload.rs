//! `threadwise reload`: what it prints and its exit codes, and 100 kills with writers trying all the while.

use crate::harness::{Lab, Said};
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

fn database(folder: &Path, name: &str, journal_mode: &str) -> PathBuf {
    let path = folder.join(name);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", journal_mode, |_| Ok(())).unwrap();
    connection
        .execute_batch(
            "BEGIN; CREATE TABLE numbers (number INTEGER PRIMARY KEY); CREATE TABLE data (x);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO data SELECT zeroblob(400) FROM n; COMMIT",
        )
        .unwrap();
    path
}

fn numbers(path: &Path) -> BTreeSet<i64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(path, flags).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    let mut statement = connection.prepare("SELECT number FROM numbers NOT INDEXED").unwrap();
    let numbers = statement.query_map([], |row| row.get(0)).unwrap();
    numbers.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn one<T: rusqlite::types::FromSql>(path: &Path, pragma: &str) -> T {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stdout))
}

#[test]
fn a_list_is_reloaded_and_summed_up() {
    let lab = Lab::new();
    let odd = "it's \"a\nname\".db";
    for name in ["a.db", "b c.db", odd] {
        database(lab.path(), name, "wal");
    }
    fs::write(lab.path().join("list"), "b c.db\na.db\n").unwrap();
    let args = ["reload", "--engine", "sqlite", "--jobs", "2", "--json", "a.db", "@list", odd];
    let found = json(&lab.ok(&args));
    let files = found["files"].as_array().unwrap();
    assert_eq!(files.len(), 3, "duplicates once: {found}");
    assert_eq!(files[2]["path"], odd);
    for file in files {
        assert_eq!(file["outcome"], "done", "{found}");
        assert!(file["rows"].as_u64() == Some(500) && file["bytes_after"].as_u64() > Some(200_000), "{file}");
    }
    assert_eq!(lab.files().len(), 3 + 3 + 1, "{:?}", lab.files());
    let said = lab.run(&["reload", "--engine", "sqlite", "a.db"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("a.db.before-reload exists from an earlier reload"), "{}", said.stdout);
    lab.ok(&["reload", "--engine", "sqlite", "--unseal", "a.db.before-reload"]);
    assert_eq!(one::<String>(&lab.path().join("a.db.before-reload"), "journal_mode"), "wal");
}

#[test]
fn bad_input_touches_nothing() {
    let lab = Lab::new();
    database(lab.path(), "a.db", "delete");
    let before = fs::metadata(lab.path().join("a.db")).unwrap().ino();
    for (args, code, why) in [
        (vec!["--engine", "sqlite", "a.db", "absent.db"], 2, "absent.db"),
        (vec!["--engine", "sqlite", "@absent.txt"], 2, "absent.txt"),
        (vec!["--engine", "oracle", "a.db"], 2, "oracle"),
        (vec!["a.db"], 2, "--engine"),
        (vec!["--engine", "sqlite"], 2, "FILE"),
        (vec!["--engine", "sqlite", "--jobs", "0", "a.db"], 2, "jobs"),
        (vec!["--engine", "sqlite", "--page-size", "1000", "a.db"], 2, "page size 1000"),
        (vec!["--engine", "sqlite", "--engine-option", "bin=/x", "a.db"], 2, "no option 'bin'"),
        (vec!["--engine", "sqlite", "--log", "a.db", "a.db"], 2, "a.db"),
    ] {
        let said = lab.run(&[&["reload"], args.as_slice()].concat());
        assert_eq!(said.code, Some(code), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
        assert_eq!(fs::metadata(lab.path().join("a.db")).unwrap().ino(), before);
        assert_eq!(lab.files(), ["a.db"], "{args:?}");
    }
}

#[test]
fn one_bad_file_leaves_the_rest_of_the_list_alone_and_a_log_goes_on() {
    let lab = Lab::new();
    let path = database(lab.path(), "a.db", "delete");
    fs::write(lab.path().join("text.db"), "no database, and long enough to be one").unwrap();
    let dry = lab.run(&["reload", "--engine", "sqlite", "--dry-run", "a.db", "text.db"]);
    assert_eq!(dry.code, Some(1), "{}", dry.stderr);
    assert!(dry.stdout.contains("a.db: would be reloaded"), "{}", dry.stdout);
    assert!(dry.stdout.contains("text.db: not: is not an SQLite database"), "{}", dry.stdout);
    let before = fs::metadata(&path).unwrap().ino();
    let args = [
        "reload",
        "--engine",
        "sqlite",
        "--originals",
        "remove",
        "--log",
        "log",
        "--json",
        "text.db",
        "a.db",
    ];
    let outcomes = |said: &Said| {
        json(said)["files"].as_array().unwrap().iter().map(|file| file["outcome"].clone()).collect::<Vec<_>>()
    };
    let first = lab.run(&args);
    assert_eq!((first.code, outcomes(&first)), (Some(1), vec!["skipped".into(), "done".into()]));
    assert_ne!(fs::metadata(&path).unwrap().ino(), before);
    let second = lab.run(&args);
    assert_eq!((second.code, outcomes(&second)), (Some(1), vec!["skipped".into(), "done_before".into()]));
    fs::remove_file(lab.path().join("text.db")).unwrap();
    assert_eq!(outcomes(&lab.ok(&[&args[..8], &["a.db"]].concat())), ["done_before"]);
    assert_eq!(lab.files(), ["a.db", "log"]);
}

#[test]
fn ctrl_c_ends_what_is_begun_and_leaves_the_rest() {
    let lab = Lab::new();
    let path = database(lab.path(), "a.db", "delete");
    // Held by a reader, so that the run waits for it.
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_row("SELECT count(*) FROM data", [], |row| row.get(0)).unwrap();
    let args = ["reload", "--engine", "sqlite", "--wait", "10m", "a.db"];
    let child = lab.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folder = lab.path().join(".threadwise-reload-a.db/state");
    wait_until("it works", || folder.exists());
    kill(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("stopped"), "{output:?}");
    assert_eq!(lab.files(), ["a.db"]);
}

/// A bound, not a measurement.
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < end, "not within two minutes: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // A process that has ended by itself is as good.
    let _ = rustix::process::kill_process(pid, signal);
}

/// The watchdog of a run: its only child.
fn watchdog(run: &Child) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// A small seeded generator (Knuth's MMIX constants): the moments need no quality.
struct Moments(u64);

impl Moments {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// A database, and the numbers whose commits were acknowledged.
struct Written {
    path: PathBuf,
    journal_mode: &'static str,
    committed: Mutex<BTreeSet<i64>>,
}

/// Inserts numbered rows until the end: by short connections, and now and then by one that is kept for
/// some rows and some time, as a pool keeps it.
fn write(file: &Written, next: &AtomicI64, end: &AtomicBool, seed: u64) {
    let mut moments = Moments(seed);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    while !end.load(Ordering::Relaxed) {
        let connection = Connection::open_with_flags(&file.path, flags).unwrap();
        connection.busy_timeout(Duration::from_millis(moments.below(30))).unwrap();
        let _ = connection.execute_batch("PRAGMA synchronous = OFF");
        for _ in 0..=moments.below(4) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if connection.execute("INSERT INTO numbers VALUES (?1)", [number]).is_ok() {
                file.committed.lock().unwrap().insert(number);
            }
            std::thread::sleep(Duration::from_millis(moments.below(3)));
        }
        drop(connection);
        std::thread::sleep(Duration::from_millis(2 + moments.below(15)));
    }
}

/// Every acknowledged row is in the file under its name.
fn check(file: &Written, when: &str) {
    let committed = file.committed.lock().unwrap().clone();
    let found = numbers(&file.path);
    let lost: Vec<_> = committed.difference(&found).collect();
    assert!(lost.is_empty(), "{when}: {} lost {lost:?}", file.path.display());
}

/// In memory, where there is such a folder: a kill loses nothing of what is not synced yet, and many
/// moments take little time.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

#[test]
fn killed_at_a_few_moments_no_file_and_no_committed_row_is_lost() {
    killed(&in_memory(), 8);
}

mod lab_kills {
    use super::*;

    #[test]
    #[ignore = "laboratory: kills"]
    fn killed_at_200_moments_no_file_and_no_committed_row_is_lost() {
        all_was_reached(killed(&in_memory(), 200));
    }

    /// On a disk, where the steps that sync are the long ones.
    #[test]
    #[ignore = "laboratory: kills"]
    fn killed_at_50_moments_on_a_disk_no_file_and_no_committed_row_is_lost() {
        all_was_reached(killed(&tempfile::tempdir().unwrap(), 50));
    }

    /// What a few kills may all miss.
    fn all_was_reached((swaps, left, committed): (usize, usize, usize)) {
        assert!(swaps > 0, "no run got as far as a swap");
        assert!(left > 0, "no kill left anything to recover");
        assert!(committed > 0, "no writer committed a row");
    }
}

/// Gives how many swaps there were, how many files were left to recover without a watchdog, and how many rows were
/// committed to the file with the fewest.
fn killed(folder: &tempfile::TempDir, number: u32) -> (usize, usize, usize) {
    let lab = Lab::new();
    let files: Vec<Written> = ["delete", "wal", "truncate"]
        .into_iter()
        .map(|journal_mode| Written {
            path: database(folder.path(), &format!("{journal_mode}.db"), journal_mode),
            journal_mode,
            committed: Mutex::new(BTreeSet::new()),
        })
        .collect();
    let (next, end) = (AtomicI64::new(1), AtomicBool::new(false));
    let (swaps, left) = std::thread::scope(|scope| {
        for (file, seed) in files.iter().zip(1..) {
            let (next, end) = (&next, &end);
            scope.spawn(move || write(file, next, end, seed));
        }
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kills(&lab, &files, number)));
        end.store(true, Ordering::Relaxed);
        ended.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    });
    for file in &files {
        check(file, "at the end");
        assert_eq!(one::<String>(&file.path, "integrity_check"), "ok");
        let mode = if file.journal_mode == "wal" { "wal" } else { "delete" };
        assert_eq!(one::<String>(&file.path, "journal_mode"), mode);
    }
    let side = |name: &String| name.ends_with("-journal") || name.ends_with("-wal") || name.ends_with("-shm");
    let names: Vec<_> = names(folder.path()).into_iter().filter(|name| !side(name)).collect();
    assert_eq!(names, ["delete.db", "truncate.db", "wal.db"]);
    (swaps, left, files.iter().map(|file| file.committed.lock().unwrap().len()).min().unwrap_or(0))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn inodes(files: &[Written]) -> Vec<u64> {
    files.iter().map(|file| fs::metadata(&file.path).unwrap().ino()).collect()
}

/// Whether a process has ended; its parent may not have waited for it yet.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// Whether a line says of the same tables that they have more rows than when they were checked.
fn has_more_rows(line: &str) -> bool {
    let numbers = |text: &str| -> Option<(u64, u64)> {
        let words: Vec<&str> = text.split(' ').collect();
        let all: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        (all.len() == 2).then(|| (all[0], all[1]))
    };
    let parts =
        line.split_once("the new file has ").and_then(|(_, rest)| rest.split_once(" when it was checked"));
    let both = parts.and_then(|(counts, _)| counts.split_once(", and "));
    let read = both.and_then(|(now, before)| numbers(now).zip(numbers(before)));
    read.is_some_and(|((rows, tables), (rows_before, tables_before))| {
        tables == tables_before && rows > rows_before
    })
}

/// Recovers. Where a writer was in the new file before, it cannot be compared any more, and the user
/// decides for it.
fn recover_and_decide(lab: &Lab, recover: &[&str], files: &[Written]) {
    let said = lab.run(recover);
    if said.code == Some(0) {
        return;
    }
    let mut decided = 0;
    for file in files {
        let kept = file.path.with_extension("db.before-reload");
        let reason = format!("nothing was removed, and the original is {}", kept.display());
        if said.stdout.contains(&reason) {
            // By its size and time, or else by rows that came: the time of a write is that of the kernel's
            // last tick (`current_time`, fs/inode.c), and one in the same tick does not change it.
            let line = said.stdout.lines().find(|line| line.contains(&reason)).unwrap();
            assert!(line.contains("was written to since the swap") || has_more_rows(line), "{line}");
            fs::remove_file(kept).unwrap();
            decided += 1;
        }
    }
    assert!(decided > 0, "{} {}", said.stdout, said.stderr);
    lab.ok(recover);
}

/// Kills runs, looks at the files before and after the recovery, and says how many swaps there were and
/// how many files were left to recover without a watchdog.
fn kills(lab: &Lab, files: &[Written], number: u32) -> (usize, usize) {
    let paths: Vec<&str> = files.iter().map(|file| file.path.to_str().unwrap()).collect();
    let folder = files[0].path.parent().unwrap();
    let run = ["reload", "--engine", "sqlite", "--jobs", "2", "--originals", "remove", "--wait", "300ms"];
    let run = [&run[..], &paths].concat();
    let recover = [&["restore"][..], &paths].concat();
    let recover_folder = ["restore", folder.to_str().unwrap()];
    let begun = Instant::now();
    lab.run(&run);
    // Not longer than what keeps this test short.
    let longest_us = u64::try_from(begun.elapsed().as_micros()).unwrap().min(400_000);
    let (mut moments, mut swaps, mut left) = (Moments(2026), 0, 0);
    let is_left = |name: &String| name.starts_with(".threadwise-reload-");
    for round in 0..number {
        let before = inodes(files);
        let mut child = lab.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(moments.below(longest_us)));
        let watchdog = watchdog(&child);
        if let Some(watchdog) = watchdog.filter(|_| round % 2 == 1) {
            kill(watchdog, Signal::KILL);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        files.iter().for_each(|file| check(file, &format!("kill {round}")));
        if round % 2 == 1 {
            left += names(folder).iter().filter(|name| is_left(name)).count();
        } else {
            wait_until("the watchdog's work", || {
                !names(folder).iter().any(is_left) || watchdog.is_none_or(has_ended)
            });
        }
        // By the names of the databases, or by their folder.
        recover_and_decide(lab, if round % 4 == 3 { &recover_folder } else { &recover }, files);
        files.iter().for_each(|file| check(file, &format!("recovery {round}")));
        swaps += inodes(files).iter().zip(before).filter(|(now, before)| *now != before).count();
    }
    (swaps, left)
}
