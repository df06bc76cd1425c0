//! What of all queries together is compared, and its noise.

use super::family::negated;
use super::table::Table;
use std::collections::BTreeSet;

/// What of all queries together is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whole {
    /// Queries per hour of the elapsed time.
    Speed,
    /// Geometric mean of the queries' ratios.
    Geometric,
    /// CPU per query.
    Cpu,
    /// The first without queries of another plan.
    SpeedSamePlans,
    /// The second without them.
    GeometricSamePlans,
}

/// All of them.
pub const WHOLES: [Whole; 5] =
    [Whole::Speed, Whole::Geometric, Whole::Cpu, Whole::SpeedSamePlans, Whole::GeometricSamePlans];

impl Whole {
    /// d by block; above 0 is faster, of CPU more.
    pub fn d(self, table: &Table<'_>, top: usize, below: &[usize], changed: &BTreeSet<u8>) -> Vec<f64> {
        let rest =
            || -> Vec<u8> { table.asked.iter().copied().filter(|query| !changed.contains(query)).collect() };
        match self {
            Self::Speed => table.number(top, below, |cell| Some(cell.total?.per_h())),
            Self::Geometric => negated(table.geometric(top, below, &table.asked)),
            Self::Cpu => table.number(top, below, |cell| {
                let total = cell.total?;
                Some(total.cpu_s? / total.queries)
            }),
            Self::SpeedSamePlans | Self::GeometricSamePlans if changed.is_empty() => Vec::new(),
            Self::SpeedSamePlans if table.is_throughput => Vec::new(),
            Self::SpeedSamePlans => {
                let rest = rest();
                negated(table.number(top, below, |cell| Some(cell.sum(&rest)?.elapsed_s)))
            }
            Self::GeometricSamePlans => negated(table.geometric(top, below, &rest())),
        }
    }
}

/// d of A′ over A in a treatment's group; empty where there is no A/A.
pub fn twins(table: &Table<'_>, treatment: usize, d: impl Fn(usize, &[usize]) -> Vec<f64>) -> Vec<f64> {
    match table.below(treatment) {
        [base, twin, ..] => d(*twin, &[*base]),
        _ => Vec::new(),
    }
}
