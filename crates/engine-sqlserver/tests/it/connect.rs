//! Why there is no connection: each reason is one line that says what to do.

use crate::bench::{Bench, assert_clear};
use crate::model::{LIMIT, PASSWORD, Settings, USER};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use threadwise_engine::Engine;
use threadwise_engine_sqlserver::Client;
use threadwise_study::{OptionValue, Options};
use threadwise_tds::{CERTIFICATE, Encryption, Message, Request};

/// The error of asking for the version, which has to be clear.
fn refused(options: &Options) -> String {
    let message = Client.version(options).unwrap_err().to_string();
    assert_clear(&message);
    message
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}

/// A file in the bench's folder.
fn file(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn a_server_says_what_it_is_and_how_many_connections_it_takes() {
    let bench = Bench::new(Settings::default());
    let options = bench.engine_options("");
    assert_eq!(Client.version(&options).unwrap(), "16.0.4135.4");
    let [limit] = &Client.limits(&options).unwrap()[..] else { panic!("one limit") };
    assert_eq!((limit.most, limit.in_use, limit.set_aside), (32_767, 11, 0));
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_wrong_password_is_named_by_where_it_came_from() {
    let bench = Bench::new(Settings::default());
    let wrong = file(&bench, "wrong", "Wrong-1234\n");
    let message = refused(&bench.engine_options(&format!("password_file={wrong}")));
    assert_says(&message, &["127.0.0.1", USER, "login or password is wrong", "18456", "password_file"]);
    assert!(!message.contains("Wrong-1234"), "{message}");
    bench.assert_over();
}

#[test]
fn a_password_file_that_others_may_read_is_refused_before_anybody_is_asked() {
    let bench = Bench::new(Settings::default());
    let path = file(&bench, "open", PASSWORD);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let message = refused(&bench.engine_options(&format!("password_file={path}")));
    assert_says(&message, &["option 'password_file'", "chmod 600"]);
    assert_eq!(bench.responder.connections(), 0);
}

#[test]
fn a_login_that_is_refused_for_other_reasons_is_told_them() {
    for (number, text, parts) in [
        (4060, "Cannot open database \"shop\" requested by the login.", ["no such database", "address"]),
        (18452, "Login failed. The login is from an untrusted domain.", ["mixed mode", "password"]),
        (
            18470,
            "Login failed for user 'measurer'. The account is disabled.",
            ["disabled", "ask its administrator"],
        ),
        (
            18487,
            "Login failed for user 'measurer'. The password of the account has expired.",
            ["expired", "ask its administrator"],
        ),
        (
            17809,
            "Could not connect because the maximum number of connections has been reached.",
            ["no more", "fewer"],
        ),
    ] {
        let settings =
            Settings { refused: Some(Message::new(number, text).class(14)), ..Settings::default() };
        let bench = Bench::new(settings);
        assert_says(&refused(&bench.engine_options("")), &parts);
        bench.assert_over();
    }
}

#[test]
fn a_version_that_is_too_old_is_refused() {
    let bench = Bench::new(Settings { version: "11.0.7001.0", ..Settings::default() });
    let message = refused(&bench.engine_options(""));
    assert_says(&message, &["11.0.7001.0", "older than 12.0 (2014)", "use a newer one"]);
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    assert_eq!(Client.keep(&load, 0).err().unwrap().to_string(), message);
    assert_eq!(bench.state().log, [""; 0]);
    bench.assert_over();
}

#[test]
fn a_port_at_which_nobody_listens_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // A client's own port: nothing listens on it, and no other process gets it while the client lives.
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = client.local_addr().unwrap().port();
    let bench = Bench::new(Settings::default());
    let message = refused(&bench.engine_options(&format!("url=sqlserver://{USER}@127.0.0.1:{port}/shop")));
    assert_says(&message, &[&format!("127.0.0.1:{port}"), "was refused", "is the server running"]);
    assert_eq!(bench.responder.connections(), 0);
}

/// A server other than SQL Server that answers with this, and then closes. Ends with the process.
fn stranger(answer: &'static [u8], closes: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            std::thread::spawn(move || {
                socket.set_read_timeout(Some(LIMIT)).unwrap();
                let mut asked = [0; 512];
                let _ = socket.read(&mut asked);
                let _ = socket.write_all(answer);
                if !closes {
                    let _ = socket.read(&mut asked);
                }
            });
        }
    });
    port
}

#[test]
fn somebody_who_is_no_sql_server_is_not_taken_for_one() {
    let bench = Bench::new(Settings::default());
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for answer in [&b""[..], http, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", b"\x45\x00\x00\x00\x08"] {
        let url = format!("url=sqlserver://{USER}@127.0.0.1:{}/shop", stranger(answer, true));
        for tls in ["off", "verify", "trust"] {
            let message = refused(&bench.engine_options(&format!("{url} tls={tls}")));
            assert_says(&message, &["SQL Server"]);
        }
    }
    assert_eq!(bench.responder.connections(), 0);
}

#[test]
fn somebody_who_says_nothing_is_not_waited_for_without_end() {
    let bench = Bench::new(Settings::default());
    let url = format!("url=sqlserver://{USER}@127.0.0.1:{}/shop", stranger(b"", false));
    assert_says(&refused(&bench.engine_options(&url)), &["does not answer", "tls=plain"]);
}

#[test]
fn a_server_without_tls_is_told_to_have_it() {
    for tls in ["verify", "trust"] {
        let bench = Bench::encrypted(Settings::default(), Encryption::Refused);
        let message = refused(&bench.engine_options(&format!("tls={tls}")));
        assert_says(&message, &["no TLS", "the server has none", "set it up"]);
        assert!(!message.contains("tls_ca"), "no certificate helps: {message}");
        bench.assert_over();
        assert_eq!(bench.responder.requests(), [], "no password was sent");
    }
    // The client library wants to encrypt the login of tls=off even where the server has said that it cannot.
    let bench = Bench::encrypted(Settings::default(), Encryption::Refused);
    assert_says(&refused(&bench.engine_options("tls=off")), &["before the login", "tls=plain"]);
    assert_eq!(bench.responder.requests(), [], "no password was sent");
}

#[test]
fn a_certificate_has_to_be_of_a_known_authority_unless_it_is_not_looked_at() {
    for encryption in [Encryption::Required, Encryption::Allowed] {
        let bench = Bench::encrypted(Settings::default(), encryption);
        let message = refused(&bench.engine_options("tls=verify"));
        assert_says(&message, &["no TLS", "certificate", "tls_ca=/FILE", "tls=trust"]);
        // The names of a library's functions do not help the user.
        assert!(!message.contains("Config::") && !message.contains("native-tls"), "{message}");
        assert_eq!(bench.responder.requests(), [], "no password was sent");
        assert!(bench.responder.errors().iter().all(|failure| failure.what.starts_with("TLS")));
    }
    let bench = Bench::encrypted(Settings::default(), Encryption::Required);
    let authority = file(&bench, "ca.pem", CERTIFICATE);
    for (more, note) in [
        (format!("tls=verify tls_ca={authority}"), "certificate was verified"),
        (format!("tls_ca={authority}"), "certificate was verified"),
        ("tls=trust".to_owned(), "was not checked"),
    ] {
        let mut load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
        load.engine_options = bench.engine_options(&more);
        if !more.contains("tls=") {
            load.engine_options.remove("tls");
        }
        let (keeper, _, running) = bench.begin(&load);
        let notes = running.standing().unwrap().notes;
        assert!(notes.iter().any(|line| line.text.contains(note)), "{note}: {notes:?}");
        drop(running);
        keeper.end().unwrap();
    }
    for received in bench.responder.requests() {
        if let Request::Login(login) = received.request {
            assert!(login.encrypted);
        }
    }
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn an_authority_that_is_none_is_named() {
    let bench = Bench::encrypted(Settings::default(), Encryption::Required);
    let none = file(&bench, "none.pem", "no certificate\n");
    for path in [none, "/proc/nowhere/ca.pem".to_owned()] {
        let message = refused(&bench.engine_options(&format!("tls=verify tls_ca={path}")));
        assert_says(&message, &["no TLS", &path]);
    }
    let message = Client.version(&bench.engine_options("tls=trust tls_ca=/ca.pem")).unwrap_err().to_string();
    assert!(message.contains("option 'tls_ca'"), "{message}");
}

#[test]
fn a_login_is_encrypted_where_the_server_can_even_without_tls() {
    let bench = Bench::encrypted(Settings::default(), Encryption::Allowed);
    Client.version(&bench.engine_options("tls=off")).unwrap();
    let requests = bench.responder.requests();
    let Request::Login(login) = &requests[0].request else { panic!("{requests:?}") };
    assert!(login.encrypted);
    bench.assert_over();
}

#[test]
fn a_server_without_tls_is_measured_where_its_user_asks_for_no_encryption() {
    let bench = Bench::encrypted(Settings::default(), Encryption::Refused);
    let mut load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    load.engine_options = bench.engine_options("tls=plain");
    let (keeper, _, running) = bench.begin(&load);
    let notes = running.standing().unwrap().notes;
    assert!(notes.iter().any(|line| line.text.contains("neither was the login")), "{notes:?}");
    drop(running);
    keeper.end().unwrap();
    let logins = bench.responder.requests().into_iter().filter_map(|received| match received.request {
        Request::Login(login) => Some(login.encrypted),
        _ => None,
    });
    let logins: Vec<bool> = logins.collect();
    assert!(!logins.is_empty() && logins.iter().all(|encrypted| !encrypted), "{logins:?}");
    bench.assert_over();
    bench.assert_clean();
    // One that wants TLS all the same gets no login.
    let bench = Bench::encrypted(Settings::default(), Encryption::Required);
    assert_says(&refused(&bench.engine_options("tls=plain")), &["TLS"]);
    assert_eq!(bench.responder.requests(), [], "no password was sent");
}

#[test]
fn a_password_in_the_address_is_refused_and_not_repeated() {
    let bench = Bench::new(Settings::default());
    let mut options = bench.engine_options("");
    let port = bench.responder.address().port();
    let url = format!("sqlserver://{USER}:{PASSWORD}@127.0.0.1:{port}/shop");
    options.insert("url".into(), OptionValue::Text(url));
    assert_says(&refused(&options), &["option 'url'", "SQLCMDPASSWORD"]);
    assert_eq!(bench.responder.connections(), 0);
}
