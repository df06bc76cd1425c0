//! `threadwise reload` as root on a database whose folder, or a folder above it, belongs to another user
//! who swaps folders all the while: nothing of root's may be written.

use crate::harness::{Lab, Said};
use rusqlite::Connection;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

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
fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn is_root(test: &str) -> bool {
    let is = rustix::process::geteuid().is_root();
    if !is {
        std::io::stderr().write_all(format!("SKIPPED: {test}: needs root\n").as_bytes()).unwrap();
    }
    is
}

/// A folder that everybody may pass and nobody but root may change.
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
        let work = base.join(".threadwise-reload-db");
        let names =
            if depth == 0 { (work.as_path(), other.as_path()) } else { (one.as_path(), other.as_path()) };
        let (said, swaps) = attacked(&lab, &folder.join("db"), names, round);
        (swapped, last) = (swapped + swaps, format!("{}{}", said.stdout, said.stderr));
        if let Some(what) = precious.lost() {
            won.push(format!("round {round}: {what}"));
            precious.restore();
        }
        fs::remove_dir_all(&base).unwrap();
    }
    println!("attack at depth {depth}: {} of {rounds} won, {swapped} swaps; at last: {last}", won.len());
    assert!(won.is_empty(), "{} of {rounds}: {won:?}", won.len());
}

#[test]
fn who_owns_the_folder_gets_nothing_of_roots() {
    if is_root("an attack on root in the folder of the database") {
        attack(0);
    }
}

#[test]
fn who_owns_a_folder_two_levels_above_gets_nothing_of_roots() {
    if is_root("an attack on root two folders above the database") {
        attack(2);
    }
}
