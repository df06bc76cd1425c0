//! TLS: the server's certificate, and the handshake inside packets.
//!
//! Source: \[MS-TDS\] 2.2.6.5 and 3.2.5.1 (the handshake of TLS in messages of type `PRELOGIN`), 3.3.5.1; TDS 7 has
//! TLS 1.2, TDS 8.0 also 1.3.

use crate::fault::{Fault, malformed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::sync::Arc;

/// This server's certificate, for `localhost` and `127.0.0.1`, as PEM. Clients can trust it as a root.
pub const CERTIFICATE: &str = include_str!("fixtures/cert.pem");

/// Its key: a TEST KEY, which is not secret.
const KEY: &str = include_str!("fixtures/key.pem");

/// The server side of TLS before the handshake; `strict` is for TDS 8.0.
pub fn server(strict: bool) -> Result<ServerConnection, Fault> {
    let unread = |cause: rustls::pki_types::pem::Error| malformed(format!("the test certificate: {cause}"));
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).map_err(unread)?;
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).map_err(unread)?;
    let versions = if strict { &[&TLS13, &TLS12][..] } else { &[&TLS12][..] };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    // A resumed handshake would end with the client's message, followed at once by its login.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    if strict {
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
    }
    Ok(ServerConnection::new(Arc::new(config))?)
}

/// Passes received bytes to TLS and adds the decrypted ones to `plain`. Gives whether the client has ended TLS.
pub fn receive(tls: &mut ServerConnection, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<bool, Fault> {
    let mut ended = false;
    while !bytes.is_empty() {
        tls.read_tls(&mut bytes)?;
        let state = tls.process_new_packets()?;
        ended |= state.peer_has_closed();
        let mut readable = vec![0; state.plaintext_bytes_to_read()];
        tls.reader().read_exact(&mut readable)?;
        plain.extend(readable);
    }
    Ok(ended)
}

/// Encrypted bytes that TLS has to send.
pub fn to_send(tls: &mut ServerConnection) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut out)?;
    }
    Ok(out)
}

/// Encrypts a packet.
pub fn encrypt(tls: &mut ServerConnection, packet: &[u8]) -> Result<Vec<u8>, Fault> {
    tls.writer().write_all(packet)?;
    to_send(tls)
}
