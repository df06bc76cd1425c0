//! How often waking is said to be a large part of a step where it is less than that, and where it is more. Printed in
//! docs/METHODOLOGY.md.

use super::noise::Normal;
use threadwise_analysis::round_trips::{LEAST_SHARE, Step, waking_share};

const STUDIES: u64 = 2000;
/// Standard deviation over blocks of the logarithm of the latency.
const BLOCK_SD: f64 = 0.05;
const ALPHA: f64 = 0.05;

/// A client's steps: the share of 100 µs that wake-ups take in truth.
#[derive(Clone, Copy)]
struct Client {
    waking: f64,
    /// Correlation of neighbouring blocks.
    ar1: f64,
}

/// One study's blocks.
fn steps(client: Client, blocks: usize, seed: u64) -> Vec<Step> {
    let mut random = Normal::new(seed);
    let mut level = random.draw();
    let fresh = (1.0 - client.ar1 * client.ar1).sqrt();
    let block = |_| {
        level = client.ar1 * level + fresh * random.draw();
        // The mean of 1 / latency is 1 / 100 µs.
        let latency_ns = 1e5 * (BLOCK_SD * level + BLOCK_SD * BLOCK_SD / 2.0).exp();
        Step { latency_ns, round_trips: 1.0, idle_share: 0.5 }
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
    println!("waking in truth, blocks, correlation: said");
    for ar1 in [0.0, 0.3] {
        for blocks in [8, 16, 64] {
            for waking in [0.22, LEAST_SHARE, 0.27, 0.30, 0.60] {
                let share = said(Client { waking, ar1 }, blocks);
                println!("{:4.0}% {blocks:>3} {ar1}: {:5.1}%", 100.0 * waking, 100.0 * share);
                assert!(waking > LEAST_SHARE || share < 0.07, "{waking} {blocks} {ar1}: {share}");
                assert!(waking < 0.3 || share > 0.98, "{waking} {blocks} {ar1}: {share}");
            }
        }
    }
}
