//! The answer: each statement's ratio of times a call, judged with all others.

use super::episodes::By;
use super::plan::{Design, MIN_TRIPLES, Plan};
use super::sums::{Series, Sums};
use crate::estimate::{Rule, judge, means};
use crate::{Answer, Direction, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_observed::{Interval, Neighbours, StatementText};
use threadwise_statistics::{MeanEstimate, correlation, moderated, pooled};

/// Changes of state below which what else changed at the same times may explain a difference.
const FEW_CHANGES: usize = 4;

/// Why a difference may not be one of the states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confounded {
    /// There is one change only.
    OneChange,
    /// There are few.
    FewChanges,
    /// The states were at other hours of the day.
    OtherHours,
    /// The states are not set but come by themselves, with whatever else comes then.
    NotSet,
}

/// A statement that is compared.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Compared<'a> {
    /// Its number in the file, from 1.
    pub number: u32,
    /// The server's key of it.
    pub statement: &'a str,
    /// Name of the database.
    pub database: Option<&'a str>,
    /// Name of the user.
    pub user: Option<&'a str>,
    /// Its text without literals.
    pub text: Option<&'a str>,
    /// Calls in the first state and in the second.
    pub calls: [u64; 2],
    /// Time a call in both, in nanoseconds, of all calls: not matched by load and hour.
    pub time_ns_per_call: [f64; 2],
    /// Its share of the time of all statements, 0 to 1.
    pub time_share: f64,
    /// Time a call in the second state over that in the first, matched. Its `blocks` are units.
    #[serde(flatten)]
    pub ratio: Ratio,
}

impl Compared<'_> {
    /// Whether it is shown to be slower in the second state.
    pub fn is_slower(&self) -> bool {
        self.ratio.is_higher()
    }

    /// Whether it is shown to be faster.
    pub fn is_faster(&self) -> bool {
        self.ratio.is_lower()
    }
}

/// Statements that are not compared, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct LeftOut {
    /// Called in one of the states only.
    pub one_state: u64,
    /// Too few units in which both states have them at like load and hour.
    pub too_few_units: u64,
    /// Beyond the most that are compared, by time.
    pub beyond: u64,
}

/// The comparison of all statements.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Comparison<'a> {
    /// By what: `state`, `SMT`, `clock`, `version`, `neighbours`; empty for a moment.
    pub by: &'static str,
    /// The state of which the time a call is above.
    pub second: String,
    /// The state of which it is below.
    pub first: String,
    /// What a unit is: `change of state`, `day`, `hour`, `10 minutes`.
    pub unit: &'static str,
    /// Units: triples of episodes, or units of both states together.
    pub units: u32,
    /// Changes of state.
    pub changes: u32,
    /// Why a difference may not be one of the states; empty if nothing speaks against it.
    pub confounded: Vec<Confounded>,
    /// Start of the first interval that takes part, in milliseconds since 1970.
    pub start_unix_ms: i64,
    /// End of the last one.
    pub end_unix_ms: i64,
    /// Intervals with figures in each state.
    pub intervals: [u64; 2],
    /// Calls of the whole server a second in each state.
    pub calls_per_s: [f64; 2],
    /// Mean of the used share of the capacity in each state, if the server's machine was observed.
    pub used_share: [Option<f64>; 2],
    /// Mean of the share of time that a hypervisor gave to others, likewise.
    pub stolen_share: [Option<f64>; 2],
    /// Mean of the share of looks with a neighbour, if neighbours were looked for.
    pub neighbour_share: [Option<f64>; 2],
    /// Intervals without figures, by reason.
    pub gaps: BTreeMap<&'static str, u64>,
    /// Statements that the server dropped, and counters that ran backwards, over all intervals.
    pub lost: u64,
    /// Whether hours of the day are matched, and loads.
    pub matched_hours: bool,
    /// Whether intervals of like load are matched; `false` if loads differ by less than a factor of 1.5.
    pub matched_load: bool,
    /// Margin, as a fraction.
    pub margin: f64,
    /// Level of the intervals.
    pub level: f64,
    /// The statements, the one with the most time first.
    pub statements: Vec<Compared<'a>>,
    /// Those that are not compared.
    pub left_out: LeftOut,
}

/// Judges all statements of a plan together. `calls` are those of the whole server in each interval.
pub fn compare<'a>(
    plan: &Plan,
    sums: &Sums,
    statements: &'a [StatementText],
    intervals: &[Interval<u32>],
    calls: &[u64],
) -> Comparison<'a> {
    let rule = Rule {
        margin: plan.question.margin,
        alpha: plan.question.alpha,
        direction: Direction::LowerIsBetter,
    };
    let mut left_out = LeftOut::default();
    let chosen = chosen(plan, sums, statements, &mut left_out);
    let series: Vec<Series> = chosen.iter().map(|(id, _)| sums.statements[id].series(plan)).collect();
    let (chosen, means): (Vec<_>, Vec<MeanEstimate>) = chosen
        .into_iter()
        .zip(estimates(&series, plan.design.least_correlation()))
        .filter_map(|(one, mean)| match mean {
            Some(mean) => Some((one, mean)),
            None => {
                left_out.too_few_units += 1;
                None
            }
        })
        .unzip();
    let family: Vec<_> = moderated(&means).into_iter().map(|mean| (mean, None)).collect();
    let all_ns: f64 = (time_of_all_ns(sums) + rest_ns(plan, intervals)).max(1.0);
    let judged = chosen.into_iter().zip(judge(&family, rule));
    let compared = judged.map(|((id, text), ratio)| {
        let sides = sums.statements[&id].sides;
        let time: f64 = sides.iter().map(|sum| sum.time_ns as f64).sum();
        Compared {
            number: id + 1,
            statement: &text.key,
            database: text.database.as_deref(),
            user: text.user.as_deref(),
            text: text.text.as_deref(),
            calls: sides.map(|sum| sum.calls),
            time_ns_per_call: sides.map(|sum| sum.time_ns as f64 / sum.calls.max(1) as f64),
            time_share: time / all_ns,
            ratio,
        }
    });
    let facts = Facts::of(plan, intervals, calls);
    Comparison {
        by: plan.question.by.words(),
        second: plan.sides[1].clone(),
        first: plan.sides[0].clone(),
        unit: match plan.design {
            Design::Turns => "change of state",
            Design::Units(name) => name,
        },
        units: match plan.design {
            Design::Turns => plan.units.len() as u32 / 3,
            Design::Units(_) => plan.units.len() as u32,
        },
        changes: plan.changes as u32,
        confounded: confounded(plan),
        start_unix_ms: facts.start_unix_ms,
        end_unix_ms: facts.end_unix_ms,
        intervals: facts.intervals,
        calls_per_s: facts.calls_per_s,
        used_share: facts.used_share,
        stolen_share: facts.stolen_share,
        neighbour_share: facts.neighbour_share,
        gaps: facts.gaps,
        lost: facts.lost,
        matched_hours: plan.strata.has_hours,
        matched_load: plan.strata.least_load.is_some(),
        margin: rule.margin,
        level: 1.0 - rule.alpha,
        statements: compared.collect(),
        left_out,
    }
}

/// Time of the statements that an interval does not name, of the intervals that take part.
fn rest_ns(plan: &Plan, intervals: &[Interval<u32>]) -> f64 {
    let takes_part = intervals.iter().zip(&plan.places).filter(|(_, place)| place.is_some());
    takes_part.map(|(interval, _)| interval.rest.time_ns as f64).sum()
}

fn time_of_all_ns(sums: &Sums) -> f64 {
    sums.statements.values().flat_map(|one| one.sides).map(|sum| sum.time_ns as f64).sum()
}

/// Statements with calls in both states, those with the most time first. Ours are not among them.
fn chosen<'a>(
    plan: &Plan,
    sums: &Sums,
    statements: &'a [StatementText],
    left_out: &mut LeftOut,
) -> Vec<(u32, &'a StatementText)> {
    let mut found: Vec<(u64, u32, &StatementText)> = Vec::new();
    for (id, sums) in &sums.statements {
        let Some(text) = statements.get(*id as usize).filter(|text| !text.is_ours) else { continue };
        match sums.sides.iter().all(|sum| sum.calls > 0) {
            true => found.push((
                sums.sides.iter().fold(0, |all, sum| u64::saturating_add(all, sum.time_ns)),
                *id,
                text,
            )),
            false => left_out.one_state += 1,
        }
    }
    found.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    left_out.beyond = found.len().saturating_sub(plan.question.most) as u64;
    found.truncate(plan.question.most);
    found.into_iter().map(|(_, id, text)| (id, text)).collect()
}

/// A mean of each series, of units with at least this correlation; `None` with too few units.
fn estimates(series: &[Series], least_correlation: f64) -> Vec<Option<MeanEstimate>> {
    let blocks = |one: &Series| match one {
        Series::Blocks(blocks) => blocks.clone(),
        Series::Sides(sides) => sides.iter().max_by_key(|side| side.len()).cloned().unwrap_or_default(),
    };
    let all: Vec<Vec<f64>> = series.iter().map(blocks).collect();
    let of_blocks = means(&all, &[]);
    let slices: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
    let common = correlation::common(&slices).max(least_correlation);
    let one = |((series, longer), mean): ((&Series, &Vec<f64>), Option<MeanEstimate>)| match series {
        Series::Blocks(blocks) => mean.filter(|_| blocks.len() >= MIN_TRIPLES),
        Series::Sides([before, after]) => {
            pooled(after, before, correlation::of_one(longer, common)).filter(|_| longer.len() >= 3)
        }
    };
    series.iter().zip(&all).zip(of_blocks).map(one).collect()
}

fn confounded(plan: &Plan) -> Vec<Confounded> {
    let is_moment = matches!(plan.question.by, By::Moment(_));
    let by_changes = match plan.changes {
        _ if is_moment => Some(Confounded::OneChange),
        0 | 1 => Some(Confounded::OneChange),
        few if few < FEW_CHANGES || plan.design != Design::Turns => Some(Confounded::FewChanges),
        _ => None,
    };
    let is_not_set = (plan.question.by == By::Neighbours).then_some(Confounded::NotSet);
    by_changes
        .into_iter()
        .chain(plan.has_other_hours.then_some(Confounded::OtherHours))
        .chain(is_not_set)
        .collect()
}

/// What is known of intervals without their statements.
#[derive(Debug, Default)]
struct Facts {
    start_unix_ms: i64,
    end_unix_ms: i64,
    intervals: [u64; 2],
    calls_per_s: [f64; 2],
    used_share: [Option<f64>; 2],
    stolen_share: [Option<f64>; 2],
    neighbour_share: [Option<f64>; 2],
    gaps: BTreeMap<&'static str, u64>,
    lost: u64,
}

impl Facts {
    fn of(plan: &Plan, intervals: &[Interval<u32>], calls: &[u64]) -> Self {
        let mut facts = Self::default();
        let [mut used, mut stolen, mut neighbours]: [[Vec<f64>; 2]; 3] = Default::default();
        let (mut seconds, mut counts) = ([0.0; 2], [0.0; 2]);
        for (at, interval) in intervals.iter().enumerate() {
            if let Some(gap) = interval.gap {
                *facts.gaps.entry(gap.word()).or_default() += 1;
            }
            let lost = interval.lost.evicted.saturating_add(interval.lost.restarted);
            facts.lost = facts.lost.saturating_add(lost);
            let Some((unit, _)) = plan.places[at] else { continue };
            let side = plan.units[unit as usize].side;
            if facts.intervals == [0, 0] {
                facts.start_unix_ms = interval.start_unix_ms;
            }
            facts.end_unix_ms = interval.end_unix_ms;
            facts.intervals[side] += 1;
            seconds[side] += interval.length_ns as f64 / 1e9;
            counts[side] += calls[at] as f64;
            used[side]
                .extend(interval.host.map(|host| f64::midpoint(host.used_low_share, host.used_high_share)));
            stolen[side].extend(interval.host.map(|host| host.stolen_share));
            neighbours[side].extend(interval.neighbours.and_then(Neighbours::share));
        }
        facts.calls_per_s = [0, 1].map(|side| counts[side] / seconds[side].max(1e-9));
        let means = |sides: [Vec<f64>; 2]| sides.map(|all| threadwise_statistics::mean(all.into_iter()));
        (facts.used_share, facts.stolen_share, facts.neighbour_share) =
            (means(used), means(stolen), means(neighbours));
        facts
    }
}

impl Comparison<'_> {
    /// Statements with an answer.
    pub fn those(&self, is_so: impl Fn(&Ratio) -> bool) -> Vec<&Compared<'_>> {
        self.statements.iter().filter(|one| is_so(&one.ratio)).collect()
    }

    /// Those for which nothing is shown.
    pub fn undecided(&self) -> Vec<&Compared<'_>> {
        self.those(|ratio| ratio.answer == Answer::Undecided)
    }
}
