//! The user's list: its lines, and the files that they name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_machine::given;
use threadwise_study::worklist::MAX_ITEMS;

use crate::error::refuse;

/// Longest accepted list, bytes: far above what a list of items needs.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// Byte order mark that some editors write: U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a list: one item a line, or separated by zero bytes if there is one, as `find -print0` writes
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
            said(format!("'{shown}' is not UTF-8: rename it, or remove it from the list"))
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
    given::bytes(list, MAX_LIST_BYTES)
}

/// The files of the user's list, links resolved; a relative path begins at the list's folder.
///
/// # Errors
/// An error of [`lines`], a file that does not exist, or one whose real name is not UTF-8.
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

/// How often each item occurs before its place.
pub(super) fn earlier<T: Ord>(all: &[T]) -> Vec<u32> {
    let mut counts: BTreeMap<&T, u32> = BTreeMap::new();
    let count = |one| {
        let known = counts.entry(one).or_default();
        *known += 1;
        *known - 1
    };
    all.iter().map(count).collect()
}

pub(super) fn repeated(earlier: &[u32]) -> Option<String> {
    let count = earlier.iter().filter(|earlier| **earlier > 0).count();
    (count > 0).then(|| format!("work list: repeated lines, each a separate item: {count}"))
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
        assert!(
            lines(Path::new("/dev/zero")).unwrap_err().to_string().contains("it is a device, not a file")
        );
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
}
