//! Ratios adjusted for lost CPU time: coverage, and the width beside that of the plain ratio.

use crate::noise::Normal;
use crate::rules::{ALPHA, plain_half_width};
use threadwise_analysis::estimate::{LostCpu, Work, block_difference, pseudo_values};
use threadwise_analysis::statistics::MeanEstimate;

const STUDIES: u64 = 1000;
const ROUNDS: usize = 20;
/// Logarithm of the ratio where nobody loses anything.
const TRUTH: f64 = 0.65;

/// How much of its time a side loses: mean of blocks, and of slices around the block's.
#[derive(Clone, Copy)]
struct Loss {
    block: f64,
    slice: f64,
}

/// Rounds of one side: what is lost has an exponential distribution over blocks and over slices of one, and costs work by
/// this power of the time that is left; slices have noise of 3%, blocks of 2%.
fn side(log_rate: f64, loss: Loss, power: f64, random: &mut Normal) -> Vec<Work> {
    let level = 0.02 * random.next();
    let block = -loss.block * random.uniform().ln();
    let one = |random: &mut Normal| {
        let lost: f64 = block - loss.slice * random.uniform().ln();
        let share = (1.0 - lost).max(0.3);
        let rate = 1e6 * (log_rate + level + 0.03 * random.next()).exp() * share.powf(power);
        Work {
            slices: 1,
            rows: rate,
            window_ns: 5e7,
            session_ns: 5e7,
            cpu_ns: 5e7 * share,
            ..Work::default()
        }
    };
    (0..ROUNDS).map(|_| one(random)).collect()
}

/// Share of studies whose adjusted interval holds the truth, and its width over the plain one's.
fn studies(blocks: usize, loss: Loss, power: f64) -> (f64, f64) {
    let alone = Loss { block: 0.002, slice: 0.002 };
    let (mut covered, mut adjusted_width, mut plain_width) = (0.0, 0.0, 0.0);
    for seed in 0..STUDIES {
        let mut random = Normal::new(seed);
        let (mut of_blocks, mut d) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            let [base, twin] = [(); 2].map(|()| side(0.0, alone, power, &mut random));
            let top = side(TRUTH, loss, power, &mut random);
            of_blocks.push(LostCpu::of(&top, &[&base, &twin]).unwrap());
            d.push(block_difference(&top, &[&base, &twin], Work::rows_per_s).unwrap());
        }
        let (values, _) = pseudo_values(&of_blocks).unwrap();
        let estimate = MeanEstimate::of(&values).unwrap();
        let (low, high) = estimate.interval(ALPHA);
        covered += f64::from(u8::from(low <= TRUTH && TRUTH <= high));
        adjusted_width += estimate.half_width(ALPHA);
        plain_width += plain_half_width(&d);
    }
    (covered / STUDIES as f64, adjusted_width / plain_width)
}

#[test]
fn adjusted_ratios_hold_what_there_is_without_loss() {
    for (name, loss, power, least, widest) in [
        ("4% lost in blocks, 3% in slices", Loss { block: 0.04, slice: 0.03 }, 1.0, 0.93, 0.75),
        ("10% and 5%", Loss { block: 0.1, slice: 0.05 }, 1.0, 0.93, 0.5),
        ("10% and 5%, half again as much work as time", Loss { block: 0.1, slice: 0.05 }, 1.5, 0.93, 0.5),
        ("next to nothing", Loss { block: 0.002, slice: 0.002 }, 1.0, 0.93, 2.0),
    ] {
        for blocks in [8, 32] {
            let (covered, width) = studies(blocks, loss, power);
            println!(
                "lost CPU, {name}, {blocks} blocks: {:.1}% covered, {width:.2} times the plain half-width",
                100.0 * covered
            );
            assert!(covered >= least && width <= widest, "{name} {blocks}: {covered} {width}");
        }
    }
}
