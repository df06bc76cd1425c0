//! Placements: grammar and resolver; policies of service threads and memory.

use super::machines;
use crate::random::Grammar;
use crate::target::{Target, same};
use threadwise_machine::placement::{self, Service, resolve, resolve_service};
use threadwise_machine::{Draw, Memory, Pin, Placement, Topology, memory};

/// Cores and threads, of several packages, on a part of the machine.
const SHAPE: &str = "(|||[1-3]s)[1-8]c[1-4]t(|||@([npkd]|llc)[0-2]|@efficient)";
/// Other texts, beside the names of [`placement::NAMES`]: policies too.
const OTHERS: &str = r"near|far|0-3,8|4,0-2|package:0\.core:1-3\.pu:0|node:0\.pu:1|l3:0\.core:0|local|remote|interleave|0|1|0-1,3";
const COUNTED: &str = "(spread|packed|packed-cores|all-but):([1-9]|1[0-9]|20)";
const WITHIN: &str = "(all|no-smt|half-cores|one-cpu|one-core|same-core|same-l2|same-l3|cross-l3|cross-node)@(([npk]|llc)[0-2]|performance|efficient)";

/// The target.
pub fn make() -> Target {
    let machines = machines::topologies().into_iter();
    let machines: Vec<(Topology, Draw)> = machines
        .map(|topology| {
            let draw = Draw::for_block(&topology, 7, 3);
            (topology, draw)
        })
        .collect();
    let names = format!("{}|{OTHERS}", placement::NAMES.join("|"));
    let grammar = Grammar::new(&format!("({names})|{COUNTED}|{SHAPE}|{WITHIN}|{SHAPE}\\+{SHAPE}"));
    Target::texts(48, 2, move |random| random.matching(&grammar), move |text| judge(&machines, text))
}

/// Properties of a possible placement.
fn resolved(placement: &Placement, topology: &Topology, draw: &Draw, sessions: u32, pin: Pin) {
    let first = resolve(placement, topology, draw, sessions, pin);
    assert!(first == resolve(placement, topology, draw, sessions, pin), "two answers to one question");
    match first {
        Ok(found) => {
            let set = found.set();
            assert!(set.is_subset(&topology.allowed()), "{set} is not all allowed");
            assert_eq!(set.len(), found.cpus.len(), "{:?} has a logical CPU twice", found.cpus);
            assert_eq!(found.sessions.len(), sessions as usize, "the number of sessions");
            let seated = found.sessions.iter().all(|seat| !seat.is_empty() && seat.is_subset(&set));
            assert!(seated, "a session without a logical CPU");
        }
        Err(error) => assert!(!error.to_string().is_empty(), "an empty error"),
    }
}

fn judge(machines: &[(Topology, Draw)], text: &str) -> bool {
    let (placement, service, policy) =
        (text.parse::<Placement>(), text.parse::<Service>(), text.parse::<Memory>());
    let all: Placement = "all".parse().expect("'all' is a placement");
    for (topology, draw) in machines {
        if let Ok(placement) = &placement {
            for (sessions, pin) in [(1, Pin::Each), (5, Pin::Each), (3, Pin::Set)] {
                resolved(placement, topology, draw, sessions, pin);
            }
        }
        let Ok(whole) = resolve(&all, topology, draw, 2, Pin::Each) else { continue };
        if let Ok(service) = &service {
            let _ = resolve_service(service, topology, draw, &whole);
        }
        if let Ok(policy) = &policy {
            let _ = memory::resolve(policy, topology, &whole.set());
        }
    }
    if let Ok(service) = &service {
        same(&service.to_string().parse(), service);
    }
    if let Ok(policy) = &policy {
        same(&policy.to_string().parse(), policy);
    }
    placement.is_ok() || service.is_ok() || policy.is_ok()
}
