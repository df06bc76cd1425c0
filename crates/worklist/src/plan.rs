//! What one process does: the items, their order, and the chain. A JSON file between the engine, which
//! writes it, and `threadwise worklist-run`, which does it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One item of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Name for people: of a file its last part.
    pub name: String,
    /// What `{item}` stands for: a path, a database's name, a line of the user's list.
    pub text: String,
    /// Its size; 0 where nobody knows.
    pub size_bytes: u64,
}

/// One command of a chain.
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
    /// The chain.
    pub steps: Vec<Step>,
    /// File that the chain must leave, not empty, with placeholders.
    pub result: Option<String>,
    /// Item whose folder is left for a check; the others' go as soon as they are done.
    pub keep: Option<usize>,
    /// Folder in which each item has one of its own, `{work}`, while its chain runs.
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
    /// CLOCK_MONOTONIC at the start of its chain, nanoseconds.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC at its end.
    pub end_ns: u64,
    /// Why it failed, in one line; `None` where it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}
