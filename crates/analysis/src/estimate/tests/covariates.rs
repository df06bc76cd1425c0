//! What disturbs a block flags it, and nothing is dropped for it.

use super::*;
use crate::{Interval, Unflagged};
use threadwise_study::Reading;
use threadwise_study::engine::Properties;

#[test]
fn disturbed_blocks_are_flagged_and_not_dropped() {
    // Block 5 has 2% steal and T at 300 instead of 200 to 204.
    let mut runs = blocks(8, |b| if b == 5 { 300 } else { 200 + u64::from(b % 5) });
    for one in runs.iter_mut().filter(|one| one.block == 5) {
        one.slices[0].cpu_times = vec![cpu_times(0, 90, 2)];
    }
    let analysis = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0);
    assert_eq!(analysis.covariates.flagged_blocks, [5]);
    close(analysis.covariates.steal_share_max, 0.02);
    let got = &analysis.estimates[0];
    assert_eq!(got.ratio.blocks, 8);
    let Unflagged { ratio: Interval { mean: value, low, high, .. }, blocks: n } =
        got.unflagged.clone().unwrap();
    assert!(n == 7 && value < 2.04 && low > 1.99 && high < got.ratio.high, "{value} {low} {high} {n}");
    let quiet = analyse(&study(&[""], &["T same-core 2"]), &blocks(8, |_| 200), 1.0);
    assert_eq!((quiet.covariates.flagged_blocks.len(), quiet.estimates[0].unflagged.as_ref()), (0, None));
}

#[test]
fn left_over_siblings_are_distinguished_from_other_cpus() {
    let mut runs = blocks(2, |_| 200);
    for one in &mut runs {
        for slice in &mut one.slices {
            slice.cpu_times =
                vec![cpu_times(0, 100, 0), cpu_times(1, 24, 0), cpu_times(2, 2, 0), cpu_times(3, 0, 0)];
        }
    }
    let study = study(&[""], &["T same-core 2"]);
    let on = analyse_on(&study, Some(&machine(1, 2, 2)), &runs, 1.0).covariates;
    close(on.left_over_busy_share, 0.24);
    close(on.others_busy_share, 0.01);
    assert_eq!(on.flagged_blocks, [0, 1]);
    let blind = analyse(&study, &runs, 1.0).covariates;
    assert_eq!((blind.left_over_busy_share, blind.flagged_blocks.len()), (0.0, 0));
    close(blind.others_busy_share, 0.26 / 3.0);
}

/// A reading of a run on logical CPU 0.
fn reading(sampler: &str, metric: &str, cpu: Option<u32>, value: Option<f64>) -> Reading {
    let gap = value.is_none().then(|| "no baseline".to_owned());
    Reading {
        sampler: sampler.to_owned(),
        metric: metric.to_owned(),
        cpu,
        start_ns: 0,
        end_ns: 1,
        value,
        gap,
    }
}

#[test]
fn neighbours_flag_a_block_as_steal_does() {
    // In block 5 a neighbour sat on T's sibling before the run and not after it, and T did more.
    let mut runs = blocks(8, |b| if b == 5 { 300 } else { 200 + u64::from(b % 5) });
    for one in &mut runs {
        let before = if one.block == 5 && one.treatment == "T" { 0.5 } else { 0.0 };
        one.readings = vec![
            reading("neighbour", "before_busy_share", Some(0), Some(before)),
            reading("neighbour", "after_busy_share", Some(0), Some(0.0)),
            reading("neighbour", "after_busy_share", Some(1), Some(1.0)),
        ];
    }
    let study = study(&[""], &["T same-core 2"]);
    let analysis = analyse(&study, &runs, 1.0);
    let covariates = &analysis.covariates;
    assert_eq!(covariates.flagged_blocks, [5]);
    let flagged = &covariates.blocks[5];
    assert_eq!((flagged.block, flagged.causes.as_slice()), (5, ["neighbour"].as_slice()));
    // Three treatments a block, one of which had 0.5 and 0.
    close(flagged.neighbour_before_share.unwrap(), 0.5 / 3.0);
    close(flagged.neighbour_after_share.unwrap(), 0.0);
    close(flagged.neighbour_share_max.unwrap(), 0.25);
    close(covariates.neighbour_share.unwrap(), 0.25 / 3.0 / 8.0);
    close(covariates.neighbour_share_max.unwrap(), 0.25);
    close(summary(&analysis, "T").metrics["neighbour_share"].mean, 0.25 / 8.0);
    let Unflagged { ratio: Interval { high, .. }, blocks: n } =
        analysis.estimates[0].unflagged.clone().unwrap();
    assert!(n == 7 && high < 2.1, "{high} {n}");

    for one in &mut runs {
        one.readings = vec![reading("neighbour", "before_busy_share", Some(0), None)];
    }
    let unknown = analyse(&study, &runs, 1.0);
    assert_eq!((unknown.covariates.neighbour_share, unknown.covariates.flagged_blocks.len()), (None, 0));
    assert!(!summary(&unknown, "T").metrics.contains_key("neighbour_share"));
}

#[test]
fn causes_are_named_beside_each_other() {
    let mut runs = blocks(2, |_| 200);
    for one in runs.iter_mut().filter(|one| one.block == 1) {
        one.slices[0].cpu_times = vec![cpu_times(0, 90, 2), cpu_times(1, 30, 0)];
        one.readings = vec![reading("neighbour", "after_busy_share", Some(0), Some(0.2))];
    }
    let covariates = analyse(&study(&[""], &["T same-core 2"]), &runs, 1.0).covariates;
    assert!(covariates.blocks[0].causes.is_empty());
    assert_eq!(covariates.blocks[1].causes, ["steal", "others-busy", "neighbour"]);
}

#[test]
fn a_models_steal_is_seen() {
    let mut study = study(&[""], &["T same-core 2"]);
    study.engine_properties = Some(Properties { simulated: true, ..Properties::default() });
    let mut runs = blocks(2, |_| 200);
    for one in &mut runs {
        let stolen_ns = if one.block == 1 { 40_000_000 } else { 0 };
        for slice in &mut one.slices {
            slice.sessions[0].cpu_ns = slice.window_ns - stolen_ns;
        }
    }
    let covariates = analyse(&study, &runs, 1.0).covariates;
    close(covariates.steal_share, 0.02);
    close(covariates.steal_share_max, 0.04);
    assert_eq!(covariates.flagged_blocks, [1]);
    study.engine_properties = None;
    let real = analyse(&study, &runs, 1.0).covariates;
    close(real.steal_share, 0.0);
}
