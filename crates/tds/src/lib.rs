//! The server side of Microsoft's Tabular Data Stream, for tests: it answers real clients from a script, and refuses
//! everything that it does not support.
//!
//! Source: Microsoft's open specification \[MS-TDS\], "Tabular Data Stream Protocol"; each module names its sections.
//!
//! ```
//! use threadwise_tds::{Column, Options, Reply, Request, Responder, Type, Value};
//!
//! let responder = Responder::start(Options::default(), |_session, request| match request {
//!     Request::Batch { sql } if sql == "SELECT 1" => vec![Reply::Rows {
//!         columns: vec![Column::new("one", Type::Int)],
//!         rows: vec![vec![Value::Int(1)]],
//!     }],
//!     _ => Vec::new(),
//! })?;
//! assert_eq!(responder.connections_open(), 0);
//! # Ok::<(), std::io::Error>(())
//! ```

mod answer;
mod bulk;
pub mod conversations;
mod fault;
mod headers;
mod login;
mod packet;
mod prelogin;
mod read_value;
mod reader;
mod responder;
mod rpc;
mod script;
mod session;
mod text;
mod tls;
mod tokens;
mod transaction;
mod type_info;
mod types;
mod value;
mod wire;
mod write_value;
mod writer;

pub use bulk::Bulk;
pub use login::Login;
pub use prelogin::{Asked, Encryption};
pub use responder::{Connected, Failure, Received, Responder};
pub use rpc::{Parameter, Rpc};
pub use script::{Change, Message, Reply, Request, Session};
pub use session::Options;
pub use tls::CERTIFICATE;
pub use transaction::{Isolation, Transaction};
pub use types::{Column, Length, Type};
pub use value::{Value, days};
