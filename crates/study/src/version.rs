//! Two versions of a program in one study, A and B: two commands, or two settings of a command, a workload or an
//! engine. `threadwise ab` creates such studies.

use crate::command::COMMAND;
use crate::{Comparison, Study};

/// Their names. The second is compared with the first.
pub const NAMES: [&str; 2] = ["A", "B"];

/// The factor whose level is a treatment's version, as tables show it.
pub const FACTOR: &str = "version";

/// The version of a treatment, if it has one.
pub fn of<'a>(study: &'a Study, treatment: &str) -> Option<&'a str> {
    study.treatment(treatment)?.1.factors.get(FACTOR).map(String::as_str)
}

/// Whether a study is of two versions.
pub fn are_compared(study: &Study) -> bool {
    study.treatments.iter().any(|treatment| treatment.factors.contains_key(FACTOR))
}

/// The command of each version, if they differ.
pub fn commands(study: &Study) -> Option<[String; 2]> {
    let command_of = |name: &str| {
        let mut all = study.treatments.iter();
        let treatment = all.find(|one| one.factors.get(FACTOR).is_some_and(|level| level == name))?;
        Some(treatment.options.get(COMMAND)?.to_string())
    };
    let both = [command_of(NAMES[0])?, command_of(NAMES[1])?];
    (both[0] != both[1]).then_some(both)
}

/// Whether a comparison is of the second version with the first.
pub fn is_compared(study: &Study, comparison: &Comparison) -> bool {
    let below = comparison.baseline.first();
    of(study, &comparison.treatment) == Some(NAMES[1])
        && below.is_some_and(|below| of(study, below) == Some(NAMES[0]))
}
