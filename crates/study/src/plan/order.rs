//! The order of slices: over the whole study each treatment follows each other one, and itself, equally often.
//!
//! A slice may change the next one's speed (caches, clock, write-back). In independent permutations a treatment hardly
//! ever follows itself, so its effect on the next slice falls on all others and biases its own ratio in every block. In
//! a serially balanced sequence it falls on all alike: Finney and
//! Outhwaite, "Serially balanced sequences in bioassay" (Proc. R. Soc. B 145, 1956); Sampford, "Methods of
//! construction and analysis of serially balanced sequences" (J. R. Statist. Soc. B 19, 1957). Since every round
//! has every treatment once, a treatment can follow itself only at the start of a round, so there it always does:
//! a round begins with the treatment that ended the one before.
//!
//! The rounds of a study are cut into cycles of twice as many rounds as treatments, each of two Latin squares in
//! which together each treatment follows each other one twice (`squares`). A round is then an edge from
//! its first treatment to its last. Two edges begin and two end at every treatment, so a closed walk uses each
//! once (Euler), and one is drawn for each cycle, with the treatments that the squares' symbols stand for. So a
//! cycle has each pair of neighbours twice and each treatment in each place twice, and no stretch of a study
//! differs from balance by more than a part of a cycle at either end.

use super::squares::{Row, Squares, common_divisor};
use super::stream::{Purpose, random};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// Maximum walks drawn for one cycle to satisfy all wishes.
const WALKS: usize = 16;

/// The order of a block: for each of its rounds the treatments, by index. A pure function.
///
/// Takes time in proportion to `treatments` × (`treatments` + `rounds`), whatever the block's number. The first slice
/// of a block follows none. Blocks begin with each treatment equally often unless they are much shorter than a cycle; a
/// group of blocks that is a whole number of cycles starts again.
pub fn rounds(seed: u64, treatments: usize, rounds: u32, block: u32) -> Vec<Vec<usize>> {
    if treatments < 2 {
        return vec![(0..treatments).collect(); rounds as usize];
    }
    let study = Sequence { seed, treatments, rounds: u64::from(rounds) };
    let first = u64::from(block) * study.rounds;
    let range = first..first + study.rounds;
    let mut all = Vec::with_capacity(rounds as usize);
    let mut at = range.start;
    while at < range.end {
        let number = at / study.cycle_rounds();
        let cycle = study.cycle(number);
        let start = number * study.cycle_rounds();
        let end = range.end.min(start + study.cycle_rounds());
        all.extend((at - start..end - start).map(|round| cycle.round(round as usize)));
        at = end;
    }
    all
}

/// All rounds of a study, counted through its blocks.
struct Sequence {
    seed: u64,
    /// At least two.
    treatments: usize,
    /// Rounds of a block; at least one.
    rounds: u64,
}

impl Sequence {
    fn cycle_rounds(&self) -> u64 {
        2 * self.treatments as u64
    }

    /// The first treatments of some blocks: each once in every `treatments` blocks.
    fn first_of_blocks(&self, blocks: Range<u64>) -> Vec<usize> {
        let mut drawn: Option<(u64, Vec<usize>)> = None;
        let mut all = Vec::new();
        for block in blocks {
            let (number, place) = (block / self.treatments as u64, (block % self.treatments as u64) as usize);
            let known = drawn.take().filter(|(known, _)| *known == number);
            let (_, order) = drawn.insert(known.unwrap_or_else(|| {
                let mut order: Vec<usize> = (0..self.treatments).collect();
                order.shuffle(&mut random(self.seed, Purpose::FirstOfBlocks, number as u32));
                (number, order)
            }));
            all.push(order[place]);
        }
        all
    }

    /// The treatments that rounds of a cycle should begin with, with the round's number in the cycle. The first must,
    /// since it ended the cycle before, or begins a group of blocks; the others begin blocks.
    fn wishes(&self, cycle: u64) -> Vec<(usize, usize)> {
        let range = cycle * self.cycle_rounds()..(cycle + 1) * self.cycle_rounds();
        // After this many blocks a cycle ends with a block.
        let group = self.cycle_rounds() / common_divisor(self.cycle_rounds(), self.rounds);
        let block = range.start / self.rounds;
        let first = block - block % group;
        let begins = self.first_of_blocks(first..first + 1).into_iter().map(|treatment| (0, treatment));
        let blocks = range.start / self.rounds + 1..range.end.div_ceil(self.rounds);
        let places = blocks.clone().map(|block| (block * self.rounds - range.start) as usize);
        begins.chain(places.zip(self.first_of_blocks(blocks))).collect()
    }

    fn cycle(&self, number: u64) -> Cycle {
        let mut random = random(self.seed, Purpose::Cycle, number as u32);
        let wishes = self.wishes(number);
        let squares = Squares::draw(self.treatments, &mut random);
        let mut best = Walk::draw(&squares, &wishes, &mut random);
        for _ in 1..WALKS {
            if best.granted == wishes.len() {
                break;
            }
            let other = Walk::draw(&squares, &wishes, &mut random);
            best = if other.granted > best.granted { other } else { best };
        }
        let Walk { rows, treatment_of, .. } = best;
        Cycle { squares, rows, treatment_of: fill(treatment_of, &mut random) }
    }
}

/// A closed walk through the rounds of a cycle.
struct Walk {
    /// Number of satisfied wishes.
    granted: usize,
    rows: Vec<Row>,
    /// The treatment of each symbol, where a wish decides it.
    treatment_of: Vec<Option<usize>>,
}

impl Walk {
    /// Draws a walk, and assigns symbols to treatments so that it meets each wish, in their order.
    fn draw(squares: &Squares, wishes: &[(usize, usize)], random: &mut ChaCha8Rng) -> Self {
        let rows = closed_walk(squares, random);
        let mut treatment_of = vec![None; squares.symbols()];
        let mut is_given = vec![false; squares.symbols()];
        let mut granted = 0;
        for &(round, treatment) in wishes {
            let (symbol, _) = squares.ends(rows[round]);
            if treatment_of[symbol].is_none() && !is_given[treatment] {
                treatment_of[symbol] = Some(treatment);
                is_given[treatment] = true;
            }
            granted += usize::from(treatment_of[symbol] == Some(treatment));
        }
        Self { granted, rows, treatment_of }
    }
}

/// A drawn closed walk through all rows of both squares, by Hierholzer's algorithm (Math. Ann. 6, 1873).
fn closed_walk(squares: &Squares, random: &mut ChaCha8Rng) -> Vec<Row> {
    let mut leaving: Vec<Vec<Row>> = vec![Vec::with_capacity(2); squares.symbols()];
    for row in squares.rows() {
        leaving[squares.ends(row).0].push(row);
    }
    leaving.iter_mut().for_each(|rows| rows.shuffle(random));
    let (mut walk, mut path): (Vec<Row>, Vec<Row>) = Default::default();
    let mut at = 0;
    loop {
        if let Some(row) = leaving[at].pop() {
            at = squares.ends(row).1;
            path.push(row);
        } else if let Some(row) = path.pop() {
            at = squares.ends(row).0;
            walk.push(row);
        } else {
            break;
        }
    }
    walk.reverse();
    walk
}

/// Draws which of the remaining treatments the other symbols stand for.
fn fill(treatment_of: Vec<Option<usize>>, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut is_given = vec![false; treatment_of.len()];
    treatment_of.iter().flatten().for_each(|treatment| is_given[*treatment] = true);
    let mut left: Vec<usize> = (0..is_given.len()).filter(|treatment| !is_given[*treatment]).collect();
    left.shuffle(random);
    let mut left = left.into_iter();
    treatment_of.into_iter().filter_map(|given| given.or_else(|| left.next())).collect()
}

/// The rounds of a cycle.
struct Cycle {
    squares: Squares,
    rows: Vec<Row>,
    /// The treatment that each symbol stands for.
    treatment_of: Vec<usize>,
}

impl Cycle {
    fn round(&self, number: usize) -> Vec<usize> {
        let row = self.rows[number];
        let symbols = (0..self.squares.symbols()).map(|place| self.squares.symbol(row, place));
        symbols.map(|symbol| self.treatment_of[symbol]).collect()
    }
}
