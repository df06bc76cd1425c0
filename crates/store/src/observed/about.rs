//! Whose statements a file has.

/// Whose statements a file has, and how they were observed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Version of threadwise that made the file.
    pub program: String,
    /// Name of the engine.
    pub engine: String,
    /// Version of the server when the file was made.
    pub engine_version: String,
    /// The server.
    pub server: String,
    /// Words for the observing machine.
    pub host: String,
    /// Most statements of an interval that are kept by name.
    pub most: u64,
    /// Whether texts are kept.
    pub has_texts: bool,
    /// Time between looks, in nanoseconds.
    pub interval_ns: u64,
    /// When the file was made, in UTC, ISO 8601.
    pub created_utc: String,
}
