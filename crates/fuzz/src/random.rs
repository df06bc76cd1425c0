//! Random numbers and texts from one seed and one input number: ChaCha8, whose streams never overlap, so that
//! any input can be made without those before it.

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::{RegexGeneratorStrategy, string_regex};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
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

    /// A text of a grammar.
    pub fn matching(&mut self, grammar: &Grammar) -> String {
        let mut seed = [0; 32];
        self.0.fill_bytes(&mut seed);
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        // No filter is set that could refuse a text.
        grammar.0.new_tree(&mut runner).map(|tree| tree.current()).unwrap_or_default()
    }
}

/// The texts of a regular expression, whose alternatives are equally likely (`proptest`).
#[derive(Debug)]
pub struct Grammar(RegexGeneratorStrategy<String>);

impl Grammar {
    /// Reads the expression.
    pub fn new(expression: &str) -> Self {
        Self(string_regex(expression).unwrap_or_else(|error| panic!("{expression}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_s_numbers_and_texts_depend_on_seed_and_number_alone() {
        let first = |seed, number| {
            let mut random = Random::of(seed, number);
            (random.next(), random.matching(&Grammar::new("[a-z]{20}")))
        };
        assert_eq!(first(1, 7), first(1, 7));
        assert!(first(1, 7).0 != first(1, 8).0 && first(1, 7).1 != first(1, 8).1);
        assert_ne!(first(1, 7), first(2, 7));
    }
}
