//! Stopping on width: how often the last interval covers the truth, and how many blocks it takes.

use crate::lab_simulations::coverage::noise::{Machine, QUIET};
use crate::lab_simulations::coverage::rules::{ALPHA, before, count, means, series};
use threadwise_analysis::UNTIL_LEVEL_SHARE;

/// Studies a line, where nothing else is asked for.
const IN_CI: u64 = 400;
/// Blocks at which `--until` looks.
const LOOKS: [usize; 11] = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
/// Blocks at which it looked before, at a fifth of alpha each; it ended at 64.
const LOOKS_BEFORE: [usize; 6] = [8, 16, 32, 64, 128, 256];

/// Studies to ±2%: share covered and mean number of blocks, now and before.
fn until(machine: &Machine, width: f64) -> [(f64, f64); 2] {
    let mut sums = [(0.0, 0.0); 2];
    for seed in 0..count(IN_CI) {
        let study = machine.study(LOOKS[LOOKS.len() - 1], seed);
        let all = series(&study);
        let cut = |blocks: usize| all.iter().map(|d| d[..blocks].to_vec()).collect::<Vec<_>>();
        let truth = machine.truth(0);
        let covers = |(low, high): (f64, f64)| f64::from(u8::from(low <= truth && truth <= high));
        for blocks in LOOKS {
            let means = means(&cut(blocks));
            let alpha = UNTIL_LEVEL_SHARE * ALPHA;
            let is_narrow = means[1..].iter().all(|mean| mean.half_width(alpha).exp_m1() <= width);
            if is_narrow || blocks == LOOKS[LOOKS.len() - 1] {
                sums[0].0 += covers(means[1].interval(alpha));
                sums[0].1 += blocks as f64;
                break;
            }
        }
        for blocks in LOOKS_BEFORE {
            let cut = cut(blocks);
            let is_narrow = cut[1..].iter().all(|d| before(d).half_width(ALPHA / 5.0).exp_m1() <= width);
            if is_narrow || blocks == 256 {
                sums[1].0 += covers(before(&cut[1]).interval(ALPHA / 5.0));
                sums[1].1 += blocks as f64;
                break;
            }
        }
    }
    sums.map(|(covered, blocks)| (covered / count(IN_CI) as f64, blocks / count(IN_CI) as f64))
}

#[test]
#[ignore = "laboratory: simulations"]
fn stopping_on_width_covers_and_takes_fewer_blocks() {
    let with = |block_sd: f64, ar1: f64| Machine {
        effects: vec![0.65, 0.0],
        block_sd: (block_sd / 2.0, block_sd),
        ar1,
        ..QUIET
    };
    for (name, machine, least) in [
        ("independent, 4% over blocks", with(0.04, 0.0), 0.94),
        ("independent, 7% over blocks", with(0.07, 0.0), 0.93),
        ("AR(1) 0.3, 4%", with(0.04, 0.3), 0.92),
        ("AR(1) 0.6, 3%", with(0.03, 0.6), 0.86),
        ("10% of blocks 12% slower", Machine { disturbed: (0.1, 0.12), ..with(0.02, 0.0) }, 0.88),
    ] {
        let [now, then] = until(&machine, 0.02);
        println!(
            "to ±2%, {name}: {:.0} blocks, {:.1}% covered; before {:.0} blocks, {:.1}%",
            now.1,
            100.0 * now.0,
            then.1,
            100.0 * then.0
        );
        assert!(now.0 >= least, "{name}: {now:?}");
    }
}
