//! Pinned threads that wake each other: two for each block, which end with it.

use super::channel::{End, Ends};
use super::{Order, WakeBench, WakeFault};
use crate::bench::ProbeError;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::pin_current_thread;

/// Round trips before those that count: both threads run, and their code and data are near them.
const WARM_UP: u32 = 2;
/// Time limit of a block, which takes a few milliseconds: another process of higher priority holds a logical CPU.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a waiting caller checks whether to stop.
const POLL: Duration = Duration::from_millis(50);
const STACK_BYTES: usize = 128 << 10;

/// Threads of this machine. `stop` ends a block within 50 ms, with [`ProbeError::Stopped`].
#[derive(Debug)]
pub struct LiveWakes {
    stop: Arc<AtomicBool>,
}

/// Why a thread could not do its part.
#[derive(Debug)]
enum Failure {
    Probe(ProbeError),
    System(io::Error),
}

impl Failure {
    /// Whether it only says that the other thread has failed.
    fn follows_another(&self) -> bool {
        matches!(self, Self::System(error) if error.kind() == ErrorKind::UnexpectedEof)
    }
}

type Answer = Result<Vec<f64>, Failure>;

impl LiveWakes {
    /// Starts nothing yet.
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop }
    }

    /// The times of the thread that leads, after both have ended, or what failed first.
    ///
    /// Threads that do not answer in time are left behind: they end when they get their logical CPU.
    fn collect(&self, answers: &Receiver<Answer>) -> Result<Vec<f64>, WakeFault> {
        let until = Instant::now() + PATIENCE;
        let mut times_ns = Vec::new();
        let mut failure = None;
        loop {
            match answers.recv_timeout(POLL) {
                Ok(Ok(times)) => times_ns.extend(times),
                Ok(Err(why)) if failure.as_ref().is_none_or(Failure::follows_another) => failure = Some(why),
                Ok(Err(_)) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(ProbeError::Stopped.into());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    let seconds = PATIENCE.as_secs();
                    let why = "other work holds one of the logical CPUs";
                    return Err(WakeFault::Refused(format!("no answer within {seconds} s: {why}")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        match failure {
            Some(Failure::Probe(error)) => Err(error.into()),
            Some(Failure::System(error)) => Err(WakeFault::Refused(error.to_string())),
            None => Ok(times_ns),
        }
    }
}

impl WakeBench for LiveWakes {
    fn run(&mut self, order: &Order) -> Result<Vec<f64>, WakeFault> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ProbeError::Stopped.into());
        }
        let Ends { leader, follower } =
            Ends::new(order.method).map_err(|error| WakeFault::Refused(error.to_string()))?;
        let pauses = Arc::new(Pauses::default());
        let (answer, answers) = channel();
        let (order, seen) = (*order, Arc::clone(&pauses));
        start(order.b, answer.clone(), move || follow(follower, &order, &pauses))?;
        start(order.a, answer, move || lead(leader, &order, &seen))?;
        self.collect(&answers)
    }
}

/// Starts a thread, bound to a logical CPU, that does its part and answers.
fn start(
    cpu: u32,
    answer: Sender<Answer>,
    part: impl FnOnce() -> io::Result<Vec<f64>> + Send + 'static,
) -> Result<(), ProbeError> {
    let serve = move || {
        let pinned: CpuSet = [cpu].into_iter().collect();
        let bound = pin_current_thread(&pinned);
        let bound = bound.map_err(|source| Failure::Probe(ProbeError::Pin { cpu, source }));
        let done = bound.and_then(|()| part().map_err(Failure::System));
        // The receiver is gone if the caller has stopped waiting.
        let _ = answer.send(done);
    };
    let builder = Builder::new().name(format!("wake-{cpu}")).stack_size(STACK_BYTES);
    builder.spawn(serve).map(drop).map_err(|error| ProbeError::Start(error.to_string()))
}

/// The pause that the follower made before its last answer, nanoseconds.
#[derive(Debug, Default)]
struct Pauses(AtomicU64);

/// Wakes the other thread and sleeps until it answers; half of each round trip without the other one's pause.
fn lead(mut end: End, order: &Order, pauses: &Pauses) -> io::Result<Vec<f64>> {
    let mut times_ns = Vec::with_capacity(order.round_trips as usize);
    for trip in 0..WARM_UP + order.round_trips {
        pause(order.idle_ns);
        let began = Instant::now();
        end.wake()?;
        end.wait()?;
        let took_ns = nanoseconds(began.elapsed()).saturating_sub(pauses.0.load(Ordering::Acquire));
        if trip >= WARM_UP {
            times_ns.push(took_ns as f64 / 2.0);
        }
    }
    Ok(times_ns)
}

/// Sleeps until it is woken, pauses and answers, until the other thread has ended.
fn follow(mut end: End, order: &Order, pauses: &Pauses) -> io::Result<Vec<f64>> {
    loop {
        match end.wait() {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Vec::new()),
            woken => woken?,
        }
        pauses.0.store(pause(order.idle_ns), Ordering::Release);
        end.wake()?;
    }
}

/// Works for a while, so that the other logical CPU is idle; gives its duration in nanoseconds.
fn pause(idle_ns: u64) -> u64 {
    if idle_ns == 0 {
        return 0;
    }
    let began = Instant::now();
    loop {
        let paused_ns = nanoseconds(began.elapsed());
        if paused_ns >= idle_ns {
            return paused_ns;
        }
        std::hint::spin_loop();
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::pin::current_affinity;
    use threadwise_study::probe::WakeMethod;

    fn bench() -> LiveWakes {
        LiveWakes::new(Arc::new(AtomicBool::new(false)))
    }

    /// Twice the same where there is only one.
    fn two() -> [u32; 2] {
        let allowed = current_affinity().unwrap();
        [allowed.first().unwrap(), allowed.iter().nth(1).or(allowed.first()).unwrap()]
    }

    fn order([a, b]: [u32; 2], method: WakeMethod) -> Order {
        Order { a, b, method, idle_ns: 0, round_trips: 5 }
    }

    #[test]
    fn every_method_has_as_many_times_as_round_trips() {
        let [a, b] = two();
        for method in WakeMethod::ALL {
            for (pair, idle_ns) in [([a, b], 0), ([a, a], 0), ([a, b], 10_000)] {
                let times_ns = bench().run(&Order { idle_ns, ..order(pair, method) }).unwrap();
                assert_eq!(times_ns.len(), 5, "{method:?} {pair:?}");
                assert!(times_ns.iter().all(|ns| ns.is_finite() && *ns >= 0.0), "{method:?}: {times_ns:?}");
            }
        }
    }

    #[test]
    fn an_absent_cpu_is_an_error_on_either_side() {
        let [a, _] = two();
        let absent = threadwise_machine::cpuset::MAX_CPUS - 1;
        for pair in [[a, absent], [absent, a]] {
            for method in WakeMethod::ALL {
                let error = bench().run(&order(pair, method)).unwrap_err();
                let is_absent = |error: &WakeFault| matches!(error, WakeFault::Probe(ProbeError::Pin { cpu, .. }) if *cpu == absent);
                assert!(is_absent(&error), "{method:?}: {error}");
            }
        }
    }

    #[test]
    fn stop_stops() {
        let stop = Arc::new(AtomicBool::new(true));
        let mut bench = LiveWakes::new(Arc::clone(&stop));
        let error = bench.run(&order(two(), WakeMethod::Futex)).unwrap_err();
        assert!(matches!(error, WakeFault::Probe(ProbeError::Stopped)));
        stop.store(false, Ordering::Relaxed);
        assert_eq!(bench.run(&order(two(), WakeMethod::Futex)).unwrap().len(), 5);
    }
}
