//! What a study of work lists says: seconds per item by number of jobs, where more jobs stop to help, both
//! threads of every core against one, what the end of the list leaves idle, and what another schedule would
//! have taken.

use crate::Facts;
use crate::commands::{Commands, ELAPSED, IDLE_SHARE};
use crate::estimate::Guess;
use crate::findings::smt;
use crate::kinds::command::findings::{best, command_words, cost, gaps, metrics, others, whole};
use crate::words::{answered, finding, judged_decisive, likely};
use crate::worklist::series::{between, joint};
use crate::worklist::{Computed, ITEM_S, Point, Series, Step, Worklist};
use crate::{Estimate, Finding, Ratio};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::words::bytes;
use threadwise_study::Study;
use threadwise_study::worklist::{Feed, MAX_SPANS, Order, WorklistOptions};

/// Kinds of comparisons that sentences of their own tell of.
const REPORTED_KINDS: [&str; 3] = ["baseline", "jobs-step", "smt-whole"];

/// All of it.
pub fn worklist(facts: &Facts<'_>, commands: &Commands, list: &Worklist) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(item_s(facts, commands, list));
    findings.extend(steps(facts, list));
    findings.extend(placements(facts, list));
    findings.extend(idle(list));
    findings.extend(schedules(facts, list));
    if let Some(headline) = commands.headline() {
        // Treatments that differ in jobs and placement at once are neither steps nor pairs.
        let is_reported = !list.pairs.is_empty() || list.series.iter().any(|series| !series.steps.is_empty());
        findings.extend(match headline.metric == ITEM_S && is_reported {
            true => others(facts, headline, &REPORTED_KINDS),
            false => whole(facts, commands, headline, "command"),
        });
        findings.extend(metrics(facts, commands, &[ITEM_S, IDLE_SHARE, ELAPSED, &headline.metric]));
    }
    findings.extend(cost(facts, commands));
    findings.extend(gaps(commands));
    findings
}

/// The point after which no step gains.
fn knee(series: &Series) -> usize {
    series.steps.iter().rposition(|step| step.speed.as_ref().is_some_and(gains)).map_or(0, |step| step + 1)
}

/// ` on all`; of a series that its schedule alone tells from others, `, one queue, as given`.
fn place(series: &Series) -> String {
    match series.label.starts_with(&series.placement) {
        true => format!(" on {}", series.label),
        false => format!(", {}", series.label),
    }
}

fn gains(speed: &Ratio) -> bool {
    speed.is_higher()
}

/// Seconds per item with the fewest jobs and with as many as were of use.
fn item_s(facts: &Facts<'_>, commands: &Commands, list: &Worklist) -> Option<Finding> {
    let with = |point: &Point| prose!("{} with {}", &point.item_s_joint, jobs(point.jobs));
    let sentence = |series: &Series| {
        let (first, last) = (series.points.first()?, series.points.get(knee(series))?);
        let total = |point: &Point| {
            let total = point.total_s_joint.as_ref().map(|total| prose!(" (the list {})", total));
            total.unwrap_or_default()
        };
        let start = prose!("{}{}", with(first), place(series));
        Some(match last.jobs == first.jobs {
            true => prose!("{}{}", start, total(first)),
            false => prose!("{}, {}{}", start, with(last), total(last)),
        })
    };
    let all = Prose::join(list.series.iter().filter_map(sentence), "; ");
    let items = list.items.map(|items| format!(", {}", numbers::counted(items as usize, "item")));
    let names: Vec<&str> =
        list.series.iter().flat_map(|series| &series.points).map(|point| point.treatment.as_str()).collect();
    (!all.is_empty()).then(|| {
        let items = items.unwrap_or_default();
        let mut text = prose!("Seconds per item (recipe {}{}): {}.", &list.recipe, items, all);
        let quantity = commands.headline().filter(|headline| headline.metric == ITEM_S);
        for group in facts.study.groups() {
            let best = quantity.and_then(|quantity| best(facts, commands, quantity, group));
            text.push(best.map_or_else(Prose::default, |best| prose!(" {}", best)));
        }
        finding("worklist", text, &names)
    })
}

/// From each number of jobs to the next, and where that stops to help.
fn steps(facts: &Facts<'_>, list: &Worklist) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut sentences = Vec::new();
    for series in list.series.iter().filter(|series| !series.steps.is_empty()) {
        let clauses = series.steps.iter().filter_map(|step| {
            Some(prose!("from {} to {} {}", step.from, step.to, judged_decisive(step.speed.as_ref()?)))
        });
        let clauses = Prose::join(clauses, "; ");
        if clauses.is_empty() {
            continue;
        }
        let end = end(facts, series);
        sentences.push(prose!("Speed by number of jobs{}: {}. {}", place(series), clauses, end));
        let points = series.points.windows(2);
        evidence.extend(points.filter_map(|pair| name(facts, &pair[1].treatment, &pair[0].treatment)));
    }
    let is_any = !sentences.is_empty();
    sentences.push("Intervals of steps are adjusted for all comparisons.".into());
    is_any.then(|| finding("jobs-step", Prose::join(sentences, " "), &evidence))
}

/// What the first step behind the knee shows.
fn end(facts: &Facts<'_>, series: &Series) -> String {
    let Some(Step { from, to, speed }) = series.steps.get(knee(series)) else {
        let most = series.points.last().map_or(0, |point| point.jobs);
        return format!("Speed still grows at {}, the most that were tried.", jobs(most));
    };
    match speed {
        Some(speed) if speed.is_lower() => format!("{} are slower than {from}.", jobs(*to)),
        Some(speed) if speed.is_same() => {
            let margin = numbers::set_percent(facts.study.design.margin);
            format!("{} add nothing to {from} (within {margin}).", jobs(*to))
        }
        _ => match speed.as_ref().and_then(|speed| Some((Guess::of(speed)?, speed.margin))) {
            Some((guess, margin)) => {
                let best = if guess.is_above { to } else { from };
                let likely = likely(guess, &jobs(*to), margin);
                format!(
                    "Whether {} do more than {from} is not decided; best guess {best} ({likely}).",
                    jobs(*to)
                )
            }
            None => format!("Whether {} do more than {from} is not decided.", jobs(*to)),
        },
    }
}

/// Both threads of every core against one, and other placements beside each other; where there is no SMT,
/// that there is none to compare.
fn placements(facts: &Facts<'_>, list: &Worklist) -> Vec<Finding> {
    let mut sides: Vec<(&str, &str)> = Vec::new();
    let pairs = || list.pairs.iter().filter(|pair| pair.kind == "placement");
    for pair in pairs() {
        let side = (label(list, &pair.treatment), label(list, &pair.baseline));
        if !sides.contains(&side) {
            sides.push(side);
        }
    }
    let sentence = |(top, under): (&str, &str)| {
        let of_sides = pairs()
            .filter(|pair| (label(list, &pair.treatment), label(list, &pair.baseline)) == (top, under));
        let (mut clauses, mut evidence) = (Vec::new(), Vec::new());
        for pair in of_sides {
            clauses.push(prose!("with {} {}", jobs(pair.jobs), judged(&pair.speed)));
            evidence.extend(name(facts, &pair.treatment, &pair.baseline));
        }
        let (kind, what) = match (top, under) {
            ("all", "no-smt") => ("smt-whole", "Both threads of every core against one of each".to_owned()),
            _ => ("asked", format!("Speed of {top} over {under}")),
        };
        finding(kind, prose!("{}: {}.", what, Prose::join(clauses, "; ")), &evidence)
    };
    let mut found: Vec<Finding> = sides.into_iter().map(sentence).collect();
    let is_without = |line: &String| line.starts_with("no-smt: ") || line.starts_with("all: ");
    if !found.iter().any(|finding| finding.kind == "smt-whole") && facts.study.left_out.iter().any(is_without)
    {
        found.push(smt::not_measured(facts));
    }
    found
}

/// What jobs had nothing left to do.
fn idle(list: &Worklist) -> Option<Finding> {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for series in &list.series {
        let mut clauses = Vec::new();
        for point in series.points.iter().filter(|point| point.jobs > 1) {
            let Some(share) = &point.idle_share else { continue };
            clauses.push(prose!("{} with {}", share, jobs(point.jobs)));
            names.push(point.treatment.as_str());
        }
        all.extend((!clauses.is_empty()).then(|| prose!("{}{}", Prose::list(clauses), place(series))));
    }
    (!all.is_empty()).then(|| {
        let text = prose!(
            "Share of their time in which jobs had nothing left to do at the end: {}.",
            Prose::join(all, "; ")
        );
        finding("idle-tail", text, &names)
    })
}

/// Other schedules: those that were run, and those that are computed.
fn schedules(facts: &Facts<'_>, list: &Worklist) -> Vec<Finding> {
    let pairs = || list.pairs.iter().filter(|pair| pair.kind == "schedule");
    let mut sides: Vec<(&str, u32)> = Vec::new();
    for pair in pairs() {
        let side = (label(list, &pair.baseline), pair.jobs);
        if !sides.contains(&side) {
            sides.push(side);
        }
    }
    let sentence = |side: &(&str, u32)| {
        let same = pairs().filter(|pair| (label(list, &pair.baseline), pair.jobs) == *side);
        let clauses = same.map(|pair| prose!("{} {}", label(list, &pair.treatment), judged(&pair.speed)));
        let clauses = Prose::join(clauses, "; ");
        prose!("Speed of schedules over {}, with {}: {}.", side.0, jobs(side.1), clauses)
    };
    let text = Prose::join(sides.iter().map(sentence), " ");
    let evidence: Vec<&str> =
        pairs().filter_map(|pair| name(facts, &pair.treatment, &pair.baseline)).collect();
    let measured = (!text.is_empty()).then(|| finding("schedule", text, &evidence));
    let computed = if measured.is_some() { None } else { computed(facts, list) };
    measured.into_iter().chain(computed).collect()
}

fn computed(facts: &Facts<'_>, list: &Worklist) -> Option<Finding> {
    let several = |series: &&Series| series.points.iter().any(|point| point.jobs > 1);
    let mut names = Vec::new();
    let mut clauses = Vec::new();
    for series in list.series.iter().filter(several) {
        // As many jobs as were of use; where that is one, the fewest of which there is a schedule.
        let points = || series.points.iter().filter(|point| !point.computed.is_empty());
        let best = series.points.get(knee(series)).filter(|point| !point.computed.is_empty());
        let Some(point) = best.or_else(|| points().next()) else { continue };
        // The point is chosen by its figures, so the interval holds for all points together.
        let blocks = facts.summary(&point.treatment).map_or(0, |summary| summary.runs);
        let family = (1.0 - facts.level(), series.points.len());
        let schedule = |computed: &Computed| {
            let ratio = joint(&computed.ratio, blocks, family).scaled(1.0, "ratio");
            prose!("{} ({})", &ratio, &computed.schedule)
        };
        let each = Prose::list(point.computed.iter().map(schedule).collect());
        clauses.push(prose!("with {}{} {}", jobs(point.jobs), place(series), each));
        names.push(point.treatment.as_str());
    }
    if !clauses.is_empty() {
        let text = prose!(
            "Time of other schedules over the one that was run, computed from each item's time and not run: {}.",
            Prose::join(clauses, "; ")
        );
        return Some(finding("schedule", text, &names));
    }
    list.series.iter().find(several)?;
    let why = match list.items {
        Some(items) if (items as usize) < MAX_SPANS => "no run reported the times of its items".to_owned(),
        _ => format!("of lists of {MAX_SPANS} items and more not every item's time is kept"),
    };
    let text = format!("What another schedule would have taken is not computed: {why}.");
    Some(finding("not-measurable", text, &[]))
}

/// `1 job`, `8 jobs`.
fn jobs(jobs: u32) -> String {
    numbers::counted(jobs as usize, "job")
}

/// The series of a treatment.
fn label<'a>(list: &'a Worklist, treatment: &'a str) -> &'a str {
    let has = |series: &&Series| series.points.iter().any(|point| point.treatment == treatment);
    list.series.iter().find(has).map_or(treatment, |series| &series.label)
}

/// The estimate that a speed comes from, by name.
fn name<'a>(facts: &Facts<'a>, top: &str, under: &str) -> Option<&'a str> {
    let ((_, top), (_, under)) = facts.study.treatment(top).zip(facts.study.treatment(under))?;
    let (comparison, _) = between(facts.study, top, under)?;
    let is_own = |estimate: &&Estimate| estimate.metric == ITEM_S && estimate.name == comparison.name;
    facts.analysis.estimates.iter().find(is_own).map(|estimate| estimate.name.as_str())
}

/// `1.83x [1.80, 1.86]`; where no difference is shown, that, and why where the interval alone would show one.
fn judged(speed: &Ratio) -> Prose {
    prose!("{}{}", speed, answered(speed))
}

/// What is done for which items, and how, as far as it is the same for all treatments.
pub fn scope(study: &Study) -> Option<String> {
    let all: Vec<WorklistOptions> = study
        .treatments
        .iter()
        .filter_map(|treatment| WorklistOptions::read(&treatment.options).ok())
        .collect();
    let first = all.first()?;
    let alike =
        |is: fn(&WorklistOptions, &WorklistOptions) -> bool| all.iter().all(|options| is(options, first));
    let recipe = match &first.command {
        Some(_) => format!("for each item: {}", command_words(study)),
        None => format!("recipe {}", first.recipe),
    };
    let list = match &first.list {
        Some(_) => "a list of yours".to_owned(),
        None if first.recipe == "noop" => format!("{} numbers", first.files),
        // What was made may be more: an engine's smallest database has a size.
        None => format!("{} made items ({} asked for)", first.files, bytes(first.total_bytes)),
    };
    let order = alike(|options, first| options.order == first.order).then_some(match first.order {
        Order::Given => "in the order of the list",
        Order::Largest => "the largest first",
        Order::Shuffled => "in an order drawn for each block",
    });
    let feed = alike(|options, first| options.feed == first.feed).then_some(match first.feed {
        Feed::Queue => "one queue",
        Feed::Split => "fixed parts",
    });
    let cold = alike(|options, first| options.cold == first.cold).then_some(match first.cold {
        true => "put out of the page cache before each run",
        false => "as the run before left the page cache",
    });
    let how = [order, feed, cold].into_iter().flatten().map(str::to_owned);
    Some([recipe, list].into_iter().chain(how).collect::<Vec<String>>().join(", "))
}
