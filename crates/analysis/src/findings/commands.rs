//! What a study of commands says: the headline (elapsed time, or the metric that its user named), each
//! metric that stands out, CPU and memory, what has no ratio. Values of the baseline are those of it and
//! its twin together, which is what ratios are over.

use super::facts::Facts;
use super::finding;
use super::scaling::names;
use super::words::{bare, capital, count, group_words, judged, list, number, plural, scaled, shortened};
use crate::commands::{BUSY_CPUS, CPU, CPU_PER_UNIT, Commands, ELAPSED, MEMORY, Quantity};
use crate::{Estimate, Finding, Interval, TreatmentSummary};
use threadwise_study::command::Better;
use threadwise_study::{Role, Treatment};

/// Most treatments that one sentence tells of.
const MAX_SHOWN: usize = 4;

/// Most comparisons other than those with the baseline.
const MAX_OTHERS: usize = 6;

/// Most metrics that have a sentence of their own.
const MAX_METRICS: usize = 5;

/// Kept busy so many logical CPUs, a command that may use more works on one at a time.
const ONE_CPU: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// From so many busy logical CPUs on that are not the command's, somebody else was there.
const OTHERS_CPUS: f64 = 0.15;

/// All of it.
pub fn commands(facts: &Facts<'_>, commands: &Commands) -> Vec<Finding> {
    let Some(headline) = commands.headline() else { return Vec::new() };
    let mut findings = Vec::new();
    findings.extend(whole(facts, commands, headline, "command"));
    findings.extend(others(facts, headline, &["baseline"]));
    findings.extend(metrics(facts, commands, &[&headline.metric]));
    findings.extend(cost(facts, commands));
    findings.extend(gaps(commands));
    findings
}

/// The headline: the baseline's value and every treatment against it.
pub fn whole(facts: &Facts<'_>, commands: &Commands, quantity: &Quantity, kind: &str) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut sentences = Vec::new();
    for group in facts.study.groups() {
        let place = place(facts, group);
        let Some(base) = commands.baseline(group, &quantity.metric) else { continue };
        let name = baseline(facts, group).map(|own| placed(commands, own)).unwrap_or_default();
        let head = format!("{}{place}: {} on {name}.", title(quantity), value(quantity, base));
        let found = against_baseline(facts, group, &quantity.metric);
        let clauses =
            found.iter().map(|(own, estimate)| format!("{} {}", placed(commands, own), worded(estimate)));
        let clauses = limited(clauses.collect(), MAX_SHOWN);
        let clauses = clauses.map_or_else(String::new, |clauses| format!(" Against it: {clauses}."));
        sentences.push(head + &clauses);
        evidence.extend(found.into_iter().map(|(_, estimate)| estimate));
    }
    (!sentences.is_empty()).then(|| finding(kind, sentences.join(" "), &names(&evidence)))
}

/// Comparisons of the headline of other kinds than those that are reported, such as with the baseline.
pub fn others(facts: &Facts<'_>, headline: &Quantity, reported: &[&str]) -> Option<Finding> {
    let is_other = |estimate: &&Estimate| !reported.contains(&estimate.kind.as_str());
    let own: Vec<&Estimate> = facts.throughput().filter(is_other).collect();
    let clauses = own.iter().map(|estimate| format!("{} {}", estimate.name, worded(estimate)));
    let clauses = limited(clauses.collect(), MAX_OTHERS)?;
    Some(finding("asked", format!("Other ratios of {}: {clauses}.", headline.name), &names(&own)))
}

/// Metrics of the output that differ, a sentence each, and those that do not, but for what is `reported`
/// elsewhere.
pub fn metrics(facts: &Facts<'_>, commands: &Commands, reported: &[&str]) -> Vec<Finding> {
    let of_cost = [CPU, CPU_PER_UNIT, BUSY_CPUS, MEMORY];
    let is_reported = |metric: &str| reported.contains(&metric) || of_cost.contains(&metric);
    let rest: Vec<&Quantity> = commands.quantities.iter().filter(|own| !is_reported(&own.metric)).collect();
    // A tool that runs for a fixed time says nothing by its wall time: it is reported where it differs.
    let differs = |own: &&Quantity| effects(facts, &own.metric) > 0;
    let (loud, quiet): (Vec<&Quantity>, Vec<&Quantity>) = rest.iter().partition(|own| differs(own));
    let mut findings: Vec<Finding> =
        loud.iter().take(MAX_METRICS).filter_map(|own| differing(facts, commands, own)).collect();
    let more: Vec<String> = loud.iter().skip(MAX_METRICS).map(|own| own.name.clone()).collect();
    if !more.is_empty() {
        let text = format!("Also different: {}; see the table.", list(&more));
        findings.push(finding("metric", text, &[]));
    }
    let compared =
        |own: &&&Quantity| facts.analysis.estimates.iter().any(|estimate| estimate.metric == own.metric);
    let (tiny, same): (Vec<&Quantity>, Vec<&Quantity>) =
        quiet.iter().filter(compared).partition(|own| tiny(facts, &own.metric) > 0);
    let listed = |all: &[&Quantity]| list(&all.iter().map(|own| own.name.clone()).collect::<Vec<_>>());
    let clauses = [
        (!same.is_empty()).then(|| format!("No difference shown in {}.", listed(&same))),
        (!tiny.is_empty()).then(|| format!("Differences below 0.5% in {}.", listed(&tiny))),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    findings.extend((!clauses.is_empty()).then(|| finding("metric", clauses.join(" "), &[])));
    findings
}

/// One metric: its value on the baseline and what differs from it.
fn differing(facts: &Facts<'_>, commands: &Commands, quantity: &Quantity) -> Option<Finding> {
    let mut evidence = Vec::new();
    let text = sentences(facts, commands, quantity, &mut evidence)?;
    let kind = if quantity.is_said { "metric" } else { "elapsed" };
    Some(finding(kind, text, &names(&evidence)))
}

/// `tps (tx/s, higher is better): 478 [470, 486] on alone; two 1.92x [1.90, 1.95], better; no difference
/// shown in 1 other.`, a sentence a group.
fn sentences<'a>(
    facts: &Facts<'a>,
    commands: &Commands,
    quantity: &Quantity,
    evidence: &mut Vec<&'a Estimate>,
) -> Option<String> {
    let mut all = Vec::new();
    for group in facts.study.groups() {
        let Some(base) = commands.baseline(group, &quantity.metric) else { continue };
        let found = against_baseline(facts, group, &quantity.metric);
        let (shown, rest): (Vec<_>, Vec<_>) = found.iter().partition(|(_, estimate)| is_reported(estimate));
        let (tiny, not): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, estimate)| estimate.effect);
        let name = baseline(facts, group).map(|own| bare(&own.name)).unwrap_or_default();
        let mut parts = vec![format!("{} on {name}", value(quantity, base))];
        let clauses = shown.iter().map(|(own, estimate)| format!("{} {}", bare(&own.name), worded(estimate)));
        parts.extend(limited(clauses.collect(), MAX_SHOWN));
        let noun = if shown.is_empty() { "comparison" } else { "other" };
        for (words, some) in
            [("a difference below 0.5% in", tiny.len()), ("no difference shown in", not.len())]
        {
            parts.extend((some > 0).then(|| format!("{words} {}", plural(some as u32, noun))));
        }
        evidence.extend(shown.iter().map(|(_, estimate)| *estimate));
        all.push(format!("{}{}: {}.", title(quantity), place(facts, group), parts.join("; ")));
    }
    (!all.is_empty()).then(|| all.join(" "))
}

/// CPU of a run or of a unit of its work, how many logical CPUs that kept busy, and memory.
pub fn cost(facts: &Facts<'_>, commands: &Commands) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut clause_of = |quantity: Option<&Quantity>| sentences(facts, commands, quantity?, &mut evidence);
    let (cpu, memory) = (clause_of(commands.cpu()), clause_of(commands.quantity(MEMORY)));
    let not_compared = commands.cpu().is_none().then(|| {
        "CPU per run is not compared: all runs took about as long, and none says how much it did.".to_owned()
    });
    let text: Vec<String> =
        [cpu, busy(facts, commands), not_compared, memory].into_iter().flatten().collect();
    (!text.is_empty()).then(|| finding("cost", text.join(" "), &names(&evidence)))
}

/// `Logical CPUs kept busy: 0.99 of 1 on alone; 1.93 of 2 on two.`
fn busy(facts: &Facts<'_>, commands: &Commands) -> Option<String> {
    let summaries = facts.analysis.treatments.iter().zip(&commands.cpus);
    let known: Vec<(&TreatmentSummary, f64, u32)> = summaries
        .filter_map(|(own, cpus)| {
            let (_, treatment) = facts.study.treatment(&own.name)?;
            let figure = match treatment.role {
                Role::BaselineTwin => None,
                Role::Baseline => commands.baseline(&treatment.group, BUSY_CPUS),
                Role::Compared => own.metrics.get(BUSY_CPUS),
            };
            Some((own, figure?.mean, (*cpus)?))
        })
        .collect();
    let several: Vec<_> = known.iter().filter(|(.., cpus)| *cpus >= 2).collect();
    let most = several.iter().map(|(_, busy, _)| *busy).reduce(f64::max);
    if let Some(most) = most.filter(|most| ONE_CPU.contains(most))
        && !commands.is_per_session
        && !commands.has_server
        // A work list does several things at a time, and may wait for a disk with all of them.
        && facts.analysis.worklist.is_none()
        && several.iter().all(|(own, busy, cpus)| is_undisturbed(own, *busy, *cpus))
    {
        return Some(format!(
            "No placement kept more than {most:.2} logical CPUs busy: the command does one thing at a time, so \
             more of them cannot make it faster."
        ));
    }
    let clauses = known.iter().map(|(own, busy, cpus)| format!("{busy:.2} of {cpus} on {}", own.name));
    let server = if commands.has_server { ", server included" } else { "" };
    Some(format!("Logical CPUs kept busy{server}: {}.", limited(clauses.collect(), MAX_SHOWN)?))
}

/// Whether nobody else was busy on a treatment's own logical CPUs: a command that is kept from them keeps
/// fewer busy than it could.
fn is_undisturbed(own: &TreatmentSummary, busy: f64, cpus: u32) -> bool {
    let all = own.metrics.get("busy_share").map(|share| share.mean * f64::from(cpus));
    all.is_some_and(|all| all <= busy + OTHERS_CPUS)
}

/// Ratios that do not exist, with their reasons.
pub fn gaps(commands: &Commands) -> Option<Finding> {
    let lines = commands.gap_lines();
    let evidence: Vec<&str> = commands.gaps.iter().map(|gap| gap.comparison.as_str()).collect();
    (!lines.is_empty()).then(|| {
        let text = format!("No ratio, which needs numbers above 0 on both sides, of {}.", shortened(&lines));
        finding("not-measurable", text, &evidence)
    })
}

/// Treatments of a group with their ratio of a metric to the baseline.
fn against_baseline<'a>(facts: &Facts<'a>, group: &str, metric: &str) -> Vec<(&'a Treatment, &'a Estimate)> {
    let of_group = facts.study.treatments.iter().filter(|own| own.group == group);
    of_group
        .filter(|own| own.role == Role::Compared)
        .filter_map(|own| Some((own, facts.against_alone(own, metric)?)))
        .collect()
}

/// How many comparisons with the baseline a sentence tells of.
fn effects(facts: &Facts<'_>, metric: &str) -> usize {
    all_against_baseline(facts, metric).filter(|estimate| is_reported(estimate)).count()
}

/// How many of them are effects too small to tell.
fn tiny(facts: &Facts<'_>, metric: &str) -> usize {
    all_against_baseline(facts, metric).filter(|estimate| estimate.effect && !is_reported(estimate)).count()
}

fn all_against_baseline<'a>(facts: &Facts<'a>, metric: &str) -> impl Iterator<Item = &'a Estimate> {
    let all = facts.study.groups();
    let found: Vec<_> = all.iter().flat_map(|group| against_baseline(facts, group, metric)).collect();
    found.into_iter().map(|(_, estimate)| estimate)
}

/// An effect that does not round to 1.00x: a page more of memory in every run is one, and no news.
fn is_reported(estimate: &Estimate) -> bool {
    estimate.effect && (estimate.value - 1.0).abs() >= 0.005
}

fn baseline<'a>(facts: &Facts<'a>, group: &str) -> Option<&'a Treatment> {
    facts.study.treatments.iter().find(|own| own.group == group && own.role == Role::Baseline)
}

/// A ratio with what it means: `0.52x [0.51, 0.53], better`.
fn worded(estimate: &Estimate) -> String {
    let meaning = if estimate.effect { format!(", {}", estimate.meaning()) } else { String::new() };
    format!("{}{meaning}", judged(estimate))
}

/// `two (2c1t)`, `eight (8c1t, eight processes)`.
fn placed(commands: &Commands, treatment: &Treatment) -> String {
    let (name, placement) = (bare(&treatment.name), treatment.placement.trim());
    let mut about: Vec<String> = Vec::new();
    if name != placement {
        about.push(placement.to_owned());
    }
    if commands.is_per_session {
        let es = if treatment.sessions == 1 { "" } else { "es" };
        about.push(format!("{} process{es}", count(treatment.sessions)));
    }
    if about.is_empty() { name.to_owned() } else { format!("{name} ({})", about.join(", ")) }
}

/// A quantity at the start of a sentence, with what is better where nobody can know it.
fn title(quantity: &Quantity) -> String {
    if !quantity.is_said {
        return capital(&quantity.name);
    }
    let unit = (quantity.unit != "1").then_some(quantity.unit.as_str());
    let better = match quantity.better {
        Better::Higher => Some("higher is better"),
        Better::Lower => Some("lower is better"),
        Better::None => None,
    };
    match [unit, better].into_iter().flatten().collect::<Vec<&str>>().join(", ") {
        about if about.is_empty() => quantity.name.clone(),
        about => format!("{} ({about})", quantity.name),
    }
}

/// A value in units that people read, with its interval.
fn value(quantity: &Quantity, interval: &Interval) -> String {
    if quantity.is_said {
        return number(interval);
    }
    let mean = interval.mean.abs();
    match quantity.metric.as_str() {
        ELAPSED | CPU | CPU_PER_UNIT if mean >= 1e9 => scaled(interval, 1e9, " s"),
        CPU_PER_UNIT if mean < 1e6 => scaled(interval, 1e3, " µs"),
        ELAPSED | CPU | CPU_PER_UNIT => scaled(interval, 1e6, " ms"),
        MEMORY if mean >= GIB => scaled(interval, GIB, " GiB"),
        MEMORY => scaled(interval, GIB / 1024.0, " MiB"),
        _ => number(interval),
    }
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// ` inside L2`, or nothing where there is one group.
fn place(facts: &Facts<'_>, group: &str) -> String {
    match facts.study.groups().len() {
        0 | 1 => String::new(),
        _ => format!(" {}", group_words(facts.study, group)),
    }
}

/// The first few, and how many more; `None` without any.
fn limited(mut texts: Vec<String>, most: usize) -> Option<String> {
    let more = texts.len().saturating_sub(most);
    texts.truncate(most);
    texts.extend((more > 0).then(|| format!("{more} more in the table")));
    (!texts.is_empty()).then(|| texts.join("; "))
}
