//! What goes wrong with servers: killed, out of space, gone, old; and nothing is left behind.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{folder, living, options, request, run, start_request, text, whole, work};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use threadwise_engine::{Engine, EngineError, LoadRequest};
use threadwise_engine_mariadb::Mariadb;
use threadwise_study::OptionValue;

fn small(folder: &Path) -> LoadRequest {
    request(folder, "logical-io", 2, &[("blocks", whole(200)), ("work_unit", whole(8))])
}

fn signal(name: &str, pid: u32) {
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args([name, &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Until no process works in the folder; false when some still do after a minute.
fn gone(folder: &Path) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    while !living(folder).is_empty() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_that_is_killed_fails_the_run_and_the_next_one_works() {
    let folder = folder();
    let load = small(folder.path());
    Mariadb.load(&load).unwrap();
    let start = start_request(&load);
    let running = Mariadb.start(&start).unwrap();
    let error = work(running, &start, 50, 50, |slice| {
        if slice == 1 {
            living(folder.path()).iter().for_each(|pid| signal("-KILL", *pid));
        }
    })
    .unwrap_err();
    assert_eq!(error.kind(), "engine");
    assert!(error.to_string().contains("connection broke"), "{error}");
    assert!(gone(folder.path()));
    // Its copy was not stopped in order, so it is made again.
    assert_eq!(run(&load, 1, 50).unwrap().finished, Ok(()));
    // And this one was, so it is used again.
    assert_eq!(run(&load, 1, 50).unwrap().finished, Ok(()));
}

/// In a process of its own: starts a server, says so, and waits to be killed.
#[test]
#[ignore = "laboratory: servers"]
fn inner_worker() {
    let Ok(folder) = std::env::var("THREADWISE_TEST_FOLDER") else { return };
    let load = small(Path::new(&folder));
    Mariadb.load(&load).unwrap();
    let _running = Mariadb.start(&start_request(&load)).unwrap();
    println!("STARTED");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
#[ignore = "laboratory: servers"]
fn no_server_outlives_a_worker_that_is_killed() {
    let folder = folder();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lab_servers::faults::inner_worker", "--include-ignored", "--nocapture"])
        .env("THREADWISE_TEST_FOLDER", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.contains("STARTED")), "the server did not start");
    assert_eq!(living(folder.path()).len(), 1);
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(gone(folder.path()), "{:?}", living(folder.path()));
}

#[test]
#[ignore = "laboratory: servers"]
fn a_full_disk_is_an_error_and_leaves_no_server() {
    let folder = folder();
    // Room for the system's tables and the log, not for the data.
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=180m,mode=711", "tmpfs"])
        .arg(folder.path())
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        let line = "SKIPPED: MariaDB on a full disk: mounting a small tmpfs needs root\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    }
    let load = request(folder.path(), "logical-io", 1, &[("blocks", whole(8192))]);
    let result = Mariadb.load(&load);
    let left = living(folder.path());
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(Command::new("umount").arg("-l").arg(folder.path()).status().unwrap().success());
    let error = result.unwrap_err();
    assert_eq!(error.kind(), "engine");
    assert!(error.to_string().contains("no space"), "{error}");
    assert!(left.is_empty() && names.is_empty(), "{left:?} {names:?}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_changed_row_and_a_wrong_sum_are_found() {
    let folder = folder();
    let load = small(folder.path());
    Mariadb.load(&load).unwrap();
    let start = start_request(&load);
    let administer = |sql: &str| {
        let socket = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path().join("data/mariadbd.sock"))
            .find(|socket| socket.exists() && socket.to_string_lossy().contains("mariadb-run"))
            .unwrap();
        let opts =
            mysql::OptsBuilder::new().user(Some("root")).socket(Some(socket.to_string_lossy().into_owned()));
        let mut connection = mysql::Conn::new(opts).unwrap();
        mysql::prelude::Queryable::query_drop(&mut connection, sql).unwrap();
    };
    let error = work(Mariadb.start(&start).unwrap(), &start, 50, 50, |slice| {
        if slice == 0 {
            administer("UPDATE threadwise.blocks_1 SET twin = twin + 1 WHERE k = 9");
        }
    })
    .unwrap_err();
    assert!(matches!(error, EngineError::WrongAnswer(_)), "{error}");
    for (sql, part) in [
        ("DELETE FROM threadwise.inserted WHERE c4 = 1 LIMIT 1", "after the run the table holds"),
        ("INSERT INTO threadwise.inserted (c1, c4, c6) VALUES (77, 1, 0)", "after the run the table holds"),
        ("UPDATE threadwise.inserted SET c1 = -5 WHERE c4 = 0 LIMIT 1", "after the run the table holds"),
    ] {
        let pairs = [("seed_rows", whole(100)), ("durability", text("relaxed"))];
        let mut load = request(folder.path(), "insert", 2, &pairs);
        load.treatment = "wrong".into();
        Mariadb.load(&load).unwrap();
        let start = start_request(&load);
        let ran = work(Mariadb.start(&start).unwrap(), &start, 1, 50, |_| administer(sql)).unwrap();
        let error = ran.finished.unwrap_err();
        assert!(error.to_string().contains(part) && error.kind() == "wrong-answer", "{error}");
        assert!(gone(folder.path()));
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn data_that_does_not_fit_in_memory_is_not_cached() {
    let folder = folder();
    let mut load = request(folder.path(), "logical-io", 1, &[("blocks", whole(1500))]);
    load.engine_options = options(&[("settings.innodb_buffer_pool_size", text("8M"))]);
    let error = run(&load, 1, 50).unwrap_err().to_string();
    assert!(error.contains("not cached") && error.contains("innodb_buffer_pool_size"), "{error}");
    assert!(error.contains("--set data_mib="), "{error}");
    assert!(gone(folder.path()));
}

#[test]
#[ignore = "laboratory: servers"]
fn a_setting_that_the_server_refuses_names_itself() {
    let folder = folder();
    let mut load = small(folder.path());
    load.engine_options = options(&[("settings.no_such_setting", OptionValue::Integer(1))]);
    let error = Mariadb.load(&load).unwrap_err().to_string();
    assert!(error.contains("no_such_setting") || error.contains("no-such-setting"), "{error}");
    assert!(gone(folder.path()));
}

#[test]
#[ignore = "laboratory: servers"]
fn nobody_there_is_one_line_with_what_to_do() {
    let folder = folder();
    let refused = |url: String| Mariadb.version(&options(&[("url", text(&url))])).unwrap_err().to_string();
    let absent = folder.path().join("none").to_string_lossy().replace('/', "%2F");
    let message = refused(format!("mariadb://me@{absent}/"));
    assert!(message.contains("no such socket") && message.contains("MYSQL_UNIX_PORT"), "{message}");
    let left = folder.path().join("left");
    drop(UnixListener::bind(&left).unwrap());
    let message = refused(format!("mariadb://me@{}/", left.to_string_lossy().replace('/', "%2F")));
    assert!(message.contains("refused") && message.contains("running"), "{message}");
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let message = refused(format!("mariadb://me@127.0.0.1:{port}/"));
    assert!(message.contains(&port.to_string()) && message.contains("refused"), "{message}");
}

/// A packet of the protocol (mariadb.com/kb/en/0-packet).
fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend(payload);
    bytes
}

/// Lets one client in and answers its first question with a version.
fn old_server(listener: &UnixListener, version: &str) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut hello = vec![10];
    hello.extend(version.as_bytes());
    hello.extend([0, 1, 0, 0, 0]);
    hello.extend(b"abcdefgh\0");
    hello.extend([0x01, 0xa2, 33, 2, 0, 0x08, 0, 21]);
    hello.extend([0; 10]);
    hello.extend(b"ijklmnopqrst\0mysql_native_password\0");
    stream.write_all(&packet(0, &hello)).unwrap();
    let mut buffer = [0; 4096];
    assert!(stream.read(&mut buffer).unwrap() > 0);
    stream.write_all(&packet(2, &[0, 0, 0, 2, 0, 0, 0])).unwrap();
    assert!(stream.read(&mut buffer).unwrap() > 0);
    let mut column = b"\x03def\0\0\0\x01v\0\x0c".to_vec();
    column.extend([33, 0, 64, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
    let mut row = vec![version.len() as u8];
    row.extend(version.as_bytes());
    let end = [0xfe, 0, 0, 2, 0];
    let answer = [packet(1, &[1]), packet(2, &column), packet(3, &end), packet(4, &row), packet(5, &end)];
    stream.write_all(&answer.concat()).unwrap();
    // Until the client goes.
    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {}
}

#[test]
#[ignore = "laboratory: servers"]
fn old_servers_and_mysql_are_refused() {
    for (version, part) in [("10.4.34-MariaDB-log", "older than 10.5"), ("8.0.36", "is MySQL, not MariaDB")] {
        let folder = folder();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let served = std::thread::spawn(move || old_server(&listener, version));
        let url = format!("mariadb://me@{}/", socket.to_string_lossy().replace('/', "%2F"));
        let message = Mariadb.version(&options(&[("url", text(&url))])).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(version), "{message}");
        served.join().unwrap();
    }
}
