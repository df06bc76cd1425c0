//! Work lists with the programs of servers.

use crate::harness::{living, wait_until_clean};
use crate::worklist::{ARGS, does_its_list, lab, nothing_is_left, run, runs, study};
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
#[ignore = "laboratory: servers"]
fn recipes_of_servers_do_their_lists_and_leave_nothing() {
    ["firebird", "postgres", "mariadb"].into_iter().for_each(does_its_list);
}

#[test]
#[ignore = "laboratory: servers"]
fn firebird_salvages_where_it_is_asked_to() {
    let lab = lab();
    let done =
        run(&lab, &study("firebird", "files = 2\ntotal_mib = 2\nsalvage = true\npage_size = 8192"), &[]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(runs(&lab).iter().all(|run| run["status"] == "valid"));
    nothing_is_left(&lab);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_kill_leaves_neither_servers_nor_folders() {
    for recipe in ["firebird", "postgres", "mariadb"] {
        let lab = lab();
        std::fs::write(lab.path().join("short.toml"), study(recipe, "files = 12\ntotal_mib = 8")).unwrap();
        let mut child = lab
            .command(&ARGS)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(120);
        // The folder of a run's work: its items are being done.
        while !has_work(&lab.tmp()) {
            assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "{}: no run began", recipe);
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until_clean(&lab);
        let end = Instant::now() + Duration::from_secs(20);
        while !living(&lab).is_empty() {
            assert!(Instant::now() < end, "{}: {:?} live on", recipe, living(&lab));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Whether a folder below, four steps at most, is that of an item at work.
fn has_work(root: &Path) -> bool {
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("item-") && folder.ends_with("work") {
                return true;
            }
            if depth < 4 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    false
}
