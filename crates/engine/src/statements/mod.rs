//! Statistics of statements that a server keeps by itself, read by a light query now and then for `threadwise observe`.
//! Nothing is written to the server. Engines read them by a [`crate::StatementSource`].

mod literals;

pub use literals::without_literals;

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
