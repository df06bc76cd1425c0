//! Slices of sessions with a logical CPU of their own, and queries and whole runs that keep theirs busy, each with what
//! the looks around it saw of these logical CPUs.

use crate::looks::states::{Judged, LookedAt};
use std::collections::BTreeMap;
use threadwise_study::look::follow::Share;
use threadwise_study::{Moment, OptionValue, Study};

/// Blocks that must tell something, and as how many equal ones they must count.
pub const LEAST_BLOCKS: f64 = 6.0;
/// Looks during slices from which their slope is estimated.
pub(super) const LEAST_LOOKS: usize = 30;

/// A session in a slice, or a query or whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Block.
    pub block: u32,
    /// Treatment and session, by number: only rows of the same cell of a block are compared.
    pub cell: u32,
    /// Rows a second of the session; of a query or whole run 1 over its time, over the mean of those like it.
    pub rate: f64,
    /// The same by a second of CPU time, where that is known.
    pub rate_by_cpu: Option<f64>,
    /// Exposure of the session's logical CPU, from 0 to 1 (`exposure`).
    pub own: f64,
    /// Share of the time with a neighbour, as far as looks tell: the exposure, and of a query or whole run what looks inside
    /// saw (`relative`), since those around it come more often where work is done faster.
    pub share: f64,
    /// How long it took, seconds.
    pub window_s: f64,
    /// Of a query or whole run: how much larger the share of those is that its rate is divided by the mean of, than that of
    /// all.
    pub more: f64,
    /// Mean exposure of idle logical CPUs on other cores; `None` where there is none, or it is not known.
    pub elsewhere: Option<f64>,
    /// Whether both looks around the slice saw a neighbour, or neither did; `None` where they disagree.
    pub agreed: Option<bool>,
}

/// A look while a slice ran, at one logical CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuringLook {
    /// Block.
    pub block: u32,
    /// Logical CPU.
    pub cpu: u32,
    /// 1 with a neighbour, else 0.
    pub seen: f64,
    /// Exposure of the logical CPU in that slice.
    pub exposure: f64,
}

/// Shares of a slice or of a look: on one core, and with a neighbour.
pub type States = [f64; 2];

/// A slice of a treatment of two sessions, each with a logical CPU of its own, or of one session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairRow {
    /// Block.
    pub block: u32,
    /// Treatment, by number.
    pub cell: u32,
    /// Whether two sessions run.
    pub is_pair: bool,
    /// Rows a second of all sessions.
    pub rate: f64,
    /// Exposures; of one session the first is 0.
    pub exposures: States,
}

/// A look while a slice ran, at the two logical CPUs of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairLook {
    /// Block.
    pub block: u32,
    /// What it saw: 1 on one core, else 0; mean of both with a neighbour.
    pub seen: States,
    /// Exposures of that slice.
    pub exposures: States,
}

/// What is estimated from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    /// Sessions in slices.
    pub rows: Vec<Row>,
    /// Looks during slices of all treatments, at busy logical CPUs; of queries and whole runs those of `rows`.
    pub during: Vec<DuringLook>,
    /// What such a look saw, and the one that repeated it at once.
    pub repeated: Vec<[f64; 2]>,
    /// Slices of two sessions with a logical CPU each, and of one.
    pub pair_rows: Vec<PairRow>,
    /// Looks during slices at the two logical CPUs of such a treatment.
    pub pair_looks: Vec<PairLook>,
}

impl Observations {
    /// The same with rates by CPU time, of the rows that have one.
    pub fn by_cpu_time(&self) -> Self {
        let by_cpu = |row: &Row| Some(Row { rate: row.rate_by_cpu?, ..*row });
        let (rows, during) = (self.rows.iter().filter_map(by_cpu).collect(), self.during.clone());
        Self { rows, during, repeated: self.repeated.clone(), ..Self::default() }
    }
}

/// 1 with a neighbour, 0 on a core of its own; `None` where neither is known.
fn seen(share: Share) -> Option<f64> {
    share.has_neighbour().map(|has| f64::from(u8::from(has)))
}

/// A look this soon after another one repeats it.
const AT_ONCE_NS: u64 = 2_000_000;

fn is_repeated(first: &Judged<'_>, second: &Judged<'_>) -> bool {
    second.look.start_ns.saturating_sub(first.look.start_ns) < AT_ONCE_NS
}

/// A slice between its neighbours in time, of the same block.
struct Around<'s, 'r> {
    before: Option<&'s LookedAt<'r>>,
    slice: &'s LookedAt<'r>,
    after: Option<&'s LookedAt<'r>>,
    /// Looks during the slice, without those that repeat another one at once.
    during: Vec<&'s Judged<'r>>,
}

fn last(slice: &LookedAt<'_>, moment: Moment, cpu: u32) -> Option<f64> {
    let look = slice.looks.iter().rfind(|look| look.moment == moment)?;
    seen(look.shares.get(cpu)?)
}

/// What looks saw at a logical CPU, where that is known.
fn known(looks: &[&Judged<'_>], cpu: u32) -> Vec<f64> {
    looks.iter().filter_map(|look| seen(look.shares.get(cpu)?)).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl<'s, 'r> Around<'s, 'r> {
    fn of(slices: &'s [LookedAt<'r>], at: usize) -> Self {
        let slice = &slices[at];
        let of_block = |at: Option<usize>| {
            at.and_then(|at| slices.get(at)).filter(|other| other.run.block == slice.run.block)
        };
        let mut during: Vec<&Judged<'r>> = Vec::new();
        for look in slice.looks.iter().filter(|look| look.moment == Moment::During) {
            if during.last().is_none_or(|first| !is_repeated(first, look)) {
                during.push(look);
            }
        }
        Self { before: of_block(at.checked_sub(1)), slice, after: of_block(Some(at + 1)), during }
    }

    /// The looks right before and after the slice, with half of the weight of those the last after the slice before and the
    /// first before the next one.
    fn exposure(&self, cpu: u32) -> Option<f64> {
        let near = self.near(cpu)?;
        let far = last(self.before?, Moment::After, cpu)? + last(self.after?, Moment::Before, cpu)?;
        Some((near[0] + near[1] + far / 2.0) / 3.0)
    }

    /// What looks inside the slice saw.
    fn seen(&self, cpu: u32) -> Option<f64> {
        mean(&known(&self.during, cpu))
    }

    fn near(&self, cpu: u32) -> Option<[f64; 2]> {
        Some([last(self.slice, Moment::Before, cpu)?, last(self.slice, Moment::After, cpu)?])
    }

    /// Mean exposure of logical CPUs that the slice leaves idle.
    fn elsewhere(&self, cpus: &[u32]) -> Option<f64> {
        let look = self.slice.looks.iter().find(|look| look.moment == Moment::Before)?;
        let idle = look.look.cpus.iter().map(|seen| seen.cpu).filter(|cpu| !cpus.contains(cpu));
        mean(&idle.filter_map(|cpu| self.exposure(cpu)).collect::<Vec<f64>>())
    }

    /// Of a whole run or query that keeps its logical CPUs busy; `None` for others.
    fn whole(&self, study: &Study) -> Option<Whole> {
        let (run, slice) = (self.slice.run, self.slice.slice);
        let (_, treatment) = study.treatment(&run.treatment)?;
        let is_busy = treatment.sessions as usize * threads(&treatment.options) >= run.cpus.len();
        let near = run.cpus.iter().map(|cpu| self.near(*cpu)).collect::<Option<Vec<[f64; 2]>>>()?.concat();
        let mut queries = slice.sessions.iter().flat_map(|session| &session.queries).peekable();
        let cpu_ns = match queries.peek() {
            Some(_) => queries.map(|query| query.cpu_ns).sum(),
            None => Some(slice.cpu_ns()),
        };
        let row = Row {
            block: run.block,
            cell: 0,
            rate: 1e9 / slice.window_ns as f64,
            rate_by_cpu: cpu_ns.filter(|cpu_ns| *cpu_ns > 0).map(|cpu_ns| 1e9 / cpu_ns as f64),
            own: mean(&run.cpus.iter().map(|cpu| self.exposure(*cpu)).collect::<Option<Vec<f64>>>()?)?,
            share: f64::NAN,
            window_s: slice.window_ns as f64 / 1e9,
            more: 0.0,
            elsewhere: self.elsewhere(&run.cpus),
            agreed: near.iter().all(|one| *one == near[0]).then_some(near[0] > 0.5),
        };
        let seen = run.cpus.iter().flat_map(|cpu| known(&self.during, *cpu)).collect();
        (is_busy && row.rate.is_finite()).then_some(Whole { row, seen, start_ns: slice.start_ns })
    }
}

/// Threads of a session.
fn threads(options: &BTreeMap<String, OptionValue>) -> usize {
    match options.get("dop") {
        Some(OptionValue::Integer(dop)) => usize::try_from(*dop).unwrap_or(1),
        _ => 1,
    }
}

/// Whether a slice is one query or one whole run, as none is like the next.
fn is_of_wholes(study: &Study) -> bool {
    !study.workload.is_sliced()
}

/// Observations of the treatments for which `is_of` holds; looks during slices are those of all treatments. `slices` are in
/// order of time.
pub fn observations(study: &Study, slices: &[LookedAt<'_>], is_of: impl Fn(&str) -> bool) -> Observations {
    let mut found = Observations::default();
    let mut cells: BTreeMap<(&str, usize), u32> = BTreeMap::new();
    let mut wholes: BTreeMap<Item<'_>, Vec<Whole>> = BTreeMap::new();
    let two = pairs_by_block(slices, &is_of);
    for (at, slice) in slices.iter().enumerate() {
        let around = Around::of(slices, at);
        if is_of_wholes(study) {
            let whole = around.whole(study).filter(|_| is_of(&slice.run.treatment));
            whole.into_iter().for_each(|whole| wholes.entry(Item::of(slice)).or_default().push(whole));
            continue;
        }
        found.during.extend(during(&around));
        found.repeated.extend(repeated(slice));
        let of_pair = two.get(&slice.run.block).filter(|cpus| slice.run.cpus == **cpus);
        found.pair_looks.extend(of_pair.into_iter().flat_map(|cpus| pair_looks(&around, cpus)));
        if is_of(&slice.run.treatment) {
            let mut cell = |session: usize| {
                let next = cells.len() as u32;
                *cells.entry((slice.run.treatment.as_str(), session)).or_insert(next)
            };
            found.rows.extend(sessions(&around, &mut cell));
            let treatment = cell(usize::MAX);
            found.pair_rows.extend(pair_row(&around, treatment));
        }
    }
    wholes.retain(|_, wholes| {
        wholes.iter().map(|whole| whole.row.window_s).sum::<f64>() >= LEAST_S * wholes.len() as f64
    });
    let wholes = relative(wholes);
    let look =
        |(row, seen): &(Row, f64)| DuringLook { block: row.block, cpu: 0, seen: *seen, exposure: row.own };
    found.during.extend(wholes.iter().map(look));
    found.rows.extend(wholes.into_iter().map(|(row, _)| row));
    found
}

/// Items that take less time on average are left out: looks seldom fall into them.
const LEAST_S: f64 = 0.05;

/// A whole run or query, without the share of its time with a neighbour, and with what looks inside saw at its logical CPUs.
struct Whole {
    row: Row,
    seen: Vec<f64>,
    start_ns: u64,
}

/// Whole runs that are like each other: of a treatment, and of one query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Item<'r> {
    treatment: &'r str,
    queries: Vec<u8>,
}

impl<'r> Item<'r> {
    fn of(slice: &LookedAt<'r>) -> Self {
        let sessions = slice.slice.sessions.iter();
        let mut queries: Vec<u8> =
            sessions.flat_map(|session| session.queries.iter().map(|one| one.query)).collect();
        queries.sort_unstable();
        Self { treatment: slice.run.treatment.as_str(), queries }
    }
}

/// Rows with what looks inside saw that their exposures do not have: rates over the mean of their item, and shares less what
/// their item has more than all, so that whole runs that differ can be compared within a block (two-way fixed effects, of
/// items and of blocks; Wooldridge, chapter 10).
///
/// Looks come after equal times from a moment on that differs from slice to slice, so that the sum of what they saw, over
/// how many the time of the slice has on average, is its share of neighbours without bias however long it took (Horvitz,
/// Thompson, Journal of the American Statistical Association 47, 1952). How many a second has is known by treatment: one on
/// two logical CPUs has twice as many.
fn relative(items: BTreeMap<Item<'_>, Vec<Whole>>) -> Vec<(Row, f64)> {
    let mut looks: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (item, wholes) in &items {
        let [count, time_s] = looks.entry(item.treatment).or_default();
        *count += wholes.iter().map(|whole| whole.seen.len()).sum::<usize>() as f64;
        *time_s += wholes.iter().map(|whole| whole.row.window_s).sum::<f64>();
    }
    let mut found: Vec<(u64, Row, f64)> = Vec::new();
    for (item, wholes) in items {
        let [count, time_s] = looks[item.treatment];
        // Without any look it is not a number, and the treatment is left out.
        let share = |whole: &Whole| whole.seen.iter().sum::<f64>() / (count / time_s * whole.row.window_s);
        let rows: Vec<(u64, Row, f64)> = wholes
            .iter()
            .map(|whole| (whole.start_ns, Row { share: share(whole), ..whole.row }, share(whole)))
            .filter(|(.., share)| share.is_finite())
            .collect();
        let means = Means::of(rows.iter());
        found.extend(rows.into_iter().map(|(start_ns, row, seen)| {
            let row = Row {
                rate: row.rate / means.rate,
                rate_by_cpu: row.rate_by_cpu.map(|rate| rate / means.rate_by_cpu),
                own: row.own - means.own,
                elsewhere: row.elsewhere.map(|share| share - means.elsewhere),
                more: means.share,
                ..row
            };
            (start_ns, row, seen - means.seen)
        }));
    }
    // Looks around a slice come more often where work is done faster: the mean of exposures is that of looks inside.
    let share = mean(&found.iter().map(|(_, row, _)| row.share).collect::<Vec<_>>()).unwrap_or(0.0);
    found.sort_by_key(|(start_ns, ..)| *start_ns);
    let of_all = |row: Row| Row { own: row.own + share, more: row.more - share, ..row };
    found.into_iter().map(|(_, row, seen)| (of_all(row), seen)).collect()
}

/// Means over an item.
struct Means {
    rate: f64,
    rate_by_cpu: f64,
    own: f64,
    elsewhere: f64,
    share: f64,
    seen: f64,
}

impl Means {
    fn of<'w>(rows: impl Iterator<Item = &'w (u64, Row, f64)> + Clone) -> Self {
        let over = |value: fn(&Row) -> Option<f64>| {
            mean(&rows.clone().filter_map(|(_, row, _)| value(row)).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        Self {
            rate: over(|row| Some(row.rate)),
            rate_by_cpu: over(|row| row.rate_by_cpu),
            own: over(|row| Some(row.own)),
            elsewhere: over(|row| row.elsewhere),
            share: over(|row| Some(row.share)),
            seen: mean(&rows.clone().map(|(.., seen)| *seen).collect::<Vec<f64>>()).unwrap_or(0.0),
        }
    }
}

/// What looks during a slice saw of its busy logical CPUs: a host moves logical CPUs by what they do, so that looks at busy
/// ones alone tell of slices.
fn during(around: &Around<'_, '_>) -> Vec<DuringLook> {
    let run = around.slice.run;
    let of_cpu = |cpu: &u32| {
        let (seen, exposure) = (around.seen(*cpu)?, around.exposure(*cpu)?);
        Some(DuringLook { block: run.block, cpu: *cpu, seen, exposure })
    };
    run.cpus.iter().filter_map(of_cpu).collect()
}

/// Looks at busy logical CPUs that were repeated at once, with what both saw.
fn repeated(slice: &LookedAt<'_>) -> Vec<[f64; 2]> {
    let during: Vec<&Judged<'_>> = slice.looks.iter().filter(|look| look.moment == Moment::During).collect();
    let twice = during.windows(2).filter(|two| is_repeated(two[0], two[1]));
    let both = |two: &[&Judged<'_>]| {
        let at_cpu = |cpu: &u32| Some([seen(two[0].shares.get(*cpu)?)?, seen(two[1].shares.get(*cpu)?)?]);
        slice.run.cpus.iter().filter_map(at_cpu).collect::<Vec<_>>()
    };
    twice.flat_map(both).collect()
}

fn pair_looks(around: &Around<'_, '_>, cpus: &[u32]) -> Vec<PairLook> {
    let block = around.slice.run.block;
    let of_look = |look: &&Judged<'_>| {
        let (seen, exposures) = (states(look, cpus)?, around.exposures(cpus)?);
        Some(PairLook { block, seen, exposures })
    };
    around.during.iter().filter_map(of_look).collect()
}

/// States of some logical CPUs in a look: on one core, and the mean with a neighbour; `None` where one is not known.
fn states(look: &Judged<'_>, cpus: &[u32]) -> Option<States> {
    let mut sum = [0.0, 0.0];
    for cpu in cpus {
        let share = look.shares.get(*cpu)?;
        match share.with() {
            Some(other) if cpus.contains(&other) => sum[0] += 1.0,
            _ => sum[1] += seen(share)?,
        }
    }
    Some(sum.map(|sum| sum / cpus.len() as f64))
}

impl Around<'_, '_> {
    /// As [`Self::exposure`], of the states of several.
    fn exposures(&self, cpus: &[u32]) -> Option<States> {
        let last = |slice: &LookedAt<'_>, moment: Moment| {
            states(slice.looks.iter().rfind(|look| look.moment == moment)?, cpus)
        };
        let near = [last(self.slice, Moment::Before)?, last(self.slice, Moment::After)?];
        let far = [last(self.before?, Moment::After)?, last(self.after?, Moment::Before)?];
        Some([0, 1].map(|at| (near[0][at] + near[1][at] + (far[0][at] + far[1][at]) / 2.0) / 3.0))
    }
}

/// A slice of one session, or of two with a logical CPU each.
fn pair_row(around: &Around<'_, '_>, cell: u32) -> Option<PairRow> {
    let (run, slice) = (around.slice.run, around.slice.slice);
    let is_pair = match (run.cpus.as_slice(), slice.sessions.len()) {
        ([_], 1) => false,
        ([one, other], 2) => one != other,
        _ => return None,
    };
    let rate = 1e9 * slice.rows() as f64 / slice.window_ns as f64;
    let exposures = around.exposures(&run.cpus)?;
    (rate > 0.0 && rate.is_finite() && (is_pair || run.cpus.len() == 1)).then_some(PairRow {
        block: run.block,
        cell,
        is_pair,
        rate,
        exposures,
    })
}

/// The two logical CPUs of a treatment of two sessions, by block.
fn pairs_by_block(slices: &[LookedAt<'_>], is_of: &impl Fn(&str) -> bool) -> BTreeMap<u32, Vec<u32>> {
    let of_two = slices.iter().map(|slice| slice.run).filter(|run| {
        is_of(&run.treatment)
            && run.cpus.len() == 2
            && run.cpus[0] != run.cpus[1]
            && run.slices.iter().all(|slice| slice.sessions.len() == 2)
    });
    of_two.map(|run| (run.block, run.cpus.clone())).collect()
}

/// A row for each session that has a logical CPU to itself.
fn sessions(around: &Around<'_, '_>, cell: &mut impl FnMut(usize) -> u32) -> Vec<Row> {
    let (run, slice) = (around.slice.run, around.slice.slice);
    let mut cpus = run.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() != slice.sessions.len() || cpus.len() != run.cpus.len() || slice.window_ns == 0 {
        return Vec::new();
    }
    let row = |(session, (cpu, done)): (usize, (&u32, &threadwise_study::SessionSlice))| {
        let near = around.near(*cpu)?;
        Some(Row {
            block: run.block,
            cell: cell(session),
            rate: 1e9 * done.rows as f64 / slice.window_ns as f64,
            rate_by_cpu: (done.cpu_ns > 0).then(|| 1e9 * done.rows as f64 / done.cpu_ns as f64),
            own: around.exposure(*cpu)?,
            share: around.exposure(*cpu)?,
            window_s: slice.window_ns as f64 / 1e9,
            more: 0.0,
            elsewhere: around.elsewhere(&run.cpus),
            agreed: (near[0] == near[1]).then_some(near[0] > 0.5),
        })
    };
    let all = run.cpus.iter().zip(&slice.sessions).enumerate();
    all.filter_map(row).filter(|row| row.rate > 0.0).collect()
}
