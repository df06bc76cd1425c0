//! Sizes of data: levels of the option `data` of `logical-io` (inside L2, inside the LLC, beyond it), tables of `insert`,
//! trees of `index`. All workers of a block are parked at the same time, so the data of every treatment counts. A size
//! that the user gave is used, or refused by the memory guard.
//!
//! One row of `logical-io` fills one page of the engine, so a block is that much memory.
//!
//! A cache has to hold less: a logical read touches the page's header, the row's first bytes and the engine's own
//! bookkeeping, not the payload. Levels are sized by the measured [`TOUCHED_BYTES`]: data whose pages exceed a cache
//! may still be touched inside it.

use threadwise_machine::Topology;
use threadwise_machine::words::bytes;

use super::candidate::Group;
use super::overrides::Overrides;
use super::source::LoadError;
use crate::index::{MOST_ROW_BYTES, ROWS, TOUCHED_BYTES as ROW_TOUCHED_BYTES};
use crate::insert::{SEED_ROWS, added_bytes, seed_rows};
use crate::{OptionValue, Study, Treatment, Workload};

/// Bytes of cache lines that reading a block touches: 7.35 distinct lines of 64 bytes a row, counted
/// with Valgrind's lackey (`--trace-mem=yes`) over one pass of 4,096 rows in SQLite, steps of 64 rows.
const TOUCHED_BYTES: u64 = 470;
/// One MiB in bytes.
const MIB: u64 = 1 << 20;
/// Fewest blocks of a level: with fewer, a random start has no range.
const MIN_BLOCKS: u64 = 128;
/// Default maximum data of a session: far outside an L2, and warm quickly.
const SESSION_LIMIT_BYTES: u64 = 128 * MIB;
/// A session of the level `large` touches this multiple of the largest L2: at most one read in eight finds its lines
/// there. More data would cost time in every block and change nothing.
const OUTSIDE_L2: u64 = 8;
/// Maximum data of a session where it needs that much to exceed the LLC.
const BEYOND_LIMIT_BYTES: u64 = 640 * MIB;
/// A session must touch this multiple of the LLC to count as beyond it; the rows of an index, all together.
const BEYOND: u64 = 2;
/// Assumed if the system does not report an L2 size: common on x86 servers since 2017.
const ASSUMED_L2_BYTES: u64 = MIB;
/// Assumed if the system does not report an LLC size.
const ASSUMED_LLC_BYTES: u64 = 32 * MIB;

/// The cache sizes that levels are sized by, bytes.
struct Caches {
    l2: u64,
    largest_l2: u64,
    smallest_llc: u64,
    largest_llc: u64,
}

/// The data of a group.
struct Data {
    /// Sessions of all its treatments.
    sessions: u64,
    /// Blocks of a session that the file or the command line sets.
    explicit: Option<u64>,
    /// Blocks of a session; `None` for the level `memory` until the others are known, and without a size.
    blocks: Option<u64>,
}

/// What the data of `logical-io` is sized by.
struct Sizing<'a> {
    /// Bytes of the engine's page.
    block: u64,
    caches: Caches,
    /// For the data of all sessions together: half of the study's memory, since files take the other half. `None` where
    /// memory is unknown.
    allowed_bytes: Option<u64>,
    /// What that is half of, for messages.
    rule: &'a str,
    data: Vec<Data>,
}

/// Sets `blocks` (and, where the data is small, `work_unit`) in the options of every group, removes the other size
/// options, and renames a level that the limits made untrue. Returns lines for `Study::left_out`.
///
/// # Errors
/// Two sizes for one group, or data that does not fit.
pub(super) fn size_groups(
    groups: &mut [Group],
    topology: &Topology,
    overrides: &Overrides,
    is_preset: bool,
) -> Result<Vec<String>, LoadError> {
    let block = overrides.engine_properties.block_bytes;
    let explicit = explicit_blocks(groups, block)?;
    let mut lines = Vec::new();
    let caches = caches(topology, &mut lines);
    if groups.iter().all(|group| level(group).is_none()) {
        lines.clear();
    }
    let most_sessions =
        groups.iter().flat_map(|group| &group.candidates).map(|one| one.sessions).max().unwrap_or(1);
    let data = groups.iter().zip(explicit).map(|(group, explicit)| Data {
        sessions: group.candidates.iter().map(|candidate| u64::from(candidate.sessions)).sum(),
        explicit,
        blocks: explicit.or_else(|| cached_blocks(level(group)?, &caches, most_sessions, block)),
    });
    let data = data.collect();
    let allowed_bytes = overrides.memory_limit_bytes.map(|limit| limit / 2);
    let mut sizing = Sizing { block, caches, allowed_bytes, rule: &overrides.memory_rule, data };
    let is_explicit = sizing.data.iter().any(|data| data.explicit.is_some());
    let is_asked_for = SIZES.iter().any(|key| overrides.options.contains_key(*key));
    if is_preset && !is_asked_for && is_explicit {
        lines.extend(sizing.shrink());
    }
    let beyond = sizing.beyond_llc_blocks();
    for (at, group) in groups.iter_mut().enumerate() {
        let Data { explicit, blocks, .. } = sizing.data[at];
        let is_beyond = level(group) == Some("memory");
        let Some(count) = blocks.or(is_beyond.then_some(beyond)) else { continue };
        sizing.data[at].blocks = Some(count);
        if is_beyond && count * TOUCHED_BYTES < BEYOND * sizing.caches.largest_llc {
            group.labels.insert("data".to_owned(), "large".to_owned());
            let line = sizing.too_small_for_memory(count, explicit.is_some());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        group.options.insert("blocks".to_owned(), whole(count));
        if explicit.is_none() {
            lines.extend(shorter_steps(group, count));
        }
    }
    match sizing.allowed_bytes.filter(|allowed| is_explicit && sizing.bytes() > *allowed) {
        Some(allowed) => Err(LoadError::Memory {
            sessions: sizing.data.iter().map(|data| data.sessions).sum(),
            data_mib: sizing.bytes().div_ceil(MIB),
            allowed_mib: allowed / MIB,
            rule: sizing.rule.to_owned(),
        }),
        None => Ok(lines),
    }
}

/// The level of `data` of a group.
fn level(group: &Group) -> Option<&'static str> {
    let word = group.options.get("data")?.text()?;
    super::check::DATA_LEVELS.into_iter().find(|level| *level == word)
}

/// The options that set the size of the data.
const SIZES: [&str; 3] = ["blocks", "scale", "data_mib"];

/// Takes the sizes that the user wrote (`blocks`, its SLOB name `scale`, or `data_mib`) out of the options. If a study
/// has the level `memory`, a size for all levels is the size of that one: the others are sized by their caches.
///
/// # Errors
/// A group has two of them: one would have no effect.
fn explicit_blocks(groups: &mut [Group], block: u64) -> Result<Vec<Option<u64>>, LoadError> {
    let any_beyond = groups.iter().any(|group| level(group) == Some("memory"));
    let taken = |group: &mut Group| {
        let given: Vec<&str> = SIZES.into_iter().filter(|key| group.options.contains_key(*key)).collect();
        if given.len() > 1 {
            let why = format!("{} set the size of the data: keep one of them", given.join(" and "));
            return Err(LoadError::option(given[0], why));
        }
        let Some(key) = given.first() else { return Ok(None) };
        let factor = if *key == "data_mib" { MIB / block } else { 1 };
        let found = match group.options.remove(*key) {
            Some(OptionValue::Number(count)) => Some(((count * factor as f64) as u64).max(1)),
            other => other.and_then(|count| Some(count.whole()?.saturating_mul(factor))),
        };
        let of_factor = SIZES.iter().any(|key| group.levels.contains_key(*key));
        let meant = of_factor || !any_beyond || level(group) == Some("memory");
        Ok(found.filter(|_| meant || level(group).is_none()))
    };
    groups.iter_mut().map(taken).collect()
}

fn caches(topology: &Topology, lines: &mut Vec<String>) -> Caches {
    let sizes = |level: u32| {
        let used = topology.caches.iter().filter(move |cache| cache.level == level && !cache.cpus.is_empty());
        used.filter_map(|cache| cache.size_bytes).filter(|&bytes| bytes > 0)
    };
    let ends = |level: u32| sizes(level).min().zip(sizes(level).max());
    let mut or_assumed = |found: Option<(u64, u64)>, what: &str, bytes: u64| {
        found.unwrap_or_else(|| {
            let assumed = size(bytes);
            lines.push(format!("the system does not report the size of the {what}: {assumed} is assumed"));
            (bytes, bytes)
        })
    };
    let last = topology.caches.iter().map(|cache| cache.level).max().filter(|&level| level >= 2);
    let (l2, largest_l2) = or_assumed(ends(2), "L2 caches", ASSUMED_L2_BYTES);
    let (smallest_llc, largest_llc) = or_assumed(last.and_then(ends), "LLC", ASSUMED_LLC_BYTES);
    Caches { l2, largest_l2, smallest_llc, largest_llc }
}

/// The size of the largest last-level cache, reported or, with a line that says so, assumed.
fn largest_llc_bytes(topology: &Topology, lines: &mut Vec<String>) -> u64 {
    let mut of_both = Vec::new();
    let bytes = caches(topology, &mut of_both).largest_llc;
    lines.extend(of_both.into_iter().filter(|line| line.contains("LLC")));
    bytes
}

/// Blocks of the levels that fit a cache; `None` for `memory`.
fn cached_blocks(level: &str, caches: &Caches, most_sessions: u32, block: u64) -> Option<u64> {
    // A quarter, so that two sessions on siblings and the engine's own memory fit too.
    let inside_l2 = (caches.l2 / 4 / TOUCHED_BYTES).max(MIN_BLOCKS);
    match level {
        "l2" => Some(inside_l2),
        "llc" => {
            let share = caches.smallest_llc / 4 / u64::from(most_sessions) / TOUCHED_BYTES;
            Some(share.min(SESSION_LIMIT_BYTES / block).max(inside_l2))
        }
        _ => None,
    }
}

impl Sizing<'_> {
    /// Bytes of all data that has a size.
    fn bytes(&self) -> u64 {
        let bytes =
            |data: &Data| data.sessions.saturating_mul(data.blocks.unwrap_or(0)).saturating_mul(self.block);
        self.data.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// The largest blocks of a session.
    fn largest(&self) -> Option<u64> {
        self.data.iter().filter_map(|data| data.blocks).max()
    }

    /// Blocks of the level `memory`: enough to touch more than the LLC holds, within the limits. If that is impossible,
    /// enough to be far outside an L2 (`large`): more would cost time and change nothing.
    fn beyond_llc_blocks(&self) -> u64 {
        let open: u64 = self.data.iter().filter(|data| data.blocks.is_none()).map(|data| data.sessions).sum();
        // Rounded up to whole MiB, so that rounding down below does not fall short.
        let touching = |bytes: u64| (bytes.div_ceil(TOUCHED_BYTES) * self.block).next_multiple_of(MIB);
        let needed = touching(BEYOND * self.caches.largest_llc);
        let share = self.allowed_bytes.map(|allowed| allowed.saturating_sub(self.bytes()) / open.max(1));
        let share = share.unwrap_or(u64::MAX);
        let can = needed <= BEYOND_LIMIT_BYTES.min(share);
        let large = touching(OUTSIDE_L2 * self.caches.largest_l2).min(SESSION_LIMIT_BYTES);
        let most = if can { needed } else { large.min(share) };
        // Whole MiB if possible: reports show the number.
        let rounded = if most >= MIB { most / MIB * MIB } else { most };
        (rounded / self.block).max(MIN_BLOCKS)
    }

    /// The message about a level `memory` that became `large`.
    fn too_small_for_memory(&self, blocks: u64, is_explicit: bool) -> String {
        let (llc, l2, touched) = (self.caches.largest_llc, self.caches.l2, blocks * TOUCHED_BYTES);
        let remedy = if is_explicit { "" } else { " (--set data_mib=N for more)" };
        format!(
            "data beyond the LLC: it is reported as {}, so 'large' has {} a session instead, of which reads touch \
             about {}, {:.1} x the L2 and {:.2} x the LLC{remedy}",
            size(llc),
            size(blocks * self.block),
            size(touched),
            touched as f64 / l2 as f64,
            touched as f64 / llc as f64,
        )
    }

    /// Shrinks a preset's own sizes to what this machine can hold, all by the same factor, and says so.
    fn shrink(&mut self) -> Option<String> {
        let (bytes, allowed, largest) = (self.bytes(), self.allowed_bytes?, self.largest()?);
        if bytes <= allowed {
            return None;
        }
        for count in self.data.iter_mut().filter_map(|data| data.blocks.as_mut()) {
            let fitting = (u128::from(*count) * u128::from(allowed) / u128::from(bytes)) as u64;
            // Whole MiB if possible: reports show the number.
            let whole = fitting * self.block / MIB * MIB / self.block;
            *count = if whole > 0 { whole } else { fitting }.max(MIN_BLOCKS);
        }
        Some(format!(
            "data of {} a session: {} instead, since all sessions together may take {}, half of {} (files take the \
             other half)",
            size(largest * self.block),
            size(self.largest()? * self.block),
            size(allowed),
            self.rule
        ))
    }
}

/// If a level is small, a step must not read more than half of it, or every step would read the same blocks.
fn shorter_steps(group: &mut Group, blocks: u64) -> Option<String> {
    let most = (blocks / 2).max(1);
    let asked = group.options.get("work_unit")?.whole().filter(|asked| *asked > most)?;
    group.options.insert("work_unit".to_owned(), whole(most));
    let label = group.labels.get("data").map_or("small", String::as_str);
    Some(format!("data={label}: {blocks} blocks, so a step reads {most} and not {asked} (work_unit)"))
}

fn whole(count: u64) -> OptionValue {
    OptionValue::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn size(bytes: u64) -> String {
    if bytes >= MIB { format!("{} MiB", bytes / MIB) } else { format!("{} KiB", bytes >> 10) }
}

/// Fewest rows of a table: random keys need room between them.
const MIN_ROWS: u64 = 1000;

/// Removes default long windows whose rows do not fit in memory.
pub(super) fn without_long_windows(study: &mut Study, overrides: &Overrides) {
    let Some(limit) = overrides.memory_limit_bytes else { return };
    let (added, Some(long)) = (added_in_all(study), study.design.long_windows) else { return };
    if added > limit {
        study.design.long_windows = None;
        study.left_out.push(format!(
            "long windows: rows that sessions insert in {} s may take {} of memory, and {} may be used, {}",
            long.window_ns as f64 / 1e9,
            bytes(added),
            bytes(limit),
            overrides.memory_rule
        ));
    }
}

/// Shrinks the tables of a preset to what this machine can hold, all by the same factor, and says so. The memory left
/// by added rows is halved: files, or indexes and logs of an engine in memory, take the other half.
pub(super) fn fit_rows(study: &mut Study, overrides: &Overrides, is_preset: bool) {
    let is_asked_for = overrides.options.contains_key(SEED_ROWS);
    let Some(limit) = overrides.memory_limit_bytes.filter(|_| is_preset && !is_asked_for) else { return };
    if study.workload != Workload::Insert {
        return;
    }
    let (seeded, allowed) = (seeded(study), limit.saturating_sub(added_in_all(study)) / 2);
    if seeded <= allowed {
        return;
    }
    let largest = study.treatments.iter().map(seed_rows).max().unwrap_or(0);
    let fitting = |rows: u64| {
        let exact = (u128::from(rows) * u128::from(allowed) / u128::from(seeded)) as u64;
        // Whole thousands: reports show the number.
        (exact / 1000 * 1000).max(MIN_ROWS)
    };
    for treatment in &mut study.treatments {
        let rows = i64::try_from(fitting(seed_rows(treatment))).unwrap_or(i64::MAX);
        treatment.options.insert(SEED_ROWS.to_owned(), OptionValue::Integer(rows));
    }
    study.left_out.push(format!(
        "tables of {largest} rows: {} instead, since those of all treatments together may take {}, of {}",
        fitting(largest),
        bytes(allowed),
        overrides.memory_rule
    ));
}

fn added_in_all(study: &Study) -> u64 {
    study.treatments.iter().map(|treatment| added_bytes(study, treatment)).fold(0, u64::saturating_add)
}

/// Memory of all seeded tables: one for a treatment where rows are in memory, otherwise a copy in the cache of each
/// session.
fn seeded(study: &Study) -> u64 {
    let engine = study.properties();
    let of_treatment = |treatment: &Treatment| {
        let (copies, size) = match engine.row_memory_bytes {
            0 => (u64::from(treatment.sessions), engine.row_bytes),
            size => (1, size),
        };
        seed_rows(treatment).saturating_mul(copies).saturating_mul(size)
    };
    study.treatments.iter().map(of_treatment).fold(0, u64::saturating_add)
}

/// Default maximum of rows of an index, 256 MiB without the nodes around them: building it, once a run and treatment,
/// takes a second or two.
const MOST_INDEX_ROWS: u64 = 1 << 22;
/// Sets the default rows of treatments. Says so if memory does not allow more than the LLC.
pub(super) fn size_index(study: &mut Study, topology: &Topology, overrides: &Overrides) {
    let is_open = study.treatments.iter().any(|treatment| !treatment.options.contains_key(ROWS));
    if study.workload != Workload::Index || !is_open {
        return;
    }
    let llc_bytes = largest_llc_bytes(topology, &mut study.left_out);
    let allowed = overrides.memory_limit_bytes.map(|limit| limit.saturating_sub(added_in_all(study)));
    let share = allowed.map_or(u64::MAX, |allowed| allowed / study.treatments.len() as u64 / MOST_ROW_BYTES);
    let wanted = (BEYOND * llc_bytes / ROW_TOUCHED_BYTES).min(MOST_INDEX_ROWS);
    // Whole thousands: reports show the number.
    let rows = if share < wanted { share / 1000 * 1000 } else { wanted }.max(MIN_ROWS);
    for treatment in &mut study.treatments {
        treatment.options.entry(ROWS.to_owned()).or_insert(OptionValue::Integer(rows as i64));
    }
    let touched = rows * ROW_TOUCHED_BYTES;
    if touched > llc_bytes {
        return;
    }
    let why = match allowed.filter(|_| share < wanted) {
        Some(allowed) => format!(
            ", since those of {} treatments may take {}, of {}",
            study.treatments.len(),
            bytes(allowed),
            overrides.memory_rule
        ),
        None => String::new(),
    };
    study.left_out.push(format!(
        "an index larger than the LLC, which is reported as {}: {rows} rows, {}, instead{why} (--set {ROWS}=N for more)",
        bytes(llc_bytes),
        bytes(touched)
    ));
}
