//! The workload `transaction`: the user's statements, one transaction after another, on the user's own data.

use crate::{OptionValue, Study, Workload};

/// Option: the text of the file, whose head has its parameters.
pub const SQL: &str = "sql";

/// Option: the database that transactions may write to, by name or path. Without it each one is read-only.
pub const MAY_WRITE: &str = "may_write";

/// The databases that a study's transactions may write to, without duplicates.
pub fn written_to(study: &Study) -> Vec<String> {
    let mut names: Vec<String> = study
        .treatments
        .iter()
        .filter(|_| study.workload == Workload::Transaction)
        .filter_map(|treatment| treatment.options.get(MAY_WRITE))
        .map(OptionValue::to_string)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
