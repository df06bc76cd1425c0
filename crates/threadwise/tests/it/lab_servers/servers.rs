//! Studies of real servers that the program starts itself: what they leave, what they count, and what
//! happens when they or we are killed.

use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SERVERS: [&str; 2] = ["postgres", "mariadb"];

/// A short study: two blocks of two rounds, one session alone and two on one logical CPU.
pub fn study(engine: &str, workload: &str, options: &str) -> String {
    // A fixed amount of work is one whole run for each block. On a busy disk a commit may wait longer than 100 ms.
    let slices = match workload {
        _ if options.contains("rows_per_session") => "",
        "insert" => "rounds = 2\nslice_ms = 400\nrewarm_ms = 5\n",
        _ => "rounds = 2\nslice_ms = 100\nrewarm_ms = 5\n",
    };
    format!(
        "version = 1\nname = \"short\"\nengine = \"{engine}\"\nworkload = \"{workload}\"\n\n\
         [options]\n{options}\n\n[design]\n{slices}blocks = 2\n\n\
         [baseline]\nplacement = \"1c1t\"\n\n[[treatment]]\nplacement = \"one-cpu\"\n"
    )
}

/// A lab in which another user may reach the temporary folder, as a server that root starts has to.
pub fn lab() -> Lab {
    let lab = Lab::new();
    for folder in [lab.path(), &lab.tmp()] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711)).unwrap();
    }
    lab
}

pub fn run(lab: &Lab, text: &str) -> Said {
    std::fs::write(lab.path().join("short.toml"), text).unwrap();
    let args =
        ["run", "short.toml", "--allow-busy", "--no-probe", "--no-html", "--seed", "5", "-o", "s.threadwise"];
    said(lab.command(&args).output().unwrap())
}

fn report(lab: &Lab) -> Value {
    serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap()
}

/// Processes whose current folder lies in the lab: our servers and workers.
fn living(lab: &Lab) -> Vec<(u32, PathBuf)> {
    let inside = |pid: u32| {
        let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        folder.starts_with(lab.tmp()).then_some((pid, folder))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(inside).collect()
}

/// Waits for something to become true; a bound, not a measurement.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every run of so many blocks of three treatments.
pub fn every_run_is_valid(lab: &Lab, blocks: usize) {
    let runs = lab.ok(&["export", "s.threadwise", "--format", "jsonl"]).stdout;
    assert_eq!(runs.lines().count(), 3 * blocks);
    for run in runs.lines() {
        let run: Value = serde_json::from_str(run).unwrap();
        assert_eq!(run["status"], "valid", "{} {}: {}", run["treatment"], run["kind"], run["message"]);
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn both_workloads_run_on_both_servers_and_leave_nothing() {
    for engine in SERVERS {
        // A server for each run, or one for the study.
        let cases = [
            ("run", "logical-io", "blocks = 400\nwork_unit = 32"),
            ("study", "logical-io", "blocks = 400\nwork_unit = 32\nloop = \"client\""),
            ("study", "insert", "seed_rows = 2000\ndurability = \"relaxed\""),
            ("study", "insert", "seed_rows = 2000\nkey = \"random\"\nloop = \"client\""),
            ("run", "insert", "seed_rows = 2000\ntable = \"unlogged\"\nrows_per_session = 400"),
        ];
        for (restart, workload, options) in cases {
            let (lab, case) = (lab(), format!("{engine} {restart} {workload} {options}"));
            // One block of servers for each run: how these start again is seen in other tests.
            let blocks = if restart == "study" { 2 } else { 1 };
            let study =
                study(engine, workload, options).replace("blocks = 2\n", &format!("blocks = {blocks}\n"));
            let said = run(&lab, &format!("{study}\n[engine_options]\nrestart = \"{restart}\"\n"));
            assert_eq!(said.code, Some(0), "{case}:\n{}\n{}", said.stdout, said.stderr);
            every_run_is_valid(&lab, blocks);
            let notes = lab.ok(&["report", "s.threadwise", "--json"]).stdout;
            assert_eq!(notes.contains("memory placed earlier"), restart == "study", "{case}: {notes}");
            assert_eq!((lab.leftovers(), living(&lab)), (Vec::new(), Vec::new()), "{case}");
        }
    }
}

/// The folder of a server's programs, which `cargo xtask lab servers` fetches.
fn fetched(variable: &str) -> String {
    std::env::var(variable).expect("cargo xtask lab servers names the folder of the server's programs")
}

#[test]
#[ignore = "laboratory: servers"]
fn the_smallest_study_runs_on_servers_that_people_have_today() {
    for (engine, variable, version) in
        [("postgres", "THREADWISE_TEST_POSTGRES", "18."), ("mariadb", "THREADWISE_TEST_MARIADB", "11.4.")]
    {
        let bin = fetched(variable);
        let lab = lab();
        let text = study(engine, "insert", "seed_rows = 500\ndurability = \"relaxed\"");
        let said = run(&lab, &format!("{text}\n[engine_options]\nbin = \"{bin}\"\n"));
        assert_eq!(said.code, Some(0), "{engine}:\n{}\n{}", said.stdout, said.stderr);
        every_run_is_valid(&lab, 2);
        let measured = report(&lab)["study"]["engine_version"].as_str().unwrap().to_owned();
        assert!(measured.starts_with(version), "{engine} {measured}");
        assert_eq!((lab.leftovers(), living(&lab)), (Vec::new(), Vec::new()), "{engine}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn killed_with_a_server_at_work_nothing_lives_on() {
    for engine in SERVERS {
        for restart in ["run", "study"] {
            let lab = lab();
            let options = "blocks = 400";
            let long = study(engine, "logical-io", options).replace("blocks = 2\n", "blocks = 500\n");
            let text = format!("{long}\n[engine_options]\nrestart = \"{restart}\"\n");
            std::fs::write(lab.path().join("short.toml"), text).unwrap();
            let args = ["run", "short.toml", "--allow-busy", "--no-probe", "--no-html", "-o", "s.threadwise"];
            let mut child = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            wait_until("no second block", || in_second_block(&lab) || child.try_wait().unwrap().is_some());
            assert_eq!(child.try_wait().unwrap().map(|status| status.code()), None, "{engine} ended early");
            wait_until("no server lives in the work folder", || living(&lab).len() > 2);
            child.kill().unwrap();
            child.wait().unwrap();
            wait_until("something lives on", || living(&lab).is_empty());
            wait_until("a folder is left", || lab.leftovers().is_empty());
        }
    }
}

/// Whether the study has come to its second block: the workers' logs are named after it.
pub fn in_second_block(lab: &Lab) -> bool {
    let logs = lab.leftovers().into_iter().map(|folder| lab.tmp().join(folder).join("logs"));
    let mut names = logs.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    names.any(|log| log.file_name().to_string_lossy().starts_with("block-1-"))
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_killed_in_mid_study_is_a_failed_run_and_the_study_goes_on() {
    for engine in SERVERS {
        let lab = lab();
        let text = study(engine, "logical-io", "blocks = 400").replace("blocks = 2\n", "blocks = 3\n");
        // Long enough that the kill comes in the middle of it.
        let long = text.replace("rounds = 2\n", "rounds = 15\n");
        std::fs::write(lab.path().join("short.toml"), long).unwrap();
        let args = ["run", "short.toml", "--allow-busy", "--no-probe", "--no-html", "-o", "s.threadwise"];
        let child = lab.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("no second block", || in_second_block(&lab));
        // The servers of the second block, one for each of its treatments.
        let servers = || -> Vec<u32> {
            let comm = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let is_server = |pid| comm(pid).starts_with("postgres") || comm(pid).starts_with("mariadbd");
            living(&lab).into_iter().map(|(pid, _)| pid).filter(|pid| is_server(*pid)).collect()
        };
        let folders = || -> std::collections::BTreeSet<PathBuf> {
            living(&lab)
                .into_iter()
                .filter(|(pid, _)| servers().contains(pid))
                .map(|(_, folder)| folder)
                .collect()
        };
        wait_until("no three servers were started again", || folders().len() >= 3);
        for pid in servers() {
            // It may have ended by itself in the meantime.
            let kill = ["-9".to_owned(), pid.to_string()];
            let _ = std::process::Command::new("sh")
                .args(["-c", "kill \"$@\"", "kill"])
                .args(kill)
                .stderr(Stdio::null())
                .status();
        }
        let said = said(child.wait_with_output().unwrap());
        // A block of three is more than a tenth.
        assert_eq!(said.code, Some(1), "{engine}:\n{}\n{}", said.stdout, said.stderr);
        let json = report(&lab);
        let failed: u64 =
            json["treatments"].as_array().unwrap().iter().map(|one| one["failed"].as_u64().unwrap()).sum();
        assert!(failed > 0, "{json:#}");
        let runs: u64 =
            json["treatments"].as_array().unwrap().iter().map(|one| one["runs"].as_u64().unwrap()).sum();
        assert!(runs >= 6, "later blocks have no valid runs: {json:#}");
        assert_eq!((lab.leftovers(), living(&lab)), (Vec::new(), Vec::new()));
    }
}

/// The example of two settings in the help of `ab` is a pair that the server starts with.
#[test]
#[ignore = "laboratory: servers"]
fn the_example_of_two_settings_of_a_server_runs() {
    let lab = lab();
    let help = lab.ok(&["ab", "--help"]).stdout;
    let at = help.find("threadwise ab --engine postgres --study").unwrap();
    let example = help[at..].split("\n\n").next().unwrap();
    // Its lines end with what continues them in a shell.
    let words: Vec<&str> = example.split_whitespace().skip(1).filter(|word| *word != "\\").collect();
    let quick =
        ["--allow-busy", "--no-probe", "--no-html", "--blocks=1", "--rounds=1", "--slice=100ms", "-o", "s"];
    let said = lab.run(&[&words[..], &quick].concat());
    assert!(said.stdout.contains("wal_level=minimal"), "{example}: {}", said.stderr);
    assert_eq!(said.code, Some(0), "{example}: {}", said.stderr);
}
