//! Probes of the hardware: stored whole in one transaction, read back with one scan per table.
//!
//! As for runs, every id must be the next of its series and every reference must point to something
//! that was read before, so that time and memory stay in proportion to the file's size.

mod read;
mod write;

pub(crate) use read::probes;
pub(crate) use write::{add, bytes_of};

use crate::error::Fault;
use threadwise_machine::cpuset::MAX_CPUS;

/// Most rows that one table has of one probe: more than all pairs of 1,400 logical CPUs.
const ROWS_MAX: usize = (1 << 20) - 1;
/// Most probed logical CPUs: Linux can be built for 8,192. Comparing pairs takes the square of it.
const PROBED_MAX: usize = 8_192;
/// Most logical CPUs that can be busy at once.
const BUSY_MAX: u64 = MAX_CPUS as u64;

/// The same limits for writing and reading; `fault` makes the error of either.
fn check_count(count: usize, max: usize, what: &str, fault: fn(String) -> Fault) -> Result<(), Fault> {
    if count > max {
        return Err(fault(format!("a probe has {count} {what}, more than {max}")));
    }
    Ok(())
}
