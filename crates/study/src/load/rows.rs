//! Reduces the rows of an `insert` preset to what the machine's memory holds.
//!
//! All workers of a block are parked at the same time, so the tables of every treatment count. A size that the user
//! gave is used, or refused by the memory guard.

use threadwise_machine::words::bytes;

use super::overrides::Overrides;
use crate::insert::{SEED_ROWS, added_bytes, seed_rows};
use crate::{OptionValue, Study, Treatment, Workload};

/// Fewest rows of a table: random keys need room between them.
const MIN_ROWS: u64 = 1000;

/// Removes default long windows whose rows do not fit in memory.
pub(super) fn without_long_windows(study: &mut Study, overrides: &Overrides) {
    let Some(limit) = overrides.memory_limit_bytes else { return };
    let (added, Some(long)) = (added(study), study.design.long_windows) else { return };
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
pub(super) fn fit(study: &mut Study, overrides: &Overrides, is_preset: bool) {
    let is_asked_for = overrides.options.contains_key(SEED_ROWS);
    let Some(limit) = overrides.memory_limit_bytes.filter(|_| is_preset && !is_asked_for) else { return };
    if study.workload != Workload::Insert {
        return;
    }
    let (seeded, allowed) = (seeded(study), limit.saturating_sub(added(study)) / 2);
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

fn added(study: &Study) -> u64 {
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
