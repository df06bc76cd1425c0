//! Which rates keep a bound: answers from latencies whose distribution is known.

use super::*;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use threadwise_statistics::MergedLatency;

const ALPHA: f64 = 0.05;

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

fn block(latencies_ns: &[f64]) -> MergedLatency {
    let mut histogram: Histogram<u32> = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    latencies_ns.iter().for_each(|ns| histogram.saturating_record((*ns as u64).max(1)));
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    let mut merged = MergedLatency::new();
    merged.add(&bytes).unwrap();
    merged
}

/// A point of an M/M/1 queue with this utilisation and a mean service of 1 ms, whose service differs by 7% from block to
/// block, with this correlation, and by 3% without: latencies of a block are exponential and, as those of a queue are,
/// correlated.
fn point(random: &mut ChaCha8Rng, utilisation: f64, blocks: usize, correlation: f64) -> LoadPoint {
    let requests = 1500;
    let mut drift = 0.07 * normal(random);
    let mut of_block = || {
        drift = correlation * drift + 0.07 * (1.0 - correlation * correlation).sqrt() * normal(random);
        let service_ns = 1e6 * (drift + 0.03 * normal(random)).exp();
        let gap_ns = 1e6 / utilisation;
        let (mut due, mut free) = (0.0_f64, 0.0_f64);
        let latencies: Vec<f64> = (0..requests + requests / 3)
            .map(|_| {
                due += -uniform(random).ln() * gap_ns;
                free = free.max(due) - uniform(random).ln() * service_ns;
                free - due
            })
            .collect();
        block(&latencies[requests / 3..])
    };
    let all: Vec<MergedLatency> = (0..blocks).map(|_| of_block()).collect();
    of_clusters(utilisation * 1000.0, Clusters::of(&all).unwrap())
}

fn correlate(points: &mut [LoadPoint]) {
    Clusters::correlate(
        &mut points.iter_mut().filter_map(|one| one.clusters.as_mut()).collect::<Vec<_>>(),
        BOUND_QUANTILE,
    );
}

fn of_clusters(rate_per_s: f64, clusters: Clusters) -> LoadPoint {
    LoadPoint {
        treatment: format!("alone/rate_per_s={rate_per_s}"),
        rate_per_s,
        requests: clusters.steps(),
        latency_ns_mean: None,
        latency_ns_p50: None,
        latency_ns_p99: clusters.quantile(BOUND_QUANTILE, ALPHA),
        latency_ns_p999: None,
        queued_ns: None,
        woken_late_ns: None,
        waiting_share: None,
        unserved_share: 0.0,
        is_overload: false,
        clusters: Some(clusters),
    }
}

/// Latencies of which this share is above 10 ms, in eight blocks alike.
fn with_share_above(rate_per_s: f64, share: f64) -> LoadPoint {
    let of_block = || {
        let above = (500.0 * share).round() as usize;
        let latencies: Vec<f64> = (0..500).map(|at| if at < above { 2e7 } else { 5e6 }).collect();
        block(&latencies)
    };
    of_clusters(rate_per_s, Clusters::of(&(0..8).map(|_| of_block()).collect::<Vec<_>>()).unwrap())
}

#[test]
fn a_bound_is_kept_broken_or_open() {
    for (share, expected) in
        [(0.0, Keeps::Shown), (0.002, Keeps::Shown), (0.01, Keeps::Open), (0.03, Keeps::ShownNot)]
    {
        assert_eq!(with_share_above(100.0, share).keeps(1e7, ALPHA), expected, "{share}");
    }
    let overload = LoadPoint { is_overload: true, ..with_share_above(100.0, 0.0) };
    assert_eq!(overload.keeps(1e7, ALPHA), Keeps::ShownNot);
    // Without latencies nothing is known.
    let unknown = LoadPoint { clusters: None, ..with_share_above(100.0, 0.0) };
    assert_eq!(unknown.keeps(1e7, ALPHA), Keeps::Open);
}

#[test]
fn the_highest_rate_lies_between_those_that_are_shown() {
    let points = [
        with_share_above(100.0, 0.0),
        with_share_above(200.0, 0.002),
        with_share_above(300.0, 0.01),
        with_share_above(400.0, 0.05),
        LoadPoint { is_overload: true, ..with_share_above(500.0, 0.0) },
    ];
    let all: Vec<&LoadPoint> = points.iter().collect();
    let found = HighestRate::of(&all, 1e7, ALPHA);
    assert_eq!((found.kept, found.broken), (Some(200.0), Some(400.0)));
    // The 99th percentile is 5 ms up to 300/s, and 20 ms at 400/s: halfway between, in logarithms.
    assert!((found.value.unwrap() / (300.0_f64 * 400.0).sqrt() - 1.0).abs() < 0.01, "{found:?}");
    let none = HighestRate::of(&all[3..], 1e7, ALPHA);
    assert_eq!((none.kept, none.broken), (None, Some(400.0)));
    let every = HighestRate::of(&all[..2], 1e7, ALPHA);
    assert_eq!((every.kept, every.broken, every.value), (Some(200.0), None, None));
    // A rate that is not shown ends both sequences: what is beyond it was not tested.
    let gap = [&points[0], &points[2], &points[1]];
    assert_eq!(HighestRate::of(&gap, 1e7, ALPHA).kept, Some(100.0));
}

#[test]
fn a_rate_that_is_too_high_has_no_latency_to_cross_a_bound() {
    let overload = |rate_per_s: f64| LoadPoint { is_overload: true, ..with_share_above(rate_per_s, 0.0) };
    let beyond = LoadPoint { is_overload: true, ..with_share_above(800.0, 0.05) };
    let points = [with_share_above(200.0, 0.0), overload(400.0), beyond];
    let found = HighestRate::of(&points.iter().collect::<Vec<_>>(), 1e7, ALPHA);
    assert_eq!((found.kept, found.broken, found.value), (Some(200.0), Some(400.0), None));
}

#[test]
fn requests_that_were_given_up_do_not_keep_a_bound() {
    let answered: Vec<MergedLatency> = (0..8).map(|_| block(&[5e6; 490])).collect();
    let given_up = |count: u64| {
        let blocks: Vec<(&MergedLatency, u64)> = answered.iter().map(|block| (block, count)).collect();
        of_clusters(100.0, Clusters::with_unanswered(&blocks).unwrap())
    };
    assert_eq!(given_up(0).keeps(1e7, ALPHA), Keeps::Shown);
    assert_eq!(given_up(30).keeps(1e7, ALPHA), Keeps::ShownNot);
    assert_eq!((given_up(30).p99_ns(), given_up(30).latency_ns_p99), (None, None));
}

/// How often a rate is said to keep a bound that it breaks, or the reverse, in studies of eight blocks with drift.
///
/// The 99th percentile of latency of M/M/1 is ln 100 / (1 - utilisation) mean services; the bound is that of 70%, and
/// drift of 8% in service makes the true share above it a mixture, so that rates a little below 70% break it, too.
fn wrong_answers(studies: u64) -> (u64, u64, u64) {
    let bound_ns = 100_f64.ln() / (1.0 - 0.7) * 1e6;
    let utilisations = [0.4, 0.55, 0.65, 0.75, 0.85];
    let (mut wrong, mut kept, mut broken) = (0, 0, 0);
    for seed in 0..studies {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut points: Vec<LoadPoint> =
            utilisations.iter().map(|one| point(&mut random, *one, 8, 0.7)).collect();
        correlate(&mut points);
        let found = HighestRate::of(&points.iter().collect::<Vec<_>>(), bound_ns, ALPHA);
        wrong += u64::from(found.kept.is_some_and(|rate| rate > 700.0));
        wrong += u64::from(found.broken.is_some_and(|rate| rate < 600.0));
        kept += u64::from(found.kept.is_some_and(|rate| rate >= 400.0));
        broken += u64::from(found.broken.is_some_and(|rate| rate <= 850.0));
    }
    (wrong, kept, broken)
}

#[test]
fn answers_about_a_bound_are_seldom_wrong_and_often_given() {
    let (wrong, kept, broken) = wrong_answers(40);
    assert!(wrong <= 4, "{wrong} of 40");
    assert!(kept >= 36 && broken >= 16, "{kept} and {broken} of 40");
}

mod lab_simulations {
    use super::{Keeps, LoadPoint, correlate, point};
    use crate::estimate::family_alpha;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// `cargo test -p threadwise-analysis lab_simulations -- --ignored --nocapture` prints the figures of
    /// evidence/loads.md.
    #[test]
    #[ignore = "laboratory: simulations"]
    fn answers_about_a_bound() {
        let studies = 400;
        let (wrong, kept, broken) = super::wrong_answers(studies);
        println!("of {studies} studies: wrong {wrong}, kept 40% {kept}, broken at 85% {broken}");
        assert!(wrong <= studies / 20, "{wrong}");
    }

    /// One rate, and placements that are busy for these shares of the time; the bound is what 70% would just keep. By
    /// correlation of blocks, with the largest share of wrong studies.
    #[test]
    #[ignore = "laboratory: simulations"]
    fn answers_about_a_bound_at_one_rate() {
        let studies = 500;
        let (apart, close) = ([0.5, 0.66, 0.74, 0.85], [0.69, 0.69, 0.71, 0.71]);
        for (utilisations, blocks, correlation, most) in [
            (apart, 8, 0.0, 0.05),
            (apart, 8, 0.3, 0.05),
            (apart, 8, 0.7, 0.05),
            (close, 8, 0.0, 0.05),
            (close, 8, 0.3, 0.05),
            // More correlation than the blocks show.
            (close, 8, 0.7, 0.15),
            (close, 24, 0.7, 0.15),
        ] {
            let long_run =
                |utilisation: f64| point(&mut ChaCha8Rng::seed_from_u64(7), utilisation, 2000, 0.0).p99_ns();
            let bound_ns = long_run(0.7).unwrap();
            let truths = utilisations.map(|one| long_run(one).unwrap() <= bound_ns);
            let alpha = family_alpha(super::ALPHA, utilisations.len());
            let (mut wrong, mut given) = (0, [0; 4]);
            for seed in 0..studies {
                let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
                let mut points: Vec<LoadPoint> =
                    utilisations.iter().map(|one| point(&mut random, *one, blocks, correlation)).collect();
                correlate(&mut points);
                let answers: Vec<Keeps> = points.iter().map(|one| one.keeps(bound_ns, alpha)).collect();
                let is_wrong = |(answer, truth): (&Keeps, &bool)| match answer {
                    Keeps::Shown => !truth,
                    Keeps::ShownNot => *truth,
                    Keeps::Open => false,
                };
                wrong += u64::from(answers.iter().zip(&truths).any(is_wrong));
                answers
                    .iter()
                    .zip(&mut given)
                    .for_each(|(one, given)| *given += u64::from(*one != Keeps::Open));
            }
            let shares = given.map(|count| (100.0 * count as f64 / studies as f64).round());
            let wrong = wrong as f64 / studies as f64;
            println!(
                "{utilisations:?}, {blocks} blocks, correlation {correlation}: wrong {:.1}%, given {shares:?}%",
                100.0 * wrong
            );
            assert!(wrong <= most, "{utilisations:?} {blocks} {correlation}: {wrong}");
        }
    }
}
