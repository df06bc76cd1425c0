//! Tests of `insert`: options and texts; servers are elsewhere.

use super::*;
use crate::client::statements::names;
use threadwise_study::{OptionValue, Options};

fn options(pairs: &[(&str, &str)]) -> Options {
    let value =
        |text: &str| text.parse().map_or_else(|_| OptionValue::Text(text.into()), OptionValue::Integer);
    pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

#[test]
fn the_loop_names_each_row_of_a_transaction() {
    let names = names("s", "");
    let random = Inserts::parse(&options(&[("rows_per_tx", "3"), ("key", "random")])).unwrap();
    let sql = procedures(&names, &random);
    assert_eq!(sql.len(), 1);
    assert!(sql[0].contains("@k2 bigint = 0;") && sql[0].contains("@k2 % 1000000007"), "{}", sql[0]);
    assert!(sql[0].contains("SET @next_key = @next_key + 3") && sql[0].contains("@k2 = @x * 2147483648"));
    assert!(!sql[0].contains('{') && !sql[0].contains("DELAYED"), "{}", sql[0]);
    let relaxed = Inserts::parse(&options(&[("durability", "relaxed")])).unwrap();
    let sql = procedures(&names, &relaxed);
    assert!(
        sql[0].contains("COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)") && !sql[0].contains("40692")
    );
    assert_eq!(client_sql(&names, &relaxed).matches("SYSUTCDATETIME()").count(), 2);
    assert!(client_sql(&names, &random).contains("(@P4, SYSUTCDATETIME()"));
}

#[test]
fn tables_in_memory_have_native_procedures_and_as_many_buckets_as_asked_for() {
    let names = names("s", "");
    let few = Inserts::parse(&options(&[("storage", "memory-optimised"), ("buckets", "1024")])).unwrap();
    assert!(table_sql(&names, &few).contains("BUCKET_COUNT = 1024") && !few.is_batch());
    let sql = procedures(&names, &few);
    assert!(sql[0].contains("NATIVE_COMPILATION") && sql[0].contains("[s].[insert_few]") && sql.len() == 2);
    assert_eq!(sql[0].matches("INSERT INTO").count(), 2, "one row each");
    assert!(sql[1].contains("EXEC [s].[insert_few] @owner, @k0, @k1;") && !sql[1].contains("INSERT INTO"));
    let batch = [("storage", "memory-optimised"), ("rows_per_tx", "0"), ("rows_per_session", "1000")];
    let batch = Inserts::parse(&options(&batch)).unwrap();
    let sql = procedures(&names, &batch);
    assert!(batch.is_batch() && sql.len() == 1 && sql[0].contains("WHILE @calls < @rows_wanted"));
    assert_eq!(batch.buckets, Some(2_097_152));
    let unlogged = [("storage", "memory-optimised"), ("table", "unlogged")];
    let unlogged = Inserts::parse(&options(&unlogged)).unwrap();
    assert!(table_sql(&names, &unlogged).contains("SCHEMA_ONLY"));
}

#[test]
fn generators_begin_inside_their_range_and_apart() {
    for session in 0..1000 {
        let Draws { x, y } = Draws::new(7, session);
        assert!((1..2_147_483_647).contains(&x) && (1..2_147_483_399).contains(&y), "{x} {y}");
    }
    assert!(Draws::new(7, 3) == Draws::new(7, 3) && Draws::new(7, 3) != Draws::new(7, 4));
}
