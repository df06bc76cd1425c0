//! `threadwise watch`: where the hypervisor runs our logical CPUs, look by look.

use crate::cli::WatchArgs;
use crate::commands::{probe, stop_flag, topology};
use crate::error::AppError;
use crate::output;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use threadwise_document::numbers;
use threadwise_machine::{CpuSet, Topology};
use threadwise_probe::look::MOVES_PER_READING;
use threadwise_probe::look::live::Lookers;
use threadwise_probe::neighbour::FREE_ADDS;
use threadwise_probe::whole;
use threadwise_report::json;
use threadwise_study::Look;
use threadwise_study::look::SIBLINGS_AT_MOST_NS;
use threadwise_study::look::follow::{Follower, Share};

/// Default maximum of watched logical CPUs: each look covers all of them.
pub const MOST_CPUS: usize = 16;
/// Looks before the first shown one, which find the width of a free core.
const FIRST_LOOKS: u32 = 60;
const FIRST_EVERY: Duration = Duration::from_millis(5);
/// A clock whose reading adds more than this share of the longest sibling time to a line is reported.
const LONGER_SHARE: f64 = 0.1;
/// Polling interval of the stop flag.
const PATIENCE: Duration = Duration::from_millis(100);

/// Looks until it is stopped, one line each, then prints a summary.
pub fn watch(args: &WatchArgs) -> Result<(), AppError> {
    let topology = topology::live()?;
    let cpus = chosen(&topology, args.cpus.as_ref())?;
    let stop = stop_flag()?;
    let lookers = Lookers::new(&cpus.iter().copied().collect()).map_err(probe::probe_error)?;
    let mut follower = Follower::new(&cpus);
    say_what_is_looked_at(&topology, &cpus, args.every);
    slow_clock(lookers.clock_read_ns()).iter().for_each(|line| output::tell(line));
    for _ in 0..FIRST_LOOKS {
        sleep(FIRST_EVERY, &stop);
        one(&lookers, &mut follower, &cpus)?;
    }
    let mut seen: BTreeMap<u32, BTreeMap<&str, u64>> = BTreeMap::new();
    let (every, began) = (Duration::from_secs_f64(args.every), Instant::now());
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) && args.count.is_none_or(|count| looks < count) {
        let (look, shares) = one(&lookers, &mut follower, &cpus)?;
        let text = match args.json {
            true => format!("{}\n", json::watched(&now_utc(), &look, &shares)),
            false => line(&look, &shares),
        };
        output::print(&text)?;
        for (seen_cpu, share) in look.cpus.iter().zip(&shares) {
            *seen.entry(seen_cpu.cpu).or_default().entry(word(share)).or_default() += 1;
        }
        looks += 1;
        if args.count.is_none_or(|count| looks < count) {
            let due = every.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX));
            sleep(due.saturating_sub(began.elapsed()), &stop);
        }
    }
    if args.json { Ok(()) } else { output::print(&summary(&seen, looks, began.elapsed())) }
}

/// The requested logical CPUs, or all allowed ones, thinned out evenly.
pub fn chosen(topology: &Topology, asked: Option<&CpuSet>) -> Result<Vec<u32>, AppError> {
    let cpus = whole::choose(topology, asked).map_err(AppError::input)?;
    match asked {
        None if cpus.len() > MOST_CPUS => {
            Ok((0..MOST_CPUS).map(|at| cpus[at * cpus.len() / MOST_CPUS]).collect())
        }
        _ => Ok(cpus),
    }
}

/// Says on stderr which logical CPUs are looked at, and how often.
pub fn say_what_is_looked_at(topology: &Topology, cpus: &[u32], every_s: f64) {
    let set: CpuSet = cpus.iter().copied().collect();
    let allowed = topology.allowed().len();
    let left = match allowed - cpus.len() {
        0 => String::new(),
        left => format!(", not at {} (--cpus)", numbers::counted(left, "other")),
    };
    output::tell(&format!(
        "looking at {} ({}){left}, every {}; Ctrl-C ends it",
        numbers::counted(cpus.len(), "logical CPU"),
        numbers::cpu_list(&set),
        numbers::seconds(every_s),
    ));
    if FREE_ADDS.is_none() {
        output::tell(
            "the width of this processor's cores is unknown: only cache-line times are shown, and neighbours are \
             not detected",
        );
    }
}

/// A warning if the clock disturbs looks. Coarser clocks are refused before.
fn slow_clock(read_ns: f64) -> Option<String> {
    let per_move_ns = read_ns / MOVES_PER_READING as f64;
    (per_move_ns > LONGER_SHARE * SIBLINGS_AT_MOST_NS).then(|| {
        format!(
            "reading this machine's clock takes {}, so a line seems {} longer than it is: two on one core may seem \
             to be on two, and a neighbour may be missed (`threadwise doctor` shows the clock source)",
            numbers::nanoseconds(read_ns),
            numbers::nanoseconds(per_move_ns),
        )
    })
}

/// One look, judged.
pub fn one(lookers: &Lookers, follower: &mut Follower, cpus: &[u32]) -> Result<(Look, Vec<Share>), AppError> {
    let pairs = follower.pairs();
    let look = lookers.look(cpus, &pairs, follower.test(&pairs)).map_err(probe::probe_error)?;
    let shares = follower.judge(&look);
    Ok((look, shares))
}

/// Sleeps, unless it is stopped.
pub fn sleep(time: Duration, stop: &AtomicBool) {
    let until = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(PATIENCE));
    }
}

fn now_utc() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

fn word(share: &Share) -> &'static str {
    match share {
        Share::With(_) => "one core",
        other => other.word(),
    }
}

/// All words, in display order.
const WORDS: [&str; 7] = ["alone", "one core", "neighbour", "slowed", "apart", "away", "unknown"];

/// `12:25:01  alone 0,3  one core 1+2  lines 6.9 ns to 61.2 ns`
fn line(look: &Look, shares: &[Share]) -> String {
    let of_word = |wanted: &&str| {
        let cpus = look.cpus.iter().zip(shares).filter(|(_, share)| word(share) == *wanted);
        let found: Vec<String> = match *wanted {
            "one core" => cpus.filter_map(|(seen, share)| couple(seen.cpu, share)).collect(),
            _ => {
                let set: CpuSet = cpus.map(|(seen, _)| seen.cpu).collect();
                (!set.is_empty()).then(|| numbers::cpu_list(&set)).into_iter().collect()
            }
        };
        (!found.is_empty()).then(|| format!("{wanted} {}", found.join(" ")))
    };
    let groups: Vec<String> = WORDS.iter().filter_map(of_word).collect();
    let utc = now_utc();
    let time = utc.split('T').nth(1).unwrap_or(&utc).trim_end_matches('Z');
    format!("{time}  {}{}\n", groups.join("  "), lines(look))
}

/// `1+2`, once per pair.
fn couple(cpu: u32, share: &Share) -> Option<String> {
    match share {
        Share::With(other) if cpu < *other => Some(format!("{cpu}+{other}")),
        _ => None,
    }
}

fn lines(look: &Look) -> String {
    let all = || look.pairs.iter().filter_map(|pair| pair.line_ns);
    match (all().reduce(f64::min), all().reduce(f64::max)) {
        (Some(least), Some(most)) if least < most => {
            format!("  lines {} to {}", numbers::nanoseconds(least), numbers::nanoseconds(most))
        }
        (Some(least), _) => format!("  line {}", numbers::nanoseconds(least)),
        _ => String::new(),
    }
}

/// Shares of looks, one line a logical CPU.
fn summary(seen: &BTreeMap<u32, BTreeMap<&str, u64>>, looks: u64, elapsed: Duration) -> String {
    let mut text = format!(
        "\n{} in {}\n",
        numbers::counted(looks as usize, "look"),
        numbers::seconds(elapsed.as_secs_f64())
    );
    for (cpu, words) in seen {
        let share = |word: &&str| {
            let count = *words.get(word)?;
            Some(format!("{word} {}", numbers::percent(count as f64 / looks as f64)))
        };
        let shares: Vec<String> = WORDS.iter().filter_map(share).collect();
        text.push_str(&format!("  logical CPU {cpu:<4} {}\n", shares.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests;
