//! Arms of a study on the machine: the switches for each, and restoring everything.
//!
//! The machine's state is recorded before the first block and restored after the last one, by the watchdog if this
//! process is killed (`threadwise_smt`, docs/SMT.md). Restoring gives every thread its
//! logical CPUs back, including those of parked workers and of servers; blocks check them before they continue.

use crate::RunnerError;
use crate::settings::Settings;
use crate::worker_process::Failure;
use std::collections::BTreeMap;
use std::time::Instant;
use threadwise_machine::{CpuSet, Topology};
use threadwise_smt::{Arm as State, Facts, Held, Kernel, Roots, Smt, SmtError, online_now, refuse};
use threadwise_study::{Arm, BlockPlan, Reading, SmtWay, Study, plan_block};

/// Sampler of the readings about a run's switches.
const SAMPLER: &str = "switch";

/// A machine that is switched from phase to phase.
pub struct Switch<'k> {
    held: Held<'k>,
    kernel: &'k dyn Kernel,
    /// The arm that the machine is in.
    now: Arm,
}

/// Result of a switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Switched {
    /// Nanoseconds; 0 if nothing had to be done.
    pub took_ns: u64,
    /// Whether anything had to be done.
    pub is_new: bool,
    /// Logical CPUs that are online, as read back.
    pub online: CpuSet,
}

impl<'k> Switch<'k> {
    /// Records the machine's state. `None` if a study switches nothing.
    ///
    /// # Errors
    /// Another process holds the machine, or its state cannot be recorded; nothing was changed.
    pub fn begin(
        study: &Study,
        settings: &Settings,
        kernel: &'k dyn Kernel,
    ) -> Result<Option<Self>, RunnerError> {
        if !study.switches() {
            return Ok(None);
        }
        let switching = settings.switching.as_ref();
        let Some(switching) = switching else {
            let why = "this program has no watchdog that could restore the machine".to_owned();
            return Err(RunnerError::Switch(SmtError::Refused(why)));
        };
        let (folder, cpuset) = (&switching.folder, switching.cpuset.clone());
        let held = Held::begin(kernel, folder, cpuset, Some(&switching.watchdog))?;
        Ok(Some(Self { held, kernel, now: Arm::default() }))
    }

    /// Brings the machine into an arm of a block.
    ///
    /// # Errors
    /// It cannot reach the arm, in one line; then it is restored, or the line names what is not.
    pub fn to(&mut self, arm: &Arm, plan: &BlockPlan, study: &Study) -> Result<Switched, Failure> {
        let began = Instant::now();
        let is_new = self.now != *arm;
        self.held.apply(&state(arm, plan, study)).map_err(|error| {
            self.now = Arm::default();
            Failure::new("switch", error.to_string())
        })?;
        self.now = arm.clone();
        let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let online = online_now(self.kernel.roots());
        Ok(Switched { took_ns: if is_new { took_ns } else { 0 }, is_new, online })
    }

    /// Restores everything and reads it back.
    ///
    /// # Errors
    /// Not everything could be; each is named.
    pub fn restore(self) -> Result<(), RunnerError> {
        let settled = self.held.restore()?;
        match settled.failed.is_empty() {
            true => Ok(()),
            false => Err(SmtError::NotRestored(settled.failed).into()),
        }
    }
}

/// An arm of a block here: the logical CPUs that its treatments and their service threads use stay online.
fn state(arm: &Arm, plan: &BlockPlan, study: &Study) -> State {
    let smt = match arm.smt {
        SmtWay::Mask => None,
        SmtWay::System => Some(Smt::Off),
        SmtWay::Offline => {
            let treatments = study.treatments.iter().zip(&plan.placements).zip(&plan.services);
            let of_arm = treatments.filter(|((treatment, _), _)| treatment.arm == *arm);
            let keep = of_arm.fold(CpuSet::new(), |all, ((_, placed), service)| {
                let all = all.union(&placed.set());
                service.as_ref().map_or(all.clone(), |service| all.union(service))
            });
            Some(Smt::Offline { keep })
        }
    };
    State { smt, turbo: arm.turbo, governor: arm.governor.clone() }
}

/// Whether a study's arms are possible on a machine, as its first block has them. Changes nothing.
///
/// # Errors
/// Why not, in one line, with the arm.
pub fn check(
    study: &Study,
    topology: &Topology,
    roots: &Roots,
    cpuset: Option<CpuSet>,
) -> Result<(), RunnerError> {
    if !study.switches() {
        return Ok(());
    }
    let plan = plan_block(study, topology, 0)?;
    let facts = Facts::read(roots, cpuset).map_err(SmtError::Read)?;
    for arm in study.arms().into_iter().filter(|arm| !arm.is_as_found()) {
        refuse::check(roots, &facts, &state(arm, &plan, study)).map_err(|why| {
            let why = why.trim_start_matches("not here: ");
            SmtError::Refused(format!("{arm} is not possible here: {why}"))
        })?;
    }
    Ok(())
}

/// Adds a switch to a run's readings: `switch_ns` and `switches` are sums, `online_logical_cpus` is the last value.
pub fn add(readings: &mut Vec<Reading>, switched: &Switched, now_ns: u64) {
    let seen = BTreeMap::from([
        ("switch_ns", switched.took_ns as f64),
        ("switches", f64::from(u8::from(switched.is_new))),
        ("online_logical_cpus", switched.online.len() as f64),
    ]);
    for (metric, value) in seen {
        let known = readings.iter_mut().find(|one| one.sampler == SAMPLER && one.metric == metric);
        match known {
            Some(known) => {
                known.end_ns = now_ns;
                let before = known.value.filter(|_| metric != "online_logical_cpus").unwrap_or(0.0);
                known.value = Some(before + value);
            }
            None => readings.push(Reading {
                sampler: SAMPLER.to_owned(),
                metric: metric.to_owned(),
                cpu: None,
                start_ns: now_ns,
                end_ns: now_ns,
                value: Some(value),
                gap: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    #[test]
    fn switches_of_a_run_are_added_up() {
        let mut readings = Vec::new();
        let switched = Switched { took_ns: 30, is_new: true, online: set("0-3") };
        add(&mut readings, &switched, 5);
        add(&mut readings, &Switched { took_ns: 0, is_new: false, online: set("0-1") }, 9);
        let metric = |metric: &str| readings.iter().find(|one| one.metric == metric).unwrap().clone();
        assert_eq!(metric("switch_ns").value, Some(30.0));
        assert_eq!(metric("switches").value, Some(1.0));
        assert_eq!(metric("online_logical_cpus").value, Some(2.0));
        assert_eq!((metric("switches").start_ns, metric("switches").end_ns, readings.len()), (5, 9, 3));
    }
}
