//! Recorded processes: sums, what comes and goes inside of a window, gaps, cost.

use super::super::testing::{found, write};
use super::*;
use threadwise_machine::CpuSet;

static NO_CPUS: CpuSet = CpuSet::new();
const PIDS: [u32; 1] = [7];
const TICK: f64 = 1e7;

fn at(now_ns: u64) -> Moment<'static> {
    Moment { now_ns, cpus: &NO_CPUS, pids: &PIDS }
}

/// A machine whose youngest process has this number, up for 20.50 s.
fn machine(root: &Path, youngest: u32) {
    write(root, "proc/uptime", "20.50 30.00\n");
    write(root, "proc/thread-self/children", "");
    write(root, "proc/loadavg", &format!("0.1 0.2 0.3 1/99 {youngest}\n"));
}

/// A process: ticks of its own in user space, of its ended children, begin, KiB resident, faults.
#[derive(Clone, Copy)]
struct Fake {
    pid: u32,
    user: u64,
    of_children: u64,
    began: u64,
    kib: u64,
    minor: u64,
}

const WORKER: Fake = Fake { pid: 7, user: 100, of_children: 0, began: 1000, kib: 40, minor: 5 };
const BACKEND: Fake = Fake { pid: 20, user: 50, of_children: 0, began: 1500, kib: 10, minor: 0 };

fn process(root: &Path, fake: Fake, threads: &[(u32, u64, u64)], children: &str) {
    let Fake { pid, user, of_children, began, kib, minor } = fake;
    let count = threads.len();
    let stat = format!(
        "{pid} (x) S 1 1 1 0 -1 0 {minor} 0 2 0 {user} 3 {of_children} 0 20 0 {count} 0 {began} 0 0\n"
    );
    write(root, &format!("proc/{pid}/stat"), &stat);
    write(root, &format!("proc/{pid}/status"), &format!("VmRSS:\t{kib} kB\n"));
    let tasks = root.join(format!("proc/{pid}/task"));
    for entry in std::fs::read_dir(&tasks).into_iter().flatten() {
        let task = entry.unwrap().path();
        let is_left = threads.iter().any(|(tid, ..)| task.ends_with(tid.to_string()));
        if !is_left {
            std::fs::remove_dir_all(task).unwrap();
        }
    }
    for (tid, switches, wait_ns) in threads {
        let folder = format!("proc/{pid}/task/{tid}");
        let status =
            format!("VmRSS:\t1 kB\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n");
        write(root, &format!("{folder}/status"), &status);
        write(root, &format!("{folder}/schedstat"), &format!("9 {wait_ns} 9\n"));
        write(root, &format!("{folder}/children"), if *tid == pid { children } else { "" });
    }
}

fn ended(root: &Path, pid: u32) {
    std::fs::remove_dir_all(root.join(format!("proc/{pid}"))).unwrap();
}

fn value(readings: &[Reading], metric: &str) -> f64 {
    let reading = found(readings, metric);
    reading.value.unwrap_or_else(|| panic!("{reading:?}"))
}

fn gap(readings: &[Reading], metric: &str) -> String {
    found(readings, metric).gap.clone().unwrap_or_else(|| panic!("{metric} has a value"))
}

/// A worker with one child; `between` changes the machine inside of the window of 100 ns.
fn window(between: impl FnOnce(&Path)) -> Vec<Reading> {
    let root = tempfile::tempdir().unwrap();
    machine(root.path(), 20);
    process(root.path(), WORKER, &[(7, 10, 100), (8, 1, 0)], "20 ");
    process(root.path(), BACKEND, &[(20, 4, 7)], "");
    let mut sampler = Process::new(root.path());
    assert_eq!(sampler.status(), Status::Ready);
    sampler.start(&at(1000));
    between(root.path());
    let mut readings = Vec::new();
    sampler.finish(&at(1100), &mut readings);
    assert_eq!(readings.len(), 9);
    assert!(readings.iter().all(|reading| reading.value.is_some() != reading.gap.is_some()));
    readings
}

#[test]
fn processes_threads_and_children_are_added() {
    let readings = window(|root| {
        process(root, Fake { user: 104, minor: 9, kib: 60, ..WORKER }, &[(7, 12, 150), (8, 1, 0)], "20 ");
        process(root, Fake { user: 51, ..BACKEND }, &[(20, 5, 10)], "");
    });
    assert_eq!(value(&readings, "user_ns"), 5.0 * TICK);
    assert_eq!(value(&readings, "system_ns"), 0.0);
    assert_eq!((value(&readings, "minor_faults"), value(&readings, "major_faults")), (4.0, 0.0));
    assert_eq!(
        (value(&readings, "voluntary_switches"), value(&readings, "involuntary_switches")),
        (3.0, 0.0)
    );
    assert_eq!(value(&readings, "run_queue_wait_ns"), 53.0);
    assert_eq!(value(&readings, "resident_bytes_ns"), 60.0 * 1024.0 * 100.0, "50 and 70 KiB for 100 ns");
    assert_eq!(value(&readings, "processes_ns"), 200.0);
}

#[test]
fn a_child_that_ends_leaves_its_cpu_time_and_takes_its_switches_along() {
    let readings = window(|root| {
        ended(root, 20);
        machine(root, 21);
        process(root, Fake { of_children: 53, ..WORKER }, &[(7, 12, 100), (8, 1, 0)], "");
    });
    assert_eq!(value(&readings, "user_ns"), 3.0 * TICK, "50 ticks before, 53 at its end");
    assert!(gap(&readings, "voluntary_switches").contains("1 threads ended"));
}

#[test]
fn what_is_started_inside_of_the_window_counts_whole() {
    let readings = window(|root| {
        machine(root, 30);
        process(root, WORKER, &[(7, 10, 100), (8, 1, 0), (9, 6, 2)], "20 30 ");
        process(root, Fake { pid: 30, user: 2, began: 2050, ..BACKEND }, &[(30, 1, 1)], "");
    });
    assert_eq!(value(&readings, "user_ns"), 2.0 * TICK);
    assert_eq!(value(&readings, "voluntary_switches"), 7.0);
    assert_eq!(value(&readings, "run_queue_wait_ns"), 3.0);
}

#[test]
fn an_older_process_that_turns_up_is_a_gap() {
    let readings = window(|root| {
        machine(root, 30);
        process(root, WORKER, &[(7, 10, 100), (8, 1, 0)], "20 30 ");
        process(root, Fake { pid: 30, user: 900, began: 2049, ..BACKEND }, &[(30, 1, 1)], "");
    });
    assert!(gap(&readings, "user_ns").contains("process 30 was not seen"));
}

#[test]
fn a_child_that_the_kernel_leaves_out_of_its_list_is_still_looked_at() {
    let readings = window(|root| {
        machine(root, 21);
        process(root, WORKER, &[(7, 10, 100), (8, 1, 0)], "");
        process(root, Fake { user: 52, ..BACKEND }, &[(20, 5, 10)], "");
    });
    assert_eq!(value(&readings, "user_ns"), 2.0 * TICK);
    assert_eq!(value(&readings, "voluntary_switches"), 1.0);
}

#[test]
fn counters_that_run_backwards_and_workers_that_end_are_gaps() {
    let readings = window(|root| {
        process(root, Fake { user: 90, ..WORKER }, &[(7, 9, 100), (8, 1, 0)], "20 ");
    });
    assert!(gap(&readings, "user_ns").contains("backwards"));
    assert_eq!(value(&readings, "minor_faults"), 0.0);
    assert!(gap(&readings, "voluntary_switches").contains("thread 7 ran backwards"));
    let readings = window(|root| ended(root, 7));
    assert!(readings.iter().all(|reading| reading.gap.as_ref().unwrap().contains("process 7 has ended")));
}

#[test]
fn a_kernel_without_waits_of_threads_is_a_gap_and_no_zero() {
    let readings = window(|root| {
        process(root, WORKER, &[(7, 10, 100), (8, 1, 0)], "20 ");
        for tid in [7, 8] {
            write(root, &format!("proc/7/task/{tid}/schedstat"), "");
        }
    });
    assert_eq!(value(&readings, "user_ns"), 0.0);
    assert!(gap(&readings, "run_queue_wait_ns").contains("no thread of process 7"));
}

#[test]
fn many_threads_are_read_as_often_as_the_time_allows() {
    let root = tempfile::tempdir().unwrap();
    machine(root.path(), 20);
    let threads: Vec<(u32, u64, u64)> = (7..1007).map(|tid| (tid, 1, 1)).collect();
    process(root.path(), WORKER, &threads, "");
    let mut sampler = Process::new(root.path());
    let mut take = |start_ns: u64, end_ns: u64| {
        let mut readings = Vec::new();
        sampler.start(&at(start_ns));
        sampler.finish(&at(end_ns), &mut readings);
        assert_eq!(value(&readings, "user_ns"), 0.0);
        found(&readings, "voluntary_switches").gap.clone()
    };
    // 6 ms a look: what is saved up suffices for eight of them.
    let windows: Vec<_> = (0..5).map(|at| take(at * 100, at * 100 + 50)).collect();
    assert!(windows[..4].iter().all(Option::is_none), "{windows:?}");
    assert!(windows[4..].iter().all(|gap| gap.as_ref().unwrap().contains("1000 threads are too many")));
    assert_eq!(take(20_000_000_000, 30_000_000_000), None);
}

#[test]
fn without_a_list_of_children_their_number_is_a_gap() {
    let root = tempfile::tempdir().unwrap();
    machine(root.path(), 20);
    std::fs::remove_file(root.path().join("proc/thread-self/children")).unwrap();
    process(root.path(), WORKER, &[(7, 1, 1)], "");
    let mut sampler = Process::new(root.path());
    let mut readings = Vec::new();
    sampler.start(&at(0));
    sampler.finish(&at(5), &mut readings);
    assert_eq!(value(&readings, "user_ns"), 0.0);
    assert!(gap(&readings, "processes_ns").contains("CONFIG_PROC_CHILDREN"));
}

#[test]
fn counts_that_cannot_be_added_are_gaps() {
    let readings = window(|root| {
        process(root, Fake { minor: u64::MAX, ..WORKER }, &[(7, 12, 150), (8, 1, 0)], "20 ");
        process(root, Fake { minor: 1, ..BACKEND }, &[(20, 5, u64::MAX)], "");
    });
    assert!(gap(&readings, "minor_faults").contains("too large to add"));
    assert!(gap(&readings, "run_queue_wait_ns").contains("too large to add"));
}
