//! Default rows of the workload `index`: an index larger than the last-level cache, if memory holds one for every
//! treatment.

use threadwise_machine::Topology;
use threadwise_machine::words::bytes;

use super::data;
use super::overrides::Overrides;
use crate::index::{MOST_ROW_BYTES, ROWS, TOUCHED_BYTES};
use crate::insert::added_bytes;
use crate::{OptionValue, Study, Workload};

/// Size of all rows together as a multiple of the LLC.
const BEYOND: u64 = 2;
/// Default maximum of rows of an index, 256 MiB without the nodes around them: building it, once a run and treatment,
/// takes a second or two.
const MOST_ROWS: u64 = 1 << 22;
/// Fewest rows: random keys need room between them.
const MIN_ROWS: u64 = 1000;

/// Sets the default rows of treatments. Says so if memory does not allow more than the LLC.
pub(super) fn size(study: &mut Study, topology: &Topology, overrides: &Overrides) {
    let is_open = study.treatments.iter().any(|treatment| !treatment.options.contains_key(ROWS));
    if study.workload != Workload::Index || !is_open {
        return;
    }
    let llc_bytes = data::largest_llc_bytes(topology, &mut study.left_out);
    let added = study.treatments.iter().map(|treatment| added_bytes(study, treatment));
    let added = added.fold(0, u64::saturating_add);
    let allowed = overrides.memory_limit_bytes.map(|limit| limit.saturating_sub(added));
    let share = allowed.map_or(u64::MAX, |allowed| allowed / study.treatments.len() as u64 / MOST_ROW_BYTES);
    let wanted = (BEYOND * llc_bytes / TOUCHED_BYTES).min(MOST_ROWS);
    // Whole thousands: reports show the number.
    let rows = if share < wanted { share / 1000 * 1000 } else { wanted }.max(MIN_ROWS);
    for treatment in &mut study.treatments {
        treatment.options.entry(ROWS.to_owned()).or_insert(OptionValue::Integer(rows as i64));
    }
    let touched = rows * TOUCHED_BYTES;
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
