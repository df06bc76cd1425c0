//! A disk that becomes full in the middle.

use crate::lab_servers::firebird::support::{options, place, reloaded};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use threadwise_reload::item::{ItemOptions, Outcome, Step};

/// A small file system, as long as it lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=12m,mode=0700", "threadwise-test"]).arg(folder.path());
        mount.output().is_ok_and(|output| output.status.success()).then(|| Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn fill(filler: &Path) {
    let mut file = fs::File::create(filler).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

#[test]
#[ignore = "laboratory: servers"]
fn a_disk_that_fills_up_puts_everything_back() {
    let place = place();
    let Some(disk) = SmallDisk::new() else {
        let line = "SKIPPED: Firebird on a full disk: mounting a small tmpfs needs root\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    };
    let path = disk.0.path().join("base.fdb");
    let filler = disk.0.path().join("filler");
    fs::copy(place.numbered("base.fdb", 3), &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    for (full_at, words) in [(Step::Held, "copy"), (Step::Copied, "gbak cannot restore it")] {
        let hook = {
            let filler = filler.clone();
            Arc::new(move |step: Step, _: &Path| {
                if step == full_at {
                    fill(&filler);
                }
                true
            })
        };
        let report = reloaded(&path, &ItemOptions { hook: Some(hook), ..options() });
        let Outcome::Failed(why) = &report.outcome else { panic!("{full_at:?}: {report:?}") };
        assert!(why.contains(words) && !why.contains('\n'), "{full_at:?}: {why}");
        assert!(!report.left_behind, "{report:?}");
        fs::remove_file(&filler).unwrap();
        assert!(fs::read(&path).unwrap() == bytes, "{full_at:?}");
        assert_eq!(fs::read_dir(disk.0.path()).unwrap().count(), 1, "{full_at:?}");
    }
    assert_eq!(reloaded(&path, &options()).outcome, Outcome::Done);
    assert_eq!(place.rows(&path).unwrap(), [1, 2, 3]);
}
