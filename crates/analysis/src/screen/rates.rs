//! Sessions at a rate: the throughput of more of them, on siblings, cores and packages.

use crate::advice::most_within;
use crate::choices::Axis;
use crate::diagnostics::neighbours;
use crate::estimate::THROUGHPUT;
use crate::findings::locality;
use crate::findings::looks::shows_hidden_siblings;
use crate::findings::smt::core_yield;
use crate::looks::states::LookState;
use crate::shape::Shape;
use crate::words::share;
use crate::{Answer, Estimate, Facts, Ratio, TreatmentSummary};
use threadwise_document::numbers::{self, count_word, set_percent};
use threadwise_document::screen::{BAR, ROWS};
use threadwise_document::{Cell, Column, Prose, Table, prose};
use threadwise_machine::placement::Locality;
use threadwise_study::{Role, Treatment, version};

/// Whether the study has answers and a table that are not those of rates.
fn is_of_another_kind(facts: &Facts<'_>) -> bool {
    facts.study.is_fixed_work() || facts.study.is_at_a_rate() || facts.study.vcpus().is_some()
}

/// Whether the baseline is one session alone, wherever an engine's service threads are.
fn is_one_alone(facts: &Facts<'_>) -> bool {
    facts.alone("").is_empty()
}

/// A comparison in words.
struct Words {
    /// Text before the ratio.
    head: &'static str,
    /// Text after it.
    over: &'static str,
    /// The question, if the answer is unknown.
    question: &'static str,
}

const CORES: Words =
    Words { head: "Two cores do", over: "the work of one", question: "two cores do more than one" };
const THREADS: Words = Words {
    head: "Both threads of a core do",
    over: "of what one does",
    question: "a core's second thread adds anything",
};
const PACKAGES: Words = Words {
    head: "Two packages do",
    over: "of what two cores of one do",
    question: "two packages do as much as two cores of one",
};

/// Sentences about two cores, a core's second thread and the levels of locality; empty for studies without such treatments, and
/// for other kinds.
pub fn answer(facts: &Facts<'_>) -> Vec<Prose> {
    let is_other = is_of_another_kind(facts);
    if is_other || facts.study.external.is_some() || !is_one_alone(facts) {
        return Vec::new();
    }
    let cores = |group: &str| facts.against_alone(facts.two_cores(group)?, THROUGHPUT);
    let threads = |group: &str| core_yield(facts, group);
    let packages = |group: &str| facts.shapes(group, Shape::CrossPackage, Shape::SamePackage, THROUGHPUT);
    // With levels of locality all sentences are of the group that the table shows: of several levels the largest is what
    // one can set, and comes first; one comes after what cores and threads do.
    let sentences = match locality::group(facts) {
        Some(group) => {
            let cores = |other: &str| if other == group { cores(other) } else { None };
            let threads = |other: &str| if other == group { threads(other) } else { None };
            let levels = locality::sentence(facts, group, judged);
            let (cores, threads) = (sentence(facts, &CORES, cores), sentence(facts, &THREADS, threads));
            match locality::levels(facts, group).len() {
                1 => [cores, threads, levels],
                _ => [levels, threads, cores],
            }
        }
        None => [
            sentence(facts, &CORES, cores),
            sentence(facts, &THREADS, threads),
            sentence(facts, &PACKAGES, packages),
        ],
    };
    sentences.into_iter().chain([hidden(facts)]).flatten().collect()
}

/// `Two cores do 1.87x [1.83, 1.91] the work of one inside L2, 1.83x [1.78, 1.87] with 35 MiB per session.` If no group
/// decides it: `Whether two cores do more than one is not known: 1.85x [0.85, 4.00].`
fn sentence<'a>(
    facts: &Facts<'a>,
    words: &Words,
    find: impl Fn(&str) -> Option<&'a Estimate>,
) -> Option<Prose> {
    let groups = facts.study.groups();
    let found: Vec<(&str, &Estimate)> =
        groups.iter().filter_map(|group| Some((*group, find(group)?))).collect();
    let is_open = |estimate: &Estimate| estimate.ratio.answer == Answer::Undecided;
    let is_all_open = found.iter().all(|(_, estimate)| is_open(estimate));
    if found.len() > MOST_IN_WORDS && !is_all_open {
        return extremes(facts, words, &found);
    }
    let clauses = found.iter().enumerate().map(|(at, (group, estimate))| {
        let place = facts.group_words(group);
        let space = if place.is_empty() { "" } else { " " };
        let over = if at == 0 && !is_all_open { format!(" {}", words.over) } else { String::new() };
        let open = if is_open(estimate) && !is_all_open { " (not decided)" } else { "" };
        prose!("{}{}{}{}{}", judged(&estimate.ratio), over, space, place, open)
    });
    let clauses = Prose::join(clauses, ", ");
    match (found.is_empty(), is_all_open) {
        (true, _) => None,
        (false, false) => Some(prose!("{} {}.", words.head, clauses)),
        (false, true) => Some(prose!("Whether {} is not known: {}.", words.question, clauses)),
    }
}

/// Groups that an answer has room for; of more the table has each.
const MOST_IN_WORDS: usize = 3;

/// `Two cores do 1.95x [1.90, 2.00] the work of one with l2, and 1.20x [1.10, 1.31] with llc: the highest and the lowest of
/// 10.` The intervals hold for all groups together; others may be as high, or as low.
fn extremes(facts: &Facts<'_>, words: &Words, found: &[(&str, &Estimate)]) -> Option<Prose> {
    let by_value = |one: &&(&str, &Estimate), other: &&(&str, &Estimate)| {
        one.1.ratio.value.total_cmp(&other.1.ratio.value)
    };
    let (most, least) = (found.iter().max_by(by_value)?, found.iter().min_by(by_value)?);
    Some(prose!(
        "{} {} {} with {}, and {} with {}: the highest and lowest figures of {}.",
        words.head,
        judged(&most.1.ratio),
        words.over,
        facts.level_words(most.0),
        judged(&least.1.ratio),
        facts.level_words(least.0),
        found.len()
    ))
}

/// A row for each group: the rate of one session, ratios of two, and what a neighbour leaves.
fn by_group<'a>(facts: &'a Facts<'a>, answer: &[Prose]) -> Option<Table> {
    let groups = facts.study.groups();
    if groups.len() <= MOST_IN_WORDS || !is_one_alone(facts) {
        return None;
    }
    let given = answer.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let ratio = |ratio: Option<&Ratio>| {
        ratio.map_or_else(Cell::none, |ratio| Cell::text(ratio_text(&ratio.decisive(), &given)))
    };
    let found = facts.analysis.found(neighbours::NEIGHBOURS.name);
    let seen = |name: &str, group: &str| found.and_then(|found| neighbours::estimate(found, name, group));
    let of_one = |group: &str| {
        let mut all = facts.study.treatments.iter();
        let one = all.find(|one| one.group == group && one.role == Role::Baseline)?;
        facts.analysis.treatments.iter().find(|summary| summary.name == one.name)
    };
    // A screen has room for some: the first, and those that the answer names.
    let is_named = |group: &&str| given.contains(&format!(" with {}", facts.level_words(group)));
    let named = groups.iter().filter(|group| is_named(group)).count();
    let mut others = ROWS.saturating_sub(named);
    let is_shown = |group: &&str| {
        is_named(group) || {
            let has_room = others > 0;
            others = others.saturating_sub(1);
            has_room
        }
    };
    let shown: Vec<&str> = groups.iter().copied().filter(is_shown).collect();
    let two = |group: &str| facts.two_cores(group).and_then(|name| facts.against_alone(name, THROUGHPUT));
    let one = |group: &str| {
        let declared = core_yield(facts, group).map(|estimate| &estimate.ratio);
        declared.or_else(|| seen(neighbours::OVER_ONE, group))
    };
    let left = |group: &str| seen(neighbours::LEFT, group);
    let heading = match shown.len() == groups.len() {
        true => String::new(),
        false => format!("{} of {}", shown.len(), groups.len()),
    };
    let mut columns = vec![Column::text(heading), Column::figure(facts.study.nouns().rate)];
    let mut rows: Vec<Vec<Cell>> = shown
        .iter()
        .map(|group| {
            let rate = of_one(group).and_then(|one| one.metrics.get(THROUGHPUT));
            vec![Cell::text(facts.level_words(group)), Cell::mean(rate)]
        })
        .collect();
    type Find<'f, 'a> = &'f dyn Fn(&str) -> Option<&'a Ratio>;
    let ratios: [(&str, Find<'_, 'a>); 3] = [
        ("two cores", &|group| two(group).map(|estimate| &estimate.ratio)),
        ("two on one core", &one),
        ("left beside a neighbour", &left),
    ];
    for (heading, find) in ratios {
        if shown.iter().all(|group| find(group).is_none()) {
            continue;
        }
        let column = Column::figure(heading);
        columns.push(if columns.len() == 2 { column } else { column.drop_at(1) });
        rows.iter_mut().zip(&shown).for_each(|(row, group)| row.push(ratio(find(group))));
    }
    Some(Table::new("", columns, rows))
}

/// `1.87x [1.83, 1.91]`, and whether it is the same.
fn judged(ratio: &Ratio) -> Prose {
    let ratio = ratio.decisive();
    match ratio.is_same() {
        true => prose!("{} ({})", &ratio, same(&ratio)),
        false => Prose::from(&ratio),
    }
}

fn same(ratio: &Ratio) -> String {
    format!("the same within {}", set_percent(ratio.margin))
}

/// Cost of others on the second threads of cores, if the system does not show these: of the table's group if that has one.
fn hidden(facts: &Facts<'_>) -> Option<Prose> {
    let costs = neighbours::claimed_costs(facts);
    let group = largest(facts).map(|(group, _)| group);
    let is_shown = |cost: &&neighbours::Cost<'_>| Some(cost.group) == group;
    if let Some(cost) = costs.iter().find(is_shown).or_else(|| costs.first()) {
        let words = facts.group_words(cost.group);
        let place = if is_shown(&cost) || words.is_empty() { String::new() } else { format!(" {words}") };
        let whole = cost
            .whole
            .map_or_else(Prose::default, |whole| prose!(": {} of this machine", &neighbours::lost(whole)));
        return Some(prose!(
            "{} {} of the time and took {}{} of its speed{}{}{}.",
            match facts.analysis.looks.as_ref().is_some_and(shows_hidden_siblings) {
                true => "Your CPUs are hyper-threads: others ran on the other thread",
                false => "Others ran on the other thread of a session's core",
            },
            &neighbours::share(cost.prevalence),
            if cost.is_corrected { "" } else { "at least " },
            &neighbours::lost(cost.left),
            place,
            whole,
            if cost.has_elsewhere { "" } else { " (the rest of the package is not excluded)" }
        ));
    }
    let looks = facts.analysis.looks.as_ref().filter(|looks| shows_hidden_siblings(looks))?;
    let others = looks.share(LookState::Neighbour)?;
    let seen = if others.has_ends() { Prose::from(others) } else { share(others.mean) };
    Some(prose!(
        "Your CPUs are hyper-threads: others ran on the other thread in {} of the looks. What that cost is not known.",
        seen
    ))
}

/// The treatments of one group: rate, ratio to the baseline and latency; `None` for other kinds of studies.
pub fn table<'a>(facts: &'a Facts<'a>, answer: &[Prose]) -> Option<Table> {
    let is_other = is_of_another_kind(facts);
    if is_other || facts.study.external.is_some() {
        return None;
    }
    if let Some(table) = by_group(facts, answer) {
        return Some(table);
    }
    let (group, members) = largest(facts)?;
    let shown: Vec<&TreatmentSummary> =
        members.into_iter().filter(|one| is_row(facts, one)).take(ROWS).collect();
    let most = shown.iter().filter_map(|one| Some(one.metrics.get(THROUGHPUT)?.mean)).fold(0.0, f64::max);
    let nouns = facts.study.nouns();
    let one = if is_one_alone(facts) { "one" } else { facts.baseline_label(group) };
    let bounded = bounded(facts, group);
    let given = answer.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let columns = vec![
        Column::text(facts.group_words(group)),
        Column::figure(nouns.rate),
        Column::text(format!("of {one}")),
        Column::text("").drop_at(1),
        Column::figure("p99").drop_at(2),
        Column::text("").drop_at(3),
    ];
    let rows = shown.into_iter().map(|summary| {
        let rate = summary.metrics.get(THROUGHPUT);
        let ratio = facts.ratio(&summary.name).map(|estimate| estimate.ratio.decisive());
        vec![
            Cell::text(named(facts, summary, group)),
            Cell::mean(rate),
            Cell::text(ratio.as_ref().map_or_else(|| "1.00x".to_owned(), |ratio| ratio_text(ratio, &given))),
            rate.map_or_else(Cell::none, |rate| Cell::Bar { share: rate.mean / most, columns: BAR }),
            Cell::mean(summary.metrics.get("latency_ns_p99")),
            Cell::text(
                bounded
                    .as_ref()
                    .and_then(|bounded| bounded.remark(&summary.name))
                    .or_else(|| Some(remark(ratio.as_ref()?, one)))
                    .unwrap_or_default(),
            ),
        ]
    });
    Some(Table::new("", columns, rows))
}

/// The group with the most treatments, of several the first; with several levels of locality that of the answer.
fn largest<'a>(facts: &Facts<'a>) -> Option<(&'a str, Vec<&'a TreatmentSummary>)> {
    let mut groups = facts.groups();
    if let Some(group) = locality::group(facts) {
        return groups.into_iter().find(|(other, _)| *other == group);
    }
    groups.reverse();
    groups.into_iter().max_by_key(|(_, members)| members.len())
}

/// The baseline once, and all measured treatments.
fn is_row(facts: &Facts<'_>, summary: &TreatmentSummary) -> bool {
    let role = facts.study.treatment(&summary.name).map(|(_, treatment)| treatment.role);
    role != Some(Role::BaselineTwin) && summary.metrics.contains_key(THROUGHPUT)
}

/// A ratio with its interval, unless the answer gives that.
fn ratio_text(ratio: &Ratio, given: &str) -> String {
    let whole = Prose::from(ratio).to_string();
    match given.contains(&whole) || !ratio.has_ends() {
        true => format!("{}x", numbers::ratio(ratio.value)),
        false => whole,
    }
}

/// Displayed name of a treatment.
pub(crate) fn named(facts: &Facts<'_>, summary: &TreatmentSummary, group: &str) -> String {
    let label = || facts.label(&summary.name, group).to_owned();
    let Some((_, treatment)) = facts.study.treatment(&summary.name) else { return summary.name.clone() };
    let mut all = facts.study.treatments.iter();
    let baseline = all.find(|one| one.role == Role::Baseline && one.group == group);
    let differs_in_memory = baseline.is_some_and(|baseline| baseline.memory != treatment.memory);
    if differs_in_memory || version::are_compared(facts.study) {
        return label();
    }
    match Shape::of(treatment) {
        Shape::Alone if is_one_alone(facts) => "one session".to_owned(),
        Shape::OneCpu => "two on one CPU".to_owned(),
        Shape::SameCore => "two on one core".to_owned(),
        Shape::SamePackage => match locality::of_package(facts.topology) {
            Some(Locality::SameNode) if facts.topology.llc_domains.len() > 1 => "two on two L3s".to_owned(),
            Some(Locality::SamePackage) => "two on two L3s and nodes".to_owned(),
            _ => "two on two cores".to_owned(),
        },
        Shape::SameL2 => "two on one L2".to_owned(),
        Shape::SameL3 => "two on one L3".to_owned(),
        Shape::CrossNode => "two in two nodes".to_owned(),
        Shape::CrossPackage => "two in two packages".to_owned(),
        Shape::Spread if is_only_count(facts, treatment) => match treatment.sessions {
            1 => "one session".to_owned(),
            more => format!("{} sessions", count_word(more)),
        },
        _ => label(),
    }
}

/// Whether no other treatment of the group has as many sessions spread over cores.
fn is_only_count(facts: &Facts<'_>, treatment: &Treatment) -> bool {
    let is_like = |other: &&Treatment| {
        other.group == treatment.group
            && other.sessions == treatment.sessions
            && Shape::of(other) == Shape::Spread
    };
    facts.study.treatments.iter().filter(is_like).count() == 1
}

/// The answer of a ratio, if it is not shown.
fn remark(ratio: &Ratio, one: &str) -> String {
    match ratio.answer {
        Answer::Undecided => "not decided".to_owned(),
        Answer::Equivalent | Answer::WithinMargin => same(ratio),
        Answer::Smaller => format!("less than {one}"),
        Answer::Larger | Answer::SizeOpen => String::new(),
    }
}

/// Which numbers of sessions are shown to keep a latency bound, as the advice tests it.
struct Bounded {
    bound: String,
    /// Treatments in test order, and how many of them keep it.
    candidates: Vec<String>,
    kept: usize,
}

/// `None` without a bound, or if the group has no choice of sessions.
fn bounded(facts: &Facts<'_>, group: &str) -> Option<Bounded> {
    let bound = numbers::nanoseconds(facts.asked.p99_ns?);
    let mut choices = facts.analysis.choices.iter();
    let choice = choices.find(|choice| choice.axis == Axis::Sessions && choice.group == group)?;
    let most = most_within(facts, choice)?;
    let candidates: Vec<String> = choice.candidates.iter().map(|one| one.treatment.clone()).collect();
    let last = most.and_then(|(most, _)| candidates.iter().position(|one| *one == most.treatment));
    Some(Bounded { bound, candidates, kept: last.map_or(0, |last| last + 1) })
}

impl Bounded {
    /// `None` for what is no candidate.
    fn remark(&self, treatment: &str) -> Option<String> {
        let at = self.candidates.iter().position(|one| one == treatment)?;
        Some(if at < self.kept { format!("within {}", self.bound) } else { "not shown".to_owned() })
    }
}
