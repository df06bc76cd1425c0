//! The columns of each answer, the kinds of their values, and the order and limit of rows.
//!
//! Source: TPC-H specification, clauses 2.4.1 to 2.4.22 (columns, order, rows returned) and 2.1.3.5
//! (kinds of values).

use Kind::{Average, Date, Decimal, Integer, Ratio, Sum, Text};

/// Kind of a column's values, which decides how exactly they must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole number: keys, counts, years. Exact.
    Integer,
    /// Decimal straight from a table, or a sum of quantities. Exact.
    Decimal,
    /// Text without trailing blanks. Exact.
    Text,
    /// Day such as `1995-03-15`. Exact.
    Date,
    /// Sum of products of decimals.
    Sum,
    /// Average.
    Average,
    /// Ratio of sums.
    Ratio,
}

/// A column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in the query.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
}

/// A key of the order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderKey {
    /// Index of its column.
    pub column: usize,
    /// Whether the largest come first.
    pub is_descending: bool,
}

/// The expected form of a query's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Its columns.
    pub columns: &'static [Column],
    /// ORDER BY.
    pub order: &'static [OrderKey],
    /// The limit of rows, if the order leaves open which of several equal ones come last: the largest
    /// number of rows, and the index of the column that distinguishes them.
    pub open_cut: Option<(usize, usize)>,
}

const fn is(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

const fn up(column: usize) -> OrderKey {
    OrderKey { column, is_descending: false }
}

const fn down(column: usize) -> OrderKey {
    OrderKey { column, is_descending: true }
}

const fn shape(columns: &'static [Column], order: &'static [OrderKey]) -> Shape {
    Shape { columns, order, open_cut: None }
}

/// The shape of a query's answer; `None` if there is no such query.
pub fn shape_of(query: u8) -> Option<&'static Shape> {
    SHAPES.get(usize::from(query).checked_sub(1)?)
}

const SHAPES: [Shape; 22] = [
    shape(
        &[
            is("l_returnflag", Text),
            is("l_linestatus", Text),
            is("sum_qty", Decimal),
            is("sum_base_price", Sum),
            is("sum_disc_price", Sum),
            is("sum_charge", Sum),
            is("avg_qty", Average),
            is("avg_price", Average),
            is("avg_disc", Average),
            is("count_order", Integer),
        ],
        &[up(0), up(1)],
    ),
    shape(
        &[
            is("s_acctbal", Decimal),
            is("s_name", Text),
            is("n_name", Text),
            is("p_partkey", Integer),
            is("p_mfgr", Text),
            is("s_address", Text),
            is("s_phone", Text),
            is("s_comment", Text),
        ],
        &[down(0), up(2), up(1), up(3)],
    ),
    Shape {
        columns: &[
            is("l_orderkey", Integer),
            is("revenue", Sum),
            is("o_orderdate", Date),
            is("o_shippriority", Integer),
        ],
        order: &[down(1), up(2)],
        open_cut: Some((10, 0)),
    },
    shape(&[is("o_orderpriority", Text), is("order_count", Integer)], &[up(0)]),
    shape(&[is("n_name", Text), is("revenue", Sum)], &[down(1)]),
    shape(&[is("revenue", Sum)], &[]),
    shape(
        &[is("supp_nation", Text), is("cust_nation", Text), is("l_year", Integer), is("revenue", Sum)],
        &[up(0), up(1), up(2)],
    ),
    shape(&[is("o_year", Integer), is("mkt_share", Ratio)], &[up(0)]),
    shape(&[is("nation", Text), is("o_year", Integer), is("sum_profit", Sum)], &[up(0), down(1)]),
    Shape {
        columns: &[
            is("c_custkey", Integer),
            is("c_name", Text),
            is("revenue", Sum),
            is("c_acctbal", Decimal),
            is("n_name", Text),
            is("c_address", Text),
            is("c_phone", Text),
            is("c_comment", Text),
        ],
        order: &[down(2)],
        open_cut: Some((20, 0)),
    },
    shape(&[is("ps_partkey", Integer), is("value", Sum)], &[down(1)]),
    shape(&[is("l_shipmode", Text), is("high_line_count", Integer), is("low_line_count", Integer)], &[up(0)]),
    shape(&[is("c_count", Integer), is("custdist", Integer)], &[down(1), down(0)]),
    shape(&[is("promo_revenue", Ratio)], &[]),
    shape(
        &[
            is("s_suppkey", Integer),
            is("s_name", Text),
            is("s_address", Text),
            is("s_phone", Text),
            is("total_revenue", Sum),
        ],
        &[up(0)],
    ),
    shape(
        &[is("p_brand", Text), is("p_type", Text), is("p_size", Integer), is("supplier_cnt", Integer)],
        &[down(3), up(0), up(1), up(2)],
    ),
    shape(&[is("avg_yearly", Ratio)], &[]),
    Shape {
        columns: &[
            is("c_name", Text),
            is("c_custkey", Integer),
            is("o_orderkey", Integer),
            is("o_orderdate", Date),
            is("o_totalprice", Decimal),
            is("sum_qty", Decimal),
        ],
        order: &[down(4), up(3)],
        open_cut: Some((100, 2)),
    },
    shape(&[is("revenue", Sum)], &[]),
    shape(&[is("s_name", Text), is("s_address", Text)], &[up(0)]),
    shape(&[is("s_name", Text), is("numwait", Integer)], &[down(1), up(0)]),
    shape(&[is("cntrycode", Text), is("numcust", Integer), is("totacctbal", Sum)], &[up(0)]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Parameters, sql};

    #[test]
    fn the_columns_are_named_in_the_query_in_this_order() {
        for (dialect, query) in
            Dialect::ALL.into_iter().flat_map(|dialect| (1..=22).map(move |n| (dialect, n)))
        {
            let text = sql(dialect, query, &Parameters::validation(query, 1.0).unwrap()).unwrap();
            // Query 15 defines a table first.
            let select =
                text.rsplit_once("\n)\n").filter(|_| query == 15).map_or(text.as_str(), |(_, rest)| rest);
            let mut from = 0;
            for column in shape_of(query).unwrap().columns {
                let at = select[from..].find(column.name);
                from += at.unwrap_or_else(|| panic!("{dialect}, query {query}: {} in {select}", column.name));
            }
            let end = select.find("\nFROM").unwrap();
            assert!(from < end, "{dialect}, query {query}");
        }
        assert_eq!(shape_of(0), None);
        assert_eq!(shape_of(23), None);
    }

    #[test]
    fn the_order_and_the_cut_are_those_of_the_query() {
        for (dialect, query) in
            Dialect::ALL.into_iter().flat_map(|dialect| (1..=22).map(move |n| (dialect, n)))
        {
            let text = sql(dialect, query, &Parameters::validation(query, 1.0).unwrap()).unwrap();
            let shape = shape_of(query).unwrap();
            let keys: Vec<String> = shape
                .order
                .iter()
                .map(|key| {
                    let direction = if key.is_descending { " DESC" } else { "" };
                    format!("{}{direction}", shape.columns[key.column].name)
                })
                .collect();
            let order = text.lines().find_map(|line| line.strip_prefix("ORDER BY ")).unwrap_or_default();
            assert_eq!(keys.join(", "), order, "{dialect}, query {query}");
            // Clauses 2.4.2.1, 2.4.3.1, 2.4.10.1, 2.4.18.1, 2.4.21.1: how many rows are returned.
            let rows = match query {
                3 => Some(10),
                10 => Some(20),
                2 | 18 | 21 => Some(100),
                _ => None,
            };
            assert_eq!(cut(dialect, &text), rows, "{dialect}, query {query}");
            if let Some((open, _)) = shape.open_cut {
                assert_eq!(Some(open), rows, "{dialect}, query {query}");
            }
        }
    }

    /// After how many rows the text cuts.
    fn cut(dialect: Dialect, text: &str) -> Option<usize> {
        let (before, after) = match dialect {
            Dialect::SqlServer => ("SELECT TOP (", ")"),
            Dialect::Oracle => ("FETCH FIRST ", " ROWS ONLY"),
            _ => ("LIMIT ", ""),
        };
        let rows = text.lines().find_map(|line| line.strip_prefix(before))?;
        let end = if after.is_empty() { rows.len() } else { rows.find(after)? };
        rows[..end].parse().ok()
    }
}
