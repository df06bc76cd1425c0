//! What moves with a ratio: how often something is named where nothing is linked, and how often a link is where there is one.
//! And of clocks: how often they are called the same or other.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN, RULE, count};
use threadwise_analysis::Ratio;
use threadwise_analysis::changed_with::{Form, Tested, judge_links};
use threadwise_analysis::diagnostics::clock::{differs, furthest};
use threadwise_analysis::estimate::{paired, paired_difference};
use threadwise_statistics::{blocks_needed, correlation};

/// Studies a line in CI.
const IN_CI: u64 = 300;
/// Compared treatments.
const COMPARED: usize = 3;
/// Figures that are measured as they are: clock, time with a CPU, waits, …
const FREE: usize = 5;

/// Noise of a study.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Correlation of neighbouring blocks, of rates and figures alike.
    ar1: f64,
    /// Share of the blocks in which the compared treatments are 12% slower.
    disturbed: f64,
    /// Share of the blocks in which rates and figures alike scatter by three times as much.
    rough: f64,
    /// Correlation of clock and rate of every treatment.
    link: f64,
}

const QUIET: Noise = Noise { ar1: 0.0, disturbed: 0.0, rough: 0.0, link: 0.0 };

/// A number per treatment and block; treatments 0 and 1 are A and A′.
type Numbers = Vec<Vec<f64>>;

/// Numbers that scatter by as much as is said of each treatment, and more in blocks that are rough.
fn numbers(blocks: usize, noise: Noise, is_rough: &[bool], random: &mut Normal) -> Numbers {
    let one = |treatment: usize| {
        let sd = 0.02 * (1.0 + treatment as f64 / 2.0);
        let series = random.correlated(blocks, noise.ar1);
        series
            .iter()
            .zip(is_rough)
            .map(|(value, rough)| sd * value * if *rough { 3.0 } else { 1.0 })
            .collect()
    };
    (0..COMPARED + 2).map(one).collect()
}

/// d by block of a treatment against A and A′.
fn d(numbers: &Numbers, top: usize, below: &[usize]) -> Vec<f64> {
    let of_block = |block: usize| {
        let sides: Vec<f64> = below.iter().map(|at| numbers[*at][block]).collect();
        paired_difference(numbers[top][block], &sides).unwrap()
    };
    (0..numbers[0].len()).map(of_block).collect()
}

/// Sums of two treatments' numbers, as logarithms of products.
fn sum(a: &Numbers, b: &Numbers, sign: f64) -> Numbers {
    let one = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + sign * b).collect();
    a.iter().zip(b).map(one).collect()
}

/// Figures that are tested of each comparison; the first is the clock, which the rate is linked to where it is to anything.
const TESTED: usize = FREE + 2;

/// All that is tested in one study, comparison by comparison.
fn study(blocks: usize, noise: Noise, random: &mut Normal) -> Vec<Tested> {
    let is_rough: Vec<bool> = (0..blocks).map(|_| random.uniform() < noise.rough).collect();
    let mut rates = numbers(blocks, noise, &is_rough, random);
    for block in 0..blocks {
        let depth = if random.uniform() < noise.disturbed { 0.88f64.ln() } else { 0.0 };
        rates[2..].iter_mut().for_each(|rate| rate[block] += depth);
    }
    let free: Vec<Numbers> = (0..FREE).map(|_| numbers(blocks, noise, &is_rough, random)).collect();
    let rest = (1.0 - noise.link * noise.link).sqrt();
    for (rate, clock) in rates.iter_mut().flatten().zip(free[0].iter().flatten()) {
        *rate = noise.link * clock + rest * *rate;
    }
    // Misses that come with rows: so many a row, whatever the rate. Interrupts that come with time: so many a second.
    let misses_per_row = numbers(blocks, noise, &is_rough, random);
    let interrupts_per_s = numbers(blocks, noise, &is_rough, random);
    let amounts = [
        (sum(&misses_per_row, &rates, 1.0), misses_per_row),
        (interrupts_per_s.clone(), sum(&interrupts_per_s, &rates, -1.0)),
    ];
    let below = [0, 1];
    let ratios: Vec<Vec<f64>> = (2..COMPARED + 2).map(|top| d(&rates, top, &below)).collect();
    let twins = d(&rates, 1, &[0]);
    let every: Vec<&[f64]> = ratios.iter().chain([&twins]).map(Vec::as_slice).collect();
    let common = correlation::common(&every);
    let mut all = Vec::new();
    for (at, ratio) in ratios.iter().enumerate() {
        let correlation = correlation::of_one(ratio, common);
        let tested = |quantity| Tested { ratio: ratio.clone(), correlation, quantity };
        all.extend(free.iter().map(|free| tested(vec![(Form::AsItIs, d(free, at + 2, &below))])));
        all.extend(amounts.iter().map(|(per_s, per_row)| {
            let forms = [(Form::PerSecond, per_s), (Form::PerRow, per_row)];
            tested(forms.map(|(form, numbers)| (form, d(numbers, at + 2, &below))).to_vec())
        }));
    }
    all
}

/// Of some studies the shares in which a clock is named and in which another figure is, and that of clocks that are named.
fn named(blocks: usize, noise: Noise) -> [f64; 3] {
    let studies = count(IN_CI);
    let mut counts = [0, 0, 0];
    for seed in 0..studies {
        let links = judge_links(&study(blocks, noise, &mut Normal::new(seed)), ALPHA, seed);
        let shown = |at: &usize| links[*at].as_ref().is_some_and(|link| link.shown);
        let (clocks, others): (Vec<usize>, Vec<usize>) = (0..links.len()).partition(|at| at % TESTED == 0);
        let of_clocks = clocks.iter().filter(|at| shown(at)).count();
        counts[0] += usize::from(of_clocks > 0);
        counts[1] += usize::from(others.iter().any(shown));
        counts[2] += of_clocks;
    }
    let [clock, others, clocks] = counts.map(|count| count as f64 / studies as f64);
    [clock, others, clocks / COMPARED as f64]
}

#[test]
#[ignore = "laboratory: simulations"]
fn nothing_is_named_where_nothing_is_linked() {
    for (name, noise) in [
        ("independent", QUIET),
        ("AR(1) 0.3", Noise { ar1: 0.3, ..QUIET }),
        ("AR(1) 0.6", Noise { ar1: 0.6, ..QUIET }),
        ("10% of blocks 12% slower", Noise { disturbed: 0.1, ..QUIET }),
        ("20% of blocks three times as rough", Noise { rough: 0.2, ..QUIET }),
        ("all of it, AR(1) 0.3", Noise { ar1: 0.3, disturbed: 0.1, rough: 0.2, link: 0.0 }),
    ] {
        for blocks in [12, 16, 32, 64] {
            let [clock, others, _] = named(blocks, noise);
            println!(
                "links, {name}, {blocks} blocks: something is named in {:.1}% or less of studies of nothing",
                100.0 * (clock + others)
            );
            // Of 300 studies a share of 5% has a standard deviation of 1.3 points.
            assert!(clock + others <= 0.05, "{name}, {blocks}: {clock} {others}");
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_link_is_named_and_no_other() {
    let needed = blocks_needed(COMPARED * TESTED, ALPHA / 2.0);
    println!("links: {needed} blocks are needed for {} tests", COMPARED * TESTED);
    let needed = needed as usize;
    for (link, blocks, least) in [(0.7, 16, 0.05), (0.7, needed, 0.7), (0.9, 16, 0.3), (0.9, needed, 0.95)] {
        let [_, others, clocks] = named(blocks, Noise { link, ar1: 0.3, ..QUIET });
        println!(
            "links, {link} between clock and rate, {blocks} blocks: named in {:.1}% of comparisons, another figure in {:.1}% \
             of studies",
            100.0 * clocks,
            100.0 * others
        );
        assert!(clocks >= least && others <= 0.05, "{link} {blocks}: {clocks} {others}");
    }
}

/// Clock ratios of a study, judged: compared treatments differ by `truth` in logarithms.
fn clocks(blocks: usize, truth: f64, seed: u64) -> Vec<Ratio> {
    let mut random = Normal::new(seed);
    let noise = Noise { ar1: 0.3, ..QUIET };
    // Clocks scatter by a tenth of what rates do.
    let mut all = numbers(blocks, noise, &vec![false; blocks], &mut random);
    all.iter_mut().flatten().for_each(|value| *value *= 0.1);
    all[2..].iter_mut().flatten().for_each(|value| *value += truth);
    let series: Vec<Vec<f64>> = (2..COMPARED + 2).map(|top| d(&all, top, &[0, 1])).collect();
    paired(&series, &[d(&all, 1, &[0])], RULE).into_iter().flatten().map(Ratio::exp).collect()
}

#[test]
#[ignore = "laboratory: simulations"]
fn clocks_are_called_the_same_or_other_where_they_are() {
    let studies = count(IN_CI);
    let margin = MARGIN.ln_1p();
    let share = |has: &dyn Fn(&[Ratio]) -> bool, truth: f64| {
        (0..studies).filter(|seed| has(&clocks(8, truth, *seed))).count() as f64 / studies as f64
    };
    let same = |ratios: &[Ratio]| furthest(ratios.iter()).is_some_and(|reach| reach <= margin);
    let beyond = |truth: f64| {
        move |ratios: &[Ratio]| furthest(ratios.iter()).is_some_and(|reach| reach < f64::abs(truth))
    };
    let other = |ratios: &[Ratio]| ratios.iter().any(|ratio| differs(ratio, margin));
    let (same_at_0, other_at_0) = (share(&same, 0.0), share(&other, 0.0));
    let (same_at_margin, missed) = (share(&same, margin), share(&beyond(0.01), 0.01));
    let other_at_10 = share(&other, -0.1);
    println!(
        "clocks, 8 blocks, AR(1) 0.3: the same in {:.1}% where they are, in {:.1}% where they differ by the margin; a bound \
         that the truth exceeds in {:.1}%; other in {:.1}% where they are the same, in {:.1}% at -10%",
        100.0 * same_at_0,
        100.0 * same_at_margin,
        100.0 * missed,
        100.0 * other_at_0,
        100.0 * other_at_10
    );
    assert!(
        same_at_0 >= 0.8 && same_at_margin <= 0.05 && missed <= 0.05,
        "{same_at_0} {same_at_margin} {missed}"
    );
    assert!(other_at_0 <= 0.05 && other_at_10 >= 0.95, "{other_at_0} {other_at_10}");
}
