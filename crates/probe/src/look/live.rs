//! Lookers on the live machine: one sleeping thread a logical CPU, woken for each look.

use super::meet::{LookRole, LookTimes, Meeting, Side};
use crate::bench::ProbeError;
use crate::kernels::{Scratch, WIDE_ADDS_PER_STEP};
use crate::live::clock::Clock;
use crate::neighbour::FREE_ADDS;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_cpu, current_thread_id, pin_current_thread, prefer_current_thread};
use threadwise_study::look::thousandths;
use threadwise_study::{Alone, CpuLook, Look, PairLook};

/// Enough for a thread.
const STACK_BYTES: usize = 64 * 1024;
/// Timeout of the caller for a look; its threads end it by themselves.
const LOOK_LIMIT: Duration = Duration::from_millis(3);

/// Threads that look.
#[derive(Debug)]
pub struct Lookers {
    hands: BTreeMap<u32, Hand>,
    zero: Instant,
    clock: Clock,
}

#[derive(Debug)]
struct Hand {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
    tid: u32,
}

/// A thread's input for a look.
struct Order {
    role: LookRole,
    at: usize,
    look: Arc<Shared>,
}

struct Shared {
    meeting: Meeting,
    seen: Vec<Mutex<LookTimes>>,
    caller: Thread,
}

impl Lookers {
    /// Starts a thread on each logical CPU and puts it to sleep.
    ///
    /// # Errors
    /// The clock is too coarse ([`ProbeError::CoarseClock`]: a piece of a kernel takes a microsecond), or a thread cannot
    /// be started or bound.
    pub fn new(cpus: &CpuSet) -> Result<Self, ProbeError> {
        let clock = Clock::checked()?;
        let mut hands = BTreeMap::new();
        for cpu in cpus.iter() {
            let (orders, inbox) = channel();
            let (ready, answer) = channel();
            let thread = std::thread::Builder::new()
                .name(format!("look-{cpu}"))
                .stack_size(STACK_BYTES)
                .spawn(move || work(cpu, &ready, &inbox))
                .map_err(|cause| ProbeError::Start(format!("no thread for logical CPU {cpu} ({cause})")))?;
            let ended =
                || ProbeError::Start(format!("the thread for logical CPU {cpu} ended before it was ready"));
            let tid = answer.recv().map_err(|_| ended())??;
            hands.insert(cpu, Hand { orders, thread, tid });
        }
        Ok(Self { hands, zero: Instant::now(), clock })
    }

    /// How long reading the clock takes, nanoseconds.
    pub fn clock_read_ns(&self) -> f64 {
        self.clock.read_ns
    }

    /// OS numbers of the threads, by logical CPU.
    pub fn tids(&self) -> BTreeMap<u32, u32> {
        self.hands.iter().map(|(&cpu, hand)| (cpu, hand.tid)).collect()
    }

    /// One look at these logical CPUs, each once. Each pair passes a line (a CPU is in one pair at most), and the
    /// two of one pair are also seen without each other. The calling thread sleeps meanwhile.
    ///
    /// # Errors
    /// A logical CPU that has no thread here.
    pub fn look(
        &self,
        cpus: &[u32],
        pairs: &[(u32, u32)],
        test: Option<(u32, u32)>,
    ) -> Result<Look, ProbeError> {
        // Without known widths a test shows nothing.
        let test = test.filter(|_| FREE_ADDS.is_some());
        let began = Instant::now();
        let look = Arc::new(Shared {
            meeting: Meeting::new(cpus.len() as u32, pairs.len(), test.is_some()),
            seen: cpus.iter().map(|_| Mutex::default()).collect(),
            caller: std::thread::current(),
        });
        for (at, cpu) in caller_last(cpus, current_cpu()) {
            let of_pair =
                |(pair, &(a, b)): (usize, &(u32, u32))| (cpu == a || cpu == b).then_some((pair, cpu == a));
            let pair = pairs.iter().enumerate().find_map(of_pair);
            let role = LookRole { pair, tested: side(cpu, test) };
            let order = Order { role, at, look: Arc::clone(&look) };
            let sent = self.hands.get(&cpu).is_some_and(|hand| hand.orders.send(order).is_ok());
            if !sent {
                return Err(ProbeError::Cpus(format!("no thread looks at logical CPU {cpu}")));
            }
        }
        while !look.meeting.done() && began.elapsed() < LOOK_LIMIT {
            std::thread::park_timeout(LOOK_LIMIT.saturating_sub(began.elapsed()));
        }
        look.meeting.give_up();
        let seen: Vec<LookTimes> =
            look.seen.iter().map(|seen| *seen.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let seen_by = |cpu: u32| cpus.iter().position(|&other| other == cpu).map(|at| seen[at]);
        let line_of = |cpu: u32| seen_by(cpu)?.line_ns;
        Ok(Look {
            start_ns: nanoseconds(began.duration_since(self.zero)),
            took_ns: nanoseconds(began.elapsed()),
            cpus: cpus.iter().zip(&seen).map(|(&cpu, seen)| cpu_look(cpu, seen)).collect(),
            pairs: pairs
                .iter()
                .map(|&(a, b)| PairLook { a, b, line_ns: line_of(a).map(thousandths) })
                .collect(),
            alone: test.and_then(|(a, b)| alone((a, &seen_by(a)?), (b, &seen_by(b)?))),
        })
    }
}

impl Drop for Lookers {
    fn drop(&mut self) {
        let hands = std::mem::take(&mut self.hands).into_values();
        // All channels first, so that the threads end at the same time.
        let threads: Vec<JoinHandle<()>> = hands.map(|hand| hand.thread).collect();
        for thread in threads {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn cpu_look(cpu: u32, seen: &LookTimes) -> CpuLook {
    let adds_per_step = adds(seen.chain_ns, seen.wide_ns);
    CpuLook { cpu, chain_ns: seen.chain_ns.map(thousandths), adds_per_step }
}

/// The logical CPUs with their positions, the caller's own last: its thread runs at once, before the caller,
/// and would wait for those that the caller has not woken yet.
fn caller_last(cpus: &[u32], caller_cpu: Option<u32>) -> impl Iterator<Item = (usize, u32)> + '_ {
    let positions = move |is_caller: bool| {
        let all = cpus.iter().copied().enumerate();
        all.filter(move |(_, cpu)| (Some(*cpu) == caller_cpu) == is_caller)
    };
    positions(false).chain(positions(true))
}

fn side(cpu: u32, test: Option<(u32, u32)>) -> Option<Side> {
    match test? {
        (first, _) if cpu == first => Some(Side::First),
        (_, second) if cpu == second => Some(Side::Second),
        _ => None,
    }
}

fn alone((a, seen_a): (u32, &LookTimes), (b, seen_b): (u32, &LookTimes)) -> Option<Alone> {
    let adds_of = |seen: &LookTimes| adds(seen.chain_ns, seen.alone_ns);
    Some(Alone { a, b, a_adds_per_step: adds_of(seen_a)?, b_adds_per_step: adds_of(seen_b)? })
}

/// Adds of the wide kernel per step of the latency-limited one; `None` if the architecture's widths are unknown.
fn adds(chain_ns: Option<f64>, wide_ns: Option<f64>) -> Option<f64> {
    let (chain_ns, wide_ns) = (chain_ns?, wide_ns.filter(|wide_ns| *wide_ns > 0.0)?);
    FREE_ADDS.map(|_| thousandths(WIDE_ADDS_PER_STEP * chain_ns / wide_ns))
}

/// A thread: binds itself, reports, then looks until the orders end.
fn work(cpu: u32, ready: &Sender<Result<u32, ProbeError>>, orders: &Receiver<Order>) {
    let pinned: CpuSet = [cpu].into_iter().collect();
    let bound = pin_current_thread(&pinned).map_err(|source| ProbeError::Pin { cpu, source });
    let failed = bound.is_err();
    // A look must not wait for other threads' turns. Without this right it does, and its result is unknown
    // if that takes too long.
    prefer_current_thread();
    // If the lookers are being dropped, the report has no reader and the orders end too.
    let _ = ready.send(bound.map(|()| current_thread_id().unwrap_or(0)));
    if failed {
        return;
    }
    let mut scratch = Scratch::new();
    for Order { role, at, look } in orders {
        let (seen, stayed) = look.meeting.attend(role, &mut scratch);
        *look.seen[at].lock().unwrap_or_else(PoisonError::into_inner) = seen;
        if look.meeting.leave(stayed) {
            look.caller.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_own_logical_cpu_is_woken_last() {
        let order = |caller_cpu| caller_last(&[2, 5, 7], caller_cpu).collect::<Vec<(usize, u32)>>();
        assert_eq!(order(Some(2)), [(1, 5), (2, 7), (0, 2)]);
        assert_eq!(order(Some(7)), [(0, 2), (1, 5), (2, 7)]);
        for caller_cpu in [None, Some(3)] {
            assert_eq!(order(caller_cpu), [(0, 2), (1, 5), (2, 7)]);
        }
    }
}
