//! All that is estimated of a study.

use crate::changed_with::ChangedWith;
use crate::choices::Choice;
use crate::commands::Commands;
use crate::cpus::Cpus;
use crate::drift::Drift;
use crate::external_arms::ExternalArms;
use crate::halves::Halves;
use crate::lock_gains::LockGains;
use crate::long_windows::LongWindows;
use crate::looks::Looks;
use crate::looks::claim::Effects;
use crate::order::Order;
use crate::parallel::Parallel;
use crate::queries::Queries;
use crate::scaling_law::SeriesLaw;
use crate::settling::Settling;
use crate::warmups::TreatmentWarmup;
use crate::worklist::Worklist;
use crate::{Covariates, Estimate, NoiseFloor, TreatmentSummary, estimate};
use serde::Serialize;

/// What one look at the observations gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// In study order.
    pub treatments: Vec<TreatmentSummary>,
    /// One per comparison and metric, throughput first (of a command its headline).
    pub estimates: Vec<Estimate>,
    /// One per group, of throughput (of a command its headline).
    pub noise_floors: Vec<NoiseFloor>,
    /// Blocks whose baseline was usable.
    pub blocks: u32,
    /// Blocks that were left out, with the reason, one line each.
    pub excluded_blocks: Vec<String>,
    /// Covariates over the study.
    pub covariates: Covariates,
    /// Whether the results come from a model.
    #[serde(skip)]
    pub simulated: bool,
    /// Which settings to use; empty where a study leaves no choice.
    pub choices: Vec<Choice>,
    /// What logical CPUs and packages did under each treatment; `None` where nothing was read of them.
    #[serde(rename = "logical_cpus")]
    pub cpus: Option<Cpus>,
    /// What changed with each ratio; `None` where nothing is known of both sides of any.
    pub changed_with: Option<ChangedWith>,
    /// Query by query, where the workload has queries.
    pub queries: Option<Queries>,
    /// Elapsed time, CPU, memory and metrics, where the workload is a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// What a study of work lists shows beside that; `None` for another workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worklist: Option<Worklist>,
    /// In what order slices ran, and whether one changes the next; `None` where runs are whole commands or lists.
    pub order: Option<Order>,
    /// Whether slices are faster in one half than in the other; `None` where runs are whole commands, lists or queries.
    pub halves: Option<Halves>,
    /// What is gained under each kind of lock, and under one against another; `None` where locks are no factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_gains: Option<LockGains>,
    /// Scaling laws of a study with a sweep, a group each; empty in any other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaling_laws: Vec<SeriesLaw>,
    /// What the processes of parallel scans did; `None` of another workload.
    #[serde(rename = "parallel_workers", skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Parallel>,
    /// What switches of the machine left behind, an arm each; empty in a study without arms inside of blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settling: Vec<Settling>,
    /// The baseline's rate over time and its changes, a group each.
    pub drift: Vec<Drift>,
    /// Warm-ups that were measured, in study order; empty where the re-warm is fixed.
    pub warmups: Vec<TreatmentWarmup>,
    /// Long windows beside slices; `None` in a study without, and until [`crate::long_windows::long_windows`] is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_windows: Option<LongWindows>,
    /// Boots and ratios of external arms; `None` in a study without, and until [`crate::external_arms::external_arms`] is asked.
    #[serde(rename = "external", skip_serializing_if = "Option::is_none")]
    pub arms: Option<ExternalArms>,
    /// Where slices ran, where looks were taken around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// Ratios by state, where slices have looks.
    #[serde(skip)]
    pub effects: Option<Effects>,
}

impl Analysis {
    /// Metric of the study's question: throughput; of a command elapsed time, or the metric that its
    /// study names.
    pub fn headline(&self) -> &str {
        let headline = self.commands.as_ref().and_then(|commands| commands.headline());
        headline.map_or(estimate::THROUGHPUT, |headline| &headline.metric)
    }

    /// The A/A interval of a metric in a group, as far as it is kept: of throughput, and of a command of
    /// every quantity.
    pub fn floor(&self, group: &str, metric: &str) -> Option<&NoiseFloor> {
        let of_commands = self.commands.iter().flat_map(|commands| &commands.floors);
        let mut all = self.noise_floors.iter().chain(of_commands);
        all.find(|floor| floor.group == group && floor.metric == metric)
    }
}
