//! Generated items: files of uneven sizes, and databases of them in a private server.

use std::path::Path;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_reload::generate::{self, Engine, plan};
use threadwise_study::worklist::WorklistOptions;

use super::listed::{Listed, name};
use super::space::expect_space;
use crate::error::failed;
use crate::plan::Item;
use crate::recipe::Kind;
use crate::servers;

/// About the size of an empty Firebird database, the smallest generated one.
const EMPTY_FIREBIRD_BYTES: u64 = 1 << 20;

/// Makes files in the folder.
///
/// # Errors
/// One cannot be made, or the disk is too small.
pub(super) fn files(
    home: &Path,
    options: &WorklistOptions,
    kind: Kind,
    request: &LoadRequest,
) -> Result<Listed, EngineError> {
    let sizes = plan(options.files as usize, options.total_bytes, request.seed);
    let (engine, least) = match kind {
        Kind::Firebird => (Engine::Firebird, EMPTY_FIREBIRD_BYTES),
        _ => (Engine::Sqlite, 0),
    };
    let needed: Vec<u64> = sizes.iter().map(|&size| size.max(least)).collect();
    expect_space(home, &needed, request.sessions)?;
    let made = generate::make(engine, home, &sizes, request.seed)
        .map_err(|error| failed("make the items", error))?;
    let item = |path: std::path::PathBuf| Item {
        name: name(&path.display().to_string()),
        size_bytes: path.metadata().map_or(0, |entry| entry.len()),
        text: path.display().to_string(),
        earlier: 0,
    };
    Ok(Listed { items: made.into_iter().map(item).collect(), notes: vec![note()] })
}

/// Makes databases in a private server, and stops it.
///
/// # Errors
/// An error of the server, or the disk is too small.
pub(super) fn databases(
    home: &Path,
    options: &WorklistOptions,
    kind: Kind,
    request: &LoadRequest,
) -> Result<Listed, EngineError> {
    let sizes = plan(options.files as usize, options.total_bytes, request.seed);
    // All restored databases exist together at the end of a run, and a server has its log.
    expect_space(home, &[&sizes[..], &sizes[..], &sizes[..]].concat(), 0)?;
    let items = servers::fill(home, kind, &sizes, request)?;
    Ok(Listed { items, notes: vec![note()] })
}

fn note() -> String {
    format!(
        "work list: sizes were drawn, log-normal with a standard deviation of the logarithm of {}; your own list \
         may be more or less even",
        generate::SIGMA
    )
}
