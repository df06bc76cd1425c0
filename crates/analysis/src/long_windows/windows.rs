//! Long windows by block and treatment: the latest attempt of each block, without what failed.

use std::collections::BTreeMap;
use threadwise_study::plan::long::FIRST_BLOCK;
use threadwise_study::{Role, Run, RunStatus, Slice, Study};

/// The usable windows of a study.
pub struct Windows<'a> {
    /// By block, for each treatment.
    blocks: Vec<Vec<Option<&'a Slice>>>,
    /// What was left out and why.
    pub left_out: Vec<String>,
}

impl<'a> Windows<'a> {
    /// Sorts runs of long windows.
    pub fn new(study: &Study, runs: &'a [Run]) -> Self {
        let mut latest: BTreeMap<u32, (u32, Vec<&Run>)> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.status != RunStatus::Superseded) {
            let (attempt, found) = latest.entry(run.block).or_default();
            if run.attempt > *attempt {
                found.clear();
            }
            if run.attempt >= *attempt {
                *attempt = run.attempt;
                found.push(run);
            }
        }
        let mut all = Self { blocks: Vec::new(), left_out: Vec::new() };
        for (block, (_, runs)) in latest {
            let mut windows = vec![None; study.treatments.len()];
            for run in runs {
                let Some((at, _)) = study.treatment(&run.treatment) else { continue };
                match (run.status.is_valid(), run.slices.as_slice()) {
                    (true, [window]) => windows[at] = Some(window),
                    _ => all.left_out.push(left_out(block, run)),
                }
            }
            all.blocks.push(windows);
        }
        all
    }

    /// The windows of a treatment.
    pub fn of(&self, treatment: usize) -> impl Iterator<Item = &'a Slice> {
        self.blocks.iter().filter_map(move |block| block[treatment])
    }

    /// Blocks that have a window of A and one of A′ in some group.
    pub fn usable_blocks(&self, study: &Study) -> u32 {
        let has = |block: &[Option<&Slice>], group: &str| {
            let baselines = study.treatments.iter().zip(block);
            baselines
                .filter(|(one, _)| one.group == group && one.role != Role::Compared)
                .all(|(_, window)| window.is_some())
        };
        let groups = study.groups();
        let usable = self.blocks.iter().filter(|block| groups.iter().any(|group| has(block, group)));
        usable.count() as u32
    }

    /// By block the logarithm of a treatment's rate less the mean of its baselines'; blocks in which one of them is not
    /// there, or did nothing, have none.
    pub fn ratios(&self, top: usize, below: &[usize]) -> Vec<f64> {
        let log = |block: &[Option<&Slice>], at: usize| {
            let rate = block[at]?.rows_per_s();
            (rate > 0.0 && rate.is_finite()).then(|| rate.ln())
        };
        let ratio = |block: &Vec<Option<&Slice>>| {
            let below: Option<Vec<f64>> = below.iter().map(|at| log(block, *at)).collect();
            let below = below.filter(|below| !below.is_empty())?;
            Some(log(block, top)? - below.iter().sum::<f64>() / below.len() as f64)
        };
        self.blocks.iter().filter_map(ratio).collect()
    }
}

fn left_out(block: u32, run: &Run) -> String {
    let why = match &run.status {
        RunStatus::Failed { kind, message } | RunStatus::Invalid { kind, message } => {
            format!("{kind}: {message}")
        }
        RunStatus::Valid | RunStatus::Superseded => "it is not one window".to_owned(),
    };
    format!("long window {} of {}: {why}", block.saturating_sub(FIRST_BLOCK) + 1, run.treatment)
}
