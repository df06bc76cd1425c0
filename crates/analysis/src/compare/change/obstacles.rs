//! Obstacles to a comparison and to a claim of a change, and cautions for the reader.

use crate::compare::aspects::{Aspect, AspectGroup, NEIGHBOURS, apart};
use crate::compare::rates::Quantity;
use crate::{Direction, Facts, validity};
use threadwise_document::numbers::counted;
use threadwise_study::Treatment;

/// Fewest studies per side, or pairs, for a claim: with two the t interval is too wide to be useful, and with one there
/// is none.
pub const MIN_STUDIES: usize = 3;

/// The studies of both sides, in the order in which they were given.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a, 's> {
    /// Before.
    pub before: &'s [Facts<'a>],
    /// After.
    pub after: &'s [Facts<'a>],
    /// Whether the studies of both sides are pairs, in order.
    pub is_paired: bool,
}

impl<'a> Sides<'a, '_> {
    /// All studies, those of before first.
    pub fn all(&self) -> Vec<Facts<'a>> {
        [self.before, self.after].concat()
    }
}

/// Studies of a side that all begin within this many seconds share an hour.
const ONE_HOUR_S: i64 = 3600;

/// The quantity that all studies of both sides are compared by.
///
/// # Errors
/// Why there is none, in one line: a side is empty, pairs are unequal in number, a study is given twice, engines or
/// workloads differ, or a study does not have the metric.
pub fn check(sides: Sides<'_, '_>, metric: Option<&str>) -> Result<Quantity, String> {
    let all = sides.all();
    let [before, after] = [sides.before.len(), sides.after.len()];
    let Some(first) = all.first().filter(|_| before > 0 && after > 0) else {
        return Err("each side needs a study".to_owned());
    };
    if sides.is_paired && before != after {
        return Err(format!(
            "pairs need as many studies after as before, and these are {before} and {after}"
        ));
    }
    for (at, one) in all.iter().enumerate() {
        if let Some(same) = all[..at].iter().find(|earlier| is_same_study(earlier, one)) {
            let why = match same.source == one.source {
                true => format!("{} is given twice", one.source),
                false => format!("{} and {} are the same study", same.source, one.source),
            };
            return Err(format!("{why}: a study counts once"));
        }
        for (what, [known, this]) in [
            ("engine", [first.study.engine.as_str(), &one.study.engine]),
            ("workload", [first.study.workload.name(), one.study.workload.name()]),
        ] {
            if known != this {
                return Err(format!(
                    "{} has the {what} {this}, and {} has {known}: what they do is not the same work",
                    one.source, first.source
                ));
            }
        }
    }
    if let Some(why) = all.iter().find_map(|one| other_work(first, one)) {
        return Err(why);
    }
    let known = |facts: &Facts<'_>| {
        Quantity::all(facts).into_iter().map(|one| one.metric).collect::<Vec<_>>().join(", ")
    };
    let takes_a_fixed_time = |facts: &&Facts<'_>| {
        facts.analysis.commands.as_ref().is_some_and(|commands| commands.fixed_time.is_some())
    };
    if let Some(fixed) = all.iter().filter(|_| metric.is_none()).find(takes_a_fixed_time) {
        return Err(format!(
            "{} is of a command that always takes the same time, so its duration says nothing: name another metric by \
             --metric; it has: {}",
            fixed.source,
            known(fixed)
        ));
    }
    let lacks = |facts: &Facts<'_>| {
        let metric = metric.unwrap_or("a headline");
        Err(format!("{} is not compared by {metric}; it has: {}", facts.source, known(facts)))
    };
    let Some(quantity) = Quantity::of(first, metric) else { return lacks(first) };
    match all.iter().find(|facts| Quantity::of(facts, metric).as_ref() != Some(&quantity)) {
        Some(other) if metric.is_some() => lacks(other),
        Some(other) => Err(format!("{} and {} are of different quantities", first.source, other.source)),
        None => Ok(quantity),
    }
}

/// Why two studies have no work in common: no treatment is alike in both, and what distinguishes them. Two commands are
/// measured in one study, where they take turns.
fn other_work(one: &Facts<'_>, other: &Facts<'_>) -> Option<String> {
    let known = one.study.treatments.iter();
    let common: Vec<(&Treatment, &Treatment)> =
        known.filter_map(|known| Some((known, other.study.treatment(&known.name)?.1))).collect();
    let all_differ = common.iter().all(|(known, this)| !apart(known, this).is_empty());
    let (known, this) = *common.first().filter(|_| all_differ)?;
    let next = match [&known.options, &this.options].map(|options| options.get("command")) {
        [Some(before), Some(after)] if before != after => {
            format!("; two commands are measured in one study: threadwise ab -- {before} --- {after}")
        }
        _ => String::new(),
    };
    Some(format!(
        "{} and {} differ in {}: what they do is not the same work{next}",
        one.source,
        other.source,
        apart(known, this).join(", ")
    ))
}

/// Whether two files hold one study: the same name, or the same start, seed and figures.
fn is_same_study(one: &Facts<'_>, other: &Facts<'_>) -> bool {
    let is_copy = (one.created_utc, one.study.seed) == (other.created_utc, other.study.seed)
        && one.analysis.treatments == other.analysis.treatments;
    (!one.source.is_empty() && one.source == other.source) || (is_copy && one.analysis.blocks > 0)
}

/// Obstacles to a claim, one per line.
pub(super) fn obstacles(sides: Sides<'_, '_>, aspects: &[Aspect]) -> Vec<String> {
    let all = sides.all();
    let [before, after] = [sides.before.len(), sides.after.len()];
    let have = match sides.is_paired {
        true => format!("there are {} of at least {MIN_STUDIES}", counted(before, "pair")),
        false => {
            let studies = if before == 1 { "study" } else { "studies" };
            format!(
                "there are {before} {studies} before and {after} after, of at least {MIN_STUDIES} per side"
            )
        }
    };
    let is_short = before.min(after) < MIN_STUDIES;
    let machines = names(aspects, |aspect| aspect.part == AspectGroup::Machine && aspect.differs);
    let engine =
        names(aspects, |aspect| aspect.part == AspectGroup::Engine && differs_within(aspect, before));
    let over_boots = all.iter().find(|facts| facts.study.external.is_some());
    let invalid = all.iter().find_map(|facts| Some((facts.source, validity::problem(facts.analysis)?)));
    let is_out_of_turn = sides.is_paired && before > 1 && !are_in_turns(sides);
    let lines = [
        is_short.then(|| {
            format!(
                "{have}, and studies of one machine differ by 1 to 3% from hour to hour more than their own intervals say"
            )
        }),
        machines.map(|names| format!("the machines differ ({names})")),
        engine.map(|names| format!("studies of one side differ in {names}")),
        over_boots.map(|facts| {
            format!("{} is a study over boots, whose own report compares its arms", facts.source)
        }),
        invalid.map(|(source, why)| format!("{source} is not valid as a whole: {why}")),
        is_out_of_turn.then(|| {
            "by their dates the pairs were not run in turns: another study began between the two of a pair"
                .to_owned()
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// Cautions about a comparison that is made, one per line.
pub(super) fn cautions(sides: Sides<'_, '_>, aspects: &[Aspect], direction: Direction) -> Vec<String> {
    let is_within = |aspect: &&Aspect| {
        matches!(aspect.part, AspectGroup::System | AspectGroup::Study | AspectGroup::Program)
            && !["begun", NEIGHBOURS].contains(&aspect.name.as_str())
            && differs_within(aspect, sides.before.len())
    };
    let shares_hour =
        |side: &[Facts<'_>]| span_s(side).is_some_and(|span| side.len() > 1 && span < ONE_HOUR_S);
    let is_apart = is_all_before(sides.before, sides.after) || is_all_before(sides.after, sides.before);
    let did = match shares_hour(sides.before) || shares_hour(sides.after) {
        true => "the studies of a side began within an hour, so that what the hour did to them",
        false => "one side ran after the other, so that what the machine did in between",
    };
    let lines = [
        names(aspects, is_within).map(|names| format!("studies of one side differ in {names}")),
        (!sides.is_paired && is_apart).then(|| format!("{did} counts as a change: run the sides in turns")),
        (direction == Direction::Neither).then(|| {
            "neither side of 1 is better in what is compared, so nothing of it is a regression".to_owned()
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// Names of some aspects; `None` without any.
fn names(aspects: &[Aspect], is_meant: impl Fn(&&Aspect) -> bool) -> Option<String> {
    let names: Vec<&str> = aspects.iter().filter(is_meant).map(|aspect| aspect.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Whether an aspect differs between studies of one side.
fn differs_within(aspect: &Aspect, before: usize) -> bool {
    let (one, other) = aspect.values.split_at(before.min(aspect.values.len()));
    [one, other].iter().any(|side| side.windows(2).any(|two| two[0] != two[1]))
}

/// Whether all studies of one side began before all of the other.
fn is_all_before(one: &[Facts<'_>], other: &[Facts<'_>]) -> bool {
    let last = one.iter().map(|facts| facts.created_utc).max();
    let first = other.iter().map(|facts| facts.created_utc).min();
    last.zip(first).is_some_and(|(last, first)| !last.is_empty() && last < first)
}

/// Whether no study began between the two of any pair.
fn are_in_turns(sides: Sides<'_, '_>) -> bool {
    let all = sides.all();
    sides.before.iter().zip(sides.after).all(|(one, other)| {
        let (from, to) = match one.created_utc <= other.created_utc {
            true => (one.created_utc, other.created_utc),
            false => (other.created_utc, one.created_utc),
        };
        !all.iter().any(|facts| from < facts.created_utc && facts.created_utc < to)
    })
}

/// Seconds from the first to the last start of some studies; `None` if a date is unknown.
fn span_s(side: &[Facts<'_>]) -> Option<i64> {
    let starts: Option<Vec<i64>> = side.iter().map(|facts| unix_s(facts.created_utc)).collect();
    let starts = starts?;
    Some(starts.iter().max()? - starts.iter().min()?)
}

/// Seconds since 1970 of an RFC 3339 time in UTC, `2026-01-31T23:59:59Z`. Days by the civil calendar (Hinnant,
/// "chrono-compatible low-level date algorithms", 2013).
fn unix_s(time: &str) -> Option<i64> {
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    let [year, month, day] = [part(0, 4)?, part(5, 7)?, part(8, 10)?];
    let [hour, minute, second] = [part(11, 13)?, part(14, 16)?, part(17, 19)?];
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_seconds() {
        assert_eq!(unix_s("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(unix_s("2000-03-01T00:00:01Z"), Some(951_868_801));
        assert_eq!(unix_s("2024-02-29T12:00:00Z"), Some(1_709_208_000));
        assert_eq!((unix_s(""), unix_s("yesterday")), (None, None));
    }
}
