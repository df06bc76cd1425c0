//! Placements: grammar and resolver; policies of service threads and memory.

use super::{Target, hold, machines};
use crate::mutate;
use crate::random::Random;
use threadwise_machine::placement::{self, Service, resolve, resolve_service};
use threadwise_machine::{Draw, Memory, Pin, Placement, Topology, memory};

struct Placements {
    machines: Vec<(Topology, Draw)>,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let machines = machines::topologies()?.into_iter();
    let drawn = machines.map(|topology| {
        let draw = Draw::for_block(&topology, 7, 3);
        (topology, draw)
    });
    Ok(Box::new(Placements { machines: drawn.collect() }))
}

/// Texts in place of a placement, beside the names of [`placement::NAMES`].
const OTHERS: [&str; 13] = [
    "near",
    "far",
    "0-3,8",
    "4,0-2",
    "package:0.core:1-3.pu:0",
    "node:0.pu:1",
    "l3:0.core:0",
    "local",
    "remote",
    "interleave",
    "0",
    "1",
    "0-1,3",
];

fn shape(random: &mut Random) -> String {
    let head = if random.percent(25) { format!("{}s", 1 + random.below(3)) } else { String::new() };
    let level = ["n", "p", "l", "k", "d"];
    let tail = if random.percent(25) {
        format!("@{}{}", random.pick(&level), random.below(3))
    } else {
        String::new()
    };
    format!("{head}{}c{}t{tail}", 1 + random.below(8), 1 + random.below(4))
}

fn valid(random: &mut Random) -> String {
    match random.below(5) {
        0 => (*random.pick(&[&placement::NAMES[..], &OTHERS].concat())).to_owned(),
        1 => format!("{}:{}", random.pick(&["spread", "packed", "all-but"]), 1 + random.below(20)),
        2 => shape(random),
        3 => format!(
            "{}@{}{}",
            random.pick(&["all", "no-smt", "half-cores"]),
            random.pick(&["n", "p", "l", "k"]),
            random.below(3)
        ),
        _ => [shape(random), shape(random)].join("+"),
    }
}

/// Properties of a possible placement.
fn resolved(
    placement: &Placement,
    topology: &Topology,
    draw: &Draw,
    sessions: u32,
    pin: Pin,
) -> Result<(), String> {
    let first = resolve(placement, topology, draw, sessions, pin);
    hold(first == resolve(placement, topology, draw, sessions, pin), || {
        "two answers to one question".to_owned()
    })?;
    let found = match first {
        Ok(found) => found,
        Err(error) => return hold(!error.to_string().is_empty(), || "an empty error".to_owned()),
    };
    let set = found.set();
    hold(set.is_subset(&topology.allowed()), || format!("{set} is not all allowed"))?;
    hold(set.len() == found.cpus.len(), || format!("{:?} has a logical CPU twice", found.cpus))?;
    hold(found.sessions.len() == sessions as usize, || format!("{} seats", found.sessions.len()))?;
    let seated = found.sessions.iter().all(|seat| !seat.is_empty() && seat.is_subset(&set));
    hold(seated, || "a session without a logical CPU".to_owned())
}

impl Target for Placements {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = valid(random).into_bytes();
        if random.percent(55) {
            let (times, donor) = (random.times(2), valid(random).into_bytes());
            mutate::text(random, &mut bytes, times, &[donor]);
        }
        bytes
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
        let (placement, service, policy) =
            (text.parse::<Placement>(), text.parse::<Service>(), text.parse::<Memory>());
        let past = placement.is_ok() || service.is_ok() || policy.is_ok();
        let all: Placement = "all".parse().map_err(|_| "'all' is not a placement".to_owned())?;
        for (topology, draw) in &self.machines {
            if let Ok(placement) = &placement {
                for (sessions, pin) in [(1, Pin::Each), (5, Pin::Each), (3, Pin::Set)] {
                    resolved(placement, topology, draw, sessions, pin)?;
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
        if let Ok(service) = service {
            let again = service.to_string().parse::<Service>();
            hold(again.as_ref() == Ok(&service), || format!("service {service} reads as {again:?}"))?;
        }
        if let Ok(policy) = policy {
            let again = policy.to_string().parse::<Memory>();
            hold(again.as_ref() == Ok(&policy), || format!("memory {policy} reads as {again:?}"))?;
        }
        Ok(past)
    }
}
