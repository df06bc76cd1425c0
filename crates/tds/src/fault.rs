//! What a connection can fail of.
//!
//! Source: what the readers of this crate refuse, each with the section of \[MS-TDS\] that it is written from.

/// Why a connection was ended by this side. All but [`Fault::Script`] are the client's doing.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Bytes that the specification does not allow there.
    #[error("{0}")]
    Malformed(String),
    /// Something that the specification has and this crate does not know.
    #[error("not known to this server: {0}")]
    Unknown(String),
    /// The script answered what cannot be sent.
    #[error("the script's answer cannot be sent: {0}")]
    Script(String),
    /// The handshake or a record of TLS failed.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] std::io::Error),
}

/// A fault of bytes that are not allowed.
pub fn malformed(what: impl Into<String>) -> Fault {
    Fault::Malformed(what.into())
}

/// A fault of something that this crate does not know.
pub fn unknown(what: impl Into<String>) -> Fault {
    Fault::Unknown(what.into())
}

/// A fault of the script.
pub fn script(what: impl Into<String>) -> Fault {
    Fault::Script(what.into())
}
