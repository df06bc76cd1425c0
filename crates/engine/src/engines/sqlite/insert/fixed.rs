//! A fixed amount of work: a given number of steps from the window's start on, each counted.

use threadwise_study::{Counters, SessionSlice};

use super::failed;
use crate::clock::{self, RunQueueWait};
use crate::worker::StepResult;
use crate::{EngineError, Window, latency};

/// Does `steps` steps from the window's start on and says when the last one ended. The counterpart of
/// [`crate::worker::closed_loop`]; here all steps lie inside, so counters and CPU time are read before
/// the first and after the last one.
///
/// # Errors
/// The first error of a step or of `counters`, or the window's end before the last step's.
pub(super) fn fixed_work<const N: usize>(
    window: &Window,
    steps: u64,
    mut step: impl FnMut() -> Result<StepResult, EngineError>,
    mut counters: impl FnMut() -> Result<[(&'static str, u64); N], EngineError>,
) -> Result<SessionSlice, EngineError> {
    let run_queue = RunQueueWait::of_this_thread();
    let mut histogram = latency::histogram().map_err(|cause| failed("record latencies", cause))?;
    let mut slice = SessionSlice::default();
    clock::sleep_until_ns(window.start_ns);
    let first = (clock::thread_cpu_ns(), clock::thread_switches(), run_queue.read_ns(), counters()?);
    let mut began_ns = clock::monotonic_ns();
    while slice.steps < steps {
        let result = step()?;
        let ended_ns = clock::monotonic_ns();
        if ended_ns > window.end_ns {
            return Err(too_long(window, slice.steps, steps));
        }
        slice.steps += 1;
        slice.rows += result.rows;
        slice.answers_checked += result.checked;
        slice.answers_wrong += result.wrong;
        histogram.saturating_record(ended_ns - began_ns);
        began_ns = ended_ns;
    }
    slice.finished_ns = Some(began_ns.saturating_sub(window.start_ns));
    let (cpu_ns, switches, wait_ns, at_first) = first;
    let now = clock::thread_switches();
    slice.cpu_ns = clock::thread_cpu_ns().saturating_sub(cpu_ns);
    slice.voluntary_switches = now.voluntary.saturating_sub(switches.voluntary);
    slice.involuntary_switches = now.involuntary.saturating_sub(switches.involuntary);
    slice.run_queue_wait_ns = run_queue.read_ns().zip(wait_ns).map(|(now, then)| now.saturating_sub(then));
    let names_and_ends = counters()?.into_iter().zip(at_first);
    slice.counters = names_and_ends
        .map(|((name, now), (_, then))| (name.to_owned(), now.saturating_sub(then)))
        .collect::<Counters>();
    slice.latency = latency::to_bytes(&histogram).map_err(|cause| failed("record latencies", cause))?;
    Ok(slice)
}

fn too_long(window: &Window, done: u64, steps: u64) -> EngineError {
    let seconds = (window.end_ns - window.start_ns) as f64 / 1e9;
    let why = format!(
        "after {seconds:.1} s, the longest time for it, {done} of {steps} transactions were done; lower \
         rows_per_session"
    );
    failed("finish its work in time", why)
}
