//! A fixed amount of work: from the window's start until a number of rows is done. The counterpart of
//! `step_loop`: all steps lie inside, so counters and CPU time are read before the first and after
//! the last one.

use threadwise_study::{Counters, SessionSlice};

use super::measure::{StepResult, latency_failed};
use crate::clock::{self, RunQueueWait};
use crate::{EngineError, Window, latency};

/// How long before the start the thread is awake, since waking up takes longer on some logical CPUs than on
/// others.
const AWAKE_NS: u64 = 200_000;

/// Steps from `window.start_ns` on until `rows` are done; latencies, counters and CPU time are those
/// of all steps. `counters` is called before the first and after the last.
///
/// # Errors
/// The window ended first, or the first error of a step or of `counters`.
pub fn fixed_work<const N: usize>(
    window: &Window,
    rows: u64,
    mut step: impl FnMut() -> Result<StepResult, EngineError>,
    mut counters: impl FnMut() -> Result<[(&'static str, u64); N], EngineError>,
) -> Result<SessionSlice, EngineError> {
    let run_queue = RunQueueWait::of_this_thread();
    let mut histogram = latency::histogram().map_err(latency_failed)?;
    let mut slice = SessionSlice::default();
    clock::sleep_until_ns(window.start_ns.saturating_sub(AWAKE_NS));
    while clock::monotonic_ns() < window.start_ns {
        std::hint::spin_loop();
    }
    let before = counters()?;
    let (cpu_ns, switches) = (clock::thread_cpu_ns(), clock::thread_switches());
    let waited_ns = run_queue.read_ns();
    let mut began_ns = clock::monotonic_ns();
    while slice.rows < rows {
        let result = step()?;
        let ended_ns = clock::monotonic_ns();
        if ended_ns > window.end_ns {
            return Err(too_long(window, slice.rows, rows));
        }
        slice.steps += 1;
        slice.rows += result.rows;
        slice.answers_checked += result.checked;
        slice.answers_wrong += result.wrong;
        histogram.saturating_record(ended_ns - began_ns);
        began_ns = ended_ns;
    }
    slice.finished_ns = Some(began_ns - window.start_ns);
    slice.cpu_ns = clock::thread_cpu_ns().saturating_sub(cpu_ns);
    let now = clock::thread_switches();
    slice.voluntary_switches = now.voluntary.saturating_sub(switches.voluntary);
    slice.involuntary_switches = now.involuntary.saturating_sub(switches.involuntary);
    slice.run_queue_wait_ns =
        run_queue.read_ns().zip(waited_ns).map(|(now_ns, then_ns)| now_ns.saturating_sub(then_ns));
    let ends = counters()?;
    let named = ends.iter().zip(&before).map(|((name, end), (_, begin))| ((*name).to_owned(), end - begin));
    slice.counters = named.collect::<Counters>();
    slice.latency = latency::to_bytes(&histogram).map_err(latency_failed)?;
    Ok(slice)
}

fn too_long(window: &Window, done: u64, rows: u64) -> EngineError {
    let seconds = (window.end_ns - window.start_ns) as f64 / 1e9;
    EngineError::Failed {
        engine: "worker".into(),
        action: format!("finish {rows} rows in time"),
        why: format!(
            "{done} of {rows} rows were done after {seconds:.2} s; lower rows_per_session, or allow more time \
             (slice_ms)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn step_of(rows: u64) -> StepResult {
        StepResult { rows, checked: 1, wrong: 0, think_ns: 0 }
    }

    #[test]
    fn exactly_the_rows_are_done_and_counted_from_the_start() {
        let start_ns = clock::monotonic_ns() + 3_000_000;
        let window = Window { sequence: 0, start_ns, end_ns: u64::MAX, piece_ns: None, arrivals: None };
        let done = Cell::new(7);
        let slice = fixed_work(
            &window,
            100,
            || {
                assert!(clock::monotonic_ns() >= start_ns);
                done.set(done.get() + 4);
                Ok(step_of(4))
            },
            || Ok([("work", done.get())]),
        );
        let slice = slice.unwrap();
        assert_eq!((slice.steps, slice.rows, slice.answers_checked), (25, 100, 25));
        assert_eq!((slice.counters["work"], latency::steps(&slice.latency)), (100, Ok(25)));
        let finished_ns = slice.finished_ns.unwrap();
        assert!(finished_ns > 0 && start_ns + finished_ns <= clock::monotonic_ns());
    }

    #[test]
    fn a_window_that_ends_first_is_an_error() {
        let window = Window { sequence: 0, start_ns: 1, end_ns: 2, piece_ns: None, arrivals: None };
        let error = fixed_work(&window, 100, || Ok(step_of(4)), || Ok([])).unwrap_err();
        assert!(error.to_string().contains("0 of 100 rows"), "{error}");
    }
}
