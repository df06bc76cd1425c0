//! Connecting: the server is chosen as by libpq (PostgreSQL documentation, chapter
//! "libpq": connection strings, environment variables, the password file, the connection service
//! file, SSL support); errors are explained.

mod cancel;
mod certificates;
mod environment;
mod explain;
mod locality;
mod parameters;
mod passfile;
mod secret;
mod server;
mod service;
mod target;
mod tls;
mod url;

use threadwise_engine::EngineError;

pub(crate) use cancel::Canceller;
pub use environment::Environment;
pub use explain::OLDEST;
pub use locality::Locality;
pub use secret::Secret;
pub use server::Server;
pub use target::{Address, ChannelBinding, SslMode, Target, Wanted};

/// Checks the text of a URL alone.
///
/// # Errors
/// A password inside, or an invalid URL.
pub fn check_url(text: &str) -> Result<(), EngineError> {
    url::parse(text).map(drop)
}
