//! The items: lines of the user's list, and the folder in which files of a list are made or copied to.
//!
//! The user's own files are read once, when they are copied, and never worked on: what is measured are the
//! copies. Lines of text are the user's own matter and are taken as they are. A line that stands there twice is
//! two items: the list says what is to be done, and how often.

mod copy;
mod made;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use threadwise_engine::servers::digest;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_machine::text::marked;
use threadwise_study::worklist::{MAX_ITEMS, WorklistOptions};

use crate::error::{failed, refuse};
use crate::plan::{self, Item};
use crate::recipe::Kind;
pub(crate) use copy::expect_kind;

/// Longest list that is read: far above what a list of items needs.
const MAX_LIST_BYTES: u64 = 64 << 20;
/// What some editors begin a file with: U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// File that says that a folder is whole, and what is in it.
const LISTED: &str = "list.json";

/// What the items of a study are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// In the order given.
    pub items: Vec<Item>,
    /// What the reader of a report should know.
    pub notes: Vec<String>,
}

impl Listed {
    /// Bytes of all items together.
    pub fn total_bytes(&self) -> u64 {
        self.items.iter().map(|item| item.size_bytes).sum()
    }
}

/// Reads a list: one item a line, or separated by zero bytes where there is one, as `find -print0` writes
/// them.
///
/// # Errors
/// It cannot be read, is empty, too long, or not UTF-8.
pub(crate) fn lines(list: &Path) -> Result<Vec<String>, EngineError> {
    let said = |why: String| refuse("list", format!("{}: {why}", list.display()));
    let bytes = read(list).map_err(|error| said(format!("cannot be read: {error}")))?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let by_zero = bytes.contains(&0);
    let parts = bytes.split(|&byte| byte == if by_zero { 0 } else { b'\n' });
    let parts = parts.map(|part| if by_zero { part } else { part.strip_suffix(b"\r").unwrap_or(part) });
    let text = |part: &[u8]| {
        std::str::from_utf8(part).map(str::to_owned).map_err(|_| {
            let shown = String::from_utf8_lossy(part);
            said(format!("'{shown}' is not UTF-8, and names of items are: rename it, or take it out"))
        })
    };
    let texts: Vec<String> = parts.filter(|part| !part.is_empty()).map(text).collect::<Result<_, _>>()?;
    match texts.len() as u64 {
        0 => Err(said("it is empty: one item a line".to_owned())),
        many if many > MAX_ITEMS => Err(said(format!("it has {many} items, more than {MAX_ITEMS}"))),
        _ => Ok(texts),
    }
}

fn read(list: &Path) -> std::io::Result<Vec<u8>> {
    // Before it is opened: a pipe would wait for ever.
    if !fs::metadata(list)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(list)?.take(MAX_LIST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= MAX_LIST_BYTES {
        true => Ok(bytes),
        false => Err(std::io::Error::other(format!("it is longer than {} MiB", MAX_LIST_BYTES >> 20))),
    }
}

/// The files of the user's list, without links; a relative path begins at the list's folder.
///
/// # Errors
/// What [`lines`] refuses, a file that is not there, or one whose real name is not UTF-8.
pub(crate) fn files(list: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let folder = list.parent().unwrap_or(Path::new("/"));
    let file = |text: String| {
        let said =
            |why: String| refuse("list", format!("{}: {text}: {why}; correct the list", list.display()));
        let path = fs::canonicalize(folder.join(&text)).map_err(|error| said(error.to_string()))?;
        if path.to_str().is_none() {
            return Err(said("leads to a name that is not UTF-8".to_owned()));
        }
        Ok(path)
    };
    lines(list)?.into_iter().map(file).collect()
}

/// How often each one stands before itself.
fn earlier<T: Ord>(all: &[T]) -> Vec<u32> {
    let mut counts: BTreeMap<&T, u32> = BTreeMap::new();
    let count = |one| {
        let known = counts.entry(one).or_default();
        *known += 1;
        *known - 1
    };
    all.iter().map(count).collect()
}

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
/// The file system's.
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

fn repeated(earlier: &[u32]) -> Option<String> {
    let count = earlier.iter().filter(|earlier| **earlier > 0).count();
    (count > 0).then(|| {
        format!(
            "work list: lines that name an item which the list has already, each an item of its own: {count}"
        )
    })
}

/// The last part of a path, as one line; anything else as it is.
pub(crate) fn name(text: &str) -> String {
    let last = text.rsplit('/').find(|part| !part.is_empty()).unwrap_or(text);
    let chosen = if text.starts_with('/') { last } else { text };
    marked(chosen).chars().take(200).collect()
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

/// Refuses to begin what the disk has no room for: the items, and beside them the backups and results of
/// those that are done at once.
///
/// # Errors
/// How much is missing.
pub(crate) fn expect_room(folder: &Path, sizes: &[u64], at_once: u32) -> Result<(), EngineError> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let at_work: u64 = sizes.iter().take(at_once as usize).sum();
    let needed = sizes.iter().sum::<u64>().saturating_add(at_work.saturating_mul(2));
    let free = threadwise_process::room::free_bytes(folder)
        .map_err(|error| failed(format!("look at the disk of {}", folder.display()), error))?;
    match needed <= free {
        true => Ok(()),
        false => Err(failed(
            format!("keep the items in {}", folder.display()),
            format!(
                "items, backups and results need {} MiB and {} MiB are free: make room there, give another data folder, \
                 or shorten the list",
                needed >> 20,
                free >> 20
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn lists_have_lines_or_zero_bytes_and_keep_what_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let read = |text: &[u8]| {
            fs::write(&list, text).unwrap();
            lines(&list)
        };
        let texts = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        assert_eq!(read(b"\xef\xbb\xbfa b\r\n\nit's\na b\n").unwrap(), texts(&["a b", "it's", "a b"]));
        assert_eq!(read(b"new\nline\0b\0").unwrap(), texts(&["new\nline", "b"]));
        assert!(read(b"\n\r\n").unwrap_err().to_string().contains("empty"));
        assert!(read(b"x\n\xff\n").unwrap_err().to_string().contains("not UTF-8"));
        let gone = lines(&folder.path().join("gone")).unwrap_err().to_string();
        assert!(gone.contains("option 'list'") && gone.contains("gone"), "{gone}");
        assert!(lines(Path::new("/dev/zero")).unwrap_err().to_string().contains("regular"));
    }

    #[test]
    fn files_are_found_from_the_lists_folder_and_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::write(root.join("a"), "").unwrap();
        symlink(root.join("a"), root.join("b")).unwrap();
        fs::write(root.join("list"), "a\nb\n./a\n").unwrap();
        assert_eq!(files(&root.join("list")).unwrap(), vec![root.join("a"); 3]);
        fs::write(root.join("list"), "a\nabsent\n").unwrap();
        let error = files(&root.join("list")).unwrap_err().to_string();
        assert!(error.contains("absent") && error.contains("correct the list"), "{error}");
    }

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

    #[test]
    fn names_are_last_parts_of_paths_in_one_line() {
        assert_eq!(
            (name("/a/b c.fdb"), name("a/b"), name("/a/x\ny")),
            ("b c.fdb".into(), "a/b".into(), "x\u{fffd}y".into())
        );
        assert_eq!(name("/"), "/");
    }

    #[test]
    fn a_disk_that_is_too_small_is_reported_before_anything_is_made() {
        let folder = tempfile::tempdir().unwrap();
        assert!(expect_room(folder.path(), &[1, 2], 2).is_ok());
        let error = expect_room(folder.path(), &[u64::MAX / 8], 1).unwrap_err().to_string();
        assert!(error.contains("MiB are free") && error.contains("make room"), "{error}");
    }
}
