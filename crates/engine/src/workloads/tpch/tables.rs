//! The eight tables: columns, primary keys, and indexes for foreign keys.
//!
//! Source: clause 1.4 (columns, keys), clause 4.2.5 (rows).

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An identifier: 64 bits.
    Identifier,
    /// A whole number: 32 bits.
    Integer,
    /// A number with two decimals.
    Decimal,
    /// A date.
    Date,
    /// Text of this length.
    Char(u32),
    /// Text of at most this length.
    Varchar(u32),
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Names and kinds of its columns, in the order in which the generator writes them.
    pub columns: &'static [(&'static str, Kind)],
    /// Columns of its primary key.
    pub key: &'static [&'static str],
    /// Columns of each index for a foreign key; a foreign key that is a prefix of the primary key has none.
    pub indexes: &'static [&'static [&'static str]],
    /// Rows at scale factor 1, or at every scale factor if `grows` is false.
    base_rows: u64,
    /// Whether its rows are a multiple of the scale factor.
    grows: bool,
}

impl Table {
    /// Rows at a scale factor; `None` for `lineitem`, of which every order has 1 to 7.
    pub fn rows(&self, scale: f64) -> Option<u64> {
        match (self.name, self.grows) {
            ("lineitem", _) => None,
            // Four suppliers for each part, whose number is rounded down before.
            ("partsupp", _) => Some((self.base_rows as f64 / 4.0 * scale) as u64 * 4),
            (_, true) => Some((self.base_rows as f64 * scale) as u64),
            (_, false) => Some(self.base_rows),
        }
    }

    /// Whether this number of rows is possible at a scale factor: the table's own, or 1 to 7 for each order.
    pub fn may_have(&self, rows: u64, scale: f64) -> bool {
        match self.rows(scale) {
            Some(wanted) => rows == wanted,
            None => {
                let orders = ORDERS.rows(scale).unwrap_or(0);
                (orders..=orders.saturating_mul(7)).contains(&rows)
            }
        }
    }
}

use Kind::{Char, Date, Decimal, Identifier, Integer, Varchar};

const REGION: Table = Table {
    name: "region",
    columns: &[("r_regionkey", Identifier), ("r_name", Char(25)), ("r_comment", Varchar(152))],
    key: &["r_regionkey"],
    indexes: &[],
    base_rows: 5,
    grows: false,
};

const NATION: Table = Table {
    name: "nation",
    columns: &[
        ("n_nationkey", Identifier),
        ("n_name", Char(25)),
        ("n_regionkey", Identifier),
        ("n_comment", Varchar(152)),
    ],
    key: &["n_nationkey"],
    indexes: &[&["n_regionkey"]],
    base_rows: 25,
    grows: false,
};

const SUPPLIER: Table = Table {
    name: "supplier",
    columns: &[
        ("s_suppkey", Identifier),
        ("s_name", Char(25)),
        ("s_address", Varchar(40)),
        ("s_nationkey", Identifier),
        ("s_phone", Char(15)),
        ("s_acctbal", Decimal),
        ("s_comment", Varchar(101)),
    ],
    key: &["s_suppkey"],
    indexes: &[&["s_nationkey"]],
    base_rows: 10_000,
    grows: true,
};

const CUSTOMER: Table = Table {
    name: "customer",
    columns: &[
        ("c_custkey", Identifier),
        ("c_name", Varchar(25)),
        ("c_address", Varchar(40)),
        ("c_nationkey", Identifier),
        ("c_phone", Char(15)),
        ("c_acctbal", Decimal),
        ("c_mktsegment", Char(10)),
        ("c_comment", Varchar(117)),
    ],
    key: &["c_custkey"],
    indexes: &[&["c_nationkey"]],
    base_rows: 150_000,
    grows: true,
};

const PART: Table = Table {
    name: "part",
    columns: &[
        ("p_partkey", Identifier),
        ("p_name", Varchar(55)),
        ("p_mfgr", Char(25)),
        ("p_brand", Char(10)),
        ("p_type", Varchar(25)),
        ("p_size", Integer),
        ("p_container", Char(10)),
        ("p_retailprice", Decimal),
        ("p_comment", Varchar(23)),
    ],
    key: &["p_partkey"],
    indexes: &[],
    base_rows: 200_000,
    grows: true,
};

const PARTSUPP: Table = Table {
    name: "partsupp",
    columns: &[
        ("ps_partkey", Identifier),
        ("ps_suppkey", Identifier),
        ("ps_availqty", Integer),
        ("ps_supplycost", Decimal),
        ("ps_comment", Varchar(199)),
    ],
    key: &["ps_partkey", "ps_suppkey"],
    indexes: &[&["ps_suppkey"]],
    base_rows: 800_000,
    grows: true,
};

const ORDERS: Table = Table {
    name: "orders",
    columns: &[
        ("o_orderkey", Identifier),
        ("o_custkey", Identifier),
        ("o_orderstatus", Char(1)),
        ("o_totalprice", Decimal),
        ("o_orderdate", Date),
        ("o_orderpriority", Char(15)),
        ("o_clerk", Char(15)),
        ("o_shippriority", Integer),
        ("o_comment", Varchar(79)),
    ],
    key: &["o_orderkey"],
    indexes: &[&["o_custkey"]],
    base_rows: 1_500_000,
    grows: true,
};

const LINEITEM: Table = Table {
    name: "lineitem",
    columns: &[
        ("l_orderkey", Identifier),
        ("l_partkey", Identifier),
        ("l_suppkey", Identifier),
        ("l_linenumber", Integer),
        ("l_quantity", Decimal),
        ("l_extendedprice", Decimal),
        ("l_discount", Decimal),
        ("l_tax", Decimal),
        ("l_returnflag", Char(1)),
        ("l_linestatus", Char(1)),
        ("l_shipdate", Date),
        ("l_commitdate", Date),
        ("l_receiptdate", Date),
        ("l_shipinstruct", Char(25)),
        ("l_shipmode", Char(10)),
        ("l_comment", Varchar(44)),
    ],
    key: &["l_orderkey", "l_linenumber"],
    indexes: &[&["l_partkey", "l_suppkey"], &["l_suppkey"]],
    base_rows: 6_000_000,
    grows: true,
};

/// All tables, each after those that its foreign keys refer to.
pub const TABLES: [Table; 8] = [REGION, NATION, SUPPLIER, CUSTOMER, PART, PARTSUPP, ORDERS, LINEITEM];

/// The order of `lineitem` with `cluster=shipdate`.
pub const SHIPDATE_ORDER: [&str; 3] = ["l_shipdate", "l_orderkey", "l_linenumber"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_indexes_name_columns_that_are_there() {
        for table in TABLES {
            let has = |column: &&str| table.columns.iter().any(|(name, _)| name == column);
            assert!(!table.key.is_empty() && table.key.iter().all(has), "{}", table.name);
            assert!(table.indexes.iter().all(|index| index.iter().all(has)), "{}", table.name);
        }
        assert!(SHIPDATE_ORDER.iter().all(|column| LINEITEM.columns.iter().any(|(name, _)| name == column)));
    }

    #[test]
    fn rows_follow_the_scale_but_for_the_two_smallest_tables() {
        let rows: Vec<_> = TABLES.iter().map(|table| table.rows(0.01)).collect();
        let wanted = [Some(5), Some(25), Some(100), Some(1500), Some(2000), Some(8000), Some(15_000), None];
        assert_eq!(rows, wanted);
        assert!(LINEITEM.may_have(60_175, 0.01) && !LINEITEM.may_have(14_999, 0.01));
        assert!(ORDERS.may_have(15_000, 0.01) && !ORDERS.may_have(14_999, 0.01));
    }
}
