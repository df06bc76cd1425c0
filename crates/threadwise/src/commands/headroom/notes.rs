//! Notes that `headroom` prints once, before its lines: what is read, the yield in use, and the meaning of columns.

use super::yields::Chosen;
use threadwise_document::numbers;
use threadwise_headroom::{Layout, SmtYield};
use threadwise_machine::Topology;

/// The meaning of columns.
const COLUMNS: &str = "busy: logical CPUs, as the operating system shows it; cores busy: cores with a busy logical CPU; \
                       capacity used: work done, as a share of the maximum; headroom: the rest of it";

/// Facts for the notes.
pub struct About<'a> {
    pub topology: &'a Topology,
    pub layout: &'a Layout,
    /// The SMT yield in use.
    pub smt_yield: SmtYield,
    /// Its source.
    pub chosen: &'a Chosen,
    /// Why the clock is not counted, if so.
    pub no_clock: Option<&'a str>,
    /// Why task switches are not traced, if so.
    pub no_switches: Option<&'a str>,
    /// Interval between lines, seconds.
    pub interval_s: f64,
    /// Whether it is a recorded machine.
    pub is_recorded: bool,
}

/// The notes, a line each.
pub fn notes(about: &About<'_>) -> Vec<String> {
    let mut lines = vec![covered(about)];
    lines.extend(limited(about));
    match about.layout.most_threads() {
        0 | 1 => lines.push(without_siblings(about.topology)),
        threads => {
            lines.push(capacity(about, threads));
            lines.push(half_busy(about, threads));
            lines.push(switches(about));
        }
    }
    lines.push(clock(about));
    lines.push(COLUMNS.to_owned());
    if may_be_stolen(about.topology) {
        lines.push(
            "stolen: time that the hypervisor gave to other guests; it is not counted as capacity".to_owned(),
        );
    }
    lines.extend(about.chosen.remarks.iter().cloned());
    lines
}

/// Whether a hypervisor may take time from this machine.
pub fn may_be_stolen(topology: &Topology) -> bool {
    topology.identity.hypervisor.is_some()
}

fn covered(about: &About<'_>) -> String {
    let cpus = about.layout.cpus();
    let every = match about.is_recorded {
        true => format!("recorded every {}", numbers::seconds(about.interval_s)),
        false => format!("every {}; Ctrl-C ends it", numbers::seconds(about.interval_s)),
    };
    format!(
        "reading {} ({}) on {}, {every}",
        numbers::counted(cpus.len(), "logical CPU"),
        numbers::cpu_list(&cpus),
        numbers::counted(about.layout.cores().len(), "core"),
    )
}

/// What this process may use of it, if less.
fn limited(about: &About<'_>) -> Option<String> {
    let allowed = about.topology.allowed();
    let quota = about.topology.limits.quota_cpus;
    let cpus = (allowed.len() < about.layout.cpus().len())
        .then(|| format!("{} ({}), the line `allowed`", allowed.len(), numbers::cpu_list(&allowed)));
    let quota =
        quota.map(|cpus| format!("a quota of {} CPUs, which no line shows", numbers::set_number(cpus)));
    let all: Vec<String> = cpus.into_iter().chain(quota).collect();
    (!all.is_empty()).then(|| format!("this process may use {}", all.join(", and ")))
}

fn without_siblings(topology: &Topology) -> String {
    let hidden = match may_be_stolen(topology) {
        true => "; a hypervisor may hide siblings (`threadwise probe` detects them)",
        false => "",
    };
    format!(
        "the system reports no core with two logical CPUs: capacity used is the busy share, and no SMT yield matters{hidden}"
    )
}

fn capacity(about: &About<'_>, threads: usize) -> String {
    let smt_yield = about.smt_yield;
    let number = match smt_yield.is_exact() {
        true => numbers::ratio(smt_yield.low()),
        false => format!("{} to {}", numbers::ratio(smt_yield.low()), numbers::ratio(smt_yield.high())),
    };
    let more = if threads > 2 { "; each further thread is assumed to add as much" } else { "" };
    let less = match smt_yield.low() < 1.0 {
        true => "; below 1 it counts as 1, since one thread then does all that a core can",
        false => "",
    };
    format!(
        "SMT yield (throughput of a core with two busy threads over one busy thread): {number}, {}{more}{less}",
        about.chosen.words
    )
}

/// The capacity at the busy share of one busy thread on each core.
fn half_busy(about: &About<'_>, threads: usize) -> String {
    let [low, high] = about.smt_yield.counted().map(|one| 1.0 / (1.0 + (one - 1.0) * (threads as f64 - 1.0)));
    let used = match about.smt_yield.is_exact() {
        true => numbers::percent(low),
        false => format!("{} to {}", numbers::percent(high), numbers::percent(low)),
    };
    format!(
        "with one thread of each core busy, \"{} busy\" is {used} of the capacity",
        numbers::percent(1.0 / threads as f64)
    )
}

fn switches(about: &About<'_>) -> String {
    match about.no_switches {
        None if may_be_stolen(about.topology) => {
            "exact except for stolen time: task switches tell when siblings were busy together".to_owned()
        }
        None => "exact: task switches tell when siblings were busy together".to_owned(),
        Some(why) => {
            format!(
                "ranges: busy times do not tell whether siblings were busy together; for exact values: {why}"
            )
        }
    }
}

fn clock(about: &About<'_>) -> String {
    match about.no_clock {
        None => "clock: counted, relative to the study's with all logical CPUs busy".to_owned(),
        Some(why) => format!("clock: assumed to be the same at any load ({why})"),
    }
}

#[cfg(test)]
mod tests;
