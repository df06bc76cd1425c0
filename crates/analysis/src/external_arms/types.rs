//! What is known of external arms, as JSON has it (docs/JSON.md).

use crate::Ratio;
use serde::Serialize;
use threadwise_study::Boot;

/// External arms of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExternalArms {
    /// Names of the arms. The first is what others are compared with.
    pub arms: Vec<String>,
    /// Boots that were planned.
    pub planned_boots: u32,
    /// The arm of each planned boot, in order.
    pub order: Vec<String>,
    /// Boots that were begun, in order.
    pub boots: Vec<BootRates>,
    /// Treatments in study order.
    pub treatments: Vec<ArmTreatment>,
    /// Ratios of arms: each treatment that both have, then the fastest of each arm. All are judged together.
    pub ratios: Vec<ArmRatio>,
    /// What differs between boots beside SMT, one line each.
    pub differing: Vec<String>,
    /// Blocks of which the boot is not known; they are in no rate of a boot.
    pub blocks_of_unknown_boots: u32,
}

/// A boot and what was measured on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BootRates {
    /// The boot.
    #[serde(flatten)]
    pub boot: Boot,
    /// Blocks in which the baseline of at least one group was usable.
    pub blocks: u32,
    /// Rates in study order, of treatments that have a usable run.
    pub rates: Vec<Rate>,
}

impl BootRates {
    /// Whether it is of an arm.
    pub fn is_of(&self, arm: &str) -> bool {
        self.boot.arm.as_deref() == Some(arm)
    }

    /// The rate of a treatment.
    pub fn rate(&self, treatment: &str) -> Option<&Rate> {
        self.rates.iter().find(|rate| rate.treatment == treatment)
    }
}

/// The rate of a treatment on a boot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// The treatment.
    pub treatment: String,
    /// Geometric mean over blocks.
    pub rows_per_s: f64,
    /// Blocks that it is from.
    pub blocks: u32,
    /// Logical CPUs that it used in a block.
    pub cpus: u32,
    /// Sessions that it had.
    pub sessions: u32,
    /// Mean over blocks of the logarithm.
    #[serde(skip)]
    pub ln_rate: f64,
}

/// A treatment in the arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmTreatment {
    /// The treatment.
    pub treatment: String,
    /// Arms in which it was measured.
    pub arms: Vec<InArm>,
    /// Arms with boots in which it was not.
    pub absent: Vec<String>,
}

/// A treatment in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InArm {
    /// The arm.
    pub arm: String,
    /// Boots that it is from.
    pub boots: u32,
    /// Geometric mean over boots.
    pub rows_per_s: f64,
    /// Logical CPUs that it used in a block.
    pub cpus: u32,
    /// Sessions that it had.
    pub sessions: u32,
}

/// The ratio of an arm to the first one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmRatio {
    /// The arm on top.
    pub arm: String,
    /// Its treatment.
    pub treatment: String,
    /// Boots of it that have the treatment.
    pub boots: u32,
    /// The first arm.
    pub baseline_arm: String,
    /// Its treatment.
    pub baseline_treatment: String,
    /// Boots of it that have that one.
    pub baseline_boots: u32,
    /// Whether the two treatments are the fastest ones of their arms, and not the same.
    pub fastest: bool,
    /// The ratio. Its `blocks` are boots of both arms; 1 where an arm has one boot, so that there is no interval.
    #[serde(serialize_with = "Ratio::adjusted")]
    pub ratio: Ratio,
}

impl ArmRatio {
    /// Whether both arms have two boots, so that there is an interval.
    pub fn has_interval(&self) -> bool {
        self.boots >= 2 && self.baseline_boots >= 2
    }
}
