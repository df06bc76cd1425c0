//! What is left when everything of a study was killed, its watchdog included, and who clears it up: masks of a
//! bound server, and folders wherever the data was.

use crate::harness::{Lab, said};
use crate::harness::{living, wait_until_clean};
use crate::pin_server::{Server, kill, kill_all, start_waiting, until};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Watchdogs of a lab's studies: they have no environment, but a folder of the lab as their last word.
pub fn watchdogs(lab: &Lab) -> Vec<String> {
    let tmp = lab.tmp().display().to_string();
    let is_watchdog = |pid: &String| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<String> =
            words.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        words.iter().any(|word| word == "watchdog") && words.iter().any(|word| word.starts_with(&tmp))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(is_watchdog).collect()
}

/// Starts a study that binds the server and kills all of it, the watchdog first. What the killed study has in
/// its folders is not looked at here: the next one has to be asked for another data folder, too.
fn killed_whole(lab: &Lab, server: &Server) {
    let mut child = start_waiting(lab, server);
    let watchdogs = watchdogs(lab);
    assert_eq!(watchdogs.len(), 1, "{watchdogs:?}");
    kill(&watchdogs);
    kill_all(|| living(lab));
    child.wait().unwrap();
    ["s.threadwise", "s.threadwise-journal", "at-work"].into_iter().for_each(|name| {
        let _ = std::fs::remove_file(lab.path().join(name));
    });
    assert_ne!(server.astray(), [], "it is still bound");
}

/// A load that makes the machine busy, for sure.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Self {
        let spin = |_| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Self((0..2).map(|number| spin(number).unwrap()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A study of a model that takes a moment.
const SHORT: [&str; 9] = [
    "run",
    "--all",
    "--engine",
    "simulated",
    "--seed=7",
    "--placement=2c1t",
    "--rounds=1",
    "--blocks=8",
    "--no-html",
];

#[test]
fn a_bound_server_is_put_back_by_the_next_command_that_runs_anything() {
    if !crate::harness::has_python("masks of a server") {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(&lab);
    let other = lab.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let simulated = |output| [&SHORT[..], &["--output", output]].concat();
    assert_eq!(lab.run(&[&simulated("old.threadwise")[..], &["--allow-busy"]].concat()).code, Some(0));

    killed_whole(&lab, &server);
    let bound = server.astray();
    for args in [&["run", "--plan"][..], &["report", "--all", "old.threadwise"], &["list"], &["doctor"]] {
        let said = lab.ok(args);
        let names = format!(" ({})", "python3");
        assert!(said.stderr.contains(" bound, left by a killed process"), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(&format!("{}{names}", server.pid())), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains("threadwise restore"), "{args:?}: {}", said.stderr);
        assert_eq!(server.astray(), bound, "{args:?} only reads");
    }
    let status = lab.ok(&["restore", "--status"]).stdout;
    assert!(status.starts_with("processes       ") && status.contains("folders         "), "{status}");
    assert_eq!(server.astray(), bound, "a status only reads");
    let said = lab.ok(&["restore"]);
    assert!(said.stdout.starts_with("restored: "), "{}", said.stdout);
    assert_eq!(server.astray(), []);
    assert_eq!(lab.ok(&["restore"]).stdout, "Nothing is left changed.\n");
    assert_eq!(lab.leftovers(), Vec::<String>::new());
    assert_eq!(lab.ok(&["list"]).stderr, "");

    for (code, args) in [
        (2, vec!["run", "--all", "no-such-preset"]),
        (3, vec!["run", "--all", "--no-html"]),
        (3, vec!["probe", "--all"]),
        (0, [&simulated("new.threadwise")[..], &["--allow-busy", "--data-dir", "other"]].concat()),
    ] {
        killed_whole(&lab, &server);
        let _busy = Busy::start();
        let said = lab.run(&args);
        assert_eq!(said.code, Some(code), "{args:?}: {}", said.stderr);
        assert!(said.stderr.starts_with("threadwise: restored: "), "{args:?}: {}", said.stderr);
        assert_eq!(server.astray(), [], "{args:?}");
    }
    // The folders of the killed ones, in the temporary folder, went with the last study.
    assert_eq!(lab.leftovers(), Vec::<String>::new());
}

#[test]
fn nobody_unbinds_what_a_running_study_has_bound() {
    if !crate::harness::has_python("masks of a server") {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(&lab);
    let mut child = start_waiting(&lab, &server);
    let bound = server.astray();
    assert_ne!(bound, []);
    let second = [&SHORT[..], &["--allow-busy", "--output=t.threadwise"]].concat();
    for args in [&second[..], &["report", "--all", "t.threadwise"], &["restore"], &["list"]] {
        let said = lab.ok(args);
        assert!(!said.stderr.contains("killed study"), "{args:?}: {}", said.stderr);
        assert_eq!(server.astray(), bound, "{args:?}");
    }
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-2", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((server.astray(), lab.leftovers(), living(&lab)), (vec![], vec![], vec![]));
}

#[test]
fn data_folders_by_relative_paths_are_cleaned_too() {
    let lab = Lab::new();
    for (output, tmp, more) in
        [("a.threadwise", "tmp/../tmp", &[][..]), ("b.threadwise", "/tmp", &["--data-dir", "tmp"])]
    {
        let args = [&SHORT[..], &["--allow-busy", "--output", output], more].concat();
        let said = said(lab.command(&args).env("TMPDIR", tmp).output().unwrap());
        assert_eq!((said.code, lab.leftovers()), (Some(0), vec![]), "{args:?}: {}", said.stderr);
    }
    let args = ["run", "command", "--allow-busy", "--no-probe", "--no-html", "--output=e.threadwise"];
    let args =
        [&args[..], &["--data-dir=tmp/../tmp", "--", "sh", "-c", "touch at-work; sleep 1000"]].concat();
    let mut child = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the command", || lab.path().join("at-work").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_clean(&lab);
    until("the end of all processes", || living(&lab).is_empty());
}

fn interrupt(child: &Child) {
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-2", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn a_second_ctrl_c_waits_for_nobody_and_leaves_no_journal() {
    let lab = Lab::new();
    let args = ["run", "command", "--allow-busy", "--no-probe", "--no-html", "--output=s.threadwise"];
    let teardown = "sh -c 'touch tearing-down; sleep 1000'";
    let more = ["--teardown", teardown, "--", "sh", "-c", "touch at-work; sleep 1000"];
    let args = [&args[..], &more].concat();
    let child = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the command", || lab.path().join("at-work").exists());
    interrupt(&child);
    until("the teardown", || lab.path().join("tearing-down").exists());
    interrupt(&child);
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(said.stderr.contains("workers killed: 1; a third Ctrl-C"), "{}", said.stderr);
    let journal = Path::new("s.threadwise-journal");
    assert!(!lab.path().join(journal).exists(), "{:?}", lab.files());
    assert_eq!((lab.leftovers(), living(&lab)), (vec![], vec![]));
}
