//! Bytes that no client sends: each is noted and ends the connection.
//!
//! Source: \[MS-TDS\] 2.2.3.1, 2.2.6.1, 2.2.6.4, 2.2.6.5.

use crate::support::{responder, wait_for_open};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use threadwise_tds::{Encryption, Options, Responder};

const PRELOGIN: [u8; 18] = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 255, 1, 2, 3, 4, 5, 6, 2];
const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];

fn packet(kind: u8, status: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    [&[kind, status, length[0], length[1], 0, 0, 1, 0], payload].concat()
}

/// A login without any text.
fn login() -> Vec<u8> {
    let mut out = vec![0; 94];
    out[0] = 94;
    out[4..8].copy_from_slice(&0x7400_0004u32.to_le_bytes());
    out
}

/// What a client sends so far that it is logged in.
fn logged_in() -> Vec<u8> {
    [packet(18, 1, &PRELOGIN), packet(16, 1, &login())].concat()
}

/// Sends bytes, and what the responder notes when it has ended the connection, or the client its side.
fn noted(bytes: &[u8]) -> String {
    let responder = Responder::start(Options::default(), |_, _| Vec::new()).unwrap();
    let mut socket = TcpStream::connect(responder.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    socket.write_all(bytes).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // The connection may be reset where the responder has not read everything.
    let _ = socket.read_to_end(&mut answer);
    wait_for_open(&responder, 0);
    responder.errors().into_iter().map(|failure| failure.what).collect()
}

fn after_login(bytes: &[u8]) -> String {
    noted(&[&logged_in()[..], bytes].concat())
}

#[test]
fn a_client_that_sends_what_it_should() {
    assert_eq!(noted(&[]), "");
    assert_eq!(after_login(&[]), "");
    let batch = [&HEADERS[..], b"x\0"].concat();
    assert_eq!(after_login(&packet(1, 1, &batch)), "");
    assert_eq!(after_login(&packet(1, 9, &batch)), "", "with a reset of the session");
}

#[test]
fn packets_that_are_not_known() {
    assert!(noted(&packet(2, 1, &[])).contains("packets of type 2"));
    assert!(noted(&packet(0x53, 1, &[])).contains("packets of type 83"));
    assert!(noted(&packet(18, 0x21, &PRELOGIN)).contains("status 0x21"));
    assert!(noted(&packet(16, 1, &login())).contains("type 16 where one of type 18 comes first"));
    assert!(noted(&[18, 1, 0, 7, 0, 0, 0, 0]).contains("a packet of 7 bytes"));
    assert!(noted(&[18, 1, 0xff, 0xff, 0, 0, 0, 0]).contains("a packet of 65535 bytes"));
    assert!(noted(&packet(18, 1, &PRELOGIN)[..20]).contains("in the middle of a message"));
    assert!(after_login(&packet(18, 1, &PRELOGIN)).contains("a login after the login"));
    assert!(after_login(&packet(4, 1, &[])).contains("an answer from a client"));
    assert!(after_login(&packet(1, 0, &HEADERS)).contains("the inner packet of 30 bytes where 4096"));
}

#[test]
fn logins_that_are_broken() {
    let with = |login: &[u8]| noted(&[packet(18, 1, &PRELOGIN), packet(16, 1, login)].concat());
    assert!(with(&login()[..93]).contains("LOGIN7"));
    assert!(with(&[&login()[..], &[0]].concat()).contains("a length of 94 in a message of 95"));
    let mut outside = login();
    outside[40..44].copy_from_slice(&[90, 0, 2, 0]);
    assert!(with(&outside).contains("user from 90 to 94 of 94 bytes"));
    outside[40..44].copy_from_slice(&[94, 0, 2, 0]);
    assert!(with(&outside).contains("user from 94 to 98 of 94 bytes"));
}

#[test]
fn a_login_in_the_clear_where_tls_is_agreed_on() {
    let responder = responder(Encryption::Required);
    let mut prelogin = PRELOGIN;
    prelogin[17] = 1;
    let mut socket = TcpStream::connect(responder.address()).unwrap();
    socket.write_all(&[packet(18, 1, &prelogin), packet(16, 1, &login())].concat()).unwrap();
    let _ = socket.read_to_end(&mut Vec::new());
    wait_for_open(&responder, 0);
    let errors = responder.errors();
    assert!(errors[0].what.contains("a message of type 16 instead of TLS"), "{errors:?}");
}

#[test]
fn requests_that_are_broken() {
    let other_transaction = [&HEADERS[..10], &[1], &HEADERS[11..], b"x\0"].concat();
    assert!(after_login(&packet(1, 1, &other_transaction)).contains("transaction 0x1 where 0x0 is open"));
    assert!(after_login(&packet(1, 1, &HEADERS[..21])).contains("SQL batch"));
    let insert: Vec<u8> = "insert bulk t".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let insert = packet(1, 1, &[&HEADERS[..], &insert].concat());
    let columns = [0x81, 1, 0, 0, 0, 0, 0, 8, 0, 0x38, 1, b'a', 0];
    let done = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let rows = packet(7, 1, &[&columns[..], &[0xd1, 1, 0, 0, 0], &done].concat());
    assert_eq!(after_login(&[&insert[..], &rows].concat()), "");
    assert!(after_login(&rows).contains("without INSERT BULK before them"));
    let token = packet(7, 1, &[&columns[..], &[0xd3], &done].concat());
    assert!(after_login(&[&insert[..], &token].concat()).contains("token 0xd3 in a bulk load"));
    let short = packet(7, 1, &[&columns[..], &[0xd1, 1, 0, 0], &done].concat());
    assert!(after_login(&[&insert[..], &short].concat()).contains("bulk load"));
}
