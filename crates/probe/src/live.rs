//! Runs kernels on the live machine: one sleeping thread per logical CPU, bound to it.
//!
//! In a window, the first thread is woken and wakes two more, and so on, so that a thousand
//! start in ten steps and the caller, which may run on one of the CPUs, has nothing left to do.
//! Each runs the latency-limited kernel for a while (to leave deep idle states, and to reach the
//! busy clock), then continues until all have arrived; the last sets the start a moment ahead. From
//! then to the common end each runs its kernel in chunks of a few microseconds and reads
//! CLOCK_MONOTONIC after each. The caller sleeps until the last one is done; threads that have
//! no part in a window are not woken.

pub mod clock;
mod switches;
#[cfg(test)]
mod tests;
mod timing;
mod window;

use crate::bench::{Bench, ProbeError, Timing};
use crate::kernels::{Kernel, Scratch};
use clock::Clock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use switches::Switches;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{PinError, current_affinity, pin_current_thread};
use window::{Order, Window, Worker, uncounted};

/// Enough for a thread; a thousand threads reserve 64 MB of address space.
const STACK_BYTES: usize = 64 * 1024;

/// How long threads may need beyond the window before the run is given up. A busy system takes some
/// milliseconds to run a thread; only a thread with real-time priority can hold a CPU for this long.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a waiting caller checks whether to stop.
const POLL: Duration = Duration::from_millis(100);

/// The live machine.
///
/// A window costs about 0.2 ms beside its own time (waking, preheating, joining); docs/PROBE.md
/// has measured figures. If `on_cpu_share` of a timing is far below 1, its `step_ns` may come from
/// a time when the others had already finished.
#[derive(Debug)]
pub struct LiveBench {
    hands: BTreeMap<u32, Hand>,
    clock: Clock,
    stop: Arc<AtomicBool>,
}

/// A thread that waits for orders and ends when its sender is dropped.
#[derive(Debug)]
struct Hand {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
}

impl LiveBench {
    /// Starts one thread per logical CPU of `cpus`, bound to it, and puts it to sleep.
    ///
    /// `stop` ends a running window within a few microseconds, and refuses all later ones.
    ///
    /// # Errors
    /// A CPU that the calling thread may not use or cannot be bound to, a clock that is too coarse,
    /// threads that cannot be started, or a kernel that does not count context switches.
    pub fn new(cpus: &CpuSet, stop: Arc<AtomicBool>) -> Result<Self, ProbeError> {
        check_allowed(cpus)?;
        let mut bench = Self { hands: BTreeMap::new(), clock: Clock::checked()?, stop };
        let (ready, answers) = channel();
        for cpu in cpus.iter() {
            let (orders, inbox) = channel();
            let (ready, clock) = (ready.clone(), bench.clock);
            let thread = std::thread::Builder::new()
                .name(format!("probe-{cpu}"))
                .stack_size(STACK_BYTES)
                .spawn(move || work(cpu, clock, ready, inbox))
                .map_err(|cause| ProbeError::Start(format!("no thread for logical CPU {cpu} ({cause})")))?;
            bench.hands.insert(cpu, Hand { orders, thread });
        }
        drop(ready);
        // Ends when each thread has answered or has ended, which drops its sender.
        let answers = answers.iter().collect::<Result<Vec<()>, ProbeError>>()?;
        if answers.len() < bench.hands.len() {
            return Err(ProbeError::Start("a thread ended before it was ready".to_owned()));
        }
        Ok(bench)
    }

    /// The logical CPUs that this bench can run kernels on.
    pub fn cpus(&self) -> CpuSet {
        self.hands.keys().copied().collect()
    }

    fn senders(&self, cpus: &[u32]) -> Result<Vec<Sender<Order>>, ProbeError> {
        if cpus.iter().copied().collect::<CpuSet>().len() < cpus.len() {
            return Err(ProbeError::Cpus(format!("a logical CPU appears twice in one window: {cpus:?}")));
        }
        let unknown =
            |cpu| format!("logical CPU {cpu} is not one of those that this probe uses ({})", self.cpus());
        let sender = |cpu| self.hands.get(cpu).map(|hand| hand.orders.clone());
        cpus.iter().map(|cpu| sender(cpu).ok_or_else(|| ProbeError::Cpus(unknown(cpu)))).collect()
    }

    /// Sleeps until all threads have finished the window.
    fn wait(&self, window: &Window, cpus: &[u32]) -> Result<(), ProbeError> {
        let deadline = Instant::now() + Duration::from_nanos(window.window_ns) + PATIENCE;
        while !window.done() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ProbeError::Stopped);
            }
            if Instant::now() >= deadline {
                window.give_up();
                let held: CpuSet =
                    (0..cpus.len()).filter(|at| window.take(*at).is_none()).map(|at| cpus[at]).collect();
                return Err(ProbeError::Cpus(format!(
                    "not all of logical CPUs {held} ran the probe within {} s: a process of higher priority holds one; leave it out",
                    PATIENCE.as_secs()
                )));
            }
            std::thread::park_timeout(POLL);
        }
        Ok(())
    }
}

impl Bench for LiveBench {
    fn run(&mut self, kernel: Kernel, cpus: &[u32], window_ns: u64) -> Result<Vec<Timing>, ProbeError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ProbeError::Stopped);
        }
        if cpus.is_empty() {
            return Ok(Vec::new());
        }
        let senders = self.senders(cpus)?;
        let window = Arc::new(Window::new(kernel, window_ns, senders, self.clock, Arc::clone(&self.stop)));
        window.wake(0);
        self.wait(&window, cpus)?;
        // A thread ends without a result only on request.
        (0..cpus.len()).map(|position| window.take(position).unwrap_or(Err(ProbeError::Stopped))).collect()
    }
}

impl Drop for LiveBench {
    fn drop(&mut self) {
        // Dropping all senders first lets the threads end at the same time.
        let hands = std::mem::take(&mut self.hands).into_values();
        let threads: Vec<JoinHandle<()>> = hands.map(|hand| hand.thread).collect();
        for thread in threads {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

/// Refuses logical CPUs that the calling thread may not use. Root could bind a thread to some of
/// them, but the user's own restriction (`taskset`) counts.
fn check_allowed(cpus: &CpuSet) -> Result<(), ProbeError> {
    let unread = |source| PinError::Unread { wanted: cpus.clone(), source };
    let allowed = current_affinity()
        .map_err(|cause| ProbeError::Pin { cpu: cpus.first().unwrap_or(0), source: unread(cause) })?;
    let outside = cpus.difference(&allowed);
    if outside.is_empty() {
        return Ok(());
    }
    Err(ProbeError::Cpus(format!(
        "cannot probe logical CPUs {outside}: this process may use only {allowed}; check the CPU list, the affinity mask (taskset) and the cpuset"
    )))
}

/// A thread: binds itself, reports, then serves until the orders end.
fn work(cpu: u32, clock: Clock, ready: Sender<Result<(), ProbeError>>, orders: Receiver<Order>) {
    let (mut worker, answer) = match settle(cpu, clock) {
        Ok(worker) => (Some(worker), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // If the bench is being dropped, the report has no reader and the orders end too.
    let _ = ready.send(answer);
    drop(ready);
    if let Some(worker) = &mut worker {
        orders.into_iter().for_each(|order| worker.serve(&order));
    }
}

/// Binds the calling thread and allocates its memory, which it touches first.
fn settle(cpu: u32, clock: Clock) -> Result<Worker, ProbeError> {
    let pinned: CpuSet = [cpu].into_iter().collect();
    pin_current_thread(&pinned).map_err(|source| ProbeError::Pin { cpu, source })?;
    let switches = Switches::of_this_thread().map_err(|cause| uncounted(cpu, &cause))?;
    Ok(Worker { cpu, pinned, clock, switches, scratch: Scratch::new(), chunks_ns: Vec::with_capacity(8192) })
}
