//! Studies of a machine with noise as it was met: unequal by treatment, correlated from block to block, with
//! disturbed blocks, stalls, drift inside of blocks and neighbours that come and go.

use threadwise_analysis::estimate::Work;
pub use threadwise_statistics::Normal;

/// Rounds of a block, where it is not about them.
pub const ROUNDS: usize = 10;

/// A machine and the study that is made on it. Treatments 0 and 1 are A and A′; the others are compared.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Logarithm of the rate of each treatment that is compared, against A.
    pub effects: Vec<f64>,
    /// Rounds of a block.
    pub rounds: usize,
    /// Standard deviation over blocks of the logarithm of A's rate and A′'s, and of the compared ones'.
    pub block_sd: (f64, f64),
    /// Correlation of neighbouring blocks, each treatment with its own.
    pub ar1: f64,
    /// Standard deviation of a slice.
    pub slice_sd: f64,
    /// Share of the blocks in which the compared treatments lose this share of their rate.
    pub disturbed: (f64, f64),
    /// Share of the slices that stall and do next to nothing.
    pub stalls: f64,
    /// Drift over a block, the same for all: standard deviation of its logarithm from the first round to the last.
    pub drift: f64,
    /// A neighbour that comes and goes with visits of so many slices, is there for this share of the time, and takes
    /// this share of the rate of all that runs.
    pub neighbour: (f64, f64, f64),
}

/// A quiet machine: nothing but independent noise of 2% over blocks and 3% over slices.
pub const QUIET: Machine = Machine {
    effects: Vec::new(),
    rounds: ROUNDS,
    block_sd: (0.014, 0.02),
    ar1: 0.0,
    slice_sd: 0.03,
    disturbed: (0.0, 0.0),
    stalls: 0.0,
    drift: 0.0,
    neighbour: (1.0, 0.0, 0.0),
};

impl Machine {
    /// A study of so many blocks: by block, treatment and round what was done.
    pub fn study(&self, blocks: usize, seed: u64) -> Vec<Vec<Vec<Work>>> {
        let mut random = Normal::new(seed);
        let treatments = self.effects.len() + 2;
        let mut levels: Vec<f64> = (0..treatments).map(|_| random.draw()).collect();
        let mut is_visited = random.uniform() < self.neighbour.1;
        let mut all = Vec::with_capacity(blocks);
        for _ in 0..blocks {
            let depth = if random.uniform() < self.disturbed.0 { (1.0 - self.disturbed.1).ln() } else { 0.0 };
            let slope = self.drift * random.draw();
            let mut block = vec![Vec::with_capacity(self.rounds); treatments];
            for round in 0..self.rounds {
                let common = slope * (round as f64 / (self.rounds - 1) as f64 - 0.5);
                // The order in a round is drawn: a random rotation is enough for what is modelled here.
                let first = (random.uniform() * treatments as f64) as usize;
                for turn in 0..treatments {
                    let at = (first + turn) % treatments;
                    is_visited = self.visited(is_visited, &mut random);
                    let stall = random.uniform() < self.stalls;
                    let log = common
                        + self.level(at, &levels)
                        + if at < 2 { 0.0 } else { depth }
                        + self.slice_sd * random.draw()
                        + if is_visited { (1.0 - self.neighbour.2).ln() } else { 0.0 };
                    let rate = if stall { 0.01 } else { 1.0 } * 1e6 * log.exp();
                    block[at].push(Work { slices: 1, rows: rate, window_ns: 5e7, ..Work::default() });
                }
            }
            all.push(block);
            let fresh = (1.0 - self.ar1 * self.ar1).sqrt();
            for level in &mut levels {
                *level = self.ar1 * *level + fresh * random.draw();
            }
        }
        all
    }

    /// The treatment's own logarithm in this block.
    fn level(&self, at: usize, levels: &[f64]) -> f64 {
        let (baseline, compared) = self.block_sd;
        match at.checked_sub(2) {
            None => baseline * levels[at],
            Some(compared_at) => self.effects[compared_at] + compared * levels[at],
        }
    }

    fn visited(&self, is_visited: bool, random: &mut Normal) -> bool {
        let (visit, share, _) = self.neighbour;
        let leaves = if is_visited { 1.0 - share } else { share };
        if random.uniform() < leaves / visit { !is_visited } else { is_visited }
    }

    /// Logarithm of the ratio of long-run rates of a compared treatment, what a user would see: disturbances included.
    pub fn truth(&self, compared: usize) -> f64 {
        let (baseline, other) = self.block_sd;
        let jensen = (other * other - baseline * baseline) / 2.0;
        self.effects[compared] + jensen + (1.0 - self.disturbed.0 * self.disturbed.1).ln()
    }
}
