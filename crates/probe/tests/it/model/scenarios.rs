//! Kinds of machines and of trouble.

use super::toggle::Toggle;
use super::{Core, Machine, Neighbour, Place, Weather};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A millisecond in nanoseconds.
pub const MS: f64 = 1e6;

/// What a machine is like.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: &'static str,
    /// Threads of a core that are ours.
    pub threads: usize,
    /// Neighbours on each core: mean time on and off in ms, the width they want.
    pub neighbours: Vec<(f64, f64, f64)>,
    /// Share of cores that have them.
    pub visited: f64,
    pub weather: Weather,
    /// Two logical CPUs on one hardware thread.
    pub stacked: bool,
    /// Whether all answers have to be right and none open.
    pub clean: bool,
}

impl Scenario {
    pub fn calm(name: &'static str, threads: usize) -> Self {
        let weather = Weather::calm();
        Self { name, threads, neighbours: Vec::new(), visited: 1.0, weather, stacked: false, clean: true }
    }

    pub fn visited(name: &'static str, threads: usize, neighbours: &[(f64, f64, f64)]) -> Self {
        Self { neighbours: neighbours.to_vec(), clean: false, ..Self::calm(name, threads) }
    }

    pub fn machine(&self, cpus: usize, seed: u64) -> Machine {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let cores = cpus.div_ceil(self.threads);
        let mut places: Vec<Place> =
            (0..cpus).map(|cpu| Place { core: cpu / self.threads, thread: cpu % self.threads }).collect();
        if self.stacked {
            places[1] = places[0];
        }
        places.shuffle(&mut random);
        let mut core = |_| {
            let here = random.random::<f64>() < self.visited;
            let neighbours = self.neighbours.iter().filter(|_| here).map(|&(on, off, demand)| Neighbour {
                demand,
                busy: Toggle::new((on * MS, off * MS), random.random()),
            });
            Core { width: 4.9, neighbours: neighbours.collect() }
        };
        let cores = (0..cores).map(&mut core).collect();
        Machine::new(cores, places, self.weather.clone(), seed)
    }
}

pub fn scenarios() -> Vec<Scenario> {
    let calm = Weather::calm();
    let unsteady = Weather { drift: 0.12, drift_ns: 0.7e9, turbo: 0.35, ..calm.clone() };
    let noisy = Weather { noise: 0.05, outliers: 0.02, ..calm.clone() };
    let stolen = Weather { steal_ns: (2.0 * MS, 30.0 * MS), ..calm.clone() };
    let loaded = Weather { own_ns: (5.0 * MS, 20.0 * MS), ..calm.clone() };
    let all = Weather { noise: 0.04, outliers: 0.01, steal_ns: (MS, 25.0 * MS), ..loaded.clone() };
    let with = |name, threads, weather: &Weather, clean| Scenario {
        weather: weather.clone(),
        clean,
        ..Scenario::calm(name, threads)
    };
    vec![
        Scenario::calm("no SMT", 1),
        Scenario::calm("SMT2", 2),
        Scenario::calm("SMT4", 4),
        Scenario::calm("SMT8", 8),
        with("SMT2, clock and turbo", 2, &unsteady, true),
        with("no SMT, clock and turbo", 1, &unsteady, true),
        with("SMT2, noise and outliers", 2, &noisy, false),
        with("no SMT, noise and outliers", 1, &noisy, false),
        with("SMT2, steal", 2, &stolen, false),
        with("no SMT, steal", 1, &stolen, false),
        with("SMT2, own load", 2, &loaded, false),
        with("no SMT, own load", 1, &loaded, false),
        Scenario { stacked: true, ..Scenario::calm("stacked", 1) },
        Scenario {
            stacked: true,
            clean: false,
            weather: stolen.clone(),
            ..Scenario::calm("stacked, steal", 2)
        },
        Scenario::visited("neighbours 1 ms", 1, &[(1.0, 1.0, 1.0)]),
        Scenario::visited("neighbours 20 ms", 1, &[(20.0, 20.0, 0.8)]),
        Scenario::visited("neighbours 2 s", 1, &[(2000.0, 2000.0, 1.0)]),
        Scenario::visited("neighbours nearly always", 1, &[(95.0, 5.0, 1.0)]),
        Scenario { visited: 0.3, ..Scenario::visited("neighbours always on some", 1, &[(1.0, 0.0, 1.0)]) },
        Scenario::visited("SMT2 of 4, neighbours 5 ms", 2, &[(5.0, 10.0, 1.0), (5.0, 40.0, 0.4)]),
        Scenario { weather: all.clone(), ..Scenario::visited("no SMT, everything", 1, &[(3.0, 6.0, 1.0)]) },
        Scenario { weather: all, ..Scenario::visited("SMT2, everything", 2, &[(3.0, 6.0, 0.6)]) },
    ]
}
