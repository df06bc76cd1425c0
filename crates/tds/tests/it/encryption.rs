//! Logins, with and without TLS.
//!
//! Source: \[MS-TDS\] 2.2.6.5; documentation of tiberius' `Config::encryption`.

use crate::support::{assert_understood, config, connect, responder, wait, wait_for_open};
use threadwise_tds::{Asked, Encryption, Login, Request, Responder, conversations};
use tiberius::{AuthMethod, Config, EncryptionLevel, error::Error};

/// The login that was received.
fn login(responder: &Responder) -> Login {
    match responder.requests().into_iter().next().unwrap().request {
        Request::Login(login) => *login,
        request => panic!("{request:?}"),
    }
}

/// Logs in and asks something.
fn converse(responder: &Responder, config: Config) -> tiberius::Result<()> {
    wait(async {
        let mut client = connect(responder, config).await?;
        let rows = client.simple_query("SELECT many").await?.into_first_result().await?;
        assert_eq!(rows.len(), usize::try_from(conversations::MANY).unwrap());
        assert_eq!(responder.connections_open(), 1);
        client.close().await
    })
}

#[test]
fn each_level_that_both_sides_can_agree_on() {
    let levels = [
        (Encryption::Refused, EncryptionLevel::NotSupported, Asked::Never, false),
        (Encryption::Allowed, EncryptionLevel::NotSupported, Asked::Never, false),
        (Encryption::Allowed, EncryptionLevel::Off, Asked::LoginOnly, true),
        (Encryption::Allowed, EncryptionLevel::On, Asked::On, true),
        (Encryption::Allowed, EncryptionLevel::Required, Asked::Required, true),
        (Encryption::Required, EncryptionLevel::Off, Asked::LoginOnly, true),
        (Encryption::Required, EncryptionLevel::Required, Asked::Required, true),
        (Encryption::Strict, EncryptionLevel::Strict, Asked::Required, true),
    ];
    for (server, client, asked, encrypted) in levels {
        let responder = responder(server);
        converse(&responder, config(&responder, client)).unwrap();
        let login = login(&responder);
        assert_eq!((login.asked, login.encrypted), (asked, encrypted), "{server:?}, {client:?}");
        assert_eq!((login.user.as_str(), login.database.as_str()), (conversations::USER, "test"));
        assert_eq!(
            (login.password.as_str(), login.application.as_str()),
            (conversations::PASSWORD, "tiberius")
        );
        wait_for_open(&responder, 0);
        assert_understood(&responder);
    }
}

#[test]
fn sides_that_disagree_end_before_the_login() {
    for (server, client) in [
        (Encryption::Refused, EncryptionLevel::On),
        (Encryption::Refused, EncryptionLevel::Required),
        (Encryption::Required, EncryptionLevel::NotSupported),
    ] {
        let responder = responder(server);
        let fault = converse(&responder, config(&responder, client)).unwrap_err();
        assert!(matches!(fault, Error::Protocol(_) | Error::Io { .. } | Error::Tls(_)), "{fault:?}");
        wait_for_open(&responder, 0);
        assert_eq!(responder.requests(), []);
    }
}

#[test]
fn a_certificate_that_is_not_trusted_or_has_another_name() {
    let responder = responder(Encryption::Required);
    let mut other_name = config(&responder, EncryptionLevel::Required);
    other_name.hostname_in_certificate("example.org");
    assert!(matches!(converse(&responder, other_name), Err(Error::Tls(_))));
    let mut trusting = Config::new();
    trusting.host("localhost");
    trusting.encryption(EncryptionLevel::Required);
    trusting.authentication(AuthMethod::sql_server(conversations::USER, conversations::PASSWORD));
    let untrusting = trusting.clone();
    assert!(matches!(converse(&responder, untrusting), Err(Error::Tls(_))));
    assert_eq!(responder.requests(), []);
    wait_for_open(&responder, 0);
    // What the client says of the certificate, the responder notes.
    assert!(
        responder.errors().iter().all(|failure| failure.what.starts_with("TLS:")),
        "{:?}",
        responder.errors()
    );
    trusting.trust_cert();
    converse(&responder, trusting).unwrap();
}

#[test]
fn a_wrong_password() {
    for (server, client) in
        [(Encryption::Refused, EncryptionLevel::NotSupported), (Encryption::Allowed, EncryptionLevel::Off)]
    {
        let responder = responder(server);
        let mut wrong = config(&responder, client);
        wrong.authentication(AuthMethod::sql_server("someone", "wrong"));
        let Error::Server(error) = converse(&responder, wrong).unwrap_err() else {
            panic!("no server's error")
        };
        assert_eq!((error.code(), error.class()), (18_456, 14));
        assert_eq!(error.message(), "Login failed for user 'someone'.");
        assert_eq!(login(&responder).password, "wrong");
        wait_for_open(&responder, 0);
        assert_understood(&responder);
    }
}
