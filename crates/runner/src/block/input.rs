//! Input of a block.

use crate::clock::Clock;
use crate::places::Folders;
use crate::queries::QueryData;
use crate::settings::Settings;
use std::sync::atomic::AtomicBool;
use threadwise_engine::protocol::WireLoad;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::warmup::Warmup;
use threadwise_study::{BlockPlan, Study};

/// Input of a block.
pub struct Input<'a> {
    /// The study.
    pub study: &'a Study,
    /// The machine.
    pub topology: &'a Topology,
    /// The plan of this block.
    pub plan: &'a BlockPlan,
    /// Number of earlier tries at this block.
    pub attempt: u32,
    /// Data of each treatment.
    pub loads: &'a [WireLoad],
    /// All logical CPUs that this process may use: for a worker without a placement, which would
    /// otherwise inherit the one logical CPU of this thread.
    pub allowed: &'a CpuSet,
    /// Programs and deadlines.
    pub settings: &'a Settings,
    /// The study's clock.
    pub clock: Clock,
    /// Folders of data and logs.
    pub folders: Folders<'a>,
    /// How many workers may open and warm their sessions at once.
    pub concurrent: usize,
    /// Data and answers of the queries, if the workload has queries.
    pub queries: Option<&'a QueryData>,
    /// Called with the seconds from a worker's start until it was warmed.
    pub on_ready: &'a dyn Fn(f64),
    /// Known warm-ups of treatments (by index); the others are measured in this block if the design has none.
    pub warmups: &'a [Option<Warmup>],
    /// Called with the warm-ups after such a measurement.
    pub on_warm: &'a dyn Fn(&[Option<Warmup>]),
    /// Ends the block after the present slice.
    pub stop: &'a AtomicBool,
}
