//! Where an engine's service threads run, relative to the sessions: `near`, `far`, or a placement.
//!
//! A pure function. Where possible, service threads stay off the logical CPUs of sessions, so that `near` and
//! `far` differ in distance and not in contention.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use super::draw::package_of;
use super::{Draw, Pin, Placement, PlacementError, Resolved, resolve};
use crate::{CpuSet, Topology};

/// Where service threads should run, not yet bound to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum Service {
    /// On the package with most sessions.
    Near,
    /// On another package.
    Far,
    /// On these logical CPUs.
    At(Placement),
}

impl FromStr for Service {
    type Err = PlacementError;

    /// Reads `near`, `far` or a placement.
    ///
    /// # Errors
    /// [`PlacementError::Part`] with what is wrong and what is allowed.
    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let wrong = |why: String| PlacementError::Part {
            part: "service",
            text: text.trim().to_owned(),
            why,
            allowed: "near, far, and a placement such as 0-3 or 1c1t",
        };
        match text.trim() {
            "near" => Ok(Self::Near),
            "far" => Ok(Self::Far),
            other => match other.parse() {
                Ok(placement) => Ok(Self::At(placement)),
                Err(PlacementError::Grammar { why, .. }) => Err(wrong(why)),
                Err(error) => Err(error),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Service {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::parsed(deserializer)
    }
}

impl From<Service> for String {
    fn from(service: Service) -> Self {
        service.to_string()
    }
}

/// As the user writes it.
impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Near => f.write_str("near"),
            Self::Far => f.write_str("far"),
            Self::At(placement) => f.write_str(&placement.text),
        }
    }
}

/// The logical CPUs of service threads beside sessions that are already placed.
///
/// - `near`: the allowed logical CPUs of the package with most sessions, the first in the draw among equals; a
///   session that floats counts on every package in proportion to its logical CPUs there. A machine that
///   declares no packages counts as one.
/// - `far`: those of another package, the one with the fewest sessions, the first in the draw among equals.
/// - A placement: all of its logical CPUs.
///
/// `near` and `far` leave out the logical CPUs that sessions use; if the package is full of sessions, they are the
/// whole package.
///
/// # Errors
/// [`PlacementError::Lacking`]: `far` with one package, or an impossible placement.
pub fn resolve_service(
    service: &Service,
    topology: &Topology,
    draw: &Draw,
    sessions: &Resolved,
) -> Result<CpuSet, PlacementError> {
    let lacking =
        |lacks: &str| PlacementError::Lacking { text: format!("service={service}"), lacks: lacks.to_owned() };
    if let Service::At(placement) = service {
        return resolve(placement, topology, draw, 1, Pin::Set).map(|found| found.set());
    }
    let most = first_by(&draw.packages, |package| usize::MAX - seats_on(package, topology, sessions))
        .ok_or_else(|| lacking("no logical CPU is online and allowed"))?;
    let package = match service {
        Service::Near | Service::At(_) => most,
        Service::Far => {
            let others: Vec<u32> = draw.packages.iter().copied().filter(|&other| other != most).collect();
            first_by(&others, |package| seats_on(package, topology, sessions)).ok_or_else(|| {
                lacking(if topology.packages.is_empty() {
                    "this machine declares no packages, so it counts as one"
                } else {
                    "this machine has 1 package with allowed logical CPUs"
                })
            })?
        }
    };
    let all = cpus_of(package, topology);
    let free = all.difference(&seated(sessions));
    Ok(if free.is_empty() { all } else { free })
}

/// The item with the lowest key, the first among equals.
fn first_by(packages: &[u32], key: impl Fn(u32) -> usize) -> Option<u32> {
    packages.iter().copied().min_by_key(|&package| key(package))
}

/// The allowed logical CPUs of a package.
fn cpus_of(package: u32, topology: &Topology) -> CpuSet {
    let cores = (0_u32..).zip(&topology.cores);
    let inside = cores.filter(|(index, _)| package_of(topology, *index) == package);
    inside.flat_map(|(_, core)| core.cpus.iter()).collect()
}

/// Logical CPUs that a session may use. With `Pin::Each` and few sessions these are not all of the placement.
fn seated(sessions: &Resolved) -> CpuSet {
    sessions.sessions.iter().flat_map(CpuSet::iter).collect()
}

/// Pairs of a session and a logical CPU of the package that it may use. All sessions of a placement have
/// equally many logical CPUs, so the pairs compare as the sessions do.
fn seats_on(package: u32, topology: &Topology, sessions: &Resolved) -> usize {
    let cpus = cpus_of(package, topology);
    sessions.sessions.iter().map(|session| session.iter().filter(|&cpu| cpus.contains(cpu)).count()).sum()
}
