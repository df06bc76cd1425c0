//! Jobs of 30 and 60 s, in which blocks have fewer rounds: how often intervals cover, and how wide they are.
//!
//! Noise by block and by slice are those of a real study of a guest that its host moves (the table `moving` in `real`, and
//! the study's other comparisons).

use crate::lab_simulations::coverage::noise::{Machine, QUIET};
use crate::lab_simulations::coverage::rules::{ALPHA, means, studies};

const STUDIES: u64 = 2000;
/// Name, rounds and blocks of a default study with nine treatments.
const JOBS: [(&str, usize, usize); 4] =
    [("30 s", 4, 8), ("60 s", 10, 9), ("90 s", 10, 15), ("100 s, before", 20, 8)];
/// Name, standard deviations over blocks of A and A′ and of what is compared, and of a slice.
const NOISE: [(&str, (f64, f64), f64); 3] = [
    ("two sessions on two cores, beyond the L2", (0.01, 0.073), 0.111),
    ("two sessions on two cores, inside the L2", (0.01, 0.054), 0.105),
    ("two sessions on one logical CPU", (0.01, 0.015), 0.071),
];

/// Share of the intervals that cover, and the median of their half-widths.
fn intervals(machine: &Machine, blocks: usize) -> (f64, f64) {
    let all = studies(machine, blocks, STUDIES, |machine, series| {
        let mean = means(series)[1];
        let (low, high) = mean.interval(ALPHA);
        let truth = machine.truth(0);
        (low <= truth && truth <= high, mean.half_width(ALPHA).exp_m1())
    });
    let covered = all.iter().filter(|(covers, _)| *covers).count() as f64 / all.len() as f64;
    let mut widths: Vec<f64> = all.iter().map(|(_, width)| *width).collect();
    widths.sort_by(f64::total_cmp);
    (covered, widths[widths.len() / 2])
}

/// The share of all jobs, the last of which is the default of before.
fn shares(what: &str, machine: &Machine) -> Vec<f64> {
    let of_job = |(job, rounds, blocks): (&str, usize, usize)| {
        let (covered, width) = intervals(&Machine { rounds, ..machine.clone() }, blocks);
        println!(
            "{what}, AR(1) {}: {job} ({blocks} blocks of {rounds} rounds): {:.1}% covered, ±{:.1}%",
            machine.ar1,
            100.0 * covered,
            100.0 * width
        );
        covered
    };
    JOBS.map(of_job).to_vec()
}

#[test]
#[ignore = "laboratory: simulations"]
fn short_jobs_cover_as_long_ones_do() {
    for (what, block_sd, slice_sd) in NOISE {
        let machine = Machine { effects: vec![0.6, 0.0], block_sd, slice_sd, ..QUIET };
        let all = shares(what, &machine);
        assert!(all.iter().all(|covered| (0.94..=0.975).contains(covered)), "{what}: {all:?}");
        // What is correlated lies beneath the noise of slices, which hides some of it with any rounds: no less is
        // covered than by the job before, but for three standard deviations of the difference.
        let all = shares(what, &Machine { ar1: 0.3, ..machine });
        assert!(all.iter().all(|covered| *covered >= all[JOBS.len() - 1] - 0.025), "{what}: {all:?}");
    }
}
