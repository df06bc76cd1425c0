//! Two sessions that a host ran on one core, over the same two on clear cores, and over one on a clear core: the yield of a
//! core's second thread where nothing declares one. Observational, as all that is made of looks.
//!
//! As [`cost`](super::cost), with two exposures of a slice: the share of the looks around it with both on one core, and the mean
//! share of both with a neighbour. What happens inside slices follows both by a matrix of slopes, Γ, in the place of γ.

use super::rows::{LEAST_BLOCKS, LEAST_LOOKS, PairLook, PairRow, States};
use std::collections::BTreeMap;
use threadwise_statistics::{LeftOut, MeanEstimate};

/// What was found, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairFound {
    /// Two on one core over the same two on clear cores.
    pub over_two: MeanEstimate,
    /// Two on one core over one on a clear core; `None` without such a treatment.
    pub over_one: Option<MeanEstimate>,
    /// Share of the time on one core, of the treatments of two sessions.
    pub prevalence: MeanEstimate,
}

/// A matrix of two rows.
pub(super) type Square = [States; 2];

/// Sums of a cell of a block: deviations from means, and the means.
#[derive(Debug, Clone, Copy)]
struct Cell {
    is_pair: bool,
    /// Σ of products of exposures, and of exposures with the rate over its mean.
    products: Square,
    with_rate: States,
    log_rate: f64,
    exposures: States,
}

/// A block: its cells, and of looks during slices the products of what was seen with exposures, and of exposures.
#[derive(Debug, Clone, Default)]
struct Block {
    cells: Vec<Cell>,
    seen: Square,
    products: Square,
}

fn add(sum: &mut Square, one: States, other: States) {
    for (row, one) in sum.iter_mut().zip(one) {
        row.iter_mut().zip(other).for_each(|(sum, other)| *sum += one * other);
    }
}

/// `None` where one row is nearly a multiple of the other.
pub(super) fn inverse([[a, b], [c, d]]: Square) -> Option<Square> {
    let determinant = a * d - b * c;
    let is_known = determinant.abs() > 1e-9 * (a * d).abs().max((b * c).abs());
    is_known.then(|| [[d / determinant, -b / determinant], [-c / determinant, a / determinant]])
}

pub(super) fn times(matrix: Square, vector: States) -> States {
    matrix.map(|row| row[0] * vector[0] + row[1] * vector[1])
}

fn product(one: Square, other: Square) -> Square {
    let column = |at: usize| times(one, [other[0][at], other[1][at]]);
    let (first, second) = (column(0), column(1));
    [[first[0], second[0]], [first[1], second[1]]]
}

fn transposed([[a, b], [c, d]]: Square) -> Square {
    [[a, c], [b, d]]
}

fn means(values: &[States]) -> States {
    [0, 1].map(|at| values.iter().map(|value| value[at]).sum::<f64>() / values.len() as f64)
}

/// What is left on one core; `None` where too few blocks or looks tell anything.
pub fn pairs(rows: &[PairRow], looks: &[PairLook]) -> Option<PairFound> {
    let blocks: Vec<Block> = by_block(rows, looks).into_values().collect();
    let telling: Vec<f64> = blocks.iter().map(on_one_core).filter(|sum| *sum > 0.0).collect();
    let (sum, squares) = telling.iter().fold((0.0, 0.0), |(sum, all), one| (sum + one, all + one * one));
    if (telling.len() as f64) < LEAST_BLOCKS
        || sum * sum / squares < LEAST_BLOCKS
        || looks.len() < LEAST_LOOKS
    {
        return None;
    }
    Some(PairFound {
        over_two: LeftOut::of(&blocks, |blocks| Some(ln_left(costs(blocks, true)?)))?.estimate()?,
        over_one: LeftOut::of(&blocks, over_one).and_then(|left_out| left_out.estimate()),
        prevalence: LeftOut::of(&blocks, prevalence)?.estimate()?,
    })
}

fn on_one_core(block: &Block) -> f64 {
    block.cells.iter().filter(|cell| cell.is_pair).map(|cell| cell.products[0][0]).sum()
}

fn prevalence(blocks: &[&Block]) -> Option<f64> {
    let cells = blocks.iter().flat_map(|block| &block.cells).filter(|cell| cell.is_pair);
    let (sum, count) = cells.fold((0.0, 0.0), |(sum, count), cell| (sum + cell.exposures[0], count + 1.0));
    Some(sum / count).filter(|share| share.is_finite())
}

fn by_block(rows: &[PairRow], looks: &[PairLook]) -> BTreeMap<u32, Block> {
    let mut cells: BTreeMap<(u32, u32), Vec<&PairRow>> = BTreeMap::new();
    rows.iter().for_each(|row| cells.entry((row.block, row.cell)).or_default().push(row));
    let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
    for ((block, _), rows) in cells.into_iter().filter(|(_, rows)| rows.len() > 2) {
        blocks.entry(block).or_default().cells.push(cell(&rows));
    }
    for (number, block) in &mut blocks {
        let looks: Vec<&PairLook> = looks.iter().filter(|look| look.block == *number).collect();
        if looks.is_empty() {
            continue;
        }
        let seen = means(&looks.iter().map(|look| look.seen).collect::<Vec<_>>());
        let exposures = means(&looks.iter().map(|look| look.exposures).collect::<Vec<_>>());
        for look in looks {
            let z = [0, 1].map(|at| look.exposures[at] - exposures[at]);
            add(&mut block.seen, [0, 1].map(|at| look.seen[at] - seen[at]), z);
            add(&mut block.products, z, z);
        }
    }
    blocks
}

fn cell(rows: &[&PairRow]) -> Cell {
    let exposures = means(&rows.iter().map(|row| row.exposures).collect::<Vec<_>>());
    let rate = rows.iter().map(|row| row.rate).sum::<f64>() / rows.len() as f64;
    let (mut products, mut with_rate) = ([[0.0; 2]; 2], [0.0; 2]);
    for row in rows {
        let z = [0, 1].map(|at| row.exposures[at] - exposures[at]);
        add(&mut products, z, z);
        with_rate = [0, 1].map(|at| with_rate[at] + z[at] * (row.rate / rate - 1.0));
    }
    Cell { is_pair: rows[0].is_pair, products, with_rate, log_rate: rate.ln(), exposures }
}

/// Costs of both states as shares of the rate on clear cores, of treatments of two sessions or of one.
fn costs(blocks: &[&Block], of_pairs: bool) -> Option<States> {
    let sum = |matrix: &dyn Fn(&Block) -> Square| {
        blocks.iter().map(|block| matrix(block)).fold([[0.0; 2]; 2], |sum: Square, one| {
            [0, 1].map(|row| [0, 1].map(|at| sum[row][at] + one[row][at]))
        })
    };
    let cells = || blocks.iter().flat_map(|block| &block.cells).filter(|cell| cell.is_pair == of_pairs);
    if !of_pairs {
        return cost_of_one(&sum(&|block| block.seen), &sum(&|block| block.products), cells());
    }
    let gamma = product(sum(&|block| block.seen), inverse(sum(&|block| block.products))?);
    let products = cells().fold([[0.0; 2]; 2], |sum: Square, cell| {
        [0, 1].map(|row| [0, 1].map(|at| sum[row][at] + cell.products[row][at]))
    });
    let solve = product(inverse(transposed(gamma))?, inverse(products)?);
    // Each cell's rate is referred to that on clear cores, which needs the costs: a contraction.
    let next = |costs: States| {
        let slope = cells().fold([0.0; 2], |sum: States, cell| {
            let clear = 1.0 - costs[0] * cell.exposures[0] - costs[1] * cell.exposures[1];
            [0, 1].map(|at| sum[at] + clear * cell.with_rate[at])
        });
        times(solve, slope).map(|slope| -slope)
    };
    let costs = (0..60).fold([0.0; 2], |costs, _| next(costs));
    costs.iter().all(|cost| cost.is_finite() && *cost < 1.0).then_some(costs)
}

/// Of one session only neighbours: the slope on exposures over the slope of looks on them.
fn cost_of_one<'c>(
    seen: &Square,
    products: &Square,
    cells: impl Iterator<Item = &'c Cell>,
) -> Option<States> {
    let gamma = seen[1][1] / products[1][1];
    let (mut zz, mut zy, mut mean_zy) = (0.0, 0.0, 0.0);
    for cell in cells {
        zz += cell.products[1][1];
        zy += cell.with_rate[1];
        mean_zy += cell.exposures[1] * cell.with_rate[1];
    }
    let cost = -zy / (gamma * zz - mean_zy);
    (cost.is_finite() && cost < 1.0).then_some([0.0, cost])
}

fn ln_left(costs: States) -> f64 {
    (1.0 - costs[0]).max(1e-3).ln()
}

/// Two on one core over one on a clear core: the ratio of both on clear cores, by block, times what is left on one core.
fn over_one(blocks: &[&Block]) -> Option<f64> {
    let (two, one) = (costs(blocks, true)?, costs(blocks, false)?);
    let clear = |cell: &Cell, costs: States| {
        cell.log_rate - (1.0 - costs[0] * cell.exposures[0] - costs[1] * cell.exposures[1]).ln()
    };
    let mean = |block: &Block, is_pair: bool, costs: States| {
        let all: Vec<f64> = block
            .cells
            .iter()
            .filter(|cell| cell.is_pair == is_pair)
            .map(|cell| clear(cell, costs))
            .collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    let d: Vec<f64> = blocks
        .iter()
        .filter_map(|block| Some(mean(block, true, two)? - mean(block, false, one)?))
        .filter(|d| d.is_finite())
        .collect();
    (!d.is_empty()).then(|| d.iter().sum::<f64>() / d.len() as f64 + ln_left(two))
}
