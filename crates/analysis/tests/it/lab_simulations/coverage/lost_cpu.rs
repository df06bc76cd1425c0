//! Ratios adjusted for lost CPU time: coverage, and the width beside that of the plain ratio.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN, count, plain_half_width};
use threadwise_analysis::estimate::{LostCpu, Work, block_difference, cpu_share, pseudo_values};
use threadwise_statistics::MeanEstimate;

const ROUNDS: usize = 20;
/// Logarithm of the ratio where neither side loses time.
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
    let level = 0.02 * random.draw();
    let block = -loss.block * random.uniform().ln();
    let one = |random: &mut Normal| {
        let lost: f64 = block - loss.slice * random.uniform().ln();
        let share = (1.0 - lost).max(0.3);
        let rate = 1e6 * (log_rate + level + 0.03 * random.draw()).exp() * share.powf(power);
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

/// Of some studies.
#[derive(Default)]
struct Shares {
    /// Those whose adjusted interval holds the truth.
    covered: f64,
    /// Width of the adjusted intervals over that of the plain ones.
    width: f64,
    /// Those in which a verdict names the adjusted ratio, since what was lost may differ by more than the margin.
    named: f64,
    /// Of these, those whose adjusted interval holds the truth.
    named_covered: f64,
    /// Those in which the adjusted interval is narrower by 15% or more, by which it was named before.
    narrow: f64,
    /// Of these, those whose adjusted interval holds the truth.
    narrow_covered: f64,
}

fn studies(blocks: usize, loss: Loss, power: f64) -> Shares {
    let alone = Loss { block: 0.002, slice: 0.002 };
    let (mut shares, mut plain_width, count) = (Shares::default(), 0.0, count(1000));
    for seed in 0..count {
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
        let covers = f64::from(u8::from(low <= TRUTH && TRUTH <= high));
        let (least, most) = cpu_share(&of_blocks).unwrap().interval(ALPHA);
        if least < -MARGIN.ln_1p() || most > MARGIN.ln_1p() {
            shares.named += 1.0;
            shares.named_covered += covers;
        }
        if estimate.half_width(ALPHA) <= 0.85 * MeanEstimate::of(&d).unwrap().half_width(ALPHA) {
            shares.narrow += 1.0;
            shares.narrow_covered += covers;
        }
        shares.covered += covers / count as f64;
        shares.width += estimate.half_width(ALPHA);
        plain_width += plain_half_width(&d);
    }
    Shares {
        width: shares.width / plain_width,
        named: shares.named / count as f64,
        named_covered: shares.named_covered / shares.named.max(1.0),
        narrow: shares.narrow / count as f64,
        narrow_covered: shares.narrow_covered / shares.narrow.max(1.0),
        ..shares
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn adjusted_ratios_hold_what_there_is_without_loss() {
    for (name, loss, power, least, widest) in [
        ("4% lost in blocks, 3% in slices", Loss { block: 0.04, slice: 0.03 }, 1.0, 0.93, 0.75),
        ("1% and 1%", Loss { block: 0.01, slice: 0.01 }, 1.0, 0.93, 1.2),
        ("10% and 5%", Loss { block: 0.1, slice: 0.05 }, 1.0, 0.93, 0.5),
        ("10% and 5%, half again as much work as time", Loss { block: 0.1, slice: 0.05 }, 1.5, 0.93, 0.5),
        ("next to nothing", Loss { block: 0.002, slice: 0.002 }, 1.0, 0.93, 2.0),
    ] {
        for blocks in [8, 32] {
            let got = studies(blocks, loss, power);
            println!(
                "lost CPU, {name}, {blocks} blocks: {:.1}% covered, {:.2} times the plain half-width; named in {:.1}%, of \
                 which {:.1}% cover; chosen by width, as before, {:.1}%, of which {:.1}% cover",
                100.0 * got.covered,
                got.width,
                100.0 * got.named,
                100.0 * got.named_covered,
                100.0 * got.narrow,
                100.0 * got.narrow_covered
            );
            assert!(
                got.covered >= least && got.width <= widest,
                "{name} {blocks}: {} {}",
                got.covered,
                got.width
            );
            assert!(got.named < 0.1 || got.named_covered >= 0.92, "{name} {blocks}: {}", got.named_covered);
        }
    }
}
