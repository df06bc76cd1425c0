//! `threadwise reload` as root on a database whose folder, or a folder above it, belongs to another user
//! who swaps folders all the while: nothing of root's may be written.

use crate::harness::{Lab, Said};
use rusqlite::Connection;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{DumpableBehavior, Gid, Pid, Signal, Uid, kill_process, set_dumpable_behavior};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A user without an account.
const ATTACKER: u32 = 12_345;
/// Rounds of each attack. Before the repair root lost 50 and 24 of 200.
const ROUNDS: u32 = 40;
/// Every name that a reload makes in its work folder.
const NAMES: [&str; 13] = [
    "probe",
    "marker",
    "marker.next",
    "lock",
    "state",
    "state.next",
    "new",
    "backup",
    "backup-journal",
    "new-journal",
    "new-wal",
    "copy",
    "locks",
];

/// Another number of rounds or kills, for a longer run by hand.
pub fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn is_root(test: &str) -> bool {
    let is = rustix::process::geteuid().is_root();
    if !is {
        say(&format!("SKIPPED: {test}: needs root"));
    }
    is
}

/// A folder that all users may pass and only root may change.
fn open_lab() -> Lab {
    let lab = Lab::new();
    fs::set_permissions(lab.path(), fs::Permissions::from_mode(0o755)).unwrap();
    lab
}

fn give(path: &Path) {
    chown(path, Some(ATTACKER), Some(ATTACKER)).unwrap();
}

/// A folder of the attacker's.
fn their_folder(path: &Path) {
    fs::create_dir(path).unwrap();
    give(path);
}

/// A database of the attacker's.
fn their_database(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let sql = "PRAGMA synchronous = OFF; CREATE TABLE rows (x);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO rows SELECT zeroblob(300) FROM n";
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    give(path);
}

/// Root's files, one for each name, of which every second is not there: a link to it would make it.
struct Precious {
    folder: PathBuf,
}

const TEXT: &str = "root's own\n";

impl Precious {
    fn new(folder: PathBuf) -> Self {
        fs::create_dir(&folder).unwrap();
        let precious = Self { folder };
        precious.restore();
        precious
    }

    fn restore(&self) {
        fs::remove_dir_all(&self.folder).unwrap();
        fs::create_dir(&self.folder).unwrap();
        for name in NAMES {
            fs::write(self.folder.join(name), TEXT).unwrap();
            fs::set_permissions(self.folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// Links to all of them, under the names that a reload makes; `absent`: to names that are not there.
    fn links(&self, folder: &Path, absent: bool) {
        their_folder(folder);
        for name in NAMES {
            let to = if absent { format!("{name}.absent") } else { name.to_owned() };
            symlink(self.folder.join(to), folder.join(name)).unwrap();
        }
    }

    /// What became another, if anything.
    fn lost(&self) -> Option<String> {
        for name in NAMES {
            let Ok(found) = fs::symlink_metadata(self.folder.join(name)) else {
                return Some(format!("{name} is gone"));
            };
            let text = fs::read(self.folder.join(name)).unwrap();
            if text != TEXT.as_bytes() || found.mode() & 0o7777 != 0o600 || found.uid() != 0 {
                return Some(format!("{name} has {} bytes, mode {:o}", text.len(), found.mode()));
            }
        }
        (fs::read_dir(&self.folder).unwrap().count() != NAMES.len()).then(|| "a file was made".to_owned())
    }
}

/// Gives a thread of this process to the attacker, for good.
fn become_attacker() {
    let (uid, gid) = (Uid::from_raw(ATTACKER), Gid::from_raw(ATTACKER));
    set_thread_groups(&[]).unwrap();
    set_thread_res_gid(gid, gid, gid).unwrap();
    set_thread_res_uid(uid, uid, uid).unwrap();
    set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
}

/// Swaps two names until the end, as fast as it can or with short pauses; says how often it did.
fn swap_names(one: &Path, other: &Path, seed: u64, end: &AtomicBool) -> u64 {
    become_attacker();
    let (mut state, mut swaps) = (seed, 0);
    while !end.load(Ordering::Relaxed) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            swaps += 1;
        }
        std::thread::sleep(Duration::from_micros((state >> 33) % 400));
    }
    swaps
}

/// One attack: the run, while the attacker swaps.
fn attacked(lab: &Lab, database: &Path, names: (&Path, &Path), round: u32) -> (Said, u64) {
    let (end, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let said = std::thread::scope(|scope| {
        scope.spawn(|| swaps.store(swap_names(names.0, names.1, round.into(), &end), Ordering::Relaxed));
        let args = ["reload", "--engine", "sqlite", "--originals", "remove", "--wait", "0s"];
        let said = lab.run(&[&args[..], &[database.to_str().unwrap()]].concat());
        end.store(true, Ordering::Relaxed);
        said
    });
    (said, swaps.into_inner())
}

/// The attacker owns the database's folder and all that lies between it and the swapped one: `depth` folders
/// between the two.
fn attack(depth: usize) {
    let lab = open_lab();
    let precious = Precious::new(lab.path().join("precious"));
    let rounds = number("THREADWISE_TEST_ATTACKS", ROUNDS);
    let (mut won, mut swapped, mut last) = (Vec::new(), 0, String::new());
    for round in 0..rounds {
        let (base, absent) = (lab.path().join("base"), round % 2 == 1);
        their_folder(&base);
        let (one, other) = (base.join("one"), base.join("two"));
        let folder = if depth == 0 { base.clone() } else { one.join("data") };
        if depth > 0 {
            for top in [&one, &other] {
                their_folder(top);
                their_folder(&top.join("data"));
                their_database(&top.join("data/db"));
            }
            precious.links(&other.join("data/.threadwise-reload-db"), absent);
        } else {
            their_database(&base.join("db"));
            precious.links(&other, absent);
        }
        let folder_of_run = base.join(".threadwise-reload-db");
        let names = if depth == 0 {
            (folder_of_run.as_path(), other.as_path())
        } else {
            (one.as_path(), other.as_path())
        };
        let (said, swaps) = attacked(&lab, &folder.join("db"), names, round);
        (swapped, last) = (swapped + swaps, format!("{}{}", said.stdout, said.stderr));
        if let Some(what) = precious.lost() {
            won.push(format!("round {round}: {what}"));
            precious.restore();
        }
        fs::remove_dir_all(&base).unwrap();
    }
    say(&format!("attack at depth {depth}: {} of {rounds} won, {swapped} swaps; at last: {last}", won.len()));
    assert!(won.is_empty(), "{} of {rounds}: {won:?}", won.len());
    assert!(swapped > 0, "the attack met no reload at work: {last}");
}

#[test]
#[ignore = "laboratory: kills"]
fn who_owns_the_folder_gets_nothing_of_roots() {
    if is_root("an attack on root in the folder of the database") {
        attack(0);
    }
}

#[test]
#[ignore = "laboratory: kills"]
fn who_owns_a_folder_two_levels_above_gets_nothing_of_roots() {
    if is_root("an attack on root two folders above the database") {
        attack(2);
    }
}

/// A bound, not a measurement.
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "not within 60 s: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn rows(path: &Path) -> i64 {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    connection.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A run of root's on the database of the attacker's, with pipes for what it says.
fn begun(lab: &Lab, wait: &str) -> Child {
    let args = ["reload", "--engine", "sqlite", "--originals", "remove", "--wait", wait, "base/db"];
    lab.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn their_lab() -> (Lab, PathBuf) {
    let lab = open_lab();
    let base = lab.path().join("base");
    their_folder(&base);
    their_database(&base.join("db"));
    (lab, base)
}

#[test]
#[ignore = "laboratory: kills"]
fn an_owners_database_is_reloaded_with_the_owners_rights() {
    if !is_root("a reload by root of another user's database") {
        return;
    }
    let (lab, base) = their_lab();
    let db = base.join("db");
    let before = fs::metadata(&db).unwrap();
    lab.ok(&["reload", "--engine", "sqlite", "--dry-run", "base/db"]);
    // An idle connection of root's process, which the owner cannot see and root does.
    let idle = Connection::open(&db).unwrap();
    let _: i64 = idle.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap();
    let dry = lab.run(&["reload", "--engine", "sqlite", "--dry-run", "base/db"]);
    assert!(dry.stdout.contains("in use: opened by process"), "{}", dry.stdout);
    let run = begun(&lab, "10m");
    let folder_of_run = base.join(".threadwise-reload-db");
    wait_until("it waits", || folder_of_run.join("state").exists());
    assert_eq!(fs::metadata(&folder_of_run).unwrap().uid(), ATTACKER, "nothing there is made by root");
    drop(idle);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let after = fs::metadata(&db).unwrap();
    assert_ne!(after.ino(), before.ino());
    let dressed = |found: &fs::Metadata| (found.uid(), found.gid(), found.mode());
    assert_eq!((dressed(&after), rows(&db), names(&base)), (dressed(&before), 200, vec!["db".to_owned()]));
    // Ctrl-C reaches it.
    let idle = Connection::open(&db).unwrap();
    let _: i64 = idle.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap();
    let run = begun(&lab, "10m");
    wait_until("it waits", || folder_of_run.join("state").exists());
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(names(&base), ["db"]);
    drop(idle);
    // Kept and made usable again; and where others may write the folder of root's, nothing is done.
    lab.ok(&["reload", "--engine", "sqlite", "base/db"]);
    let said = lab.ok(&["reload", "--engine", "sqlite", "--unseal", "base/db.before-reload"]);
    assert!(said.stdout.contains("writable"), "{}", said.stdout);
    fs::remove_file(base.join("db.before-reload")).unwrap();
    chown(&base, Some(0), Some(0)).unwrap();
    fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
    for more in [&["--engine", "sqlite"][..], &["--engine", "sqlite", "--dry-run"]] {
        let said = lab.run(&[&["reload"], more, &["base/db"]].concat());
        assert_eq!(said.code, Some(1), "{}", said.stdout);
        assert!(said.stdout.contains("every user could swap files in"), "{}", said.stdout);
    }
    assert_eq!(names(&base), ["db"]);
}

/// What `ls -i` and a checksum would see of a file.
fn looks(path: &Path) -> (u64, Vec<u8>) {
    (fs::metadata(path).unwrap().ino(), fs::read(path).unwrap())
}

#[test]
#[ignore = "laboratory: kills"]
fn a_link_of_a_user_leads_root_to_nothing_of_roots() {
    if !is_root("a reload by root of a link in another user's folder") {
        return;
    }
    let (lab, base) = their_lab();
    let owned = lab.path().join("owned");
    fs::create_dir(&owned).unwrap();
    their_database(&owned.join("db"));
    chown(owned.join("db"), Some(0), Some(0)).unwrap();
    // Of the file, of its folder, by another link, and one that root itself made in their folder.
    symlink(owned.join("db"), base.join("file")).unwrap();
    symlink(&owned, base.join("folder")).unwrap();
    symlink(base.join("file"), lab.path().join("twice")).unwrap();
    let before = looks(&owned.join("db"));
    for path in ["base/file", "base/folder/db", "twice"] {
        for more in [&[][..], &["--dry-run"], &["--originals", "remove"], &["--unseal"]] {
            let said = lab.run(&[&["reload", "--engine", "sqlite"], more, &[path]].concat());
            assert_eq!(said.code, Some(1), "{path} {more:?}: {}{}", said.stdout, said.stderr);
            let is_named = said.stdout.contains(owned.join("db").to_str().unwrap());
            assert!(is_named && said.stdout.contains("leads by a link"), "{path} {more:?}: {}", said.stdout);
        }
        assert_eq!(
            (looks(&owned.join("db")), names(&owned)),
            (before.clone(), vec!["db".to_owned()]),
            "{path}"
        );
    }
    // What a killed run left there is not root's to put back by that way either.
    fs::create_dir(owned.join(".threadwise-reload-db")).unwrap();
    for path in ["base/file", "base/folder/db", "twice"] {
        let said = lab.run(&["restore", path]);
        assert_eq!(said.code, Some(1), "{path}: {}", said.stdout);
        assert!(said.stdout.contains("leads by a link"), "{path}: {}", said.stdout);
    }
    fs::remove_dir(owned.join(".threadwise-reload-db")).unwrap();
    assert_eq!(looks(&owned.join("db")), before);
    // Root's link to root's file, and a user's link to the user's own: the file that was changed is named.
    symlink(owned.join("db"), lab.path().join("mine")).unwrap();
    symlink(base.join("db"), base.join("own")).unwrap();
    for (path, file) in [("mine", owned.join("db")), ("base/own", base.join("db"))] {
        let said = lab.ok(&["reload", "--engine", "sqlite", "--originals", "remove", path]);
        let named = format!("the changed file is {}", file.display());
        assert!(said.stdout.contains(&named), "{path}: {}", said.stdout);
    }
    let said = lab.ok(&["reload", "--engine", "sqlite", "--originals", "remove", "base/db"]);
    assert!(!said.stdout.contains("is a link"), "{}", said.stdout);
}

#[test]
#[ignore = "laboratory: kills"]
fn a_killed_run_of_roots_leaves_nothing_in_an_owners_folder() {
    if !is_root("kills of a run of root's on another user's database") {
        return;
    }
    let (lab, base) = their_lab();
    let db = base.join("db");
    let begun_at = Instant::now();
    assert!(begun(&lab, "0s").wait().unwrap().success());
    let longest_us = u64::try_from(begun_at.elapsed().as_micros()).unwrap().min(400_000);
    let (mut state, mut left) = (22_u64, 0);
    for kill in 0..number("THREADWISE_TEST_KILLS", 12) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut run = begun(&lab, "0s");
        std::thread::sleep(Duration::from_micros((state >> 33) % longest_us));
        run.kill().unwrap();
        run.wait().unwrap();
        left += u32::from(names(&base) != ["db"]);
        // By its watchdog; what was killed before that began is recovered by hand.
        if kill % 2 == 0 {
            wait_until("the watchdog's work", || names(&base) == ["db"]);
        } else {
            wait_until("a recovery", || lab.run(&["restore", "base/db"]).code == Some(0));
        }
        assert_eq!((names(&base), rows(&db)), (vec!["db".to_owned()], 200), "kill {kill}");
        assert_eq!(fs::metadata(&db).unwrap().uid(), ATTACKER);
        Connection::open(&db)
            .unwrap()
            .execute_batch("INSERT INTO rows VALUES (1); DELETE FROM rows WHERE x = 1")
            .unwrap();
    }
    say(&format!("{left} kills left something to recover"));
}
