//! Why a connection can fail.
//!
//! Source: the checks of this crate's readers, each with its section of \[MS-TDS\].

/// Why this side ended a connection. The client causes all but [`Fault::Script`].
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Bytes that the specification does not allow there.
    #[error("{0}")]
    Malformed(String),
    /// A feature of the specification that this crate does not support.
    #[error("not supported by this server: {0}")]
    Unknown(String),
    /// The script's answer cannot be sent.
    #[error("the script's answer cannot be sent: {0}")]
    Script(String),
    /// The TLS handshake or a TLS record failed.
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

/// A fault of an unsupported feature.
pub fn unknown(what: impl Into<String>) -> Fault {
    Fault::Unknown(what.into())
}

/// A fault of the script.
pub fn script(what: impl Into<String>) -> Fault {
    Fault::Script(what.into())
}
