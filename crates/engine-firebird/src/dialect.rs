//! Firebird's SQL and facts, as data.
//!
//! Firebird compresses runs of equal bytes in a record, so the 111 equal characters of a row take a few bytes. It has
//! no log: it writes whole pages, in an order that is always consistent ("careful write"), and with forced writes on
//! a commit waits for its own pages.

use threadwise_engine_sql::{Dialect, Marks, SchemaSql};

use crate::error::ENGINE;

/// Bytes of a page, the default of Firebird 3.0 and later.
pub(crate) const PAGE_BYTES: u64 = 8192;

/// Bytes of a row with its index entry, with index leaves about 70% full after inserts in random order.
pub(crate) const ROW_BYTES: u64 = 120;

/// Firebird.
pub(crate) const DIALECT: Dialect = Dialect {
    engine: ENGINE,
    quotes: ["", ""],
    marks: Marks::Positional,
    call: "select * from {procedure}({arguments})",
    loops: "loops run inside the engine, whose clock counts milliseconds: windows begin and end on whole milliseconds",
    block_bytes: PAGE_BYTES,
    row_bytes: ROW_BYTES,
    // The engine runs on this machine and reads the same clock.
    now: "",
    compile_ns: 0,
    blocks: include_str!("sql/blocks.sql"),
    blocks_copy: "insert into {table} select * from {from}",
    blocks_index: "create unique index by_k_{name} on {table} (k)",
    blocks_settle: "",
    blocks_loop: include_str!("sql/blocks_loop.sql"),
    // Its loops get their window once, and have no client that steps.
    blocks_read: "",
    blocks_update: "",
    blocks_around: ["", "", ""],
    blocks_counted: &[],
    rows: include_str!("sql/rows.sql"),
    rows_loop: include_str!("sql/rows_loop.sql"),
    rows_step: "",
    rows_held: "select count(*), coalesce(sum(mod(c1, {modulus})), 0) from {table}",
    rows_put_back: "delete from {table} where c4 <> 0",
    rows_counted: &[],
    begin: ["", ""],
    end: "",
    databases: "",
    schema: SchemaSql::NONE,
};

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine::workloads::insert::Insert;
    use threadwise_engine::workloads::logical_io::LogicalIo;
    use threadwise_engine_sql::{Blocks, Names, Rows, insert_loop_sql, logical_io_loop_sql};
    use threadwise_study::{OptionValue, Options};

    const NAMES: Names<'_> = Names { schema: "", suffix: "", quotes: DIALECT.quotes };

    fn loop_of(table: u32, pairs: &[(&str, f64)]) -> String {
        let options: Options =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value))).collect();
        let spec = LogicalIo::parse(&options).unwrap();
        logical_io_loop_sql(&DIALECT, &Blocks { names: NAMES, number: table, spec: &spec })
    }

    #[test]
    fn the_loop_holds_what_is_asked_for_and_no_more() {
        let plain = loop_of(3, &[]);
        assert!(plain.contains("read_blocks_3(") && plain.contains("(x * 8129) / 2147483647"), "{plain}");
        assert!(plain.contains("448 * first_ + ") && !plain.contains('{'), "{plain}");
        assert!(!plain.contains("UPDATE") && !plain.contains("100e0"), "{plain}");
        let full = loop_of(0, &[("update_pct", 5.0), ("hot_pct", 50.0), ("hot_blocks", 64.0)]);
        for there in ["UPDATE blocks_0", "x * 100e0 < 50", "x * 100e0 < 5", "(x * 1) / 2147483647"] {
            assert!(full.contains(there), "{there}: {full}");
        }
    }

    #[test]
    fn the_loop_of_inserts_draws_the_keys_that_are_asked_for() {
        let insert = |key: &str| {
            let options = Options::from([
                ("rows_per_tx".to_owned(), OptionValue::Integer(3)),
                ("key".to_owned(), OptionValue::Text(key.into())),
            ]);
            let spec = Insert::parse(&options, &[]).unwrap();
            insert_loop_sql(&DIALECT, &Rows { names: NAMES, spec: &spec })
        };
        let [sequential, random] = ["sequential", "random"].map(insert);
        assert!(sequential.contains("k = next_key;") && !sequential.contains("40692"), "{sequential}");
        assert!(random.contains("k = x * 2147483648 + y") && random.contains("WHILE (i < 3)"), "{random}");
        assert!(!random.contains('{') && !random.contains("[["), "{random}");
    }
}
