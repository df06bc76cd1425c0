//! Words for the candidates of a choice.

use crate::choices::{Axis, Candidate, Choice};
use crate::groups::bare;
use crate::words::change_decisive;
use crate::{Direction, Facts};
use threadwise_document::numbers::{count_word, counted, percent, set_percent};
use threadwise_document::{Interval, Prose, prose};
use threadwise_machine::Pin;
use threadwise_study::{ComparisonKind, Role, Treatment, Workload};

/// Most candidates of a choice that gives the speed of each.
const FEW: usize = 4;

/// Order of advice. If SMT is the study's question it comes first.
const ORDER: [Axis; 8] = [
    Axis::Dop,
    Axis::Jobs,
    Axis::Sessions,
    Axis::Smt,
    Axis::Placement,
    Axis::Service,
    Axis::Memory,
    Axis::Pin,
];

/// A choice's name in JSON.
pub fn about(axis: Axis) -> &'static str {
    match axis {
        Axis::Sessions => "sessions",
        Axis::Smt => "smt",
        Axis::Placement => "placement",
        Axis::Service => "service",
        Axis::Memory => "memory",
        Axis::Pin => "pin",
        Axis::Dop => "dop",
        Axis::Jobs => "jobs",
    }
}

/// Heading before the answer.
pub fn heading(facts: &Facts<'_>, axis: Axis) -> String {
    match axis {
        Axis::Sessions => "Busy sessions to run".to_owned(),
        Axis::Smt => "Busy threads of a core for throughput".to_owned(),
        Axis::Dop => "Degree of parallelism to set".to_owned(),
        Axis::Jobs => "Jobs to run".to_owned(),
        Axis::Placement if binds_a_server(facts) => "Logical CPUs to bind the server to".to_owned(),
        Axis::Placement if facts.study.runs_whole() => "Logical CPUs to run it on".to_owned(),
        Axis::Placement => "Logical CPUs to place sessions on".to_owned(),
        Axis::Service => "Where to run the log writer and other service threads".to_owned(),
        Axis::Memory => "Where to keep memory".to_owned(),
        Axis::Pin => "How to bind sessions".to_owned(),
    }
}

/// The axes of a study's choices in the order in which they are advised on.
pub fn order(facts: &Facts<'_>) -> impl Iterator<Item = Axis> {
    // If SMT is switched, that is the question.
    let smt_first =
        facts.study.comparisons.iter().any(|comparison| comparison.kind == ComparisonKind::SmtOff);
    let mut order = ORDER.to_vec();
    order.sort_by_key(|axis| !(smt_first && *axis == Axis::Smt));
    let choices = &facts.analysis.choices;
    order.into_iter().filter(|axis| choices.iter().any(|choice| choice.axis == *axis))
}

/// The axis that the first advice is about.
pub fn first(facts: &Facts<'_>) -> Option<Axis> {
    order(facts).next()
}

/// Title of the axis of candidates in a chart.
pub fn axis(facts: &Facts<'_>, choice: &Choice) -> String {
    let words = match choice.axis {
        Axis::Sessions => "busy sessions",
        Axis::Smt => "busy threads of a core",
        Axis::Dop => "degree of parallelism",
        Axis::Jobs => "jobs",
        Axis::Placement if facts.study.runs_whole() => "logical CPUs",
        Axis::Placement => "logical CPUs of sessions",
        Axis::Service => "service threads",
        Axis::Memory => "memory",
        Axis::Pin => "binding of sessions",
    };
    words.to_owned()
}

/// A candidate on the axis of a chart.
pub fn tick(facts: &Facts<'_>, choice: &Choice, candidate: &Candidate) -> String {
    match choice.axis {
        Axis::Sessions => candidate.number.to_string(),
        _ => value(facts, choice, candidate).to_string(),
    }
}

/// The question, as it follows "not enough data to show".
pub fn question(facts: &Facts<'_>, choice: &Choice) -> String {
    let what = match choice.axis {
        Axis::Sessions => "how many busy sessions to run".to_owned(),
        Axis::Smt => "whether second threads of cores pay".to_owned(),
        Axis::Dop => "which degree of parallelism to set".to_owned(),
        Axis::Jobs => "how many jobs to run".to_owned(),
        Axis::Placement => "which logical CPUs to use".to_owned(),
        Axis::Service => "where to run service threads".to_owned(),
        Axis::Memory => "where to keep memory".to_owned(),
        Axis::Pin => "how to bind sessions".to_owned(),
    };
    match place(facts, choice).to_string() {
        place if place.is_empty() => what,
        place => format!("{what} {place}"),
    }
}

/// What distinguishes this choice from others of its axis; empty if there are no others.
pub fn place(facts: &Facts<'_>, choice: &Choice) -> Prose {
    let others = facts.analysis.choices.iter().filter(|other| other.axis == choice.axis && *other != choice);
    let mut by_place = false;
    for other in others {
        by_place |= other.place != choice.place || other.group == choice.group;
    }
    let mut parts: Vec<String> = Vec::new();
    if by_place {
        parts.push(placed(facts, choice));
    }
    parts.push(facts.group_words(&choice.group));
    parts.retain(|part| !part.is_empty());
    parts.join(" ").into()
}

fn placed(facts: &Facts<'_>, choice: &Choice) -> String {
    match choice.axis {
        Axis::Placement => {
            let number = choice.candidates.first().map_or(0, |one| one.number);
            match facts.study.workload == Workload::WorkList {
                true => format!("with {}", counted(number as usize, "job")),
                false => format!("for {}", counted(number as usize, "session")),
            }
        }
        Axis::Smt => format!("({})", choice.place),
        _ if choice.place.is_empty() => String::new(),
        _ => format!("on {}", choice.place),
    }
}

fn treatment<'a>(facts: &Facts<'a>, candidate: &Candidate) -> Option<&'a Treatment> {
    facts.study.treatment(&candidate.treatment).map(|(_, treatment)| treatment)
}

/// A candidate in words: a number, a placement, `near`.
pub fn value(facts: &Facts<'_>, choice: &Choice, candidate: &Candidate) -> Prose {
    let name = || bare(&candidate.treatment).to_owned();
    let worded = |words: fn(&Treatment) -> String| treatment(facts, candidate).map_or_else(name, words);
    match choice.axis {
        Axis::Sessions => count_word(candidate.number).into(),
        Axis::Dop | Axis::Jobs => candidate.number.to_string().into(),
        Axis::Smt if choice.candidates.first() == Some(candidate) => "one".into(),
        Axis::Smt => "both".into(),
        Axis::Placement => worded(|one| one.placement.text.clone()).into(),
        Axis::Service => {
            worded(|one| one.service.as_ref().map_or_else(String::new, ToString::to_string)).into()
        }
        Axis::Memory => worded(|one| one.memory.to_string()).into(),
        Axis::Pin => worded(|one| match one.pin {
            Pin::Each => "each to a logical CPU of its own".to_owned(),
            Pin::Set => "all to the whole set".to_owned(),
        })
        .into(),
    }
}

/// Whether a study binds a server that runs anyway.
pub fn binds_a_server(facts: &Facts<'_>) -> bool {
    facts.study.treatments.iter().any(|treatment| treatment.options.contains_key("pin_server"))
}

/// The advised candidate, and whether more may be better still.
pub fn answer(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    if choice.axis == Axis::Placement && binds_a_server(facts) && choice.candidates.first() == Some(chosen) {
        return prose!("leave it on {}", value(facts, choice, chosen));
    }
    let more = if is_most_tried(choice, chosen) { " or more" } else { "" };
    prose!("{}{}", value(facts, choice, chosen), more)
}

/// Whether the largest number tested is better than all smaller ones, so that a larger one may be better still.
pub fn is_most_tried(choice: &Choice, chosen: &Candidate) -> bool {
    let is_number = matches!(choice.axis, Axis::Sessions | Axis::Dop | Axis::Jobs);
    let near = choice.candidates.iter().filter(|one| one.within_margin).count();
    is_number && choice.candidates.last() == Some(chosen) && near == 1
}

/// The heading, with what distinguishes the choice from others.
pub fn headed(facts: &Facts<'_>, choice: &Choice) -> String {
    let heading = heading(facts, choice.axis);
    match place(facts, choice).to_string() {
        place if place.is_empty() => heading,
        place => format!("{heading} {place}"),
    }
}

/// A decided choice of anything but sessions and threads.
pub fn line(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let answer = answer(facts, choice, chosen);
    let rest = match choice.axis {
        Axis::Dop | Axis::Jobs => of_numbers(facts, choice, chosen),
        _ => beside(facts, choice, chosen),
    };
    let mut text = prose!("{}: {}{}", headed(facts, choice), answer, rest);
    if choice.axis == Axis::Dop {
        text.push(of_node(facts, chosen));
        text.push(cpu(facts, chosen));
    }
    text.push(".");
    text
}

/// `, the fewest that are shown to be within 3% of the best of one to eight; 7.8x [7.6, 8.0] of one`.
pub fn of_numbers(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let (first, last) = match (choice.candidates.first(), choice.candidates.last()) {
        (Some(first), Some(last)) => (first, last),
        _ => return Prose::default(),
    };
    let least = match choice.axis {
        Axis::Dop => "the smallest that is",
        _ => "the fewest that are",
    };
    let as_good = choice.candidates.iter().rfind(|one| one.within_margin && *one != chosen);
    let up_to = as_good
        .map_or_else(Prose::default, |most| prose!(" (up to {} do as much)", value(facts, choice, most)));
    let tried = match is_most_tried(choice, chosen) {
        true => ", the largest number tested".into(),
        false => prose!(
            "{}, {} shown to be within {} of the best of {} to {}",
            up_to,
            least,
            Prose::figure(set_percent(facts.study.design.margin)),
            value(facts, choice, first),
            value(facts, choice, last)
        ),
    };
    match times(facts, chosen, first) {
        Some(times) => prose!("{}; {} of {}", tried, times, value(facts, choice, first)),
        None => tried,
    }
}

/// How many times the first's speed: with the interval that decides, where the study compares the two.
pub fn times(facts: &Facts<'_>, candidate: &Candidate, first: &Candidate) -> Option<Prose> {
    let speed = candidate.speed.as_ref()?;
    let named = |name: &str| facts.study.treatments.iter().find(|treatment| treatment.name == name);
    let pair = named(&candidate.treatment).zip(named(&first.treatment));
    let headline = facts.analysis.headline();
    let compared = pair.and_then(|(treatment, other)| match other.role {
        Role::Baseline => facts.against_alone(treatment, headline),
        _ => facts.against(treatment, other, headline),
    });
    // A ratio of times is not one of speeds.
    Some(match compared.filter(|estimate| estimate.ratio.direction == Direction::HigherIsBetter) {
        Some(estimate) => (&estimate.ratio.decisive()).into(),
        None => (&Interval { unit: "ratio".to_owned(), ..speed.clone() }).into(),
    })
}

/// How the candidates of a choice without numbers compare to the first.
fn beside(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let margin = Prose::figure(set_percent(facts.study.design.margin));
    let as_good = choice.candidates.iter().filter(|one| one.within_margin && *one != chosen);
    let as_good: Vec<Prose> = as_good.map(|one| value(facts, choice, one)).collect();
    let mut text = match as_good.is_empty() {
        true => Prose::default(),
        false => prose!(" ({} as good within {})", Prose::list(as_good), margin),
    };
    let Some(first) = choice.candidates.first().filter(|_| choice.candidates.len() <= FEW) else {
        return text;
    };
    let others = choice
        .candidates
        .iter()
        .filter_map(|one| Some(prose!("{} {}", value(facts, choice, one), times(facts, one, first)?)));
    let others: Vec<Prose> = others.collect();
    if !others.is_empty() {
        text.push(prose!("; {} of {}", Prose::list(others), value(facts, choice, first)));
    }
    text
}

/// A degree of parallelism as a percentage of a node's physical cores.
fn of_node(facts: &Facts<'_>, chosen: &Candidate) -> Prose {
    let topology = facts.topology;
    let node = topology.numa_nodes.iter().find(|node| !node.cpus.is_empty());
    let Some(node) = node else { return Prose::default() };
    let cores =
        topology.cores.iter().filter(|core| core.cpus.iter().any(|cpu| node.cpus.contains(cpu))).count();
    if cores == 0 {
        return Prose::default();
    }
    let share = f64::from(chosen.number) / cores as f64;
    let cores = counted(cores, "physical core");
    prose!("; {} of a node's {}", Prose::figure(percent(share)), cores)
}

/// CPU cost of a degree of parallelism against the baseline.
fn cpu(facts: &Facts<'_>, chosen: &Candidate) -> Prose {
    let queries = facts.analysis.queries.as_ref();
    let found = queries.and_then(|queries| {
        let mut all = queries.treatments.iter();
        all.find(|one| one.treatment == chosen.treatment)?.total.ratios.cpu.as_ref()
    });
    found.map_or_else(Prose::default, |cpu| {
        prose!("; CPU against {} {}", facts.common_baseline(), change_decisive(cpu))
    })
}
