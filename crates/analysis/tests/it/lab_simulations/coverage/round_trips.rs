//! How often waking is said to be a large part of a step where it is less than that, and where it is more. Printed in
//! docs/METHODOLOGY.md.

use super::noise::Normal;
use threadwise_analysis::round_trips::{LEAST_SHARE, Step, waking_share};

const STUDIES: u64 = 2000;
/// Standard deviation over blocks of the logarithms of latency and CPU time.
const BLOCK_SD: f64 = 0.05;
const ALPHA: f64 = 0.05;

/// A client's steps: the share of 100 µs that wake-ups take in truth, and the share in which neither side runs.
#[derive(Clone, Copy)]
struct Client {
    waking: f64,
    idle: f64,
    /// Correlation of neighbouring blocks.
    ar1: f64,
}

/// One study's blocks. Latencies vary around a mean of 100 µs by what is not waking.
fn steps(client: Client, blocks: usize, seed: u64) -> Vec<Step> {
    let mut random = Normal::new(seed);
    let mut levels = [random.draw(), random.draw()];
    let fresh = (1.0 - client.ar1 * client.ar1).sqrt();
    let block = |_| {
        levels = levels.map(|level| client.ar1 * level + fresh * random.draw());
        let [latency, cpu] = levels.map(|level| (BLOCK_SD * level - BLOCK_SD * BLOCK_SD / 2.0).exp());
        // The mean of 1 / latency is larger than 1 over the mean by sd².
        let latency_ns = 1e5 * latency * (BLOCK_SD * BLOCK_SD).exp();
        Step { latency_ns, cpu_ns: 1e5 * (1.0 - client.idle) * cpu, round_trips: 1.0 }
    };
    (0..blocks).map(block).collect()
}

/// Share of studies that say so.
fn said(client: Client, blocks: usize) -> f64 {
    let wakeup_ns = 1e5 * client.waking / 2.0;
    let says = |seed: &u64| {
        let share = waking_share(&steps(client, blocks, *seed), wakeup_ns, ALPHA);
        share.is_some_and(|share| share.low >= LEAST_SHARE)
    };
    (0..STUDIES).filter(says).count() as f64 / STUDIES as f64
}

#[test]
#[ignore = "laboratory: simulations"]
fn waking_is_seldom_called_a_large_part_where_it_is_not() {
    println!("waking in truth, not running, blocks, correlation: said");
    for ar1 in [0.0, 0.3] {
        for blocks in [8, 16, 64] {
            for (waking, idle) in [(0.30, 0.7), (LEAST_SHARE, 0.7), (0.40, 0.7), (0.60, 0.7), (0.60, 0.30)] {
                let share = said(Client { waking, idle, ar1 }, blocks);
                println!(
                    "{:4.0}% {:4.0}% {blocks:>3} {ar1}: {:5.1}%",
                    100.0 * waking,
                    100.0 * idle,
                    100.0 * share
                );
                let truth = waking.min(idle);
                assert!(truth > LEAST_SHARE || share < 0.06, "{waking} {idle} {blocks} {ar1}: {share}");
                assert!(truth < 0.5 || share > 0.99, "{waking} {idle} {blocks} {ar1}: {share}");
            }
        }
    }
}
