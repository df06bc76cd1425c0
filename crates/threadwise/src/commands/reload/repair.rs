//! `threadwise restore PATH` and `reload --unseal`: repairs, and reports what was searched.

use super::args::ReloadArgs;
use super::fault::app_error;
use super::shown;
use crate::error::AppError;
use crate::output;
use std::path::{Path, PathBuf};
use threadwise_reload::driver::{Driver, Settings};
use threadwise_reload::list;
use threadwise_reload::recover::{self, Recovered};
use threadwise_reload::search::{self, Leftovers};

/// The result for one path, or why it failed.
type Outcome = (PathBuf, Result<String, String>);

/// What is done, and the form of its output.
pub struct Way {
    /// Only say what would be done.
    pub is_status: bool,
    /// As JSON.
    pub is_json: bool,
}

/// Recovers files, and leftovers in folders and below them.
pub fn recover(paths: &[PathBuf], settings: &Settings, way: &Way) -> Result<(), AppError> {
    let given = list::paths(paths).map_err(app_error)?;
    // All names are checked before anything is changed.
    given.iter().try_for_each(|path| is_there(path))?;
    let mut outcomes = Vec::new();
    let repair = |path: PathBuf| match way.is_status {
        true => would_be(path),
        false => recovered(path, settings),
    };
    for path in given {
        if !path.is_dir() {
            outcomes.push(repair(path));
            continue;
        }
        match search::below(&path) {
            Ok(found) => {
                outcomes.extend(found.databases.iter().map(|database| repair(database.clone())));
                if found.databases.is_empty() || !not_looked_at(&found).is_empty() {
                    outcomes.push((path, looked_at(&found)));
                }
            }
            Err(error) => outcomes.push((path, Err(error.to_string()))),
        }
    }
    print_outcomes(way.is_json, "recover", &outcomes)
}

/// A mistyped name is bad input; a database whose name is gone is not.
fn is_there(path: &Path) -> Result<(), AppError> {
    if path.exists() || recover::is_left_of(path) {
        return Ok(());
    }
    let why = match path.symlink_metadata() {
        Ok(_) => "is a dangling link: give the database itself",
        Err(_) => "no such file or folder",
    };
    Err(AppError::Input(format!("{}: {why}; nothing was touched", shown::path(path))))
}

/// The message of `--status`: whether there is something to recover; nothing is touched.
fn would_be(path: PathBuf) -> Outcome {
    let word = if recover::is_left_of(&path) { "would be recovered" } else { "nothing was left" };
    (path, Ok(word.to_owned()))
}

fn recovered(path: PathBuf, settings: &Settings) -> Outcome {
    let word = recover::recover(&path, settings).map(|recovered| match recovered {
        Recovered::Nothing => "nothing was left".to_owned(),
        Recovered::PutBack => "restored".to_owned(),
        Recovered::Finished => "finished: the new file has the name".to_owned(),
    });
    (path, word.map_err(|error| error.to_string()))
}

/// The message of a search that found nothing, or could not search everything.
fn looked_at(found: &Leftovers) -> Result<String, String> {
    let what = match found.databases.len() {
        0 => "nothing was left".to_owned(),
        number => format!("something was left of {}", shown::count(number, "database")),
    };
    let text = format!("{what} in {}{}", shown::count(found.folders, "folder"), not_looked_at(found));
    match found.is_cut {
        true => Err(text),
        false => Ok(text),
    }
}

fn not_looked_at(found: &Leftovers) -> String {
    let mut text = String::new();
    for (folders, why) in
        [(&found.elsewhere, "on another file system"), (&found.closed, "that this user cannot read")]
    {
        if let Some(first) = folders.first() {
            let number = shown::count(folders.len(), "folder");
            text.push_str(&format!("; not looked into: {number} {why} ({})", shown::path(first)));
        }
    }
    if found.is_cut {
        text.push_str("; and there are more folders: give those with databases");
    }
    text
}

/// Makes kept originals writable again.
pub fn unseal(args: &ReloadArgs, settings: &Settings, driver: &dyn Driver) -> Result<(), AppError> {
    let entries = list::read(&args.files).map_err(app_error)?;
    let outcomes: Vec<Outcome> = entries
        .iter()
        .map(|entry| {
            let unsealed = entry.allowed().and_then(|()| recover::unseal(&entry.database, settings, driver));
            let word = unsealed.map(|was_sealed| match was_sealed {
                true => "writable".to_owned(),
                false => "was not sealed".to_owned(),
            });
            (entry.path.clone(), word.map_err(|error| error.to_string()))
        })
        .collect();
    print_outcomes(args.json, "unseal", &outcomes)
}

/// Prints the result of each path, and fails if one could not be repaired.
fn print_outcomes(is_json: bool, what: &str, outcomes: &[Outcome]) -> Result<(), AppError> {
    let failed = outcomes.iter().filter(|(_, result)| result.is_err()).count();
    let text: String = outcomes
        .iter()
        .map(|(path, result)| {
            let one = [(path.clone(), result.as_ref().err().cloned())];
            let word = result.as_deref().unwrap_or_default();
            match is_json {
                true => shown::results_json(what, &one, word),
                false => shown::results(&one, word),
            }
        })
        .collect();
    output::print(&text)?;
    match failed {
        0 => Ok(()),
        _ => Err(AppError::Failed(format!(
            "{failed} of {} could not be repaired",
            shown::count(outcomes.len(), "file")
        ))),
    }
}
