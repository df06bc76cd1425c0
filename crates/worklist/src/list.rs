//! The items: lines of the user's list, and the folder in which files of a list are made or copied to.
//!
//! The user's own files are read once, when they are copied, and never worked on: what is measured are the
//! copies. Lines of text are the user's own matter and are taken as they are. A line that stands there twice is
//! two items: the list says what is to be done, and how often.

mod copy;
mod lines;
mod listed;
mod made;
mod room;

use std::fs;
use std::path::{Path, PathBuf};
use threadwise_engine::servers::digest;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::worklist::WorklistOptions;

use crate::error::failed;
use crate::plan::{self, Item};
use crate::recipe::Kind;
pub(crate) use copy::expect_kind;
use lines::{earlier, repeated};
pub(crate) use lines::{files, lines};
pub(crate) use listed::Listed;
use listed::name;

/// File that says that a folder is whole, and what is in it.
const LISTED: &str = "list.json";

/// The folder of a study's items: one for each list, which all treatments with it share.
pub(crate) fn home(request: &LoadRequest, options: &WorklistOptions, kind: Kind) -> PathBuf {
    let bin = request.engine_options.get("bin").map(ToString::to_string);
    let identity = format!(
        "{kind:?} {:?} {} {} {} {bin:?}",
        options.list, options.files, options.total_bytes, request.seed
    );
    request.data_dir.join(format!("worklist-{}", digest(&identity)))
}

/// The items as they were written down; `None` where the folder is not whole.
pub(crate) fn found(home: &Path) -> Option<Listed> {
    let (items, notes) = plan::read(&home.join(LISTED)).ok()?;
    Some(Listed { items, notes })
}

/// Makes the items in the folder, or copies them there. Of a server's databases only the folder.
///
/// # Errors
/// The disk is too small, a file cannot be copied, or a database cannot be made.
pub(crate) fn make(
    home: &Path,
    request: &LoadRequest,
    options: &WorklistOptions,
    kind: Kind,
) -> Result<Listed, EngineError> {
    anew(home)?;
    let mut listed = match (kind, &options.list) {
        (Kind::Text, Some(list)) => text(list)?,
        (Kind::Text, None) => numbers(options.files),
        (Kind::Sqlite | Kind::Firebird, Some(list)) => copy::copies(home, list, kind, request.sessions)?,
        (Kind::Sqlite | Kind::Firebird, None) => made::files(home, options, kind, request)?,
        (Kind::Postgres | Kind::Mariadb, _) => made::databases(home, options, kind, request)?,
    };
    listed.notes.insert(0, note(&listed));
    Ok(listed)
}

/// Writes down that the folder is whole.
///
/// # Errors
/// An error of the file system.
pub(crate) fn finish(home: &Path, listed: &Listed) -> Result<(), EngineError> {
    let path = home.join(LISTED);
    let write = || {
        let part = home.join("list.part");
        plan::write(&part, &(&listed.items, &listed.notes))?;
        fs::rename(part, &path)
    };
    write().map_err(|error| failed(format!("write {}", path.display()), error))
}

fn anew(home: &Path) -> Result<(), EngineError> {
    let make = || {
        match fs::remove_dir_all(home) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A server's user passes through; the study's own folder keeps everybody else out.
        std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o711).create(home)
    };
    make().map_err(|error| failed(format!("make the folder {}", home.display()), error))
}

/// Lines as they are; the size of one that is the path of a file is known.
fn text(list: &Path) -> Result<Listed, EngineError> {
    let texts = lines(list)?;
    let earlier = earlier(&texts);
    let size = |text: &str| match fs::metadata(text) {
        Ok(entry) if text.starts_with('/') && entry.is_file() => entry.len(),
        _ => 0,
    };
    let item =
        |(text, earlier): (String, u32)| Item { name: name(&text), size_bytes: size(&text), text, earlier };
    let notes = repeated(&earlier).into_iter().collect();
    Ok(Listed { items: texts.into_iter().zip(earlier).map(item).collect(), notes })
}

fn numbers(count: u64) -> Listed {
    let item =
        |number: u64| Item { name: number.to_string(), text: number.to_string(), size_bytes: 0, earlier: 0 };
    Listed { items: (1..=count).map(item).collect(), notes: Vec::new() }
}

/// What the list is, in one line.
fn note(listed: &Listed) -> String {
    let (count, total_bytes) = (listed.items.len(), listed.total_bytes());
    let largest = listed.items.iter().map(|item| item.size_bytes).max().unwrap_or(0);
    match total_bytes {
        0 => format!("work list: {count} items"),
        _ => format!(
            "work list: {count} items, {:.1} MiB together; the largest has {:.0}% of it",
            total_bytes as f64 / 1_048_576.0,
            largest as f64 / total_bytes as f64 * 100.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_line_is_an_item_of_its_own_with_its_own_label() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        fs::write(&list, "b\n/x/a\nb\n/y/a\nb\n").unwrap();
        let listed = text(&list).unwrap();
        let labels: Vec<_> = listed.items.iter().map(|item| item.label().into_owned()).collect();
        assert_eq!(labels, ["b", "a", "b (2)", "a", "b (3)"]);
        let texts: Vec<&str> = listed.items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["b", "/x/a", "b", "/y/a", "b"], "what the command is given stays");
        assert!(listed.items.iter().filter(|item| item.text == "b").all(|item| item.name == "b"));
        assert_eq!(listed.notes.len(), 1);
        assert!(listed.notes[0].ends_with("each an item of its own: 2"), "{:?}", listed.notes);
    }
}
