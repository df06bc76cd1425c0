//! Axes: numbers by which treatments differ, and nothing else does: sessions of a sweep, degrees of parallelism
//! (`[dop]`), jobs of a work list (`[jobs]`). A line of an axis is a placement, or an order of logical CPUs, with all of
//! its numbers; each point is compared with the next lower one on its line.

use std::collections::BTreeSet;

use threadwise_machine::{CpuSet, Pin, Placement, PlacementError, Topology};

use super::candidate::{Candidate, Group, Resolver, default_sessions};
use super::definition::{MAX_DOP, MAX_SESSIONS, Orders, SweepSection};
use super::overrides::Overrides;
use super::source::LoadError;
use crate::worklist::MAX_JOBS;
use crate::{Comparison, ComparisonKind, OptionValue, Role, Workload};

/// The option that is a degree of parallelism.
pub(super) const DOP: &str = "dop";

/// Default end of a sweep as a multiple of the allowed logical CPUs.
const PAST: f64 = 1.5;

/// Placements with all cores of a package, of a node and of the machine: `auto` has points at their sizes.
const CORES: [&str; 3] = ["package-no-smt", "node-no-smt", "no-smt"];

/// Default maximum of jobs.
const MOST_AUTOMATIC_JOBS: u32 = 64;

/// Maximum combinations of degrees and streams of a placement. Resolving each takes milliseconds on a large machine, and a
/// study of more would be refused for its number of treatments.
const MOST_POINTS: usize = 500;

/// What the numbers of an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sessions of a sweep.
    Sessions,
    /// Degrees of parallelism.
    Dop,
    /// Jobs of a work list.
    Jobs,
}

/// An axis on this machine.
pub(super) struct Axis {
    pub kind: Kind,
    /// The treatments of points without an equal one.
    pub candidates: Vec<Candidate>,
    points: Vec<Point>,
    /// Physical cores that a sweep may use.
    cores: u32,
    /// Logical CPUs that it may use.
    allowed: u32,
}

/// A number on a line, and the treatment that represents it.
#[derive(Debug, Clone, Default)]
struct Point {
    /// Placement of its line, or the order where a sweep has several.
    line: String,
    /// Streams of its line; 0 on other axes.
    streams: u32,
    number: u32,
    /// Name of its treatment.
    name: String,
    /// Physical cores and logical CPUs of its placement.
    cores: u32,
    cpus: u32,
}

impl Point {
    /// Whether both are on one line.
    fn is_beside(&self, other: &Self) -> bool {
        self.line == other.line && self.streams == other.streams
    }
}

/// A placement of a section, and its logical CPUs in each of the first blocks.
struct Line {
    placement: Placement,
    sets: Vec<CpuSet>,
}

impl Axis {
    /// The axis of a study, if it has one here; adds what is left out to `left_out`.
    pub fn of(
        resolver: &Resolver<'_>,
        others: &[Candidate],
        left_out: &mut Vec<String>,
    ) -> Result<Option<Self>, LoadError> {
        let Some(section) = resolver.definition.section() else {
            return resolver.sweep(others, left_out);
        };
        let axis = match &resolver.definition.jobs {
            Some(_) => resolver.jobs(others, left_out)?,
            None => resolver.dops(others, left_out)?,
        };
        match resolver.overrides.orders {
            None => Ok(Some(axis)),
            // With [dop], numbers of sessions mean streams, and with [jobs] they mean jobs.
            Some(_) => {
                let why =
                    format!("the treatments of this study are those of {section}, which cannot have a sweep");
                Err(LoadError::option("--sweep", why))
            }
        }
    }

    fn new(kind: Kind) -> Self {
        Self { kind, candidates: Vec::new(), points: Vec::new(), cores: 0, allowed: 0 }
    }

    /// Adds a candidate with the points that it represents. If another treatment equals it, that one represents them.
    fn add(
        &mut self,
        points: impl IntoIterator<Item = Point>,
        candidate: Candidate,
        others: &[Candidate],
        resolver: &Resolver<'_>,
    ) {
        let same = others.iter().find(|other| resolver.is_same(other, &candidate));
        let name = same.map_or(&candidate.name, |other| &other.name);
        self.points.extend(points.into_iter().map(|point| Point { name: name.clone(), ..point }));
        if same.is_none() {
            self.candidates.push(candidate);
        }
    }

    /// Comparisons beside the baseline, each pair of treatments once: each point with the next lower one on its line; both
    /// threads of every core with one at the same number, and at as many as there are; at the end of a sweep's line, what more
    /// sessions than cores add.
    pub fn comparisons(&self, group: &Group) -> Vec<Comparison> {
        let alone = &group.baseline().name;
        let mut found: Vec<Comparison> = Vec::new();
        let mut add = |kind: ComparisonKind, name: String, top: &Point, under: &Point| {
            let is_known = under.name == *alone && kind != ComparisonKind::BothThreads
                || top.name == *alone && self.kind != Kind::Sessions;
            let comparison = group.ratio(group.whole(&name), &top.name, group, &under.name, kind);
            let is_there = |other: &Comparison| {
                other.treatment == comparison.treatment && other.baseline == comparison.baseline
            };
            if !is_known && !found.iter().any(is_there) {
                found.push(comparison);
            }
        };
        for (at, top) in self.points.iter().enumerate() {
            let line = || self.points.iter().filter(|other| other.is_beside(top));
            if let Some(under) = line().filter(|other| other.number < top.number).max_by_key(|one| one.number)
            {
                let (kind, name) = self.step(top, under);
                add(kind, name, top, under);
            }
            let one_thread = |number: u32| {
                let is_it = |other: &&Point| {
                    other.line == "no-smt" && other.streams == top.streams && other.number == number
                };
                self.points.iter().find(is_it).filter(|_| top.line == "all")
            };
            let over = |under: &Point| format!("{} over {}", top.name, under.name);
            match (one_thread(top.number), self.kind) {
                (None, _) => {}
                (Some(under), Kind::Jobs) => {
                    add(ComparisonKind::SmtWhole, format!("all over no-smt, j{}", top.number), top, under);
                }
                (Some(under), _) => add(ComparisonKind::SmtDop, over(under), top, under),
            }
            if self.kind == Kind::Dop
                && top.number == top.cpus
                && let Some(under) = one_thread(top.cores).filter(|under| under.number < top.number)
            {
                add(ComparisonKind::BothThreads, over(under), top, under);
            }
            if let Some(under) = self.points.iter().find(|first| first.number == top.number)
                && self.kind == Kind::Sessions
                && !under.is_beside(top)
                && under.name != top.name
            {
                let name = format!("{} over {}, {} sessions", top.line, under.line, top.number);
                add(ComparisonKind::Orders, name, top, under);
            }
            let is_last = self.points.get(at + 1).is_none_or(|next| !next.is_beside(top));
            if self.kind == Kind::Sessions && is_last {
                // The last point in which no two sessions share a logical CPU; without SMT the last of all.
                let beyond = || line().filter(|point| point.number > self.cores);
                let last =
                    beyond().rfind(|point| point.number <= self.allowed).or_else(|| beyond().next_back());
                if let Some((under, top)) = line().find(|point| point.number == self.cores).zip(last) {
                    let name = format!("beyond-cores {}", self.span(top, under));
                    add(ComparisonKind::BeyondCores, name, top, under);
                }
            }
        }
        found
    }

    /// Kind and name of the comparison of a point with the one before it.
    fn step(&self, top: &Point, under: &Point) -> (ComparisonKind, String) {
        match self.kind {
            Kind::Sessions => (ComparisonKind::SweepStep, format!("sweep-step {}", self.span(top, under))),
            Kind::Dop => (ComparisonKind::DopStep, format!("{} over d{}", top.name, under.number)),
            Kind::Jobs => {
                (ComparisonKind::JobsStep, format!("jobs {}-{} {}", under.number, top.number, top.line))
            }
        }
    }

    /// The numbers of two points of a sweep, after the order where it has several.
    fn span(&self, top: &Point, under: &Point) -> String {
        let order = if top.line.is_empty() { String::new() } else { format!("{} ", top.line) };
        format!("{order}{}-{}", under.number, top.number)
    }
}

impl Resolver<'_> {
    /// The points of a sweep in each order. They have the baseline's memory policy; a point without memory for it
    /// (`remote` when all nodes work) is left out.
    fn sweep(&self, others: &[Candidate], left_out: &mut Vec<String>) -> Result<Option<Axis>, LoadError> {
        let Overrides { sessions, orders, placements, .. } = self.overrides;
        let asked = sessions.as_deref().map(session_list).transpose()?;
        let is_asked_for = asked.is_some() || orders.is_some();
        if placements.is_some() || (self.definition.sweep.is_none() && !is_asked_for) {
            return Ok(None);
        }
        let section: SweepSection = self.definition.sweep.clone().unwrap_or_default();
        let orders = match orders {
            Some(words) => Orders::of(words.iter().map(String::as_str))
                .map_err(|why| LoadError::option("--sweep", why))?,
            None => section.order,
        };
        let allowed = self.topology.allowed().len() as u32;
        let cores = CORES.map(|text| {
            let placement: Result<Placement, _> = text.parse();
            placement.and_then(|placement| default_sessions(&placement, self.topology)).unwrap_or(allowed)
        });
        let past = (f64::from(allowed) * section.past.unwrap_or(PAST)).ceil() as u32;
        let llcs = self.topology.llc_domains.iter().map(|llc| cores_in(&llc.cpus, self.topology));
        let llc = llcs.max().unwrap_or(allowed);
        let points = asked
            .or(section.sessions.0)
            .unwrap_or_else(|| ascending(powers(allowed).chain(cores).chain([llc, allowed, past])));
        let mut axis = Axis { cores: cores[2], allowed, ..Axis::new(Kind::Sessions) };
        let several = orders.0.len() > 1;
        let line = |order: &str| if several { order.to_owned() } else { String::new() };
        let mut shared: Vec<String> = Vec::new();
        for &number in &points {
            let candidate = |order: &&'static str| -> Result<Candidate, PlacementError> {
                let word = if several { order } else { "sessions" };
                Ok(Candidate {
                    name: format!("{word}-{number}"),
                    placement: format!("{order}:{}", number.min(allowed)).parse()?,
                    sessions: number,
                    pin: self.definition.pin(section.pin),
                    role: Role::Compared,
                    ..others[0].clone()
                })
            };
            let all: Result<Vec<Candidate>, _> = orders.0.iter().map(candidate).collect();
            let mut all = all.map_err(|error| LoadError::option("--sweep", error.to_string()))?;
            // With the same set in every order it is one treatment, named by its sessions, and a point of every line.
            let is_one = all.iter().skip(1).all(|other| self.is_same(&all[0], other));
            if is_one {
                all.truncate(1);
                all[0].name = format!("sessions-{number}");
                shared.extend(several.then(|| number.to_string()));
            }
            for (at, candidate) in all.into_iter().enumerate() {
                if let Some(lacks) = self.memory_lacks(&candidate.memory, &candidate.placement) {
                    left_out.push(format!("{}: {lacks}", candidate.name));
                    continue;
                }
                let of_lines = if is_one { &orders.0[..] } else { &orders.0[at..=at] };
                let point = |order: &&str| Point { line: line(order), number, ..Point::default() };
                axis.add(of_lines.iter().map(point), candidate, others, self);
            }
        }
        axis.points.sort_by_key(|point| orders.0.iter().position(|order| *order == point.line));
        if !shared.is_empty() {
            let others = orders.0[1..].join(" and ");
            let (first, at) = (orders.0[0], shared.join(", "));
            left_out
                .push(format!("{others} at {at} sessions: the same logical CPUs as {first} on this machine"));
        }
        Ok(Some(axis))
    }

    /// Every placement of `[dop]`, or of `--placement`, with each degree and number of streams.
    fn dops(&self, others: &[Candidate], left_out: &mut Vec<String>) -> Result<Axis, LoadError> {
        let mut axis = Axis::new(Kind::Dop);
        let Some(section) = &self.definition.dop else { return Ok(axis) };
        let lines = self.lines(&section.placements, DOP, "", left_out)?;
        let streams = match &self.overrides.sessions {
            Some(asked) => session_list(asked)?,
            None => section.streams.clone().and_then(|streams| streams.0).unwrap_or_else(|| vec![1]),
        };
        let degrees = self.overrides.dops.clone().or_else(|| section.levels.0.clone());
        in_range("--dop", degrees.as_deref().unwrap_or_default(), MAX_DOP)?;
        for line in &lines {
            let degrees_for = |streams: u32| match &degrees {
                Some(degrees) => ascending(degrees.iter().copied()),
                None => line.degrees(self.topology, streams),
            };
            let with = |&count: &u32| degrees_for(count).into_iter().map(move |dop| (dop, count));
            let mut all: Vec<(u32, u32)> = streams.iter().flat_map(with).collect();
            all.sort_unstable();
            let why =
                format!("[dop]: more than {MOST_POINTS} combinations of degrees and streams; remove some");
            self.file.source.refuse_if(all.len() > MOST_POINTS, &[], why)?;
            for (dop, count) in all {
                let is_named = streams.len() > 1 || count != others[0].sessions;
                let suffix = if is_named { format!(" s{count}") } else { String::new() };
                let mut candidate = line.candidate(format!("d{dop}{suffix}"), count, &others[0]);
                candidate.set.insert(DOP.to_owned(), OptionValue::Integer(i64::from(dop)));
                axis.add([line.point(dop, count, self.topology)], candidate, others, self);
            }
        }
        Ok(axis)
    }

    /// Every placement of `[jobs]`, or of `--placement`, with each number of jobs.
    ///
    /// A published work list of backup and restore was run with 1, 2, 4 and 8 jobs on two processors of two threads, which
    /// is up to twice the logical CPUs; its author expected no gain beyond that.
    fn jobs(&self, others: &[Candidate], left_out: &mut Vec<String>) -> Result<Axis, LoadError> {
        let mut axis = Axis::new(Kind::Jobs);
        let Some(section) = &self.definition.jobs else { return Ok(axis) };
        let base = &others[0].placement;
        let mut lines = self.lines(&section.placements, "jobs", &base.text, left_out)?;
        // One placement under two names would be two lines of a chart.
        let base_sets = self.sets(base);
        for line in lines.iter_mut().filter(|line| line.placement != *base) {
            if base_sets.as_ref().is_ok_and(|sets| *sets == line.sets) {
                left_out.push(format!("{}: the same as {} on this machine", line.placement.text, base.text));
                line.placement = base.clone();
            }
        }
        let asked = self.overrides.jobs.clone().or_else(|| section.levels.0.clone());
        for line in &lines {
            if let Some(lacks) = self.memory_lacks(&others[0].memory, &line.placement) {
                left_out.push(format!("{}: {lacks}", line.placement.text));
                continue;
            }
            for jobs in ascending(asked.clone().unwrap_or_else(|| automatic_jobs(line.cpus()))) {
                let candidate = line.candidate(format!("j{jobs}"), jobs, &others[0]);
                axis.add([line.point(jobs, 0, self.topology)], candidate, others, self);
            }
        }
        Ok(axis)
    }

    /// The placements of a section that this machine has, each once: `all` is `no-smt` without SMT. The command line's
    /// replace the file's; `first` is kept where others equal it.
    fn lines(
        &self,
        placements: &[Placement],
        section: &str,
        first: &str,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<Line>, LoadError> {
        let is_asked = self.overrides.placements.is_some();
        let path = [section, "placements"];
        let refused = |error: PlacementError| self.refused(is_asked, "--placement", &path, error.to_string());
        let mut all: Vec<Placement> = match &self.overrides.placements {
            Some(texts) => {
                texts.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(refused)?
            }
            None => placements.to_vec(),
        };
        let mut seen = BTreeSet::new();
        all.retain(|placement| seen.insert(placement.text.clone()));
        all.sort_by_key(|placement| placement.text != first);
        let mut lines: Vec<Line> = Vec::new();
        for placement in all {
            let sets = match self.sets(&placement) {
                Ok(sets) => sets,
                Err(PlacementError::Lacking { lacks, .. }) if !is_asked => {
                    left_out.push(format!("{}: {lacks}", placement.text));
                    continue;
                }
                Err(error) => return Err(refused(error)),
            };
            match lines.iter().find(|earlier| earlier.sets == sets) {
                Some(other) => {
                    let (text, other) = (&placement.text, &other.placement.text);
                    left_out.push(format!("{text}: the same as {other} on this machine"));
                }
                None => lines.push(Line { placement, sets }),
            }
        }
        Ok(lines)
    }

    /// Refuses numbers of the command line that this study does not use.
    pub fn check_numbers(&self) -> Result<(), LoadError> {
        let Overrides { dops, jobs, sessions, .. } = self.overrides;
        let why = "this study has no [dop] section, so its treatments have no DOP";
        LoadError::option_if(dops.is_some() && self.definition.dop.is_none(), "--dop", why)?;
        let workload = &self.definition.workload;
        let is_list = *workload == Workload::WorkList;
        let Some(jobs) = jobs else {
            let why = "a work list has jobs: give their numbers with --jobs LIST";
            return LoadError::option_if(is_list && sessions.is_some(), "--sessions", why);
        };
        let way = "use threadwise run work-list";
        let why = format!("it is for work lists, and this study's workload is {workload}; {way}");
        LoadError::option_if(!is_list, "--jobs", why)?;
        in_range("--jobs", jobs, MAX_JOBS)?;
        LoadError::option_if(jobs.is_empty(), "--jobs", "no number is given")?;
        let way = "give one number, or use the preset work-list";
        let why = format!("all treatments of this study have the same number of jobs: {way}");
        LoadError::option_if(jobs.len() > 1 && self.definition.jobs.is_none(), "--jobs", why)
    }

    /// The file's limit of logical CPUs for a sweep, if this machine has more. A sweep that the command line asks for, or
    /// that other sections replace, has no limit.
    pub fn exceeded(&self) -> Option<u32> {
        let Overrides { placements, sessions, orders, .. } = self.overrides;
        let is_replaced = self.definition.section().is_some() || placements.is_some();
        let is_limited = !is_replaced && sessions.is_none() && orders.is_none();
        let most = self.definition.sweep.as_ref().filter(|_| is_limited)?.max_logical_cpus?;
        (self.topology.allowed().len() as u32 > most).then_some(most)
    }
}

impl Line {
    fn cpus(&self) -> u32 {
        self.sets.first().map_or(0, |set| set.len() as u32)
    }

    fn cores(&self, topology: &Topology) -> u32 {
        self.sets.first().map_or(0, |set| cores_in(set, topology))
    }

    /// A treatment on its placement.
    fn candidate(&self, number: String, sessions: u32, baseline: &Candidate) -> Candidate {
        Candidate {
            name: format!("{} {number}", self.placement.text),
            placement: self.placement.clone(),
            sessions,
            pin: Pin::Set,
            role: Role::Compared,
            ..baseline.clone()
        }
    }

    fn point(&self, number: u32, streams: u32, topology: &Topology) -> Point {
        let (cores, cpus) = (self.cores(topology), self.cpus());
        Point { line: self.placement.text.clone(), streams, number, cores, cpus, ..Point::default() }
    }

    /// 1, 2, 4, … below the logical CPUs of the placement, its cores, and its logical CPUs. With several streams also the
    /// degree at which all of them together have 150% of the cores, beyond which a published article saw no more gain, if
    /// that is a whole number; and the cores of the smallest NUMA node if there are several.
    fn degrees(&self, topology: &Topology, streams: u32) -> Vec<u32> {
        let (cores_here, cpus) = (self.cores(topology), self.cpus());
        let whole = (streams > 1 && (3 * cores_here).is_multiple_of(2 * streams))
            .then(|| 3 * cores_here / (2 * streams));
        let on_node =
            |node: &CpuSet| self.sets.first().map_or(0, |set| cores_in(&set.intersection(node), topology));
        let nodes = topology.numa_nodes.iter().map(|node| on_node(&node.cpus)).filter(|cores| *cores > 0);
        let nodes: Vec<u32> = nodes.collect();
        let node = nodes.iter().min().copied().filter(|_| nodes.len() > 1);
        ascending(powers(cpus).chain([cores_here, cpus]).chain(whole).chain(node))
    }
}

/// Refuses numbers of the command line that are 0 or above a limit.
fn in_range(option: &str, numbers: &[u32], most: u32) -> Result<(), LoadError> {
    let bad = numbers.iter().find(|number| !(1..=most).contains(*number));
    bad.map_or(Ok(()), |bad| Err(LoadError::option(option, format!("{bad}; 1 to {most} is allowed"))))
}

/// The numbers of `--sessions`, ascending, each once.
pub(super) fn session_list(counts: &[u32]) -> Result<Vec<u32>, LoadError> {
    let refused = |why: String| Err(LoadError::option("--sessions", why));
    match counts.iter().find(|count| !(1..=MAX_SESSIONS).contains(*count)) {
        Some(0) => refused("0 sessions; at least 1 is needed".to_owned()),
        Some(count) => refused(format!("{count} sessions; at most {MAX_SESSIONS} are allowed")),
        None if counts.is_empty() => refused("no number is given".to_owned()),
        None => Ok(ascending(counts.iter().copied())),
    }
}

/// 1, 2, 4, … up to twice the logical CPUs of a placement, and at least 4.
fn automatic_jobs(cpus: u32) -> Vec<u32> {
    powers(cpus.saturating_mul(2).clamp(4, MOST_AUTOMATIC_JOBS) + 1).collect()
}

/// 1, 2, 4, … below a number.
fn powers(end: u32) -> impl Iterator<Item = u32> {
    (0..32).map(|power| 1_u32 << power).take_while(move |&number| number < end)
}

fn ascending(numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    numbers.into_iter().collect::<BTreeSet<u32>>().into_iter().collect()
}

/// Cores with a logical CPU in the set; a logical CPU without a known core counts as one.
fn cores_in(set: &CpuSet, topology: &Topology) -> u32 {
    let first = |cpu| topology.cpu(cpu).and_then(|known| known.siblings.iter().next()).unwrap_or(cpu);
    set.iter().map(first).collect::<BTreeSet<u32>>().len() as u32
}

#[cfg(test)]
mod tests {
    use super::automatic_jobs;

    #[test]
    fn automatic_numbers_end_at_twice_the_logical_cpus() {
        assert_eq!(automatic_jobs(1), [1, 2, 4]);
        assert_eq!(automatic_jobs(2), [1, 2, 4]);
        assert_eq!(automatic_jobs(4), [1, 2, 4, 8]);
        assert_eq!(automatic_jobs(6), [1, 2, 4, 8], "12 is no power of two");
        assert_eq!(automatic_jobs(768), [1, 2, 4, 8, 16, 32, 64]);
    }
}
