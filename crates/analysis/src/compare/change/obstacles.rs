//! What keeps studies from being compared, what keeps a claim of a change from being made, and what a reader must know.

use super::sides::{MIN_STUDIES, Sides};
use crate::compare::aspects::{Aspect, Part, alike, apart};
use crate::compare::quantity::Quantity;
use crate::{Direction, Facts, validity};
use std::fmt;
use threadwise_document::numbers::counted;

/// Why studies cannot be compared at all, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit(pub String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// Studies of a side that all begin within this many seconds share an hour.
const ONE_HOUR_S: i64 = 3600;

/// What all studies of both sides are compared by.
///
/// # Errors
/// A side is empty, pairs are not of equal number, a study is given twice, engines or workloads differ, or a study does
/// not have the metric.
pub fn check(sides: Sides<'_, '_>, metric: Option<&str>) -> Result<Quantity, Unfit> {
    let unfit = |text: String| Err(Unfit(text));
    let all = sides.all();
    let Some(first) = all.first().filter(|_| !sides.before.is_empty() && !sides.after.is_empty()) else {
        return unfit("each side needs a study".to_owned());
    };
    if sides.is_paired && sides.before.len() != sides.after.len() {
        let [before, after] = [sides.before.len(), sides.after.len()];
        return unfit(format!(
            "pairs need as many studies after as before, and these are {before} and {after}"
        ));
    }
    for (at, one) in all.iter().enumerate() {
        if let Some(same) = all[..at].iter().find(|earlier| is_same_study(earlier, one)) {
            let why = match same.source == one.source {
                true => format!("{} is given twice", one.source),
                false => format!("{} and {} are the same study", same.source, one.source),
            };
            return unfit(format!("{why}: a study counts once"));
        }
        for (what, [known, this]) in [
            ("engine", [&first.study.engine, &one.study.engine]),
            ("workload", [&first.study.workload, &one.study.workload]),
        ] {
            if known != this {
                return unfit(format!(
                    "{} has the {what} {this}, and {} has {known}: what they do is not the same work",
                    one.source, first.source
                ));
            }
        }
    }
    if let Some(why) = all.iter().find_map(|one| other_work(first, one)) {
        return unfit(why);
    }
    if let Some(fixed) = all.iter().find(|facts| metric.is_none() && takes_a_fixed_time(facts)) {
        return unfit(format!(
            "{} is of a command that always takes the same time, which says nothing by its duration: name by --metric what is \
             compared; it has: {}",
            fixed.source,
            known(fixed)
        ));
    }
    let Some(quantity) = Quantity::of(first, metric) else { return unfit(no_metric(first, metric)) };
    let other = all.iter().find(|facts| Quantity::of(facts, metric).as_ref() != Some(&quantity));
    match other {
        Some(other) if metric.is_some() => unfit(no_metric(other, metric)),
        Some(other) => unfit(format!("{} and {} are of different quantities", first.source, other.source)),
        None => Ok(quantity),
    }
}

/// Why nothing of two studies is the same work: no treatment that both have is alike in both, and what tells them apart.
/// Two commands are measured in one study, where they take turns.
fn other_work(one: &Facts<'_>, other: &Facts<'_>) -> Option<String> {
    let treatments = one.study.treatments.iter();
    let common: Vec<_> =
        treatments.filter_map(|known| Some((known, other.study.treatment(&known.name)?.1))).collect();
    let (known, this) = *common.first().filter(|_| common.iter().all(|(a, b)| !alike(a, b)))?;
    let differences = apart(known, this);
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
        differences.join(", ")
    ))
}

fn takes_a_fixed_time(facts: &Facts<'_>) -> bool {
    facts.analysis.commands.as_ref().is_some_and(|commands| commands.fixed_time.is_some())
}

/// What a study can be compared by.
fn known(facts: &Facts<'_>) -> String {
    Quantity::all(facts).into_iter().map(|one| one.metric).collect::<Vec<_>>().join(", ")
}

fn no_metric(facts: &Facts<'_>, metric: Option<&str>) -> String {
    let metric = metric.unwrap_or("a headline");
    format!("{} is not compared by {metric}; it has: {}", facts.source, known(facts))
}

/// Whether two files hold one study: the same name, or the same start, seed and figures.
fn is_same_study(one: &Facts<'_>, other: &Facts<'_>) -> bool {
    let is_copy = (one.created_utc, one.study.seed) == (other.created_utc, other.study.seed)
        && one.analysis.treatments == other.analysis.treatments;
    (!one.source.is_empty() && one.source == other.source) || (is_copy && one.analysis.blocks > 0)
}

/// What keeps a claim from being made, one line each.
pub(super) fn obstacles(sides: Sides<'_, '_>, aspects: &[Aspect]) -> Vec<String> {
    let all = sides.all();
    let mut lines = Vec::new();
    let fewest = sides.before.len().min(sides.after.len());
    if fewest < MIN_STUDIES {
        let [before, after] = [sides.before.len(), sides.after.len()];
        let have = match sides.is_paired {
            true => format!("there are {} of at least {MIN_STUDIES}", counted(before, "pair")),
            false => {
                let studies = if before == 1 { "study" } else { "studies" };
                format!(
                    "there are {before} {studies} before and {after} after, of at least {MIN_STUDIES} a side"
                )
            }
        };
        lines.push(format!(
            "{have}, and studies of one machine differ by 1 to 3% from hour to hour more than their own intervals say"
        ));
    }
    let differing = |part: Part| aspects.iter().filter(move |aspect| aspect.part == part && aspect.differs());
    let names: Vec<&str> = differing(Part::Machine).map(|aspect| aspect.name.as_str()).collect();
    if !names.is_empty() {
        lines.push(format!("the machines differ ({})", names.join(", ")));
    }
    let within = |aspect: &&Aspect| differs_within(aspect, sides.before.len());
    let names: Vec<&str> =
        differing(Part::Engine).filter(within).map(|aspect| aspect.name.as_str()).collect();
    if !names.is_empty() {
        lines.push(format!("studies of one side differ in {}", names.join(", ")));
    }
    if let Some(facts) = all.iter().find(|facts| facts.study.external.is_some()) {
        lines.push(format!("{} is a study over boots, whose own report compares its arms", facts.source));
    }
    let invalid = all.iter().find_map(|facts| Some((facts.source, validity::problem(facts.analysis)?)));
    lines.extend(invalid.map(|(source, why)| format!("{source} is not valid as a whole: {why}")));
    if sides.is_paired && sides.before.len() > 1 && !are_in_turns(sides) {
        lines.push(
            "by their dates the pairs were not run in turns: another study began between the two of a pair"
                .to_owned(),
        );
    }
    lines
}

/// What a reader must know of a comparison that is made, one line each.
pub(super) fn cautions(sides: Sides<'_, '_>, aspects: &[Aspect], direction: Direction) -> Vec<String> {
    let all = sides.all();
    let mut lines = Vec::new();
    if all.iter().any(Facts::is_simulated) {
        lines.push("some figures come from a model, not from a machine".to_owned());
    }
    let is_within = |aspect: &&Aspect| {
        matches!(aspect.part, Part::System | Part::Study | Part::Program)
            && aspect.name != "begun"
            && differs_within(aspect, sides.before.len())
    };
    let names: Vec<&str> = aspects.iter().filter(is_within).map(|aspect| aspect.name.as_str()).collect();
    if !names.is_empty() {
        lines.push(format!("studies of one side differ in {}", names.join(", ")));
    }
    let shares_hour =
        |side: &[Facts<'_>]| span_s(side).is_some_and(|span| side.len() > 1 && span < ONE_HOUR_S);
    let is_apart = is_all_before(sides.before, sides.after) || is_all_before(sides.after, sides.before);
    if !sides.is_paired && is_apart {
        let hour = match shares_hour(sides.before) || shares_hour(sides.after) {
            true => {
                "the studies of a side began within an hour, so that what the hour did to them counts as a change"
            }
            false => {
                "one side ran after the other, so that what the machine did in between counts as a change"
            }
        };
        lines.push(format!("{hour}: run the sides in turns"));
    }
    if direction == Direction::Neither {
        lines.push(
            "neither side of 1 is better in what is compared, so nothing of it is a regression".to_owned(),
        );
    }
    lines
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

/// Seconds from the first to the last start of some studies; `None` where a date is not known.
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

/// How many studies, in words: `3 before and 4 after`, `3 pairs`.
pub fn count_words([before, after]: [u32; 2], is_paired: bool) -> String {
    match is_paired {
        true => counted(before as usize, "pair"),
        false => format!("{before} before and {after} after"),
    }
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
