//! Lines and sums as a user sees them, what a look costs, and clocks.

use super::*;
use threadwise_probe::kernels::WIDE_ADDS_PER_STEP;
use threadwise_probe::look::{CHAIN_STEPS, WAIT_AT_MOST, WIDE_STEPS};
use threadwise_study::{CpuLook, PairLook};

fn look() -> Look {
    let cpu = |cpu| CpuLook { cpu, chain_ns: Some(0.278), adds_per_step: Some(4.4) };
    let pairs =
        vec![PairLook { a: 0, b: 3, line_ns: Some(61.25) }, PairLook { a: 1, b: 2, line_ns: Some(6.94) }];
    Look { start_ns: 0, took_ns: 25_000, cpus: (0..5).map(cpu).collect(), pairs, alone: None }
}

const SHARES: [Share; 5] = [Share::Alone, Share::With(2), Share::With(1), Share::Alone, Share::Neighbour];

#[test]
fn a_line_names_each_cpu_once() {
    let shown = line(&look(), &SHARES);
    let (_, words) = shown.split_once("  ").unwrap();
    assert_eq!(words, "alone 0,3  one core 1+2  neighbour 4  lines 6.94 ns to 61.2 ns\n");
}

#[test]
fn a_summary_has_the_share_of_every_state() {
    let mut seen: BTreeMap<u32, BTreeMap<&str, u64>> = BTreeMap::new();
    seen.insert(0, BTreeMap::from([("alone", 75), ("neighbour", 25)]));
    let text = summary(&seen, 100, Duration::from_secs(100));
    assert_eq!(text, "\n100 looks in 100 s\n  logical CPU 0    alone 75%, neighbour 25%\n");
}

#[test]
fn a_slow_clock_is_said_and_a_usual_one_is_not() {
    for read_ns in [18.0, 35.0, 60.0, 90.0] {
        assert_eq!(slow_clock(read_ns), None, "{read_ns}");
    }
    let said = slow_clock(640.0).unwrap();
    assert!(said.contains("takes 640 ns") && said.contains("a line seems 10.0 ns longer"), "{said}");
}

/// A look at 64 logical CPUs of 32 cores, the clock at 1 GHz, both siblings of each core running: microseconds that
/// it keeps each busy, where all come at once and where each waits as long as it may.
fn busy_us(lines_ns: f64) -> [f64; 2] {
    const CYCLE_US: f64 = 1e-3;
    const SHARED: f64 = 2.4;
    let wide = WIDE_STEPS as f64 * WIDE_ADDS_PER_STEP / SHARED;
    let kernels_us = CYCLE_US * (CHAIN_STEPS as f64 + wide);
    let line_us = 3.0 * MOVES_PER_READING as f64 * lines_ns / 1000.0;
    [kernels_us + line_us, kernels_us + WAIT_AT_MOST.as_secs_f64() * 1e6]
}

/// `cargo test -p threadwise 64_logical_cpus -- --nocapture` prints the figures.
#[test]
#[allow(clippy::print_stdout)]
fn a_look_a_second_at_64_logical_cpus_takes_less_than_a_hundredth_of_each() {
    const CPUS: u32 = 64;
    let cpus: Vec<u32> = (0..CPUS).collect();
    let mut follower = Follower::new(&cpus);
    let mut seconds = [0.0, 0.0];
    let (mut judged, looks) = (Duration::ZERO, 600);
    for _ in 0..looks {
        let began = Instant::now();
        let pairs = follower.pairs();
        judged += began.elapsed();
        let mut taken: Vec<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        taken.sort_unstable();
        // Each passes one line: what a look costs a logical CPU does not grow with how many there are.
        assert_eq!(taken, cpus);
        for (sum, busy_us) in seconds.iter_mut().zip(busy_us(61.0)) {
            *sum += busy_us / 1e6;
        }
        let cpu = |cpu| CpuLook { cpu, chain_ns: Some(1.0), adds_per_step: Some(2.4 + f64::from(cpu % 2)) };
        let line = |&(a, b): &(u32, u32)| PairLook { a, b, line_ns: Some(61.0) };
        let look = Look {
            start_ns: 0,
            took_ns: 1,
            cpus: cpus.iter().copied().map(cpu).collect(),
            pairs: pairs.iter().map(line).collect(),
            alone: None,
        };
        let began = Instant::now();
        follower.judge(&look);
        judged += began.elapsed();
    }
    let shares = seconds.map(|sum| sum / f64::from(looks));
    println!(
        "a look a second at {CPUS} logical CPUs of 1 GHz takes {:.3}% of each, {:.3}% where one is late; to pair and \
         judge takes {:.2} ms a look of the logical CPU where `watch` runs",
        100.0 * shares[0],
        100.0 * shares[1],
        judged.as_secs_f64() * 1e3 / f64::from(looks)
    );
    assert!(shares[0] < shares[1] && shares[1] < 0.01, "{shares:?}");
}
