//! Errors of messages.

use super::agreed::VERSION;

/// Why a message could not be written, read or understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The other side sent a line without end.
    #[error("the line is longer than {limit} bytes, the most that one message may have")]
    TooLong {
        /// Bytes that are allowed.
        limit: usize,
    },
    /// The other side ended in the middle of a line.
    #[error("the stream ended in the middle of a line, at '{start}'")]
    CutOff {
        /// How the line began.
        start: String,
    },
    /// The line has more parts (members of objects, elements of lists) than allowed.
    #[error("a message of more than {limit} values")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The line is not a message.
    #[error("'{start}' is not a message of protocol {VERSION}: {why}")]
    NotMessage {
        /// Beginning of the line.
        start: String,
        /// What is wrong with it.
        why: String,
    },
    /// The other side uses another version.
    #[error(
        "the other side speaks protocol {theirs}, this program speaks {VERSION}: use a worker and a program of the same release"
    )]
    Version {
        /// Its version.
        theirs: u32,
    },
    /// A value that cannot go over the wire, or must not come over it.
    #[error("{what}: {why}")]
    Value {
        /// Which value.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The stream failed.
    #[error("cannot {action} the other side: {why}")]
    Stream {
        /// `read from` or `write to`.
        action: &'static str,
        /// The cause.
        why: String,
    },
}
