//! What is asked of a report beyond what the study says: prices, and a bound for latency. Neither changes an estimate, and
//! the result file keeps them, so that its report says later what it said first.

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Asked {
    /// What machine and licences cost.
    pub prices: Option<Prices>,
    /// The 99th percentile of a step's latency is to stay within this, nanoseconds.
    pub p99_ns: Option<f64>,
}

impl Asked {
    /// What is asked now, and where nothing is, what was asked before.
    pub fn over(self, before: Self) -> Self {
        Self { prices: self.prices.or(before.prices), p99_ns: self.p99_ns.or(before.p99_ns) }
    }
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
    /// All of them, with their words in a result file and on the command line.
    pub const WORDS: [(&'static str, Self); 3] =
        [("vcpu", Self::Vcpu), ("core", Self::Core), ("machine", Self::Machine)];

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
