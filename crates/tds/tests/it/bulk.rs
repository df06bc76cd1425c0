//! Bulk loads.
//!
//! Source: `threadwise_tds::conversations`; documentation of tiberius' `BulkLoadRequest`.

use crate::support::{assert_understood, config, connect, connected, responder, start, wait};
use threadwise_tds::{Encryption, Options, Request, Value, conversations, days};
use tiberius::time::chrono::NaiveDate;
use tiberius::{EncryptionLevel, IntoSql, TokenRow};

const ROWS: i32 = 5000;

/// A row, as the client sends it.
fn sent(number: i32) -> TokenRow<'static> {
    let mut row = TokenRow::new();
    row.push(number.into_sql());
    row.push((number % 3 != 0).then_some(i64::from(number) << 20).into_sql());
    row.push((number % 5 != 0).then_some(f64::from(number) / 2.0).into_sql());
    row.push((number % 7 != 0).then(|| format!("name {number} ä")).into_sql());
    row.push(NaiveDate::from_ymd_opt(2000, 1, 1 + u32::try_from(number % 28).unwrap()).into_sql());
    row
}

/// The same, as it has to be received.
fn received(number: i32) -> Vec<Value> {
    let or_null = |there: bool, value: Value| if there { value } else { Value::Null };
    vec![
        Value::Int(i64::from(number)),
        or_null(number % 3 != 0, Value::Int(i64::from(number) << 20)),
        or_null(number % 5 != 0, Value::Float(f64::from(number) / 2.0)),
        or_null(number % 7 != 0, Value::Text(format!("name {number} ä"))),
        Value::Date(days(2000, 1, 1) + u32::try_from(number % 28).unwrap()),
    ]
}

#[test]
fn every_row_of_a_bulk_load_arrives() {
    for (encryption, level, packet_size) in [
        (Encryption::Refused, EncryptionLevel::NotSupported, 4096),
        (Encryption::Required, EncryptionLevel::Required, 4096),
        (Encryption::Allowed, EncryptionLevel::NotSupported, 512),
    ] {
        let responder = start(Options { encryption, packet_size });
        wait(async {
            let mut client = connect(&responder, config(&responder, level)).await.unwrap();
            let mut load = client.bulk_insert("bulk").await.unwrap();
            for number in 0..ROWS {
                load.send(sent(number)).await.unwrap();
            }
            assert_eq!(load.finalize().await.unwrap().total(), u64::try_from(ROWS).unwrap());
            let rows =
                client.simple_query("SELECT * FROM bulk").await.unwrap().into_first_result().await.unwrap();
            assert_eq!(rows.len(), usize::try_from(ROWS).unwrap());
        });
        assert_understood(&responder);
        let requests: Vec<Request> =
            responder.requests().into_iter().map(|received| received.request).collect();
        let [_, _, Request::Batch { sql }, Request::Bulk(bulk), _] = &requests[..] else {
            panic!("{requests:?}")
        };
        assert!(sql.starts_with("INSERT BULK bulk ([id] int, [number] bigint,"), "{sql}");
        // The client leaves out what the server numbers.
        assert_eq!(bulk.columns, conversations::bulk_columns()[..5]);
        assert!(bulk.done);
        assert!(bulk.rows.iter().cloned().eq((0..ROWS).map(received)));
    }
}

#[test]
fn a_load_without_rows() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        let load = client.bulk_insert("bulk").await.unwrap();
        assert_eq!(load.finalize().await.unwrap().total(), 0);
    });
    assert!(
        matches!(&responder.requests()[3].request, Request::Bulk(bulk) if bulk.done && bulk.rows.is_empty())
    );
    assert_understood(&responder);
}
