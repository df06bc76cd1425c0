//! All estimates of a study.

use crate::answers::Answers;
use crate::choices::Choice;
use crate::commands::Commands;
use crate::cpus::Cpus;
use crate::diagnostics::QuestionAnswer;
use crate::estimate::{LATENCY_MEAN, THROUGHPUT};
use crate::load::Load;
use crate::looks::Looks;
use crate::looks::claim::Effects;
use crate::queries::Queries;
use crate::scaling_law::SeriesLaw;
use crate::worklist::Worklist;
use crate::{Covariates, Estimate, NoiseFloor, TreatmentSummary};
use schemars::JsonSchema;
use serde::Serialize;
use std::any::Any;

/// Estimates of one look at the observations.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Analysis {
    /// In study order.
    pub treatments: Vec<TreatmentSummary>,
    /// One per comparison and metric, throughput first (for a command its headline).
    #[serde(rename = "comparisons")]
    pub estimates: Vec<Estimate>,
    /// One per group, of throughput (for a command of its headline).
    pub noise_floors: Vec<NoiseFloor>,
    /// Blocks whose baseline was usable.
    pub blocks: u32,
    /// Blocks that were left out, with the reason, one per line.
    pub excluded_blocks: Vec<String>,
    /// Covariates over the study.
    pub covariates: Covariates,
    /// Whether the results come from a model.
    #[serde(skip)]
    pub simulated: bool,
    /// Which settings to use; empty if the study has no choice.
    pub choices: Vec<Choice>,
    /// What logical CPUs and packages did under each treatment; `None` if nothing was read of them.
    #[serde(rename = "logical_cpus")]
    pub cpus: Option<Cpus>,
    /// Per query, if the workload has queries.
    pub queries: Option<Queries>,
    /// Elapsed time, CPU, memory and metrics, if the workload is a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
    /// Additional results of a study of work lists; `None` for another workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worklist: Option<Worklist>,
    /// Answers to the questions that every study is asked besides its own.
    pub diagnostics: Vec<QuestionAnswer>,
    /// Answers that are more than contrasts, each with a type of its own.
    #[serde(flatten)]
    pub answers: Answers,
    /// Scaling laws of a study with a sweep, one per group; otherwise empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaling_laws: Vec<SeriesLaw>,
    /// Where slices ran, if looks were taken around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// Ratios by state, and by distance, if slices have looks.
    #[serde(skip)]
    pub effects: Vec<Effects>,
}

impl Analysis {
    /// Metric of the study's question: throughput, or at a rate mean latency; for a command elapsed time, or the metric that its study names.
    pub fn headline(&self) -> &str {
        let headline = self.commands.as_ref().and_then(|commands| commands.headline());
        let sessions = if self.get::<Load>().is_some() { LATENCY_MEAN } else { THROUGHPUT };
        headline.map_or(sessions, |headline| &headline.metric)
    }

    /// The answer to a diagnostic; `None` if it does not apply to the study.
    pub fn found(&self, question: &str) -> Option<&QuestionAnswer> {
        self.diagnostics.iter().find(|found| found.question == question)
    }

    /// The answer of a type; `None` if its question does not apply to the study.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.answers.get()
    }

    /// The A/A interval of a metric in a group, if kept: of throughput, and for a command of every quantity.
    pub fn floor(&self, group: &str, metric: &str) -> Option<&NoiseFloor> {
        let of_commands = self.commands.iter().flat_map(|commands| &commands.floors);
        let mut all = self.noise_floors.iter().chain(of_commands);
        all.find(|floor| floor.group == group && floor.metric == metric)
    }
}
