//! A checked fleet definition: pure data.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the fleet.toml format.
pub const FILE_VERSION: i64 = 1;
/// Maximum machines of a fleet.
pub const MOST_MACHINES: usize = 2000;
/// Maximum repeats on a machine.
pub const MOST_REPEATS: u32 = 100;

/// Options for the engine, which refuses unknown ones.
pub type EngineOptions = BTreeMap<String, serde_json::Value>;

/// A checked fleet definition.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetFile {
    /// Heading of the report; default: the study's title.
    pub title: Option<String>,
    /// A preset, or a path that ends in .toml, relative to the folder of fleet.toml.
    pub study: String,
    /// Name of the engine.
    pub engine: String,
    /// Options of the engine for all machines.
    pub engine_options: EngineOptions,
    /// Studies on each machine.
    pub repeats: u32,
    /// Minimum time between the starts of a machine's studies, seconds.
    pub apart_s: u64,
    /// Whether repeats need new boots.
    pub boots: Boots,
    /// Whether a cell needs the machine to itself.
    pub measures: Measures,
    /// Time limit of a cell's study, seconds; default: the study's own.
    pub budget_s: Option<f64>,
    /// Time after which the engine ends a cell, seconds.
    pub time_limit_s: u64,
    /// Seed of the order and of the cells' studies; drawn by default.
    pub seed: Option<u64>,
    /// Options of `threadwise run` for cells.
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
    /// The engine's selector, besides names.
    pub selector: BTreeMap<String, String>,
    /// Price of an hour of one machine.
    pub price: Option<PlannedPrice>,
    /// Options of the engine for this kind, overriding those for all.
    pub engine_options: EngineOptions,
    /// Options of the study's engine on this kind, as `run --engine-option` takes them.
    pub study_engine_options: BTreeMap<String, String>,
    /// The same for single machines, overriding those of the kind.
    pub machine_study_engine_options: BTreeMap<String, BTreeMap<String, String>>,
}

/// The machines of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Machines {
    /// These nodes.
    Named(Vec<String>),
    /// This many of an elastic pool: the results show which ones.
    Pool(u32),
}

/// Whether repeats on a machine need new boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boots {
    /// The boot is recorded.
    #[default]
    Note,
    /// Every repeat needs its own boot: a cell refuses a boot that has measured.
    Require,
}

/// What a cell measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// A machine, which the cell must have to itself.
    #[default]
    Machine,
    /// The engine's share of a machine, such as the CPUs of a pod: nothing is refused, the load of others is unknown,
    /// and results say so.
    Share,
}

/// The price of an hour of one machine, as the user gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPrice {
    /// Above 0.
    pub amount: f64,
    /// Such as `USD`.
    pub currency: String,
    /// Its date.
    pub date: String,
    /// Its source.
    pub source: String,
}

/// Options of `threadwise run` for cells.
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
