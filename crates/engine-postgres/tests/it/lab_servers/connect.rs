//! Connecting to servers that are there, are not there, are old, or refuse: one line each, with what to
//! do next, and never with the password.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support;

use crate::support::theirs::{PASSWORD, Theirs};
use crate::support::{folder, programs};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use threadwise_engine::servers::Ending;
use threadwise_engine_postgres::Server;
use threadwise_engine_postgres::cluster::{self, Cluster, prepare};
use threadwise_engine_postgres::connect::{Environment, Locality, Target};
use threadwise_engine_postgres::options::Managed;

fn environment(variables: &[(&str, &str)]) -> Environment {
    let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Environment { variables: pairs.collect(), home: None, user: Some("ada".into()), socket_folders: vec![] }
}

fn reach(url: &str, variables: &[(&str, &str)]) -> Result<Server, String> {
    let target = Target::resolve(Some(url), &environment(variables)).map_err(|error| error.to_string())?;
    Server::reach(target, "threadwise").map_err(|error| {
        let text = error.to_string();
        assert_eq!(error.kind(), "engine", "{text}");
        assert!(!text.contains('\n') && !text.contains(PASSWORD), "{text}");
        text
    })
}

/// Why a server cannot be reached.
fn refused(url: &str, variables: &[(&str, &str)]) -> String {
    reach(url, variables).map(|server| format!("{server:?}")).unwrap_err()
}

#[test]
#[ignore = "laboratory: servers"]
fn where_no_server_is_the_message_says_where_it_was_looked_for() {
    let folder = folder();
    let shown = folder.path().display().to_string();
    let url = format!("postgres:///db?host={shown}");
    let message = refused(&url, &[]);
    assert!(message.contains(&format!("{shown}/.s.PGSQL.5432")) && message.contains("PGHOST"), "{message}");
    // A socket that a server left behind.
    drop(std::os::unix::net::UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap());
    let message = refused(&url, &[]);
    assert!(message.contains("the server of this socket has ended"), "{message}");
    let message = refused("postgres:///db?host=@threadwise-nowhere", &[]);
    assert!(message.contains("@threadwise-nowhere/.s.PGSQL.5432") && message.contains("PGHOST"), "{message}");
    // A port on which nothing listens: bound once, and free again.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let message = refused(&format!("postgres://127.0.0.1:{port}/db"), &[("PGPASSWORD", PASSWORD)]);
    assert!(message.contains("connection refused") && message.contains(&port.to_string()), "{message}");
    let message = refused("postgres://no-such-host.invalid/db", &[("PGCONNECT_TIMEOUT", "2")]);
    assert!(message.contains("name has no address"), "{message}");
}

/// A server that answers the startup and every simple query as PostgreSQL of that version would.
fn impostor(number: &'static str, text: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut buffer = [0; 4096];
            if stream.read(&mut buffer).unwrap_or(0) < 8 {
                continue;
            }
            if buffer[4..8] == [0x04, 0xd2, 0x16, 0x2f] {
                stream.write_all(b"N").unwrap();
                let _ = stream.read(&mut buffer).unwrap();
            }
            stream.write_all(&[b"R\0\0\0\x08\0\0\0\0".as_slice(), b"Z\0\0\0\x05I"].concat()).unwrap();
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                let asked = String::from_utf8_lossy(&buffer[..length]).into_owned();
                let value = if asked.contains("server_version_num") { number } else { text };
                if stream.write_all(&answer(value)).is_err() {
                    break;
                }
            }
        }
    });
    port
}

/// One row of one text column, and ready again (PostgreSQL documentation, "Message Formats").
fn answer(value: &str) -> Vec<u8> {
    let message = |kind: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [[kind].as_slice(), &length, body].concat()
    };
    let column = [b"\0\x01v\0".as_slice(), &[0; 6], &25_u32.to_be_bytes(), &[255; 6], &[0; 2]].concat();
    let length = u32::try_from(value.len()).unwrap().to_be_bytes();
    let row = [b"\0\x01".as_slice(), &length, value.as_bytes()].concat();
    [message(b'T', &column), message(b'D', &row), message(b'C', b"SHOW\0"), message(b'Z', b"I")].concat()
}

#[test]
#[ignore = "laboratory: servers"]
fn old_and_unknown_servers_are_refused_by_name() {
    for (number, text) in [("90624", "9.6.24"), ("100023", "10.23")] {
        let port = impostor(number, text);
        let message = refused(&format!("postgres://127.0.0.1:{port}/db"), &[]);
        let wanted = format!("PostgreSQL {text} is older than 11, the first with procedures that commit");
        assert!(message.contains(&wanted), "{message}");
    }
    let port = impostor("none", "none");
    let message = refused(&format!("postgres://127.0.0.1:{port}/db"), &[]);
    assert!(message.contains("not a version of PostgreSQL"), "{message}");
    // TLS that the server does not have.
    let message = refused(&format!("postgres://127.0.0.1:{port}/db?sslmode=require"), &[]);
    assert!(message.contains("sslmode") && message.contains("no TLS"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_that_never_answers_is_given_up() {
    // The kernel accepts connections, and no process reads from them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let message = refused(&format!("postgres://127.0.0.1:{port}/db?connect_timeout=1"), &[]);
    assert!(message.contains("no answer within 1 s"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_that_closes_the_door_is_asked_what_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let message = refused(&format!("postgres://127.0.0.1:{port}/db?sslmode=disable"), &[]);
    assert!(message.contains("closed the connection") || message.contains("is it a PostgreSQL"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn passwords_are_taken_from_where_libpq_takes_them_and_shown_to_nobody() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let (tcp, socket) = (theirs.tcp_url("ada"), theirs.socket_url("ada"));
    let right = [("PGPASSWORD", PASSWORD)];

    let message = refused(&tcp, &[]);
    assert!(message.contains("asks for a password") && message.contains("~/.pgpass"), "{message}");
    let message = refused(&tcp, &[("PGPASSWORD", "hunter2-secret-wrong")]);
    assert!(message.contains("28P01") && message.contains("user 'ada'"), "{message}");
    assert!(message.contains("from PGPASSWORD") && message.contains("127.0.0.1"), "{message}");
    for url in [&tcp, &socket, &theirs.abstract_url("ada")] {
        let server = reach(url, &right).unwrap();
        assert!(server.is_local(), "{server:?}");
        assert_eq!(server.locality(), &Locality::Here { postmaster: theirs.postmaster() });
        assert!(!format!("{server:?}").contains(PASSWORD));
    }
    let file = theirs.folder().join("pgpass");
    std::fs::write(&file, format!("127.0.0.1:{}:postgres:ada:{PASSWORD}\n", theirs.port)).unwrap();
    let named = [("PGPASSFILE", file.to_str().unwrap())];
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let message = refused(&tcp, &named);
    assert!(message.contains("chmod 0600"), "{message}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(reach(&tcp, &named).is_ok());

    let message = refused(&tcp.replace("/postgres", "/nowhere"), &right);
    assert!(message.contains("no database 'nowhere'") && message.contains("3D000"), "{message}");
    // The server's own words where there is nothing better.
    let message = refused(&theirs.tcp_url("no-such-user"), &right);
    assert!(message.contains("no-such-user"), "{message}");
    let options =
        reach(&tcp, &[("PGPASSWORD", PASSWORD), ("PGOPTIONS", "-c work_mem=3MB"), ("PGAPPNAME", "mine")]);
    let mut client = options.unwrap().connect("ours").unwrap();
    let mut show = |name: &str| client.query_one(&format!("SHOW {name}"), &[]).unwrap().get::<_, String>(0);
    assert_eq!((show("work_mem").as_str(), show("application_name").as_str()), ("3MB", "mine"));
    assert_eq!((show("search_path").as_str(), show("statement_timeout").as_str()), ("threadwise", "0"));
    tls(&theirs);
    too_many(&theirs);
}

fn tls(theirs: &Theirs) {
    let url = theirs.tcp_url("ada");
    let encrypted = |more: &[(&str, &str)]| -> Result<bool, String> {
        let mut client = reach(&url, &[&[("PGPASSWORD", PASSWORD)], more].concat())?.connect("t").unwrap();
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        Ok(client.query_one(sql, &[]).unwrap().get(0))
    };
    let root = theirs.authority.to_str().unwrap();
    assert_eq!(encrypted(&[("PGSSLMODE", "disable")]), Ok(false));
    assert_eq!(encrypted(&[]), Ok(true), "prefer");
    assert_eq!(encrypted(&[("PGSSLMODE", "require")]), Ok(true));
    for mode in ["require", "verify-ca", "verify-full"] {
        assert_eq!(encrypted(&[("PGSSLMODE", mode), ("PGSSLROOTCERT", root)]), Ok(true), "{mode}");
    }
    channel_binding(theirs);
    // The system's authorities did not sign it.
    let message = encrypted(&[("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "system")]).unwrap_err();
    assert!(message.contains("PGSSLROOTCERT"), "{message}");
    // Another name than the certificate's: verify-ca does not look at it, verify-full does.
    let other = format!("postgres://ada@other.name:{}/postgres?hostaddr=127.0.0.1", theirs.port);
    let asked = |mode: &str| {
        reach(&other, &[("PGPASSWORD", PASSWORD), ("PGSSLMODE", mode), ("PGSSLROOTCERT", root)]).map(drop)
    };
    assert_eq!(asked("verify-ca"), Ok(()));
    let message = asked("verify-full").unwrap_err();
    assert!(message.contains("TLS failed") && message.contains("other.name"), "{message}");
}

/// The password is proved on the TLS connection itself, or not at all.
fn channel_binding(theirs: &Theirs) {
    let url = theirs.tcp_url("ada");
    let ask = |more: &[(&str, &str)]| {
        reach(&url, &[&[("PGPASSWORD", PASSWORD), ("PGCHANNELBINDING", "require")], more].concat()).map(drop)
    };
    assert_eq!(ask(&[]), Ok(()));
    assert_eq!(ask(&[("PGSSLMODE", "require")]), Ok(()));
    // A method that cannot be bound to the connection.
    let rules = theirs.data.join("pg_hba.conf");
    let before = std::fs::read_to_string(&rules).unwrap();
    let mut client = theirs.superuser();
    let mut judge = |rule: &str| {
        std::fs::write(&rules, format!("{rule}\n{before}")).unwrap();
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
    };
    judge("host all all 127.0.0.1/32 password");
    support::eventually("the password is bound", || ask(&[]).is_err());
    let message = ask(&[]).unwrap_err();
    assert!(message.contains("channel_binding is require"), "{message}");
    judge("");
    support::eventually("the password is not bound", || ask(&[]).is_ok());
    // What the server has to be.
    for (wanted, user, taken) in [
        ("read-write", "ada", true),
        ("read-write", "standby", false),
        ("primary", "standby", true),
        ("any", "standby", true),
    ] {
        let asked = reach(
            &theirs.tcp_url(user),
            &[("PGPASSWORD", PASSWORD), ("PGTARGETSESSIONATTRS", wanted), ("PGGEQO", "off")],
        );
        assert_eq!(asked.is_ok(), taken, "{wanted} {user}");
        let why = asked.err().unwrap_or_else(|| "target_session_attrs".into());
        assert!(why.contains("target_session_attrs"), "{why}");
    }
}

/// Last, since it takes all connections that ordinary users may have.
fn too_many(theirs: &Theirs) {
    let server = reach(&theirs.socket_url("ada"), &[("PGPASSWORD", PASSWORD)]).unwrap();
    let mut held = Vec::new();
    let error = loop {
        match server.connect("one more") {
            Ok(client) => held.push(client),
            Err(error) => break error.to_string(),
        }
        assert!(held.len() < 100);
    };
    assert!(error.contains("max_connections") && error.contains("53300"), "{error}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_of_ours_is_reached_by_a_path_too_long_for_a_socket() {
    let programs = programs();
    let folder = folder();
    let long = folder.path().join("x".repeat(100));
    std::fs::create_dir(&long).unwrap();
    std::fs::set_permissions(&long, std::fs::Permissions::from_mode(0o711)).unwrap();
    let home = cluster::home(&long, "long", "");
    prepare(&home, &programs, &Managed::default(), 0, 1).unwrap();
    let cluster = Cluster::start(&programs, &home).unwrap();
    assert!(cluster.server().is_local());
    let server = cluster.server().clone();
    let connected = std::thread::spawn(move || server.connect("from another thread").is_ok());
    assert!(connected.join().unwrap());
    cluster.stop(Ending::Discard).unwrap();
}
