//! Checks that judge what the caller measured.

use super::support::{Root, machine, says, virtual_machine};
use threadwise_doctor::Outcome::{Ok, Problem, Unknown, Warning};
use threadwise_doctor::{Check, Live, Outcome, ProcessLoad, ProcessName};
use threadwise_study::CpuTimes;
use threadwise_study::probe::Neighbour;

const SECOND_NS: u64 = 1_000_000_000;

fn check(name: &str, live: &Live) -> Check {
    Root::new().check_on(name, &virtual_machine(), Some(live))
}

/// Four allowed logical CPUs and a foreign one; busy and stolen shares of a second in percent.
fn times(shares: [(u64, u64); 4]) -> Vec<CpuTimes> {
    let percent = SECOND_NS / 100;
    let one = |(cpu, (busy, stolen)): (usize, (u64, u64))| CpuTimes {
        cpu: cpu as u32,
        busy_ns: busy * percent,
        steal_ns: stolen * percent,
        total_ns: SECOND_NS,
    };
    let foreign = CpuTimes { cpu: 77, busy_ns: SECOND_NS, steal_ns: SECOND_NS, total_ns: SECOND_NS };
    shares.into_iter().enumerate().map(one).chain([foreign]).collect()
}

fn load(name: &str, pid: u32, cpu_ns: u64) -> ProcessLoad {
    ProcessLoad { process: ProcessName { pid, name: name.to_owned() }, cpu_ns }
}

#[test]
fn what_was_not_measured_is_unknown() {
    let root = Root::new();
    for live in [None, Some(&Live::default())] {
        for name in ["other-load", "steal", "neighbour", "database-server"] {
            says(&root.check_on(name, &machine(), live), Unknown, &["not measured"]);
        }
    }
    says(&root.check("core-scheduling"), Unknown, &["not measured"]);
    let foreign_only = Live { cpu_times: times([(0, 0); 4]).split_off(4), ..Live::default() };
    says(&check("other-load", &foreign_only), Unknown, &["not measured"]);
}

#[test]
fn other_load_names_who_it_is() {
    let with = |busy: u64, processes: Vec<ProcessLoad>| {
        let live = Live { cpu_times: times([(busy, 0); 4]), processes, ..Live::default() };
        check("other-load", &live)
    };
    says(&with(0, vec![]), Ok, &["0.0% of the allowed logical CPUs", "over 1.0 s"]);
    let processes = vec![
        load("idle", 1, 0),
        load("small", 2, 1),
        load("cc1\u{1b}[2J", 3, SECOND_NS),
        load("postgres", 4, SECOND_NS / 2),
        load("rest", 5, SECOND_NS / 8),
    ];
    let busy = with(40, processes);
    says(
        &busy,
        Problem,
        &["40%", "cc1 [2J 1.00 CPUs (process 3), postgres 0.50 CPUs", "rest", "--allow-busy"],
    );
    assert!(!busy.found.contains("small"), "three are named: {}", busy.found);
    says(&with(3, vec![]), Warning, &["3.0%", "no visible process"]);
}

#[test]
fn a_database_server_is_a_problem() {
    let mut live = Live { database_server_sought: true, ..Live::default() };
    says(&check("database-server", &live), Ok, &["no known database server"]);
    live.database_server = Some(ProcessName { pid: 40, name: "mysqld".to_owned() });
    says(&check("database-server", &live), Problem, &["mysqld", "process 40"]);
}

#[test]
fn steal_counts_by_the_mean_and_by_the_worst() {
    let with =
        |shares: [(u64, u64); 4]| check("steal", &Live { cpu_times: times(shares), ..Live::default() });
    let busy = with([(90, 0); 4]);
    says(&busy, Ok, &["none, while the machine was 90% busy"]);
    assert!(!busy.found.contains("only under load"), "{}", busy.found);
    says(&with([(1, 0); 4]), Ok, &["1.0% busy: steal is visible only under load"]);
    says(&with([(0, 0), (1, 1), (0, 0), (0, 0)]), Ok, &["most on CPU 1 (1.0%)"]);
    says(&with([(50, 0), (50, 0), (50, 4), (50, 0)]), Warning, &["1.0%", "most on CPU 2 (4.0%)"]);
    says(&with([(50, 10), (50, 10), (50, 20), (50, 10)]), Problem, &["12%", "CPU 2 (20%)"]);
    let bare = Live { cpu_times: times([(90, 0); 4]), ..Live::default() };
    says(&Root::new().check_on("steal", &machine(), Some(&bare)), Ok, &["no hypervisor"]);
}

fn neighbour(cpu: u32, busy_share: Option<f64>) -> Neighbour {
    Neighbour {
        cpu,
        windows: 100,
        adds_per_step_p10: Some(2.0),
        adds_per_step_p50: Some(3.9),
        adds_per_step_p90: Some(4.0),
        busy_share,
        off_cpu_share: 0.0,
        why: "never reached its issue width".to_owned(),
    }
}

#[test]
fn neighbours_count_by_the_worst() {
    let with = |shares: &[Option<f64>]| {
        let neighbours = (0..).zip(shares).map(|(cpu, share)| neighbour(cpu, *share)).collect();
        check("neighbour", &Live { neighbours, ..Live::default() })
    };
    let expect: [(&[Option<f64>], Outcome, &str); 6] = [
        (&[Some(0.02), Some(0.0)], Ok, "2.0% of the time"),
        (&[Some(0.02), Some(0.34)], Warning, "CPU 1: 34%"),
        (&[Some(0.9), None], Problem, "2 logical CPUs probed, 1 of them without a baseline"),
        (&[Some(0.0), None], Unknown, "1 of them without"),
        (&[Some(0.10)], Ok, "100 windows"),
        (&[None, None], Unknown, "never reached its issue width"),
    ];
    for (shares, outcome, word) in expect {
        says(&with(shares), outcome, &[word]);
    }
    let live = Live { neighbours: vec![neighbour(0, Some(0.4))], ..Live::default() };
    says(&Root::new().check_on("neighbour", &machine(), Some(&live)), Warning, &["ps -eLo psr"]);
}

#[test]
fn core_scheduling_is_what_the_kernel_says() {
    let with = |core_cookie| check("core-scheduling", &Live { core_cookie, ..Live::default() });
    says(&with(Some(false)), Ok, &["no core scheduling cookie"]);
    says(&with(Some(true)), Warning, &["siblings stay idle"]);
    says(&with(None), Unknown, &["does not report"]);
}
