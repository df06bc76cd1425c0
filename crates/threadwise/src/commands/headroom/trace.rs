//! The exact time that siblings were busy together, if task switches may be traced.
//!
//! Source: [`threadwise_telemetry::switches`]; cores of one logical CPU need none of it.

use std::time::Duration;
use threadwise_headroom::core_time::CpuTime;
use threadwise_headroom::switches::{Follower, Switch, Traced};
use threadwise_headroom::{CoreCpus, Layout};
use threadwise_machine::CpuSet;
use threadwise_telemetry::perf::open::OpenError;
use threadwise_telemetry::switches::{Switches, TaskSwitch};

/// Traces the cores of a layout that have two or more logical CPUs.
pub struct Tracer {
    switches: Switches,
    /// In the layout's order; `None` for cores with one logical CPU.
    cores: Vec<Option<Followed>>,
    read: Vec<TaskSwitch>,
}

struct Followed {
    cpus: Vec<u32>,
    /// Positions among the traced logical CPUs.
    places: Vec<usize>,
    follower: Follower,
    /// Uncounted switches of each logical CPU.
    waiting: Vec<Vec<Switch>>,
    /// The window so far.
    sum: Traced,
    is_complete: bool,
}

/// The current time on the clock of the records.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let time = Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0));
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Tracer {
    /// Starts tracing.
    ///
    /// # Errors
    /// Why switches cannot be traced here, and what would permit it.
    pub fn start(layout: &Layout) -> Result<Self, OpenError> {
        let is_shared = |core: &&CoreCpus| core.cpus.len() > 1;
        let cpus: CpuSet =
            layout.cores().iter().filter(is_shared).flat_map(|core| core.cpus.iter().copied()).collect();
        let switches = Switches::open(&cpus)?;
        let order: Vec<u32> = cpus.iter().collect();
        let now_ns = now_ns();
        let followed = |core: &CoreCpus| {
            Some(Followed {
                cpus: core.cpus.clone(),
                places: core.cpus.iter().filter_map(|cpu| order.binary_search(cpu).ok()).collect(),
                follower: Follower::new(core.cpus.len(), now_ns),
                waiting: vec![Vec::new(); core.cpus.len()],
                sum: empty(core.cpus.len()),
                is_complete: true,
            })
        };
        let cores = layout.cores().iter().map(|core| is_shared(&core).then(|| followed(core)).flatten());
        Ok(Self { switches, cores: cores.collect(), read: Vec::new() })
    }

    /// Whether a logical CPU has not switched yet, so that its busy share must tell what it runs.
    pub fn needs_shares(&self) -> bool {
        self.cores.iter().flatten().any(|core| !core.follower.is_known())
    }

    /// Counts until `now_ns`. `shares` are busy shares of the logical CPUs (times in a window of 1 s), if needed. Must
    /// be called several times a second.
    pub fn tick(&mut self, now_ns: u64, shares: &[Option<CpuTime>]) {
        for core in self.cores.iter_mut().flatten() {
            let mut is_complete = true;
            for (&place, waiting) in core.places.iter().zip(&mut core.waiting) {
                self.read.clear();
                is_complete &= self.switches.read(place, &mut self.read);
                waiting.extend(self.read.iter().map(|one| Switch {
                    at_ns: one.at_ns,
                    was_busy: !one.was_idle,
                    is_busy: !one.is_idle,
                }));
            }
            core.count(is_complete, now_ns, shares);
        }
    }

    /// The counts since the last call; none of a core that lost records.
    pub fn take(&mut self) -> Vec<Option<Traced>> {
        let take = |core: &mut Option<Followed>| {
            let core = core.as_mut()?;
            let sum = std::mem::replace(&mut core.sum, empty(core.cpus.len()));
            std::mem::replace(&mut core.is_complete, true).then_some(sum)
        };
        self.cores.iter_mut().map(take).collect()
    }
}

impl Followed {
    fn count(&mut self, is_complete: bool, now_ns: u64, shares: &[Option<CpuTime>]) {
        if !is_complete {
            self.waiting.iter_mut().for_each(Vec::clear);
            self.follower.forget(now_ns);
            self.is_complete = false;
            return;
        }
        let due: Vec<Vec<Switch>> = self
            .waiting
            .iter_mut()
            .map(|all| {
                let later = all.partition_point(|one| one.at_ns <= now_ns);
                all.drain(..later).collect()
            })
            .collect();
        let share = |cpu: &u32| shares.get(*cpu as usize).copied().flatten();
        let is_mostly_busy = |cpu: &u32| share(cpu).is_some_and(|time| time.busy_s > 0.5);
        let mostly_busy: Vec<bool> = self.cpus.iter().map(is_mostly_busy).collect();
        let seen = self.follower.window(&due, &mostly_busy, now_ns);
        self.sum.busy_s.iter_mut().zip(&seen.busy_s).for_each(|(sum, seen)| *sum += seen);
        self.sum.either_s += seen.either_s;
    }
}

fn empty(threads: usize) -> Traced {
    Traced { busy_s: vec![0.0; threads], either_s: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::Topology;
    use threadwise_machine::topology::LogicalCpu;

    /// All logical CPUs that this process may use, as if they were one core's.
    fn one_core() -> Layout {
        let cpus = threadwise_machine::pin::current_affinity().unwrap();
        let cpu = |os_id: u32| LogicalCpu {
            os_id,
            siblings: cpus.clone(),
            online: true,
            allowed: true,
            ..LogicalCpu::default()
        };
        Layout::of(&Topology { logical_cpus: cpus.iter().map(cpu).collect(), ..Topology::default() })
    }

    mod lab_clock {
        use super::*;

        #[test]
        #[ignore = "laboratory: clock"]
        fn this_kernel_is_followed_or_says_why_not() {
            let layout = one_core();
            if layout.most_threads() < 2 {
                return;
            }
            let mut tracer = match Tracer::start(&layout) {
                Ok(tracer) => tracer,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    return;
                }
            };
            let mut began_ns = now_ns();
            tracer.tick(began_ns, &[]);
            tracer.take();
            for _ in 0..3 {
                let mut spun = 0_u64;
                while now_ns() < began_ns + 50_000_000 {
                    spun = std::hint::black_box(spun + 1);
                }
                std::thread::sleep(Duration::from_millis(50));
                let end_ns = now_ns();
                tracer.tick(end_ns, &[]);
                let window_s = (end_ns - began_ns) as f64 / 1e9;
                let seen = tracer.take();
                began_ns = end_ns;
                // Records may be lost on a machine with many switches.
                let Some(Some(seen)) = seen.first() else { continue };
                let sum: f64 = seen.busy_s.iter().sum();
                let longest = seen.busy_s.iter().copied().fold(0.0, f64::max);
                assert!(
                    seen.either_s <= window_s + 1e-9 && seen.either_s <= sum + 1e-9,
                    "{seen:?} of {window_s}"
                );
                assert!(seen.either_s >= longest - 1e-9, "{seen:?}");
            }
        }
    }
}
