//! The kernels in plain Rust, for targets without assembly and for `--cfg threadwise_portable`.
//!
//! A compiler folds a chain of equal adds into one multiplication, and [`std::hint::black_box`] on a
//! running value sends it through memory, which costs 4 to 5 cycles. So every second add is an
//! exclusive or, which cannot be combined with its neighbours, and which takes one cycle on the ports
//! of an add. In figures, "add" here means "add or exclusive or".

use super::{Scratch, TURN_STEPS};
use std::hint::black_box;
use std::sync::atomic::Ordering;

/// Independent adds; same limit as the assembly.
///
/// Each value takes its neighbour as the second operand: a compiler may join independent equal
/// operations into vector instructions, and would have to shuffle the vector at every step here. Only
/// the last operation of a step waits for another of the same step, so 7 of them fit into a cycle.
pub fn wide(turns: u64, scratch: &mut Scratch) -> u64 {
    let [mut a, mut b, mut c, mut d] = black_box([1, 2, 3, 4].map(|index| scratch.word(index)));
    let [mut e, mut f, mut g, mut h] = black_box([5, 6, 7, 8].map(|index| scratch.word(index)));
    for _ in 0..turns {
        for _ in 0..TURN_STEPS {
            a = a.wrapping_add(b);
            b ^= c;
            c = c.wrapping_add(d);
            d ^= e;
            e = e.wrapping_add(f);
            f ^= g;
            g = g.wrapping_add(h);
            h ^= a;
        }
    }
    [a, b, c, d, e, f, g, h].into_iter().fold(0, u64::wrapping_add)
}

/// One chain of adds; same limit as the assembly.
pub fn chain(turns: u64, scratch: &mut Scratch) -> u64 {
    let (add, flip) = black_box((scratch.word(0), scratch.word(2)));
    let mut a = scratch.word(1);
    for _ in 0..turns {
        for _ in 0..TURN_STEPS / 2 {
            a = a.wrapping_add(add);
            a ^= flip;
        }
    }
    a
}

/// Two loads and one store a step; same limit as the assembly, plus an add a load.
///
/// Relaxed atomic accesses are plain loads and stores on all targets, and compilers neither merge nor
/// drop them.
pub fn load_store(turns: u64, scratch: &mut Scratch) -> u64 {
    let (mut a, mut b) = (0_u64, 0_u64);
    for turn in 1..=turns {
        for at in 0..16 {
            a = a.wrapping_add(scratch.loaded[at].load(Ordering::Relaxed));
            b = b.wrapping_add(scratch.loaded[15 - at].load(Ordering::Relaxed));
            scratch.stored[at].store(turn, Ordering::Relaxed);
        }
    }
    a.wrapping_add(b)
}

/// The result of [`load_store`]: all words that it loads, twice in each turn.
#[cfg(all(test, any(threadwise_portable, not(any(target_arch = "x86_64", target_arch = "aarch64")))))]
pub fn loaded(scratch: &Scratch, turns: u64) -> u64 {
    let words = (0..16).map(|index| scratch.word(index)).fold(0, u64::wrapping_add);
    words.wrapping_mul(2 * turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_chain_is_done() {
        let mut scratch = Scratch::new();
        for turns in [1, 3, 100] {
            let by = |step: u64, a: u64| match step % 2 {
                0 => a.wrapping_add(scratch.word(0)),
                _ => a ^ scratch.word(2),
            };
            let expected = (0..turns * TURN_STEPS).fold(scratch.word(1), |a, step| by(step, a));
            assert_eq!(chain(turns, &mut scratch), expected, "{turns} turns");
        }
    }

    #[test]
    fn every_operation_of_the_wide_kernel_is_done() {
        let mut scratch = Scratch::new();
        for turns in [1, 3, 100] {
            let mut values: [u64; 8] = std::array::from_fn(|index| scratch.word(index + 1));
            for _ in 0..turns * TURN_STEPS {
                for at in 0..8 {
                    let neighbour = values[(at + 1) % 8];
                    values[at] =
                        if at % 2 == 0 { values[at].wrapping_add(neighbour) } else { values[at] ^ neighbour };
                }
            }
            let expected = values.into_iter().fold(0, u64::wrapping_add);
            assert_eq!(wide(turns, &mut scratch), expected, "{turns} turns");
        }
    }

    #[test]
    fn every_word_is_loaded_and_stored() {
        let mut scratch = Scratch::new();
        let words = (0..16).map(|index| scratch.word(index)).fold(0, u64::wrapping_add);
        assert_eq!(load_store(5, &mut scratch), words.wrapping_mul(10));
        assert_eq!(scratch.stored[15].load(Ordering::Relaxed), 5);
    }
}
