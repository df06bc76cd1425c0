//! A responder with the conversations, and a client of it.
//!
//! Source: documentation of tiberius 0.13.

use std::future::Future;
use std::time::{Duration, Instant};
use threadwise_tds::{CERTIFICATE, Encryption, Options, Responder, conversations};
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

/// A client of the responder.
pub type Connection = Client<Compat<TcpStream>>;

/// A responder with the conversations.
pub fn responder(encryption: Encryption) -> Responder {
    start(Options { encryption, ..Options::default() })
}

/// The same with all options.
pub fn start(options: Options) -> Responder {
    Responder::start(options, conversations::script()).unwrap()
}

/// Runs to the end, which has to come within a minute.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(120), future).await.unwrap() })
}

/// How to connect to the responder.
pub fn config(responder: &Responder, encryption: EncryptionLevel) -> Config {
    let mut config = Config::new();
    config.host("localhost");
    config.port(responder.address().port());
    config.database("test");
    config.authentication(AuthMethod::sql_server(conversations::USER, conversations::PASSWORD));
    config.encryption(encryption);
    config.trust_cert_ca_bundle(CERTIFICATE.as_bytes());
    config
}

/// Connects as configured.
pub async fn connect(responder: &Responder, config: Config) -> tiberius::Result<Connection> {
    let socket = TcpStream::connect(responder.address()).await.unwrap();
    socket.set_nodelay(true).unwrap();
    Client::connect(config, socket.compat_write()).await
}

/// Connects in the clear.
pub async fn connected(responder: &Responder) -> Connection {
    connect(responder, config(responder, EncryptionLevel::NotSupported)).await.unwrap()
}

/// Waits until so many connections are open.
pub fn wait_for_open(responder: &Responder, count: usize) {
    let end = Instant::now() + Duration::from_secs(120);
    while responder.connections_open() != count {
        assert!(Instant::now() < end, "{} connections are open, not {count}", responder.connections_open());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// That the client has sent nothing that the responder does not know.
pub fn assert_understood(responder: &Responder) {
    assert_eq!(responder.errors(), []);
}
