//! Two real studies of a guest that its host disturbs and moves: how well they know a ratio, and how long ±2% would take.
//!
//! The tables have every slice of the baseline (0), of the baseline again (1) and of two sessions on two cores (2).

use crate::lab_simulations::coverage::rules::ALPHA;
use threadwise_analysis::UNTIL_LEVEL_SHARE;
use threadwise_analysis::estimate::{LostCpu, Work, block_difference, pseudo_values};
use threadwise_statistics::{mean, summary, t_quantile};

/// Name, slices, and seconds from the start of a block to that of the next.
const REAL: [(&str, &str, f64); 2] = [
    ("disturbed", include_str!("real/disturbed-guest.tsv"), 3.64),
    ("moving", include_str!("real/moving-guest.tsv"), 13.2),
];
/// The half-width that is asked for.
const ASKED: f64 = 0.02;

/// By block, treatment and round.
fn read(table: &str) -> Vec<[Vec<Work>; 3]> {
    let mut blocks: Vec<[Vec<Work>; 3]> = Vec::new();
    for line in table.lines().skip(1) {
        let numbers: Vec<f64> = line.split('\t').map(|field| field.parse().unwrap()).collect();
        let [block, treatment, round, rows, window_ns, sessions, cpu_ns] = numbers.try_into().unwrap();
        blocks.resize(blocks.len().max(block as usize + 1), Default::default());
        let side = &mut blocks[block as usize][treatment as usize];
        assert_eq!(side.len(), round as usize);
        let session_ns = window_ns * sessions;
        side.push(Work { slices: 1, rows, window_ns, session_ns, cpu_ns, ..Work::default() });
    }
    blocks
}

/// d as it was before: the mean over rounds of the logarithms of slices.
fn mean_of_logs([base, twin, top]: &[Vec<Work>; 3]) -> f64 {
    let ln = |done: &Work| done.rows_per_s().unwrap().ln();
    mean((0..top.len()).map(|round| ln(&top[round]) - (ln(&base[round]) + ln(&twin[round])) / 2.0)).unwrap()
}

/// Half-width of these blocks at 95%, and how many blocks of their standard deviation ±2% takes at this alpha.
fn known(d: &[f64], alpha: f64) -> (f64, usize) {
    let Some(all) = summary(d) else { panic!("no blocks") };
    let half_width = |blocks: usize, alpha: f64| {
        let quantile = t_quantile(1.0 - alpha / 2.0, (blocks - 1) as f64).unwrap();
        (quantile * all.sd / (blocks as f64).sqrt()).exp_m1()
    };
    let needed = (8..).find(|blocks| half_width(*blocks, alpha) <= ASKED).unwrap();
    (half_width(d.len(), ALPHA), needed)
}

#[test]
#[ignore = "laboratory: simulations"]
fn two_real_studies_to_two_percent() {
    for (name, table, block_s) in REAL {
        let blocks = read(table);
        let sums = |[base, twin, top]: &[Vec<Work>; 3]| {
            block_difference(top, &[base, twin], Work::rows_per_s).unwrap()
        };
        let lost: Vec<LostCpu> =
            blocks.iter().map(|[base, twin, top]| LostCpu::of(top, &[base, twin]).unwrap()).collect();
        let (adjusted, slope) = pseudo_values(&lost).unwrap();
        // Before, each of five looks had a fifth of alpha.
        let before = known(&blocks.iter().map(mean_of_logs).collect::<Vec<_>>(), ALPHA / 5.0);
        let now = known(&blocks.iter().map(sums).collect::<Vec<_>>(), ALPHA * UNTIL_LEVEL_SHARE);
        let without = known(&adjusted, ALPHA * UNTIL_LEVEL_SHARE);
        for (what, (half_width, needed)) in
            [("before", before), ("now", now), ("without lost CPU time", without)]
        {
            println!(
                "{name} guest, {} blocks, {what}: ±{:.1}%; ±2% takes {needed} blocks, {:.0} s",
                blocks.len(),
                100.0 * half_width,
                needed as f64 * block_s
            );
        }
        println!("{name} guest: slope of lost CPU time {slope:.2}");
        assert!(now.1 < before.1 && without.1 * 10 <= before.1 * 6, "{before:?} {now:?} {without:?}");
    }
}
