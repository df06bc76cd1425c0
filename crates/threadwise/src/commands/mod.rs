//! One file per subcommand.

pub mod before;
pub mod card;
pub mod check;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod engine;
pub mod export;
pub mod fit;
pub mod fleet;
pub mod headroom;
pub mod list;
pub mod neighbours;
pub mod observe;
pub mod probe;
pub mod published;
pub mod questions;
pub mod reload;
pub mod report;
pub mod restore;
pub mod run;
pub mod screen;
pub mod smt;
pub mod topology;
pub mod watch;
pub mod worker;
pub mod worklist;

use crate::error::AppError;
use crate::output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends if the user stopped it before anything was measured.
pub fn unless_stopped(stop: &AtomicBool) -> Result<(), AppError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(AppError::Interrupted("stopped before anything was measured".to_owned())),
        false => Ok(()),
    }
}

/// A drawn seed, below 2^53 so that it is exact in JSON.
pub fn drawn_seed() -> Result<u64, AppError> {
    use std::io::Read;
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).map_err(
        |error| AppError::Failed(format!("cannot draw a seed from /dev/urandom: {error}; give --seed")),
    )?;
    Ok(u64::from_le_bytes(bytes) >> 11)
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set; the second Ctrl-C ends the program at once.
pub fn stop_flag() -> Result<Arc<AtomicBool>, AppError> {
    catch(2)
}

/// As [`stop_flag`] for a study: the second Ctrl-C kills the workers, for which everything else waits, so that files
/// are still closed and masks restored. The third ends the program at once, and the watchdog does the rest.
pub fn stop_flag_of_study() -> Result<Arc<AtomicBool>, AppError> {
    catch(3)
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set, without a thread: for a process that changes its user, which needs a
/// single thread.
pub fn stop_flag_without_thread() -> Result<Arc<AtomicBool>, AppError> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(not_caught)?;
    }
    Ok(stop)
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with EFBIG, and sets a flag: otherwise SIGXFSZ would
/// end the process silently. Started programs have the default signal, since exec resets handlers.
pub fn bear_limit_of_file_sizes() -> Arc<AtomicBool> {
    let reached = Arc::new(AtomicBool::new(false));
    // Without the handler the kernel ends the process, as by default.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::clone(&reached));
    reached
}

/// The advice if a limit of file sizes was reached, here or, by the error, in a started process.
pub fn advice_on_file_sizes(reached: &AtomicBool, error: &str) -> &'static str {
    let is_limited = rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_some();
    // EFBIG as the system's number, and SQLite's translation of it.
    let elsewhere = || is_limited && ["os error 27", "I/O error"].iter().any(|sign| error.contains(sign));
    match reached.load(Ordering::Relaxed) || elsewhere() {
        true => "; a file has reached the limit of file sizes: raise it with ulimit -f",
        false => "",
    }
}

fn not_caught(error: std::io::Error) -> AppError {
    AppError::Failed(format!("cannot catch signals: {error}"))
}

fn catch(last: usize) -> Result<Arc<AtomicBool>, AppError> {
    let stop = stop_flag_without_thread()?;
    let mut signals =
        signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT]).map_err(not_caught)?;
    let watch = move || {
        for (before, _) in signals.forever().enumerate() {
            match before + 1 {
                1 => {}
                number if number == last => {
                    output::tell("threadwise: ended at once");
                    signal_hook::low_level::exit(130);
                }
                _ => {
                    let killed = threadwise_runner::kill_workers();
                    output::tell(&format!(
                        "threadwise: workers killed: {killed}; a third Ctrl-C ends threadwise at once"
                    ));
                }
            }
        }
    };
    std::thread::Builder::new().name("ctrl-c".to_owned()).spawn(watch).map_err(not_caught)?;
    Ok(stop)
}
