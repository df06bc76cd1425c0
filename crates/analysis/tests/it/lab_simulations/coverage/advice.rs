//! Sentences of advice beside the choice itself: which numbers of sessions keep a bound for latency, and whether both
//! threads of cores are cheaper than one.

use crate::lab_simulations::coverage::noise::{Machine, QUIET};
use crate::lab_simulations::coverage::rules::{ALPHA, answers, count, means, studies};
use threadwise_analysis::Interval;
use threadwise_analysis::advice::keep;
use threadwise_analysis::cost::{Cheaper, cheaper};
use threadwise_statistics::geometric;

/// Studies a line, where nothing else is asked for.
const IN_CI: u64 = 600;
const BLOCKS: usize = 8;
/// Disturbances that two of five studies of so few blocks do not meet at all, and whose mean is 3.6%: who has not seen them
/// is sure of another truth. Printed, and said in METHODOLOGY.
const RARE: &str = "a tenth of blocks -30%";

/// The machine's noise, as elsewhere not kinder than machines are.
fn machines() -> [(&'static str, Machine); 5] {
    let quiet = |sd: f64| Machine { block_sd: (sd, sd), ..QUIET };
    [
        ("sd 2%", quiet(0.02)),
        ("unequal 1 and 4%", Machine { block_sd: (0.01, 0.04), ..QUIET }),
        ("correlated 0.6", Machine { ar1: 0.6, ..quiet(0.02) }),
        ("a tenth of blocks -12%", Machine { disturbed: (0.1, 0.12), ..quiet(0.02) }),
        (RARE, Machine { disturbed: (0.1, 0.3), ..quiet(0.02) }),
    ]
}

/// Share of studies in percent.
fn share<T>(all: &[T], is: impl Fn(&T) -> bool) -> f64 {
    100.0 * all.iter().filter(|one| is(one)).count() as f64 / all.len() as f64
}

/// Latencies of 1, 2, 4, 8 and 16 sessions are the inverse of speeds; the bound is what the fourth just misses.
fn false_bounds(machine: &Machine) -> (f64, f64) {
    let effects: Vec<f64> = [1.0_f64, 0.9, 0.7, 0.4].iter().map(|speed| speed.ln()).collect();
    let machine = Machine { effects, ..machine.clone() };
    // A hair below the truth, so that to keep it is wrong.
    let bound = (-machine.truth(2)).exp() * 0.9999;
    let each = |_: &Machine, series: &[Vec<f64>]| {
        let logs = |d: &Vec<f64>| d.iter().map(|d| -d).collect::<Vec<f64>>();
        let intervals: Vec<Interval> =
            series[1..].iter().filter_map(|d| geometric(&logs(d), 1.0, "ns", ALPHA)).collect();
        keep(intervals.iter().map(|one| (one, BLOCKS as u32)), bound, ALPHA)
    };
    let kept = studies(&machine, BLOCKS, count(IN_CI), each);
    (share(&kept, |kept| *kept > 2), share(&kept, |kept| *kept == 2))
}

/// What is said of costs where the yield is the break-even itself, so that either claim is wrong; and where it is 10% above.
fn false_costs(machine: &Machine) -> (f64, f64) {
    let said = |above: f64| {
        let machine = Machine { effects: vec![1.27_f64.ln(), 0.6], ..machine.clone() };
        let break_even = machine.truth(0).exp() / above;
        let each = |_: &Machine, series: &[Vec<f64>]| cheaper(&answers(&means(series))[0], break_even);
        studies(&machine, BLOCKS, count(IN_CI), each)
    };
    let wrong = share(&said(1.0), |one| !matches!(one, Cheaper::Open(_)));
    (wrong, share(&said(1.1), |one| matches!(one, Cheaper::Both)))
}

#[test]
#[ignore = "laboratory: simulations"]
fn bounds_and_costs_are_rarely_claimed_in_error() {
    println!("| noise | bound kept in error | as many as do | cost claimed in error | shown at 10% |");
    for (noise, machine) in machines() {
        let (bound, most) = false_bounds(&machine);
        let (cost, shown) = false_costs(&machine);
        println!("| {noise} | {bound:.1}% | {most:.0}% | {cost:.1}% | {shown:.0}% |");
        // Of 600 studies at 5% the share is below 6.9% in 97.5%; blocks that are more correlated than so few of them
        // show are another matter, as for all ratios (METHODOLOGY.md, "Checked").
        let most_wrong = if noise.starts_with("correlated") { 9.0 } else { 6.9 };
        if noise == RARE {
            continue;
        }
        assert!(bound <= most_wrong && cost <= most_wrong, "{noise}: {bound:.1}% and {cost:.1}%");
    }
}
