//! What needs a process of its own: the test runs itself again with a role.
//!
//! A full disk is made in two ways: by a limit on file sizes, which every machine has, and by a small
//! tmpfs in a mount namespace of its own, where we may make one (root, or unprivileged user
//! namespaces).

use super::*;
use std::process::{Command, Output, Stdio};

/// Set in the second process: `limit`, `tmpfs` or `load`, and the folder.
const ROLE: &str = "THREADWISE_TEST_ROLE";
const FOLDER: &str = "THREADWISE_TEST_FOLDER";

/// sh's unit is 512 or 1024 bytes (POSIX, ulimit; bash): 1 or 2 MiB. Without its signal, a write
/// beyond fails with EFBIG.
const LIMIT: &str = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\"";

const TMPFS: &str = "mount -t tmpfs -o size=2m none \"$THREADWISE_TEST_FOLDER\" && exec \"$0\" \"$@\"";

#[test]
fn a_full_disk_is_said_and_leaves_no_damaged_template() {
    match std::env::var(ROLE).as_deref() {
        Ok(role) => on_a_full_disk(role, Path::new(&std::env::var(FOLDER).unwrap())),
        Err(_) => {
            let limited = again("limit", &["sh", "-c", LIMIT]);
            assert_passed(&limited);
            let namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
            let may_mount = Command::new(namespace[0])
                .args(&namespace[1..])
                .arg("mount -t tmpfs none /tmp")
                .output()
                .is_ok_and(|output| output.status.success());
            if may_mount {
                let full = again("tmpfs", &[namespace.as_slice(), &[TMPFS]].concat());
                assert_passed(&full);
            } else {
                println!("no mount namespace is available here: only the limit on file sizes was tried");
            }
        }
    }
}

/// This test alone, in a process of its own behind the given command.
fn again(role: &str, command: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    apart(role, folder.path(), Command::new(command[0]).args(&command[1..]).arg(program)).output().unwrap()
}

fn apart<'a>(role: &str, folder: &Path, command: &'a mut Command) -> &'a mut Command {
    let name = thread::current().name().unwrap().to_owned();
    command.args(["--exact", &name, "--nocapture"]).env(ROLE, role).env(FOLDER, folder)
}

fn assert_passed(output: &Output) {
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn on_a_full_disk(role: &str, folder: &Path) {
    // SQLite knows ENOSPC; EFBIG is a failed write to it.
    let says = if role == "tmpfs" { "no space left in" } else { "writing failed; about" };
    let large = request(folder, &[whole("seed_rows", 100_000)], 1);
    let message = Sqlite.load(&large.load).unwrap_err().to_string();
    assert!(message.contains(says) && message.contains("MiB"), "{message}");
    let template = data::run_folder(&large.load, &spec(&large)).with_file_name("template.db");
    assert!(!template.exists() && !template.with_extension("db.tmp").exists());

    let options = [whole("rows_per_session", 100_000), word("durability", "relaxed")];
    let request = request(folder, &options, 1);
    let loaded = Sqlite.load(&request.load).unwrap();
    let run = Inserting::start(&request, spec(&request)).unwrap();
    let mut session = run.open(&session_request(&request, 0)).unwrap();
    session.warm().unwrap();
    let message = session.slice(&hour()[0]).unwrap_err().to_string();
    assert!(message.contains("insert rows") && message.contains(says), "{message}");
    drop(session);
    drop(run);
    if role == "tmpfs" {
        copies_do_not_fit(folder);
    }
    // The space is free again, the template is as it was, and a run on it works.
    assert_eq!(Sqlite.load(&request.load).unwrap(), loaded);
    let run = Inserting::start(&request, spec(&request)).unwrap();
    run.open(&session_request(&request, 0)).unwrap().warm().unwrap();
    run.finish().unwrap();
}

fn copies_do_not_fit(folder: &Path) {
    let request = request(folder, &[whole("seed_rows", 3000)], 4);
    Sqlite.load(&request.load).unwrap();
    let message = Inserting::start(&request, spec(&request)).unwrap_err().to_string();
    assert!(message.contains("copy the table") && message.contains("no space left in"), "{message}");
    assert!(!data::run_folder(&request.load, &spec(&request)).exists());
    let kept = data::run_folder(&request.load, &spec(&request));
    fs::remove_dir_all(kept.parent().unwrap()).unwrap();
}

#[test]
fn a_load_that_is_killed_leaves_no_template_that_is_not_whole() {
    if let Ok(folder) = std::env::var(FOLDER) {
        Sqlite.load(&request(Path::new(&folder), &[whole("seed_rows", 100_000)], 1).load).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[whole("seed_rows", 100_000)], 1);
    let template = data::run_folder(&request.load, &spec(&request)).with_file_name("template.db");
    let program = std::env::current_exe().unwrap();
    let mut killed_before_the_end = 0;
    // Pages stay in the cache until the commit, which then writes some 16 MB.
    // On a busy machine each may be whole before we get to it; then another kill at the first moment will do.
    let moments = [0, 100_000, 1_000_000, 5_000_000, 10_000_000];
    for (kill, bytes) in moments.into_iter().chain([0; 50]).enumerate() {
        if kill >= moments.len() && killed_before_the_end > 0 {
            break;
        }
        // Or it would be taken for progress; that of the last one stays for the load below.
        let _ = fs::remove_file(template.with_extension("db.tmp"));
        let mut command = Command::new(&program);
        let mut child = apart("load", folder.path(), &mut command).stdout(Stdio::null()).spawn().unwrap();
        let has_come_far =
            || fs::metadata(template.with_extension("db.tmp")).is_ok_and(|found| found.len() >= bytes);
        while child.try_wait().unwrap().is_none() && !has_come_far() {
            thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        match fs::metadata(&template) {
            Ok(_) => {
                data::find(&request.load, &spec(&request)).unwrap();
                fs::remove_file(&template).unwrap();
            }
            Err(_) => killed_before_the_end += 1,
        }
    }
    assert!(killed_before_the_end > 0);
    let run = started(&request);
    run.open(&session_request(&request, 0)).unwrap().warm().unwrap();
    run.finish().unwrap();
    assert!(!template.with_extension("db.tmp").exists());
}
