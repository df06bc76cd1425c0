//! Pairs of Latin squares in which together each symbol stands right after each other one twice.
//!
//! Rows are one row plus each number modulo n, so that each symbol has each place once, and each difference of
//! neighbours in that row stands for n pairs of symbols. For even n the row 0, 1, n − 1, 2, n − 2, … has each
//! difference once: 1, −2, 3, −4, … (Williams, "Experimental designs balanced for the estimation of residual
//! effects of treatments", Aust. J. Sci. Res. A 2, 1949). For odd n no row has; rows in which each difference or
//! its negative comes twice are called terraces (Bailey, "Quasi-complete Latin squares: construction and
//! randomization", J. R. Statist. Soc. B 46, 1984), and the second square has the rows reversed, whose differences are
//! the negatives.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Maximum steps of the search for a terrace.
const STEPS: usize = 10_000;

/// Two squares.
pub struct Squares {
    /// The first row of the first square.
    first: Vec<usize>,
    /// For even n the name of each symbol in the second square; empty for odd n.
    renamed: Vec<usize>,
}

/// One row of the two squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    is_of_second: bool,
    /// The number added to the first row.
    shift: usize,
}

impl Squares {
    /// Draws two squares of two symbols or more. As edges from their first to their last symbol, all rows are one
    /// connected graph.
    pub fn draw(symbols: usize, random: &mut ChaCha8Rng) -> Self {
        match symbols.is_multiple_of(2) {
            true => Self { first: zigzag(symbols), renamed: renamed(symbols, random) },
            false => Self { first: terrace(symbols, random), renamed: Vec::new() },
        }
    }

    /// Number of symbols.
    pub fn symbols(&self) -> usize {
        self.first.len()
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let symbols = self.symbols();
        let rows = [false, true].into_iter();
        rows.flat_map(move |is_of_second| (0..symbols).map(move |shift| Row { is_of_second, shift }))
    }

    /// The symbol at a place of a row.
    pub fn symbol(&self, row: Row, place: usize) -> usize {
        let is_backwards = row.is_of_second && self.renamed.is_empty();
        let place = if is_backwards { self.symbols() - 1 - place } else { place };
        let symbol = (row.shift + self.first[place]) % self.symbols();
        if row.is_of_second { self.renamed.get(symbol).copied().unwrap_or(symbol) } else { symbol }
    }

    /// The first symbol of a row and the last.
    pub fn ends(&self, row: Row) -> (usize, usize) {
        (self.symbol(row, 0), self.symbol(row, self.symbols() - 1))
    }
}

/// 0, 1, n − 1, 2, n − 2, …
fn zigzag(symbols: usize) -> Vec<usize> {
    let symbol = |place: usize| match place.is_multiple_of(2) {
        true => (symbols - place / 2) % symbols,
        false => place.div_ceil(2),
    };
    (0..symbols).map(symbol).collect()
}

/// Draws new names for an even number of symbols. Rows of a zigzag go from g to g + n/2 and back: n/2 pairs, which the
/// names of the second square link into one ring.
fn renamed(symbols: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let half = symbols / 2;
    let flip = |random: &mut ChaCha8Rng, (one, other): (usize, usize)| match random.next_u32() & 1 {
        0 => (one, other),
        _ => (other, one),
    };
    let mut pairs: Vec<(usize, usize)> = (0..half).map(|low| (low, low + half)).collect();
    pairs.shuffle(random);
    let ring: Vec<(usize, usize)> = pairs.into_iter().map(|pair| flip(random, pair)).collect();
    let mut links: Vec<(usize, usize)> = (0..half).map(|at| (ring[at].1, ring[(at + 1) % half].0)).collect();
    links.shuffle(random);
    let mut names = vec![0; symbols];
    for (low, link) in links.into_iter().enumerate() {
        (names[low], names[low + half]) = flip(random, link);
    }
    names
}

/// Draws a terrace of an odd number of symbols: starting at the zigzag, reverses random stretches while at most one
/// difference is missing, and takes the last terrace met. Its ends differ by a number without a common divisor with n,
/// so that its rows are one closed walk.
fn terrace(symbols: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut row = zigzag(symbols);
    let mut found = row.clone();
    let size = |one: usize, other: usize| {
        let difference = one.abs_diff(other);
        difference.min(symbols - difference)
    };
    let mut counts = vec![0; symbols / 2 + 1];
    row.windows(2).for_each(|pair| counts[size(pair[0], pair[1])] += 1);
    // Number of missing differences.
    let mut missing = 0;
    for _ in 0..STEPS.min(4 * symbols * symbols) {
        let [one, other] = [(); 2].map(|()| ((u64::from(random.next_u32()) * symbols as u64) >> 32) as usize);
        let (start, end) = (one.min(other), one.max(other));
        // Each end of the stretch: the neighbour outside, what is beside it now, and what would be.
        let left = start.checked_sub(1).map(|outside| (row[outside], row[start], row[end]));
        let right = row.get(end + 1).map(|outside| (*outside, row[end], row[start]));
        let changes = [left, right].map(|end| end.map(|(out, now, then)| (size(out, now), size(out, then))));
        let before = missing;
        for (now, then) in changes.into_iter().flatten() {
            counts[now] -= 1;
            missing += i32::from(counts[now] < 2);
            missing -= i32::from(counts[then] < 2);
            counts[then] += 1;
        }
        if missing > 1 {
            for (now, then) in changes.into_iter().flatten() {
                counts[now] += 1;
                counts[then] -= 1;
            }
            missing = before;
            continue;
        }
        row[start..=end].reverse();
        if missing == 0 && common_divisor(row[0].abs_diff(row[symbols - 1]) as u64, symbols as u64) == 1 {
            found.clone_from(&row);
        }
    }
    found
}

/// Greatest common divisor (Euclid).
pub fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
