//! Published ratios beside those of a study.

use super::sides::is_meant;
use crate::estimate::first_reason;
use crate::{Facts, Ratio};
use serde::Serialize;
use threadwise_document::Direction;
use threadwise_document::numbers::counted;
use threadwise_machine::Topology;
use threadwise_published::{Published, find};
use threadwise_study::Comparison;

/// Longest option, with its value, that is shown.
const LONGEST: usize = 32;

/// Published ratios beside measured ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// Name of the published study.
    pub name: String,
    /// One per comparison of the study that was published.
    pub rows: Vec<Row>,
    /// Published comparisons that the study does not have.
    pub only_published: Vec<String>,
    /// Comparisons of the study, without those with the baseline, of which no figure was published.
    pub only_here: Vec<String>,
    /// What differs, whatever the ratios say.
    pub differs: Vec<Differs>,
    /// What no command can redo.
    pub cannot_redo: Vec<NotRedone>,
}

/// A published ratio beside a measured one; both are of rates, treatment over baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the comparison in the study.
    pub comparison: String,
    /// What was compared in the article.
    pub what: String,
    /// Ratio with the digits that were given.
    pub published_text: String,
    /// The same as a number.
    pub published: f64,
    /// Whether the article prints it; else it was recomputed.
    pub is_printed: bool,
    /// Ratio with its interval; `None` where there is none.
    pub measured: Option<Ratio>,
    /// Whether the published number lies in the measured interval; `None` without an interval.
    pub in_interval: Option<bool>,
    /// Why there is no measured ratio.
    pub reason: Option<String>,
}

/// What a report says of a study, as far as only its kind knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Here {
    /// Size of the data; empty where it says nothing.
    pub size: String,
    /// What its ratios are of.
    pub ratios_of: String,
}

/// One thing in which the published study and this one differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differs {
    /// `machine`, `engine`, `size`, `when`, `ratios of`.
    pub what: &'static str,
    /// There.
    pub published: String,
    /// Here.
    pub here: String,
}

/// What no command can redo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRedone {
    /// Name.
    pub what: String,
    /// Why.
    pub why: String,
}

/// The published study of the same name beside a study; `None` where there is none, or where nothing is compared in
/// both.
pub fn beside(facts: &Facts<'_>, here: &Here) -> Option<Beside> {
    let published = find(&facts.study.name).ok()?;
    (published.workload == facts.study.workload)
        .then(|| with(facts, &published, here))
        .filter(|found| !found.rows.is_empty())
}

/// A published study beside any other one, whatever its name.
pub fn with(facts: &Facts<'_>, published: &Published, here: &Here) -> Beside {
    let (mut rows, mut only_published) = (Vec::new(), Vec::new());
    let mut matched: Vec<&str> = Vec::new();
    for theirs in &published.comparisons {
        let meant = |ours: &&Comparison| is_meant(theirs, facts.study, facts.topology, ours);
        let mut sides: Vec<(&str, &[String])> = Vec::new();
        for ours in facts.study.comparisons.iter().filter(meant) {
            matched.push(&ours.name);
            // A study may have one comparison under two names.
            if !sides.contains(&(ours.treatment.as_str(), ours.baseline.as_slice())) {
                sides.push((&ours.treatment, &ours.baseline));
                rows.extend(row(facts, published, theirs, ours));
            }
        }
        if sides.is_empty() {
            only_published.push(name(theirs));
        }
    }
    let ours = facts.study.comparisons.iter();
    let ours = ours.filter(|one| one.kind != "baseline" && !matched.contains(&one.name.as_str()));
    let cannot_redo = published.cannot_redo().into_iter();
    Beside {
        name: published.name.clone(),
        rows,
        only_published,
        only_here: ours.map(|one| one.name.clone()).collect(),
        differs: differs(facts, published, here),
        cannot_redo: cannot_redo.map(|(what, why)| NotRedone { what, why: why.to_owned() }).collect(),
    }
}

/// A published comparison's name with what tells it from others of the name.
fn name(theirs: &threadwise_published::Comparison) -> String {
    theirs.says.as_ref().map_or_else(|| theirs.name.clone(), |says| format!("{} ({says})", theirs.name))
}

fn row(
    facts: &Facts<'_>,
    published: &Published,
    theirs: &threadwise_published::Comparison,
    ours: &Comparison,
) -> Option<Row> {
    let figure = published.figure(&theirs.figure)?;
    let number = figure.number()?;
    let measured = measured(facts, ours);
    let ends = measured.as_ref().ok().filter(|ratio| ratio.has_ends());
    Some(Row {
        comparison: ours.name.clone(),
        what: figure.what.clone(),
        published_text: figure.text(),
        published: number,
        is_printed: figure.is_printed(),
        in_interval: ends.map(|ratio| (ratio.low..=ratio.high).contains(&number)),
        reason: measured.as_ref().err().cloned(),
        measured: measured.ok(),
    })
}

/// The ratio of rates of a comparison, or why there is none.
fn measured(facts: &Facts<'_>, ours: &Comparison) -> Result<Ratio, String> {
    let headline = facts.analysis.headline();
    let mut all = facts.analysis.estimates.iter();
    match all.find(|estimate| estimate.metric == headline && estimate.name == ours.name) {
        Some(found) => match found.ratio.direction {
            Direction::HigherIsBetter => Ok(found.ratio.clone()),
            Direction::LowerIsBetter => Ok(found.ratio.inverse()),
            Direction::Neither => Err("the study's headline is neither a rate nor a time".to_owned()),
        },
        None => {
            let mut sides = std::iter::once(&ours.treatment).chain(&ours.baseline);
            let reason = sides
                .find_map(|side| first_reason(&facts.analysis.excluded_blocks, side, facts.group_of(side)));
            Err(reason.unwrap_or("no usable run").to_owned())
        }
    }
}

/// `2 packages × 8 cores × 2 threads`.
pub(super) fn counts(packages: usize, cores: usize, threads: usize) -> String {
    [counted(packages, "package"), counted(cores, "core"), counted(threads, "thread")].join(" × ")
}

fn differs(facts: &Facts<'_>, published: &Published, here: &Here) -> Vec<Differs> {
    let theirs = &published.machine;
    let there = [
        format!(
            "{}, {}",
            counts(
                theirs.packages as usize,
                theirs.cores_per_package as usize,
                theirs.threads_per_core as usize
            ),
            theirs.model
        ),
        published.engine.name.clone(),
        published.size.about.clone(),
        published.source.year.map_or("year not given".to_owned(), |year| format!("in {year}")),
        published.ratios_of.clone(),
    ];
    let ours = [
        machine(facts.topology),
        format!("{} {}", facts.study.engine, facts.engine_version).trim().to_owned(),
        if here.size.is_empty() { options(facts) } else { here.size.clone() },
        // RFC 3339: the date.
        facts.created_utc.get(..10).map_or("not known".to_owned(), |date| format!("on {date}")),
        here.ratios_of.clone(),
    ];
    let names = ["machine", "engine", "size", "when", "ratios of"];
    let pairs = names.into_iter().zip(there).zip(ours);
    pairs.map(|((what, published), here)| Differs { what, published, here }).collect()
}

/// Counts and model of this machine; cores of all packages together where packages differ.
fn machine(topology: &Topology) -> String {
    let (packages, cores) = (topology.packages.len().max(1), topology.cores.len());
    let threads = topology.max_threads_per_core();
    let words = match cores.is_multiple_of(packages) {
        true => counts(packages, cores / packages, threads),
        false => {
            let all = [counted(packages, "package"), counted(cores, "core"), counted(threads, "thread")];
            format!("{} with {} in all × {}", all[0], all[1], all[2])
        }
    };
    let model = topology.identity.cpu_model.as_deref().unwrap_or("processor not known");
    format!("{words}, {}", model.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Options of the workload that all treatments share, but for long ones.
fn options(facts: &Facts<'_>) -> String {
    let Some((first, rest)) = facts.study.treatments.split_first() else { return String::new() };
    let shared = first
        .options
        .iter()
        .filter(|(name, value)| rest.iter().all(|one| one.options.get(*name) == Some(value)));
    let parts: Vec<String> = shared.map(|(name, value)| format!("{name}={value}")).collect();
    let short: Vec<&str> = parts.iter().map(String::as_str).filter(|part| part.len() <= LONGEST).collect();
    match short.is_empty() {
        true => format!("defaults of {}", facts.study.workload),
        false => short.join(", "),
    }
}
