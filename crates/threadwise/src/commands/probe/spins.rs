//! `threadwise probe spins`: an upper bound for the cost of spins from their counts, and the share of a running server's CPU
//! time that is spinning.
//!
//! `perf` samples a server. Its event `cpu-clock` is a kernel timer and needs no processor counter, so it works in
//! virtual machines too (perf-record(1), perf-script(1)).

use crate::error::AppError;
use crate::output;
use clap::Args;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_analysis::spins::{Cost, Counted, Kind, Samples, read};
use threadwise_document::numbers;
use threadwise_machine::text::one_line;
use threadwise_process::{proc, programs};
use threadwise_report::json;

/// Arguments of `spins`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise probe spins --spins 113,246,628 --seconds 10.434 --ghz 2.4 --cpus 5
  threadwise probe spins --spins 6692284057 --backoffs 1e6 --seconds 18.388 --ghz 2.4 --cpus 5 --share 0.26%
  threadwise probe spins --pid $(pgrep -o postgres)             sample a running server for 10 s, with perf
  threadwise probe spins --pid 4711 --seconds 60 --json

Cycles a spin are an upper bound, as if all the time had been spent spinning; with a sampled share of
spinning they are an estimate. Siblings share their core's cycles: give the number of cores, and the
clock that they really had.

All options: threadwise probe spins --help-all")]
pub struct SpinsArgs {
    /// Counted spins (113246628, 113,246,628 or 1.13e8)
    #[arg(long, value_name = "N", value_parser = crate::input::positive, conflicts_with = "pid", help_heading = "What was counted")]
    pub spins: Option<f64>,
    /// Counted backoffs
    #[arg(long, value_name = "N", value_parser = crate::input::positive, requires = "spins", help_heading = "What was counted")]
    pub backoffs: Option<f64>,
    /// Seconds in which they were counted, or of sampling [default: 10]
    #[arg(long, value_name = "S", value_parser = crate::input::positive, help_heading = "What was counted")]
    pub seconds: Option<f64>,
    /// Clock during the count, GHz
    #[arg(long, value_name = "F", value_parser = crate::input::positive, requires = "spins", help_heading = "What was counted")]
    pub ghz: Option<f64>,
    /// Number of busy cores
    #[arg(long, value_name = "N", value_parser = crate::input::positive, requires = "spins", help_heading = "What was counted")]
    pub cpus: Option<f64>,
    /// Sampled share of the CPU time that was spinning, such as 0.26%
    #[arg(long, value_name = "P%", value_parser = crate::input::percent, requires = "spins", help_heading = "What was counted")]
    pub share: Option<f64>,
    /// Sample this process and its children with perf
    #[arg(long, value_name = "PID", help_heading = "A running server")]
    pub pid: Option<u32>,
    /// Print JSON (docs/JSON.md)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Maximum functions shown.
const SHOWN: usize = 10;
/// Maximum length of a function's name, and of perf's message.
const MAX_NAME: usize = 80;
/// Default duration of sampling, seconds.
const SAMPLED_S: f64 = 10.0;
/// Maximum duration of sampling, seconds: samples are kept in memory.
const MOST_SAMPLED_S: f64 = 3600.0;
/// Samples per second and logical CPU: not a divisor of the kernel's tick, so that samples are not in phase with it.
const FREQUENCY_HZ: u32 = 199;
/// Number of attempts, if processes end before perf opens them.
const MOST_TRIES: u32 = 5;
/// Maximum number of processes for perf.
const MOST_PROCESSES: usize = 2000;

/// Computes or samples, as asked.
pub fn spins(args: &SpinsArgs) -> Result<(), AppError> {
    match args.pid {
        Some(pid) => of_process(pid, args),
        None => of_counts(args),
    }
}

fn of_counts(args: &SpinsArgs) -> Result<(), AppError> {
    let (Some(spins), Some(seconds), Some(ghz), Some(cores)) =
        (args.spins, args.seconds, args.ghz, args.cpus)
    else {
        return Err(AppError::Input(
            "give --spins, --seconds, --ghz and --cpus together, or --pid of a running server".to_owned(),
        ));
    };
    let counted = Counted { spins, backoffs: args.backoffs, seconds, ghz, cores, spinning_share: args.share };
    let cost = counted.cost().ok_or_else(|| {
        AppError::Input("these numbers are too large or too small to compute with".to_owned())
    })?;
    match args.json {
        true => output::print(&json::spins_counted(&counted, &cost)),
        false => output::print(&text_of_counts(&counted, &cost)),
    }
}

fn text_of_counts(counted: &Counted, cost: &Cost) -> String {
    let mut lines = vec![format!(
        "at most {} cycles a spin: {} s of {} at {} GHz are {} cycles, as if all of them had been spinning, for {} spins",
        cycles(cost.cycles_per_spin_bound),
        numbers::set_number(counted.seconds),
        numbers::counted(counted.cores.round() as usize, "core"),
        numbers::set_number(counted.ghz),
        numbers::compact(cost.cycles, 4),
        numbers::compact(counted.spins, 4)
    )];
    if let (Some(each), Some(share)) = (cost.cycles_per_spin, counted.spinning_share) {
        lines.push(format!(
            "{} cycles a spin if {}% of the time was spent spinning; without any spin, at most that share is gained",
            cycles(each),
            numbers::significant(100.0 * share, 2)
        ));
    }
    lines.extend(cost.spins_per_backoff.map(|spins| format!("{} spins a backoff", cycles(spins))));
    let share = |share: f64| match share > 1.0 {
        true => "more than all of the time (so they are shorter)".to_owned(),
        false => format!("{} of the time", numbers::percent(share)),
    };
    lines.push(format!(
        "with a PAUSE of 10 cycles a spin (Intel before Skylake) spins take {}, with 140 cycles (since then) {}",
        share(cost.share_at_10_cycles),
        share(cost.share_at_140_cycles)
    ));
    lines.push("the clock is the given one: a turbo clock may be half again the nominal one".to_owned());
    lines.join("\n") + "\n"
}

fn cycles(value: f64) -> String {
    match value < 10.0 {
        true => numbers::significant(value, 2),
        false => numbers::grouped(value.round() as u64),
    }
}

fn of_process(pid: u32, args: &SpinsArgs) -> Result<(), AppError> {
    let seconds = args.seconds.unwrap_or(SAMPLED_S).ceil() as u64;
    let path = std::env::var_os("PATH").unwrap_or_default();
    if seconds as f64 > MOST_SAMPLED_S {
        return Err(AppError::Input("--seconds: at most an hour can be sampled".to_owned()));
    }
    if proc::comm(pid).is_none() {
        return Err(AppError::Input(format!("--pid {pid}: no such process")));
    }
    output::tell(&format!("sampling process {pid} and its children for {seconds} s"));
    let samples = read(&perf(pid, seconds, &path)?);
    if samples.total() == 0 {
        return Err(AppError::Failed(format!(
            "process {pid} used no CPU time in {seconds} s, so there are no samples; sample it under load"
        )));
    }
    match args.json {
        true => output::print(&json::spins_sampled(pid, seconds, &samples)),
        false => output::print(&text_of_samples(&samples)),
    }
}

/// Samples a process and all its descendants: the output of `perf script`.
fn perf(pid: u32, seconds: u64, path: &OsStr) -> Result<String, AppError> {
    let perf = programs::find(&["perf"], &[], path).ok_or_else(|| {
        AppError::Failed(
            "perf is not installed: it is in the package linux-perf (Debian), linux-tools-generic (Ubuntu) or perf (Red Hat, SUSE)"
                .to_owned(),
        )
    })?;
    let mut tries = 0;
    loop {
        tries += 1;
        let pids = family(pid);
        let (text, message) = sampled(&perf, &pids, seconds)?;
        // Samples from before the process ended are valid, though perf then ends with an error.
        match message {
            Some(_) if !text.is_empty() => return Ok(text),
            None => return Ok(text),
            Some(_) if proc::comm(pid).is_none() => {
                return Err(AppError::Failed(format!(
                    "process {pid} ended before it was sampled: give one that keeps running"
                )));
            }
            // If a session ends before perf opens it, perf refuses all of them.
            Some(_) if tries < MOST_TRIES && pids.iter().any(|pid| proc::comm(*pid).is_none()) => {}
            Some(message) => return Err(AppError::Failed(refusal(&message))),
        }
    }
}

/// The output of `perf script` for some processes, and perf's message if it failed.
fn sampled(perf: &Path, pids: &[u32], seconds: u64) -> Result<(String, Option<String>), AppError> {
    let failed =
        |cause: std::io::Error| AppError::Failed(format!("{} cannot be run: {cause}", perf.display()));
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let mut record = Command::new(perf)
        .args(["record", "--quiet", "-e", "cpu-clock", "-F", &FREQUENCY_HZ.to_string(), "-o", "-"])
        .args(["-p", &pids.join(","), "--", "sleep", &seconds.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let data = record.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let script = Command::new(perf)
        .args(["script", "-F", "time,ip,sym", "-i", "-"])
        .stdin(data)
        .output()
        .map_err(failed);
    let recorded = record.wait_with_output().map_err(failed)?;
    let script = script?;
    let ends = [(recorded.status, &recorded.stderr), (script.status, &script.stderr)];
    let bad = ends.into_iter().find(|(ended, _)| !ended.success());
    let message = bad.map(|(_, message)| String::from_utf8_lossy(message).into_owned());
    Ok((String::from_utf8_lossy(&script.stdout).into_owned(), message))
}

/// A process and its descendants.
fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut at = 0;
    while at < family.len() && family.len() < MOST_PROCESSES {
        let children = proc::children(family[at]);
        family.extend(children.into_iter().filter(|child| !family.contains(child)).collect::<Vec<_>>());
        at += 1;
    }
    family.truncate(MOST_PROCESSES);
    family
}

/// perf's own message in one line, and the needed permission.
fn refusal(message: &str) -> String {
    let first = message.lines().map(str::trim).find(|line| !line.is_empty() && *line != "Error:");
    format!(
        "perf cannot sample the process: {}: be the same user with kernel.perf_event_paranoid of 2 or less, or have CAP_PERFMON",
        one_line(first.unwrap_or("it gives no reason").trim_end_matches('.'), MAX_NAME)
    )
}

fn text_of_samples(samples: &Samples) -> String {
    let share = |kind: Kind| {
        samples.share(kind).map_or_else(
            || "unknown (too few samples a second)".to_owned(),
            |share| match numbers::interval(&share) {
                (value, Some(ends)) => format!("{value} {ends}"),
                (value, None) => value,
            },
        )
    };
    let all = samples.total();
    let mut text = format!(
        "CPU samples in functions that spin: {}; in functions that take locks or wait for them: {} (of {} samples; 95% intervals over seconds)\n",
        share(Kind::Spin),
        share(Kind::Wait),
        numbers::grouped(all)
    );
    let mut functions: Vec<(&(Kind, String), &u64)> = samples.by_function.iter().collect();
    functions.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for ((kind, function), count) in functions.iter().take(SHOWN) {
        let part = numbers::percent(**count as f64 / all as f64);
        text.push_str(&format!("  {part:>8}  {}  {}\n", kind.word(), one_line(function, MAX_NAME)));
    }
    if samples.unnamed > 0 {
        text.push_str(&format!(
            "{} of the samples have no function name and may be spinning too: install the server's debug symbols, and run as root \
             for kernel names\n",
            numbers::percent(samples.unnamed as f64 / all as f64)
        ));
    } else {
        text.push_str("Without any spin, at most the share of spins would be gained.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_one_line_each() {
        let counted = Counted {
            spins: 6_692_284_057.0,
            backoffs: Some(1e6),
            seconds: 18.388,
            ghz: 2.4,
            cores: 5.0,
            spinning_share: Some(0.0026),
        };
        let text = text_of_counts(&counted, &counted.cost().unwrap());
        assert!(text.starts_with("at most 33 cycles a spin: "), "{text}");
        assert!(text.contains("\n0.086 cycles a spin if 0.26% of the time"), "{text}");
        assert!(
            text.contains("\n6,692 spins a backoff\n") && text.contains("more than all of the time"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_perf_and_its_refusal_are_said() {
        let missing = perf(std::process::id(), 1, OsStr::new("/proc/nowhere")).unwrap_err();
        assert!(missing.to_string().contains("perf is not installed"), "{missing}");
        assert!(
            refusal("Error:\nNo permission.\n")
                .contains("sample the process: No permission: be the same user")
        );
    }
}
