//! Cells of fleets that are killed, and those without room.

use crate::fleet_cell::one;
use crate::fleet_harness::study;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use threadwise_store::{EndState, Store};

#[test]
#[ignore = "laboratory: kills"]
fn killed_at_any_moment_a_cell_is_whole_or_not_there() {
    let lab = one(&study(2, 8), 1, "");
    let mut killed = 0;
    for step in 0..200 {
        let mut child = lab.cell_command("n1.1").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(15 + 45 * step));
        let has_ended = child.try_wait().unwrap().is_some();
        let _ = child.kill();
        let _ = child.wait();
        match lab.cells().as_slice() {
            [] => assert!(!has_ended),
            [only] if only == ".n1.1" => assert!(!has_ended),
            [only] => {
                assert_eq!(only, "n1.1");
                assert_eq!(lab.record("n1.1")["outcome"], "measured");
                let study = lab.cell_folder("n1.1").join("study.threadwise");
                assert_eq!(Store::open(&study).unwrap().state().unwrap(), EndState::Complete);
                break;
            }
            more => panic!("{more:?}"),
        }
        killed += 1;
    }
    assert!(killed >= 3, "killed {killed} times");
    let record = lab.record("n1.1");
    // Every attempt that came to write a line is named; the first may have been killed before that.
    assert!(!record["earlier"].as_array().unwrap().is_empty(), "{record}");
    assert!(record["earlier"].to_string().contains("did not come to an end"), "{record}");
}

/// A small file system on `cells/`, which goes with it.
struct Small<'a>(&'a Path);

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
#[ignore = "laboratory: kills"]
fn a_full_shared_folder_is_named_and_loses_nothing() {
    let lab = one(&study(20, 8), 2, "");
    let cells = lab.dir().join("cells");
    let mut mount = Command::new("mount");
    let mounted =
        mount.args(["-t", "tmpfs", "-o", "size=3m", "threadwise-test"]).arg(&cells).output().unwrap();
    if !mounted.status.success() {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: a full shared folder: mounting a small tmpfs needs root");
        return;
    }
    let _small = Small(&cells);
    assert_eq!(lab.cell("n1.1").code, Some(0));
    let before = std::fs::read(lab.cell_folder("n1.1").join("study.threadwise")).unwrap();
    let room = rest(&cells);
    for left in [0, 20_000, 120_000] {
        let filler = cells.join("filler");
        std::fs::write(&filler, vec![1; room.saturating_sub(left)]).unwrap();
        let said = lab.cell("n1.2");
        assert_eq!(said.code, Some(1), "{left}: {}{}", said.stdout, said.stderr);
        let is_named = said.stderr.contains("cells/") && said.stderr.to_lowercase().contains("space");
        assert!(is_named, "{left}: {}", said.stderr);
        std::fs::remove_file(&filler).unwrap();
        assert_eq!(std::fs::read(lab.cell_folder("n1.1").join("study.threadwise")).unwrap(), before);
    }
    let said = lab.cell("n1.2");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(lab.record("n1.2")["outcome"], "measured");
}

/// Bytes that are free on a file system.
fn rest(path: &Path) -> usize {
    let output = Command::new("stat").args(["-f", "-c", "%a %S"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<usize> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers[0] * numbers[1]
}
