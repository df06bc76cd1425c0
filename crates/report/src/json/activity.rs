//! What a treatment's sessions did beside their rows.

use serde_json::{Value, json};
use threadwise_analysis::Interval;
use threadwise_analysis::activity::{Activity, CounterRate, CpuUse, Locks, Waits};

/// The fields that a treatment gets: `waits`, `counters`, `cpu`, `locks`, `loop_in_server`.
pub fn activity(activity: &Activity) -> Value {
    json!({
        "waits": activity.waits.as_ref().map(waits),
        "counters": activity.counters.iter().map(counter).collect::<Value>(),
        "cpu": activity.cpu.as_ref().map(cpu),
        "locks": activity.locks.as_ref().map(locks),
        "loop_in_server": activity.server_loop,
    })
}

/// `{"mean", "low", "high", "unit"}`.
pub fn interval(interval: &Interval) -> Value {
    json!({"mean": interval.mean, "low": interval.low, "high": interval.high, "unit": interval.unit})
}

fn known(value: &Option<Interval>) -> Value {
    value.as_ref().map_or(Value::Null, interval)
}

fn waits(waits: &Waits) -> Value {
    let share = |(name, share): (&String, &Interval)| json!({"name": name, "mean": share.mean, "low": share.low, "high": share.high, "unit": share.unit});
    let shares = waits.shares.iter().map(|wait| share((&wait.name, &wait.share)));
    json!({
        "samples": waits.samples, "blocks": waits.blocks, "enough": waits.enough,
        "shares": shares.collect::<Value>(),
    })
}

fn counter(counter: &CounterRate) -> Value {
    json!({
        "name": counter.name, "blocks": counter.blocks, "per_row": known(&counter.per_row),
        "per_s": known(&counter.per_s),
    })
}

fn cpu(cpu: &CpuUse) -> Value {
    json!({
        "engine_ns_per_row": known(&cpu.engine_ns_per_row),
        "client_ns_per_row": known(&cpu.client_ns_per_row), "client_share": known(&cpu.client_share),
    })
}

fn locks(locks: &Locks) -> Value {
    json!({
        "spins_per_row": known(&locks.spins_per_row), "spinning_share": known(&locks.spinning_share),
        "cycles_per_spin": known(&locks.cycles_per_spin),
        "cycles_per_spin_bound": known(&locks.cycles_per_spin_bound), "clock_mhz": locks.clock_mhz,
        "clock": locks.clock,
    })
}
