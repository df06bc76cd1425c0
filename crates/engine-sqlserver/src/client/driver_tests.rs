//! Tests of the texts of `insert`; servers are elsewhere.

use super::*;
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine_sql::{insert_loop_sql, insert_step_sql, logical_io_loop_sql};
use threadwise_study::{OptionValue, Options};

const NAMES: Names<'_> = Names { schema: "s", suffix: "", quotes: DIALECT.quotes };

fn spec(pairs: &[(&str, &str)]) -> Insert {
    let value =
        |text: &str| text.parse().map_or_else(|_| OptionValue::Text(text.into()), OptionValue::Integer);
    let options: Options = pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect();
    Insert::parse(&options, &[]).unwrap()
}

fn rows(spec: &Insert) -> Rows<'_> {
    Rows { names: NAMES, spec }
}

#[test]
fn the_loop_names_each_row_of_a_transaction() {
    let random = insert_loop_sql(&DIALECT, &rows(&spec(&[("rows_per_tx", "3"), ("key", "random")])));
    assert!(random.contains("@k2 bigint = 0;") && random.contains("@k2 % 1000000007"), "{random}");
    assert!(random.contains("SET @next_key = @next_key + 3") && random.contains("@k2 = @x * 2147483648"));
    assert!(!random.contains('{') && !random.contains("DELAYED") && !random.contains("[["), "{random}");
    let relaxed = insert_loop_sql(&DIALECT, &rows(&spec(&[("durability", "relaxed")])));
    let commit = "COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)";
    assert!(relaxed.contains(commit) && !relaxed.contains("40692"), "{relaxed}");
}

#[test]
fn a_step_of_the_client_has_its_owner_first() {
    let (sql, slots) = insert_step_sql(&DIALECT, &rows(&spec(&[("rows_per_tx", "3")])));
    assert!(sql.contains("(@P4, SYSUTCDATETIME()") && sql.contains(", @P1, 2, @P4)"), "{sql}");
    assert_eq!((sql.matches("SYSUTCDATETIME()").count(), slots.len()), (3, 4));
}

#[test]
fn the_loop_holds_what_is_asked_for_and_no_more() {
    let loop_of = |table, pairs: &[(&str, f64)]| {
        let options: Options =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value))).collect();
        let spec = LogicalIo::parse(&options).unwrap();
        [spec, LogicalIo { shared: true, ..spec }].map(|spec| {
            let names = Names { suffix: "_x", ..NAMES };
            logical_io_loop_sql(&DIALECT, &Blocks { names, number: table, spec: &spec })
        })
    };
    let [plain, _] = loop_of(3, &[]);
    assert!(plain.contains("[s].[read_blocks_x_3]") && plain.contains("(@x * 8129) / 2147483647"), "{plain}");
    for absent in ["UPDATE", "WAITFOR", "100e0", "{", "BEGIN TRANSACTION", "\n?"] {
        assert!(!plain.contains(absent), "{absent}: {plain}");
    }
    let pairs = [("update_pct", 5.0), ("think_time_us", 7000.0), ("hot_pct", 50.0), ("hot_blocks", 64.0)];
    let [full, shared] = loop_of(0, &pairs);
    for there in
        ["UPDATE [s].[blocks_x_0]", "@left > 7 ", "50.0 * 2147483647e0", "(@x * 1) / ", "448 * @first + "]
    {
        assert!(full.contains(there), "{there}: {full}");
    }
    assert_eq!(full.matches("BEGIN TRANSACTION").count(), 2);
    assert!(!shared.contains("TRANSACTION"), "{shared}");
}

#[test]
fn tables_in_memory_have_as_many_buckets_as_asked_for() {
    let sql = table_sql(&rows(&spec(&[])), Some(1024));
    assert!(sql.contains("BUCKET_COUNT = 1024") && sql.contains("SCHEMA_AND_DATA"), "{sql}");
    assert!(table_sql(&rows(&spec(&[("table", "unlogged")])), Some(8)).contains("SCHEMA_ONLY"));
    assert!(!table_sql(&rows(&spec(&[])), None).contains("MEMORY"));
}
