//! What is reported of what sessions did beside their rows.

use crate::Interval;
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
    /// Share of the sessions' time that they spent spinning, as measured by themselves; `None` where
    /// they did not measure it.
    pub spinning_share: Option<Interval>,
    /// Cycles a spin as an upper bound: as if all of the time on all cores had been spent spinning.
    pub cycles_per_spin_bound: Option<Interval>,
    /// Cycles a spin from the measured time spent spinning.
    pub cycles_per_spin: Option<Interval>,
    /// The measured clock that both are made with, MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Where the clock comes from, or why there is none, in a few words.
    pub clock: String,
}
