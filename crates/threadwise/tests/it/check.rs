//! `threadwise check`: what a server of the user's lets its login do.

use crate::harness::{Lab, Said, said};
use crate::scripted::{self, PASSWORD};
use threadwise_tds::Responder;

/// A server that reports its version and lets its login do nothing else.
fn poor_server() -> Responder {
    scripted::server(|_| scripted::no_right())
}

fn look(lab: &Lab, server: &Responder, password: &str) -> Said {
    let address = format!("sqlserver://me@{}/shop", server.address());
    let words = ["check", "--engine", &address, "--engine-option", "tls=trust", "--look"];
    let output = lab.command(&words).env("SQLCMDPASSWORD", password).output().unwrap();
    said(output)
}

#[test]
fn rights_that_are_missing_are_named_and_the_password_is_nowhere() {
    let (lab, server) = (Lab::new(), poor_server());
    let said = look(&lab, &server, PASSWORD);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for part in [
        "sqlserver 16.0.4135.4",
        "works  TLS: ",
        "lacks  CREATE SCHEMA: ",
        "lacks  sys.dm_os_spinlock_stats: the login lacks VIEW SERVER STATE",
        "2 of 18 points work",
    ] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    assert!(!said.stdout.contains(PASSWORD) && !said.stderr.contains(PASSWORD));
    assert_eq!((server.connections_open(), server.errors().len()), (0, 0), "{:?}", server.errors());
}

#[test]
fn a_wrong_password_and_what_is_no_server_are_refused_with_what_to_do() {
    let (lab, server) = (Lab::new(), poor_server());
    let said = look(&lab, &server, "other-Pass1");
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stderr.contains("login or password is wrong (error 18456)"), "{}", said.stderr);
    assert!(!said.stderr.contains("other-Pass1"));
    for (engine, part) in [
        ("sqlite", "check needs the address of your server, and 'sqlite' is not one"),
        ("sqlserver", "such as --engine sqlserver://USER@HOST/DATABASE"),
        ("oracle", "such as --engine oracle://USER@HOST/DATABASE"),
        ("mariadb", "such as --engine mariadb://USER@HOST/DATABASE"),
        ("postgres", "such as --engine postgres://USER@HOST/DATABASE"),
        ("sqlserver://me:hush@db/shop", "an address must not contain a password"),
        ("vertica://db", "addresses of servers begin with"),
    ] {
        let said = lab.run(&["check", "--engine", engine, "--look"]);
        assert_eq!(said.code, Some(2), "{engine}: {}", said.stderr);
        assert!(said.stderr.contains(part) && !said.stderr.contains("hush"), "{}", said.stderr);
    }
}
