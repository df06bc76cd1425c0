//! Errors, disconnects, slow answers, attentions, and servers that are killed.
//!
//! Source: `threadwise_tds::conversations`.

use crate::support::{assert_understood, connected, responder, wait, wait_for_open};
use std::time::{Duration, Instant};
use threadwise_tds::{Column, Encryption, Options, Reply, Request, Responder, Type, Value, conversations};
use tiberius::error::Error;

#[test]
fn an_error_in_the_middle_of_a_batch() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        for sql in ["SELECT then deadlock", "SELECT until deadlock"] {
            let fault = client.simple_query(sql).await.unwrap().into_results().await.unwrap_err();
            assert!(fault.is_deadlock());
            let Error::Server(error) = fault else { panic!("no server's error") };
            assert_eq!((error.code(), error.state(), error.class(), error.line()), (1205, 51, 13, 3));
            assert_eq!(error.server(), "RESPONDER");
            let fault = client.query(sql, &[]).await.unwrap().into_results().await.unwrap_err();
            assert!(fault.is_deadlock());
        }
        let counts = client.execute("UPDATE seven", &[]).await.unwrap();
        assert_eq!(counts.total(), 7);
    });
    assert_understood(&responder);
}

#[test]
fn a_disconnect_in_the_middle_of_a_row() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        let fault =
            client.simple_query("SELECT until disconnect").await.unwrap().into_results().await.unwrap_err();
        assert!(matches!(fault, Error::Io { .. } | Error::Protocol(_)), "{fault:?}");
    });
    wait_for_open(&responder, 0);
    assert_understood(&responder);
}

#[test]
fn an_answer_is_cut_after_each_byte() {
    let cut = Responder::start(Options::default(), |_session, request| match request {
        Request::Batch { sql } => match sql.parse() {
            Ok(bytes) => vec![
                Reply::Rows {
                    columns: vec![Column::new("text", Type::Int)],
                    rows: vec![vec![Value::Int(1)]],
                },
                Reply::CloseAfterBytes(bytes),
            ],
            Err(_) => vec![Reply::Close],
        },
        _ => Vec::new(),
    });
    let responder = cut.unwrap();
    wait(async {
        for bytes in 0..50 {
            let mut client = connected(&responder).await;
            let result = match client.simple_query(bytes.to_string()).await {
                Ok(stream) => stream.into_results().await.map(|_| ()),
                Err(cause) => Err(cause),
            };
            assert!(result.is_err(), "{bytes} bytes");
        }
    });
    wait_for_open(&responder, 0);
    assert_understood(&responder);
}

#[test]
fn a_slow_answer_comes() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        let start = Instant::now();
        let sets = client.simple_query("SELECT slowly").await.unwrap().into_results().await.unwrap();
        assert_eq!(sets.len(), 2);
        assert!(start.elapsed() >= conversations::SLOW);
    });
    assert_understood(&responder);
}

#[test]
fn an_attention_ends_an_answer() {
    for encryption in [Encryption::Refused, Encryption::Required] {
        let responder = responder(encryption);
        let level = match encryption {
            Encryption::Refused => tiberius::EncryptionLevel::NotSupported,
            _ => tiberius::EncryptionLevel::Required,
        };
        wait(async {
            let config = crate::support::config(&responder, level);
            let mut client = crate::support::connect(&responder, config).await.unwrap();
            for sql in ["SELECT for hours", "SELECT never"] {
                let query = async { client.simple_query(sql).await?.into_results().await };
                assert!(tokio::time::timeout(Duration::from_millis(200), query).await.is_err());
                client.cancel_query().await.unwrap();
                let rows = client.simple_query("SELECT several").await.unwrap().into_results().await.unwrap();
                assert_eq!(rows.len(), 3);
            }
            // One that comes after the answer is acknowledged too.
            client.cancel_query().await.unwrap();
            client.simple_query("SELECT several").await.unwrap().into_results().await.unwrap();
        });
        let attentions =
            responder.requests().into_iter().filter(|received| received.request == Request::Attention);
        assert_eq!(attentions.count(), 3);
        assert_understood(&responder);
    }
}

#[test]
fn a_client_that_goes_away_leaves_nothing_open() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let first = connected(&responder).await;
        let mut second = connected(&responder).await;
        assert_eq!(responder.connections_open(), 2);
        let query = async { second.simple_query("SELECT for hours").await?.into_results().await };
        assert!(tokio::time::timeout(Duration::from_millis(100), query).await.is_err());
        drop(first);
        wait_for_open(&responder, 1);
        drop(second);
        wait_for_open(&responder, 0);
    });
    assert_eq!(responder.connections(), 2);
    assert_understood(&responder);
}

#[test]
fn a_server_that_is_killed() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut idle = connected(&responder).await;
        let mut busy = connected(&responder).await;
        let query = async { busy.simple_query("SELECT for hours").await?.into_results().await };
        let kill = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            responder.kill();
        };
        let (result, ()) = futures_util::future::join(query, kill).await;
        assert!(result.is_err());
        let result = match idle.simple_query("SELECT several").await {
            Ok(stream) => stream.into_results().await.map(|_| ()),
            Err(cause) => Err(cause),
        };
        assert!(result.is_err());
        assert!(tokio::net::TcpStream::connect(responder.address()).await.is_err());
    });
    wait_for_open(&responder, 0);
    assert_understood(&responder);
}

#[test]
fn a_script_that_panics_or_answers_what_does_not_fit_is_noted() {
    let started = Responder::start(Options::default(), |_session, request| match request {
        Request::Batch { sql } if sql == "panic" => panic!("on purpose"),
        Request::Batch { .. } => vec![Reply::Rows {
            columns: vec![Column::new("number", Type::Int)],
            rows: vec![vec![Value::text("no number")]],
        }],
        _ => Vec::new(),
    });
    let responder = started.unwrap();
    wait(async {
        for sql in ["panic", "text"] {
            let mut client = connected(&responder).await;
            let result = client.simple_query(sql).await;
            assert!(result.is_err());
        }
    });
    wait_for_open(&responder, 0);
    let whats: Vec<String> = responder.errors().into_iter().map(|failure| failure.what).collect();
    assert_eq!(whats[0], "the script panicked");
    assert!(whats[1].contains("Text(\"no number\") as Int"), "{whats:?}");
}
