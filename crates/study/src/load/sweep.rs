//! The session sweep: 1, 2, 4, … up to the allowed logical CPUs, and a little past them.

use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{CpuSet, Draw, Pin, Placement, Topology};

use super::check;
use super::expand::{Seat, session_list};
use super::policy::Policies;
use super::raw::RawSweep;
use super::{LoadError, Overrides, StudyFile};
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
    if asked_for.is_none()
        && let Some(most) = raw.max_logical_cpus.filter(|&most| allowed > most)
    {
        left_out.push(too_large(file, topology, allowed, most)?);
        return Ok(None);
    }
    let listed = match asked_for {
        Some(points) => Some(points),
        None => check::sweep_points(&raw, &file.source)?.as_deref().map(session_list).transpose()?,
    };
    let past = raw.past.as_ref().map_or(PAST, |past| *past.get_ref());
    let points = listed.unwrap_or_else(|| automatic(allowed, past));
    let pin = check::pin(raw.pin.as_ref(), file.raw.workload.get_ref(), &file.source)?;
    Ok(Some(place(&points, &raw, pin, policies, seats, left_out)))
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

/// Whether two treatments put as many sessions on the same logical CPUs in every draw looked at.
pub(super) fn is_same(one: &Seat, other: &Seat, topology: &Topology, draws: &[Draw]) -> bool {
    let occupied = |seat: &Seat, draw: &Draw| -> Option<Vec<CpuSet>> {
        let parsed: Placement = seat.placement.parse().ok()?;
        let Resolved { mut sessions, .. } =
            placement::resolve(&parsed, topology, draw, seat.sessions, seat.pin).ok()?;
        sessions.sort_unstable();
        Some(sessions)
    };
    one.sessions == other.sessions
        && one.memory == other.memory
        && one.service == other.service
        && one.set == other.set
        && draws.iter().all(|draw| {
            let found = occupied(one, draw);
            found.is_some() && found == occupied(other, draw)
        })
}

/// Why a large machine does without, and what it would cost.
fn too_large(file: &StudyFile, topology: &Topology, allowed: u32, most: u32) -> Result<String, LoadError> {
    if !file.is_preset {
        return Ok(format!(
            "session sweep: {allowed} logical CPUs are allowed, more than max_logical_cpus = {most}"
        ));
    }
    let study = StudyFile::preset("session-sweep")?.resolve(topology, &Overrides::default())?;
    let seconds = (study.block_floor_s() * f64::from(MIN_BLOCKS)).ceil();
    Ok(format!(
        "session sweep: for time, on {allowed} logical CPUs; `threadwise run session-sweep` takes about {seconds} s"
    ))
}
