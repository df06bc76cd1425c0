//! Slices of sessions with a logical CPU of their own, each with what the looks around it saw of that logical CPU.

use crate::looks::states::{Judged, LookedAt};
use std::collections::BTreeMap;
use threadwise_study::Moment;
use threadwise_study::look::follow::Share;

/// A session in a slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Block.
    pub block: u32,
    /// Treatment and session, by number: only rows of the same cell of a block are compared.
    pub cell: u32,
    /// Rows a second of the session.
    pub rate: f64,
    /// Exposure of the session's logical CPU, from 0 to 1 (`exposure`).
    pub own: f64,
    /// Mean exposure of idle logical CPUs on other cores; `None` where there is none, or it is not known.
    pub elsewhere: Option<f64>,
    /// Whether both looks around the slice saw a neighbour, or neither did; `None` where they disagree.
    pub agreed: Option<bool>,
}

/// A look while a slice ran, at one logical CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuringLook {
    /// Block.
    pub block: u32,
    /// Logical CPU.
    pub cpu: u32,
    /// 1 with a neighbour, else 0.
    pub seen: f64,
    /// Exposure of the logical CPU in that slice.
    pub exposure: f64,
}

/// Shares of a slice or of a look: on one core, and with a neighbour.
pub type States = [f64; 2];

/// A slice of a treatment of two sessions, each with a logical CPU of its own, or of one session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairRow {
    /// Block.
    pub block: u32,
    /// Treatment, by number.
    pub cell: u32,
    /// Whether two sessions run.
    pub is_pair: bool,
    /// Rows a second of all sessions.
    pub rate: f64,
    /// Exposures; of one session the first is 0.
    pub exposures: States,
}

/// A look while a slice ran, at the two logical CPUs of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairLook {
    /// Block.
    pub block: u32,
    /// What it saw: 1 on one core, else 0; mean of both with a neighbour.
    pub seen: States,
    /// Exposures of that slice.
    pub exposures: States,
}

/// What is estimated from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    /// Sessions in slices.
    pub rows: Vec<Row>,
    /// Looks during slices of all treatments, at busy logical CPUs.
    pub during: Vec<DuringLook>,
    /// What such a look saw, and the one that repeated it at once.
    pub repeated: Vec<[f64; 2]>,
    /// Slices of two sessions with a logical CPU each, and of one.
    pub pair_rows: Vec<PairRow>,
    /// Looks during slices at the two logical CPUs of such a treatment.
    pub pair_looks: Vec<PairLook>,
}

/// 1 with a neighbour, 0 on a core of its own; `None` where neither is known. One that shares its core with another logical
/// CPU of the study has no neighbour, and no core of its own.
fn seen(share: Share) -> Option<f64> {
    match share {
        Share::Neighbour => Some(1.0),
        Share::Alone => Some(0.0),
        Share::With(_) | Share::Slowed | Share::Apart | Share::Away | Share::Unknown => None,
    }
}

/// A look this soon after another one repeats it.
const AT_ONCE_NS: u64 = 2_000_000;

fn is_repeated(first: &Judged<'_>, second: &Judged<'_>) -> bool {
    second.look.start_ns.saturating_sub(first.look.start_ns) < AT_ONCE_NS
}

/// A slice between its neighbours in time, of the same block.
struct Around<'s, 'r> {
    before: Option<&'s LookedAt<'r>>,
    slice: &'s LookedAt<'r>,
    after: Option<&'s LookedAt<'r>>,
}

fn last(slice: &LookedAt<'_>, moment: Moment, cpu: u32) -> Option<f64> {
    let look = slice.looks.iter().rfind(|look| look.moment == moment)?;
    seen(look.shares.get(cpu)?)
}

impl Around<'_, '_> {
    /// The looks right before and after the slice, with half of the weight of those the last after the slice before and the
    /// first before the next one.
    fn exposure(&self, cpu: u32) -> Option<f64> {
        let near = self.near(cpu)?;
        let far = last(self.before?, Moment::After, cpu)? + last(self.after?, Moment::Before, cpu)?;
        Some((near[0] + near[1] + far / 2.0) / 3.0)
    }

    fn near(&self, cpu: u32) -> Option<[f64; 2]> {
        Some([last(self.slice, Moment::Before, cpu)?, last(self.slice, Moment::After, cpu)?])
    }

    /// Mean exposure of logical CPUs that the slice leaves idle.
    fn elsewhere(&self, cpus: &[u32]) -> Option<f64> {
        let look = self.slice.looks.iter().find(|look| look.moment == Moment::Before)?;
        let idle = look.look.cpus.iter().map(|seen| seen.cpu).filter(|cpu| !cpus.contains(cpu));
        let known: Vec<f64> = idle.filter_map(|cpu| self.exposure(cpu)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

/// Observations of the treatments for which `is_of` holds; looks during slices are those of all treatments. `slices` are in
/// order of time.
pub fn observations(slices: &[LookedAt<'_>], is_of: impl Fn(&str) -> bool) -> Observations {
    let mut found = Observations::default();
    let mut cells: BTreeMap<(&str, usize), u32> = BTreeMap::new();
    let of_block = |at: Option<usize>, block: u32| {
        at.and_then(|at| slices.get(at)).filter(|slice| slice.run.block == block)
    };
    let two = pairs_by_block(slices, &is_of);
    for (at, slice) in slices.iter().enumerate() {
        let block = slice.run.block;
        let (before, after) = (of_block(at.checked_sub(1), block), of_block(Some(at + 1), block));
        let around = Around { before, slice, after };
        let during: Vec<&Judged<'_>> =
            slice.looks.iter().filter(|look| look.moment == Moment::During).collect();
        for (at, look) in during.iter().enumerate() {
            let first = at.checked_sub(1).map(|at| during[at]).filter(|first| is_repeated(first, look));
            // A host moves logical CPUs by what they do, so that looks at busy ones alone tell of slices.
            let of_pair = two.get(&block).filter(|cpus| slice.run.cpus == **cpus);
            if let (None, Some(cpus)) = (first, of_pair) {
                let of_look = states(look, cpus).zip(around.exposures(cpus));
                found.pair_looks.extend(of_look.map(|(seen, exposures)| PairLook { block, seen, exposures }));
            }
            for (cpu, share) in look.shares.iter().filter(|(cpu, _)| slice.run.cpus.contains(cpu)) {
                let Some(now) = seen(share) else { continue };
                match first {
                    Some(first) => {
                        let before = first.shares.get(cpu).and_then(seen);
                        found.repeated.extend(before.map(|before| [before, now]));
                    }
                    None => found.during.extend(around.exposure(cpu).map(|exposure| DuringLook {
                        block,
                        cpu,
                        seen: now,
                        exposure,
                    })),
                }
            }
        }
        if is_of(&slice.run.treatment) {
            let mut cell = |session: usize| {
                let next = cells.len() as u32;
                *cells.entry((slice.run.treatment.as_str(), session)).or_insert(next)
            };
            found.rows.extend(sessions(&around, &mut cell));
            let treatment = cell(usize::MAX);
            found.pair_rows.extend(pair_row(&around, treatment));
        }
    }
    found
}

/// States of some logical CPUs in a look: on one core, and the mean with a neighbour; `None` where one is not known.
fn states(look: &Judged<'_>, cpus: &[u32]) -> Option<States> {
    let mut sum = [0.0, 0.0];
    for cpu in cpus {
        let share = look.shares.get(*cpu)?;
        match share.with() {
            Some(other) if cpus.contains(&other) => sum[0] += 1.0,
            _ => sum[1] += seen(share)?,
        }
    }
    Some(sum.map(|sum| sum / cpus.len() as f64))
}

impl Around<'_, '_> {
    /// As [`Self::exposure`], of the states of several.
    fn exposures(&self, cpus: &[u32]) -> Option<States> {
        let last = |slice: &LookedAt<'_>, moment: Moment| {
            states(slice.looks.iter().rfind(|look| look.moment == moment)?, cpus)
        };
        let near = [last(self.slice, Moment::Before)?, last(self.slice, Moment::After)?];
        let far = [last(self.before?, Moment::After)?, last(self.after?, Moment::Before)?];
        Some([0, 1].map(|at| (near[0][at] + near[1][at] + (far[0][at] + far[1][at]) / 2.0) / 3.0))
    }
}

/// A slice of one session, or of two with a logical CPU each.
fn pair_row(around: &Around<'_, '_>, cell: u32) -> Option<PairRow> {
    let (run, slice) = (around.slice.run, around.slice.slice);
    let is_pair = match (run.cpus.as_slice(), slice.sessions.len()) {
        ([_], 1) => false,
        ([one, other], 2) => one != other,
        _ => return None,
    };
    let rate = 1e9 * slice.rows() as f64 / slice.window_ns as f64;
    let exposures = around.exposures(&run.cpus)?;
    (rate > 0.0 && rate.is_finite() && (is_pair || run.cpus.len() == 1)).then_some(PairRow {
        block: run.block,
        cell,
        is_pair,
        rate,
        exposures,
    })
}

/// The two logical CPUs of a treatment of two sessions, by block.
fn pairs_by_block(slices: &[LookedAt<'_>], is_of: &impl Fn(&str) -> bool) -> BTreeMap<u32, Vec<u32>> {
    let of_two = slices.iter().map(|slice| slice.run).filter(|run| {
        is_of(&run.treatment)
            && run.cpus.len() == 2
            && run.cpus[0] != run.cpus[1]
            && run.slices.iter().all(|slice| slice.sessions.len() == 2)
    });
    of_two.map(|run| (run.block, run.cpus.clone())).collect()
}

/// A row for each session that has a logical CPU to itself.
fn sessions(around: &Around<'_, '_>, cell: &mut impl FnMut(usize) -> u32) -> Vec<Row> {
    let (run, slice) = (around.slice.run, around.slice.slice);
    let mut cpus = run.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() != slice.sessions.len() || cpus.len() != run.cpus.len() || slice.window_ns == 0 {
        return Vec::new();
    }
    let row = |(session, (cpu, done)): (usize, (&u32, &threadwise_study::SessionSlice))| {
        let near = around.near(*cpu)?;
        Some(Row {
            block: run.block,
            cell: cell(session),
            rate: 1e9 * done.rows as f64 / slice.window_ns as f64,
            own: around.exposure(*cpu)?,
            elsewhere: around.elsewhere(&run.cpus),
            agreed: (near[0] == near[1]).then_some(near[0] > 0.5),
        })
    };
    let all = run.cpus.iter().zip(&slice.sessions).enumerate();
    all.filter_map(row).filter(|row| row.rate > 0.0).collect()
}
