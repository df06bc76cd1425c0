//! What a study of commands shows, quantity by quantity: the words that terminal and page share.

use crate::text::{bytes, compact, nanoseconds, ratio, ratio_interval, share, significant};
use crate::{Document, Mark};
use threadwise_analysis::commands::Quantity;
use threadwise_analysis::{Estimate, Interval, TreatmentSummary};
use threadwise_study::command::Better;
use threadwise_study::{Role, Treatment};

/// One treatment by one quantity. The baseline and its twin are one row: ratios are over both.
pub struct Row<'a> {
    /// The treatment; of the baseline the first of both.
    pub treatment: &'a Treatment,
    /// Name inside its group.
    pub label: &'a str,
    /// The value; `None` where no run counts.
    pub value: Option<&'a Interval>,
    /// Its ratio to the baseline.
    pub estimate: Option<&'a Estimate>,
    /// Why there is no ratio.
    pub gap: Option<&'a str>,
}

impl Row<'_> {
    /// Whether it is the baseline.
    pub fn is_baseline(&self) -> bool {
        self.treatment.role != Role::Compared
    }
}

/// The treatments of a group by one quantity, the baseline first.
pub fn rows<'a>(document: &Document<'a>, group: &str, quantity: &Quantity) -> Vec<Row<'a>> {
    let analysis = document.analysis;
    let Some(commands) = &analysis.commands else { return Vec::new() };
    let study = document.study;
    let of_group = study.treatments.iter().filter(|own| own.group == group);
    let values = of_group.filter(|own| own.role != Role::BaselineTwin).map(|treatment| {
        let is_baseline = treatment.role == Role::Baseline;
        let value = match is_baseline {
            true => commands.baseline(group, &quantity.metric),
            false => summary(document, &treatment.name).and_then(|own| own.metrics.get(&quantity.metric)),
        };
        let mut comparisons = study.comparisons.iter();
        let comparison = comparisons.find(|own| own.treatment == treatment.name && own.kind == "baseline");
        let gap = comparison.and_then(|own| commands.gap(&own.name, &quantity.metric));
        Row {
            treatment,
            label: document.label(&treatment.name, &treatment.group),
            value,
            estimate: (!is_baseline).then(|| document.ratio_of(&treatment.name, &quantity.metric)).flatten(),
            gap: gap.map(|gap| gap.reason.as_str()),
        }
    });
    values.collect()
}

/// A treatment's summary.
pub fn summary<'a>(document: &Document<'a>, name: &str) -> Option<&'a TreatmentSummary> {
    document.analysis.treatments.iter().find(|own| own.name == name)
}

/// A value by its quantity: `10.2 s`, `120 MiB`, `1234`.
pub fn value(quantity: &Quantity, value: f64) -> String {
    match quantity.unit.as_str() {
        // As the command printed it, as long as that is a number that people read.
        _ if quantity.is_said && value.abs() < 1e6 => significant(value, 4),
        _ if quantity.is_said => compact(value, 4),
        "ns" => nanoseconds(value),
        "bytes" if value.is_finite() && value >= 0.0 => bytes(value.round() as u64),
        _ => compact(value, 4),
    }
}

/// A value with its interval; one block has none.
pub fn with_interval(quantity: &Quantity, interval: &Interval) -> String {
    format!("{} {}", value(quantity, interval.mean), bounds(quantity, interval))
}

/// The interval alone: `[10.1 s, 10.3 s]`.
pub fn bounds(quantity: &Quantity, interval: &Interval) -> String {
    match interval.high.is_finite() {
        true => format!("[{}, {}]", value(quantity, interval.low), value(quantity, interval.high)),
        false => "(1 block, no interval)".to_owned(),
    }
}

/// A ratio with its interval; one block has none.
pub fn ratio_words(estimate: &Estimate) -> String {
    match estimate.high.is_finite() {
        true => ratio_interval(estimate.value, estimate.low, estimate.high),
        false => format!("{}x (1 block, no interval)", ratio(estimate.value)),
    }
}

/// What an estimate's mark means: `better`, `worse`, `no effect shown`, …
pub fn mark_words(estimate: &Estimate) -> &'static str {
    if estimate.effect { estimate.meaning() } else { Mark::of(estimate).words() }
}

/// A quantity with its unit, as a heading: `elapsed`, `tps, tx/s`.
pub fn heading(quantity: &Quantity) -> String {
    match quantity.is_said && quantity.unit != "1" {
        true => format!("{}, {}", quantity.name, quantity.unit),
        false => quantity.name.clone(),
    }
}

/// CPU time as the heading of a column: `CPU/run`, `CPU/tx`.
pub fn cpu_heading(cpu: &Quantity) -> String {
    let name = cpu.name.split(',').next().unwrap_or_default();
    name.replacen("CPU per ", "CPU/", 1)
}

/// What is better, in words; empty where nothing is.
pub fn better(quantity: &Quantity) -> &'static str {
    match quantity.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::None => "",
    }
}

/// `noise floor ±1.2%`, or that it is unknown.
pub fn floor_words(document: &Document, group: &str, metric: &str) -> String {
    let floor = document.analysis.floor(group, metric).map(|floor| floor.floor.exp_m1());
    match floor.filter(|floor| floor.is_finite()) {
        Some(floor) => format!("noise floor ±{}", share(floor)),
        None => "noise floor unknown".to_owned(),
    }
}

/// The metrics of a run by name, of what its output said.
pub fn said(run: &threadwise_study::Run) -> impl Iterator<Item = (&str, Option<f64>)> {
    let own = run.readings.iter().filter(|reading| reading.sampler == threadwise_study::command::SAMPLER);
    own.map(|reading| (reading.metric.as_str(), reading.value))
}

/// Runs of a row: of the baseline those of both.
pub fn runs(document: &Document, row: &Row<'_>) -> String {
    let same = |own: &&TreatmentSummary| match row.is_baseline() {
        true => {
            let role = document.study.treatment(&own.name).map(|(_, treatment)| treatment.role);
            own.group == row.treatment.group && role.is_some_and(|role| role != Role::Compared)
        }
        false => own.name == row.treatment.name,
    };
    let mut sum: Option<TreatmentSummary> = None;
    for own in document.analysis.treatments.iter().filter(same) {
        match &mut sum {
            Some(sum) => {
                sum.runs += own.runs;
                sum.failed += own.failed;
                sum.excluded += own.excluded;
            }
            None => sum = Some(own.clone()),
        }
    }
    sum.as_ref().map_or_else(|| "-".to_owned(), crate::text::runs_words)
}
