//! Lines of the worker protocol (docs/WORKER.md), as the runner and the worker read them.

use crate::target::{Judged, Target, changed_json, hold, plain, same, values};
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
pub fn make() -> Result<Target, String> {
    let corpus = values(MESSAGES)?;
    for line in MESSAGES.lines() {
        let is_read = protocol::decode::<Reply>(line).is_ok() || protocol::decode::<Request>(line).is_ok();
        hold(is_read, || format!("no message of the protocol: {line}"))?;
    }
    Ok(Target::new(move |random| [changed_json(random, &corpus).as_slice(), b"\n"].concat(), judge))
}

/// The runner's reading of a reply.
fn used(reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Slice { sessions, .. } => {
            for slice in sessions.into_iter().filter_map(|wire| SessionSlice::try_from(wire).ok()) {
                same(&SessionSlice::try_from(WireSessionSlice::from(slice.clone())), &slice)?;
            }
        }
        Reply::Ready { placed, .. } => {
            for placed in placed.into_iter().filter_map(|wire| Placed::try_from(wire).ok()) {
                same(&Placed::try_from(WirePlaced::from(placed.clone())), &placed)?;
                plain("a thread's name", &placed.name)?;
            }
        }
        Reply::Server { points, cpus, .. } => {
            if let Some(cpus) = cpus.and_then(|wire| ServerCpus::try_from(wire).ok()) {
                let mut texts = cpus.who.iter().chain(&cpus.why_not);
                texts.try_for_each(|text| plain("a text about logical CPUs", text))?;
                same(&ServerCpus::try_from(WireServerCpus::from(cpus.clone())), &cpus)?;
            }
            for point in points.into_iter().map(Point::from) {
                plain("a point", &point.says).and_then(|()| plain("a point", &point.name))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A message is the same when it is written and read again.
fn forwarded<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) -> Result<(), String> {
    let line =
        protocol::encode(message).map_err(|error| format!("what was read cannot be written: {error}"))?;
    same(&protocol::decode(&line), message)
}

fn judge(input: &[u8]) -> Judged {
    let (mut input, mut past) = (BufReader::new(input), false);
    while let Ok(Some(line)) = protocol::read_line(&mut input) {
        past |= serde_json::from_str::<Value>(&line).is_ok();
        match protocol::decode::<Reply>(&line) {
            Ok(reply) => {
                forwarded(&reply)?;
                used(reply)?;
            }
            // The runner shows it so (`runner::worker_process`).
            Err(error) => {
                let shown = one_line(&error.to_string(), 500);
                hold(!shown.is_empty(), || "an empty error".to_owned())?;
                plain("an error", &shown)?;
            }
        }
        if let Ok(request) = protocol::decode::<Request>(&line) {
            forwarded(&request)?;
            if let Request::Load { load, .. } | Request::Prepare { load, .. } = request {
                let load = LoadRequest::from(load);
                let _ = protocol::WireLoad::try_from(&load);
            }
        }
    }
    Ok(past)
}
