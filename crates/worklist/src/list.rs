//! The items: lines of the user's list, and the folder to which files of a list are copied or in which they are made.
//!
//! The user's own files are read once, when they are copied, and never changed: the copies are measured. Lines of text
//! are taken as they are. A line that appears twice is two items: the list says what to do, and how often.

mod copy;
mod lines;
mod listed;
mod made;
mod space;

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

/// File that marks a folder as complete, with its contents.
const LISTED: &str = "list.json";

/// The folder of a study's items: one for each list, shared by all treatments with it.
pub(crate) fn home(request: &LoadRequest, options: &WorklistOptions, kind: Kind) -> PathBuf {
    let bin = request.engine_options.get("bin").map(ToString::to_string);
    let identity = format!(
        "{kind:?} {:?} {} {} {} {bin:?}",
        options.list, options.files, options.total_bytes, request.seed
    );
    request.data_dir.join(format!("worklist-{}", digest(&identity)))
}

/// The stored items; `None` if the folder is not complete.
pub(crate) fn found(home: &Path) -> Option<Listed> {
    let (items, notes) = plan::read(&home.join(LISTED)).ok()?;
    Some(Listed { items, notes })
}

/// Makes the items in the folder, or copies them there. For a server's databases it only makes the folder.
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

/// Marks the folder as complete.
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
        // A server's user passes through; the study's own folder keeps other users out.
        std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o711).create(home)
    };
    make().map_err(|error| failed(format!("make the folder {}", home.display()), error))
}

/// Lines as they are; the size is known if the line is the path of a file.
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

/// A description of the list, in one line.
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
        assert!(listed.notes[0].ends_with("each a separate item: 2"), "{:?}", listed.notes);
    }
}
