//! Statistics of statements that a server keeps by itself, read by a light query now and then for `threadwise observe`.
//! Nothing is written to the server.

mod literals;

use crate::EngineError;
pub use literals::without_literals;
use threadwise_observed::{Snapshot, StatementText};

/// In the text of each statement by which statistics are read, so that it is recognised among them.
pub const MARK: &str = "threadwise observe";

/// Longest stored text of a statement, in bytes.
pub const MOST_TEXT_BYTES: usize = 4000;

/// What is known of a server when it has been connected to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFacts {
    /// Its version as it reports it.
    pub version: String,
    /// Its name in messages: host and port, or its socket. A file of intervals is of one such server.
    pub place: String,
    /// Whether it runs on this machine.
    pub is_local: bool,
    /// What the user should know of its statistics, a line each.
    pub remarks: Vec<String>,
}

/// An open connection to a server that keeps statistics of statements.
pub trait StatementSource: Send {
    /// What is known of the server.
    fn facts(&self) -> &SourceFacts;

    /// The counters now, by one query.
    ///
    /// # Errors
    /// The server does not answer, or no longer permits it.
    fn snapshot(&mut self) -> Result<Snapshot, EngineError>;

    /// What statements are, without literals; without texts if they are not wanted. Statements that the server has
    /// dropped are left out.
    ///
    /// # Errors
    /// As [`StatementSource::snapshot`].
    fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError>;
}
