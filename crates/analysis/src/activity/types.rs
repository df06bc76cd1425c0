//! What is reported of what sessions did beside their rows.

use crate::{Interval, Ratio};
use serde::Serialize;

/// What a treatment's sessions did beside their rows. Empty where the engine tells nothing of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Activity {
    /// What they waited for; `None` where nobody sampled.
    pub waits: Option<Waits>,
    /// The engine's own counters, by name; those that stand elsewhere are left out.
    pub counters: Vec<CounterRate>,
    /// CPU time of engine and client; `None` where the client's is not known by itself.
    pub cpu: Option<CpuUse>,
    /// What spinning cost; `None` where no spins are counted.
    pub locks: Option<Locks>,
    /// The server's spinlocks with the most spins; `None` where the server tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_locks: Option<ServerLocks>,
    /// The server's waits and latches with the most time; empty where the server tells of none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server_waits: Vec<ServerWait>,
    /// Whether the sessions' loop runs inside a server: the client's CPU time is separate, and no step has a
    /// latency.
    #[serde(rename = "loop_in_server")]
    pub server_loop: bool,
}

/// Samples of what sessions waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waits {
    /// Samples of all blocks: one session at one moment each.
    pub samples: u64,
    /// Blocks that have any.
    pub blocks: u32,
    /// Whether there are enough samples ([`MIN_SAMPLES`](super::MIN_SAMPLES)) and blocks (2) to tell anything.
    pub enough: bool,
    /// Shares of samples, which add up to 1: the same names in the same order in all treatments of
    /// a study, `running` first and `other` last.
    pub shares: Vec<WaitShare>,
}

/// Share of one state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitShare {
    /// The engine's name of it.
    pub name: String,
    /// Share of samples.
    #[serde(flatten)]
    pub share: Interval,
    /// The same at a level at which the intervals of all names of the treatment hold together (Bonferroni), whichever is
    /// named.
    pub joint: Interval,
    /// Change against the baseline in percentage points; `None` of a baseline, or where either has too few samples.
    pub change: Option<Ratio>,
}

/// One engine counter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterRate {
    /// The engine's name, unit last.
    pub name: String,
    /// Per row.
    pub per_row: Option<Interval>,
    /// Per second of all sessions together.
    pub per_s: Option<Interval>,
    /// Blocks in which the engine reported it.
    pub blocks: u32,
}

/// CPU time of engine and client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuUse {
    /// The engine's sessions, nanoseconds a row; `None` where it is unknown (a server elsewhere).
    pub engine_ns_per_row: Option<Interval>,
    /// The client, nanoseconds a row.
    pub client_ns_per_row: Option<Interval>,
    /// The client's share of both together.
    pub client_share: Option<Interval>,
}

/// What spinning cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Locks {
    /// Spins a row.
    pub spins_per_row: Option<Interval>,
    /// Spins a row against the baseline's: a ratio, or a difference where a block of either has none; `None` of a
    /// baseline.
    pub spins_per_row_change: Option<Ratio>,
    /// Share of the sessions' time that they spent spinning, as measured by themselves; `None` where
    /// they did not measure it.
    pub spinning_share: Option<Interval>,
    /// Upper end of its interval at a level at which those of all treatments that have one hold together (Bonferroni).
    pub spinning_share_joint_high: Option<f64>,
    /// Cycles a spin as an upper bound: as if all of the time on all cores had been spent spinning.
    pub cycles_per_spin_bound: Option<Interval>,
    /// Cycles a spin from the measured time spent spinning.
    pub cycles_per_spin: Option<Interval>,
    /// The measured clock that both are made with, MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Where the clock comes from, or why there is none, in a few words.
    pub clock: String,
}

/// Spinlocks by the statistics of the whole server, with what its other clients did while slices ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerLocks {
    /// Those with the most spins over all treatments of the study, the first the most: the same in all of them.
    pub locks: Vec<ServerLock>,
    /// The measured clock that cycles are made with, MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Where the clock comes from, or why there is none, in a few words.
    pub clock: String,
}

/// One spinlock of the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerLock {
    /// The server's name of it.
    pub name: String,
    /// Spins of all blocks together.
    pub spins: f64,
    /// Spins a second.
    pub spins_per_s: Option<Interval>,
    /// Share of the spins of all spinlocks that were counted.
    pub share: Option<Interval>,
    /// Spins a row.
    pub spins_per_row: Option<Interval>,
    /// Spins a commit; `None` where the study does not know the rows of a transaction.
    pub spins_per_commit: Option<Interval>,
    /// Spins a collision: a collision is a lock that was not free at the first try.
    pub spins_per_collision: Option<Interval>,
    /// Spins a backoff: a backoff is a sleep after so many spins in vain.
    pub spins_per_backoff: Option<Interval>,
    /// Cycles a spin as an upper bound: as if a core for each session, as far as the machine has them, had spent all of
    /// its time spinning for this lock; `None` without a measured clock.
    pub cycles_per_spin_bound: Option<Interval>,
}

/// One wait or latch of the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerWait {
    /// Which statistics it is from: `server_wait`, `latch`.
    pub kind: String,
    /// The server's name of it.
    pub name: String,
    /// Time waited, nanoseconds a row, by all tasks of the server.
    pub wait_ns_per_row: Option<Interval>,
    /// Waits a row.
    pub waits_per_row: Option<Interval>,
    /// Nanoseconds a wait.
    pub ns_per_wait: Option<Interval>,
}
