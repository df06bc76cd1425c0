//! The session sweep: 1, 2, 4, … up to the allowed logical CPUs, and a little past them.

use threadwise_machine::{Draw, Pin, Topology};

use super::error::LoadError;
use super::file::StudyFile;
use super::overrides::Overrides;
use super::policy::Policies;
use super::raw::RawSweep;
use super::seat::{Seat, is_same};
use super::values::{self, session_list};
use crate::Role;
use crate::study::MIN_BLOCKS;

/// How far past the allowed logical CPUs a sweep goes where the file does not say.
const PAST: f64 = 1.5;

/// The points of a sweep.
pub(super) struct Sweep {
    /// Those that no other treatment stands for.
    pub seats: Vec<Seat>,
    /// All points in order: sessions, and the name of the treatment that stands for them.
    pub points: Vec<(u32, String)>,
}

/// The sweep of a study, if it has one here; what is left out is added to `left_out`.
pub(super) fn sweep(
    file: &StudyFile,
    topology: &Topology,
    overrides: &Overrides,
    policies: &Policies,
    seats: &[Seat],
    left_out: &mut Vec<String>,
) -> Result<Option<Sweep>, LoadError> {
    // With [dop], numbers of sessions are those of streams, and with [jobs] those of jobs.
    if file.raw.dop.is_some() || file.raw.jobs.is_some() {
        return Ok(None);
    }
    let asked_for = overrides.sessions.as_deref().map(session_list).transpose()?;
    if overrides.placements.is_some() || (file.raw.sweep.is_none() && asked_for.is_none()) {
        return Ok(None);
    }
    let raw = file.raw.sweep.clone().unwrap_or_default();
    let allowed = topology.allowed().len() as u32;
    let listed = match asked_for {
        Some(points) => Some(points),
        None => values::sweep_points(&raw, &file.source)?.as_deref().map(session_list).transpose()?,
    };
    let past = raw.past.as_ref().map_or(PAST, |past| *past.get_ref());
    let points = listed.unwrap_or_else(|| automatic(allowed, past));
    let pin = values::pin(raw.pin.as_ref(), file.raw.workload.get_ref(), &file.source)?;
    Ok(Some(place(&points, &raw, pin, policies, seats, left_out)))
}

/// The number of logical CPUs that the file's sweep is for at most, where this machine has more. One that the
/// command line asks for, or that other sections replace, has no such limit.
pub(super) fn exceeded(file: &StudyFile, topology: &Topology, overrides: &Overrides) -> Option<u32> {
    let is_replaced = file.raw.dop.is_some() || file.raw.jobs.is_some() || overrides.placements.is_some();
    let sweep = file.raw.sweep.as_ref().filter(|_| !is_replaced && overrides.sessions.is_none())?;
    sweep.max_logical_cpus.filter(|&most| topology.allowed().len() as u32 > most)
}

/// 1, 2, 4, … below the allowed logical CPUs, their number, and `past` times it.
fn automatic(allowed: u32, past: f64) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power).take_while(|&point| point < allowed);
    let mut points: Vec<u32> = powers.collect();
    points.extend([allowed, (f64::from(allowed) * past).ceil() as u32]);
    points.dedup();
    points
}

/// Finds for each point the treatment that stands for it, or makes one, with the baseline's memory
/// policy. A point that leaves no memory for it (`remote` when all nodes work) is left out.
fn place(
    points: &[u32],
    raw: &RawSweep,
    pin: Pin,
    policies: &Policies,
    seats: &[Seat],
    left_out: &mut Vec<String>,
) -> Sweep {
    let (topology, seed) = (policies.topology, policies.seed);
    let order = raw.order.as_ref().map_or("spread", |order| order.get_ref());
    let allowed = topology.allowed().len() as u32;
    let draws: Vec<Draw> = (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, seed, block)).collect();
    let mut sweep = Sweep { seats: Vec::new(), points: Vec::new() };
    for &sessions in points {
        let seat = Seat {
            name: format!("sessions-{sessions}"),
            placement: format!("{order}:{}", sessions.min(allowed)),
            sessions,
            pin,
            memory: seats[0].memory.clone(),
            service: seats[0].service.clone(),
            set: seats[0].set.clone(),
            role: Role::Compared,
        };
        if let Some(lacks) = policies.lacks(&seat.memory, &seat.placement) {
            left_out.push(format!("{}: {lacks}", seat.name));
            continue;
        }
        let twin = seats.iter().find(|other| is_same(other, &seat, topology, &draws));
        let name = twin.map_or(&seat.name, |other| &other.name).clone();
        if twin.is_none() {
            sweep.seats.push(seat);
        }
        sweep.points.push((sessions, name));
    }
    sweep
}
