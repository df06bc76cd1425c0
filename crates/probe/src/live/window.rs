//! One window: its threads wake each other, start together and end together.

use super::clock::Clock;
use super::switches::Switches;
use super::timing::{Record, timing};
use crate::bench::{ProbeError, Timing};
use crate::kernels::{self, Kernel, Scratch, TURN_STEPS};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{PinError, current_affinity};

/// How long a thread runs the latency-limited kernel before it is ready: deep idle states take up to
/// 100 us to leave, and KVM polls on a CPU that went idle for up to 200 us (kernel
/// `Documentation/virt/kvm/halt-polling.rst`), possibly the sibling after its last window.
const PREHEAT_NS: u64 = 100_000;

/// Turns of a chunk while preheating, about 3 us.
const PREHEAT_TURNS: u64 = 512;

/// Fewest chunks of a preheating: another process's time slice may fill the time above with one,
/// and the window's chunks that follow from it would be as short as a reading of the clock.
const PREHEAT_CHUNKS: u32 = 10;

/// Turns between two checks while waiting for the start, about 0.1 us.
const WAIT_TURNS: u64 = 16;

/// From the last arrival to the start: enough for all to see it and to read their switches.
const LEAD_NS: u64 = 20_000;

/// Bounds the length of a chunk if the preheating was misled.
const MOST_TURNS: u64 = 1 << 20;

/// Fewest chunks of a window, even if the thread came too late for it: a median of fewer would
/// be that of an interruption.
const FEWEST_CHUNKS: usize = 5;

/// A start that is not set yet.
const UNSET: u64 = 0;

/// A thread's part in a window.
#[derive(Debug)]
pub struct Order {
    window: Arc<Window>,
    position: usize,
}

/// A window that its threads share.
#[derive(Debug)]
pub struct Window {
    /// Time from the common start to the common end.
    pub window_ns: u64,
    kernel: Kernel,
    chunk_ns: u64,
    clock: Clock,
    senders: Vec<Sender<Order>>,
    results: Vec<Mutex<Option<Result<Timing, ProbeError>>>>,
    arrived: AtomicUsize,
    left: AtomicUsize,
    start_ns: AtomicU64,
    stop: Arc<AtomicBool>,
    given_up: AtomicBool,
    caller: Thread,
}

impl Window {
    /// A window for the threads of `senders`, for which the calling thread waits.
    pub fn new(
        kernel: Kernel,
        window_ns: u64,
        senders: Vec<Sender<Order>>,
        clock: Clock,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            window_ns,
            kernel,
            chunk_ns: clock.chunk_ns(window_ns),
            clock,
            results: senders.iter().map(|_| Mutex::new(None)).collect(),
            arrived: AtomicUsize::new(0),
            left: AtomicUsize::new(senders.len()),
            senders,
            start_ns: AtomicU64::new(UNSET),
            stop,
            given_up: AtomicBool::new(false),
            caller: std::thread::current(),
        }
    }

    /// Wakes the thread at `position`, which wakes the others.
    pub fn wake(self: &Arc<Self>, position: usize) {
        if let Some(sender) = self.senders.get(position) {
            // Fails only if the thread has ended; then its result is missing, and the caller reports it.
            let _ = sender.send(Order { window: Arc::clone(self), position });
        }
    }

    /// Whether all threads are done.
    pub fn done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Makes all running and waiting threads leave.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// The result of the thread at `position`; `None` if it left early or is not done.
    pub fn take(&self, position: usize) -> Option<Result<Timing, ProbeError>> {
        self.results.get(position)?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn leaving(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.given_up.load(Ordering::Relaxed)
    }

    /// Reports ready and continues until the common start is set; `None` when leaving.
    fn meet(&self, scratch: &mut Scratch) -> Option<u64> {
        if self.arrived.fetch_add(1, Ordering::Relaxed) + 1 == self.senders.len() {
            self.start_ns.store(self.clock.now_ns() + LEAD_NS, Ordering::Relaxed);
        }
        while !self.leaving() {
            match self.start_ns.load(Ordering::Relaxed) {
                UNSET => kernels::run(Kernel::Chain, WAIT_TURNS, scratch),
                start_ns => return Some(start_ns),
            };
        }
        None
    }

    fn leave(&self, position: usize, result: Option<Result<Timing, ProbeError>>) {
        *self.results[position].lock().unwrap_or_else(PoisonError::into_inner) = result;
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.caller.unpark();
        }
    }
}

/// A thread that is bound to its logical CPU.
#[derive(Debug)]
pub struct Worker {
    /// OS number of its CPU.
    pub cpu: u32,
    /// That CPU as a set.
    pub pinned: CpuSet,
    /// The bench's clock.
    pub clock: Clock,
    /// Its context switches.
    pub switches: Switches,
    /// What its kernels read and write.
    pub scratch: Box<Scratch>,
    /// Space for the times of chunks.
    pub chunks_ns: Vec<u64>,
}

impl Worker {
    /// Takes part in a window.
    pub fn serve(&mut self, order: &Order) {
        let Order { window, position } = order;
        window.wake(2 * position + 1);
        window.wake(2 * position + 2);
        let result =
            self.measure(window).map(|measured| measured.and_then(|timing| self.still_bound(timing)));
        window.leave(*position, result);
    }

    /// Preheats, waits for the others and runs the window; `None` when leaving.
    fn measure(&mut self, window: &Window) -> Option<Result<Timing, ProbeError>> {
        let turns = turns(window.kernel, self.preheat(window), window.chunk_ns);
        let start_ns = window.meet(&mut self.scratch)?;
        let before = self.switches.read();
        while self.clock.now_ns() < start_ns {
            kernels::run(Kernel::Chain, WAIT_TURNS, &mut self.scratch);
        }
        let (begun_ns, finish_ns) = self.chunks(window, turns, start_ns.saturating_add(window.window_ns))?;
        let switches = before.and_then(|before| Ok(self.switches.read()?.saturating_sub(before)));
        let involuntary_switches = match switches {
            Ok(switches) => switches,
            Err(cause) => return Some(Err(uncounted(self.cpu, &cause))),
        };
        let record = Record {
            chunks_ns: &mut self.chunks_ns,
            steps_per_chunk: turns * TURN_STEPS,
            start_ns,
            begun_ns,
            finish_ns,
            read_ns: self.clock.read_ns,
            involuntary_switches,
        };
        Some(Ok(timing(self.cpu, record)))
    }

    /// Runs chunks until the end, and a few if that has passed, and records their times; returns the start of the
    /// first and the end of the last. `None` when leaving.
    fn chunks(&mut self, window: &Window, turns: u64, end_ns: u64) -> Option<(u64, u64)> {
        self.chunks_ns.clear();
        let begun_ns = self.clock.now_ns();
        let mut last_ns = begun_ns;
        while self.chunks_ns.len() < FEWEST_CHUNKS || last_ns < end_ns {
            if window.leaving() {
                return None;
            }
            kernels::run(window.kernel, turns, &mut self.scratch);
            let now_ns = self.clock.now_ns();
            self.chunks_ns.push(now_ns.saturating_sub(last_ns));
            last_ns = now_ns;
        }
        Some((begun_ns, last_ns))
    }

    /// Runs the latency-limited kernel; gives its best time of a step.
    fn preheat(&mut self, window: &Window) -> f64 {
        let begun_ns = self.clock.now_ns();
        let (mut last_ns, mut best_ns, mut chunks) = (begun_ns, u64::MAX, 0);
        while (chunks < PREHEAT_CHUNKS || last_ns < begun_ns + PREHEAT_NS) && !window.leaving() {
            kernels::run(Kernel::Chain, PREHEAT_TURNS, &mut self.scratch);
            let now_ns = self.clock.now_ns();
            best_ns = best_ns.min(now_ns.saturating_sub(last_ns));
            last_ns = now_ns;
            chunks += 1;
        }
        best_ns as f64 / (PREHEAT_TURNS * TURN_STEPS) as f64
    }

    /// The timing, if the thread's mask is still its own CPU: another process may change it, and
    /// so does the kernel when the CPU goes offline.
    fn still_bound(&self, timing: Timing) -> Result<Timing, ProbeError> {
        let wanted = self.pinned.clone();
        let failed = |source| ProbeError::Pin { cpu: self.cpu, source };
        match current_affinity() {
            Ok(actual) if actual == wanted => Ok(timing),
            Ok(actual) => Err(failed(PinError::Differs { wanted, actual })),
            Err(source) => Err(failed(PinError::Unread { wanted, source })),
        }
    }
}

/// Why the switches of a CPU's thread are unknown.
pub fn uncounted(cpu: u32, cause: &std::io::Error) -> ProbeError {
    if cause.raw_os_error() == Some(libc::EMFILE) {
        return ProbeError::Start(format!("too many open files for logical CPU {cpu}"));
    }
    ProbeError::Cpus(format!(
        "cannot probe logical CPU {cpu}: the kernel shows no context switches in /proc/thread-self/schedstat or status ({cause}); run it with a Linux kernel's /proc"
    ))
}

/// Turns that take about `chunk_ns` if a step of the chain takes `cycle_ns`. A step of the wide
/// kernel takes about two cycles on a free core (8 adds, 4 to 5 a cycle), one of loads and
/// stores about one.
fn turns(kernel: Kernel, cycle_ns: f64, chunk_ns: u64) -> u64 {
    let cycles = match kernel {
        Kernel::Wide => 2.0,
        Kernel::Chain | Kernel::LoadStore => 1.0,
    };
    // A stopped clock or a division by 0 gives the limits.
    ((chunk_ns as f64 / (cycle_ns * cycles * TURN_STEPS as f64)) as u64).clamp(1, MOST_TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_the_wanted_length() {
        assert_eq!(turns(Kernel::Chain, 0.25, 4000), 1000);
        assert_eq!(turns(Kernel::Wide, 0.25, 4000), 500);
        assert_eq!(turns(Kernel::LoadStore, 0.25, 4000), 1000);
    }

    #[test]
    fn a_misled_preheating_gives_bounded_chunks() {
        assert_eq!(turns(Kernel::Chain, 0.0, 4000), MOST_TURNS);
        assert_eq!(turns(Kernel::Chain, f64::INFINITY, 4000), 1);
        assert_eq!(turns(Kernel::Chain, f64::NAN, 4000), 1);
    }
}
