//! The plan of one process: items, their order, and the recipe, as a JSON file that the engine writes and
//! `threadwise worklist-run` executes; and its results: the spans of the items, and the summary.

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
    /// Name in messages: the last part of a file's path.
    pub name: String,
    /// Value of `{item}`: a path, a database's name, a line of the user's list.
    pub text: String,
    /// Its size; 0 if unknown.
    pub size_bytes: u64,
    /// Number of earlier lines with the same item: 0 the first time.
    #[serde(default, skip_serializing_if = "is_first")]
    pub earlier: u32,
}

fn is_first(earlier: &u32) -> bool {
    *earlier == 0
}

impl Item {
    /// Name in reports and messages: followed by ` (2)`, ` (3)`, … from the second time on.
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
    /// Program and arguments with placeholders: `{item}`, `{name}`, `{index}`, `{work}` (the item's own folder),
    /// `{job}`, and those that the engine has filled in before.
    pub command: Vec<String>,
    /// File for its standard input, with placeholders; empty input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
}

/// How items are distributed to jobs (mirrors `threadwise_study::worklist::Feed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feed {
    /// One queue.
    Queue,
    /// Parts of the list.
    Split,
}

/// The plan of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The list as given.
    pub items: Vec<Item>,
    /// Places in `items` in the order in which they are started; each once.
    pub order: Vec<usize>,
    /// One queue, or parts with equal numbers of items, cut from `order`.
    pub feed: Feed,
    /// Items at once.
    pub jobs: u32,
    /// The recipe.
    pub steps: Vec<Step>,
    /// File that the recipe must leave, not empty, with placeholders.
    pub result: Option<String>,
    /// Item whose folder is kept for a check; those of others are removed as soon as they are done.
    pub keep: Option<usize>,
    /// Folder in which each job has its own, `{work}`, which is empty when an item's recipe begins; that of the item to
    /// keep is then renamed `item-INDEX`.
    pub work: PathBuf,
    /// Working directory of the commands; `None` for the item's own folder.
    pub folder: Option<PathBuf>,
    /// Environment variables added to the process's own.
    pub environment: BTreeMap<String, String>,
    /// File for the spans, one JSON line an item: [`Span`].
    pub spans: PathBuf,
}

/// Result of one item.
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
    /// Why it failed, in one line; `None` if it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Writes a value of this module into a file as JSON.
///
/// # Errors
/// An error of the file system.
pub(crate) fn write(path: &Path, what: &impl Serialize) -> io::Result<()> {
    fs::write(path, serde_json::to_string(what)?)
}

/// Reads a file written by [`write`].
///
/// # Errors
/// It does not exist, or has other content.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// Reads the spans of a run; empty if none were written.
///
/// # Errors
/// A line is not a span, or the file cannot be read.
pub(crate) fn spans(path: &Path) -> io::Result<Vec<Span>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(text) => text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect(),
    }
}

/// Summary of a run of a work list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Items of the list.
    pub items: u64,
    /// Failed items.
    pub failed: u64,
    /// From the start of the first item to the end of the last.
    pub elapsed_s: f64,
    /// `elapsed_s` for one item.
    pub item_s: f64,
    /// Share of the jobs' time in which they were idle: from the end of a job's last item to the end of the list. Time
    /// between two items of a job is not idle.
    pub idle_share: f64,
    /// From the time when the first job became idle to the end of the list.
    pub tail_s: f64,
}

/// A plan, a span or a summary as JSON on one line, without its end.
///
/// # Errors
/// A path in it is not UTF-8.
pub fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}
