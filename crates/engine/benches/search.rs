//! Lookups in the B-tree of the preset `kernels` against std's `BTreeMap`, interleaved ones against single ones, and both
//! beside the latency of memory: `cargo bench -p threadwise-engine --bench search`.
//!
//! The two of a pair take turns of some milliseconds in one process, so that drift hits both alike; the result is the mean
//! over pairs of the logarithm of the ratio with its 95% t interval.
#![allow(clippy::print_stdout)]

#[path = "../src/engines/native/kernels/btree.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod btree;

use btree::Tree;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

const PAIRS: usize = 60;
const TURN: Duration = Duration::from_millis(20);
/// Two-sided 95% quantile of Student's t with 59 degrees of freedom.
const T_59: f64 = 2.001;

/// Random places below a limit: a linear congruential generator.
struct Places(u64, usize);

impl Places {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * self.1 as u128) >> 64) as usize
    }
}

/// Operations a second of a turn, of which one call does some.
fn rate(mut some: impl FnMut() -> usize) -> f64 {
    let (began, mut done) = (Instant::now(), 0);
    while began.elapsed() < TURN {
        done += (0..16).map(|_| some()).sum::<usize>();
    }
    done as f64 / began.elapsed().as_secs_f64()
}

fn compare(name: &str, mut this: impl FnMut() -> usize, mut that: impl FnMut() -> usize) {
    let (mut logs, mut rates) = (Vec::new(), [0.0, 0.0]);
    for pair in 0..=PAIRS {
        let (a, b) = match pair % 2 {
            0 => (rate(&mut this), rate(&mut that)),
            _ => {
                let b = rate(&mut that);
                (rate(&mut this), b)
            }
        };
        if pair > 0 {
            logs.push((a / b).ln());
            rates = [rates[0] + a, rates[1] + b];
        }
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let half = T_59 * sd / n.sqrt();
    println!(
        "{name}: {:.2} and {:.2} million/s, ratio {:.3} [{:.3}, {:.3}]",
        rates[0] / n / 1e6,
        rates[1] / n / 1e6,
        mean.exp(),
        (mean - half).exp(),
        (mean + half).exp()
    );
}

fn main() {
    for len in [100_000, 10_000_000, 40_000_000] {
        let tree = Tree::new(len);
        let single = |places: &mut Places| {
            let place = places.next();
            usize::from(black_box(tree.find(black_box(Tree::key(place)))) == place)
        };
        let eight = |places: &mut Places| {
            let some: [usize; 8] = std::array::from_fn(|_| places.next());
            usize::from(black_box(tree.find_all(&some.map(Tree::key))) == some) * 8
        };
        if len <= 10_000_000 {
            let map: BTreeMap<u64, u64> = (0..len).map(|place| (Tree::key(place), place as u64)).collect();
            let (mut a, mut b) = (Places(1, len), Places(1, len));
            compare(
                &format!("{len} keys, single over std's BTreeMap"),
                || single(&mut a),
                || {
                    let place = b.next();
                    usize::from(black_box(map.get(&black_box(Tree::key(place)))) == Some(&(place as u64)))
                },
            );
        }
        let (mut a, mut b) = (Places(1, len), Places(1, len));
        compare(&format!("{len} keys, 8 at a time over single"), || eight(&mut a), || single(&mut b));
    }
    // A chain of lines in a random order: one load after another (Sattolo's shuffle makes one cycle).
    let lines = 128 << 14;
    let mut chain: Vec<[usize; 8]> = (0..lines).map(|line| [line; 8]).collect();
    let mut places = Places(7, 1);
    for last in (1..lines).rev() {
        places.1 = last;
        let other = places.next();
        let (one, two) = (chain[last][0], chain[other][0]);
        (chain[last][0], chain[other][0]) = (two, one);
    }
    let mut at = 0;
    let loads = rate(|| {
        (0..64).for_each(|_| at = chain[at][0]);
        64
    });
    black_box(at);
    println!("a load from {} MiB in a random order: {:.1} ns", lines >> 14, 1e9 / loads);
}
