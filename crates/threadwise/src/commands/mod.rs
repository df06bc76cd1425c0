//! One file per subcommand.

pub mod compare;
pub mod completions;
pub mod doctor;
pub mod engine;
pub mod export;
pub mod list;
pub mod probe;
pub mod reload;
pub mod report;
pub mod run;
pub mod topology;
pub mod worker;
pub mod worklist;

use crate::error::AppError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends where the user asked for it before anything was measured.
pub fn unless_stopped(stop: &AtomicBool) -> Result<(), AppError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(AppError::Interrupted("stopped before anything was measured".to_owned())),
        false => Ok(()),
    }
}

/// A seed that nobody chose, below 2^53 so that JSON keeps it whole.
pub fn drawn_seed() -> Result<u64, AppError> {
    use std::io::Read;
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).map_err(
        |error| AppError::Failed(format!("cannot draw a seed from /dev/urandom: {error}; give --seed")),
    )?;
    Ok(u64::from_le_bytes(bytes) >> 11)
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set; the second Ctrl-C ends the program at once, and the
/// janitor process removes the temporary folder.
pub fn stop_flag() -> Result<Arc<AtomicBool>, AppError> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    let mut registered = signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&stop));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        registered = registered.and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
    }
    registered.map_err(|error| AppError::Failed(format!("cannot catch signals: {error}")))?;
    Ok(stop)
}
