//! A plan and its parts: pure data; `plan.json` is its text.

use crate::cell::CellId;
use crate::file::{Boots, EngineOptions, Measures, PlannedPrice, RunSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of plan.json.
pub const VERSION: u32 = 1;

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`VERSION`].
    pub version: u32,
    /// Version of the program that created it.
    pub program: String,
    /// SHA-256 of the program that measures, hexadecimal.
    pub binary_sha256: String,
    /// Heading of the report.
    pub title: String,
    /// The study.
    pub study: PlannedStudy,
    /// Name of the engine.
    pub engine: String,
    /// Options of the engine for all machines.
    pub engine_options: EngineOptions,
    /// Whether a cell needs the machine to itself.
    pub measures: Measures,
    /// Studies on each machine.
    pub repeats: u32,
    /// Minimum time between the starts of a machine's studies, seconds.
    pub apart_s: u64,
    /// Whether repeats need new boots.
    pub boots: Boots,
    /// Time limit of a cell's study, seconds; `None` for the study's own.
    pub budget_s: Option<f64>,
    /// Time after which the engine ends a cell, seconds.
    pub time_limit_s: u64,
    /// Seed of the order and of the cells' studies.
    pub seed: u64,
    /// Options of `threadwise run` for cells.
    pub run: RunSettings,
    /// Kinds of machines, in the order of the file.
    pub kinds: Vec<PlannedKind>,
    /// Machines, in the order of the file.
    pub machines: Vec<PlannedMachine>,
    /// All cells in the order in which they are measured if machines are free: all first repeats before all second
    /// ones, kinds mixed.
    pub order: Vec<CellId>,
}

/// The study of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedStudy {
    /// Its name.
    pub name: String,
    /// Title, one line.
    pub title: String,
    /// SHA-256 of `study.toml`, hexadecimal.
    pub sha256: String,
}

/// A kind of machine in a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedKind {
    /// Its name.
    pub name: String,
    /// The engine's selector, besides names.
    pub selector: BTreeMap<String, String>,
    /// Price of an hour of one machine.
    pub price: Option<PlannedPrice>,
    /// Options of the engine for this kind, overriding those for all.
    pub engine_options: EngineOptions,
}

/// A machine in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedMachine {
    /// Its name in the plan, unique: the node's, or KIND-1, KIND-2, … of a pool.
    pub name: String,
    /// Name of its kind.
    pub kind: String,
    /// Name of its node; `None` if it comes from a pool.
    pub node: Option<String>,
    /// Options of the study's engine on this machine.
    pub study_engine_options: BTreeMap<String, String>,
}
