//! Findings to terminal, HTML, JSON and CSV. No engine, no system access, no clock: a report is a
//! function of a [`Document`].
//!
//! One renderer is one file and one line below. Every text of a document may come from a study
//! file that somebody mailed, so each renderer escapes for its own medium: control and direction
//! characters for the terminal ([`text::plain`]), markup for HTML (`html`), formulas for
//! spreadsheets ([`csv`]).

mod activity;
mod commands;
pub mod compare;
pub mod csv;
pub mod drawing;
pub mod hardware;
pub mod html;
pub mod json;
pub mod layout;
mod queries;
pub mod terminal;
pub mod text;
pub mod words;
mod worklist;

use threadwise_analysis::findings::group_words;
use threadwise_analysis::hardware::Hardware;
use threadwise_analysis::{Analysis, Estimate, Finding, NoiseFloor, TreatmentSummary};
use threadwise_machine::Topology;
use threadwise_study::probe::Probe;
use threadwise_study::{Role, Run, Study};

/// Everything that a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// What was asked.
    pub study: &'a Study,
    /// The machine on which it ran.
    pub topology: &'a Topology,
    /// Estimates.
    pub analysis: &'a Analysis,
    /// The verdict, one finding a line.
    pub findings: &'a [Finding],
    /// Raw runs, failed and superseded ones too.
    pub runs: &'a [Run],
    /// Notes of the store, one line each.
    pub notes: &'a [String],
    /// Name of the result file.
    pub source: &'a str,
    /// Version of this program that made the study.
    pub program_version: &'a str,
    /// Version that the engine reported.
    pub engine_version: &'a str,
    /// When the study began, RFC 3339 in UTC.
    pub created_utc: &'a str,
    /// What was measured of the hardware with the study; `None` where nothing was.
    pub probe: Option<&'a Probe>,
    /// The same beside what the machine declares.
    pub hardware: Option<&'a Hardware>,
}

/// Metric on which treatments are compared, as the analysis names it; [`words::metric_name`] is the
/// name that readers get.
pub const THROUGHPUT: &str = "rows_per_s";

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The HTML template failed: a fault of the program.
    #[error(
        "cannot make the HTML report: {0}; this is a fault of the program, please report it with the result file"
    )]
    Template(String),
    /// A line could not be written.
    #[error("cannot write the export: {0}; check the free space of the disk that it goes to")]
    Write(#[from] std::io::Error),
}

/// What one can say of a ratio at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The treatment does more, beyond Holm's interval and the noise floor.
    Higher,
    /// It does less.
    Lower,
    /// The interval is narrow enough, and no effect is shown.
    NoEffect,
    /// The interval is too wide to say.
    Inconclusive,
}

impl Mark {
    /// The mark of an estimate.
    pub fn of(estimate: &Estimate) -> Self {
        match (estimate.effect, estimate.conclusive) {
            (true, _) if estimate.value > 1.0 => Self::Higher,
            (true, _) => Self::Lower,
            (false, true) => Self::NoEffect,
            (false, false) => Self::Inconclusive,
        }
    }

    /// Words for people and for those who cannot see colours.
    pub fn words(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::NoEffect => "no effect shown",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl<'a> Document<'a> {
    /// Treatment summaries by group, groups in study order.
    pub fn groups(&self) -> Vec<(&'a str, Vec<&'a TreatmentSummary>)> {
        let analysis = self.analysis;
        let mut groups: Vec<(&'a str, Vec<&'a TreatmentSummary>)> = Vec::new();
        for summary in &analysis.treatments {
            match groups.iter_mut().find(|(name, _)| *name == summary.group) {
                Some((_, members)) => members.push(summary),
                None => groups.push((&summary.group, vec![summary])),
            }
        }
        groups
    }

    /// The throughput ratio of a treatment (of a command its headline's) to its group's baseline, where
    /// there is one.
    pub fn ratio(&self, treatment: &str) -> Option<&'a Estimate> {
        self.ratio_of(treatment, self.analysis.headline())
    }

    /// The ratio of a treatment to its group's baseline by a metric.
    pub fn ratio_of(&self, treatment: &str, metric: &str) -> Option<&'a Estimate> {
        let own = |estimate: &&Estimate| estimate.treatment == treatment && estimate.metric == metric;
        self.analysis.estimates.iter().find(|e| own(e) && e.kind == "baseline")
    }

    /// Throughput ratios (of a command its headline's) in study order.
    pub fn throughput_ratios(&self) -> impl Iterator<Item = &'a Estimate> {
        let headline = self.analysis.headline();
        self.analysis.estimates.iter().filter(move |estimate| estimate.metric == headline)
    }

    /// An estimate's mark in words; of a command, whose numbers are better upwards or downwards, which
    /// of both it is.
    pub fn mark_words(&self, estimate: &Estimate) -> &'static str {
        match &self.analysis.commands {
            Some(_) => commands::mark_words(estimate),
            None => Mark::of(estimate).words(),
        }
    }

    /// Throughput ratios that stand in no column of the table of treatments: the known pairs and the
    /// study definition's own comparisons. Steps of a sweep are drawn as its line, of commands they are listed,
    /// of work lists they are in the table of jobs.
    pub fn other_ratios(&self) -> impl Iterator<Item = &'a Estimate> {
        let document = *self;
        self.throughput_ratios().filter(move |estimate| {
            let in_table = document.ratio(&estimate.treatment);
            let is_drawn = estimate.kind == "sweep-step" && document.analysis.commands.is_none();
            let is_drawn = is_drawn || worklist::is_shown(document.analysis, estimate);
            !is_drawn && !in_table.is_some_and(|own| std::ptr::eq(own, *estimate))
        })
    }

    /// Confidence level of the intervals. `--until` looks more than once, so its intervals have a
    /// higher level than the design's.
    pub fn level(&self) -> f64 {
        self.analysis.estimates.first().map_or(self.study.design.level, |estimate| estimate.level)
    }

    /// Name of a group's baseline inside the group.
    pub fn baseline_label(&self, group: &str) -> &'a str {
        let study = self.study;
        let mut own = study.treatments.iter().filter(|treatment| treatment.group == group);
        let baseline = own.find(|treatment| treatment.role == Role::Baseline);
        baseline.map_or("baseline", |treatment| self.label(&treatment.name, &treatment.group))
    }

    /// Name of the baseline of all groups; `baseline` where groups have different ones.
    pub fn common_baseline(&self) -> &'a str {
        let mut labels: Vec<&str> =
            self.groups().into_iter().map(|(group, _)| self.baseline_label(group)).collect();
        labels.dedup();
        if let [label] = labels.as_slice() { label } else { "baseline" }
    }

    /// The widest noise floor of all groups.
    pub fn widest_floor(&self) -> Option<&'a NoiseFloor> {
        self.analysis.noise_floors.iter().max_by(|a, b| a.floor.total_cmp(&b.floor))
    }

    /// Name of a treatment inside its group: `same-core/l2` of the group `data=l2` is `same-core`,
    /// `same-core/l2,scale=4` of `data=l2,scale=4` too.
    pub fn label(&self, name: &'a str, group: &str) -> &'a str {
        let Some((label, suffix)) = name.rsplit_once('/') else { return name };
        let mut parts = group.split(',');
        let fits = |piece: &str| {
            parts.next().is_some_and(|part| {
                part == piece || part.split_once('=').is_some_and(|(_, level)| level == piece)
            })
        };
        if suffix.split(',').all(fits) { label } else { name }
    }

    /// A group in words (`inside L2`); empty where there is one group.
    pub fn group_words(&self, group: &str) -> String {
        if self.study.groups().len() < 2 { String::new() } else { group_words(self.study, group) }
    }

    /// Whether the results come from a model and not from a machine.
    pub fn is_simulated(&self) -> bool {
        self.analysis.simulated || self.study.is_simulated()
    }
}
