//! Sizes of the workload `insert`: initial rows of a table, and memory of the rows that a window adds (also for the
//! workload `index`).

use crate::{OptionValue, Study, Treatment, Workload, index};

/// Option: initial rows of a table.
pub const SEED_ROWS: &str = "seed_rows";
/// Default initial rows.
pub const USUAL_SEED_ROWS: u64 = 200_000;
/// Assumed inserts per second and session into a table in memory. The maximum on a virtual machine in 2026, in slices
/// of 20 ms: 855,400.
const ROWS_PER_S: f64 = 1_300_000.0;
/// Memory for a window of at least this length is touched before the first slice.
const LEAST_WINDOW_NS: u64 = 50_000_000;

/// Initial rows of a treatment's table.
pub fn seed_rows(treatment: &Treatment) -> u64 {
    treatment.options.get(SEED_ROWS).and_then(OptionValue::whole).unwrap_or(USUAL_SEED_ROWS)
}

/// Bytes of memory of the rows that a treatment's sessions add in the longest timed window; they keep it for the next
/// one. 0 for engines with rows on disk, and for a fixed amount of work, which engines know.
pub fn added_bytes(study: &Study, treatment: &Treatment) -> u64 {
    let bytes_per_row = study.properties().row_memory_bytes;
    let inserts = match study.workload {
        Workload::Insert => true,
        Workload::Index => index::inserts(&treatment.options),
        _ => false,
    };
    if !inserts || bytes_per_row == 0 || study.is_fixed_work() {
        return 0;
    }
    let long_ns = study.design.long_windows.map_or(0, |long| long.window_ns);
    let window_ns = study.design.slice_ns.max(long_ns).max(LEAST_WINDOW_NS);
    let rows = ROWS_PER_S * window_ns as f64 / 1e9;
    (rows * f64::from(treatment.sessions) * bytes_per_row as f64) as u64
}
