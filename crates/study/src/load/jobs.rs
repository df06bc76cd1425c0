//! Numbers of jobs of work lists: every placement of `[jobs]` with 1, 2, 4, … jobs, up to twice its logical CPUs.
//!
//! A published work list of backup and restore was run with 1, 2, 4 and 8 jobs on two processors of two threads, which
//! is up to twice the logical CPUs; its author expected no gain beyond that.

use threadwise_machine::{Draw, Pin};

use super::error::{LoadError, Source};
use super::file::StudyFile;
use super::overrides::Overrides;
use super::policy::Policies;
use super::raw::RawStudy;
use super::seat::{Seat, is_same};
use super::sites::{self, Site, list_of};
use crate::study::MIN_BLOCKS;
use crate::worklist::MAX_JOBS;
use crate::{Comparison, Role, Workload};

/// Name of the list in errors.
const LEVELS: &str = "levels of [jobs]";

/// Default maximum of jobs.
const MOST_AUTOMATIC: u32 = 64;

/// Keys for finding the sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point {
    /// Seat name.
    name: String,
    /// Placement text.
    placement: String,
    jobs: u32,
}

/// Seats of `[jobs]`, or of `--placement` and `--jobs` if given; those equal to the baseline are points without a seat.
pub(super) fn seats(
    file: &StudyFile,
    overrides: &Overrides,
    policies: &Policies,
    baseline: &Seat,
    left_out: &mut Vec<String>,
) -> Result<(Vec<Seat>, Vec<Point>), LoadError> {
    refuse_foreign(file, overrides)?;
    let Some(raw) = &file.raw.jobs else { return Ok((Vec::new(), Vec::new())) };
    let base = baseline.placement.trim();
    let mut sites = sites::sites(&raw.placements, base, file, overrides, policies, left_out)?;
    // One placement under two names would be two lines of a chart.
    let base_site = Site::of(base, policies);
    for site in sites.iter_mut().filter(|site| site.text != base) {
        if base_site.as_ref().is_ok_and(|base_site| base_site.sets == site.sets) {
            left_out.push(format!("{}: the same as {base} on this machine", site.text));
            site.text = base.to_owned();
        }
    }
    let asked = match &overrides.jobs {
        Some(jobs) => Some(jobs.clone()),
        None => list_of(raw.levels.as_ref(), &file.source, LEVELS, MAX_JOBS)?,
    };
    let mut found = (Vec::new(), Vec::new());
    for site in &sites {
        if let Some(lacks) = policies.lacks(&baseline.memory, &site.text) {
            left_out.push(format!("{}: {lacks}", site.text));
            continue;
        }
        let mut levels = asked.clone().unwrap_or_else(|| automatic(site.cpus()));
        levels.sort_unstable();
        levels.dedup();
        levels.iter().for_each(|&jobs| add(&mut found, site, jobs, baseline, policies));
    }
    Ok(found)
}

fn add(
    (seats, points): &mut (Vec<Seat>, Vec<Point>),
    site: &Site,
    jobs: u32,
    baseline: &Seat,
    policies: &Policies,
) {
    let seat = Seat {
        name: format!("{} j{jobs}", site.text),
        placement: site.text.clone(),
        sessions: jobs,
        pin: Pin::Set,
        role: Role::Compared,
        ..baseline.clone()
    };
    let draws: Vec<Draw> =
        (0..MIN_BLOCKS).map(|block| Draw::for_block(policies.topology, policies.seed, block)).collect();
    let is_baseline = is_same(baseline, &seat, policies.topology, &draws);
    let name = if is_baseline { baseline.name.clone() } else { seat.name.clone() };
    points.push(Point { name, placement: site.text.clone(), jobs });
    if !is_baseline {
        seats.push(seat);
    }
}

/// 1, 2, 4, … up to twice the logical CPUs of a placement, and at least 4.
fn automatic(cpus: u32) -> Vec<u32> {
    let most = cpus.saturating_mul(2).clamp(4, MOST_AUTOMATIC);
    (0..32).map(|power| 1_u32 << power).take_while(|&jobs| jobs <= most).collect()
}

/// Refuses numbers on the command line that this study does not use.
fn refuse_foreign(file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    let refused = |option: &str, why: String| Err(LoadError::Override { option: option.to_owned(), why });
    let workload = file.workload();
    let Some(jobs) = &overrides.jobs else {
        return match &overrides.sessions {
            Some(_) if *workload == Workload::WorkList => {
                refused("--sessions", "a work list has jobs: give their numbers with --jobs LIST".to_owned())
            }
            _ => Ok(()),
        };
    };
    if *workload != Workload::WorkList {
        let way = "threadwise run work-list";
        return refused(
            "--jobs",
            format!("it is for work lists, and this study's workload is {workload}; use {way}"),
        );
    }
    if let Some(bad) = jobs.iter().find(|jobs| !(1..=MAX_JOBS).contains(*jobs)) {
        return refused("--jobs", format!("{bad}; 1 to {MAX_JOBS} is allowed"));
    }
    match (jobs.len(), &file.raw.jobs) {
        (0, _) => refused("--jobs", "no number is given".to_owned()),
        (2.., None) => {
            let way = "give one number, or use the preset work-list";
            refused("--jobs", format!("all treatments of this study have the same number of jobs: {way}"))
        }
        _ => Ok(()),
    }
}

/// The number of jobs that the command line sets for treatments without their own.
pub(super) fn asked(overrides: &Overrides) -> Option<u32> {
    match overrides.jobs.as_deref() {
        Some(&[jobs]) => Some(jobs),
        _ => None,
    }
}

/// Jobs of a treatment without its own number: that of the command line, or one for each logical CPU and at least two,
/// since with one there is nothing to schedule.
pub(super) fn number(overrides: &Overrides, cpus: u32) -> u32 {
    asked(overrides).unwrap_or(cpus.clamp(2, MAX_JOBS))
}

/// Refuses a number of jobs that no treatment would use: treatments without `[jobs]` keep their own.
pub(super) fn refuse_unused(file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    let raw = &file.raw;
    let is_schedule = *raw.workload.get_ref() == Workload::WorkList && raw.jobs.is_none();
    if !is_schedule || overrides.jobs.is_none() || overrides.placements.is_some() {
        return Ok(());
    }
    let numbers = raw.treatments.iter().map(|treatment| &treatment.sessions);
    if numbers.chain([&raw.baseline.sessions]).any(Option::is_none) {
        return Ok(());
    }
    let why = "all treatments of this study set their own (sessions); change them there";
    Err(LoadError::Override { option: "--jobs".to_owned(), why: why.to_owned() })
}

/// Checks that need no machine.
pub(super) fn check(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    if *raw.workload.get_ref() == Workload::WorkList {
        let counts = raw.treatments.iter().map(|treatment| &treatment.sessions);
        for count in counts.chain([&raw.baseline.sessions]).flatten() {
            if *count.get_ref() > MAX_JOBS {
                let why = format!("{} jobs; at most {MAX_JOBS} are allowed", count.get_ref());
                return Err(source.at(count.span(), why));
            }
        }
    }
    let Some(jobs) = &raw.jobs else { return Ok(()) };
    let place = jobs.placements.span();
    if *raw.workload.get_ref() != Workload::WorkList {
        let workload = raw.workload.get_ref();
        let why = format!(
            "workload '{workload}' has no [jobs]: it is for {}; leave the section out",
            Workload::WorkList
        );
        return Err(source.at(raw.workload.span(), why));
    }
    if raw.sweep.is_some() {
        return Err(source.at(place, "a work list has [jobs], or a [sweep] of sessions; keep one of them"));
    }
    if jobs.placements.get_ref().is_empty() {
        return Err(
            source.at(place, "placements of [jobs]: the list is empty; add a placement such as \"all\"")
        );
    }
    list_of(jobs.levels.as_ref(), source, LEVELS, MAX_JOBS)?;
    sites::check(&jobs.placements, source)
}

/// Comparisons beside the baseline: each number of jobs with the next lower one, and both threads of every core with
/// one at the same number of jobs.
pub(super) fn comparisons(points: &[Point], baseline: &[Seat], suffix: &str) -> Vec<Comparison> {
    let alone = &baseline[0].name;
    let compare = |kind: &str, name: String, top: &Point, under: &Point| Comparison {
        name: format!("{name}{suffix}"),
        treatment: format!("{}{suffix}", top.name),
        baseline: vec![format!("{}{suffix}", under.name)],
        kind: kind.to_owned(),
    };
    let mut found = Vec::new();
    for top in points {
        let lower = points.iter().filter(|other| other.placement == top.placement && other.jobs < top.jobs);
        if let Some(under) = lower.max_by_key(|other| other.jobs) {
            let name = format!("jobs {}-{} {}", under.jobs, top.jobs, top.placement);
            found.push((compare("jobs-step", name, top, under), top, under));
        }
        let is_one_thread = |other: &&Point| other.placement == "no-smt" && other.jobs == top.jobs;
        if let Some(under) = points.iter().find(is_one_thread).filter(|_| top.placement == "all") {
            let name = format!("all over no-smt, j{}", top.jobs);
            found.push((compare("smt-whole", name, top, under), top, under));
        }
    }
    // Comparisons with the baseline exist already.
    found.retain(|(_, top, under)| top.name != *alone && under.name != *alone);
    found.into_iter().map(|(comparison, ..)| comparison).collect()
}

#[cfg(test)]
mod tests {
    use super::automatic;

    #[test]
    fn automatic_numbers_end_at_twice_the_logical_cpus() {
        assert_eq!(automatic(1), [1, 2, 4]);
        assert_eq!(automatic(2), [1, 2, 4]);
        assert_eq!(automatic(4), [1, 2, 4, 8]);
        assert_eq!(automatic(6), [1, 2, 4, 8], "12 is no power of two");
        assert_eq!(automatic(768), [1, 2, 4, 8, 16, 32, 64]);
    }
}
