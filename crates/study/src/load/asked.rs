//! Comparisons of the command line (`--compare A:B`), and those of the file that remain under `--placement`.

use threadwise_machine::Topology;

use super::check::ALONE;
use super::comparisons::{self, NAMED, below};
use super::error::LoadError;
use super::file::StudyFile;
use super::raw::{RawComparison, RawTreatment};
use super::seat::{Group, Seat, default_sessions, suffix};
use crate::{Comparison, Role, Study};

/// How many names an error suggests.
const NEAREST: usize = 3;

/// Adds the comparisons of `--compare`: two treatment names with a colon between them. A name without levels stands for
/// the treatments of that name in every group. Existing comparisons are not added twice.
///
/// # Errors
/// A text that is not a pair of names, or an unknown name.
pub(super) fn add(study: &mut Study, groups: &[Group], asked: &[String]) -> Result<(), LoadError> {
    let groups: Vec<(&Group, String)> = groups.iter().map(|group| (group, suffix(group, groups))).collect();
    for text in asked {
        let (top, under) = sides(text, study, &groups)?;
        let mut pairs = pairs(&top, &under, study, &groups);
        if pairs.is_empty() {
            return Err(refused(text, "no group of the study has both".to_owned()));
        }
        pairs.retain(|pair| {
            !study
                .comparisons
                .iter()
                .any(|one| one.treatment == pair.treatment && one.baseline == pair.baseline)
        });
        study.comparisons.extend(pairs);
    }
    Ok(())
}

fn refused(text: &str, why: String) -> LoadError {
    LoadError::Override { option: format!("--compare {text}"), why }
}

/// Splits a text into two names. Names contain colons (`spread:4`), so each colon is tried.
fn sides(text: &str, study: &Study, groups: &[(&Group, String)]) -> Result<(String, String), LoadError> {
    let splits: Vec<(&str, &str)> = text
        .match_indices(':')
        .map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()))
        .filter(|(top, under)| !top.is_empty() && !under.is_empty())
        .collect();
    let known = known(study, groups);
    let is_known = |name: &str| known.iter().any(|other| other == name);
    let Some(first) = splits.first() else {
        return Err(refused(
            text,
            "give two treatments with a colon between them, such as all:no-smt".into(),
        ));
    };
    let both = splits.iter().find(|(top, under)| is_known(top) && is_known(under));
    let Some((top, under)) = both else {
        let half = splits.iter().find(|(top, under)| is_known(top) || is_known(under)).unwrap_or(first);
        let missing = if is_known(half.0) { half.1 } else { half.0 };
        return Err(refused(
            text,
            format!("no treatment here is called '{missing}'; {}", nearest(missing, &known)),
        ));
    };
    if top == under {
        return Err(refused(text, "both sides are the same treatment".to_owned()));
    }
    let is_baseline = |name: &str| {
        let alone = groups.first().map(|(group, _)| group.seats[0].name.as_str());
        let is_role = |found: &crate::Treatment| found.role != Role::Compared;
        Some(name) == alone || study.treatment(name).is_some_and(|(_, found)| is_role(found))
    };
    if is_baseline(top) {
        return Err(refused(text, format!("'{top}' is the baseline; put it on the right: {under}:{top}")));
    }
    Ok(((*top).to_owned(), (*under).to_owned()))
}

/// Names of treatments, with and without their levels.
fn known(study: &Study, groups: &[(&Group, String)]) -> Vec<String> {
    let mut names: Vec<String> = groups.first().map_or(Vec::new(), |(group, _)| {
        group
            .seats
            .iter()
            .filter(|seat| seat.role != Role::BaselineTwin)
            .map(|seat| seat.name.clone())
            .collect()
    });
    let whole = study.treatments.iter().filter(|treatment| treatment.role != Role::BaselineTwin);
    for name in whole.map(|treatment| &treatment.name) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The known names most similar to what was typed (Jaro-Winkler similarity).
fn nearest(typed: &str, known: &[String]) -> String {
    let likeness = |name: &String| strsim::jaro_winkler(typed, name);
    let mut names: Vec<&String> = known.iter().collect();
    names.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    let names: Vec<&str> = names.into_iter().take(NEAREST).map(String::as_str).collect();
    format!("the nearest are {}", names.join(", "))
}

/// The comparison in each group that has both, or the one of two whole names.
fn pairs(top: &str, under: &str, study: &Study, groups: &[(&Group, String)]) -> Vec<Comparison> {
    let baseline = |name: String| match groups
        .iter()
        .find(|(group, suffix)| format!("{}{suffix}", group.seats[0].name) == name)
    {
        Some((group, suffix)) => vec![name, format!("{}{suffix}", group.seats[1].name)],
        None => vec![name],
    };
    let is_there = |name: &String| study.treatment(name).is_some();
    let pair = |top: String, under: String| {
        (is_there(&top) && is_there(&under)).then(|| Comparison {
            name: format!("{top} : {under}"),
            treatment: top,
            baseline: baseline(under),
            kind: NAMED.to_owned(),
        })
    };
    let is_bare =
        |name: &str| groups.iter().any(|(group, _)| group.seats.iter().any(|seat| seat.name == name));
    if !is_bare(top) && !is_bare(under) || groups.len() < 2 {
        return pair(top.to_owned(), under.to_owned()).into_iter().collect();
    }
    let whole = |name: &str, suffix: &str| match is_bare(name) {
        true => format!("{name}{suffix}"),
        false => name.to_owned(),
    };
    groups.iter().filter_map(|(_, suffix)| pair(whole(top, suffix), whole(under, suffix))).collect()
}

/// Adds the comparisons of the file that are possible between the placements of the command line, and returns a line
/// for each that is not.
///
/// # Errors
/// A name that a built-in comparison has.
pub(super) fn kept(
    named: &mut Vec<Comparison>,
    file: &StudyFile,
    topology: &Topology,
    group: &Group,
    suffix: &str,
) -> Result<Vec<String>, LoadError> {
    let mut dropped = Vec::new();
    for raw in &file.raw.comparisons {
        let name = raw.name.get_ref();
        let pairs = match between(raw, file, topology, &group.seats) {
            Ok(pairs) => pairs,
            Err(why) => {
                dropped.push(format!("comparison {name}: {why}"));
                continue;
            }
        };
        for (top, under) in &pairs {
            let sessions = if pairs.len() > 1 { format!(" s{}", top.sessions) } else { String::new() };
            let comparison = Comparison {
                name: format!("{name}{sessions}{suffix}"),
                treatment: format!("{}{suffix}", top.name),
                baseline: below(&under.name, group, suffix),
                kind: raw.kind.clone().unwrap_or_else(|| NAMED.to_owned()),
            };
            comparisons::add(named, comparison, file, raw)?;
        }
    }
    Ok(dropped)
}

/// The seats for both sides of a comparison of the file: their placements, with the file's sessions, or with equal
/// numbers on both sides where the file has equal ones.
fn between<'a>(
    raw: &RawComparison,
    file: &StudyFile,
    topology: &Topology,
    seats: &'a [Seat],
) -> Result<Vec<(&'a Seat, &'a Seat)>, String> {
    let (top_name, under_name) = (raw.treatment.get_ref(), raw.baseline.get_ref());
    let (top, top_sessions) = side(top_name, file, topology)?;
    if under_name == file.raw.baseline.name.as_ref().map_or(ALONE, |name| name.get_ref()) {
        return Err("every placement is compared with the baseline already".to_owned());
    }
    let (under, under_sessions) = side(under_name, file, topology)?;
    let compared = || seats.iter().filter(|seat| seat.role == Role::Compared);
    for placement in [top, under] {
        if !compared().any(|seat| seat.placement == placement) {
            return Err(format!("{placement} is not among the placements of --placement"));
        }
    }
    let fits = |one: &Seat, other: &Seat| match top_sessions == under_sessions {
        true => one.sessions == other.sessions,
        false => (one.sessions, other.sessions) == (top_sessions, under_sessions),
    };
    let tops = compared().filter(|seat| seat.placement == top);
    let pairs: Vec<(&Seat, &Seat)> = tops
        .flat_map(|one| {
            compared().filter(move |other| other.placement == under).map(move |other| (one, other))
        })
        .filter(|(one, other)| fits(one, other))
        .collect();
    if pairs.is_empty() { Err("its sides have different numbers of sessions".to_owned()) } else { Ok(pairs) }
}

/// Placement and sessions of a treatment of the file, if it consists of nothing else.
fn side<'a>(name: &str, file: &'a StudyFile, topology: &Topology) -> Result<(&'a str, u32), String> {
    let is_it =
        |treatment: &&RawTreatment| treatment.name.as_ref().unwrap_or(&treatment.placement).get_ref() == name;
    let found = file.raw.treatments.iter().find(is_it).ok_or_else(|| format!("{name} is the baseline"))?;
    if found.service.is_some() || found.memory.is_some() || !found.set.is_empty() {
        return Err(format!("{name} is more than a placement"));
    }
    let placement = found.placement.get_ref().as_str();
    let sessions = match &found.sessions {
        Some(sessions) => *sessions.get_ref(),
        None => default_sessions(placement, topology).map_err(|error| error.to_string())?,
    };
    Ok((placement, sessions))
}
