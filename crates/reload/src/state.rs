//! The state of one item: what a recovery needs, durable before any change to the user's files.
//!
//! A small text file, replaced by writing a new one, `fsync`, `rename` and `fsync` of the folder
//! (`rename(2)`: the name is always the old or the new file).

use crate::dir::Dir;
use crate::error::ItemError;
use crate::folder::STATE;
use crate::identity::{Identity, Inode};
use crate::report::Checked;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;

/// First line; another number means another format.
const FIRST_LINE: &str = "threadwise reload state 1";
/// Longest state that is read.
const MAX_BYTES: u64 = 64 << 10;

/// Fate of originals after the swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Originals {
    /// They stay beside the new files as `NAME.before-reload`.
    #[default]
    Keep,
    /// They are removed once the new one was opened under its name.
    Remove,
}

/// Progress of an item, as far as a recovery needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The database may be held; its name is the original.
    #[default]
    Begun,
    /// The new file is complete; the original may have its second name and be sealed, and the name is either.
    Ready,
}

/// The new file as it was checked and named; a recovery compares it before an original is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written, since 1970.
    pub mtime_ns: i128,
    /// The counts of the check.
    pub checked: Checked,
}

impl Expected {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let found = Self {
            size_bytes: words.next()?.parse().ok()?,
            mtime_ns: words.next()?.parse().ok()?,
            checked: Checked { tables: words.next()?.parse().ok()?, rows: words.next()?.parse().ok()? },
        };
        words.next().is_none().then_some(found)
    }
}

/// The state of an item, as it is written to its work folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemState {
    /// Name of the driver.
    pub engine: String,
    /// Its progress.
    pub phase: Phase,
    /// Fate of the original.
    pub originals: Originals,
    /// The original file and the new one, from [`Phase::Ready`] on.
    pub files: Option<(Inode, Inode)>,
    /// The new file's size, time and rows, from [`Phase::Ready`] on.
    pub expected: Option<Expected>,
    /// Notes of the driver.
    pub notes: BTreeMap<String, String>,
}

impl ItemState {
    fn text(&self) -> String {
        let phase = match self.phase {
            Phase::Begun => "begun",
            Phase::Ready => "ready",
        };
        let originals = match self.originals {
            Originals::Keep => "keep",
            Originals::Remove => "remove",
        };
        let mut text =
            format!("{FIRST_LINE}\nengine {}\nphase {phase}\noriginals {originals}\n", self.engine);
        if let Some((original, new)) = &self.files {
            text.push_str(&format!("original {original}\nnew {new}\n"));
        }
        if let Some(Expected { size_bytes, mtime_ns, checked }) = &self.expected {
            let Checked { tables, rows } = checked;
            text.push_str(&format!("expected {size_bytes} {mtime_ns} {tables} {rows}\n"));
        }
        self.notes.iter().for_each(|(key, value)| text.push_str(&format!("note {key} {value}\n")));
        text.push_str("end\n");
        text
    }

    /// Parses a text; `None` if it is incomplete or not a state.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix("end\n")?.lines();
        (lines.next()? == FIRST_LINE).then_some(())?;
        let mut state = Self::default();
        let (mut original, mut new) = (None, None);
        for line in lines {
            let (key, value) = line.split_once(' ')?;
            match (key, value) {
                ("engine", name) => state.engine = name.to_owned(),
                ("phase", "begun") => state.phase = Phase::Begun,
                ("phase", "ready") => state.phase = Phase::Ready,
                ("originals", "keep") => state.originals = Originals::Keep,
                ("originals", "remove") => state.originals = Originals::Remove,
                ("original", inode) => original = Some(inode.parse().ok()?),
                ("new", inode) => new = Some(inode.parse().ok()?),
                ("expected", expected) => state.expected = Some(Expected::parse(expected)?),
                ("note", note) => {
                    let (key, value) = note.split_once(' ')?;
                    state.notes.insert(key.to_owned(), value.to_owned());
                }
                _ => return None,
            }
        }
        state.files = original.zip(new);
        (!state.engine.is_empty() && (state.phase == Phase::Begun || state.files.is_some())).then_some(state)
    }
}

/// A state and its file.
#[derive(Debug)]
pub struct StateFile {
    folder: Dir,
    state: ItemState,
}

impl StateFile {
    /// Writes a first state.
    ///
    /// # Errors
    /// It could not be written durably.
    pub fn create(folder: &Dir, state: ItemState) -> Result<Self, ItemError> {
        let file = Self { folder: folder.try_clone().map_err(ItemError::failed)?, state };
        file.write().map(|()| file)
    }

    /// The state in a folder; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read or parsed: another version's, or not a state.
    pub fn open(folder: &Dir) -> Result<Option<Self>, ItemError> {
        let path = folder.path().join(STATE);
        let refused = |error: io::Error| ItemError::skip(format!("cannot read {}: {error}", path.display()));
        let Some(text) = folder.text(OsStr::new(STATE), MAX_BYTES).map_err(refused)? else { return Ok(None) };
        let state = ItemState::parse(&text).ok_or_else(|| {
            ItemError::skip(format!(
                "{} is not understood: recover with the version of threadwise that wrote it",
                path.display()
            ))
        })?;
        Ok(Some(Self { folder: folder.try_clone().map_err(ItemError::failed)?, state }))
    }

    /// The record.
    pub fn state(&self) -> &ItemState {
        &self.state
    }

    /// Records that the new file is complete, the identities of both files, and the findings in the new one.
    ///
    /// # Errors
    /// It could not be written durably.
    pub fn ready(&mut self, original: Inode, new: Identity, checked: Checked) -> Result<(), ItemError> {
        let Identity { inode, size_bytes, mtime_ns } = new;
        self.state.phase = Phase::Ready;
        self.state.files = Some((original, inode));
        self.state.expected = Some(Expected { size_bytes, mtime_ns, checked });
        self.write()
    }

    /// Writes a note of the driver.
    ///
    /// # Errors
    /// It is more than one line, or could not be written durably.
    pub fn note(&mut self, key: &str, value: &str) -> Result<(), ItemError> {
        if key.contains(char::is_whitespace) || value.contains(['\n', '\r']) {
            return Err(ItemError::failed(format!("a note '{key}' is not one word and one line")));
        }
        self.state.notes.insert(key.to_owned(), value.to_owned());
        self.write()
    }

    fn write(&self) -> Result<(), ItemError> {
        let (name, next) = (OsStr::new(STATE), OsStr::new("state.next"));
        self.folder.replace(name, next, &self.state.text(), true).map_err(|error| {
            ItemError::failed(format!(
                "cannot write the state in {}: {error}; nothing was changed; free some space there",
                self.folder.path().display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn example() -> ItemState {
        ItemState {
            engine: "sqlite".into(),
            phase: Phase::Ready,
            originals: Originals::Remove,
            files: Some((Inode { dev: 1, ino: 2 }, Inode { dev: 1, ino: u64::MAX })),
            expected: Some(Expected {
                size_bytes: 4096,
                mtime_ns: -1,
                checked: Checked { tables: 2, rows: 7 },
            }),
            notes: [("journal_mode".to_owned(), "wal".to_owned()), ("k".to_owned(), "a b".to_owned())].into(),
        }
    }

    #[test]
    fn a_state_reads_back_and_a_torn_one_is_none() {
        let text = example().text();
        assert_eq!(ItemState::parse(&text), Some(example()));
        for length in 0..text.len() {
            assert_eq!(ItemState::parse(&text[..length]), None, "{length}");
        }
        assert_eq!(ItemState::parse(&text.replace("state 1", "state 2")), None);
        assert_eq!(ItemState::parse(&text.replace("original 1 2\n", "")), None, "ready without its files");
        let unchecked = text.replace("expected 4096 -1 2 7\n", "");
        assert_eq!(ItemState::parse(&unchecked), Some(ItemState { expected: None, ..example() }));
        assert_eq!(ItemState::parse(&text.replace(" 2 7\n", " 2\n")), None, "half of what was expected");
    }

    #[test]
    fn the_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        assert!(StateFile::open(&dir).unwrap().is_none());
        let begun = ItemState { engine: "x".into(), ..ItemState::default() };
        let mut file = StateFile::create(&dir, begun).unwrap();
        // A half-written next one of a killed process is no obstacle.
        fs::write(folder.path().join("state.next"), "half").unwrap();
        file.note("journal_mode", "wal").unwrap();
        let new = Identity { inode: Inode { dev: 3, ino: 5 }, size_bytes: 6, mtime_ns: 7 };
        file.ready(Inode { dev: 3, ino: 4 }, new, Checked { tables: 8, rows: 9 }).unwrap();
        assert!(file.note("a b", "c").is_err() && file.note("a", "c\nd").is_err());
        let read = StateFile::open(&dir).unwrap().unwrap();
        assert_eq!(read.state(), file.state());
        assert_eq!(read.state().notes["journal_mode"], "wal");
        assert!(!folder.path().join("state.next").exists());
        fs::write(folder.path().join("state"), "garbage").unwrap();
        assert!(StateFile::open(&dir).unwrap_err().to_string().contains("not understood"));
        // A pipe, on which a plain open would wait for ever.
        fs::remove_file(folder.path().join("state")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(&dir, "state", fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert!(StateFile::open(&dir).unwrap_err().to_string().contains("is not a regular file"));
    }
}
