//! Pinned threads that pass cache lines, one for each logical CPU; they sleep between calls.
//!
//! Where lines are and how they are passed: `pass`.

use super::pass::{Line, Meeting, PLACES, moves, new_lines};
use super::{LineBench, Method};
use crate::bench::ProbeError;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::pin_current_thread;

/// Round trips on each place in a batch, more if the clock's step needs it.
const ROUND_TRIPS: u64 = 13;
/// Batches before the first sample: both threads run, and their clocks have risen.
const WARM_UP_BATCHES: u32 = 3;
/// Longest accepted step of the clock, nanoseconds.
const COARSE_STEP_NS: u64 = 2000;
/// Timeout of a batch: threads that take turns on one CPU pass a line once in a
/// scheduler's slice (about 3 ms), and would need a second.
const BATCH_LIMIT: Duration = Duration::from_millis(30);
/// Time limit of a call, plus [`SAMPLE_LIMIT`] for each sample.
const CALL_LIMIT: Duration = Duration::from_millis(60);
const SAMPLE_LIMIT: Duration = Duration::from_millis(1);
const STACK_BYTES: usize = 128 << 10;

/// Threads that pass lines, one for each logical CPU used so far; they sleep between calls.
#[derive(Debug)]
pub struct LiveLines {
    threads: BTreeMap<u32, LineThread>,
    stop: Arc<AtomicBool>,
    round_trips: u64,
    calls: u64,
}

/// The thread of a logical CPU, and where its jobs are sent.
#[derive(Debug)]
struct LineThread {
    jobs: Option<Sender<Job>>,
    handle: Option<JoinHandle<()>>,
}

impl LiveLines {
    /// Checks the clock. Threads are started by the first call that needs them; `stop` ends a call
    /// within milliseconds, with [`ProbeError::Stopped`].
    ///
    /// # Errors
    /// The clock's step is too long.
    pub fn new(stop: Arc<AtomicBool>) -> Result<Self, ProbeError> {
        let round_trips = round_trips(clock_step_ns())?;
        Ok(Self { threads: BTreeMap::new(), stop, round_trips, calls: 0 })
    }

    fn send(&mut self, cpu: u32, job: Job) -> Result<(), ProbeError> {
        let thread = match self.threads.entry(cpu) {
            Entry::Occupied(thread) => thread.into_mut(),
            Entry::Vacant(place) => place.insert(LineThread::start(cpu)?),
        };
        let sent = thread.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { Ok(()) } else { Err(ended(cpu)) }
    }
}

impl LineBench for LiveLines {
    fn run(
        &mut self,
        method: Method,
        pairs: &[(u32, u32)],
        samples: u32,
    ) -> Result<Vec<Vec<f64>>, ProbeError> {
        let (answer, answers) = channel();
        self.calls += 1;
        let mut failed = None;
        for (pair, &(a, b)) in pairs.iter().enumerate() {
            let meeting = Arc::new(Meeting::new(Arc::clone(&self.stop)));
            // The thread that touches the page first alternates from call to call.
            let first_is_a = self.calls % 2 == 1;
            for (cpu, leads) in [(a, true), (b, false)] {
                let job = Job {
                    cpu,
                    pair,
                    leads,
                    touches: leads == first_is_a,
                    method,
                    samples,
                    round_trips: self.round_trips,
                    meeting: Arc::clone(&meeting),
                    answer: answer.clone(),
                };
                if let Err(error) = self.send(cpu, job) {
                    meeting.end();
                    failed.get_or_insert(error);
                }
            }
        }
        drop(answer);
        let result = collect(&answers, pairs.len());
        match failed {
            Some(error) => Err(error),
            None if self.stop.load(Ordering::Relaxed) => Err(ProbeError::Stopped),
            None => result,
        }
    }
}

impl Drop for LiveLines {
    fn drop(&mut self) {
        // All channels first, so that the threads end at the same time.
        self.threads.values_mut().for_each(|thread| thread.jobs = None);
        for thread in self.threads.values_mut().filter_map(|thread| thread.handle.take()) {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

/// All threads' answers; waits for all, then returns the first error.
fn collect(
    answers: &Receiver<(usize, Result<Vec<f64>, ProbeError>)>,
    pairs: usize,
) -> Result<Vec<Vec<f64>>, ProbeError> {
    let mut all: Vec<Option<Vec<f64>>> = vec![None; pairs];
    let mut failed = None;
    for (pair, answer) in answers {
        match answer {
            // The other one has no samples.
            Ok(samples) if !samples.is_empty() => all[pair] = Some(samples),
            Ok(_) => {}
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(all.into_iter().map(Option::unwrap_or_default).collect()), Err)
}

fn ended(cpu: u32) -> ProbeError {
    ProbeError::Start(format!("the thread for logical CPU {cpu} ended unexpectedly"))
}

impl LineThread {
    fn start(cpu: u32) -> Result<Self, ProbeError> {
        let (jobs, inbox) = channel::<Job>();
        let serve = move || {
            for job in inbox {
                let result = job.run();
                if result.is_err() {
                    job.meeting.end();
                }
                // The receiver is gone only if the caller has failed.
                let _ = job.answer.send((job.pair, result));
            }
        };
        let builder = Builder::new().name(format!("line-{cpu}")).stack_size(STACK_BYTES);
        let handle = builder.spawn(serve).map_err(|error| ProbeError::Start(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), handle: Some(handle) })
    }
}

/// One thread's part of one call.
struct Job {
    cpu: u32,
    pair: usize,
    /// Whether it passes first and takes the time.
    leads: bool,
    /// Allocates the lines and touches them first.
    touches: bool,
    method: Method,
    samples: u32,
    round_trips: u64,
    meeting: Arc<Meeting>,
    answer: Sender<(usize, Result<Vec<f64>, ProbeError>)>,
}

impl Job {
    fn run(&self) -> Result<Vec<f64>, ProbeError> {
        let cpus: CpuSet = [self.cpu].into_iter().collect();
        // Read back before every call: a cpuset may have changed.
        pin_current_thread(&cpus).map_err(|source| ProbeError::Pin { cpu: self.cpu, source })?;
        let until = Instant::now() + CALL_LIMIT + SAMPLE_LIMIT * self.samples;
        if self.touches {
            self.meeting.provide(new_lines()?);
        }
        let Some(lines) = self.meeting.lines(until) else { return Ok(Vec::new()) };
        let mut times_ns = Vec::with_capacity(self.samples as usize);
        for batch in 0..self.samples + WARM_UP_BATCHES {
            let Some(time_ns) = self.batch(lines, batch, until) else { break };
            if self.leads && batch >= WARM_UP_BATCHES {
                times_ns.push(self.one_way_ns(time_ns)?);
            }
        }
        Ok(times_ns)
    }

    /// One batch through all places; its time in nanoseconds, `None` if it did not finish.
    fn batch(&self, lines: &[Line], batch: u32, until: Instant) -> Option<u64> {
        let started = Instant::now();
        let until = if self.leads { until.min(started + BATCH_LIMIT) } else { until };
        // Numbers of passes continue from the last batch.
        let begin = u64::from(batch) * self.round_trips;
        let pass = |place: &[Line]| match place {
            [one, other] => self.meeting.pass(
                (self.method, self.leads),
                (one, other),
                begin..begin + self.round_trips,
                until,
            ),
            _ => false,
        };
        let passed = lines.chunks(2).all(pass);
        passed.then(|| u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn one_way_ns(&self, time_ns: u64) -> Result<f64, ProbeError> {
        // A stopped clock is not a latency of 0.
        let stood = ProbeError::CoarseClock { step_ns: COARSE_STEP_NS };
        if time_ns == 0 {
            Err(stood)
        } else {
            Ok(time_ns as f64 / moves(self.method, self.round_trips) as f64)
        }
    }
}

/// Round trips on each place with which the clock's step changes a batch's time by at most 2% at 4 ns a
/// line, which is less than between the siblings of a core.
fn round_trips(step_ns: u64) -> Result<u64, ProbeError> {
    if step_ns > COARSE_STEP_NS {
        return Err(ProbeError::CoarseClock { step_ns });
    }
    Ok(ROUND_TRIPS.max(step_ns * 50 / (8 * PLACES as u64)))
}

/// The smallest step of the clock that was seen, its reading included, in nanoseconds.
fn clock_step_ns() -> u64 {
    let mut smallest = u64::MAX;
    let begin = Instant::now();
    let mut last = begin;
    for _ in 0..2000 {
        let now = loop {
            let now = Instant::now();
            if now > last {
                break now;
            }
        };
        smallest = smallest.min(u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX));
        last = now;
        if now - begin > Duration::from_millis(20) {
            break;
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::pin::current_affinity;

    fn lines() -> LiveLines {
        LiveLines::new(Arc::new(AtomicBool::new(false))).unwrap()
    }

    /// Twice the same where there is only one: then nothing is ever passed.
    fn two() -> (u32, u32) {
        let allowed = current_affinity().unwrap();
        (allowed.first().unwrap(), allowed.iter().nth(1).or(allowed.first()).unwrap())
    }

    #[test]
    fn coarse_clocks_are_refused_and_slow_ones_get_longer_batches() {
        assert!(matches!(round_trips(4_000_000), Err(ProbeError::CoarseClock { step_ns: 4_000_000 })));
        assert_eq!(round_trips(25).unwrap(), ROUND_TRIPS);
        assert_eq!(round_trips(1000).unwrap(), 390);
    }

    #[test]
    fn times_are_positive_and_no_more_than_asked() {
        let pair = two();
        let mut bench = lines();
        for method in [Method::Cas, Method::TwoLines] {
            let answers = bench.run(method, &[pair], 5).unwrap();
            assert_eq!(answers.len(), 1);
            assert!(answers[0].len() <= 5);
            assert!(answers[0].iter().all(|ns| ns.is_finite() && *ns > 0.0), "{answers:?}");
        }
    }

    #[test]
    fn an_absent_cpu_is_an_error_and_the_bench_goes_on() {
        let (a, b) = two();
        let mut bench = lines();
        let absent = threadwise_machine::cpuset::MAX_CPUS - 1;
        let error = bench.run(Method::Cas, &[(a, absent)], 5).unwrap_err();
        assert!(matches!(error, ProbeError::Pin { cpu, .. } if cpu == absent), "{error}");
        bench.run(Method::Cas, &[(a, b)], 5).unwrap();
    }

    #[test]
    fn stop_stops() {
        let pair = two();
        let stop = Arc::new(AtomicBool::new(true));
        let mut bench = LiveLines::new(Arc::clone(&stop)).unwrap();
        let error = bench.run(Method::TwoLines, &[pair], 1_000_000).unwrap_err();
        assert!(matches!(error, ProbeError::Stopped));
        stop.store(false, Ordering::Relaxed);
        bench.run(Method::Cas, &[pair], 5).unwrap();
    }
}
