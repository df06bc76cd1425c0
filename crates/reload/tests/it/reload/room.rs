//! A disk that is full, or becomes full.

use crate::reload::bench::{Bench, options, reloaded};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use threadwise_reload::Originals;
use threadwise_reload::item::{Outcome, Step};

/// A small file system, as long as it lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where we may not mount, as in most containers.
    fn new(kib: u32) -> Option<Self> {
        Self::with(&format!("size={kib}k"))
    }

    fn with(limit: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("{limit},mode=0700"), "threadwise-test"])
            .arg(folder.path());
        mount.output().is_ok_and(|output| output.status.success()).then(|| Self(folder))
    }

    fn database(&self, journal_mode: &str) -> PathBuf {
        let bench = Bench::new();
        let source = bench.database("db", journal_mode);
        let path = self.0.path().join("db");
        fs::copy(source, &path).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn rows(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap()
}

#[test]
fn no_room_is_seen_before_and_a_disk_that_fills_up_puts_everything_back() {
    let (Some(small), Some(middle)) = (SmallDisk::new(160), SmallDisk::new(400)) else {
        println!("SKIPPED: a full disk: mounting a small tmpfs needs root");
        return;
    };
    let path = small.database("wal");
    let report = reloaded(&path, &options(Originals::Keep));
    assert!(matches!(&report.outcome, Outcome::Skipped(why) if why.contains("no space")), "{report:?}");
    assert_eq!((small.names(), rows(&path)), (vec!["db".to_owned()], 200));
    for full_at in [Step::Folder, Step::State, Step::Held, Step::Checked, Step::Linked] {
        // A write-ahead log cannot even be read without room, so that the new file would not open either.
        let path = middle.database(if full_at == Step::Linked { "delete" } else { "wal" });
        let mut options = options(Originals::Remove);
        let filler = middle.0.path().join("filler");
        options.hook = Some(Arc::new(move |step, path: &Path| {
            if step == full_at {
                let filler = path.with_file_name("filler");
                while fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(&filler)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, &[1; 4096]))
                    .is_ok()
                {}
            }
            true
        }));
        let report = reloaded(&path, &options);
        match full_at {
            // What is left to do needs no room.
            Step::Linked => assert_eq!(report.outcome, Outcome::Done, "{report:?}"),
            _ => assert!(matches!(report.outcome, Outcome::Failed(_)), "{full_at:?} {report:?}"),
        }
        fs::remove_file(filler).unwrap();
        assert!(!report.left_behind, "{full_at:?} {report:?}");
        assert_eq!(rows(&path), 200, "{full_at:?}");
        Connection::open(&path).unwrap().execute("INSERT INTO empty VALUES (1)", []).unwrap();
        assert_eq!(middle.names(), ["db"], "{full_at:?}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_work_folder_without_room_for_its_marker_goes_again() {
    // For the root, the database, the work folder and its lock, and no more.
    let Some(disk) = SmallDisk::with("nr_inodes=4") else {
        println!("SKIPPED: a disk without free inodes: mounting a small tmpfs needs root");
        return;
    };
    let path = disk.database("delete");
    let report = reloaded(&path, &options(Originals::Keep));
    let Outcome::Skipped(why) = &report.outcome else { panic!("{report:?}") };
    assert!(why.contains("its marker cannot be written: No space left"), "{why}");
    assert_eq!((disk.names(), rows(&path)), (vec!["db".to_owned()], 200));
}
