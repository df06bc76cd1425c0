//! Random numbers from one seed and one input number: ChaCha8, whose streams never overlap, so that
//! any input can be made without those before it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The random numbers of one input.
#[derive(Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Those of input `number` under a seed.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        Self(random)
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`; 0 where there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        // The bias is below 2^-32, which does not matter here.
        if limit == 0 { 0 } else { (self.next() % limit as u64) as usize }
    }

    /// Yes in `share` percent of the cases.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of them; there must be one.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Number of mutations: usually one, rarely many.
    pub fn times(&mut self, most: usize) -> usize {
        let mut times = 1;
        while times < most && self.percent(45) {
            times += 1;
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_s_numbers_depend_on_seed_and_number_alone() {
        let first = |seed, number| Random::of(seed, number).next();
        assert_eq!(first(1, 7), first(1, 7));
        assert_ne!(first(1, 7), first(1, 8));
        assert_ne!(first(1, 7), first(2, 7));
    }
}
