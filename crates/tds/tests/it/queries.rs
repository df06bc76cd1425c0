//! Queries: values of each type, several results, parameters, procedures, long texts, transactions.
//!
//! Source: `threadwise_tds::conversations`.

use crate::support::{assert_understood, config, connect, connected, responder, start, wait};
use std::borrow::Cow;
use threadwise_tds::{Encryption, Isolation, Options, Request, Transaction, Type, Value, conversations};
use tiberius::numeric::Numeric;
use tiberius::time::chrono::NaiveDate;
use tiberius::time::{Date, DateTime, DateTime2, Time};
use tiberius::{ColumnData, Command, EncryptionLevel, Row, Uuid};

/// The values of `SELECT values`, as the client has them.
fn expected() -> Vec<ColumnData<'static>> {
    let text = |text: &'static str| ColumnData::String(Some(Cow::Borrowed(text)));
    let bytes: Vec<u8> = (0..=255).cycle().take(9000).collect();
    vec![
        ColumnData::U8(Some(255)),
        ColumnData::I16(Some(-32_768)),
        ColumnData::I32(Some(-2_147_483_648)),
        ColumnData::I64(Some(9_223_372_036_854_775_807)),
        ColumnData::Bit(Some(true)),
        ColumnData::F32(Some(-1.5)),
        ColumnData::F64(Some(0.1)),
        ColumnData::Numeric(Some(Numeric::new_with_scale(-12_345_678_901_234_567, 4))),
        text("Grüße, 日本 𝄞"),
        text("Grüße, 5 €"),
        text(""),
        ColumnData::Binary(Some(Cow::Borrowed(&[0, 1, 254, 255]))),
        ColumnData::Binary(Some(Cow::Owned(bytes))),
        ColumnData::Date(Some(Date::new(738_944))),
        ColumnData::Time(Some(Time::new(45_296_789, 3))),
        ColumnData::DateTime2(Some(DateTime2::new(Date::new(739_250), Time::new(863_999_999_999, 7)))),
        ColumnData::DateTime(Some(DateTime::new(36_523, 12_960_150))),
        ColumnData::Guid(Some(Uuid::from_u128(0x0123_4567_89ab_cdef_0001_0203_0405_0607))),
    ]
}

fn cells(row: &Row) -> Vec<ColumnData<'static>> {
    row.cells().map(|(_, cell)| cell.clone()).collect()
}

fn numbers(rows: &[Row]) -> Vec<i32> {
    rows.iter().map(|row| row.get(0).unwrap()).collect()
}

#[test]
fn values_and_nulls_of_each_type() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        let rows = client.simple_query("SELECT values").await.unwrap().into_first_result().await.unwrap();
        assert_eq!(cells(&rows[0]), expected());
        let nulls = cells(&rows[1]);
        let is_null = |cell: &ColumnData<'_>| format!("{cell:?}").ends_with("(None)");
        assert!(nulls.len() == expected().len() && nulls.iter().all(is_null), "{nulls:?}");
        let fixed = client.simple_query("SELECT fixed").await.unwrap().into_first_result().await.unwrap();
        assert_eq!(cells(&fixed[0]), expected());
        let names: Vec<&str> = fixed[0].columns().iter().map(tiberius::Column::name).collect();
        let columns = conversations::columns();
        assert!(names.iter().eq(columns.iter().map(|column| &column.name)));
    });
    assert_understood(&responder);
}

#[test]
fn several_results_and_counts() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        let sets = client.simple_query("SELECT several").await.unwrap().into_results().await.unwrap();
        assert_eq!(sets.len(), 3);
        assert_eq!(numbers(&sets[0]), [0, 1]);
        assert_eq!(sets[1][0].get::<&str, _>(0), Some("ä"));
        assert!(sets[2].is_empty());
        let counts = client.execute("UPDATE seven", &[]).await.unwrap();
        assert_eq!(counts.rows_affected(), [7]);
        client.simple_query("PRINT hello").await.unwrap().into_results().await.unwrap();
        let again = client.query("SELECT several", &[]).await.unwrap().into_results().await.unwrap();
        assert_eq!(again.len(), 3);
    });
    assert_understood(&responder);
}

#[test]
fn answers_and_requests_of_many_packets() {
    for packet_size in [512, 4096, 32_767] {
        let responder = start(Options { packet_size, ..Options::default() });
        wait(async {
            let mut wanted = config(&responder, EncryptionLevel::NotSupported);
            wanted.packet_size(16_384);
            let mut client = connect(&responder, wanted).await.unwrap();
            let rows = client.simple_query("SELECT many").await.unwrap().into_first_result().await.unwrap();
            assert!(numbers(&rows).into_iter().eq(0..conversations::MANY));
            let plan = client.simple_query("SELECT plan").await.unwrap().into_row().await.unwrap().unwrap();
            assert_eq!(plan.get::<&str, _>(0), Some(conversations::plan().as_str()));
            let long = format!("SELECT echo {}", "ä".repeat(30_000));
            client.simple_query(long.as_str()).await.unwrap().into_results().await.unwrap();
            let sent = responder.requests().pop().unwrap().request;
            assert_eq!(sent, Request::Batch { sql: long });
        });
        assert_understood(&responder);
    }
}

#[test]
fn parameters_of_each_type_come_back() {
    let responder = responder(Encryption::Refused);
    let long = "wörld ".repeat(2000);
    let bytes: Vec<u8> = (0..=255).cycle().take(9000).collect();
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let moment = day.and_hms_milli_opt(12, 34, 56, 789).unwrap();
    let cents = Numeric::new_with_scale(-1_999, 2);
    wait(async {
        let mut client = connected(&responder).await;
        let given: [&dyn tiberius::ToSql; 17] = [
            &-7i16,
            &-70_000i32,
            &i64::MIN,
            &0.1f64,
            &1.5f32,
            &true,
            &"ä€",
            &long,
            &bytes,
            &&[1u8, 2][..],
            &day,
            &moment,
            &cents,
            &Uuid::from_u128(5),
            &200u8,
            &None::<i32>,
            &None::<&str>,
        ];
        let row = client.query("SELECT echo", &given).await.unwrap().into_row().await.unwrap().unwrap();
        for (cell, given) in cells(&row).iter().zip(&given[..15]) {
            assert_eq!(*cell, given.to_sql());
        }
        // A null text has no type on its way.
        assert_eq!(cells(&row)[15..], [ColumnData::I32(None), ColumnData::I32(None)]);
    });
    let Request::Rpc(rpc) = responder.requests().pop().unwrap().request else { panic!("not a call") };
    assert_eq!(
        (rpc.procedure.as_str(), rpc.number, rpc.statement()),
        ("sp_executesql", Some(10), Some("SELECT echo"))
    );
    assert!(
        matches!(&rpc.parameters[1].value, Value::Text(types) if types.starts_with("@P1 smallint,@P2 int,"))
    );
    let kinds: Vec<Type> = rpc.parameters.iter().map(|parameter| parameter.kind).collect();
    assert_eq!((kinds[2], kinds[17], kinds[18]), (Type::SmallInt, Type::Int, Type::Null));
    assert_eq!(rpc.values(2)[10], Value::date(2024, 2, 29));
    assert_eq!(rpc.values(2)[11], Value::date_time(2024, 2, 29, 45_296_789_000_000));
    assert_eq!(rpc.values(2)[12], Value::Decimal { unscaled: -1_999, scale: 2 });
    assert_understood(&responder);
}

#[test]
fn a_procedure_gives_rows_status_and_output() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        let mut command = Command::new("add_up");
        command.bind_param("@a", 3);
        command.bind_param("@b", 4i64);
        command.bind_out_param("@sum", 0);
        let result = command.exec(&mut client).await.unwrap().into_command_result().await.unwrap();
        let shown = format!("{result:?}");
        assert!(shown.contains("42") && shown.contains("@sum") && shown.contains("I32(Some(7))"), "{shown}");
        let failed =
            async { Command::new("fails").exec(&mut client).await?.into_command_result().await.map(|_| ()) };
        assert_eq!(failed.await.unwrap_err().code(), Some(1205));
        client.simple_query("still there").await.unwrap().into_results().await.unwrap();
    });
    assert_understood(&responder);
}

#[test]
fn transactions_of_the_manager_and_of_sql() {
    let responder = responder(Encryption::Refused);
    wait(async {
        let mut client = connected(&responder).await;
        client.begin_transaction_with_isolation(tiberius::IsolationLevel::Snapshot).await.unwrap();
        client.execute("UPDATE seven", &[]).await.unwrap();
        client.commit_transaction().await.unwrap();
        client.begin_transaction().await.unwrap();
        client.rollback_transaction().await.unwrap();
        for sql in
            ["BEGIN TRANSACTION", "UPDATE seven", "ROLLBACK", "BEGIN TRANSACTION", "COMMIT", "USE other"]
        {
            client.simple_query(sql).await.unwrap().into_results().await.unwrap();
        }
    });
    let first = responder.requests().into_iter().nth(1).unwrap().request;
    let begin = Transaction::Begin { isolation: Isolation::Snapshot, name: String::new() };
    assert_eq!(first, Request::Transaction(begin));
    assert_understood(&responder);
}
