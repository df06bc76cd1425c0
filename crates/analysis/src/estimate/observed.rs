//! Which runs count: the latest attempt of each block, without failed and invalid runs.
//!
//! Only runs that failed or were found invalid are left out, never runs whose numbers look odd: dropping outliers would
//! bias a study. A left-out treatment takes its pair with it; a left-out baseline takes its group's whole block.

use super::digest::{Digest, Latency, RunValidity, Surroundings};
use super::judge::paired_difference;
use super::member::Series;
use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_statistics::MergedLatency;
use threadwise_study::{Role, Run, RunStatus, Study};

/// Most threads that read histograms.
const MAX_WORKERS: usize = 8;

/// Fewest runs for a thread of their own.
const RUNS_WORTH_A_THREAD: usize = 500;

/// The runs of a study by block and treatment.
pub struct Observed {
    /// In block order.
    pub blocks: Vec<Block>,
    /// Group names in study order.
    pub groups: Vec<String>,
    /// For each treatment the index of its group.
    pub group_of: Vec<usize>,
    /// What was left out and why, one per line.
    pub left_out: Vec<String>,
}

/// The latest attempt of one block.
pub struct Block {
    /// Its number.
    pub number: u32,
    /// For each treatment of the study its run, if it has one.
    pub runs: Vec<Option<Digest>>,
    /// Index of each in the list of runs that was given.
    pub sources: Vec<Option<usize>>,
    /// For each group whether its baseline runs are all usable.
    pub group_usable: Vec<bool>,
}

impl Observed {
    /// Sorts the runs.
    pub fn new(study: &Study, topology: Option<&Topology>, runs: &[Run]) -> Self {
        let groups: Vec<String> = study.groups().into_iter().map(str::to_owned).collect();
        let at = |name: &str| groups.iter().position(|group| group == name).unwrap_or(0);
        let group_of: Vec<usize> = study.treatments.iter().map(|treatment| at(&treatment.group)).collect();
        let mut observed = Self { blocks: Vec::new(), groups, group_of, left_out: Vec::new() };
        let index: BTreeMap<&str, usize> = study
            .treatments
            .iter()
            .enumerate()
            .map(|(at, treatment)| (treatment.name.as_str(), at))
            .collect();
        let latest = latest_attempts(runs);
        let used: Vec<&Run> = latest.values().flatten().map(|at| &runs[*at]).collect();
        let surroundings = Surroundings {
            rounds: study.design.rounds,
            topology,
            simulated: study.is_simulated(),
            // A query or a command has as many threads as it likes.
            service_threads: study.is_fixed_work()
                || study.engine_properties.as_ref().is_none_or(|engine| engine.service_threads),
        };
        let mut digests = digests(&used, &surroundings).into_iter();
        for (number, latest) in latest {
            let mut by_treatment: Vec<Option<Digest>> = vec![None; study.treatments.len()];
            let mut sources = vec![None; study.treatments.len()];
            for (source, digest) in latest.into_iter().zip(&mut digests) {
                let run = &runs[source];
                match index.get(run.treatment.as_str()) {
                    Some(at) => (by_treatment[*at], sources[*at]) = (Some(digest), Some(source)),
                    None => observed.left_out.push(format!(
                        "block {number}, a run of '{}': the study has no such treatment",
                        run.treatment
                    )),
                }
            }
            observed.add_block(study, number, by_treatment, sources);
        }
        observed
    }

    /// Blocks in which the baseline of at least one group is usable.
    pub fn usable_blocks(&self) -> u32 {
        self.blocks.iter().filter(|block| block.group_usable.contains(&true)).count() as u32
    }

    /// The run of a treatment in a block, if it and its group's baseline are usable.
    pub fn usable<'a>(&self, block: &'a Block, treatment: usize) -> Option<&'a Digest> {
        let run = block.runs[treatment].as_ref()?;
        (block.group_usable[self.group_of[treatment]] && run.is_usable()).then_some(run)
    }

    /// The treatment's number less the mean of its baselines', for every block in which all sides are usable and have
    /// one.
    pub fn differences(&self, top: usize, below: &[usize], value: &dyn Fn(&Digest) -> Option<f64>) -> Series {
        let mut series = Series::default();
        for block in &self.blocks {
            let side = |at: usize| value(self.usable(block, at)?);
            let baselines: Option<Vec<f64>> = below.iter().map(|at| side(*at)).collect();
            let d = baselines.and_then(|baselines| paired_difference(side(top)?, &baselines));
            if let Some(d) = d.filter(|d| d.is_finite()) {
                series.push(block.number, d);
            }
        }
        series
    }

    fn add_block(
        &mut self,
        study: &Study,
        number: u32,
        runs: Vec<Option<Digest>>,
        sources: Vec<Option<usize>>,
    ) {
        let mut group_usable = vec![true; self.groups.len()];
        for (group, usable) in group_usable.iter_mut().enumerate() {
            let members = || (0..runs.len()).filter(|at| self.group_of[*at] == group);
            if members().all(|at| runs[at].is_none()) {
                *usable = false;
                continue;
            }
            let where_at = place(number, &self.groups[group]);
            for at in members() {
                let name = &study.treatments[at].name;
                let problem = match &runs[at] {
                    None if study.treatments[at].role != Role::Compared => Some("missing".to_owned()),
                    None => None,
                    Some(run) => problem(run),
                };
                let Some(problem) = problem else { continue };
                if study.treatments[at].role == Role::Compared {
                    self.left_out.push(format!("{where_at}, {name} only: {problem}"));
                } else {
                    *usable = false;
                    self.left_out.push(format!("{where_at}: baseline {name} {problem}"));
                }
            }
            for at in members() {
                if let Some(Digest { latency: Latency::Unreadable(why), .. }) = &runs[at] {
                    let name = &study.treatments[at].name;
                    self.left_out.push(format!("{where_at}, latencies of {name}: {why}"));
                }
            }
        }
        self.blocks.push(Block { number, runs, sources, group_usable });
    }
}

/// Indexes of the runs of each block's latest attempt, by block. Superseded runs never count; of two runs of a
/// treatment in an attempt, the later in the list counts.
pub fn latest_attempts(runs: &[Run]) -> BTreeMap<u32, Vec<usize>> {
    let mut blocks: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.status != RunStatus::Superseded) {
        let latest = blocks.entry(run.block).or_default();
        let attempt = latest.first().map_or(run.attempt, |first| runs[*first].attempt);
        if run.attempt > attempt {
            latest.clear();
        }
        if run.attempt >= attempt {
            latest.push(at);
        }
    }
    blocks
}

/// Digests of all runs, in their order. Nearly all of the time of the analysis is spent here, reading histograms, and
/// runs do not depend on each other.
fn digests(runs: &[&Run], surroundings: &Surroundings<'_>) -> Vec<Digest> {
    let some = |runs: &[&Run]| -> Vec<Digest> {
        let mut merged = MergedLatency::new();
        runs.iter().map(|run| Digest::new(run, surroundings, &mut merged)).collect()
    };
    let workers = std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(MAX_WORKERS));
    let share = runs.len().div_ceil(workers).max(RUNS_WORTH_A_THREAD);
    std::thread::scope(|scope| {
        let parts: Vec<_> = runs.chunks(share).skip(1).map(|part| scope.spawn(move || some(part))).collect();
        let mut all = some(&runs[..share.min(runs.len())]);
        for part in parts {
            match part.join() {
                Ok(digests) => all.extend(digests),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

fn place(number: u32, group: &str) -> String {
    if group.is_empty() { format!("block {number}") } else { format!("block {number}, {group}") }
}

/// Why the first run of a treatment was left out, by the lines of [`Observed::left_out`]: its own reason, or its
/// group's baseline's. Only the reason itself: `crash: worker ended`.
pub fn first_reason<'a>(left_out: &'a [String], treatment: &str, group: &str) -> Option<&'a str> {
    let marks = [format!(", {treatment} only: "), format!(": baseline {treatment} ")];
    let after = |mark: &String| left_out.iter().find_map(|line| Some(line.split_once(mark.as_str())?.1));
    let of_group = |line: &&String| {
        let place = line.split_once(": baseline ").map(|(place, _)| place);
        place.is_some_and(|place| place.split_once(", ").map_or("", |(_, group)| group) == group)
    };
    if let Some(problem) = marks.iter().find_map(after) {
        let inner = problem.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        return Some(inner.unwrap_or(problem));
    }
    left_out.iter().find(of_group)?.split_once(": ").map(|(_, problem)| problem)
}

/// Whether a line of [`Observed::left_out`] is about a CPU quota.
pub fn is_throttled(line: &str) -> bool {
    line.contains(" invalid (throttled: ")
}

fn problem(run: &Digest) -> Option<String> {
    match &run.state {
        RunValidity::Usable => None,
        RunValidity::Failed(why) => Some(format!("failed ({why})")),
        RunValidity::Invalid(why) => Some(format!("invalid ({why})")),
    }
}
