//! `observe` on a real PostgreSQL: 30 statements, of which five are slower or faster in one state; and what it says of
//! what is missing, of resets and restarts.

use super::command_tools::{Cluster, postgres};
use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const STATISTICS: &str =
    "-c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track_utility=on";

/// Statements by number that take this factor of time in the state `green`.
const FACTORS: [(usize, f64); 5] = [(3, 1.5), (8, 2.0), (15, 1.4), (22, 0.6), (29, 1.7)];
const STATEMENTS: usize = 30;
/// Twelve triples of episodes; and the most, where other work of the machine makes them noisy.
const EPISODES: usize = 36;
const MOST_EPISODES: usize = 4 * EPISODES;

/// Rows of a statement: the work of a call grows with them.
const ROWS: f64 = 4000.0;

pub fn psql(bin: &Path, folder: &str, user: &str, sql: &str) -> Said {
    let mut command = Command::new(bin.join("psql"));
    command.args(["-h", folder, "-U", user, "-qAtX", "-v", "ON_ERROR_STOP=1", "postgres", "-c", sql]);
    said(command.output().unwrap())
}

pub fn url(folder: &str, user: &str) -> String {
    format!("postgres://{user}@{}/postgres", folder.replace('/', "%2F"))
}

/// A script of pgbench: each statement once, in a text of its own. The first one is large in both states: the largest
/// block that was freed decides how malloc gets memory for the others (mallopt(3), M_MMAP_THRESHOLD), so that without
/// it all statements are a fifth faster in the state with more rows.
fn script(state: &str) -> String {
    let rows = |number: usize| {
        let factor = FACTORS.iter().find(|(one, _)| *one == number).map_or(1.0, |(_, factor)| *factor);
        ROWS * if state == "green" { factor } else { 1.0 }
    };
    let one = |number: usize| {
        let text = " + 0".repeat(number);
        format!("SELECT sum(g){text} FROM generate_series(1, {}) AS g;\n", rows(number) as u64)
    };
    let large = "SELECT max(g) FROM generate_series(1, 40000) AS g;\n".to_owned();
    [large].into_iter().chain((0..STATEMENTS).map(one)).collect()
}

pub fn lab() -> Lab {
    let lab = Lab::new();
    for folder in [lab.path(), &lab.tmp()] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711)).unwrap();
    }
    lab
}

/// `observe` in the background.
pub fn observing(lab: &Lab, url: &str, more: &[&str]) -> Child {
    let mut args = vec!["observe", "--engine", url, "--interval", "1s", "-o", "o.threadwise", "--json"];
    args.extend(more);
    let mut command = lab.command(&args);
    command.stdout(std::fs::File::create(lab.path().join("out")).unwrap());
    command.stderr(std::fs::File::create(lab.path().join("err")).unwrap()).spawn().unwrap()
}

/// Ends it as Ctrl-C does.
pub fn stop(child: &mut Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
}

pub fn lines(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path().join("out")).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Waits until a number of intervals have been printed; a bound, not a measurement.
pub fn wait_for(lab: &Lab, intervals: usize) {
    super::servers::wait_until("observe prints its intervals", || lines(lab).len() >= intervals);
}

/// The factor of a statement, by its text.
fn factor(text: &str) -> Option<f64> {
    let number = text.matches("+ $").count();
    FACTORS.iter().find(|(one, _)| text.contains("sum(g)") && *one == number).map(|(_, factor)| *factor)
}

/// Whether all of the five are shown to differ.
fn are_decided(found: &Value) -> bool {
    let all = found["statements"].as_array().unwrap().iter();
    let mut five = all.filter(|one| one["text"].as_str().and_then(factor).is_some());
    five.all(|one| one["adjusted_low"].as_f64() > Some(1.0) || one["adjusted_high"].as_f64() < Some(1.0))
}

#[test]
#[ignore = "laboratory: servers"]
fn five_of_thirty_statements_are_found_with_their_factors() {
    let (lab, bin) = (lab(), postgres());
    let cluster = Cluster::start_with(&lab, bin.clone(), STATISTICS);
    let folder = cluster.folder();
    assert_eq!(psql(&bin, &folder, "bench", "CREATE EXTENSION pg_stat_statements").code, Some(0));
    for state in ["blue", "green"] {
        std::fs::write(lab.path().join(format!("{state}.sql")), script(state)).unwrap();
    }
    let state_file = lab.path().join("state.txt");
    std::fs::write(&state_file, "blue\n").unwrap();
    let mut child = observing(&lab, &url(&folder, "bench"), &["--state-file", "state.txt"]);
    let mut episodes = 0;
    let (found, all) = loop {
        for _ in 0..EPISODES {
            let state = ["blue", "green"][episodes % 2];
            std::fs::write(&state_file, format!("{state}\n")).unwrap();
            let mut load = Command::new(bin.join("pgbench"));
            load.args(["-h", &folder, "-U", "bench", "-n", "-T", "4", "-R", "12", "-f"]);
            load.arg(lab.path().join(format!("{state}.sql"))).arg("postgres");
            assert!(load.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
            episodes += 1;
        }
        let said = lab.ok(&["compare", "o.threadwise", "--by", "state", "--json"]);
        let found: Value = serde_json::from_str(&said.stdout).unwrap();
        let all = lab.ok(&["compare", "o.threadwise", "--by", "state", "--all"]).stdout;
        if are_decided(&found) || episodes >= MOST_EPISODES {
            break (found, all);
        }
    };
    stop(&mut child);
    assert_eq!((found["first"].as_str(), found["second"].as_str()), (Some("blue"), Some("green")), "{all}");
    assert_eq!(found["changes"], episodes - 1, "{all}");
    let mut seen = 0;
    for one in found["statements"].as_array().unwrap() {
        let text = one["text"].as_str().unwrap();
        assert!(!text.contains("4000") && !text.contains("6000"), "a literal was stored: {text}");
        if !text.contains("sum(g)") {
            continue;
        }
        seen += 1;
        let factor = factor(text);
        let (low, high) = (one["adjusted_low"].as_f64().unwrap(), one["adjusted_high"].as_f64().unwrap());
        match factor {
            Some(factor) => {
                assert!((low..=high).contains(&factor) && !(low..=high).contains(&1.0), "{one:#}\n{all}");
            }
            None => assert!((low..=high).contains(&1.0), "a false finding: {one:#}\n{all}"),
        }
    }
    assert_eq!(seen, STATEMENTS, "{all}");
}

#[test]
#[ignore = "laboratory: servers"]
fn what_is_missing_and_what_happens_is_said_and_nothing_is_lost() {
    let (lab, bin) = (lab(), postgres());
    let cluster = Cluster::start_with(&lab, bin.clone(), STATISTICS);
    let folder = cluster.folder();
    let sql = |user: &str, sql: &str| assert_eq!(psql(&bin, &folder, user, sql).code, Some(0), "{sql}");
    let observe = |user: &str| {
        lab.run(&[
            "observe",
            "--engine",
            &url(&folder, user),
            "--interval",
            "1s",
            "--count",
            "1",
            "-o",
            "x.threadwise",
        ])
    };
    let refused = observe("bench");
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("CREATE EXTENSION pg_stat_statements"), "{}", refused.stderr);
    assert!(!lab.path().join("x.threadwise").exists());
    sql("bench", "CREATE EXTENSION pg_stat_statements; CREATE ROLE plain LOGIN");
    let plain = observe("plain");
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(plain.stderr.contains("GRANT pg_read_all_stats"), "{}", plain.stderr);
    // The user's objects before and after.
    let objects = "SELECT count(*), (SELECT count(*) FROM pg_roles) FROM pg_class";
    let before = psql(&bin, &folder, "bench", objects).stdout;
    let mut child = observing(&lab, &url(&folder, "bench"), &[]);
    wait_for(&lab, 2);
    sql("bench", "CREATE ROLE secretive PASSWORD 'secret4711'");
    // Texts are asked for every tenth interval.
    wait_for(&lab, 13);
    sql("bench", "DROP ROLE secretive; SELECT pg_stat_statements_reset()");
    wait_for(&lab, 15);
    cluster.server(&["stop", &folder]);
    // Two looks and more without an answer.
    std::thread::sleep(Duration::from_secs(3));
    cluster.server(&["start", &folder]);
    wait_for(&lab, 18);
    stop(&mut child);
    let gaps: Vec<String> =
        lines(&lab).iter().filter_map(|line| Some(line["gap"].as_str()?.to_owned())).collect();
    assert_eq!(gaps, ["reset", "restart"]);
    let stderr = std::fs::read_to_string(lab.path().join("err")).unwrap();
    assert!(stderr.contains("trying again every") && stderr.contains("answers again"), "{stderr}");
    assert_eq!(psql(&bin, &folder, "bench", objects).stdout, before);
    let bytes = std::fs::read(lab.path().join("o.threadwise")).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("secret4711"));
    assert!(String::from_utf8_lossy(&bytes).contains("PASSWORD ?"));
    // It goes on with what is there, and is read while it does.
    let mut child = observing(&lab, &url(&folder, "bench"), &[]);
    wait_for(&lab, 2);
    let said = lab.run(&["compare", "o.threadwise", "--by", "state"]);
    assert!(said.code == Some(2) && said.stderr.contains("--state NAME"), "{}", said.stderr);
    let twice = lab.run(&["observe", "--engine", &url(&folder, "bench"), "-o", "o.threadwise"]);
    assert!(
        twice.code == Some(2) && twice.stderr.contains("another `threadwise observe`"),
        "{}",
        twice.stderr
    );
    // A kill keeps what is finished.
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines(&lab).len();
    let other = lab.run(&["observe", "--engine", &url(&folder, "bench"), "-o", "o.threadwise", "--top", "7"]);
    assert!(other.code == Some(2) && other.stderr.contains("--top"), "{}", other.stderr);
    let store = rusqlite::Connection::open(lab.path().join("o.threadwise")).unwrap();
    let stored: i64 = store.query_row("SELECT count(*) FROM intervals", [], |row| row.get(0)).unwrap();
    assert!(stored >= 18 + kept as i64, "{stored}");
}
