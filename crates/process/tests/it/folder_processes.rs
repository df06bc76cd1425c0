//! Processes of a folder, found and ended however they try to get away.

use super::{Killed, LONG, another_user, is_running, open_folder, pids_in, wait_until, without_capabilities};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use threadwise_machine::CpuSet;
use threadwise_process::folder_processes::{end_in_folder, end_programs_in_folder, in_folder};
use threadwise_process::proc;
use threadwise_process::spawn::{DeathSignal, Program, start};
use threadwise_process::{masks, users};

#[test]
fn whatever_lives_in_the_folder_is_ended_and_nothing_else() {
    let (_keep, folder) = open_folder();
    let data = folder.join("data");
    let beside = folder.join("data-of-another");
    fs::create_dir_all(data.join("base")).unwrap();
    fs::create_dir(&beside).unwrap();
    let pids_file = folder.join("pids");
    let note = format!("echo $$ >> {}", pids_file.display());
    // One that ignores what can be ignored, one in a session of its own, one further down, one adopted.
    let script = format!(
        "trap '' TERM HUP INT QUIT; {note}; \
         setsid sh -c '{note}; exec sleep 600' & \
         (cd base && exec sh -c '{note}; exec sleep 600') & \
         (setsid sh -c '{note}; exec sleep 600' &) ; wait; sleep 600"
    );
    let _first = Killed::sh(&script, &data);
    let other = Killed::sh("exec sleep 600", &beside);
    let mut pids = pids_in(&pids_file, 4);
    pids.sort_unstable();
    let found = in_folder(&data).unwrap();
    assert!(pids.iter().all(|pid| found.contains(pid)), "{pids:?} {found:?}");
    assert!(!found.contains(&other.id()));
    let ended = end_in_folder(&data, LONG).unwrap();
    assert!(ended >= 4, "{ended}");
    // The first is a zombie until we wait for it, and counts as gone.
    assert!(in_folder(&data).unwrap().is_empty());
    assert!(!pids.iter().any(|&pid| is_running(pid)));
    assert!(is_running(other.id()));
    assert_eq!(end_in_folder(&data, Duration::ZERO).unwrap(), 0);
}

#[test]
fn only_named_programs_are_ended_and_who_looks_around_is_not() {
    let (_keep, folder) = open_folder();
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    let (sleeper, shell) = (Killed::sh("exec sleep 600", &data), Killed::sh("sleep 600; true", &data));
    // A started child has its program's memory first and its name a moment later (begin_new_exec in the
    // kernel's fs/exec.c), also for the one whose start we have waited for.
    wait_until("its program", || proc::comm(sleeper.id()).as_deref() == Some("sleep"));
    wait_until("the shell", || proc::comm(shell.id()).as_deref() == Some("sh"));
    let ended = end_programs_in_folder(&data, &["sleep", "postgres"], LONG).unwrap();
    assert!(ended >= 1 && !is_running(sleeper.id()));
    assert_eq!(end_programs_in_folder(&data, &["postgres"], LONG).unwrap(), 0);
}

#[test]
fn a_removed_folder_is_still_searched_and_links_to_it_too() {
    let (_keep, folder) = open_folder();
    let data = folder.join("data");
    fs::create_dir_all(data.join("deep")).unwrap();
    let file = folder.join("pids");
    let child = Killed::sh(&format!("echo $$ > {}; exec sleep 600", file.display()), &data.join("deep"));
    pids_in(&file, 1);
    std::os::unix::fs::symlink(&data, folder.join("link")).unwrap();
    assert_eq!(in_folder(&folder.join("link")).unwrap(), [child.id()]);
    fs::remove_dir_all(&data).unwrap();
    assert_eq!(in_folder(&data).unwrap(), [child.id()]);
    assert_eq!(in_folder(&folder.join("dat")).unwrap(), [0_u32; 0]);
    assert_eq!(end_in_folder(&data, LONG).unwrap(), 1);
    wait_until("its end", || !is_running(child.id()));
}

#[test]
fn a_process_that_keeps_starting_others_is_ended() {
    let (_keep, folder) = open_folder();
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    let file = folder.join("pids");
    // Each link of the chain starts the next and ends.
    let link = "echo $$ >> ../pids\nsleep 0.01\nsetsid sh ../link &\n";
    fs::write(folder.join("link"), link).unwrap();
    let _first = Killed::sh("exec sh ../link", &data);
    pids_in(&file, 5);
    end_in_folder(&data, LONG).unwrap();
    assert!(in_folder(&data).unwrap().is_empty());
    let pids = pids_in(&file, 5);
    assert!(!pids.iter().any(|&pid| is_running(pid)), "{pids:?}");
}

#[test]
fn we_ourselves_are_never_found() {
    let folder = std::env::current_dir().unwrap();
    let found = in_folder(&folder).unwrap();
    assert!(!found.contains(&std::process::id()), "{found:?}");
}

/// A process of another user, if we may start one.
fn of_another_user(folder: &Path) -> u32 {
    let args = [OsString::from("600")];
    let (user, log) = (another_user(), folder.join("log"));
    let program = Program {
        program: Path::new("/bin/sleep"),
        args: &args,
        user: Some(&user),
        folder,
        log: &log,
        death_signal: DeathSignal::Kill,
        cpus: None,
    };
    start(&program).unwrap().id()
}

#[test]
fn root_without_capabilities_reaches_servers_of_other_users_and_others_cannot() {
    let (_keep, folder) = open_folder();
    if !users::is_root() {
        let error = masks::set_thread(1, &CpuSet::from_words(&[1])).unwrap_err();
        assert!(matches!(error, masks::MaskError::NotAllowed { tid: 1 }), "{error}");
        return;
    }
    let pid = of_another_user(&folder);
    without_capabilities(move || {
        let direct = fs::read_link(format!("/proc/{pid}/cwd")).map_err(|error| error.kind());
        assert_eq!(direct, Err(std::io::ErrorKind::PermissionDenied), "the capabilities are gone");
        assert_eq!(in_folder(&folder).unwrap(), [pid]);
        let last = threadwise_machine::pin::current_affinity().unwrap().iter().last();
        let last: CpuSet = last.into_iter().collect();
        masks::set_thread(pid, &last).unwrap();
        assert_eq!(threadwise_machine::pin::thread_affinity(pid, pid).unwrap(), last);
        assert_eq!(end_in_folder(&folder, LONG).unwrap(), 1);
        assert!(!is_running(pid));
    });
    let dumpable = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(dumpable, rustix::process::DumpableBehavior::Dumpable);
}
