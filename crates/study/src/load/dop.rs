//! Degrees of parallelism: every placement of `[dop]` with 1, 2, 4, … and as many threads as it has
//! cores and logical CPUs; for streams of queries their numbers beside it.

use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{CpuSet, Draw, Pin, Placement, PlacementError, Topology};
use toml::{Spanned, Value};

use super::expand::Seat;
use super::policy::Policies;
use super::raw::{RawDop, RawStudy};
use super::sweep::is_same;
use super::{LoadError, Overrides, Source, StudyFile};
use crate::study::MIN_BLOCKS;
use crate::{Comparison, OptionValue, Role, tpch};

/// Name of the option.
pub(super) const DOP: &str = "dop";

/// Highest DOP that may be asked for: as many as a worker may have logical CPUs, and more than any
/// machine has.
const MAX_DOP: u32 = 4096;

/// What the sides of a comparison of DOPs are found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point {
    /// Seat name.
    pub name: String,
    /// Placement text.
    pub placement: String,
    pub dop: u32,
    pub streams: u32,
    /// Physical cores of the placement.
    pub cores: u32,
    /// Logical CPUs of the placement.
    pub cpus: u32,
}

/// What one placement is here.
struct Site {
    text: String,
    cores: u32,
    cpus: u32,
}

/// Seats of `[dop]`, or of `--placement`, `--dop` and `--streams` where they are given; those that are
/// the baseline itself are points without a seat.
pub(super) fn seats(
    file: &StudyFile,
    topology: &Topology,
    overrides: &Overrides,
    policies: &Policies,
    baseline: &Seat,
    left_out: &mut Vec<String>,
) -> Result<(Vec<Seat>, Vec<Point>), LoadError> {
    let Some(raw) = &file.raw.dop else {
        return match (&overrides.dops, &overrides.sessions) {
            (Some(_), _) => {
                Err(refused("--dop", "this study has no [dop] section, so its treatments have no DOP"))
            }
            _ => Ok((Vec::new(), Vec::new())),
        };
    };
    let sites = sites(file, raw, topology, overrides, policies, left_out)?;
    let asked = list_of(raw.levels.as_ref(), &file.source, "levels", MAX_DOP)?;
    let streams = match &overrides.sessions {
        Some(streams) => super::expand::session_list(streams)?,
        None => list_of(raw.streams.as_ref(), &file.source, "streams", super::MAX_SESSIONS)?
            .unwrap_or_else(|| vec![1]),
    };
    let dops = overrides.dops.clone().or(asked);
    if let Some(bad) = dops.iter().flatten().find(|dop| !(1..=MAX_DOP).contains(*dop)) {
        return Err(refused("--dop", &format!("{bad}; 1 to {MAX_DOP} is allowed")));
    }
    let mut found = (Vec::new(), Vec::new());
    for site in &sites {
        let mut levels = dops.clone().unwrap_or_else(|| automatic(site));
        levels.sort_unstable();
        levels.dedup();
        for (&dop, &count) in levels.iter().flat_map(|dop| streams.iter().map(move |count| (dop, count))) {
            let names_streams = streams.len() > 1 || count != baseline.sessions;
            add(&mut found, site, (dop, count, names_streams), baseline, policies, topology);
        }
    }
    Ok(found)
}

fn add(
    (seats, points): &mut (Vec<Seat>, Vec<Point>),
    site: &Site,
    (dop, streams, names_streams): (u32, u32, bool),
    baseline: &Seat,
    policies: &Policies,
    topology: &Topology,
) {
    let suffix = if names_streams { format!(" s{streams}") } else { String::new() };
    let mut seat = Seat {
        name: format!("{} d{dop}{suffix}", site.text),
        placement: site.text.clone(),
        sessions: streams,
        pin: Pin::Set,
        role: Role::Compared,
        ..baseline.clone()
    };
    seat.set.insert(DOP.to_owned(), OptionValue::Integer(i64::from(dop)));
    let draws: Vec<Draw> =
        (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, policies.seed, block)).collect();
    let is_baseline = is_same(baseline, &seat, topology, &draws);
    let name = if is_baseline { baseline.name.clone() } else { seat.name.clone() };
    points.push(Point {
        name,
        placement: site.text.clone(),
        dop,
        streams,
        cores: site.cores,
        cpus: site.cpus,
    });
    if !is_baseline {
        seats.push(seat);
    }
}

/// The placements that this machine has, each once: `all` is `no-smt` where there is no SMT.
fn sites(
    file: &StudyFile,
    raw: &RawDop,
    topology: &Topology,
    overrides: &Overrides,
    policies: &Policies,
    left_out: &mut Vec<String>,
) -> Result<Vec<Site>, LoadError> {
    let asked: Vec<String> = match &overrides.placements {
        Some(texts) => texts.iter().map(|text| text.trim().to_owned()).collect(),
        None => raw.placements.get_ref().iter().map(|text| text.get_ref().clone()).collect(),
    };
    let mut sites: Vec<(Site, Vec<CpuSet>)> = Vec::new();
    for text in asked {
        let sets = match sets(&text, topology, policies.seed) {
            Ok(sets) => sets,
            Err(PlacementError::Lacking { lacks, .. }) if overrides.placements.is_none() => {
                left_out.push(format!("{text}: {lacks}"));
                continue;
            }
            Err(error) if overrides.placements.is_some() => {
                return Err(refused("--placement", &error.to_string()));
            }
            Err(error) => return Err(file.source.at(raw.placements.span(), error.to_string())),
        };
        if let Some((other, _)) = sites.iter().find(|(_, earlier)| *earlier == sets) {
            left_out.push(format!("{text}: the same as {} on this machine", other.text));
            continue;
        }
        let cpus = sets.first().map_or(0, |set| set.len() as u32);
        let cores = sets.first().map_or(cpus, |set| cores(set, topology));
        sites.push((Site { text, cores, cpus }, sets));
    }
    Ok(sites.into_iter().map(|(site, _)| site).collect())
}

/// The logical CPUs of a placement in each of the first draws.
fn sets(text: &str, topology: &Topology, seed: u64) -> Result<Vec<CpuSet>, PlacementError> {
    let parsed: Placement = text.parse()?;
    let set = |block| {
        let draw = Draw::for_block(topology, seed, block);
        placement::resolve(&parsed, topology, &draw, 1, Pin::Set).map(|found: Resolved| found.set())
    };
    (0..MIN_BLOCKS).map(set).collect()
}

/// Cores with a logical CPU in the set; a logical CPU whose core nobody knows counts as one.
fn cores(set: &CpuSet, topology: &Topology) -> u32 {
    let mut firsts: Vec<u32> = set
        .iter()
        .map(|cpu| topology.cpu(cpu).and_then(|known| known.siblings.iter().next()).unwrap_or(cpu))
        .collect();
    firsts.sort_unstable();
    firsts.dedup();
    firsts.len() as u32
}

/// 1, 2, 4, … below the logical CPUs of a placement, its cores, and its logical CPUs.
fn automatic(site: &Site) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power).take_while(|&dop| dop < site.cpus);
    powers.chain([site.cores, site.cpus]).collect()
}

/// A list of numbers of the file; `None` for `auto` and where there is none.
fn list_of(
    value: Option<&Spanned<Value>>,
    source: &Source,
    key: &str,
    most: u32,
) -> Result<Option<Vec<u32>>, LoadError> {
    let Some(value) = value else { return Ok(None) };
    let wrong = || {
        let why = format!("{key} of [dop]: \"auto\" or a list of 1 to {most} such as [1, 2, 4] is allowed");
        source.at(value.span(), why)
    };
    let numbers = match value.get_ref() {
        Value::String(word) if word == "auto" => return Ok(None),
        Value::Array(numbers) if !numbers.is_empty() => numbers,
        _ => return Err(wrong()),
    };
    let number = |value: &Value| {
        value
            .as_integer()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (1..=most).contains(number))
    };
    numbers.iter().map(number).collect::<Option<Vec<u32>>>().map(Some).ok_or_else(wrong)
}

/// Checks what needs no machine.
pub(super) fn check(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    let Some(dop) = &raw.dop else { return Ok(()) };
    if raw.workload.get_ref() != tpch::WORKLOAD {
        return Err(foreign(raw, source));
    }
    list_of(dop.levels.as_ref(), source, "levels", MAX_DOP)?;
    list_of(dop.streams.as_ref(), source, "streams", super::MAX_SESSIONS)?;
    for text in dop.placements.get_ref() {
        if let Err(error) = text.get_ref().parse::<Placement>() {
            return Err(source.at(text.span(), error.to_string()));
        }
    }
    Ok(())
}

/// A workload that has no DOP; one that is almost spelt like the one that has is meant to be it.
fn foreign(raw: &RawStudy, source: &Source) -> LoadError {
    let letters = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let (own, known) = (raw.workload.get_ref(), tpch::WORKLOAD);
    let way = match letters(own) == letters(known) {
        true => format!("write workload = \"{known}\""),
        false => format!("leave the section out, or write workload = \"{known}\""),
    };
    let why =
        format!("workload '{own}' has no [dop]: it is for {known}, whose queries run in parallel; {way}");
    source.at(raw.workload.span(), why)
}

/// What is compared beside the baseline: each DOP with the next lower one; both threads of every core
/// with one, at the same DOP, and each at its own.
pub(super) fn comparisons(points: &[Point], baseline: &[Seat], suffix: &str) -> Vec<Comparison> {
    let below = |name: &str| match name == baseline[0].name {
        true => baseline.iter().take(2).map(|seat| format!("{}{suffix}", seat.name)).collect(),
        false => vec![format!("{name}{suffix}")],
    };
    let compare = |kind: &str, name: String, top: &Point, under: &Point| Comparison {
        name: format!("{name}{suffix}"),
        treatment: format!("{}{suffix}", top.name),
        baseline: below(&under.name),
        kind: kind.to_owned(),
    };
    let mut found = Vec::new();
    for top in points {
        // A step that starts at the baseline is a comparison with the baseline already.
        let lower = points.iter().filter(|other| other.is_beside(top) && other.dop < top.dop);
        if let Some(under) = lower.max_by_key(|other| other.dop).filter(|one| one.name != baseline[0].name) {
            found.push(compare("dop-step", format!("{} over d{}", top.name, under.dop), top, under));
        }
        let one_thread = |dop| {
            points
                .iter()
                .find(|other| other.placement == "no-smt" && other.streams == top.streams && other.dop == dop)
        };
        if top.placement != "all" {
            continue;
        }
        if let Some(under) = one_thread(top.dop).filter(|one| one.name != baseline[0].name) {
            found.push(compare("smt-dop", format!("{} over {}", top.name, under.name), top, under));
        }
        if let Some(under) = one_thread(top.cores).filter(|under| top.dop == top.cpus && under.dop < top.dop)
        {
            found.push(compare("both-threads", format!("{} over {}", top.name, under.name), top, under));
        }
    }
    found.retain(|one| one.treatment != format!("{}{suffix}", baseline[0].name));
    found
}

impl Point {
    /// Same placement, same streams.
    fn is_beside(&self, other: &Self) -> bool {
        self.placement == other.placement && self.streams == other.streams
    }
}

fn refused(option: &str, why: &str) -> LoadError {
    LoadError::Override { option: option.to_owned(), why: why.to_owned() }
}
