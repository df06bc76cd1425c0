//! What `observe` costs: CPU time of the client and of the server's backend for a look at 5,000 statements, of which 500
//! were called since the last one. Printed; docs/OBSERVE.md has the figures.

use super::command_tools::{Cluster, postgres};
use super::observe::{STATISTICS, lab, lines, observing, psql, stop, url, wait_for};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const STATEMENTS: usize = 5000;
const CALLED: usize = 500;
const LOOKS: usize = 30;

/// Statements with different numbers of terms: each is one of its own for the server.
fn statements(count: usize) -> String {
    let one = |number: usize| {
        let terms = format!("{}{}", " + x".repeat(number / 71), " - y".repeat(number % 71));
        format!("SELECT 1{terms} FROM (SELECT 1 AS x, 2 AS y) AS t;\n")
    };
    (0..count).map(one).collect()
}

/// CPU seconds of a process (proc(5): user and system time are fields 14 and 15).
fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

#[test]
#[ignore = "laboratory: servers"]
fn a_look_at_five_thousand_statements_costs_little() {
    let (lab, bin) = (lab(), postgres());
    let cluster = Cluster::start_with(&lab, bin.clone(), STATISTICS);
    let folder = cluster.folder();
    assert_eq!(psql(&bin, &folder, "bench", "CREATE EXTENSION pg_stat_statements").code, Some(0));
    for (name, count) in [("all.sql", STATEMENTS), ("some.sql", CALLED)] {
        std::fs::write(lab.path().join(name), statements(count)).unwrap();
    }
    let execute = |file: &str| {
        let mut command = Command::new(bin.join("psql"));
        command.args(["-h", &folder, "-U", "bench", "-q", "-f", file, "postgres"]);
        assert!(command.current_dir(lab.path()).stdout(Stdio::null()).status().unwrap().success());
    };
    execute("all.sql");
    let mut child = observing(&lab, &url(&folder, "bench"), &[]);
    wait_for(&lab, 2);
    let backend = "SELECT pid FROM pg_stat_activity WHERE application_name = 'threadwise observe'";
    let backend: u32 = psql(&bin, &folder, "bench", backend).stdout.trim().parse().unwrap();
    let times = || BTreeMap::from([("client", cpu_s(child.id())), ("server", cpu_s(backend))]);
    let (before, first) = (times(), lines(&lab).len());
    while lines(&lab).len() < first + LOOKS {
        execute("some.sql");
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    let (after, looks) = (times(), lines(&lab).len() - first);
    let most = lines(&lab)[first]["statements"].as_array().unwrap().len();
    assert!(most >= CALLED, "{most} statements in an interval");
    let per_look = |who: &str| (after[who] - before[who]) / looks as f64;
    let share = (per_look("client") + per_look("server")) / 60.0;
    println!(
        "a look at {STATEMENTS} statements, {most} of them called: client {:.1} ms, server {:.1} ms of CPU time, at 60 s \
         {:.3}% of a CPU",
        1e3 * per_look("client"),
        1e3 * per_look("server"),
        100.0 * share
    );
    // Five times the 0.1% that it should be at most: CPU time, which other load may double, of a program that may not be
    // optimised.
    assert!(share < 0.005, "{share}");
    stop(&mut child);
}
