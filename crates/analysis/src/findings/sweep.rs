//! Throughput against sessions: where it stops growing, and the cost of more sessions.

use crate::Facts;
use crate::choices;
use crate::estimate::THROUGHPUT;
use crate::findings::locality::filled;
use crate::groups::group_words;
use crate::words::{change_decisive, finding, judged_decisive};
use crate::{Estimate, Finding, FindingKind, Ratio};
use threadwise_document::numbers::count_word;
use threadwise_document::{Mark, Prose, prose};
use threadwise_study::{Role, Treatment};

/// The points of one group by number of sessions, including the baseline.
pub struct Sweep<'a> {
    /// Group name.
    pub group: &'a str,
    /// How it takes logical CPUs, if the group's sweep has two orders.
    order: Option<&'static str>,
    /// At least two.
    points: Vec<Point<'a>>,
}

/// One number of sessions.
struct Point<'a> {
    treatment: &'a Treatment,
    /// Against the baseline; `None` for the baseline itself.
    alone: Option<&'a Estimate>,
    /// Against the point before.
    step: Option<&'a Estimate>,
    /// p99 against the baseline.
    p99: Option<&'a Estimate>,
    /// Step latency against the point before.
    step_p99: Option<&'a Estimate>,
    /// Result of the step.
    growth: Growth,
}

/// Result of a step from one number of sessions to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    Grows,
    /// As good within the margin.
    Flat,
    /// Not decided, or not compared.
    Unclear,
    Falls,
}

impl Point<'_> {
    fn sessions(&self) -> u32 {
        self.treatment.sessions
    }
}

impl<'a> Sweep<'a> {
    /// Index of the point after which no step grows.
    fn last_growth(&self) -> usize {
        self.points.iter().rposition(|point| point.growth == Growth::Grows).unwrap_or(0)
    }

    /// The step that shows whether more sessions than that are of use; `None` at the last point.
    fn decisive(&self) -> Option<&Point<'a>> {
        self.points.get(self.last_growth() + 1)
    }

    /// Whether a treatment is one of the points.
    pub fn has(&self, treatment: &Treatment) -> bool {
        self.points.iter().any(|point| point.treatment.name == treatment.name)
    }

    /// Whether it takes both threads of a core before the next core, in contrast to another sweep.
    pub fn is_packed(&self) -> bool {
        self.order == Some("packed")
    }

    /// The number of sessions after which p99 rises by a larger factor than throughput, with that step's p99, if it is
    /// below the number chosen for throughput.
    pub fn for_latency(&self, chosen: u32) -> Option<(u32, Option<&'a Ratio>)> {
        let knee = self.latency_knee();
        let fewer = self.points.get(knee).map(Point::sessions).filter(|fewer| *fewer < chosen)?;
        let step = self.points.get(knee + 1).and_then(|next| next.step_p99);
        Some((fewer, step.map(|step| &step.ratio)))
    }

    /// The fewest sessions whose p99, like that of all larger numbers, is shown to be over twice the baseline's.
    pub fn p99_doubled(&self) -> Option<(u32, &'a Ratio)> {
        let doubled = |point: &Point<'a>| {
            let ratio = &point.p99?.ratio;
            (ratio.adjusted_low > 2.0).then_some((point.sessions(), ratio))
        };
        self.points.iter().rev().map_while(doubled).last()
    }

    /// Index of the last point before a step on which p99 rises by a larger factor than throughput: the point of most
    /// "power", throughput over delay (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
    /// computer communications", ICC 1979), with p99 as delay.
    fn latency_knee(&self) -> usize {
        let costs_more = |point: &Point<'_>| {
            let both = point.step_p99.zip(point.step);
            both.is_some_and(|(p99, step)| {
                p99.ratio.is_higher() && p99.ratio.adjusted_low > step.ratio.adjusted_high.max(1.0)
            })
        };
        let first = self.points.iter().position(costs_more).unwrap_or(self.points.len());
        first.saturating_sub(1).min(self.last_growth())
    }
}

/// The sweeps of all groups that have one, of at least two points besides the baseline.
pub fn sweeps<'a>(facts: &Facts<'a>) -> Vec<Sweep<'a>> {
    facts.study.groups().into_iter().flat_map(|group| of_group(facts, group)).collect()
}

fn of_group<'a>(facts: &Facts<'a>, group: &'a str) -> Vec<Sweep<'a>> {
    let all = choices::points(facts.study, group).into_iter();
    all.filter_map(|points| {
        let mut measured: Vec<Point<'a>> = Vec::new();
        for treatment in points.treatments {
            measured.extend(point(facts, treatment, measured.last()));
        }
        (measured.len() >= 3).then_some(Sweep { group, order: points.order, points: measured })
    })
    .collect()
}

/// Whether a study asks only how throughput grows: all that it compares are points of sweeps.
pub fn is_the_question(facts: &Facts<'_>, sweeps: &[Sweep<'_>]) -> bool {
    let mut compared = facts.study.treatments.iter().filter(|treatment| treatment.role == Role::Compared);
    !sweeps.is_empty() && compared.all(|treatment| sweeps.iter().any(|sweep| sweep.has(treatment)))
}

/// A point, if it was measured.
fn point<'a>(facts: &Facts<'a>, treatment: &'a Treatment, before: Option<&Point<'a>>) -> Option<Point<'a>> {
    if treatment.role != Role::Compared {
        let against = |metric: &str| facts.against(treatment, before?.treatment, metric);
        let (step, step_p99) = (against(THROUGHPUT), against("latency_ns_p99"));
        let growth = step.map_or(Growth::Unclear, growth_of);
        return Some(Point { treatment, alone: None, p99: None, step, step_p99, growth });
    }
    let alone = facts.against_alone(treatment, THROUGHPUT)?;
    let against_before = |metric: &str| {
        let before = before?.treatment;
        if before.role != Role::Compared {
            return facts.against_alone(treatment, metric);
        }
        facts.against(treatment, before, metric)
    };
    let step = against_before(THROUGHPUT);
    let growth = match (step, before.and_then(|before| before.alone)) {
        (Some(step), _) => growth_of(step),
        // Without a direct comparison only intervals that do not touch show a difference.
        (None, Some(before))
            if alone.ratio.is_different() && alone.ratio.adjusted_low > before.ratio.adjusted_high =>
        {
            Growth::Grows
        }
        (None, Some(before)) if alone.ratio.adjusted_high < before.ratio.adjusted_low => Growth::Falls,
        (None, _) => Growth::Unclear,
    };
    let p99 = facts.against_alone(treatment, "latency_ns_p99");
    Some(Point {
        treatment,
        alone: Some(alone),
        p99,
        step,
        step_p99: against_before("latency_ns_p99"),
        growth,
    })
}

fn growth_of(step: &Estimate) -> Growth {
    match step.ratio.mark() {
        Mark::Higher => Growth::Grows,
        Mark::Lower => Growth::Falls,
        Mark::Same => Growth::Flat,
        Mark::Undecided => Growth::Unclear,
    }
}

/// Where throughput stops growing, one sentence per group.
pub fn growth(facts: &Facts<'_>, sweeps: &[Sweep<'_>]) -> Option<Finding> {
    let named = facts.study.groups().len() > 1;
    let mut evidence: Vec<&str> = Vec::new();
    let mut sentences: Vec<Prose> = Vec::new();
    for sweep in sweeps {
        let mut place = sweep.order.map_or_else(String::new, |order| format!(" {order}"));
        if named {
            place.push_str(&format!(" {}", group_words(facts.study, sweep.group)));
        }
        sentences.push(sentence(facts, sweep, &place));
        evidence.extend(sweep.points.iter().filter_map(|point| Some(point.alone?.name.as_str())));
        evidence.extend(sweep.points.iter().filter_map(|point| Some(point.step?.name.as_str())));
    }
    let is_any = !sentences.is_empty();
    sentences.push("Intervals here are adjusted for all comparisons.".into());
    is_any.then(|| finding(FindingKind::Sweep, Prose::join(sentences, " "), &evidence))
}

fn sentence(facts: &Facts<'_>, sweep: &Sweep<'_>, place: &str) -> Prose {
    let last = &sweep.points[sweep.last_growth()];
    let Some(next) = sweep.decisive() else {
        let one = facts.alone("one");
        let reached =
            last.alone.map(|alone| prose!(" ({} of {})", &alone.ratio.decisive(), one)).unwrap_or_default();
        return prose!(
            "Throughput{} still grows at {} sessions{}, the largest number tested.",
            place,
            count_word(last.sessions()),
            reached
        );
    };
    // The first step of a sweep is the comparison with the baseline.
    let alone = next.alone.filter(|alone| next.step.is_none_or(|step| step.name != alone.name));
    // The step is taken from the data that are to show it, so its figures have the intervals that decide.
    let alone = alone.map(|alone| prose!("{} of {}", &alone.ratio.decisive(), facts.alone("one alone")));
    let step = next.step.map(|step| judged_decisive(&step.ratio));
    let figures = Prose::join(step.into_iter().chain(alone), "; ");
    let wait = match next.step_p99 {
        Some(p99) if p99.ratio.is_higher() => {
            prose!("; each waits longer: p99 {}", change_decisive(&p99.ratio))
        }
        Some(p99) => prose!("; p99 {}", change_decisive(&p99.ratio)),
        None => Prose::default(),
    };
    let at = filled(facts.topology, sweep.order, last.sessions());
    let at = at.map(|at| format!(" ({at})")).unwrap_or_default();
    let (fewer, more) =
        (format!("{}{at}", count_word(last.sessions())), Prose::from(count_word(next.sessions())));
    let verb = match next.growth {
        Growth::Falls => "do less than",
        Growth::Flat => "add nothing to",
        // No step after the last growth grows.
        Growth::Grows | Growth::Unclear => {
            return prose!(
                "Whether {} sessions{} do more than {} is not decided ({}){}.",
                more,
                place,
                fewer,
                figures,
                wait
            );
        }
    };
    prose!("{} sessions{} {} {} ({}){}.", more.capital(), place, verb, fewer, figures, wait)
}
