//! Two files of Firebird compared outside of a reload.

use super::facts;
use super::tools::Tools;
use crate::chain::Checked;
use crate::error::ItemError;
use std::collections::BTreeMap;
use std::path::Path;

/// What a plain `gbak` does not carry over: whoever restores becomes the owner, and what can only be read
/// loses its reserve.
const CHANGED: [&str; 2] = ["owner", "reserve"];

/// Compares two databases of ours, which lie in `folder`, as a reload compares them: settings, objects,
/// and the number of rows of every table; the owner may be another. `engine` are the options of the engine.
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
            .map(|facts| facts.without(&CHANGED))
            .map_err(|error| error.of(&format!("{file} cannot be read by isql")))
    };
    let (before, after) = (ask(old)?, ask(new)?);
    match before.difference(&after) {
        Some(difference) => Err(ItemError::failed(format!("the restored copy differs: {difference}"))),
        None => Ok(Checked { tables: after.tables, rows: after.rows }),
    }
}
