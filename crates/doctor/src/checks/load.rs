//! Load of others. The caller measured all of it ([`crate::Live`]).
//!
//! Sources: `proc_stat(5)` for busy and steal time; adds per chain step for neighbours.

use crate::answer::{Answer, percent};
use crate::case::Case;
use crate::live::ProcessLoad;
use threadwise_machine::CpuSet;
use threadwise_study::CpuTimes;
use threadwise_study::probe::Neighbour;

/// Above this share `threadwise run` refuses to start.
const MOST_OTHER_LOAD: f64 = 0.05;
/// Above this share others are mentioned.
const SOME_OTHER_LOAD: f64 = 0.01;
/// One tick of 10 ms in a second is 1%, so a single tick is no evidence.
const SOME_STEAL: f64 = 0.02;
/// A tenth of the machine is stolen.
const MUCH_STEAL: f64 = 0.10;
/// Below this busy share, steal is not visible: only runnable threads lose time.
const BUSY_ENOUGH: f64 = 0.25;
/// Share of windows above which a block of a study is flagged.
const SOME_NEIGHBOUR: f64 = 0.10;
/// A sibling that is busy half of the time.
const MUCH_NEIGHBOUR: f64 = 0.50;
/// Number of processes named.
const NAMED: usize = 3;

/// Other load on the allowed logical CPUs.
pub(super) fn other_load(case: &Case<'_>) -> Answer {
    let Some((live, total_ns)) = watched(case) else { return Answer::not_measured("/proc/stat") };
    let source = format!("/proc/stat over {:.1} s", longest_ns(&live.cpu_times) as f64 / 1e9);
    let busy_ns: u64 = ours(&live.cpu_times, &case.allowed).map(|times| times.busy_ns).sum();
    let share = busy_ns as f64 / total_ns as f64;
    let most = most_busy(&live.processes, longest_ns(&live.cpu_times));
    let found = format!("others use {} of the allowed logical CPUs{most}", percent(share));
    let remedy = "stop them, or wait; threadwise run --allow-busy measures anyway";
    match share {
        share if share > MOST_OTHER_LOAD => Answer::problem(found, source).remedied(remedy),
        share if share > SOME_OTHER_LOAD => Answer::warning(found, source).remedied(remedy),
        _ => Answer::ok(found, source),
    }
}

/// `: postgres 0.82 CPUs (process 7), …`, or why no process is named.
fn most_busy(processes: &[ProcessLoad], window_ns: u64) -> String {
    let mut processes: Vec<&ProcessLoad> = processes.iter().filter(|load| load.cpu_ns > 0).collect();
    processes.sort_by_key(|load| (std::cmp::Reverse(load.cpu_ns), load.process.pid));
    let one = |load: &&ProcessLoad| {
        let cpus = load.cpu_ns as f64 / window_ns.max(1) as f64;
        format!("{} {cpus:.2} CPUs (process {})", load.process.name, load.process.pid)
    };
    let named: Vec<String> = processes.iter().take(NAMED).map(one).collect();
    match named.is_empty() {
        true => "; no visible process is among them".to_owned(),
        false => format!(": {}", named.join(", ")),
    }
}

/// A database server that would disturb, and be disturbed.
pub(super) fn database_server(case: &Case<'_>) -> Answer {
    const SOURCE: &str = "/proc/PID/comm";
    let Some(live) = case.live.filter(|live| live.database_server_sought) else {
        return Answer::not_measured(SOURCE);
    };
    match &live.database_server {
        None => Answer::ok("no known database server is running", SOURCE),
        Some(server) => Answer::problem(
            format!(
                "{} is running (process {}): it and a study would disturb each other",
                server.name, server.pid
            ),
            SOURCE,
        )
        .remedied("stop it, or measure on another machine; threadwise run --allow-busy measures anyway"),
    }
}

/// Time that the hypervisor gave to other guests while a thread here was runnable.
pub(super) fn steal(case: &Case<'_>) -> Answer {
    let Some((live, total_ns)) = watched(case) else { return Answer::not_measured("/proc/stat") };
    let source = format!("/proc/stat over {:.1} s", longest_ns(&live.cpu_times) as f64 / 1e9);
    let times = || ours(&live.cpu_times, &case.allowed).filter(|times| times.total_ns > 0);
    let stolen_ns: u64 = times().map(|times| times.steal_ns).sum();
    let wanted_ns: u64 = times().map(|times| times.busy_ns.saturating_add(times.steal_ns)).sum();
    let share_of = |times: &CpuTimes| times.steal_ns as f64 / times.total_ns as f64;
    let worst = times().max_by(|a, b| share_of(a).total_cmp(&share_of(b)));
    let (worst_cpu, worst) = worst.map_or((0, 0.0), |times| (times.cpu, share_of(times)));
    let mean = stolen_ns as f64 / total_ns as f64;
    let found =
        format!("{} of the time was stolen, most on CPU {worst_cpu} ({})", percent(mean), percent(worst));
    let remedy = "measure when the host is quieter, or on an instance that shares no CPU (a dedicated host)";
    match (mean, worst) {
        (mean, _) if mean >= MUCH_STEAL => Answer::problem(found, source).remedied(remedy),
        (_, worst) if worst >= SOME_STEAL => Answer::warning(found, source).remedied(remedy),
        _ if stolen_ns > 0 => Answer::ok(found, source),
        _ if case.hypervisor().is_none() => Answer::ok("none, and no hypervisor that could steal", source),
        _ => {
            let wanted = percent(wanted_ns as f64 / total_ns as f64);
            let hint = match (wanted_ns as f64) < BUSY_ENOUGH * total_ns as f64 {
                true => ": steal is visible only under load, and every run records it",
                false => "",
            };
            Answer::ok(format!("none, while the machine was {wanted} busy{hint}"), source)
        }
    }
}

/// Other work on the sibling threads of our cores.
pub(super) fn neighbour(case: &Case<'_>) -> Answer {
    let neighbours = case.live.map_or(&[][..], |live| &live.neighbours);
    let windows: u32 = neighbours.iter().map(|neighbour| neighbour.windows).sum();
    let source = format!("adds per chain step in {windows} windows");
    let share = |neighbour: &&Neighbour| Some((neighbour.cpu, neighbour.busy_share?));
    let known: Vec<(u32, f64)> = neighbours.iter().filter_map(|neighbour| share(&neighbour)).collect();
    let Some(&(cpu, worst)) = known.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return match neighbours.first() {
            None => Answer::not_measured("adds per chain step").remedied("threadwise probe"),
            Some(first) => {
                Answer::unknown(format!("no baseline on CPU {}: {}", first.cpu, first.why), source)
                    .remedied("threadwise probe, when the machine is quieter")
            }
        };
    };
    let unknown = neighbours.len() - known.len();
    let rest = if unknown > 0 { format!(", {unknown} of them without a baseline") } else { String::new() };
    let probed = format!("{} logical CPUs probed{rest}", neighbours.len());
    let found = match worst < 0.0005 {
        true => format!("no other work was detected on siblings ({probed})"),
        false => format!(
            "other work on siblings is highest beside CPU {cpu}: {} of the time ({probed})",
            percent(worst)
        ),
    };
    let remedy = match case.hypervisor() {
        Some(_) => {
            "measure when the neighbours are quieter, or on an instance with whole cores (a dedicated host)"
                .to_owned()
        }
        None => {
            "find who runs there: ps -eLo psr,pcpu,comm --sort=-pcpu | head; then stop it or wait".to_owned()
        }
    };
    match worst {
        worst if worst > MUCH_NEIGHBOUR => Answer::problem(found, source).remedied(remedy),
        worst if worst > SOME_NEIGHBOUR => Answer::warning(found, source).remedied(remedy),
        // A CPU without data may have a neighbour.
        _ if unknown > 0 => Answer::unknown(found, source),
        _ => Answer::ok(found, source),
    }
}

/// The live facts and the capacity of the allowed CPUs in the watched time, if any.
fn watched<'a>(case: &Case<'a>) -> Option<(&'a crate::Live, u64)> {
    let live = case.live?;
    let total_ns = ours(&live.cpu_times, &case.allowed).map(|times| times.total_ns).sum();
    (total_ns > 0).then_some((live, total_ns))
}

fn ours<'t>(times: &'t [CpuTimes], allowed: &CpuSet) -> impl Iterator<Item = &'t CpuTimes> {
    times.iter().filter(move |times| allowed.contains(times.cpu))
}

fn longest_ns(times: &[CpuTimes]) -> u64 {
    times.iter().map(|times| times.total_ns).max().unwrap_or(0)
}
