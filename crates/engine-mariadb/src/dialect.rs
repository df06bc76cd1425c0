//! MariaDB's SQL and facts, as data.

use threadwise_engine_sql::{Dialect, Marks, SchemaSql};
use threadwise_study::engine::Properties;

/// Bytes of a page, InnoDB's default.
pub(crate) const PAGE_BYTES: u64 = 16_384;

/// Bytes of a row in a page that random inserts have filled to about 70%.
pub(crate) const ROW_BYTES: u64 = 270;

/// A block is InnoDB's page.
pub(crate) fn properties() -> Properties {
    Properties { block_bytes: PAGE_BYTES, row_bytes: ROW_BYTES, ..Properties::default() }
}

/// MariaDB.
pub(crate) const DIALECT: Dialect = Dialect {
    engine: "mariadb",
    quotes: ["`", "`"],
    marks: Marks::Positional,
    call: "CALL {procedure}({arguments})",
    loops: "loops run inside the server",
    block_bytes: PAGE_BYTES,
    row_bytes: ROW_BYTES,
    // CLOCK_REALTIME in microseconds.
    now: "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))",
    compile_ns: 0,
    blocks: include_str!("sql/blocks.sql"),
    blocks_copy: include_str!("sql/blocks_copy.sql"),
    blocks_index: include_str!("sql/blocks_index.sql"),
    blocks_settle: "ANALYZE TABLE {table}",
    blocks_loop: include_str!("sql/blocks_loop.sql"),
    blocks_read: include_str!("sql/blocks_read.sql"),
    blocks_update: include_str!("sql/blocks_update.sql"),
    blocks_around: ["", "", ""],
    blocks_counted: &[],
    rows: include_str!("sql/rows.sql"),
    rows_loop: include_str!("sql/rows_loop.sql"),
    rows_step: include_str!("sql/rows_step.sql"),
    rows_held: include_str!("sql/rows_held.sql"),
    rows_put_back: "DELETE FROM {table} WHERE c4 <> 0",
    rows_counted: &[],
    begin: ["START TRANSACTION READ ONLY", "START TRANSACTION"],
    // With completion_type set, a server would otherwise chain another transaction to it, in which the session would be
    // parked, or close the connection.
    end: " AND NO CHAIN NO RELEASE",
    databases: "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA",
    schema: SchemaSql {
        noun: "database",
        option: "schema",
        lock: "SELECT GET_LOCK('threadwise:{schema}', 3)",
        is_there: "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'",
        has_table: "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' \
                    AND TABLE_NAME = '{name}'",
        make: include_str!("sql/schema.sql"),
        objects: include_str!("sql/objects.sql"),
        announce: "REPLACE INTO `{schema}`.threadwise_objects VALUES ('{kind}', '{name}')",
        drop: "DROP {kind} IF EXISTS `{schema}`.`{name}`",
        drop_schema: "DROP DATABASE `{schema}`",
        transaction: ["", "", ""],
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine::workloads::logical_io::LogicalIo;
    use threadwise_engine_sql::{Blocks, Names, logical_io_loop_sql};
    use threadwise_study::{OptionValue, Options};

    const NAMES: Names<'_> = Names { schema: "s", suffix: "_x", quotes: DIALECT.quotes };

    fn loop_of(table: u32, pairs: &[(&str, f64)]) -> String {
        let options: Options =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value))).collect();
        let spec = LogicalIo::parse(&options).unwrap();
        logical_io_loop_sql(&DIALECT, &Blocks { names: NAMES, number: table, spec: &spec })
    }

    #[test]
    fn the_loop_holds_what_is_asked_for_and_no_more() {
        let plain = loop_of(3, &[]);
        assert!(plain.contains("`s`.`read_blocks_x_3`") && plain.contains("FLOOR(RAND() * 8129)"), "{plain}");
        for absent in ["UPDATE", "SLEEP", "RAND() * 100", "{", "\n?"] {
            assert!(!plain.contains(absent), "{absent}: {plain}");
        }
        let options = [("update_pct", 5.0), ("think_time_us", 70.0), ("hot_pct", 50.0), ("hot_blocks", 64.0)];
        let full = loop_of(0, &options);
        for there in [
            "UPDATE `s`.`blocks_x_0`",
            "LEAST(70,",
            "RAND() * 100 < 50.0",
            "FLOOR(RAND() * 1)",
            "448 * first + ",
        ] {
            assert!(full.contains(there), "{there}: {full}");
        }
        assert!(!full.contains("{") && !full.contains("COMMIT AND CHAIN;\n            ELSE"), "{full}");
    }
}
