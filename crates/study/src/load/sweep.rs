//! The session sweep: 1, 2, 4, … up to the allowed logical CPUs, and somewhat beyond, in one or both orders of logical
//! CPUs: spread over the cores first, or packed onto siblings first.

use threadwise_machine::{Draw, Pin, Topology};

use super::error::LoadError;
use super::file::StudyFile;
use super::overrides::Overrides;
use super::policy::Policies;
use super::seat::{Seat, default_sessions, is_same};
use super::values::{self, session_list};
use crate::study::MIN_BLOCKS;
use crate::{Instance, Role};

/// Default end of a sweep as a multiple of the allowed logical CPUs.
const PAST: f64 = 1.5;

/// Placements with all cores of a package, of a node and of the machine: `auto` has points at their sizes.
const CORES: [&str; 3] = ["package-no-smt", "node-no-smt", "no-smt"];

/// A sweep.
pub(super) struct Sweep {
    /// Points without an equal treatment.
    pub seats: Vec<Seat>,
    /// One for each order.
    pub lines: Vec<Line>,
    /// Physical cores that sessions may use.
    pub cores: u32,
    /// Logical CPUs that they may use.
    pub allowed: u32,
}

/// A point: sessions, and the name of the treatment that represents it.
pub(super) type Point = (u32, String);

/// The points of a sweep in one order.
pub(super) struct Line {
    /// Its order where the sweep has several.
    pub order: Option<&'static str>,
    /// All points, in the order of the list.
    pub points: Vec<Point>,
}

/// The sweep of a study, if it has one here; adds what is left out to `left_out`.
pub(super) fn sweep(
    file: &StudyFile,
    topology: &Topology,
    overrides: &Overrides,
    policies: &Policies,
    seats: &[Seat],
    left_out: &mut Vec<String>,
) -> Result<Option<Sweep>, LoadError> {
    // With [dop], numbers of sessions mean streams, and with [jobs] they mean jobs.
    let sections = [("[dop]", file.raw.dop.is_some()), ("[jobs]", file.raw.jobs.is_some())];
    if let Some((section, _)) = sections.into_iter().find(|(_, is_there)| *is_there) {
        return match overrides.orders {
            None => Ok(None),
            Some(_) => Err(refused(format!(
                "the treatments of this study are those of {section}, which cannot have a sweep"
            ))),
        };
    }
    let asked_for = overrides.sessions.as_deref().map(session_list).transpose()?;
    let is_asked_for = asked_for.is_some() || overrides.orders.is_some();
    if overrides.placements.is_some() || (file.raw.sweep.is_none() && !is_asked_for) {
        return Ok(None);
    }
    let raw = file.raw.sweep.clone().unwrap_or_default();
    let allowed = topology.allowed().len() as u32;
    let listed = match asked_for {
        Some(points) => Some(points),
        None => values::sweep_points(&raw, &file.source)?.as_deref().map(session_list).transpose()?,
    };
    let past = raw.past.as_ref().map_or(PAST, |past| *past.get_ref());
    let counts = CORES.map(|text| default_sessions(text, topology).unwrap_or(allowed));
    let points = listed.unwrap_or_else(|| automatic(allowed, counts, past));
    let pin = values::pin(raw.pin.as_ref(), file.raw.workload.get_ref(), &file.source)?;
    let orders = match &overrides.orders {
        Some(asked) => values::orders(asked.iter().map(String::as_str))
            .map_err(|why| LoadError::Override { option: "--sweep".to_owned(), why })?,
        None => values::sweep_orders(&raw, &file.source)?,
    };
    let maker = Maker { orders: &orders, pin, policies, seats };
    Ok(Some(maker.place(&points, counts[2], left_out)))
}

fn refused(why: String) -> LoadError {
    LoadError::Override { option: "--sweep".to_owned(), why }
}

/// The file's limit of logical CPUs for a sweep, if this machine has more. A sweep that the command line asks for, or
/// that other sections replace, has no limit.
pub(super) fn exceeded(file: &StudyFile, topology: &Topology, overrides: &Overrides) -> Option<u32> {
    let is_replaced = file.raw.dop.is_some() || file.raw.jobs.is_some() || overrides.placements.is_some();
    let sweep = file
        .raw
        .sweep
        .as_ref()
        .filter(|_| !is_replaced && overrides.sessions.is_none() && overrides.orders.is_none())?;
    sweep.max_logical_cpus.filter(|&most| topology.allowed().len() as u32 > most)
}

/// 1, 2, 4, … below the allowed logical CPUs, the numbers of cores, the logical CPUs, and `past` times their number.
fn automatic(allowed: u32, cores: [u32; 3], past: f64) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power).take_while(|&point| point < allowed);
    let mut points: Vec<u32> = powers.chain(cores).collect();
    points.extend([allowed, (f64::from(allowed) * past).ceil() as u32]);
    points.sort_unstable();
    points.dedup();
    points
}

/// Inputs of points.
struct Maker<'a> {
    orders: &'a [&'static str],
    pin: Pin,
    policies: &'a Policies<'a>,
    seats: &'a [Seat],
}

impl Maker<'_> {
    /// For each point of each order, finds an equal treatment or makes one with the baseline's memory policy. A point
    /// without memory for it (`remote` when all nodes work) is left out.
    fn place(&self, points: &[u32], cores: u32, left_out: &mut Vec<String>) -> Sweep {
        let (topology, seed) = (self.policies.topology, self.policies.seed);
        let allowed = topology.allowed().len() as u32;
        let draws: Vec<Draw> = (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, seed, block)).collect();
        let several = self.orders.len() > 1;
        let line = |order: &&'static str| Line { order: several.then_some(*order), points: Vec::new() };
        let mut sweep =
            Sweep { seats: Vec::new(), lines: self.orders.iter().map(line).collect(), cores, allowed };
        let mut shared: Vec<String> = Vec::new();
        for &sessions in points {
            let all: Vec<Seat> =
                self.orders.iter().map(|order| self.seat(order, sessions, allowed)).collect();
            // A point with the same set in every order is one treatment, named by its sessions.
            let is_one = all.iter().skip(1).all(|seat| is_same(&all[0], seat, topology, &draws));
            if several && is_one {
                shared.push(sessions.to_string());
            }
            for (at, mut seat) in all.into_iter().enumerate() {
                if is_one {
                    seat.name = format!("sessions-{sessions}");
                }
                if is_one && at > 0 {
                    let point = sweep.lines[0].points.iter().rfind(|(count, _)| *count == sessions).cloned();
                    sweep.lines[at].points.extend(point);
                    continue;
                }
                if let Some(lacks) = self.policies.lacks(&seat.memory, &seat.placement) {
                    left_out.push(format!("{}: {lacks}", seat.name));
                    continue;
                }
                let twin = self.seats.iter().find(|other| is_same(other, &seat, topology, &draws));
                sweep.lines[at].points.push((sessions, twin.map_or(&seat.name, |other| &other.name).clone()));
                if twin.is_none() {
                    sweep.seats.push(seat);
                }
            }
        }
        if !shared.is_empty() {
            let others = self.orders[1..].join(" and ");
            let (first, at) = (self.orders[0], shared.join(", "));
            left_out
                .push(format!("{others} at {at} sessions: the same logical CPUs as {first} on this machine"));
        }
        sweep
    }

    fn seat(&self, order: &str, sessions: u32, allowed: u32) -> Seat {
        let alone = &self.seats[0];
        let word = if self.orders.len() > 1 { order } else { "sessions" };
        Seat {
            name: format!("{word}-{sessions}"),
            placement: format!("{order}:{}", sessions.min(allowed)),
            sessions,
            pin: self.pin,
            memory: alone.memory.clone(),
            service: alone.service.clone(),
            set: alone.set.clone(),
            instance: Instance::default(),
            version: None,
            role: Role::Compared,
        }
    }
}
