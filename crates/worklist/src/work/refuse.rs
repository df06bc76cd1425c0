//! Errors that are known before anything is started: inconsistent plans, and missing programs, without which every item
//! would fail alike.

use super::error::WorkError;
use crate::plan::{Plan, Step};
use crate::recipe::{self, OF_ITEMS};
use std::ffi::OsString;
use std::path::Path;
use threadwise_process::programs;

/// The steps of a plan, with the paths of their programs if these can be known.
///
/// # Errors
/// [`WorkError::Refused`].
pub(super) fn ready(plan: &Plan) -> Result<Vec<Step>, WorkError> {
    agree(plan)
        .and_then(|()| plan.steps.iter().map(|step| found(step, plan)).collect())
        .map_err(WorkError::Refused)
}

fn agree(plan: &Plan) -> Result<(), String> {
    let fault = |why: &str| Err(why.to_owned());
    let mut places = plan.order.clone();
    places.sort_unstable();
    if plan.items.is_empty() {
        return fault("it has no item");
    }
    if plan.jobs == 0 {
        return fault("it has no job");
    }
    if !places.into_iter().eq(0..plan.items.len()) {
        return fault("its order does not name each item once");
    }
    if plan.keep.is_some_and(|keep| keep >= plan.items.len()) {
        return fault("the item to keep is not in the list");
    }
    // Commands run in other folders, where a relative path would have another meaning.
    if !plan.work.is_absolute() {
        return Err(format!("the work folder {} is not an absolute path", plan.work.display()));
    }
    if let Some(folder) = plan.folder.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(format!("{} is not a folder", folder.display()));
    }
    let empty = |step: &&Step| step.command.first().is_none_or(String::is_empty);
    if let Some(step) = plan.steps.iter().find(empty) {
        return Err(format!("step '{}' has no command", step.name));
    }
    if plan.steps.is_empty() {
        return fault("its recipe has no step");
    }
    let values = OF_ITEMS.map(|name| (name, ""));
    recipe::texts(&plan.steps, plan.result.as_deref())
        .try_for_each(|text| recipe::filled_text(text, &values).map(drop))
}

/// A step with the path of its program, so that PATH is searched once and not for each item.
fn found(step: &Step, plan: &Plan) -> Result<Step, String> {
    let mut found = step.clone();
    // Checked above: there is one.
    let Some(program) = found.command.first_mut() else { return Ok(found) };
    let Ok(name) = recipe::filled_text(program, &[]) else {
        // A program that differs for each item.
        return Ok(found);
    };
    let path = if name.contains('/') {
        let path = plan.folder.as_deref().unwrap_or(Path::new("")).join(&name);
        // In an item's own folder an earlier step may make it.
        if path.is_absolute() && !programs::is_program(&path) {
            return Err(format!("step '{}': {} is not an executable program", step.name, path.display()));
        }
        path
    } else {
        let inherited = || std::env::var_os("PATH").unwrap_or_default();
        let path = plan.environment.get("PATH").map_or_else(inherited, OsString::from);
        programs::find(&[&name], &[], &path).ok_or_else(|| {
            format!(
                "step '{}': there is no program '{name}' on PATH: install it, or give its path",
                step.name
            )
        })?
    };
    let text = path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))?;
    *program = recipe::escaped(text);
    Ok(found)
}
