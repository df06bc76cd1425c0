//! Drift of the baseline: its rate block by block, and the levels between which it changed.
//!
//! A block counts as one number, the mean of the logarithms of A's and A′'s rates: it starts new workers, on cores
//! that it draws, so that rounds within it do not tell a change of the machine from that of a block. Changes are those of
//! `statistics::change_points`; docs/METHODOLOGY.md, "Drift of the baseline".

use crate::Interval;
use crate::estimate::{Observed, ObservedBlock};
use crate::setting::Setting;
use serde::Serialize;
use threadwise_statistics::change_points::{
    Between, ChangePoint, MIN_VALUES, Reference, change_points, levels,
};
use threadwise_study::{Role, Run};

/// Drift of a group's baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// Group.
    pub group: String,
    /// Treatment name of the baseline.
    pub baseline: String,
    /// Its rate in each usable block, in their order.
    pub blocks: Vec<BlockRate>,
    /// Its levels: one where no change is shown.
    pub levels: Vec<Level>,
    /// One between each two levels.
    pub changes: Vec<Change>,
    /// Why no change is looked for.
    pub gap: Option<String>,
}

/// The baseline's rate in a block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockRate {
    /// Its number.
    pub block: u32,
    /// Start of the baseline's first slice, seconds since the start of the study.
    pub start_s: f64,
    /// Rows per second, geometric mean of the baseline's and its twin's.
    pub rows_per_s: f64,
}

/// Blocks of one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// First block.
    pub first_block: u32,
    /// Last block.
    pub last_block: u32,
    /// Start of the first block, seconds since the start of the study.
    pub start_s: f64,
    /// Geometric mean of the blocks' rates.
    pub rows_per_s: Interval,
}

/// A change from one level to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// First block of the new level.
    pub block: u32,
    /// When it started, seconds since the start of the study.
    pub start_s: f64,
    /// The new rate over the one before.
    pub value: f64,
    /// Lower end of its interval, which allows for the choice of the place.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p of the test that there is no change in the stretch that it was found in.
    pub p: f64,
}

/// Drift of each group's baseline, groups in study order; of groups without a usable block none. All groups together name
/// a change in at most alpha of the studies in which there is none.
pub(crate) fn drifts(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Vec<Drift> {
    let alpha = setting.alpha / observed.groups.len().max(1) as f64;
    let mut reference = Reference::default();
    let groups = 0..observed.groups.len();
    groups.filter_map(|group| of_group(setting, observed, (group, alpha), runs, &mut reference)).collect()
}

fn of_group(
    setting: &Setting<'_>,
    observed: &Observed,
    (group, alpha): (usize, f64),
    runs: &[Run],
    reference: &mut Reference,
) -> Option<Drift> {
    let treatments = &setting.study.treatments;
    let with_role = |role: Role| {
        (0..treatments.len()).find(|at| observed.group_of[*at] == group && treatments[*at].role == role)
    };
    let base = with_role(Role::Baseline)?;
    let sides: Vec<usize> = [Some(base), with_role(Role::BaselineTwin)].into_iter().flatten().collect();
    let blocks: Vec<BlockRate> =
        observed.blocks.iter().filter_map(|block| rate(observed, block, &sides, runs)).collect();
    let logs: Vec<f64> = blocks.iter().map(|block| block.rows_per_s.ln()).collect();
    let found = change_points(&logs, alpha, reference);
    let all = levels(&logs, &found, setting.alpha)?;
    let level = |(range, log): &(std::ops::Range<usize>, Between)| Level {
        first_block: blocks[range.start].block,
        last_block: blocks[range.end - 1].block,
        start_s: blocks[range.start].start_s,
        rows_per_s: Interval {
            mean: log.mean.exp(),
            low: log.low.exp(),
            high: log.high.exp(),
            unit: "1/s".to_owned(),
        },
    };
    let change = |(found, step): (&ChangePoint, &Between)| Change {
        block: blocks[found.at].block,
        start_s: blocks[found.at].start_s,
        value: step.mean.exp(),
        low: step.low.exp(),
        high: step.high.exp(),
        p: found.p,
    };
    Some(Drift {
        group: observed.groups[group].clone(),
        baseline: treatments[base].name.clone(),
        levels: all.levels.iter().map(level).collect(),
        changes: found.iter().zip(&all.steps).map(change).collect(),
        gap: (blocks.len() < MIN_VALUES).then(|| format!("fewer than {MIN_VALUES} blocks")),
        blocks,
    })
}

/// The rate of a block in which all of these treatments are usable and did something.
fn rate(observed: &Observed, block: &ObservedBlock, sides: &[usize], runs: &[Run]) -> Option<BlockRate> {
    let log = |at: &usize| Some(observed.usable(block, *at)?.work().rows_per_s()?.ln());
    let logs: Vec<f64> = sides.iter().map(log).collect::<Option<_>>()?;
    let starts = sides.iter().filter_map(|at| runs.get(block.sources[*at]?));
    let start_ns = starts.flat_map(|run| &run.slices).map(|slice| slice.start_ns).min()?;
    let rows_per_s = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let start_s = start_ns as f64 / 1e9;
    (rows_per_s.is_finite() && rows_per_s > 0.0).then_some(BlockRate {
        block: block.number,
        start_s,
        rows_per_s,
    })
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{run, study};
    use crate::{analyse, plain_verdict};
    use threadwise_study::Run;

    /// Twelve blocks of a second each, every slice with so many rows by block and treatment.
    fn runs(rows: impl Fn(u32, &str) -> u64) -> Vec<Run> {
        let mut all: Vec<Run> = (0..12)
            .flat_map(|block| ["A", "A'", "T"].map(|name| run(block, name, &[rows(block, name); 4])))
            .collect();
        for run in &mut all {
            let block = u64::from(run.block);
            run.slices.iter_mut().for_each(|slice| slice.start_ns = 1_000_000_000 * (5 + 2 * block));
        }
        all
    }

    /// All slow down by a tenth in block 7; blocks differ by 0.2% at the most.
    fn slower(block: u32, name: &str) -> u64 {
        let noise = u64::from((block * 7 + name.len() as u32 * 3) % 5);
        (if block < 7 { 1_000_000 } else { 900_000 }) + 500 * noise
    }

    #[test]
    fn a_change_is_named_with_its_time_and_its_rates() {
        let study = study(&[""], &["T same-package 2"]);
        let analysis = analyse(&study, &runs(slower), 1.0);
        let drift = &analysis.drift[0];
        let [change] = drift.changes.as_slice() else { panic!("{drift:?}") };
        assert_eq!((change.block, change.start_s, drift.blocks.len()), (7, 19.0, 12));
        assert!(change.low < 0.9 && change.high > 0.9 && change.high < 0.91, "{change:?}");
        assert_eq!((drift.levels[0].last_block, drift.levels[1].first_block), (6, 7));
        let verdict = plain_verdict(&study, &crate::fixtures::machine(1, 2, 1), &analysis);
        let line = verdict.iter().find(|finding| finding.kind == "drift").unwrap().line.to_string();
        assert!(
            line.starts_with("Drift: the baseline's rate fell in block 7, 19.0 s after the start, from "),
            "{line}"
        );
        assert!(line.contains(" (-10% [") && line.ends_with("rates are means over its levels."), "{line}");
    }

    #[test]
    fn nothing_is_said_of_a_rate_that_stays() {
        let study = study(&[""], &["T same-package 2"]);
        // The treatment alone slows down, and the baseline in one block.
        let rows = |block: u32, name: &str| match (name, block) {
            ("T", _) => slower(block, name),
            (_, 4) => 800_000,
            _ => slower(0, name) + 500 * u64::from(block * 3 % 5),
        };
        let analysis = analyse(&study, &runs(rows), 1.0);
        assert!(analysis.drift[0].changes.is_empty() && analysis.drift[0].levels.len() == 1);
        let few: Vec<Run> = runs(slower).into_iter().filter(|run| run.block > 4).collect();
        let analysis = analyse(&study, &few, 1.0);
        assert_eq!(analysis.drift[0].gap.as_deref(), Some("fewer than 8 blocks"));
        assert!(analyse(&study, &[], 1.0).drift.is_empty());
    }
}
