//! `cargo xtask emulated [--seed N] [--seconds S]`: looks compared with a known schedule.
//!
//! `threadwise watch` runs in an emulated guest with two logical CPUs, each a thread of QEMU. They are bound by turns
//! of random lengths to one logical CPU of the host and to two, unknown to the guest; the guest's output on its serial
//! console is compared with that ([`agreement`]).

mod agreement;
mod host;
mod host_looks;
mod lines;
mod schedule;

use crate::lab::guest::arch::X86_64;
use crate::lab::guest::parts::{self, Parts};
use crate::lab::guest::{Guest, Running};
use crate::lab::watched::Line;
use agreement::{Agreement, Counts, HOST_NEAR, HostLook, LATE_NS, Look, MARGIN, Move, Verdict};
use host_looks::HostLooks;
use std::time::{Duration, Instant};

/// Two cores without SMT, which look endlessly. The thread that wakes the lookers may be on any logical CPU;
/// the guest's scheduler would leave it on the same one for many seconds, so it is bound to each in turn.
fn guest() -> Guest {
    let commands = [
        "threadwise watch --json --every 40ms & watch=$!",
        "until grep -q look-1 /proc/$watch/task/*/comm; do sleep 0.1; done",
        "while kill -0 $watch; do taskset -p 1 $watch; sleep 2; taskset -p 2 $watch; sleep 2; done >/dev/null",
    ];
    Guest { smp: [1, 2, 1], commands: commands.map(str::to_owned).to_vec(), ..Guest::default() }
}

/// From the start to the first shown look; 3 to 5 s if the host is not busy.
const BOOTED_WITHIN: Duration = Duration::from_secs(120);

/// Time from look to look, of the guest and of the host.
const EVERY: &str = "40ms";

/// Number of tries on a host that is not as the schedule assumes.
const ATTEMPTS: u64 = 3;

/// The command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// Of the schedule
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Duration of the schedule
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=3600))]
    pub seconds: u64,
}

/// Boots the guest, moves its threads, and compares.
pub fn run(options: Options) -> Result<(), String> {
    let cpus = host::two_cpus()?;
    let parts = parts::ready(&X86_64)?;
    // Until the verdict is clear, each time with the next seed.
    for seed in options.seed..options.seed + ATTEMPTS {
        match compare(Options { seed, ..options }, &parts, cpus)? {
            Verdict::Holds => return Ok(()),
            Verdict::Fails(why) => return Err(why),
            Verdict::Unclear(why) => println!("unclear: {why}\n"),
        }
    }
    println!(
        "NOT JUDGED in {ATTEMPTS} attempts, for the reasons above; repeat 'cargo xtask emulated' on a quieter machine"
    );
    Ok(())
}

fn compare(options: Options, parts: &Parts, cpus: [usize; 2]) -> Result<Verdict, String> {
    let length = Duration::from_secs(options.seconds);
    let guest = guest();
    let mut running = guest.boot(parts, BOOTED_WITHIN + length)?;
    let threads = running.cpu_threads(&guest)?;
    host::place(&threads, cpus)?;
    let booting = Instant::now();
    while !lines::is_look(&next(&mut running)?.text) {}
    println!("looks from an emulated guest after {:.1} s", booting.elapsed().as_secs_f64());
    let host_looks = HostLooks::start(&parts.program, cpus, EVERY)?;
    // Not before: preferred threads that boot take the CPU from all others.
    let is_preferred = host::prefer(running.process()) && host_looks.prefer();
    let start = Instant::now();
    let (looks, moves, unreadable) = watched(options, start, &mut running, &threads, cpus)?;
    let of_host: Vec<HostLook> = host_looks.since(start);
    drop((running, host_looks));
    let found = Agreement::new(&looks, &moves, &of_host);
    print(options, is_preferred, &found, &moves, unreadable);
    Ok(found.verdict())
}

/// The next line, within the guest's time.
fn next(running: &mut Running) -> Result<Line, String> {
    loop {
        if let Some(line) = running.line(Instant::now() + BOOTED_WITHIN)? {
            return Ok(line);
        }
    }
}

/// Looks while the threads are moved, the moves, and the number of unreadable lines.
fn watched(
    options: Options,
    start: Instant,
    running: &mut Running,
    threads: &[u32],
    cpus: [usize; 2],
) -> Result<(Vec<Look>, Vec<Move>, usize), String> {
    // QEMU's first thread passes on interrupts and the console.
    let needed = [threads, &[running.process()]].concat();
    let mut waited_ns = host::waited_ns(running.process(), &needed)?;
    let (mut seen, mut moves, mut unreadable) = (Vec::new(), Vec::new(), 0);
    for phase in schedule::drawn(options.seed, Duration::from_secs(options.seconds)) {
        let began = start.elapsed();
        let places = phase.places.map(|place| cpus[place]);
        host::place(threads, places)?;
        // QEMU's first thread holds QEMU's lock at times. On another logical CPU than stacked threads it would let the one
        // that runs sleep for the lock, and the other run meanwhile: both would be in one look by turns. On theirs it
        // runs before both.
        host::bind(running.process(), &places)?;
        let ended = start.elapsed();
        moves.push(Move { began, ended, is_stacked: phase.is_stacked() });
        let until = start + ended + phase.length;
        while let Some(line) = running.line(until)? {
            let now_ns = host::waited_ns(running.process(), &needed)?;
            let longest_ns =
                now_ns.iter().zip(&waited_ns).map(|(now, before)| now.saturating_sub(*before)).max();
            match lines::read(&line.text) {
                Some(read) => seen.push((line.arrived.duration_since(start), read, longest_ns.unwrap_or(0))),
                None => unreadable += 1,
            }
            waited_ns = now_ns;
            if Instant::now() >= until {
                break;
            }
        }
    }
    Ok((lines::dated(seen), moves, unreadable))
}

fn print(options: Options, is_preferred: bool, found: &Agreement, moves: &[Move], unreadable: usize) {
    let Options { seed, seconds } = options;
    let how = if is_preferred { "SCHED_FIFO" } else { "with normal priority" };
    println!("seed {seed}, {seconds} s; the guest's threads ran on the host {how}\n");
    println!("            phases    looks   agree    share   95% interval");
    for (word, counts, is_stacked) in [("apart", &found.apart, false), ("stacked", &found.stacked, true)] {
        let phases = moves.iter().filter(|one| one.is_stacked == is_stacked).count();
        let Counts { looks, agree, others } = counts;
        let share = counts.share().map_or("-".to_owned(), |[share, low, high]| {
            format!("{:7.2}%   {:.2}% to {:.2}%", 100.0 * share, 100.0 * low, 100.0 * high)
        });
        println!("  {word:<9} {phases:>6} {looks:>8} {agree:>7} {share}");
        others.iter().for_each(|(states, count)| println!("            {count} {states}"));
    }
    println!(
        "left out: {} within {} ms after a move, {} whose line came as late; while apart: {} for which the host let a \
         thread of QEMU wait {} ms and longer, {} without looks of the host within {} ms that were all apart; \
         {unreadable} unreadable lines",
        found.near_move,
        MARGIN.as_millis(),
        found.late_lines,
        found.host_late,
        LATE_NS as f64 / 1e6,
        found.host_not_apart,
        HOST_NEAR.as_millis(),
    );
    println!("the host's own looks: apart in {} of {}\n", found.host.agree, found.host.looks);
}
