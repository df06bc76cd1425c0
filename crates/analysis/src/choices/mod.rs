//! Which settings a study leaves the choice of, and which of each are to be used: numbers of sessions, of jobs, degrees of
//! parallelism, one busy thread of a core or both, placements of sessions, of service threads and of memory.
//!
//! The method is [`crate::estimate::choose`]. Candidates stand in the order in which they are preferred where they do as
//! much: fewer sessions before more, one thread of a core before both, the order of the study.

mod candidates;
pub(crate) mod lines;
pub(crate) mod lost;
pub(crate) mod sweep;
mod types;

use crate::estimate::{Observed, throughput_over};
use crate::setting::Setting;
pub(crate) use candidates::{Candidates, of_commands, threads_of_queries};
use threadwise_study::Role;
pub use types::{Axis, Candidate, Choice, Guess, LostTime, ONE_CORE};

/// The choices of a study of rates; none of one whose runs are whole.
pub(crate) fn of_rates(setting: &Setting<'_>, observed: &Observed) -> Vec<Choice> {
    let study = setting.study;
    if study.is_fixed_work() {
        return Vec::new();
    }
    let sides = |at: usize| -> Vec<usize> {
        let is_baseline = |other: &usize| {
            observed.group_of[*other] == observed.group_of[at]
                && study.treatments[*other].role != Role::Compared
        };
        match study.treatments[at].role {
            Role::Compared => vec![at],
            _ => (0..study.treatments.len()).filter(is_baseline).collect(),
        }
    };
    let over = |one: usize, other: usize| -> Vec<f64> {
        let (top, below, sign) = match study.treatments[one].role {
            Role::Compared => (one, sides(other), 1.0),
            _ => (other, sides(one), -1.0),
        };
        throughput_over(study, observed, top, &below).into_iter().map(|d| sign * d).collect()
    };
    candidates::of_rates(study).into_iter().filter_map(|all| made(setting, all, over)).collect()
}

/// Chooses among those candidates that were measured; `None` of fewer than two.
pub(crate) fn made(
    setting: &Setting<'_>,
    candidates: Candidates,
    over: impl Fn(usize, usize) -> Vec<f64>,
) -> Option<Choice> {
    let study = setting.study;
    let Candidates { axis, group, place, treatments } = candidates;
    let is_measured =
        |one: &usize| treatments.iter().any(|other| other != one && !over(*one, *other).is_empty());
    let measured: Vec<usize> = treatments.iter().copied().filter(is_measured).collect();
    if measured.len() < 2 {
        return None;
    }
    let name = |at: &usize| (study.treatments[*at].name.clone(), study.treatments[*at].sessions);
    let rule = (study.design.margin.ln_1p(), setting.alpha, study.seed);
    let over = |one: usize, other: usize| over(measured[one], measured[other]);
    Some(Choice::made((axis, &group, place), measured.iter().map(name).collect(), over, rule))
}
