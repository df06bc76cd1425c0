//! What counted spins can have cost, and what was sampled of a running server (docs/JSON.md).

use serde_json::{Map, Value, json};
use threadwise_analysis::spins::{Cost, Counted, Kind, Samples};

/// Counts and what follows from them, as one object.
pub fn spins_counted(counted: &Counted, cost: &Cost) -> String {
    let mut all = Map::from_iter([("version".to_owned(), json!(1))]);
    for part in [serde_json::to_value(counted), serde_json::to_value(cost)] {
        if let Ok(Value::Object(fields)) = part {
            all.extend(fields);
        }
    }
    format!("{}\n", Value::Object(all))
}

/// Samples of a process.
pub fn spins_sampled(pid: u32, seconds: u64, samples: &Samples) -> String {
    let functions: Vec<Value> = samples
        .by_function
        .iter()
        .map(|((kind, function), count)| json!({"kind": kind.word(), "function": function, "samples": count}))
        .collect();
    let value = json!({
        "version": 1,
        "pid": pid,
        "seconds": seconds,
        "samples": samples.total(),
        "unnamed_samples": samples.unnamed,
        "spinning": samples.share(Kind::Spin),
        "locking": samples.share(Kind::Wait),
        "functions": functions,
    });
    format!("{value}\n")
}
