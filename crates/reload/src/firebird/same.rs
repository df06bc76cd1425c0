//! Two files of Firebird compared outside of a reload.

use super::facts;
use super::tools::Tools;
use crate::driver::Checked;
use crate::error::ItemError;
use std::collections::BTreeMap;
use std::path::Path;

const CONTENTS: &str = include_str!("contents.sql");

/// What a plain `gbak` does not carry over: whoever restores becomes the owner, and what can only be read
/// loses its reserve. An owner's rights, those to character sets among them, are the new owner's then.
const CHANGED: [&str; 2] = ["owner", "reserve"];

/// Compares two databases of ours, which lie in `folder`: as a reload compares them (settings, objects, and
/// the number of rows of every table; the owner may be another), and by a sum over the contents of every
/// table. `engine` are the options of the engine.
///
/// # Errors
/// What differs first, or what cannot be asked.
pub fn same_rows(
    folder: &Path,
    old: &str,
    new: &str,
    engine: &BTreeMap<String, String>,
) -> Result<Checked, ItemError> {
    let tools = Tools::find(engine).map_err(ItemError::failed)?;
    let ask = |file: &str| {
        facts::ask(&tools, folder, file, &|| false)
            .map_err(|error| error.of(&format!("{file} cannot be read by isql")))
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
            .map_err(|error| error.of(&format!("the contents of {file} cannot be read by isql")))
    };
    match (contents(old)?, contents(new)?) {
        (before, after) if before == after => Ok(Checked { tables: facts.tables, rows: facts.rows }),
        (before, after) => Err(differs(first_difference(&before, &after))),
    }
}

/// The first table whose contents are others.
fn first_difference(before: &str, after: &str) -> String {
    let mut pairs = before.lines().zip(after.lines());
    let found = pairs.find(|(before, after)| before != after);
    found.map_or("there are other tables".to_owned(), |(before, after)| {
        format!("`{}` became `{}`", before.trim(), after.trim())
    })
}
