//! What is compared: each treatment with its baseline, known pairs of placements, points of the axis, levels of arms and
//! instances, versions, the file's own comparisons, and those of the command line (`--compare A:B`).

use super::axis::Axis;
use super::candidate::{Candidate, Group, Resolver, default_sessions, short_label};
use super::definition::{ComparisonSection, TreatmentSection};
use super::factors;
use super::quota::Reached;
use super::source::{LoadError, StudyFile};
use crate::study::distinct;
use crate::version::NAMES;
use crate::{Comparison, ComparisonKind, Options, Role, Study};

/// Comparisons that any study gets when both sides exist with equal numbers of sessions: kind, placement on top,
/// placement below. Levels of locality have two cores of one package below, which are as far apart as cores of a NUMA
/// node can be.
const PAIRS: [(ComparisonKind, &str, &str); 6] = [
    (ComparisonKind::SmtYield, "same-core", "one-cpu"),
    (ComparisonKind::Cores, "same-package", "same-core"),
    (ComparisonKind::SharedL2, "same-l2", "same-package"),
    (ComparisonKind::SharedL3, "same-l3", "same-package"),
    (ComparisonKind::Nodes, "cross-node", "same-package"),
    (ComparisonKind::Packages, "cross-package", "same-package"),
];

/// Default kind of a file's comparison.
const NAMED: &str = "named";

/// Pairs of placements: both threads, and one thread, of the same cores.
const BOTH_AND_ONE: [(&str, &str); 2] = [("all", "no-smt"), ("same-core", "1c1t")];

/// How many names an error suggests.
const NEAREST: usize = 3;

/// Adds the comparisons of all groups. `both_threads` are the treatments that need both threads of a core, and are left
/// out of groups without SMT.
///
/// # Errors
/// A comparison of the file has the name of another one, or one of the command line has no sides.
pub(super) fn add(
    study: &mut Study,
    groups: &[Group],
    axis: Option<&Axis>,
    reached: Option<&Reached<'_>>,
    resolver: &Resolver<'_>,
    both_threads: &[String],
) -> Result<(), LoadError> {
    let has_placements = resolver.overrides.placements.is_some() && resolver.definition.section().is_none();
    let mut named = Vec::new();
    for group in groups {
        if resolver.overrides.versions.is_some() {
            study.comparisons.extend(versions(group));
            continue;
        }
        let baseline = &group.baseline().name;
        study.comparisons.extend(group.compared().map(|Candidate { name, .. }| {
            group.ratio(
                format!("{} : {baseline}", group.whole(name)),
                name,
                group,
                baseline,
                ComparisonKind::Baseline,
            )
        }));
        named.extend(pairs(group));
        named.extend(policies(group, resolver));
        if let Some(axis) = axis.filter(|axis| axis.kind != super::axis::Kind::Sessions || group.has_sweep) {
            named.extend(axis.comparisons(group));
        }
        if let Some(reached) = reached {
            named.extend(reached.comparisons(group));
        }
        for section in &resolver.definition.comparisons {
            let found = match has_placements {
                true => between(section, resolver, group),
                false => Ok(within(section, group).into_iter().collect()),
            };
            match found {
                Ok(comparisons) => {
                    for comparison in comparisons {
                        add_named(&mut named, comparison, section, resolver.file)?;
                    }
                }
                Err(why) => {
                    let line = format!("comparison {}: {why}", section.name.0);
                    // Equal in every group.
                    if !study.left_out.contains(&line) {
                        study.left_out.push(line);
                    }
                }
            }
        }
    }
    study.comparisons.extend(named);
    study.comparisons.extend(between_levels(groups, both_threads));
    resolver.overrides.compares.iter().try_for_each(|text| add_asked(study, groups, text))
}

/// The comparisons of [`PAIRS`] that a group allows.
fn pairs(group: &Group) -> impl Iterator<Item = Comparison> {
    // With two memory policies, placement and policy would both differ.
    let first = group.baseline();
    let find = move |placement: &str| {
        group.compared().find(|candidate| {
            candidate.placement.text == placement
                && candidate.memory == first.memory
                && candidate.service == first.service
        })
    };
    PAIRS.into_iter().filter_map(move |(kind, top, under)| {
        let (top, under) = (find(top)?, find(under)?);
        (top.sessions == under.sessions)
            .then(|| group.ratio(group.whole(kind.word()), &top.name, group, &under.name, kind))
    })
}

/// Each treatment with another memory policy over the same with the first; the baseline's is compared with it anyway.
fn policies<'a>(group: &'a Group, resolver: &Resolver<'_>) -> impl Iterator<Item = Comparison> + 'a {
    let first = resolver.overrides.memory.clone().filter(|_| !resolver.overrides.more_memory.is_empty());
    let of_first = move |top: &Candidate| {
        let first = first.as_ref().filter(|first| top.memory != **first)?;
        let same = |one: &&Candidate| {
            Candidate { memory: top.memory.clone(), name: top.name.clone(), ..(*one).clone() } == *top
        };
        group.compared().filter(|one| one.memory == *first).find(same)
    };
    group.compared().filter_map(move |top| {
        let under = of_first(top)?;
        let name = group.whole(&format!("{} over {}", top.name, under.name));
        Some(group.ratio(name, &top.name, group, &under.name, ComparisonKind::Memory))
    })
}

/// A comparison of the file, where the group has both sides.
fn within(section: &ComparisonSection, group: &Group) -> Option<Comparison> {
    let name = |name: &String| group.aliases.get(name).unwrap_or(name).clone();
    let (top, under) = (name(&section.treatment), name(&section.baseline));
    let is_there = group.named(&top).is_some() && group.named(&under).is_some();
    (is_there && top != under).then(|| of_file(section, group, &top, &under, ""))
}

fn of_file(section: &ComparisonSection, group: &Group, top: &str, under: &str, sessions: &str) -> Comparison {
    let name = group.whole(&format!("{}{sessions}", section.name.0));
    group.ratio(name, top, group, under, section.kind.as_deref().unwrap_or(NAMED))
}

/// Adds a comparison of the file, or gives its name and kind to the known pair with the same sides.
///
/// # Errors
/// Another comparison has the name.
fn add_named(
    named: &mut Vec<Comparison>,
    comparison: Comparison,
    section: &ComparisonSection,
    file: &StudyFile,
) -> Result<(), LoadError> {
    // A sweep step keeps its kind: its chart line would have a gap.
    let is_same = |other: &Comparison| {
        other.treatment == comparison.treatment
            && other.baseline == comparison.baseline
            && PAIRS.iter().any(|(kind, ..)| *kind == other.kind)
    };
    let same = named.iter().position(is_same);
    let is_taken = |(at, other): (usize, &Comparison)| other.name == comparison.name && Some(at) != same;
    if named.iter().enumerate().any(is_taken) {
        let at = file.definition.comparisons.iter().position(|other| other.name == section.name);
        let why = format!("comparison '{}' has the name of a built-in one; rename it", section.name.0);
        return Err(file.source.at(&["comparison", &at.unwrap_or_default().to_string(), "name"], why));
    }
    match same {
        None => named.push(comparison),
        Some(at) => {
            named[at].name = comparison.name;
            if comparison.kind != ComparisonKind::from(NAMED) {
                named[at].kind = comparison.kind;
            }
        }
    }
    Ok(())
}

/// A comparison of the file between the placements of the command line: those of its sides, with the file's sessions, or
/// with equal numbers on both sides where the file has equal ones. Otherwise why it is not possible.
fn between(
    section: &ComparisonSection,
    resolver: &Resolver<'_>,
    group: &Group,
) -> Result<Vec<Comparison>, String> {
    let (top, top_sessions) = side(&section.treatment, resolver)?;
    if section.baseline == resolver.definition.baseline.treatment().name() {
        return Err("every placement is compared with the baseline already".to_owned());
    }
    let (under, under_sessions) = side(&section.baseline, resolver)?;
    let on = |placement: &str| {
        let found: Vec<&Candidate> =
            group.compared().filter(|candidate| candidate.placement.text == placement).collect();
        let missing = || format!("{placement} is not among the placements of --placement");
        if found.is_empty() { Err(missing()) } else { Ok(found) }
    };
    let (tops, unders) = (on(top)?, on(under)?);
    let fits = |one: &Candidate, other: &Candidate| match top_sessions == under_sessions {
        true => one.sessions == other.sessions,
        false => (one.sessions, other.sessions) == (top_sessions, under_sessions),
    };
    let all = tops.iter().flat_map(|top| unders.iter().map(move |under| (*top, *under)));
    let pairs: Vec<(&Candidate, &Candidate)> = all.filter(|(top, under)| fits(top, under)).collect();
    let several = pairs.len() > 1;
    let comparison = |(top, under): (&Candidate, &Candidate)| {
        let sessions = if several { format!(" s{}", top.sessions) } else { String::new() };
        of_file(section, group, &top.name, &under.name, &sessions)
    };
    match pairs.is_empty() {
        true => Err("its sides have different numbers of sessions".to_owned()),
        false => Ok(pairs.into_iter().map(comparison).collect()),
    }
}

/// Placement and sessions of a treatment of the file, if it consists of nothing else.
fn side<'a>(name: &str, resolver: &'a Resolver<'_>) -> Result<(&'a str, u32), String> {
    let is_it = |treatment: &&TreatmentSection| treatment.name() == name;
    let found = resolver.definition.treatments.iter().find(is_it);
    let found = found.ok_or_else(|| format!("{name} is the baseline"))?;
    if found.service.is_some() || found.memory.is_some() || !found.set.is_empty() {
        return Err(format!("{name} is more than a placement"));
    }
    let sessions = match found.sessions {
        Some(sessions) => sessions,
        None => default_sessions(&found.placement, resolver.topology).map_err(|error| error.to_string())?,
    };
    Ok((&found.placement.text, sessions))
}

/// The comparisons of a group with versions: the second over the first on each placement, then every placement of the
/// first over the first placement.
fn versions(group: &Group) -> Vec<Comparison> {
    let with = |version: &'static str| -> Vec<&Candidate> {
        let all = group.candidates.iter().filter(|candidate| candidate.role != Role::BaselineTwin);
        all.filter(|candidate| candidate.version == Some(version)).collect()
    };
    let (first, second) = (with(NAMES[0]), with(NAMES[1]));
    let comparison = |top: &Candidate, under: &Candidate, kind: ComparisonKind| {
        let name = format!("{} : {}", group.whole(&top.name), under.name);
        group.ratio(name, &top.name, group, &under.name, kind)
    };
    // All studies use this name for comparisons with the baseline.
    let kind = |at: usize| if at == 0 { ComparisonKind::Baseline } else { ComparisonKind::Version };
    let over =
        second.iter().zip(&first).enumerate().map(|(at, (top, under))| comparison(top, under, kind(at)));
    let others = first.iter().skip(1).map(|top| comparison(top, first[0], ComparisonKind::Baseline));
    over.chain(others).collect()
}

/// Compares every candidate under each level of an arm or instance with itself under the first level, the other levels
/// being the same; and both threads of a core with one with SMT taken away.
fn between_levels(groups: &[Group], both_threads: &[String]) -> Vec<Comparison> {
    let mut found = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let kinds = group.levels.keys().filter_map(|factor| Some((factor, factors::kind(factor)?)));
        for (factor, kind) in kinds {
            let others = |one: &Group| -> Options {
                let others = one.levels.iter().filter(|(name, _)| *name != factor);
                others.map(|(name, level)| (name.clone(), level.clone())).collect()
            };
            let first = groups[..at].iter().find(|first| others(first) == others(group));
            let Some(first) = first else { continue };
            let level = short_label(first, factor, groups).unwrap_or_default();
            let is_there = |candidate: &&Candidate| {
                candidate.role != Role::BaselineTwin && first.named(&candidate.name).is_some()
            };
            let candidates = group.candidates.iter().filter(is_there);
            found.extend(candidates.map(|Candidate { name, .. }| {
                let whole = format!("{} : {factor}={level}", group.whole(name));
                group.ratio(whole, name, first, name, kind.clone())
            }));
            if factor == "smt" {
                found.extend(against_one_thread(first, group, both_threads));
            }
        }
    }
    found
}

fn against_one_thread<'a>(
    with_smt: &'a Group,
    without: &'a Group,
    both_threads: &'a [String],
) -> impl Iterator<Item = Comparison> + 'a {
    let both = with_smt.candidates.iter().filter(|candidate| both_threads.contains(&candidate.name));
    both.filter_map(|both| {
        let placement = BOTH_AND_ONE.iter().find(|(two, _)| *two == both.placement.text)?.1;
        let one = without.candidates.iter().find(|candidate| {
            candidate.role != Role::BaselineTwin
                && candidate.placement.text == placement
                && candidate.set == both.set
        })?;
        let name = format!("{} : {}", with_smt.whole(&both.name), without.whole(&one.name));
        Some(with_smt.ratio(name, &both.name, without, &one.name, ComparisonKind::SmtOff))
    })
}

/// Adds the comparisons of a text of `--compare`: two treatment names with a colon between them. A name without levels
/// stands for the treatments of that name in every group. Existing comparisons are not added twice.
///
/// # Errors
/// A text that is not a pair of names, or an unknown name.
fn add_asked(study: &mut Study, groups: &[Group], text: &str) -> Result<(), LoadError> {
    let refused = |why: String| LoadError::option(format!("--compare {text}"), why);
    let (top, under) = sides(text, study, groups).map_err(refused)?;
    let mut pairs = asked_pairs(&top, &under, study, groups);
    if pairs.is_empty() {
        return Err(refused("no group of the study has both".to_owned()));
    }
    pairs.retain(|pair| {
        let is_same = |one: &Comparison| one.treatment == pair.treatment && one.baseline == pair.baseline;
        !study.comparisons.iter().any(is_same)
    });
    study.comparisons.extend(pairs);
    Ok(())
}

/// Splits a text into two names. Names contain colons (`spread:4`), so each colon is tried.
fn sides(text: &str, study: &Study, groups: &[Group]) -> Result<(String, String), String> {
    let splits: Vec<(&str, &str)> = text
        .match_indices(':')
        .map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()))
        .filter(|(top, under)| !top.is_empty() && !under.is_empty())
        .collect();
    let known = known(study, groups);
    let is_known = |name: &str| known.contains(&name);
    let Some(first) = splits.first() else {
        return Err("give two treatments with a colon between them, such as all:no-smt".to_owned());
    };
    let both = splits.iter().find(|(top, under)| is_known(top) && is_known(under));
    let Some((top, under)) = both else {
        let half = splits.iter().find(|(top, under)| is_known(top) || is_known(under)).unwrap_or(first);
        let missing = if is_known(half.0) { half.1 } else { half.0 };
        return Err(format!("no treatment here is called '{missing}'; {}", nearest(missing, &known)));
    };
    if top == under {
        return Err("both sides are the same treatment".to_owned());
    }
    let is_first = groups.first().is_some_and(|group| group.baseline().name == *top);
    if is_first || study.treatment(top).is_some_and(|(_, found)| found.role != Role::Compared) {
        return Err(format!("'{top}' is the baseline; put it on the right: {under}:{top}"));
    }
    Ok(((*top).to_owned(), (*under).to_owned()))
}

/// Names of treatments, with and without their levels.
fn known<'a>(study: &'a Study, groups: &'a [Group]) -> Vec<&'a str> {
    let bare = groups.first().into_iter().flat_map(|group| &group.candidates);
    let bare = bare.map(|candidate| (candidate.role, candidate.name.as_str()));
    let whole = study.treatments.iter().map(|treatment| (treatment.role, treatment.name.as_str()));
    distinct(bare.chain(whole).filter(|(role, _)| *role != Role::BaselineTwin).map(|(_, name)| name))
}

/// The known names most similar to what was typed (Jaro-Winkler similarity).
fn nearest(typed: &str, known: &[&str]) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(typed, name);
    let mut names = known.to_vec();
    names.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    names.truncate(NEAREST);
    format!("the nearest are {}", names.join(", "))
}

/// The comparison in each group that has both, or the one of two whole names.
fn asked_pairs(top: &str, under: &str, study: &Study, groups: &[Group]) -> Vec<Comparison> {
    let baseline = |name: String| {
        let group = groups.iter().find(|group| group.whole(&group.baseline().name) == name);
        group.map_or_else(|| vec![name], |group| group.below(&group.baseline().name))
    };
    let is_there = |name: &String| study.treatment(name).is_some();
    let pair = |top: String, under: String| {
        (is_there(&top) && is_there(&under)).then(|| Comparison {
            name: format!("{top} : {under}"),
            treatment: top,
            baseline: baseline(under),
            kind: NAMED.into(),
        })
    };
    let is_bare = |name: &str| groups.iter().any(|group| group.named(name).is_some());
    if !is_bare(top) && !is_bare(under) || groups.len() < 2 {
        return pair(top.to_owned(), under.to_owned()).into_iter().collect();
    }
    let whole = |name: &str, group: &Group| if is_bare(name) { group.whole(name) } else { name.to_owned() };
    groups.iter().filter_map(|group| pair(whole(top, group), whole(under, group))).collect()
}
