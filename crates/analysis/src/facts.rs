//! Everything that a report is made from, with queries that its parts share. Pure.

use crate::asked::Asked;
use crate::diagnostics::QuestionAnswer;
use crate::groups::{group_words, grouped};
use crate::hardware::Hardware;
use crate::{Analysis, Estimate, NoiseFloor, Ratio, TreatmentSummary};
use threadwise_document::{Cell, ColumnOf, Prose, Row, Table};
use threadwise_machine::Topology;
use threadwise_study::probe::Probe;
use threadwise_study::{ComparisonKind, Note, Role, Run, Study};

/// The question, the machine, and the results.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The study as planned.
    pub study: &'a Study,
    /// The machine on which it ran.
    pub topology: &'a Topology,
    /// Estimates.
    pub analysis: &'a Analysis,
    /// Raw runs, including failed and superseded ones.
    pub runs: &'a [Run],
    /// Raw runs of long windows.
    pub long_runs: &'a [Run],
    /// Notes of the store, one per line.
    pub notes: &'a [Note],
    /// Name of the result file.
    pub source: &'a str,
    /// Version of the program that ran the study.
    pub program_version: &'a str,
    /// Version that the engine reported; empty if unknown.
    pub engine_version: &'a str,
    /// When the study began, RFC 3339 in UTC.
    pub created_utc: &'a str,
    /// Whether it was stopped before the end of its plan.
    pub is_stopped: bool,
    /// What was measured of the hardware with the study; `None` without a measurement.
    pub probe: Option<&'a Probe>,
    /// The same, compared with what the machine declares.
    pub hardware: Option<&'a Hardware>,
    /// Additional requests to the report.
    pub asked: Asked,
}

impl<'a> Facts<'a> {
    /// From a study's estimates alone, without runs, notes or probe.
    pub fn new(study: &'a Study, topology: &'a Topology, analysis: &'a Analysis) -> Self {
        Self {
            study,
            topology,
            analysis,
            runs: &[],
            long_runs: &[],
            notes: &[],
            source: "",
            program_version: "",
            engine_version: "",
            created_utc: "",
            is_stopped: false,
            probe: None,
            hardware: None,
            asked: Asked::default(),
        }
    }

    /// What is said of the answer to a question; `None` if it does not apply to the study.
    pub(crate) fn of_question<T>(
        &self,
        name: &str,
        say: fn(&Self, &QuestionAnswer) -> Option<T>,
    ) -> Option<T> {
        say(self, self.analysis.found(name)?)
    }

    /// Whether the results come from a model and not from a machine.
    pub fn is_simulated(&self) -> bool {
        self.analysis.simulated || self.study.is_simulated()
    }

    /// Treatment summaries by group, groups in study order.
    pub fn groups(&self) -> Vec<(&'a str, Vec<&'a TreatmentSummary>)> {
        grouped(self.analysis.treatments.iter().map(|summary| (summary.group.as_str(), summary)))
    }

    /// A treatment's summary.
    pub fn summary(&self, name: &str) -> Option<&'a TreatmentSummary> {
        self.analysis.treatments.iter().find(|summary| summary.name == name)
    }

    /// The ratio of a treatment to its group's baseline by the headline: throughput, or that of a command.
    pub fn ratio(&self, treatment: &str) -> Option<&'a Estimate> {
        self.ratio_of(treatment, self.analysis.headline())
    }

    /// The ratio of a treatment to its group's baseline by a metric.
    pub fn ratio_of(&self, treatment: &str, metric: &str) -> Option<&'a Estimate> {
        let mut all = self.analysis.estimates.iter();
        all.find(|comparison| {
            comparison.kind == ComparisonKind::Baseline
                && comparison.treatment == treatment
                && comparison.metric == metric
        })
    }

    /// Confidence level of the intervals. `--until` looks more than once, so its intervals have a higher level than the
    /// design's.
    pub fn level(&self) -> f64 {
        self.analysis.estimates.first().map_or(self.study.design.level, |first| first.ratio.level)
    }

    /// Name of a group's baseline inside the group.
    pub fn baseline_label(&self, group: &str) -> &'a str {
        let mut all = self.study.treatments.iter();
        let baseline = all.find(|treatment| treatment.group == group && treatment.role == Role::Baseline);
        baseline.map_or("baseline", |treatment| self.label(&treatment.name, &treatment.group))
    }

    /// Name of the baseline of all groups; `baseline` if groups have different ones.
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

    /// Name of a treatment inside its group: `same-core/l2` of the group `data=l2` is `same-core`, as is
    /// `same-core/l2,scale=4` of `data=l2,scale=4`.
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

    /// A treatment's name in sentences: with its group, if there is one.
    pub fn name(&self, treatment: &'a str) -> &'a str {
        match self.study.groups().len() {
            0 | 1 => self.label(treatment, self.group_of(treatment)),
            _ => treatment,
        }
    }

    /// Rows of a table in groups, in study order, each below the group's words if there are several.
    pub fn rows_by_group<T>(
        &self,
        all: &[T],
        treatment: impl Fn(&T) -> &str,
        row: impl Fn(&T) -> Option<Vec<Cell>>,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for group in self.study.groups() {
            let members = all.iter().filter(|one| self.group_of(treatment(one)) == group);
            let cells: Vec<Row> = members.filter_map(&row).map(Row::Cells).collect();
            let words = self.group_words(group);
            rows.extend((!words.is_empty() && !cells.is_empty()).then_some(Row::Group(words)));
            rows.extend(cells);
        }
        rows
    }

    /// A table with a row for each of some things of treatments, in groups as [`Facts::rows_by_group`] has them.
    pub fn table_by_group<T>(
        &self,
        caption: impl Into<Prose>,
        all: &[T],
        treatment: impl Fn(&T) -> &str,
        columns: &[ColumnOf<'_, T>],
    ) -> Table {
        let row = |one: &T| Some(columns.iter().map(|(_, cell)| cell(one)).collect());
        let rows = self.rows_by_group(all, treatment, row);
        let columns = columns.iter().map(|(column, _)| column.clone()).collect();
        Table { rows, ..Table::new(caption, columns, []) }
    }

    /// The group of a treatment; empty if the study does not have it.
    pub fn group_of(&self, treatment: &str) -> &'a str {
        self.study.treatment(treatment).map_or("", |(_, treatment)| &treatment.group)
    }

    /// A group in words (`inside L2`); empty if there is one group.
    pub fn group_words(&self, group: &str) -> String {
        if self.study.groups().len() < 2 { String::new() } else { group_words(self.study, group) }
    }

    /// A group in words, by the level of its factor alone where it has one factor without words: `add` of `kernel=add`.
    pub fn level_words(&self, group: &str) -> String {
        let words = self.group_words(group);
        match words
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|one| one.split_once('='))
        {
            Some((_, level)) if !level.contains(['=', '(']) => level.to_owned(),
            _ => words,
        }
    }

    /// A heading with its group, marked if it is of a model.
    pub fn titled(&self, title: &str, group: &str) -> String {
        let simulated = if self.is_simulated() { "SIMULATED · " } else { "" };
        format!("{simulated}{title} {}", self.group_words(group)).trim_end().to_owned()
    }

    /// What an estimate compares, as a heading and its explanation: the treatment and `to alone` for a ratio to the
    /// baseline (by its first name), the step for a sweep, the comparison's own name and `same-core to one-cpu` for the
    /// rest.
    pub fn compared(&self, estimate: &'a Estimate) -> [String; 2] {
        let group = self.group_of(&estimate.treatment);
        let top = self.label(&estimate.treatment, group);
        let mut names = estimate.baseline.split(" and ").map(|name| self.label(name, group));
        let below = names.next().unwrap_or("the baseline");
        match estimate.kind {
            ComparisonKind::Baseline => [top.to_owned(), format!("to {below}")],
            ComparisonKind::SweepStep => [top.to_owned(), format!("to {below} (sweep-step)")],
            _ => {
                let all: Vec<&str> = std::iter::once(below).chain(names).collect();
                [self.label(&estimate.name, group).to_owned(), format!("{top} to {}", all.join(" and "))]
            }
        }
    }

    /// The ratio of a treatment if it has one; for the baseline, the words of its role.
    pub fn ratio_or_role(&self, summary: &TreatmentSummary) -> Result<&'a Ratio, &'static str> {
        if let Some(estimate) = self.ratio(&summary.name) {
            return Ok(&estimate.ratio);
        }
        Err(match self.study.treatment(&summary.name).map(|(_, treatment)| treatment.role) {
            Some(Role::Baseline) => "baseline",
            Some(Role::BaselineTwin) => "baseline again",
            _ => "",
        })
    }
}

/// Valid runs, with those that failed or were left out: `7, 1 failed`.
pub fn runs_words(summaries: &[&TreatmentSummary]) -> String {
    let sum =
        |count: fn(&TreatmentSummary) -> u32| summaries.iter().map(|summary| count(summary)).sum::<u32>();
    let mut text = sum(|summary| summary.runs).to_string();
    for (count, word) in
        [(sum(|summary| summary.failed), "failed"), (sum(|summary| summary.excluded), "excluded")]
    {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}
