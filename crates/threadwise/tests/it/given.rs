//! Files that are no files: pipes without a writer, devices without an end, sockets and folders, wherever a name is taken.

use crate::fleet_harness::{FleetLab, ONE, head, study};
use crate::harness::{Lab, Said, said};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Ends a hang; nothing is measured by it.
const DEADLINE: Duration = Duration::from_secs(60);

/// Most memory that it may map, KiB: `/dev/zero` would fill any.
const MOST_KIB: &str = "8000000";

fn bounded(lab: &Lab, args: &[&str]) -> Said {
    let program = lab.command(args);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -v {MOST_KIB}; exec \"$@\""), "sh"]).arg(program.get_program());
    limited.args(program.get_args()).current_dir(lab.path()).env("HOME", lab.path());
    limited.env("THREADWISE_STATE_DIR", lab.state()).env("TMPDIR", lab.tmp());
    limited.env("PGPASSFILE", lab.path().join("pipe")).env("PGSERVICEFILE", lab.path().join("pipe"));
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = limited.spawn().unwrap();
    let end = Instant::now() + DEADLINE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{args:?} hangs: {:?}", said(child.wait_with_output().unwrap()).stderr);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    said(child.wait_with_output().unwrap())
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// One clear line, exit code 2.
fn refused(lab: &Lab, args: &[&str], says: &str) {
    let said = bounded(lab, args);
    assert_eq!(said.code, Some(2), "{args:?}: {}{}", said.stdout, said.stderr);
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{args:?}: {}", said.stderr);
    assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
}

#[test]
fn what_is_no_file_is_refused_in_one_line_wherever_a_name_is_taken() {
    let lab = Lab::new();
    let at = |name: &str| lab.path().join(name);
    let _listener = UnixListener::bind(at("socket")).unwrap();
    for name in ["pipe", "pipe.toml"] {
        mkfifo(&at(name));
    }
    symlink("/dev/zero", at("endless")).unwrap();
    symlink("/dev/zero", at("endless.toml")).unwrap();
    symlink("socket", at("socket.toml")).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    std::fs::create_dir(at("folder.toml")).unwrap();
    std::fs::write(at("page.sql"), "SELECT 1").unwrap();
    for (name, what) in [
        ("pipe", "is a pipe"),
        ("endless", "is a device"),
        ("socket", "is a socket"),
        ("folder", "is a folder"),
    ] {
        let toml = format!("{name}.toml");
        let database = format!("database={}", at(name).display());
        let sqlite = ["pool", "--engine=sqlite", "--allow-busy", "--engine-option"];
        refused(&lab, &["run", "--all", &toml], what);
        refused(&lab, &["fleet", "plan", &toml, "-o", "f"], what);
        refused(&lab, &["report", "--all", name], what);
        refused(&lab, &["compare", "--all", name, name], what);
        refused(&lab, &["compare", "--all", "--before", name, "--after", name], "given twice");
        refused(&lab, &["export", name], what);
        refused(&lab, &["run", "--all", "--resume", name], what);
        refused(&lab, &["fit", "--all", name], what);
        refused(&lab, &["headroom", "--recorded", name, name], what);
        refused(&lab, &[&sqlite[..], &["database=/x", "--transaction", name]].concat(), what);
        refused(&lab, &[&sqlite[..], &[&database, "--transaction=page.sql"]].concat(), what);
        refused(&lab, &["run", "--all", "work-list", "--list", name, "--", "true"], "not a file");
        refused(&lab, &["fleet", "report", name], if name == "folder" { "plan.json" } else { what });
    }
    // Files of an engine's own settings: a service that is asked for, and certificates.
    let server =
        |url: &str| bounded(&lab, &["run", "cached-reads", "--plan", "--allow-busy", "--engine", url]);
    let said = server("postgres:///?service=shop");
    assert!(said.code == Some(2) && said.stderr.contains("is a pipe"), "{:?} {}", said.code, said.stderr);
    mkfifo(&at(".my.cnf"));
    let said = server("mariadb://app@127.0.0.1:1/shop");
    assert!(
        said.code == Some(2) && said.stderr.contains(".my.cnf: it is a pipe"),
        "{:?} {}",
        said.code,
        said.stderr
    );
    assert_eq!(lab.leftovers(), Vec::<String>::new());
}

#[test]
fn a_study_is_read_through_a_link_and_up_to_a_bound() {
    let lab = Lab::new();
    let at = |name: &str| lab.path().join(name);
    std::fs::write(at("plain.toml"), study(1, 2)).unwrap();
    symlink("plain.toml", at("link.toml")).unwrap();
    let said = bounded(&lab, &["run", "link.toml", "--plan", "--allow-busy"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    std::fs::write(at("long.toml"), "#".repeat((1 << 20) + 1)).unwrap();
    refused(&lab, &["run", "--all", "long.toml"], "longer than 1 MiB");
    // A file without an end in all but name.
    let huge = std::fs::File::create(at("huge.toml")).unwrap();
    huge.set_len(1 << 40).unwrap();
    refused(&lab, &["run", "--all", "huge.toml"], "longer than 1 MiB");
}

#[test]
fn a_result_file_whose_journal_is_no_file_is_not_opened() {
    let lab = Lab::new();
    lab.simulated("s.threadwise", &["--no-html"]);
    mkfifo(&lab.path().join("s.threadwise-journal"));
    refused(&lab, &["report", "--all", "s.threadwise"], "s.threadwise-journal is a pipe");
    refused(&lab, &["run", "--resume", "s.threadwise", "--allow-busy"], "s.threadwise-journal is a pipe");
}

#[test]
fn pipes_in_the_folder_of_a_fleet_keep_nobody_waiting() {
    let commands = ["status", "report", "collect", "submit"];
    for (file, refusing) in [("plan.json", &commands[..]), ("submitted.jsonl", &[])] {
        let fleet = FleetLab::planned(&study(1, 2), &(head(1, "") + ONE));
        let path = fleet.dir().join(file);
        let _ = std::fs::remove_file(&path);
        mkfifo(&path);
        for command in commands {
            let said = bounded(&fleet.lab, &["fleet", command, "f"]);
            assert_ne!(said.code, None, "{command}: {}", said.stderr);
            if refusing.contains(&command) {
                assert_eq!(said.code, Some(2), "{command}: {}", said.stderr);
                assert!(said.stderr.contains("plan.json: it is a pipe"), "{command}: {}", said.stderr);
            }
        }
    }
    let fleet = FleetLab::planned(&study(1, 2), &(head(1, "") + ONE));
    let cell = fleet.cell_folder("k-n1.1");
    std::fs::create_dir_all(&cell).unwrap();
    mkfifo(&cell.join("cell.json"));
    for command in commands {
        let said = bounded(&fleet.lab, &["fleet", command, "f"]);
        assert_ne!(said.code, None, "{command}: {}", said.stderr);
    }
}
