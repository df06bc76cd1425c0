//! Intervals over machines, the share of the spread that is the machines' own, and the number of machines for the margin.

use super::{
    ALPHA, FLEETS, MARGIN, Sds, Shape, USUAL, balanced, machine, machines, means, percent, share, unbalanced,
};
use crate::lab_simulations::coverage::rules::count;
use threadwise_analysis::fleet::{difference, fewest, machine_mean, machines_for, next_machine};
use threadwise_statistics::{MeanEstimate, Normal, own_share, welch};

/// Shares of fleets whose interval holds the truth: mean of the kind, next machine, and that of all studies pooled.
fn covered(shape: &Shape, sds: Sds, seed: u64) -> [f64; 3] {
    let mut random = Normal::new(seed);
    let all: Vec<[bool; 3]> = (0..count(FLEETS))
        .map(|_| {
            let fleet = machines(shape, sds, &mut random);
            let mean = MeanEstimate::correlated(&means(&fleet), 0.0).unwrap();
            let (low, high) = mean.interval(ALPHA);
            // As many boots and repeats as one of those that were measured had.
            let like = &shape[(random.uniform() * shape.len() as f64) as usize];
            let next = machine_mean(&machine(like, sds, &mut random)).unwrap();
            let range = next_machine(&mean, ALPHA).unwrap();
            let pooled = MeanEstimate::correlated(&fleet.concat().concat(), 0.0).unwrap().interval(ALPHA);
            let holds = |low: f64, high: f64, truth: f64| low <= truth && truth <= high;
            [
                holds(low, high, 0.0),
                holds(range.low.ln(), range.high.ln(), next),
                holds(pooled.0, pooled.1, 0.0),
            ]
        })
        .collect();
    [0, 1, 2].map(|at| share(all.iter().map(|one| one[at])))
}

#[test]
#[ignore = "laboratory: simulations"]
fn both_intervals_cover_over_machines_and_pooling_does_not() {
    let even = Sds { machine: 0.01, boot: 0.01, repeat: 0.01 };
    let cases = [
        ("5 machines, 2 boots, 2 repeats", balanced(5), USUAL),
        ("3 machines, 2 boots, 2 repeats", balanced(3), USUAL),
        ("5 machines with missing studies", unbalanced(), USUAL),
        ("5 machines with missing studies, machines' sd 1%", unbalanced(), even),
        ("8 machines, 3 boots, 1 repeat", vec![vec![1, 1, 1]; 8], USUAL),
    ];
    for ((name, shape, sds), seed) in cases.into_iter().zip(30..) {
        let [mean, next, pooled] = covered(&shape, sds, seed);
        println!(
            "fleets, {name}: {} of means covered, {} of next machines; all studies pooled {}",
            percent(mean),
            percent(next),
            percent(pooled)
        );
        // The standard error of a share of 95% over 2,000 fleets is 0.5%.
        assert!((0.94..=0.97).contains(&mean) && (0.94..=0.97).contains(&next), "{name}: {mean} {next}");
        assert!(pooled < 0.90, "{name}: {pooled}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn pooling_covers_as_badly_as_machines_are_few() {
    for (machines, boots, repeats) in [(3, 2, 2), (5, 2, 2), (5, 3, 3), (5, 4, 4)] {
        let [mean, _, pooled] = covered(&vec![vec![repeats; boots]; machines], USUAL, 46);
        println!(
            "fleets of {machines} machines, {boots} boots, {repeats} repeats: all studies pooled {}, machines {}",
            percent(pooled),
            percent(mean)
        );
        assert!((0.30..=0.70).contains(&pooled) && mean >= 0.94, "{pooled} {mean}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn advice_on_machines_and_repeats_holds() {
    // Boots of two repeats have a variance of 0.75 of 0.01²: with as much between machines half of it is theirs.
    let half = Sds { machine: 0.01 * 0.75f64.sqrt(), ..USUAL };
    // With missing studies the mean variance of a machine's mean within is 0.975 of 0.01².
    let missing = Sds { machine: 0.01 * 0.975f64.sqrt(), ..USUAL };
    for (name, shape, sds, share_is) in [
        ("half of it the machines'", balanced(5), half, 0.5),
        ("none of it the machines'", balanced(5), Sds { machine: 0.0, ..USUAL }, 0.0),
        ("half of it, missing studies", unbalanced(), missing, 0.5),
    ] {
        let mut random = Normal::new(81);
        let all: Vec<(bool, bool)> = (0..count(FLEETS))
            .map(|_| {
                let (low, high) = own_share(&machines(&shape, sds, &mut random), ALPHA).unwrap();
                (low > 0.5, low <= share_is && share_is <= high)
            })
            .collect();
        let (over, holds) = (share(all.iter().map(|one| one.0)), share(all.iter().map(|one| one.1)));
        println!("own share, {name}: said to be over half {}, bounds hold {}", percent(over), percent(holds));
        if share_is > 0.0 {
            assert!(over <= 0.06 && holds >= 0.87, "{name}: {over} {holds}");
        } else {
            assert!(over <= 0.12, "{name}: {over}");
        }
    }
    let sd = USUAL.machine;
    let truth = fewest(sd, MARGIN, ALPHA);
    for count_of in [5usize, 8] {
        let mut random = Normal::new(82);
        let given: Vec<Option<bool>> = (0..count(FLEETS))
            .map(|_| {
                let means: Vec<f64> = (0..count_of).map(|_| sd * random.draw()).collect();
                let mean = MeanEstimate::correlated(&means, 0.0).unwrap();
                let needed =
                    machines_for(mean.standard_error * (count_of as f64).sqrt(), count_of, MARGIN, ALPHA);
                needed.map(|needed| needed.least <= truth && truth <= needed.most)
            })
            .collect();
        let wrong = share(given.iter().map(|one| *one == Some(false)));
        let some = share(given.iter().map(Option::is_some));
        println!(
            "machines for the margin, {count_of} machines, sd 3%, truly {truth}: given in {}, its range misses in {}",
            percent(some),
            percent(wrong)
        );
        assert!(wrong <= 0.06, "{wrong}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn few_machines_that_spread_need_fewer_degrees_of_freedom() {
    let differs = |mean: fn(&[f64], &[f64]) -> Option<MeanEstimate>, seed: u64| {
        let mut random = Normal::new(seed);
        share((0..count(5000)).map(|_| {
            let mut side = |machines: usize, sd: f64| -> Vec<f64> {
                (0..machines).map(|_| sd * random.draw()).collect()
            };
            let least =
                (0..3).filter_map(|_| Some(mean(&side(3, 0.05), &side(10, 0.01))?.p())).fold(1.0, f64::min);
            // Half of 5%, three comparisons.
            least <= ALPHA / 2.0 / 3.0
        }))
    };
    let (own, bounded) = (differs(welch, 91), differs(difference, 91));
    println!(
        "3 machines of 5% against 10 of 1%, nothing planted: said to differ in one of 3 comparisons {} by Welch's own degrees of \
         freedom, {} by fewer",
        percent(own),
        percent(bounded)
    );
    assert!(own > 0.05 && bounded <= 0.04, "{own} {bounded}");
}
