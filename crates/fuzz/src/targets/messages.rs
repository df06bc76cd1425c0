//! Lines of the worker protocol (docs/WORKER.md), as the runner and the worker read them.

use crate::mutate;
use crate::target::{Target, lines, plain, same};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;
use std::io::BufReader;
use threadwise_engine::protocol::{self, Reply, Request, WirePlaced, WireServerCpus, WireSessionSlice};
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_engine::{LoadRequest, Placed, Point};
use threadwise_machine::text::one_line;
use threadwise_study::SessionSlice;

/// Every request, then every reply, with all of their fields.
const MESSAGES: &str = include_str!("../../corpus/messages.jsonl");

/// The target.
pub fn make() -> Target {
    for line in MESSAGES.lines() {
        let is_read = protocol::decode::<Reply>(line).is_ok() || protocol::decode::<Request>(line).is_ok();
        assert!(is_read, "no message of the protocol: {line}");
    }
    let corpus = lines(MESSAGES);
    Target::new(move |random| [mutate::document(random, &corpus).as_slice(), b"\n"].concat(), judge)
}

/// The runner's reading of a reply.
fn used(reply: Reply) {
    match reply {
        Reply::Slice { sessions, .. } => {
            for slice in sessions.into_iter().filter_map(|wire| SessionSlice::try_from(wire).ok()) {
                same(&SessionSlice::try_from(WireSessionSlice::from(slice.clone())), &slice);
            }
        }
        Reply::Ready { placed, .. } => {
            for placed in placed.into_iter().filter_map(|wire| Placed::try_from(wire).ok()) {
                same(&Placed::try_from(WirePlaced::from(placed.clone())), &placed);
                plain("a thread's name", &placed.name);
            }
        }
        Reply::Server { points, cpus, .. } => {
            if let Some(cpus) = cpus.and_then(|wire| ServerCpus::try_from(wire).ok()) {
                let texts = cpus.who.iter().chain(&cpus.why_not);
                texts.for_each(|text| plain("a text about logical CPUs", text));
                same(&ServerCpus::try_from(WireServerCpus::from(cpus.clone())), &cpus);
            }
            for point in points.into_iter().map(Point::from) {
                plain("a point", &point.says);
                plain("a point", &point.name);
            }
        }
        _ => {}
    }
}

/// A message is the same when it is written and read again.
fn forwarded<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) {
    same(&protocol::decode(&protocol::encode(message).expect("what was read can be written")), message);
}

fn judge(input: &[u8]) -> bool {
    let (mut input, mut past) = (BufReader::new(input), false);
    while let Ok(Some(line)) = protocol::read_line(&mut input) {
        past |= serde_json::from_str::<Value>(&line).is_ok();
        match protocol::decode::<Reply>(&line) {
            Ok(reply) => {
                forwarded(&reply);
                used(reply);
            }
            // The runner shows it so (`runner::worker_process`).
            Err(error) => {
                let shown = one_line(&error.to_string(), 500);
                assert!(!shown.is_empty(), "an empty error");
                plain("an error", &shown);
            }
        }
        if let Ok(request) = protocol::decode::<Request>(&line) {
            forwarded(&request);
            if let Request::Load { load, .. } | Request::Prepare { load, .. } = request {
                let load = LoadRequest::from(load);
                let _ = protocol::WireLoad::try_from(&load);
            }
        }
    }
    past
}
