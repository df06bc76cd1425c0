//! What is asked of a report beyond what the study says: prices, and a bound for latency. Neither changes an estimate.

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Asked {
    /// What machine and licences cost.
    pub prices: Option<Prices>,
    /// The 99th percentile of a step's latency is to stay within this, nanoseconds.
    pub p99_ns: Option<f64>,
}

/// What a licence is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LicencePer {
    /// Every logical CPU that the database may use.
    Vcpu,
    /// Every physical core with a logical CPU that it may use.
    Core,
    /// The machine, whatever it has.
    Machine,
}

impl LicencePer {
    /// Licences of so many cores, each with so many busy threads.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Of the machine, an hour.
    pub machine_per_h: f64,
    /// Of a licence, an hour.
    pub licence_per_h: f64,
    /// What licences are counted by.
    pub per: LicencePer,
}

impl Prices {
    /// What an hour costs.
    pub fn per_h(&self, cores: u32, threads: u32) -> f64 {
        self.machine_per_h + self.licence_per_h * self.per.count(cores, threads)
    }
}
