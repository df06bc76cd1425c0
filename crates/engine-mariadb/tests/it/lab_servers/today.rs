//! A private server of MariaDB 11.4, as it is unpacked from where people get it.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support;

use mysql::prelude::Queryable;
use std::path::PathBuf;
use threadwise_engine_mariadb::{PrivateOptions, PrivateServer};

/// The folder of its programs, which `cargo xtask lab servers` fetches.
fn fetched() -> PathBuf {
    let value = std::env::var("THREADWISE_TEST_MARIADB").unwrap_or_default();
    let bin = PathBuf::from(&value);
    assert!(bin.is_dir(), "THREADWISE_TEST_MARIADB='{value}' is no folder: cargo xtask lab servers");
    bin
}

#[test]
#[ignore = "laboratory: servers"]
fn it_starts_without_tls_and_so_without_making_a_key() {
    let bin = fetched();
    let folder = support::folder();
    let options =
        PrivateOptions { folder: folder.path().to_owned(), bin: Some(bin), data_bytes: 1 << 20, sessions: 1 };
    PrivateServer::make(&options).unwrap();
    let server = PrivateServer::start(&options).unwrap();
    let socket = server.socket().to_string_lossy().into_owned();
    let login = mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket));
    let mut connection = mysql::Conn::new(login).unwrap();
    let said: (String, String) = connection.query_first("SELECT VERSION(), @@have_ssl").unwrap().unwrap();
    assert!(said.0.starts_with("11.4."), "{said:?}");
    // "YES" where there is a key.
    assert_eq!(said.1, "DISABLED");
    drop(connection);
    server.stop().unwrap();
}
