//! Commands: every run is a whole command; compared are elapsed time, CPU, memory and metrics of its output.
//!
//! Findings: the headline (elapsed time, or the metric that its user named), each metric that stands out, CPU and
//! memory, and missing ratios. Values of the baseline are those of it and its twin together, as in ratios.

pub mod sections;

use crate::commands::{
    BUSY_CPUS, CPU, CPU_PER_UNIT, Commands as CommandStudy, ELAPSED, FixedTime, MEMORY, Quantity, SAID,
    instead,
};
use crate::estimate::{ROWS_PER_JOULE, THROUGHPUT};
use crate::findings::trust;
use crate::groups::{bare, group_words};
use crate::kind::Kind;
use crate::queries::cut_short;
use crate::words::{fastest, finding, judged, judged_decisive, limited, list, names, shortened};
use crate::worklist::ITEM_S;
use crate::{Estimate, Facts, Finding, FindingKind, TreatmentSummary};
use sections::{better, place, value};
use threadwise_document::chart::ChartWords;
use threadwise_document::{Prose, Section, numbers, prose};
use threadwise_study::command::{self, COMMAND, Each};
use threadwise_study::{ComparisonKind, OptionValue, Role, Study, Treatment, version};

/// The kind.
pub struct Commands;

impl Kind for Commands {
    /// `runs_per_s`, `cpu_ns_per_run`; a metric of a command's output keeps the name that its user gave it.
    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        match (metric.strip_suffix("_per_row"), metric.strip_prefix(THROUGHPUT)) {
            _ if metric.starts_with(SAID) => metric.to_owned(),
            (Some(what), _) => format!("{what}_per_run"),
            _ if metric == ROWS_PER_JOULE => "runs_per_joule".to_owned(),
            (None, Some(rest)) => format!("runs_per_s{}", rest.replace("session", "process")),
            (None, None) => metric.to_owned(),
        }
    }

    fn turn(&self, _facts: &Facts<'_>) -> String {
        "runs its command once, to the end".to_owned()
    }

    fn method(&self, _facts: &Facts<'_>) -> Vec<Prose> {
        vec![method("command")]
    }

    fn scope(&self, study: &Study) -> Option<String> {
        Some(scope(study))
    }

    fn comparable(&self) -> &'static str {
        "Ratios may be compared side by side: each is of a command to itself. Times and metrics may be compared only where \
         command, input and machine are the same."
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(found) = measured(facts) else { return trust::nothing_found(facts, self) };
        trust::with_trust(facts, self, commands(facts, found))
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        facts.analysis.commands.as_ref().map_or_else(Vec::new, |found| sections::answers(facts, found))
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        facts
            .analysis
            .commands
            .as_ref()
            .map(|found| sections::all_treatments(facts, found))
            .into_iter()
            .collect()
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        ChartWords { rate: "s", ratio: "ratio", slice: "elapsed, s", sessions: facts.study.nouns().sessions }
    }
}

/// The findings, if any block is usable.
pub fn measured<'a>(facts: &Facts<'a>) -> Option<&'a CommandStudy> {
    facts.analysis.commands.as_ref().filter(|_| facts.analysis.blocks > 0)
}

/// The method if the work is runs of a command, or of a list of them.
pub fn method(what: &str) -> Prose {
    prose!(
        "A run of the {} is a whole run, so a block has one number for each treatment and two for the baseline, whose \
         logarithms are averaged, also in the baseline's own figures. The ratios of the headline are one family for \
         Holm's method; those of all other quantities together are another. Each quantity has its own noise floor. A \
         number of 0 or less has no ratio, and then the whole comparison has none, since leaving out the block would \
         leave out just the small values.",
        what
    )
}

/// Most treatments in one sentence.
const MAX_SHOWN: usize = 4;

/// Most comparisons other than those with the baseline.
const MAX_OTHERS: usize = 6;

/// Most metrics that have a sentence of their own.
const MAX_METRICS: usize = 5;

/// A command that keeps no more logical CPUs busy than this, although it may use more, works on one at a time.
const ONE_CPU: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// Smaller effects are not reported.
const TINY_SHARE: f64 = 0.005;

/// Number of logical CPUs kept busy by other processes from which they are reported.
const OTHERS_CPUS: f64 = 0.15;

/// All findings.
pub fn commands(facts: &Facts<'_>, commands: &CommandStudy) -> Vec<Finding> {
    let Some(headline) = commands.headline() else { return Vec::new() };
    let mut findings = Vec::new();
    findings.extend(match &commands.fixed_time {
        Some(fixed) => Some(not_judged(fixed)),
        None => whole(facts, commands, headline, FindingKind::Command),
    });
    findings.extend(others(facts, headline, &[ComparisonKind::Baseline, ComparisonKind::Version]));
    findings.extend(metrics(facts, commands, &[&headline.metric]));
    findings.extend(cost(facts, commands));
    findings.extend(gaps(commands));
    findings
}

/// Notes that durations which are the same everywhere are not compared, and what to do.
fn not_judged(fixed: &FixedTime) -> Finding {
    let text = prose!(
        "Not judged: every run takes {}, wherever it runs (medians of treatments differ by at most {}). The duration \
         of such a command says nothing: {}.",
        Prose::figure(numbers::nanoseconds(fixed.elapsed_ns)),
        Prose::figure(numbers::percent(fixed.spread_share)),
        instead()
    );
    finding(FindingKind::Command, text, &[])
}

/// The headline: the baseline's value and every treatment against it.
pub fn whole(
    facts: &Facts<'_>,
    commands: &CommandStudy,
    quantity: &Quantity,
    kind: FindingKind,
) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut sentences = Vec::new();
    for group in facts.study.groups() {
        let place = place(facts, group);
        let Some(base) = commands.baseline(group, &quantity.metric) else { continue };
        let name = baseline(facts, group).map(|treatment| placed(commands, treatment)).unwrap_or_default();
        sentences.push(prose!("{}{}: {} on {}.", title(quantity), place, base, name));
        let found = against_baseline(facts, group, &quantity.metric);
        let clauses = found
            .iter()
            .map(|(treatment, estimate)| prose!("{} {}", placed(commands, treatment), worded(estimate)));
        sentences.extend(limited(clauses, MAX_SHOWN).map(|clauses| prose!("Against it: {}.", clauses)));
        sentences.extend(best(facts, commands, quantity, group));
        evidence.extend(found.into_iter().map(|(_, estimate)| estimate));
    }
    (!sentences.is_empty()).then(|| finding(kind, Prose::join(sentences, " "), &names(&evidence)))
}

/// Which treatments of a group may be the best in the headline; `None` for another quantity, or if two are compared.
pub fn best(facts: &Facts<'_>, commands: &CommandStudy, quantity: &Quantity, group: &str) -> Option<Prose> {
    let is_headline = commands.headline().is_some_and(|headline| headline.metric == quantity.metric);
    let found = commands.fastest.iter().find(|found| is_headline && found.group == group)?;
    let word = if [ELAPSED, ITEM_S].contains(&quantity.metric.as_str()) { "fastest" } else { "best" };
    let place = if facts.study.groups().len() > 1 { group_words(facts.study, group) } else { String::new() };
    Some(fastest(found, word, &place, |name| bare(name).to_owned()))
}

/// Comparisons of the headline of other kinds than those already reported, such as with the baseline.
pub fn others(facts: &Facts<'_>, headline: &Quantity, reported: &[ComparisonKind]) -> Option<Finding> {
    let is_other = |estimate: &&Estimate| !reported.contains(&estimate.kind);
    let others: Vec<&Estimate> = facts.throughput().filter(is_other).collect();
    let clauses = others.iter().map(|estimate| prose!("{} {}", &estimate.name, worded(estimate)));
    let text = prose!("Other ratios of {}: {}.", &headline.name, limited(clauses, MAX_OTHERS)?);
    Some(finding(FindingKind::Asked, text, &names(&others)))
}

/// Metrics of the output that differ, one sentence each, and those that do not, without those `reported` elsewhere.
pub fn metrics(facts: &Facts<'_>, commands: &CommandStudy, reported: &[&str]) -> Vec<Finding> {
    let of_cost = [CPU, CPU_PER_UNIT, BUSY_CPUS, MEMORY];
    let is_reported = |metric: &str| reported.contains(&metric) || of_cost.contains(&metric);
    let rest: Vec<&Quantity> =
        commands.quantities.iter().filter(|quantity| !is_reported(&quantity.metric)).collect();
    // A tool that runs for a fixed time says nothing by its wall time: it is reported only if it differs.
    let differs = |quantity: &&Quantity| differences(facts, &quantity.metric).0 > 0;
    let (loud, quiet): (Vec<&Quantity>, Vec<&Quantity>) = rest.iter().partition(|quantity| differs(quantity));
    let mut findings: Vec<Finding> =
        loud.iter().take(MAX_METRICS).filter_map(|quantity| differing(facts, commands, quantity)).collect();
    let listed =
        |all: &[&Quantity]| list(&all.iter().map(|quantity| quantity.name.clone()).collect::<Vec<_>>());
    if let Some(more @ [_, ..]) = loud.get(MAX_METRICS..) {
        findings.push(finding(
            FindingKind::Metric,
            format!("Also different: {}; see the table.", listed(more)),
            &[],
        ));
    }
    let compared = |quantity: &&&Quantity| {
        facts.analysis.estimates.iter().any(|estimate| estimate.metric == quantity.metric)
    };
    let (tiny, same): (Vec<&Quantity>, Vec<&Quantity>) =
        quiet.iter().filter(compared).partition(|quantity| differences(facts, &quantity.metric).1 > 0);
    let clauses = [
        (!same.is_empty()).then(|| prose!("No difference shown in {}.", listed(&same))),
        (!tiny.is_empty()).then(|| prose!("Differences below {} in {}.", tiny_share(), listed(&tiny))),
    ];
    let text = Prose::join(clauses.into_iter().flatten(), " ");
    findings.extend((!text.is_empty()).then(|| finding(FindingKind::Metric, text, &[])));
    findings
}

/// One metric: its value on the baseline and what differs from it.
fn differing(facts: &Facts<'_>, commands: &CommandStudy, quantity: &Quantity) -> Option<Finding> {
    let mut evidence = Vec::new();
    let text = sentences(facts, commands, quantity, &mut evidence)?;
    let kind = if quantity.is_said { FindingKind::Metric } else { FindingKind::Elapsed };
    Some(finding(kind, text, &names(&evidence)))
}

/// `tps (tx/s, higher is better): 478 [470, 486] on alone; two 1.92x [1.90, 1.95], better; no difference shown in 1
/// other.`, one sentence per group.
fn sentences<'a>(
    facts: &Facts<'a>,
    commands: &CommandStudy,
    quantity: &Quantity,
    evidence: &mut Vec<&'a Estimate>,
) -> Option<Prose> {
    let mut all = Vec::new();
    for group in facts.study.groups() {
        let Some(base) = commands.baseline(group, &quantity.metric) else { continue };
        let found = against_baseline(facts, group, &quantity.metric);
        let (shown, rest): (Vec<_>, Vec<_>) = found.iter().partition(|(_, estimate)| is_reported(estimate));
        let tiny = rest.iter().filter(|(_, estimate)| estimate.ratio.is_different()).count();
        let name = baseline(facts, group).map(|treatment| bare(&treatment.name)).unwrap_or_default();
        let mut parts = vec![prose!("{} on {}", base, name)];
        let clauses = shown.iter().map(|(treatment, estimate)| {
            // It is reported because it differs: with the interval that decides.
            let ratio = judged_decisive(&estimate.ratio);
            prose!("{} {}, {}", bare(&treatment.name), ratio, estimate.ratio.meaning())
        });
        parts.extend(limited(clauses, MAX_SHOWN));
        let noun = if shown.is_empty() { "comparison" } else { "other" };
        let tiny_words = prose!("a difference below {} in", tiny_share());
        for (words, some) in [(tiny_words, tiny), ("no difference shown in".into(), rest.len() - tiny)] {
            parts.extend((some > 0).then(|| prose!("{} {}", words, numbers::counted(some, noun))));
        }
        evidence.extend(shown.iter().map(|(_, estimate)| *estimate));
        let parts = Prose::join(parts, "; ");
        all.push(prose!("{}{}: {}.", title(quantity), place(facts, group), parts));
    }
    (!all.is_empty()).then(|| Prose::join(all, " "))
}

/// CPU of a run or of a unit of its work, how many logical CPUs that kept busy, and memory.
pub fn cost(facts: &Facts<'_>, commands: &CommandStudy) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut clause_of = |quantity: Option<&Quantity>| sentences(facts, commands, quantity?, &mut evidence);
    let (cpu, memory) = (clause_of(commands.cpu()), clause_of(commands.quantity(MEMORY)));
    let not_compared = commands.cpu().is_none().then(|| {
        "CPU per run is not compared: all runs took about as long, and none reports how much it did.".into()
    });
    let text = Prose::join([cpu, busy(facts, commands), not_compared, memory].into_iter().flatten(), " ");
    (!text.is_empty()).then(|| finding(FindingKind::Cost, text, &names(&evidence)))
}

/// `Logical CPUs kept busy: 0.99 of 1 on alone; 1.93 of 2 on two.`
fn busy(facts: &Facts<'_>, commands: &CommandStudy) -> Option<Prose> {
    let summaries = facts.analysis.treatments.iter().zip(&commands.cpus);
    let known = summaries.filter_map(|(summary, cpus)| {
        let (_, treatment) = facts.study.treatment(&summary.name)?;
        let is_shown = treatment.role != Role::BaselineTwin;
        let busy = value(facts, commands, treatment, BUSY_CPUS).filter(|_| is_shown)?.mean;
        Some((summary, busy, (*cpus)?))
    });
    let known: Vec<(&TreatmentSummary, f64, u32)> = known.collect();
    let several: Vec<_> = known.iter().filter(|(.., cpus)| *cpus >= 2).collect();
    let most = several.iter().map(|(_, busy, _)| *busy).reduce(f64::max);
    if let Some(most) = most.filter(|most| ONE_CPU.contains(most))
        && !commands.is_per_session
        && !commands.has_server
        // A work list does several things at a time, and may wait for a disk with all of them.
        && facts.analysis.worklist.is_none()
        && several.iter().all(|(summary, busy, cpus)| is_undisturbed(summary, *busy, *cpus))
    {
        return Some(prose!(
            "No placement kept more than {} logical CPUs busy: the command does one thing at a time, so \
             more of them cannot make it faster.",
            figure(most)
        ));
    }
    let clauses = known
        .iter()
        .map(|(summary, busy, cpus)| prose!("{} of {} on {}", figure(*busy), *cpus, &summary.name));
    let server = if commands.has_server { ", server included" } else { "" };
    Some(prose!("Logical CPUs kept busy{}: {}.", server, limited(clauses, MAX_SHOWN)?))
}

/// Whether no other process was busy on a treatment's own logical CPUs: a command that is kept from them keeps fewer
/// busy than it could.
fn is_undisturbed(summary: &TreatmentSummary, busy: f64, cpus: u32) -> bool {
    let all = summary.metrics.get("busy_share").map(|share| share.mean * f64::from(cpus));
    all.is_some_and(|all| all <= busy + OTHERS_CPUS)
}

/// Missing ratios, with their reasons.
pub fn gaps(commands: &CommandStudy) -> Option<Finding> {
    let lines = commands.gap_lines();
    let evidence: Vec<&str> = commands.gaps.iter().map(|gap| gap.comparison.as_str()).collect();
    (!lines.is_empty()).then(|| {
        let text = prose!("No ratio (it needs numbers above 0 on both sides) of {}.", shortened(&lines));
        finding(FindingKind::NotMeasurable, text, &evidence)
    })
}

/// Treatments of a group with their ratio of a metric to the baseline.
fn against_baseline<'a>(facts: &Facts<'a>, group: &str, metric: &str) -> Vec<(&'a Treatment, &'a Estimate)> {
    let is_its = |one: &&Treatment| one.group == group && one.role == Role::Compared;
    let compared = facts.study.treatments.iter().filter(is_its);
    compared.filter_map(|one| Some((one, facts.against_alone(one, metric)?))).collect()
}

/// How many ratios of a metric to baselines are effects that are reported, and how many are too small.
fn differences(facts: &Facts<'_>, metric: &str) -> (usize, usize) {
    let groups = facts.study.groups();
    let all = groups.iter().flat_map(|group| against_baseline(facts, group, metric));
    let different = all.filter(|(_, estimate)| estimate.ratio.is_different());
    let (shown, tiny): (Vec<_>, Vec<_>) = different.partition(|(_, estimate)| is_reported(estimate));
    (shown.len(), tiny.len())
}

/// An effect that does not round to 1.00x: one more page of memory in every run is an effect that is not worth
/// reporting.
fn is_reported(estimate: &Estimate) -> bool {
    estimate.ratio.is_different() && (estimate.ratio.value - 1.0).abs() >= TINY_SHARE
}

fn tiny_share() -> Prose {
    Prose::figure(numbers::set_percent(TINY_SHARE))
}

fn baseline<'a>(facts: &Facts<'a>, group: &str) -> Option<&'a Treatment> {
    facts.study.treatments.iter().find(|one| one.group == group && one.role == Role::Baseline)
}

/// A ratio with its meaning: `0.52x [0.51, 0.53], better`.
fn worded(estimate: &Estimate) -> Prose {
    match estimate.ratio.is_different() {
        true => prose!("{}, {}", judged(estimate), estimate.ratio.meaning()),
        false => judged(estimate),
    }
}

/// `two (2c1t)`, `eight (8c1t, eight processes)`.
fn placed(commands: &CommandStudy, treatment: &Treatment) -> String {
    let (name, placement) = (bare(&treatment.name), treatment.placement.text.as_str());
    let mut about: Vec<String> = Vec::new();
    if name != placement {
        about.push(placement.to_owned());
    }
    if commands.is_per_session {
        let es = if treatment.sessions == 1 { "" } else { "es" };
        about.push(format!("{} process{es}", numbers::count_word(treatment.sessions)));
    }
    if about.is_empty() { name.to_owned() } else { format!("{name} ({})", about.join(", ")) }
}

/// A quantity at the start of a sentence, with the direction that is better unless it is obvious.
fn title(quantity: &Quantity) -> String {
    if !quantity.is_said {
        return numbers::capital(&quantity.name);
    }
    let unit = if quantity.unit == "1" { "" } else { &quantity.unit };
    let about: Vec<&str> = [unit, better(quantity)].into_iter().filter(|part| !part.is_empty()).collect();
    match about.as_slice() {
        [] => quantity.name.clone(),
        about => format!("{} ({})", quantity.name, about.join(", ")),
    }
}

/// How many logical CPUs were busy.
fn figure(busy: f64) -> Prose {
    Prose::figure(numbers::ratio(busy))
}

/// Longest command in the scope.
const MAX_COMMAND: usize = 80;

/// What is run: the command, and how many of it at once.
pub fn scope(study: &Study) -> String {
    let by_session =
        study.treatments.iter().any(|treatment| command::each(&treatment.options) == Each::Session);
    let each = if by_session { "one process per session" } else { "one process per treatment" };
    match version::commands(study) {
        Some([first, second]) => format!("{each} of A: {}; of B: {}", cut(&first), cut(&second)),
        None => format!("{each} of: {}", command_words(study)),
    }
}

/// The first command, cut to a length that fits a sentence.
pub fn command_words(study: &Study) -> String {
    let mut all = study.treatments.iter().filter_map(|treatment| treatment.options.get(COMMAND));
    cut(&all.next().map(OptionValue::to_string).unwrap_or_default())
}

fn cut(command: &str) -> String {
    cut_short(&command.replace('`', "'"), MAX_COMMAND)
}
