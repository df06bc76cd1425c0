//! A fleet as its user wrote it, checked: pure data.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the form of fleet.toml.
pub const FILE_VERSION: i64 = 1;
/// Most machines of a fleet.
pub const MOST_MACHINES: usize = 2000;
/// Most repeats on a machine.
pub const MOST_REPEATS: u32 = 100;

/// Options that are passed on to the engine: what they mean is the engine's matter, which refuses what it does not know.
pub type EngineOptions = BTreeMap<String, serde_json::Value>;

/// A fleet as its user wrote it, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetFile {
    /// Heading of the report; the study's title where it is not given.
    pub title: Option<String>,
    /// A preset, or a path that ends in .toml, relative to the folder of fleet.toml.
    pub study: String,
    /// Name of the engine.
    pub engine: String,
    /// Options of the engine for all machines.
    pub engine_options: EngineOptions,
    /// Studies on each machine.
    pub repeats: u32,
    /// Least time from the start of a machine's study to the start of its next, seconds.
    pub apart_s: u64,
    /// What repeats are to boots.
    pub boots: Boots,
    /// Whether a cell needs the machine for itself.
    pub measures: Measures,
    /// Most time of a cell, seconds; the study's own where it is not given.
    pub budget_s: Option<f64>,
    /// Time after which the engine ends a cell, seconds.
    pub time_limit_s: u64,
    /// Seed of the order and of the cells' studies; drawn where it is not given.
    pub seed: Option<u64>,
    /// How cells run the study.
    pub run: RunSettings,
    /// Kinds of machines, in order.
    pub kinds: Vec<FleetKind>,
}

/// A kind of machine.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetKind {
    /// Its name, unique.
    pub name: String,
    /// Which machines.
    pub machines: Machines,
    /// What the engine selects machines by, besides their names.
    pub selector: BTreeMap<String, String>,
    /// Price of an hour of one machine.
    pub price: Option<PlannedPrice>,
    /// Options of the engine for this kind, over those for all.
    pub engine_options: EngineOptions,
    /// Options of the study's engine on this kind, as `run --engine-option` takes them.
    pub study_engine_options: BTreeMap<String, String>,
    /// The same for single machines, over those of the kind.
    pub machine_study_engine_options: BTreeMap<String, BTreeMap<String, String>>,
}

/// Which machines a kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Machines {
    /// These nodes.
    Named(Vec<String>),
    /// So many of an elastic pool: which ones is seen in the results.
    Pool(u32),
}

/// What repeats on a machine are to its boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boots {
    /// The boot is noted.
    #[default]
    Note,
    /// Every repeat needs a boot of its own: on one that has measured, a cell refuses.
    Require,
}

/// What a cell measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// A machine, which has to be the cell's alone.
    #[default]
    Machine,
    /// What the engine gives it of a machine, such as the CPUs of a pod: nothing is refused, what others do is not
    /// known, and results say so.
    Share,
}

/// The price of an hour of one machine, typed in by the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPrice {
    /// Above 0.
    pub amount: f64,
    /// Such as `USD`.
    pub currency: String,
    /// Its date.
    pub date: String,
    /// Where it was read.
    pub source: String,
}

/// How cells run the study: options of `threadwise run`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// `--allow-busy`
    pub allow_busy: bool,
    /// `--no-probe`
    pub no_probe: bool,
    /// `--allow-commands`
    pub allow_commands: bool,
    /// `--yes`
    pub yes: bool,
    /// `--data-dir`, a path on the nodes.
    pub data_dir: Option<String>,
    /// `--engine`, in place of the study's.
    pub engine: Option<String>,
}

impl Machines {
    /// Names of a kind's machines in a plan: those of its nodes, or KIND-1, KIND-2, … of a pool.
    pub fn names(&self, kind: &str) -> Vec<String> {
        match self {
            Self::Named(nodes) => nodes.clone(),
            Self::Pool(count) => (1..=*count).map(|number| format!("{kind}-{number}")).collect(),
        }
    }
}
