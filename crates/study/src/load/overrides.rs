//! Command-line settings that override a study definition.

use std::collections::BTreeMap;
use threadwise_machine::Memory;
use threadwise_machine::placement::Service;

use crate::engine::Properties;
use crate::{OptionValue, Options, Quota};

/// Command-line settings that override a study definition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// Engine name.
    pub engine: Option<String>,
    /// Properties that the study's engine (this one or the file's) reports.
    pub engine_properties: Properties,
    /// Seconds for the whole study.
    pub budget_s: Option<f64>,
    /// Target half-width, as a fraction.
    pub until: Option<f64>,
    /// Margin below which a difference does not matter, as a fraction.
    pub margin: Option<f64>,
    /// Exact number of blocks, in place of a budget.
    pub blocks: Option<u32>,
    /// Long windows of each treatment; 0 for none.
    pub long_windows: Option<u32>,
    /// Seed of every draw.
    pub seed: Option<u64>,
    /// Rounds in a block.
    pub rounds: Option<u32>,
    /// Window of a slice in milliseconds.
    pub slice_ms: Option<f64>,
    /// Re-warm before every slice in milliseconds, in place of a measured one.
    pub rewarm_ms: Option<f64>,
    /// With `placements`, the numbers of sessions for each of them; otherwise the points of the session sweep, in place
    /// of the file's.
    pub sessions: Option<Vec<u32>>,
    /// Orders of the session sweep, in place of the file's; a study then has a sweep however large the machine is.
    pub orders: Option<Vec<String>>,
    /// Comparisons beside the file's: two treatment names each, with a colon between them.
    pub compares: Vec<String>,
    /// Degrees of parallelism of every placement, in place of the file's.
    pub dops: Option<Vec<u32>>,
    /// Numbers of jobs of a work list, in place of the file's.
    pub jobs: Option<Vec<u32>>,
    /// Workload options; a value for a factor keeps that one level of it.
    pub options: Options,
    /// Levels of factors, in place of the file's: arms ([`crate::arm::FACTORS`]), instances ([`crate::instance`]) and
    /// options of the workload.
    pub factors: BTreeMap<String, Vec<OptionValue>>,
    /// Settings of two versions, each measured on every placement of the command line, in place of the file's
    /// treatments and sweep ([`crate::version`]): workload options, `engine.NAME` and `device`.
    pub versions: Option<[Options; 2]>,
    /// Placements in place of the file's treatments and sweep.
    pub placements: Option<Vec<String>>,
    /// Memory policy of every treatment without its own, baselines and sweep points included.
    pub memory: Option<Memory>,
    /// More policies: every treatment without one of its own is measured with each of them, too.
    pub more_memory: Vec<Memory>,
    /// Placement of service threads of every treatment without its own.
    pub service: Option<Service>,
    /// Options of the engine, each in place of the file's option of that name.
    pub engine_options: Options,
    /// CPU quota of the measuring process, which engines inherit as its children.
    pub quota: Option<Quota>,
    /// Memory limit for data, bytes: half for caches, half for files.
    pub memory_limit_bytes: Option<u64>,
    /// That limit in words, for messages: `a quarter of the 8 GiB of memory that are available`.
    pub memory_rule: String,
}
