//! What one process does: the items, their order, and the recipe. A JSON file between the engine, which
//! writes it, and `threadwise worklist-run`, which does it; and what comes back: the spans of the items,
//! and the summary.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One item of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Name for people: of a file its last part.
    pub name: String,
    /// What `{item}` stands for: a path, a database's name, a line of the user's list.
    pub text: String,
    /// Its size; 0 where nobody knows.
    pub size_bytes: u64,
    /// How often the list names it before: 0 the first time.
    #[serde(default, skip_serializing_if = "is_first")]
    pub earlier: u32,
}

fn is_first(earlier: &u32) -> bool {
    *earlier == 0
}

impl Item {
    /// What reports and messages call it: its name, and from the second time on ` (2)`, ` (3)`, … behind it.
    pub fn label(&self) -> Cow<'_, str> {
        match self.earlier {
            0 => Cow::Borrowed(&self.name),
            earlier => Cow::Owned(format!("{} ({})", self.name, u64::from(earlier) + 1)),
        }
    }
}

/// One command of a recipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, such as `backup`.
    pub name: String,
    /// Program and arguments with placeholders: `{item}`, `{name}`, `{index}`, `{work}` (a folder of the
    /// item's own), `{job}`, and those that the engine has filled in before.
    pub command: Vec<String>,
    /// File that is its standard input, with placeholders; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
}

/// How jobs come to their items (mirrors `threadwise_study::worklist::Feed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feed {
    /// One queue.
    Queue,
    /// Parts of the list.
    Split,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The list as given.
    pub items: Vec<Item>,
    /// Places in `items` in the order in which they are begun; each once.
    pub order: Vec<usize>,
    /// One queue, or parts of equal numbers of items, cut from `order` as it is.
    pub feed: Feed,
    /// Items at once.
    pub jobs: u32,
    /// The recipe.
    pub steps: Vec<Step>,
    /// File that the recipe must leave, not empty, with placeholders.
    pub result: Option<String>,
    /// Item whose folder is left for a check; the others' go as soon as they are done.
    pub keep: Option<usize>,
    /// Folder in which each job has one, `{work}`, that is empty when an item's recipe begins; that of the
    /// item to keep is then called `item-INDEX`.
    pub work: PathBuf,
    /// Folder in which the commands run; `None` for the item's own.
    pub folder: Option<PathBuf>,
    /// Environment variables that come to the process's own.
    pub environment: BTreeMap<String, String>,
    /// File to which the spans are written, one JSON line an item: [`Span`].
    pub spans: PathBuf,
}

/// What became of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its place in the list.
    pub index: usize,
    /// Its job.
    pub job: u32,
    /// CLOCK_MONOTONIC at the start of its recipe, nanoseconds.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC at its end.
    pub end_ns: u64,
    /// Why it failed, in one line; `None` where it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Writes anything of this module into a file as JSON.
///
/// # Errors
/// An error of the file system.
pub(crate) fn write(path: &Path, what: &impl Serialize) -> io::Result<()> {
    fs::write(path, serde_json::to_string(what)?)
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// It is not there, or something else.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// Reads the spans of a run; none where none were written.
///
/// # Errors
/// A line is no span, or the file cannot be read.
pub(crate) fn spans(path: &Path) -> io::Result<Vec<Span>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(text) => text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect(),
    }
}

/// What a run of a work list was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Items of the list.
    pub items: u64,
    /// Those that failed.
    pub failed: u64,
    /// From the start of the first item to the end of the last.
    pub elapsed_s: f64,
    /// `elapsed_s` for one item.
    pub item_s: f64,
    /// Share of the jobs' time in which they had nothing left to do: from the end of a job's last item
    /// to the end of the list. Time between two items of a job is not idle.
    pub idle_share: f64,
    /// From the moment in which the first job had nothing left to do to the end of the list.
    pub tail_s: f64,
}

/// A plan, a span or a summary as JSON on one line, without its end.
///
/// # Errors
/// A path in it is not UTF-8.
pub fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}
