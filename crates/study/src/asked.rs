//! What a report is given beyond the study: prices and a latency bound. Neither changes an estimate. The result file
//! keeps them, so that a later report is the same.

use serde::{Deserialize, Serialize};

/// Prices and a latency bound.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Cost of machine and licences.
    pub prices: Option<Prices>,
    /// Upper bound for the 99th percentile of a step's latency, nanoseconds.
    pub p99_ns: Option<f64>,
}

impl Asked {
    /// These values, completed by earlier ones.
    pub fn over(self, before: Self) -> Self {
        Self { prices: self.prices.or(before.prices), p99_ns: self.p99_ns.or(before.p99_ns) }
    }
}

/// The unit that licences are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LicencePer {
    /// Every logical CPU that the database may use.
    Vcpu,
    /// Every physical core with a logical CPU that it may use.
    Core,
    /// The machine, regardless of its size.
    Machine,
}

impl LicencePer {
    /// Number of licences for this many cores, each with this many busy threads.
    pub fn count(self, cores: u32, threads: u32) -> f64 {
        match self {
            Self::Vcpu => f64::from(cores) * f64::from(threads),
            Self::Core => f64::from(cores),
            Self::Machine => 1.0,
        }
    }

    /// The rule in words.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Vcpu => "a licence for every logical CPU that the database may use",
            Self::Core => "a licence for every physical core of which the database may use a thread",
            Self::Machine => "one licence for the machine",
        }
    }
}

/// Prices, all in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Price of the machine per hour.
    pub machine_per_h: f64,
    /// Price of a licence per hour.
    pub licence_per_h: f64,
    /// Unit of licences.
    pub per: LicencePer,
}

impl Prices {
    /// Total cost per hour.
    pub fn per_h(&self, cores: u32, threads: u32) -> f64 {
        self.machine_per_h + self.licence_per_h * self.per.count(cores, threads)
    }
}
