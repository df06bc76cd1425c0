//! Random streams of a study's seed, one for each purpose.
//!
//! Source: D. J. Bernstein, "ChaCha, a variant of Salsa20" (2008); streams of one seed never overlap.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Purpose of a random stream: the upper half of ChaCha's stream number. The draw of the machine uses streams 0
/// and 1 << 32 and up. Number 3 was the order of each block by itself.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Seeds of workers, by block.
    Worker = 2,
    /// Queries, by block.
    Queries = 4,
    /// Slices with a look in their middle, by block.
    Looks = 5,
    /// Rounds, by cycle.
    Cycle = 6,
    /// First treatments of blocks, by group of as many blocks as treatments.
    FirstOfBlocks = 7,
    /// Watched logical CPUs, if not all can be, by study.
    LookedAt = 8,
    /// The order of long windows, by their block.
    LongWindows = 9,
    /// The order of arms, by pair of blocks.
    Arms = 10,
    /// The first external arm, by study.
    ExternalArms = 12,
}

/// The stream of a purpose for a block or a cycle.
pub fn random(seed: u64, purpose: Purpose, number: u32) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream((purpose as u64) << 32 | u64::from(number));
    random
}
