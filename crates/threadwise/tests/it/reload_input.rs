//! `threadwise reload`: what is no list, no log, no folder, no sealed original; and limits of the process.

use crate::harness::{Lab, Said, program};
use rusqlite::Connection;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

pub fn database(path: &Path, rows: u32) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE data (x); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE \
             i < {rows}) INSERT INTO data SELECT zeroblob(400) FROM n"
        ))
        .unwrap();
}

pub fn is(said: &Said, code: i32, texts: &[&str]) {
    let all = format!("{}{}", said.stdout, said.stderr);
    assert_eq!(said.code, Some(code), "{all}");
    texts.iter().for_each(|text| assert!(all.contains(text), "{text}: {all}"));
}

/// Leaves a database sealed, and its work folder, as a kill between seal and swap does.
fn left(path: &Path) {
    use std::sync::Arc;
    use threadwise_reload::item::{ItemOptions, Step, reload};
    let options =
        ItemOptions { hook: Some(Arc::new(|step, _: &Path| step != Step::Sealed)), ..ItemOptions::default() };
    let driver = threadwise_reload::sqlite::driver(&options.settings);
    assert!(reload(path, driver.as_ref(), &options, &|_| ()).left_behind);
}

#[test]
fn what_was_left_below_a_folder_is_recovered_and_a_mistyped_name_is_reported() {
    let lab = Lab::new();
    let below = lab.path().join("data/sub/deep");
    fs::create_dir_all(&below).unwrap();
    is(&lab.run(&["restore", "data"]), 0, &["data: nothing was left in 3 folders"]);
    let path = below.join("a.db");
    database(&path, 100);
    left(&path);
    assert!(Connection::open(&path).unwrap().execute("DELETE FROM data", []).is_err(), "it is sealed");
    let asked = lab.run(&["restore", "--status", "data"]);
    is(&asked, 0, &["data/sub/deep/a.db: would be recovered"]);
    assert!(Connection::open(&path).unwrap().execute("DELETE FROM data", []).is_err(), "it is as it was");
    is(&lab.run(&["restore", "data"]), 0, &["data/sub/deep/a.db: restored"]);
    assert_eq!(Connection::open(&path).unwrap().execute("DELETE FROM data", []).unwrap(), 100);
    for name in ["dat", "data/absent.db"] {
        let before = fs::metadata(&path).unwrap().mtime_nsec();
        is(&lab.run(&["restore", "data", name]), 2, &[name, "no such file or folder"]);
        assert_eq!(fs::metadata(&path).unwrap().mtime_nsec(), before);
    }
    // A name that is gone, with its work folder there.
    left(&path);
    fs::rename(&path, below.join("elsewhere")).unwrap();
    let kept = below.join("a.db.before-reload");
    is(
        &lab.run(&["restore", path.to_str().unwrap()]),
        1,
        &["the file does not exist", kept.to_str().unwrap()],
    );
    fs::rename(below.join("elsewhere"), &path).unwrap();
    is(&lab.run(&["restore", path.to_str().unwrap()]), 0, &["restored"]);
    assert!(!kept.exists());
}

#[test]
fn lists_and_logs_are_regular_files_and_options_are_checked_first() {
    let lab = Lab::new();
    let path = lab.path().join("a.db");
    database(&path, 10);
    mknodat(CWD, lab.path().join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    fs::write(lab.path().join("empty"), "\n\n").unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    for (args, code, why) in [
        (vec!["@pipe"], 2, "not a regular file"),
        (vec!["@/dev/zero"], 2, "not a regular file"),
        (vec!["@empty"], 2, "the list is empty"),
        (vec!["--log", "pipe", "a.db"], 2, "not a regular file"),
        (vec!["--log", "/dev/full", "a.db"], 2, "not a regular file"),
        (vec!["--log", "/dev/null", "a.db"], 2, "not a regular file"),
        (vec!["--page-size", "1000", "a.db"], 2, "page size 1000"),
        (vec!["--engine-option", "bin=/x", "a.db"], 2, "no option 'bin'"),
    ] {
        is(&lab.run(&[&["reload", "--engine", "sqlite"], args.as_slice()].concat()), code, &[why]);
        assert_eq!(fs::metadata(&path).unwrap().ino(), before, "{args:?}");
    }
    let log =
        ["reload", "--engine", "sqlite", "--originals", "remove", "--log", "log", "--wait", "0s", "a.db"];
    is(&lab.run(&log), 0, &["1 done of 1 file in"]);
    is(&lab.run(&log), 0, &["1 done before of 1 file"]);
    is(&lab.run(&[&log[..], &["--page-size", "8192"]].concat()), 0, &["1 done of 1 file in"]);
}

#[test]
fn kernel_files_and_pipes_in_the_place_of_side_files_keep_nobody_waiting() {
    let lab = Lab::new();
    let ways = [vec!["--dry-run"], vec!["--wait", "0s"], vec!["--unseal"]];
    // Of no length, and whoever may read it waits for the kernel's next message: root alone.
    for way in &ways {
        let said = lab.run(&[&["reload", "--engine", "sqlite"], way.as_slice(), &["/proc/kmsg"]].concat());
        assert!(matches!(said.code, Some(1 | 2)), "{way:?}: {}{}", said.stdout, said.stderr);
    }
    for suffix in ["-journal", "-wal", "-shm"] {
        let path = lab.path().join(format!("a{suffix}.db"));
        database(&path, 10);
        let before = fs::metadata(&path).unwrap().ino();
        let pipe = format!("a{suffix}.db{suffix}");
        mknodat(CWD, lab.path().join(&pipe), FileType::Fifo, Mode::RWXU, 0).unwrap();
        for way in &ways[..2] {
            let words =
                [&["reload", "--engine", "sqlite"], way.as_slice(), &[path.to_str().unwrap()]].concat();
            is(&lab.run(&words), 1, &[&pipe, "is not a regular file", "remove it"]);
        }
        assert_eq!(fs::metadata(&path).unwrap().ino(), before);
        assert!(lab.path().join(&pipe).symlink_metadata().is_ok(), "what is not ours stays");
    }
}

#[test]
fn unseal_says_what_it_did() {
    let lab = Lab::new();
    let path = lab.path().join("a.db");
    database(&path, 10);
    fs::write(lab.path().join("text"), "x".repeat(5000)).unwrap();
    let unseal = |name: &str| lab.run(&["reload", "--engine", "sqlite", "--unseal", name]);
    is(&unseal("a.db"), 0, &["a.db: was not sealed"]);
    is(&unseal("text"), 1, &["text: not: is not an SQLite database"]);
    left(&path);
    for name in ["a.db", "a.db.before-reload"] {
        is(&unseal(name), 1, &["threadwise restore", "is running or was killed"]);
    }
    lab.ok(&["restore", "a.db"]);
    lab.ok(&["reload", "--engine", "sqlite", "a.db"]);
    is(&unseal("a.db.before-reload"), 0, &["a.db.before-reload: writable"]);
    is(&unseal("a.db.before-reload"), 0, &["a.db.before-reload: was not sealed"]);
}

#[test]
fn a_limit_of_file_sizes_is_a_full_disk_and_no_death() {
    let lab = Lab::new();
    let path = lab.path().join("a.db");
    database(&path, 2000);
    let size = fs::metadata(&path).unwrap().len();
    // In blocks of 512 bytes (POSIX, `ulimit`).
    let run = |blocks: u64, more: &str| {
        let program = program();
        let script = format!("ulimit -f {blocks}; exec {program} reload --engine sqlite --json {more} a.db");
        let output = Command::new("/bin/sh").args(["-c", &script]).current_dir(lab.path()).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        found["files"][0].clone()
    };
    let small = run(16, "");
    assert_eq!(small["outcome"], "skipped", "{small}");
    assert!(small["reason"].as_str().unwrap().contains("ulimit -f"), "{small}");
    assert_eq!(small["bytes_before"], size, "{small}");
    // With larger pages the new file outgrows a limit that the old one fits: the write itself fails.
    let grown = lab.path().join("b.db");
    fs::rename(&path, &grown).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA page_size = 512").unwrap();
    let tables: String = (0..60).map(|number| format!("CREATE TABLE t{number} (x);")).collect();
    connection.execute_batch(&tables).unwrap();
    drop(connection);
    let failed = run(600, "--page-size 65536");
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert_eq!(lab.files(), ["a.db", "b.db"]);
    assert_eq!(Connection::open(&path).unwrap().execute("DELETE FROM t7", []).unwrap(), 0);
}

#[test]
fn without_descriptors_a_file_is_skipped_and_never_taken_for_unused() {
    let lab = Lab::new();
    let path = lab.path().join("a.db");
    database(&path, 10);
    // Open without a lock, as an idle connection of another program is.
    let _idle = fs::File::open(&path).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    let mut wanting = 0;
    for limit in 6..20 {
        let program = program();
        let script = format!("ulimit -n {limit}; exec {program} reload --engine sqlite --wait 0s a.db");
        let output = Command::new("/bin/sh").args(["-c", &script]).current_dir(lab.path()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!output.status.success(), "{limit}: {said}");
        let is_wanting = said.contains("Too many open files") || said.contains("too many files are open");
        assert!(is_wanting || said.contains("in use: opened by process"), "{limit}: {said}");
        wanting += u32::from(is_wanting);
        assert_eq!(fs::metadata(&path).unwrap().ino(), before, "{limit}");
    }
    assert!((1..14).contains(&wanting), "{wanting}");
    assert_eq!(lab.files(), ["a.db"]);
}
