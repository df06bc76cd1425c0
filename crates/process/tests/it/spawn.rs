//! Starting programs: their surroundings, their user, and their end with the one that started them.

use super::{
    FOLDER, Killed, LONG, another_user, is_running, open_folder, pids_in, set_mode, started_again, wait_until,
};
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::spawn::{DeathSignal, Program, RunError, last_words, run, start};
use threadwise_process::{Signal, User, stopping, users};

/// A shell script to start, with all that a [`Program`] borrows.
struct Script {
    args: Vec<OsString>,
    folder: PathBuf,
    log: PathBuf,
}

impl Script {
    fn new(script: &str, folder: &Path) -> Self {
        let args = ["-c", script].map(OsString::from).to_vec();
        Self { args, folder: folder.to_owned(), log: folder.join("log") }
    }

    fn program<'a>(&'a self, user: Option<&'a User>, cpus: Option<&'a CpuSet>) -> Program<'a> {
        Program {
            program: Path::new("/bin/sh"),
            args: &self.args,
            user,
            folder: &self.folder,
            log: &self.log,
            death_signal: DeathSignal::Kill,
            cpus,
        }
    }

    fn say(&self, user: Option<&User>) -> String {
        run(&self.program(user, None), LONG).unwrap()
    }
}

#[test]
fn a_program_sees_nothing_of_ours_but_what_it_is_given() {
    let (_keep, folder) = open_folder();
    // A file that any child process would otherwise have, as a worker has its reply pipe.
    let inherited = File::create(folder.join("inherited")).unwrap();
    fcntl_setfd(&inherited, FdFlags::empty()).unwrap();
    let said = Script::new("env; pwd; cat; ls -l /proc/self/fd; echo complaint >&2", &folder).say(None);
    drop(inherited);
    assert!(said.lines().any(|line| line == "LANG=C") && said.contains("\nLC_ALL=C\n"), "{said}");
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_none() || !said.contains("CARGO_MANIFEST_DIR"),
        "{said}"
    );
    let allowed = ["PATH", "TZ", "LANG", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"];
    for (name, _) in
        said.lines().take_while(|line| !line.starts_with('/')).filter_map(|line| line.split_once('='))
    {
        assert!(allowed.contains(&name), "{name}");
    }
    assert!(said.lines().any(|line| Path::new(line) == folder), "{said}");
    assert!(said.contains("\ncomplaint\n") && said.contains("/log"), "{said}");
    assert!(!said.contains("inherited"), "{said}");
}

#[test]
fn a_log_is_appended_to_and_a_link_is_no_log() {
    let (_keep, folder) = open_folder();
    let mut script = Script::new("echo second", &folder);
    fs::write(&script.log, "first\n").unwrap();
    assert_eq!(script.say(None), "second\n");
    assert_eq!(fs::read_to_string(&script.log).unwrap(), "first\nsecond\n");
    assert_eq!(last_words(&script.log), "first; second");
    std::os::unix::fs::symlink(folder.join("elsewhere"), folder.join("link")).unwrap();
    script.log = folder.join("link");
    let error = start(&script.program(None, None)).unwrap_err().to_string();
    assert!(error.contains("link: ") && !folder.join("elsewhere").exists(), "{error}");
}

#[test]
fn root_starts_programs_as_another_user_and_others_are_refused() {
    let (_keep, folder) = open_folder();
    let user = another_user();
    let script = Script::new("id -u; id -g; id -G", &folder);
    if users::is_root() {
        let numbers = format!("{}\n{}\n{}\n", user.uid, user.gid, user.gid);
        assert_eq!(script.say(Some(&user)), numbers);
        set_mode(&folder, 0o700);
    }
    // Without root the user cannot be changed; with it, that user may not enter the folder now.
    let error = start(&script.program(Some(&user), None)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&format!("/bin/sh as user {} in", user.name))
            && text.contains(folder.to_str().unwrap()),
        "{text}"
    );
}

#[test]
fn a_program_is_bound_from_its_first_instruction_on() {
    let (_keep, folder) = open_folder();
    let last: CpuSet = pin::current_affinity().unwrap().iter().last().into_iter().collect();
    let script = Script::new("grep Cpus_allowed_list /proc/self/status", &folder);
    let said = run(&script.program(None, Some(&last)), LONG).unwrap();
    assert_eq!(said.trim(), format!("Cpus_allowed_list:\t{last}"));
    let absent: CpuSet = [60_000].into_iter().collect();
    let error = start(&script.program(None, Some(&absent))).unwrap_err().to_string();
    assert!(error.contains("on logical CPUs 60000"), "{error}");
}

#[test]
fn what_cannot_be_started_is_named() {
    let (_keep, folder) = open_folder();
    let script = Script::new("", &folder);
    let with = |program: &'static str| Program { program: Path::new(program), ..script.program(None, None) };
    let error = start(&with("/proc/nowhere/postgres")).unwrap_err().to_string();
    assert!(error.starts_with("cannot start /proc/nowhere/postgres in /"), "{error}");
    let error = start(&with("sh")).unwrap_err().to_string();
    assert!(error.contains("not absolute"), "{error}");
}

#[test]
fn a_failed_tool_says_how_it_ended_and_its_last_lines() {
    let (_keep, folder) = open_folder();
    let script = Script::new("echo one; echo two; echo; echo three; echo four; exit 7", &folder);
    let error = run(&script.program(None, None), LONG).unwrap_err();
    assert!(matches!(error, RunError::Failed { .. }));
    assert_eq!(error.to_string(), "/bin/sh ended with exit status: 7: two; three; four");
    let error = run(&Script::new("kill -9 $$", &folder).program(None, None), LONG).unwrap_err().to_string();
    assert!(error.contains("signal: 9") && error.ends_with("no output"), "{error}");
}

#[test]
fn a_tool_that_takes_too_long_is_killed_with_what_it_started() {
    let (_keep, folder) = open_folder();
    let script =
        Script::new("trap '' TERM; sleep 600 & echo $! > pids; echo $$ >> pids; echo on it; wait", &folder);
    // On a busy machine it may not have come so far within a second.
    let has_begun = || fs::read_to_string(folder.join("pids")).is_ok_and(|pids| pids.lines().count() == 2);
    let limit_s = [1, 8, 60].into_iter().find(|limit_s| {
        let error = run(&script.program(None, None), Duration::from_secs(*limit_s)).unwrap_err();
        assert!(matches!(error, RunError::TooLong { .. }), "{error}");
        assert!(error.to_string().contains(&format!("within {limit_s} s and was killed: ")), "{error}");
        has_begun() && error.to_string().contains("was killed: on it")
    });
    assert!(limit_s.is_some(), "it did not begin within a minute");
    let pids = pids_in(&folder.join("pids"), 2);
    wait_until("the end of both", || !pids.iter().any(|&pid| is_running(pid)));
}

/// A child whose starting thread has ended, with the signal that it died of.
fn died_of(script: &Script, user: Option<User>, death_signal: DeathSignal) -> Option<i32> {
    let program = Program { death_signal, ..script.program(user.as_ref(), None) };
    std::thread::scope(|scope| {
        let mut child: Child = scope.spawn(|| start(&program).unwrap()).join().unwrap();
        let ended = stopping::wait(&mut child, LONG).unwrap();
        if ended.is_none() {
            stopping::kill_group(&mut child).unwrap();
        }
        ended.and_then(|status| status.signal())
    })
}

#[test]
fn a_program_gets_its_death_signal_when_the_thread_that_started_it_ends() {
    let (_keep, folder) = open_folder();
    let script = Script::new("exec sleep 600", &folder);
    let mut users = vec![None];
    if users::is_root() {
        // A change of user takes the request back, unless it is made afterwards.
        users.push(Some(another_user()));
    }
    for user in users {
        assert_eq!(died_of(&script, user.clone(), DeathSignal::Quit), Some(3), "{user:?}");
        assert_eq!(died_of(&script, user.clone(), DeathSignal::Kill), Some(9), "{user:?}");
    }
}

/// The process that starts a server and is killed, when the program is started as one.
#[test]
fn as_killed_starter() {
    let Some(folder) = started_again() else { return };
    let script = Script::new("trap '' TERM HUP INT; echo $$ > pids; exec sleep 600", &folder);
    let user = users::is_root().then(another_user);
    let mut child = start(&script.program(user.as_ref(), None)).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_ends_when_its_starter_is_killed() {
    let (_keep, folder) = open_folder();
    set_mode(&folder, 0o777);
    let mut starter = Killed::again("spawn::as_killed_starter", &folder);
    let pids = pids_in(&folder.join("pids"), 1);
    assert!(is_running(pids[0]) && std::env::var_os(FOLDER).is_none());
    starter.end();
    wait_until("the end of the program", || !is_running(pids[0]));
}

#[test]
fn a_child_is_stopped_by_the_first_signal_that_it_heeds() {
    let (_keep, folder) = open_folder();
    let script =
        Script::new("trap '' TERM; trap 'exit 5' INT; echo $$ > pids; while :; do sleep 0.01; done", &folder);
    let steps = [(Signal::TERM, Duration::from_millis(50)), (Signal::INT, LONG)];
    let begin = || {
        let _ = fs::remove_file(folder.join("pids"));
        let child = start(&script.program(None, None)).unwrap();
        pids_in(&folder.join("pids"), 1);
        child
    };
    let mut child = begin();
    let stopped = stopping::stop(&mut child, &steps).unwrap();
    assert_eq!((stopped.signal, stopped.status.code()), (Some(Signal::INT), Some(5)));
    let again = stopping::stop(&mut child, &steps).unwrap();
    assert_eq!((again.signal, again.status), (None, stopped.status));
    let mut child = begin();
    let stopped = stopping::stop(&mut child, &steps[..1]).unwrap();
    assert_eq!((stopped.signal, stopped.status.signal()), (Some(Signal::KILL), Some(9)));
}

/// A script's `&` has SIGINT and SIGQUIT ignored in what it starts.
#[test]
fn a_program_heeds_the_signals_that_its_starter_ignores() {
    let test = std::env::current_exe().unwrap();
    let script = format!(
        "trap '' INT QUIT; exec '{}' --exact spawn::a_child_is_stopped_by_the_first_signal_that_it_heeds",
        test.display()
    );
    let output = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
