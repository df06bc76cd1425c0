//! Lines of the worker protocol (docs/WORKER.md), as the runner and the worker read them.

use super::{Target, hold};
use crate::random::Random;
use crate::{json, mutate};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::io::BufReader;
use threadwise_engine::protocol::{
    self, Reply, Request, WireLimit, WirePlaced, WirePoint, WireServerCpus, WireSessionSlice,
};
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_engine::{LoadRequest, Placed, Point, latency};
use threadwise_machine::text::{is_deceptive, one_line};
use threadwise_study::engine::Properties;
use threadwise_study::{ItemSpan, QueryExecution, SessionSlice};

struct Messages {
    corpus: Vec<Value>,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let value = |text: Result<String, protocol::ProtocolError>| {
        let text = text.map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let mut corpus = requests();
    for reply in replies()? {
        corpus.push(value(protocol::encode(&reply))?);
    }
    Ok(Box::new(Messages { corpus }))
}

fn requests() -> Vec<Value> {
    let load = json!({
        "workload": "logical-io", "options": {"data": "l2", "work_unit": 64, "update_percent": 2.5, "shared": false},
        "engine_options": {"cache_mib": 64}, "data_dir": "/tmp/x", "treatment": "same-core/l2", "sessions": 2, "seed": 7,
    });
    vec![
        json!({"type": "load", "protocol": 1, "load": load}),
        json!({"type": "prepare", "protocol": 1, "load": load, "sessions": [{"cpus": "0"}, {"cpus": "1-3"}], "seed": 9,
               "service": "4-7", "journal": "/run/x/journal"}),
        json!({"type": "go", "sequence": 3, "warmup_ns": 5_000_000, "window_ns": 50_000_000, "queries": [[1, 22], [3]]}),
        json!({"type": "stop"}),
    ]
}

fn session() -> Result<WireSessionSlice, String> {
    let mut histogram = latency::histogram().map_err(|error| error.to_string())?;
    [900, 30_000, 30_001, 2_000_000].into_iter().for_each(|value| histogram.saturating_record(value));
    let latency = latency::to_bytes(&histogram).map_err(|error| error.to_string())?;
    let counters = [("logical_reads".to_owned(), 4711), ("read_bytes".to_owned(), 1 << 40)].into();
    let slice = SessionSlice {
        steps: 4,
        rows: 256,
        cpu_ns: 49_000_000,
        counters,
        latency,
        ..SessionSlice::default()
    };
    let mut wire = WireSessionSlice::from(slice);
    wire.metrics = [("tps".to_owned(), 1414.25)].into();
    wire.items = vec![ItemSpan { index: 0, name: "a.db".to_owned(), job: 1, started_ns: 5, elapsed_ns: 9 }];
    wire.queries = vec![QueryExecution {
        query: 1,
        elapsed_ns: 5_000_000,
        dop: Some(2),
        rows: 4,
        plan: Some("HASH_JOIN\n  ~ SCAN lineitem".to_owned()),
        answer: Some(vec![vec![Some("1.5".to_owned()), None]]),
        ..QueryExecution::default()
    }];
    Ok(wire)
}

fn replies() -> Result<Vec<Reply>, String> {
    let placed = WirePlaced { name: "backend".to_owned(), pid: 4711, tid: 4712, cpus: "0-3,8".to_owned() };
    let notes = vec!["data is in the cache".to_owned()];
    Ok(vec![
        Reply::Hello {
            protocol: 1,
            engine: "sqlite".to_owned(),
            version: "3.50".to_owned(),
            properties: Some(Properties { dialect: Some("sqlite".to_owned()), ..Properties::default() }),
            pieces: true,
        },
        Reply::Loaded {
            bytes_per_session: 1 << 20,
            rows_per_session: 1000,
            notes: notes.clone(),
            keep: true,
        },
        Reply::Ready {
            tids: vec![4711, 4712],
            placed: vec![placed],
            notes,
            note_codes: vec!["not-placed".to_owned()],
        },
        Reply::Slice {
            sequence: 3,
            start_ns: 1 << 40,
            window_ns: 50_000_000,
            sessions: vec![session()?, session()?],
            counters: [("wal_bytes".to_owned(), 7)].into(),
        },
        Reply::Server {
            version: "16.0".to_owned(),
            limits: vec![WireLimit { name: "sessions".to_owned(), most: 100, set_aside: 3, in_use: 7 }],
            points: vec![WirePoint { name: "login".to_owned(), works: true, says: "granted".to_owned() }],
            cpus: Some(WireServerCpus {
                cpus: vec![(0, 0), (3, 1)],
                online: "0,3".to_owned(),
                is_auto: true,
                why_not: Some("no right".to_owned()),
                others: 1,
                who: vec!["ann".to_owned()],
            }),
        },
        Reply::Done,
        Reply::Failed { kind: "engine".to_owned(), message: "disk full".to_owned() },
    ])
}

/// The runner's reading of a reply.
fn used(reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Slice { sessions, .. } => {
            for session in sessions {
                let Ok(slice) = SessionSlice::try_from(session) else { continue };
                let sent = WireSessionSlice::from(slice.clone());
                let again = SessionSlice::try_from(sent)
                    .map_err(|error| format!("refused when it is forwarded: {error}"))?;
                hold(again == slice, || "a session's slice changes when it is forwarded".to_owned())?;
            }
        }
        Reply::Ready { placed, .. } => {
            for placed in placed.into_iter().filter_map(|wire| Placed::try_from(wire).ok()) {
                let again = Placed::try_from(WirePlaced::from(placed.clone()));
                hold(again.as_ref() == Ok(&placed), || {
                    format!("{placed:?} is {again:?} when it is forwarded")
                })?;
                hold(!placed.name.contains(is_deceptive), || {
                    format!("a thread's name deceives: {:?}", placed.name)
                })?;
            }
        }
        Reply::Server { points, cpus, .. } => {
            if let Some(cpus) = cpus.and_then(|wire| ServerCpus::try_from(wire).ok()) {
                let said = cpus.who.iter().chain(&cpus.why_not);
                hold(said.into_iter().all(|text| !text.contains(is_deceptive)), || {
                    format!("a text about logical CPUs deceives: {cpus:?}")
                })?;
                let again = ServerCpus::try_from(WireServerCpus::from(cpus.clone()));
                hold(again.as_ref() == Ok(&cpus), || format!("{cpus:?} is {again:?} when it is forwarded"))?;
            }
            for point in points.into_iter().map(Point::from) {
                hold(!point.says.contains(is_deceptive) && !point.name.contains(is_deceptive), || {
                    format!("a point deceives: {point:?}")
                })?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A message is the same when it is written and read again.
fn same<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) -> Result<(), String> {
    let line =
        protocol::encode(message).map_err(|error| format!("what was read cannot be written: {error}"))?;
    let again: M = protocol::decode(&line).map_err(|error| format!("it refuses what it wrote: {error}"))?;
    hold(again == *message, || format!("{message:?} changes when it is forwarded"))
}

impl Target for Messages {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut line = Vec::new();
        let mut value = random.pick(&self.corpus).clone();
        let times = random.times(4);
        if random.percent(85) {
            json::mutate(random, &mut value, times, &self.corpus);
            line.extend(value.to_string().bytes());
        } else {
            line.extend(value.to_string().bytes());
            mutate::text(random, &mut line, times, &[]);
        }
        line.push(b'\n');
        line
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let (mut input, mut past) = (BufReader::new(input), false);
        while let Ok(Some(line)) = protocol::read_line(&mut input) {
            past |= serde_json::from_str::<Value>(&line).is_ok();
            match protocol::decode::<Reply>(&line) {
                Ok(reply) => {
                    same(&reply)?;
                    used(reply)?;
                }
                // The runner shows it so (`runner::worker_process`).
                Err(error) => {
                    let shown = one_line(&error.to_string(), 500);
                    hold(!shown.is_empty(), || "an empty error".to_owned())?;
                    hold(!shown.contains(is_deceptive), || format!("an error deceives: {shown:?}"))?;
                }
            }
            if let Ok(request) = protocol::decode::<Request>(&line) {
                same(&request)?;
                if let Request::Load { load, .. } | Request::Prepare { load, .. } = request {
                    let load = LoadRequest::from(load);
                    let _ = protocol::WireLoad::try_from(&load);
                }
            }
        }
        Ok(past)
    }
}
