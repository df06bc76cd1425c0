//! The watchdog of a machine that is switched (`threadwise_process::watchdog`).

use crate::error::SmtError;
use crate::kernel::Kernel;
use crate::left;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use threadwise_process::watchdog::{Tries, await_end};

/// How often it tries to restore.
const TRIES: Tries = Tries { number: 25, pause: Duration::from_millis(200) };

/// The watchdog: waits for the end of stdin, then restores what the journal has. A lasting change stays.
///
/// # Errors
/// Something could not be restored; `threadwise restore` tries again.
pub fn watch(kernel: &dyn Kernel, journal: &Path, stdin: &mut dyn Read) -> Result<(), SmtError> {
    await_end(stdin, |_| ());
    TRIES.until_done(|| match left::put_back_unless_kept(kernel, journal)? {
        settled if settled.failed.is_empty() => Ok(()),
        settled => Err(SmtError::NotRestored(settled.failed)),
    })
}
