//! Report types of what sessions did besides reading rows.

use crate::{Interval, Ratio};
use schemars::JsonSchema;
use serde::Serialize;

/// What a treatment's sessions did besides reading rows. Empty if the engine reports nothing of it.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Activity {
    /// What they waited for; `None` if it was not sampled.
    pub waits: Option<Waits>,
    /// The engine's own counters, by name, without those that other fields have.
    pub counters: Vec<CounterRate>,
    /// CPU time of engine and client; `None` if the client's is not known separately.
    pub cpu: Option<CpuUse>,
    /// Cost of spinning; `None` if the engine counts no spins.
    pub locks: Option<Locks>,
    /// The server's spinlocks with the most spins; `None` if the server reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_locks: Option<ServerLocks>,
    /// The server's waits and latches with the most time; empty if the server reports none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server_waits: Vec<ServerWait>,
    /// Whether the sessions' loop runs inside a server: the client's CPU time is then separate, and steps have no
    /// latency.
    #[serde(rename = "loop_in_server")]
    pub server_loop: bool,
}

/// Samples of what sessions waited for.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Waits {
    /// Samples of all blocks: one session at one moment each.
    pub samples: u64,
    /// Blocks that have any.
    pub blocks: u32,
    /// Whether there are enough samples ([`MIN_SAMPLES`](super::MIN_SAMPLES)) and blocks (2) for a statement.
    pub enough: bool,
    /// Shares of samples, which add up to 1: the same names in the same order in all treatments of
    /// a study, `running` first and `other` last.
    pub shares: Vec<WaitShare>,
}

/// Share of one state.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct WaitShare {
    /// The engine's name of the state.
    pub name: String,
    /// Share of samples.
    #[serde(flatten)]
    pub share: Interval,
    /// The share at a level at which the intervals of all names of the treatment hold together (Bonferroni).
    pub joint: Interval,
    /// Change against the baseline in percentage points; `None` for a baseline, or if either has too few samples.
    pub change: Option<Ratio>,
}

/// One engine counter.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CpuUse {
    /// The engine's sessions, nanoseconds per row; `None` if unknown (a remote server).
    pub engine_ns_per_row: Option<Interval>,
    /// The client, nanoseconds per row.
    pub client_ns_per_row: Option<Interval>,
    /// The client's share of the sum.
    pub client_share: Option<Interval>,
}

/// Cost of spinning.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Locks {
    /// Spins per row.
    pub spins_per_row: Option<Interval>,
    /// Spins per row against the baseline's: a ratio, or a difference if a block of either has none; `None` for a
    /// baseline.
    pub spins_per_row_change: Option<Ratio>,
    /// Share of the sessions' time spent spinning, as they measured it; `None` if they did not.
    pub spinning_share: Option<Interval>,
    /// Upper end of its interval, at a level at which those of all treatments hold together (Bonferroni).
    pub spinning_share_joint_high: Option<f64>,
    /// Upper bound of cycles per spin: as if all of the time on all cores had been spent spinning.
    pub cycles_per_spin_bound: Option<Interval>,
    /// Cycles per spin from the measured time spent spinning.
    pub cycles_per_spin: Option<Interval>,
    /// The measured clock used for both, MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Source of the clock, or why there is none, in a few words.
    pub clock: String,
}

/// Spinlocks by the statistics of the whole server, including its other clients while slices ran.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ServerLocks {
    /// Those with the most spins over all treatments of the study, most first: the same ones in every treatment.
    pub locks: Vec<ServerLock>,
    /// The measured clock used for cycles, MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Source of the clock, or why there is none, in a few words.
    pub clock: String,
}

/// One spinlock of the server.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ServerLock {
    /// The server's name of it.
    pub name: String,
    /// Spins of all blocks together.
    pub spins: f64,
    /// Spins per second.
    pub spins_per_s: Option<Interval>,
    /// Share of the spins of all spinlocks that were counted.
    pub share: Option<Interval>,
    /// Spins per row.
    pub spins_per_row: Option<Interval>,
    /// Spins per commit; `None` if the rows of a transaction are unknown.
    pub spins_per_commit: Option<Interval>,
    /// Spins per collision: a collision is a lock that was not free at the first try.
    pub spins_per_collision: Option<Interval>,
    /// Spins per backoff: a backoff is a sleep after a number of unsuccessful spins.
    pub spins_per_backoff: Option<Interval>,
    /// Upper bound of cycles per spin: as if a core for each session, as far as the machine has them, had only spun for
    /// this lock; `None` without a measured clock.
    pub cycles_per_spin_bound: Option<Interval>,
}

/// One wait or latch of the server.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ServerWait {
    /// Statistics that it is from: `server_wait`, `latch`.
    pub kind: String,
    /// The server's name of it.
    pub name: String,
    /// Time waited by all tasks of the server, nanoseconds per row.
    pub wait_ns_per_row: Option<Interval>,
    /// Waits per row.
    pub waits_per_row: Option<Interval>,
    /// Nanoseconds per wait.
    pub ns_per_wait: Option<Interval>,
}
