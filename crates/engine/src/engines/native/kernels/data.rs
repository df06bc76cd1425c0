//! What a kernel works on, in parts whose results are known.

use super::btree::Tree;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

/// Bytes of an element: a cache line.
pub const ELEMENT: u64 = 64;
/// Least number of elements of a part, and turns of a loop without data.
pub const PARTS: usize = 64;
/// Loads, operations or lookups of a part.
const TURNS: usize = 2048;
/// Lookups at a time.
const AT_ONCE: usize = 8;

/// The resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Integer operations that do not wait for each other: issue width.
    Add,
    /// Multiplications each of which waits for the last: latency of one unit.
    Multiply,
    /// Loads each of which waits for the last, from data of some size: latency of a cache or of memory.
    Chase,
    /// Loads in a row from data larger than caches.
    Bandwidth,
    /// Lookups in a B-tree without locks, one after another.
    Search,
    /// The same, 8 at a time.
    Interleaved,
    /// A counter behind a spinlock that all sessions take: its line goes from one to the next.
    Lock,
}

/// A line of a chain: where the next one is.
#[repr(align(64))]
#[derive(Clone, Copy)]
pub struct Line(usize);

/// The data of a session.
pub enum Data {
    /// Seeds of a loop, and its results.
    Loop(Kernel, Vec<(u64, u64)>),
    /// Lines in a random cycle, and where each part of it begins.
    Chain(Vec<Line>, Vec<usize>),
    /// Words, and the sums of parts.
    Words(Vec<u64>, Vec<u64>),
    /// A tree, with seeds of keys and the sums of their places.
    Tree(Tree, bool, Vec<(u64, u64)>),
}

impl Data {
    /// Makes it on the calling thread, and touches all of it.
    pub fn new(kernel: Kernel, bytes: u64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut seeds = |result: &dyn Fn(u64) -> u64| -> Vec<(u64, u64)> {
            (0..PARTS).map(|_| random.next_u64()).map(|seed| (seed, result(seed))).collect()
        };
        match kernel {
            Kernel::Add | Kernel::Multiply | Kernel::Lock => {
                Self::Loop(kernel, seeds(&|seed| looped(kernel, seed)))
            }
            Kernel::Chase => Self::chain((bytes / ELEMENT) as usize, &mut random),
            Kernel::Bandwidth => {
                let words: Vec<u64> = (0..bytes / 8).map(|at| at.wrapping_mul(seed | 1)).collect();
                let sums = words.chunks(part_words(words.len())).map(sum).collect();
                Self::Words(words, sums)
            }
            Kernel::Search | Kernel::Interleaved => {
                let tree = Tree::new((bytes / 8) as usize);
                let results = seeds(&|seed| keys(&tree, seed).map(|(place, _)| place as u64).sum());
                Self::Tree(tree, kernel == Kernel::Interleaved, results)
            }
        }
    }

    fn chain(lines: usize, random: &mut ChaCha8Rng) -> Self {
        let mut order: Vec<usize> = (0..lines).collect();
        order.shuffle(random);
        let mut chain = vec![Line(0); lines];
        for pair in order.windows(2) {
            chain[pair[0]] = Line(pair[1]);
        }
        if let (Some(first), Some(last)) = (order.first(), order.last()) {
            chain[*last] = Line(*first);
        }
        // A part that is shorter than the others would end where the next but one begins.
        let turns = TURNS.min(lines);
        let starts = (0..lines / turns).map(|part| order[part * turns]).collect();
        Self::Chain(chain, starts)
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        match self {
            Self::Loop(_, seeds) | Self::Tree(_, _, seeds) => seeds.len(),
            Self::Chain(_, starts) => starts.len(),
            Self::Words(_, sums) => sums.len(),
        }
    }

    /// Works on a part: how much was done, in operations, loads, lookups or, of bandwidth, cache lines; and the result.
    pub fn run(&self, part: usize) -> (u64, u64) {
        match self {
            Self::Loop(kernel, seeds) => (TURNS as u64, looped(*kernel, black_box(seeds[part].0))),
            Self::Chain(chain, starts) => {
                let turns = TURNS.min(chain.len());
                let end = (0..turns).fold(black_box(starts[part]), |at, _| chain[at].0);
                (turns as u64, end as u64)
            }
            Self::Words(words, _) => {
                let length = part_words(words.len());
                let part = &words[part * length..words.len().min((part + 1) * length)];
                (part.len() as u64 * 8 / ELEMENT, sum(black_box(part)))
            }
            Self::Tree(tree, is_interleaved, seeds) => {
                let seed = black_box(seeds[part].0);
                let found = match is_interleaved {
                    false => keys(tree, seed).map(|(_, key)| tree.find(key) as u64).sum(),
                    true => interleaved(tree, seed),
                };
                (TURNS as u64, found)
            }
        }
    }

    /// The result of a part.
    pub fn expected(&self, part: usize) -> u64 {
        match self {
            Self::Loop(_, seeds) | Self::Tree(_, _, seeds) => seeds[part].1,
            // A part ends where the next begins; the last at the chain's rest, which is walked when it is asked for.
            Self::Chain(chain, starts) => match starts.get(part + 1) {
                Some(next) => *next as u64,
                None => (0..TURNS.min(chain.len())).fold(starts[part], |at, _| chain[at].0) as u64,
            },
            Self::Words(_, sums) => sums[part],
        }
    }
}

/// Words of a part: 64 KiB.
fn part_words(words: usize) -> usize {
    words.clamp(1, 8 << 10)
}

fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// A loop without data. Its steps are of a kind that a compiler can neither combine nor put into vectors.
fn looped(kernel: Kernel, seed: u64) -> u64 {
    match kernel {
        // A product with itself has no closed form.
        Kernel::Multiply => {
            (0..TURNS).fold(seed, |value, _| value.wrapping_mul(value | 1).wrapping_add(seed))
        }
        _ => {
            let mut chains: [u64; 8] = std::array::from_fn(|at| seed.wrapping_add(at as u64));
            for _ in 0..TURNS / 16 {
                let [a, b, c, d, e, f, g, h] = &mut chains;
                *a = a.rotate_left(5) ^ seed;
                *b = b.rotate_left(7).wrapping_add(seed);
                *c = c.rotate_left(11) ^ seed;
                *d = d.rotate_left(13).wrapping_add(seed);
                *e = e.rotate_left(17) ^ seed;
                *f = f.rotate_left(19).wrapping_add(seed);
                *g = g.rotate_left(23) ^ seed;
                *h = h.rotate_left(29).wrapping_add(seed);
            }
            chains.iter().fold(0, |sum, chain| sum ^ chain)
        }
    }
}

/// Keys of a part, each with its place in the tree: a linear congruential generator.
fn keys(tree: &Tree, seed: u64) -> impl Iterator<Item = (usize, u64)> + '_ {
    let mut state = seed;
    (0..TURNS).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = ((u128::from(state) * tree.len() as u128) >> 64) as usize;
        (place, Tree::key(place))
    })
}

fn interleaved(tree: &Tree, seed: u64) -> u64 {
    let mut all = keys(tree, seed);
    let mut sum = 0;
    loop {
        let mut some = [0; AT_ONCE];
        for key in &mut some {
            let Some((_, next)) = all.next() else { return sum };
            *key = next;
        }
        sum += tree.find_all(&some).iter().map(|place| *place as u64).sum::<u64>();
    }
}
