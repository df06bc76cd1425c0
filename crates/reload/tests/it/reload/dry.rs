//! A dry run promises nothing that the run refuses, and leaves nothing behind.

use crate::reload::bench::{Bench, contents, driver, options, reloaded, settings};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use threadwise_reload::Originals;
use threadwise_reload::item::Outcome;
use threadwise_reload::run::look;

/// Says the same, whether it is asked before or the run finds it.
fn both_refuse(path: &Path, reason: &str) {
    let dry = look(path, driver().as_ref(), &settings()).unwrap_err().to_string();
    assert!(dry.contains(reason), "{dry}");
    let report = reloaded(path, &options(Originals::Keep));
    assert!(matches!(&report.outcome, Outcome::Skipped(why) if why.contains(reason)), "{report:?}");
}

/// A mount, as long as it lives.
struct Bound(PathBuf);

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_file_that_is_a_mount_of_its_own_is_seen_even_on_the_same_file_system() {
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let point = bench.path().join("point");
    fs::write(&point, "").unwrap();
    let mounted = Command::new("mount").arg("--bind").args([&path, &point]).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: a file mounted by itself: mounting needs root");
        return;
    }
    let _bound = Bound(point.clone());
    both_refuse(&point, "mounted by itself");
    assert_eq!(bench.names(), ["db", "point"]);
    look(&path, driver().as_ref(), &settings()).unwrap();
}

/// Where the test below tells the path; does nothing by itself.
const PATH: &str = "THREADWISE_TEST_RELOAD_PATH";

#[test]
fn as_another_user() {
    if let Some(path) = std::env::var_os(PATH) {
        both_refuse(Path::new(&path), "cannot set owner 0:0");
        println!("refused as it should be");
    }
}

#[test]
fn an_owner_that_cannot_be_given_is_reported_before() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: a file of another user: making one needs root");
        return;
    }
    let bench = Bench::new();
    let path = bench.database("db", "delete");
    let before = contents(&path);
    look(&path, driver().as_ref(), &settings()).unwrap();
    fs::set_permissions(bench.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    both_refuse(&path, "every user could swap files in");
    let program = bench.path().join("tests");
    threadwise_process::programs::copy(&std::env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new(&program)
        .args(["--exact", "reload::dry::as_another_user", "--nocapture"])
        .env(PATH, &path)
        .current_dir(bench.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("refused as it should be"), "{output:?}");
    assert_eq!((bench.names(), contents(&path)), (vec!["db".to_owned(), "tests".to_owned()], before));
}
