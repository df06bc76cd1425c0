//! Comparing two files of Firebird outside of a reload.

use super::facts;
use super::tools::Tools;
use crate::driver::Checked;
use crate::error::ItemError;
use std::collections::BTreeMap;
use std::path::Path;

const CONTENTS: &str = include_str!("contents.sql");

/// What a plain `gbak` does not carry over: the restoring user becomes the owner, and a read-only database
/// loses its reserve. An owner's rights, including those to character sets, are then the new owner's.
const CHANGED: [&str; 2] = ["owner", "reserve"];

/// Compares two of threadwise's databases in `folder`: as a reload does (settings, objects, and
/// the number of rows of every table; the owner may differ), and by a sum over the contents of every
/// table. `engine` are the options of the engine.
///
/// # Errors
/// The first difference, or what cannot be queried.
pub fn same_rows(
    folder: &Path,
    old: &str,
    new: &str,
    engine: &BTreeMap<String, String>,
) -> Result<Checked, ItemError> {
    let tools = Tools::find(engine).map_err(ItemError::failed)?;
    let ask = |file: &str| {
        facts::ask(&tools, folder, file, &|| false)
            .map_err(|error| error.of(&format!("isql cannot read {file}")))
    };
    let (before, facts) = (ask(old)?, ask(new)?);
    let owners = [&before, &facts].map(|facts| format!("rights of {}", facts.owner));
    let changed = match before.owner == facts.owner {
        true => CHANGED.to_vec(),
        false => CHANGED.into_iter().chain(owners.iter().map(String::as_str)).collect(),
    };
    let (before, facts) = (before.without(&changed), facts.without(&changed));
    let differs = |what: String| ItemError::failed(format!("the restored copy differs: {what}"));
    if let Some(difference) = before.difference(&facts) {
        return Err(differs(difference));
    }
    let contents = |file: &str| {
        facts::answer(&tools, folder, (file, "contents", CONTENTS), &|| false)
            .map_err(|error| error.of(&format!("isql cannot read the contents of {file}")))
    };
    match (contents(old)?, contents(new)?) {
        (before, after) if before == after => Ok(Checked { tables: facts.tables, rows: facts.rows }),
        (before, after) => Err(differs(first_difference(&before, &after))),
    }
}

/// The first table whose contents differ.
fn first_difference(before: &str, after: &str) -> String {
    let mut pairs = before.lines().zip(after.lines());
    let found = pairs.find(|(before, after)| before != after);
    found.map_or("the tables differ".to_owned(), |(before, after)| {
        format!("`{}` became `{}`", before.trim(), after.trim())
    })
}
