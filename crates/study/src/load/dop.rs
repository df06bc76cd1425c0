//! Degrees of parallelism: every placement of `[dop]` with 1, 2, 4, … and as many threads as it has
//! cores and logical CPUs; for streams of queries, combined with their numbers.

use threadwise_machine::{Draw, Pin, Topology};

use super::error::{LoadError, Source};
use super::file::StudyFile;
use super::overrides::Overrides;
use super::policy::Policies;
use super::raw::RawStudy;
use super::seat::{Seat, is_same};
use super::sites::{self, Site, list_of};
use super::values::{MAX_SESSIONS, session_list};
use crate::study::MIN_BLOCKS;
use crate::{Comparison, OptionValue, Role, Workload};

/// Name of the option.
pub(super) const DOP: &str = "dop";

/// Highest allowed DOP: the maximum of logical CPUs of a worker, more than any machine has.
const MAX_DOP: u32 = 4096;

/// Names of the lists in errors.
const LEVELS: &str = "levels of [dop]";
const STREAMS: &str = "streams of [dop]";
/// Maximum combinations of a placement. Resolving each takes milliseconds on a large machine, and a study of more would
/// be refused for its number of treatments.
const MOST_POINTS: usize = 500;

/// Keys for finding the sides of a comparison of DOPs.
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

/// Seats of `[dop]`, or of `--placement`, `--dop` and `--streams` if given; those equal to the baseline are points
/// without a seat.
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
    let sites = sites::sites(&raw.placements, "", file, overrides, policies, left_out)?;
    let asked = list_of(raw.levels.as_ref(), &file.source, LEVELS, MAX_DOP)?;
    let streams = match &overrides.sessions {
        Some(streams) => session_list(streams)?,
        None => {
            list_of(raw.streams.as_ref(), &file.source, STREAMS, MAX_SESSIONS)?.unwrap_or_else(|| vec![1])
        }
    };
    let dops = overrides.dops.clone().or(asked);
    if let Some(bad) = dops.iter().flatten().find(|dop| !(1..=MAX_DOP).contains(*dop)) {
        return Err(refused("--dop", &format!("{bad}; 1 to {MAX_DOP} is allowed")));
    }
    let mut found = (Vec::new(), Vec::new());
    for site in &sites {
        let levels = |count: u32| match &dops {
            Some(dops) => sorted(dops.clone()),
            None => automatic(site, topology, count),
        };
        let all = streams.iter().flat_map(|count| levels(*count).into_iter().map(|dop| (dop, *count)));
        let mut all: Vec<(u32, u32)> = all.collect();
        all.sort_unstable();
        if all.len() > MOST_POINTS {
            let why =
                format!("[dop]: more than {MOST_POINTS} combinations of degrees and streams; remove some");
            return Err(file.source.at(0..0, why));
        }
        for (dop, count) in all {
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
        cores: site.cores(topology),
        cpus: site.cpus(),
    });
    if !is_baseline {
        seats.push(seat);
    }
}

/// 1, 2, 4, … below the logical CPUs of a placement, its cores, and its logical CPUs. With several streams also the
/// degree at which all of them together have 150% of the cores, beyond which a published article saw no more gain, if
/// that is a whole number; and the cores of a NUMA node if there are several.
fn automatic(site: &Site, topology: &Topology, streams: u32) -> Vec<u32> {
    let (cores, cpus) = (site.cores(topology), site.cpus());
    let powers = (0..32).map(|power| 1_u32 << power).take_while(|&dop| dop < cpus);
    let whole = (streams > 1 && (3 * cores).is_multiple_of(2 * streams)).then(|| 3 * cores / (2 * streams));
    let node = site.cores_of_one_node(topology);
    sorted(powers.chain([cores, cpus]).chain(whole).chain(node).collect())
}

fn sorted(mut levels: Vec<u32>) -> Vec<u32> {
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// Checks that need no machine.
pub(super) fn check(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    let Some(dop) = &raw.dop else { return Ok(()) };
    if !raw.workload.get_ref().has_dop() {
        return Err(foreign(raw, source));
    }
    list_of(dop.levels.as_ref(), source, LEVELS, MAX_DOP)?;
    list_of(dop.streams.as_ref(), source, STREAMS, MAX_SESSIONS)?;
    sites::check(&dop.placements, source)
}

/// Error for a workload without a DOP; suggests the one that is spelt almost alike.
fn foreign(raw: &RawStudy, source: &Source) -> LoadError {
    let letters = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let written = raw.workload.get_ref().name();
    let with_dop = Workload::ALL.iter().filter(|workload| workload.has_dop());
    let known: Vec<&str> = with_dop.map(Workload::name).collect();
    let way = match known.iter().find(|known| letters(written) == letters(known)) {
        Some(known) => format!("write workload = \"{known}\""),
        None => format!("leave the section out, or write workload = \"{}\"", known[0]),
    };
    let known = known.join(" and ");
    let why =
        format!("workload '{written}' has no [dop]: it is for {known}, whose queries run in parallel; {way}");
    source.at(raw.workload.span(), why)
}

/// Comparisons beside the baseline: each DOP with the next lower one; both threads of every core with one, at the same
/// DOP, and each at its own.
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
        // A step from the baseline is already a comparison with the baseline.
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
