//! A worker's first message, about its engine.

use threadwise_engine::protocol::{self, ProtocolError};
use threadwise_study::engine::Properties;

/// The engine of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Version of the engine.
    pub version: String,
    /// The engine's properties.
    pub properties: Properties,
    /// Whether it understands pieces of windows.
    pub pieces: bool,
}

impl Hello {
    /// Checks the parts of the message.
    ///
    /// # Errors
    /// Another version of the protocol, or impossible properties.
    pub(super) fn checked(
        protocol: u32,
        version: String,
        properties: Option<Properties>,
        pieces: bool,
    ) -> Result<Self, ProtocolError> {
        protocol::check_version(protocol)?;
        let properties = properties.unwrap_or_default();
        match properties.fault() {
            Some(why) => Err(ProtocolError::Value { what: "properties of hello".into(), why }),
            None => Ok(Self { version, properties, pieces }),
        }
    }
}
