//! What a block is made from.

use crate::clock::Clock;
use crate::places::Folders;
use crate::queries::QueryData;
use crate::settings::Settings;
use std::sync::atomic::AtomicBool;
use threadwise_engine::protocol::WireLoad;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::warmup::Warmup;
use threadwise_study::{BlockPlan, Study};

/// What a block is made from.
pub struct Input<'a> {
    /// The study.
    pub study: &'a Study,
    /// The machine.
    pub topology: &'a Topology,
    /// What this block does.
    pub plan: &'a BlockPlan,
    /// Number of tries at this block before.
    pub attempt: u32,
    /// Data of each treatment.
    pub loads: &'a [WireLoad],
    /// All logical CPUs that we may use: for a worker without a placement of its own, which would
    /// otherwise inherit the one logical CPU that this thread keeps to.
    pub allowed: &'a CpuSet,
    /// Programs and deadlines.
    pub settings: &'a Settings,
    /// The study's clock.
    pub clock: Clock,
    /// Where data and logs are.
    pub folders: Folders<'a>,
    /// How many workers may open and warm their sessions at once.
    pub concurrent: usize,
    /// Data and answers of the queries, where the workload has queries.
    pub queries: Option<&'a QueryData>,
    /// Called with the seconds that a worker took from its start until it was warmed.
    pub on_ready: &'a dyn Fn(f64),
    /// Warm-ups of treatments (by index) that were measured before; the others are measured in this block where the
    /// design has none.
    pub warmups: &'a [Option<Warmup>],
    /// Called with the warm-ups after such a measurement.
    pub on_warm: &'a dyn Fn(&[Option<Warmup>]),
    /// Ends the block after the present slice.
    pub stop: &'a AtomicBool,
}
