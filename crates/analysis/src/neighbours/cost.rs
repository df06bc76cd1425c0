//! The cost of a neighbour from observations. Pure.
//!
//! A session with a neighbour for a share x of its slice does r (1 − c x). Looks do not see x but an exposure z: the slope of
//! the rate on z within the cells of a block, divided by γ, the slope of what looks during slices see on z, is that on x (an
//! instrument, which errors in z do not bias; Wooldridge, *Econometric Analysis of Cross Section and Panel Data*, 2nd
//! edition, chapters 5 and 10). Errors of the looks during slices remain: they make a cost c seem c / (1 − e), with e the
//! probability of a wrong look. Intervals: delete one block at a time (jackknife; Efron, Stein, Annals of Statistics 9, 1981),
//! Student's t.

use super::pairs::{inverse, times};
use super::rows::{DuringLook, LEAST_BLOCKS, LEAST_LOOKS, Observations, Row};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use threadwise_statistics::{LeftOut, MeanEstimate};

/// Least γ: below, exposures say nearly nothing of what happens inside slices.
const LEAST_GAMMA: f64 = 0.2;
/// Least number of rows of a cell.
const LEAST_ROWS: usize = 3;
/// Circular shifts that are drawn.
const SHIFTS: u32 = 199;

/// The cost of a neighbour to a session. Means of ratios are logarithms of what is left of a session's rate.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourCost {
    /// Left of a rate beside a neighbour all the time.
    pub remaining: Option<MeanEstimate>,
    /// The same as if exposures were shares: less cost than there is, where states change within slices.
    pub seen: MeanEstimate,
    /// Left of the whole: with a neighbour as often as it was there.
    pub whole: Option<MeanEstimate>,
    /// The slope for the session's own core less that for idle logical CPUs on other cores, as shares of a rate; `None`
    /// without such a logical CPU.
    pub own_less_elsewhere: Option<MeanEstimate>,
    /// The slope for idle logical CPUs on other cores.
    pub elsewhere: Option<MeanEstimate>,
    /// Share of the time with a neighbour.
    pub prevalence: MeanEstimate,
    /// γ.
    pub gamma: Option<MeanEstimate>,
    /// Left if all repeated looks that disagree were wrong, each of two as likely; `None` without repeated looks.
    pub remaining_at_worst: Option<f64>,
    /// How often exposures that are shifted inside blocks, by rounds drawn at random, give as large a slope.
    pub p_shift: f64,
    /// Blocks that tell something, and as how many equal ones they count.
    pub blocks: usize,
    /// As how many equal ones these count.
    pub effective_blocks: f64,
}

/// A cost is claimed where this much of a rate, or less, is left at the upper end.
const CLAIMED_BELOW: f64 = 0.95;
/// And where shifts of exposures give as large a slope no more often than this.
const MOST_P_SHIFT: f64 = 0.05;

impl NeighbourCost {
    /// Whether a cost is claimed of which this much of a rate is left at the upper end: the session's own core must cost more
    /// than others', at level 1 − `alpha`, and exposures that are shifted must not cost as much.
    pub fn is_claimed(&self, high: f64, alpha: f64) -> bool {
        let is_own = self.own_less_elsewhere.is_none_or(|one| one.interval(alpha).1 < 0.0);
        is_own && self.p_shift <= MOST_P_SHIFT && high < CLAIMED_BELOW
    }
}

/// Sums of a block over its cells. z is a session's exposure, e that of idle logical CPUs on other cores, y the rate over the
/// cell's mean; all but the last two are of deviations from a cell's mean.
#[derive(Debug, Clone, Copy, Default)]
struct Sums([f64; 12]);

const ZZ: usize = 0;
const ZY: usize = 1;
/// Σ z y times the mean exposure of what a rate is over: of the cell, and of the query or whole run.
const MEAN_ZY: usize = 2;
/// The sums of rows with an exposure elsewhere.
const BOTH_ZZ: usize = 3;
const BOTH_ZY: usize = 4;
const ZE: usize = 5;
const EE: usize = 6;
const EY: usize = 7;
/// Of looks during slices: Σ z·seen and Σ z².
const SEEN: usize = 8;
const SEEN_ZZ: usize = 9;
/// Time with a neighbour, and time.
const SHARE: usize = 10;
const TIME: usize = 11;

impl Sums {
    fn over(blocks: &[&Self]) -> Self {
        Self(std::array::from_fn(|at| blocks.iter().map(|block| block.0[at]).sum()))
    }

    fn gamma(&self) -> f64 {
        self.0[SEEN] / self.0[SEEN_ZZ]
    }

    fn prevalence(&self) -> f64 {
        self.0[SHARE] / self.0[TIME]
    }

    /// Left of a rate at an exposure of 1, by a γ: c solves c γ Σz² = −Σ (1 − c z̄) z y, which refers each cell's rate to
    /// that without a neighbour.
    fn remaining(&self, gamma: f64) -> f64 {
        (1.0 + self.0[ZY] / (gamma * self.0[ZZ] - self.0[MEAN_ZY])).max(1e-3)
    }

    /// Slopes for the own core and for others, together.
    fn slopes(&self) -> Option<[f64; 2]> {
        let [zz, zy, ze, ee, ey] = [BOTH_ZZ, BOTH_ZY, ZE, EE, EY].map(|at| self.0[at]);
        Some(times(inverse([[zz, ze], [ze, ee]])?, [zy, ey]))
    }
}

/// The cost of a neighbour; `None` where too few blocks tell anything.
pub fn cost(observations: &Observations, seed: u64) -> Option<NeighbourCost> {
    let cells = by_cell(&observations.rows);
    let mut blocks: BTreeMap<u32, Sums> = BTreeMap::new();
    for (&(block, _), rows) in &cells {
        let exposures: Vec<f64> = rows.iter().map(|row| row.own).collect();
        add_cell(blocks.entry(block).or_default(), rows, &exposures);
    }
    let telling: Vec<f64> = blocks.values().map(|sums| sums.0[ZZ]).filter(|zz| *zz > 0.0).collect();
    let (sum, squares) = telling.iter().fold((0.0, 0.0), |(sum, all), zz| (sum + zz, all + zz * zz));
    let effective_blocks = sum * sum / squares;
    if (telling.len() as f64) < LEAST_BLOCKS || effective_blocks < LEAST_BLOCKS {
        return None;
    }
    add_looks(&mut blocks, &observations.during);
    let all: Vec<Sums> = blocks.into_values().collect();
    let gamma = (observations.during.len() >= LEAST_LOOKS)
        .then(|| jackknife(&all, |sums| Some(sums.gamma())))
        .flatten()
        .filter(|gamma| gamma.interval(0.05).0 > LEAST_GAMMA);
    let corrected = |value: fn(&Sums) -> f64| gamma.and_then(|_| jackknife(&all, |sums| Some(value(sums))));
    let remaining = corrected(|sums| sums.remaining(sums.gamma()).ln());
    Some(NeighbourCost {
        remaining_at_worst: remaining
            .and_then(|remaining| at_worst(remaining.mean.exp(), &observations.repeated)),
        remaining,
        seen: jackknife(&all, |sums| Some(sums.remaining(1.0).ln()))?,
        whole: corrected(|sums| (1.0 - sums.prevalence() * (1.0 - sums.remaining(sums.gamma()))).ln()),
        own_less_elsewhere: jackknife(&all, |sums| sums.slopes().map(|[here, other]| here - other)),
        elsewhere: jackknife(&all, |sums| sums.slopes().map(|[_, other]| other)),
        prevalence: jackknife(&all, |sums| Some(sums.prevalence()))?,
        gamma,
        p_shift: p_shift(&cells, &all, seed),
        blocks: telling.len(),
        effective_blocks,
    })
}

/// What is left where looks are wrong as often as repeated ones disagree, both ways: a cost c seems
/// c / (1 − 2e + e c) then.
fn at_worst(remaining: f64, repeated: &[[f64; 2]]) -> Option<f64> {
    let disagree = repeated.iter().filter(|[first, second]| first != second).count();
    let wrong = disagree as f64 / 2.0 / repeated.len() as f64;
    let seen = 1.0 - remaining;
    (repeated.len() >= LEAST_LOOKS).then(|| 1.0 - seen * (1.0 - 2.0 * wrong) / (1.0 - seen * wrong))
}

type Cells<'r> = BTreeMap<(u32, u32), Vec<&'r Row>>;

/// Rows by block and cell, in order of time.
fn by_cell(rows: &[Row]) -> Cells<'_> {
    let mut cells: Cells<'_> = BTreeMap::new();
    for row in rows {
        cells.entry((row.block, row.cell)).or_default().push(row);
    }
    cells.retain(|_, rows| rows.len() >= LEAST_ROWS);
    cells
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Adds a cell with these exposures of its own.
fn add_cell(sums: &mut Sums, rows: &[&Row], exposures: &[f64]) {
    let rates: Vec<f64> = rows.iter().map(|row| row.rate).collect();
    let (rate, z) = (mean(&rates), mean(exposures));
    for (row, exposure) in rows.iter().zip(exposures) {
        let (x, y) = (exposure - z, row.rate / rate - 1.0);
        sums.0[ZZ] += x * x;
        sums.0[ZY] += x * y;
        sums.0[MEAN_ZY] += (z + row.more) * x * y;
        sums.0[SHARE] += row.share * row.window_s;
        sums.0[TIME] += row.window_s;
    }
    let both: Vec<[f64; 3]> = rows
        .iter()
        .zip(exposures)
        .filter_map(|(row, exposure)| Some([*exposure, row.elsewhere?, row.rate / rate - 1.0]))
        .collect();
    if both.len() < LEAST_ROWS {
        return;
    }
    let middle = [0, 1, 2].map(|at| both.iter().map(|row| row[at]).sum::<f64>() / both.len() as f64);
    for row in &both {
        let [x, e, y] = [0, 1, 2].map(|at| row[at] - middle[at]);
        sums.0[BOTH_ZZ] += x * x;
        sums.0[BOTH_ZY] += x * y;
        sums.0[ZE] += x * e;
        sums.0[EE] += e * e;
        sums.0[EY] += e * y;
    }
}

/// Adds what looks during slices saw, by block and logical CPU.
fn add_looks(blocks: &mut BTreeMap<u32, Sums>, during: &[DuringLook]) {
    let mut cells: BTreeMap<(u32, u32), Vec<&DuringLook>> = BTreeMap::new();
    for look in during.iter().filter(|look| blocks.contains_key(&look.block)) {
        cells.entry((look.block, look.cpu)).or_default().push(look);
    }
    for ((block, _), looks) in cells {
        let seen = mean(&looks.iter().map(|look| look.seen).collect::<Vec<f64>>());
        let exposure = mean(&looks.iter().map(|look| look.exposure).collect::<Vec<f64>>());
        let Some(sums) = blocks.get_mut(&block) else { continue };
        for look in looks {
            let z = look.exposure - exposure;
            sums.0[SEEN] += z * (look.seen - seen);
            sums.0[SEEN_ZZ] += z * z;
        }
    }
}

/// A function of sums with its standard error; `None` where it is not known.
fn jackknife(blocks: &[Sums], value: impl Fn(&Sums) -> Option<f64>) -> Option<MeanEstimate> {
    LeftOut::of(blocks, |blocks| value(&Sums::over(blocks)))?.estimate()
}

/// How often the slope is as far from 0 where each block's exposures are moved against its rates.
fn p_shift(cells: &Cells<'_>, all: &[Sums], seed: u64) -> f64 {
    let total: f64 = all.iter().map(|sums| sums.0[ZY]).sum();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut hits = 0;
    for _ in 0..SHIFTS {
        let mut shifted = Sums::default();
        let mut by = (None, 0);
        for (&(block, _), rows) in cells {
            // One shift for a block: its cells saw the same host.
            if by.0 != Some(block) {
                by = (Some(block), random.next_u32() as usize);
            }
            let exposures =
                (0..rows.len()).map(|at| rows[(at + by.1) % rows.len()].own).collect::<Vec<f64>>();
            add_cell(&mut shifted, rows, &exposures);
        }
        hits += u32::from(shifted.0[ZY].abs() >= total.abs() * (1.0 - 1e-12));
    }
    f64::from(1 + hits) / f64::from(1 + SHIFTS)
}
