//! The text of the 22 queries in each dialect, with parameters filled in.
//!
//! Source: TPC-H specification, clauses 2.4.1 to 2.4.22; query 15 is its permitted variant without a
//! view (appendix of variants, 15a). The texts are in `queries/`; a text in `queries/DIALECT/` replaces
//! the common one if the dialect needs it.
//!
//! SQLite has no types for dates and decimals. Its texts assume dates as TEXT such as `1995-03-15` and
//! decimals as REAL with an affinity that keeps them; sums are then doubles, within the tolerances
//! of [`crate::answers`]. Text with trailing blanks (`char(n)` of PostgreSQL) is compared without them.
//!
//! T-SQL gives quotients of decimals six decimals, too few for the ratios of queries 8, 14 and 17, which are
//! doubles there. Sums and products of the columns' decimals (clause 1.4.1) lose no digit; averages have six
//! decimals, which the tolerance covers, and so does the limit of query 11, whose sums have two. Counts and
//! sums of whole numbers are `int`, which only those of queries 1 and 13 exceed up to the largest scale
//! factor (clause 4.1.3.1). An `OPTION` may follow each text. Source: *Transact-SQL reference*, "Precision,
//! scale, and length", AVG, SUM, COUNT, COUNT_BIG.

use crate::parameters::{Parameters, Value};
use crate::query::check_query;
use std::collections::BTreeSet;

pub use crate::query::{Dialect, QUERIES, QueryError};

/// One SELECT in the engine's dialect, parameters filled in, without a semicolon.
///
/// # Errors
/// No such query, or parameters of another one; a placeholder without parameter, or the reverse.
pub fn sql(dialect: Dialect, query: u8, parameters: &Parameters) -> Result<String, QueryError> {
    check_query(query)?;
    if parameters.query() != query {
        return Err(QueryError::OtherQuery { query, given: parameters.query() });
    }
    let mut used = BTreeSet::new();
    let mut filled = String::new();
    for line in text(dialect, query).lines().filter(|line| !line.starts_with("--")) {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once(':') {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            let value = parameters.get(name);
            let value =
                value.ok_or_else(|| QueryError::Placeholder { query, dialect, name: name.to_owned() })?;
            used.insert(name);
            filled.push_str(before);
            filled.push_str(&literal(dialect, value));
            rest = behind;
        }
        filled.push_str(rest);
        filled.push('\n');
    }
    match parameters.values().find(|(name, _)| !used.contains(name)) {
        Some((name, _)) => Err(QueryError::Unused { query, dialect, name: name.to_owned() }),
        None => Ok(filled.trim_end().to_owned()),
    }
}

/// A value as a literal of the dialect.
fn literal(dialect: Dialect, value: &Value) -> String {
    match value {
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Integer(_) | Value::Decimal { .. } => value.to_string(),
        Value::Date(date) => match dialect {
            Dialect::Sqlite => format!("'{date}'"),
            Dialect::SqlServer => format!("CAST('{date}' AS date)"),
            Dialect::DuckDb
            | Dialect::DataFusion
            | Dialect::Postgres
            | Dialect::ClickHouse
            | Dialect::Oracle => format!("DATE '{date}'"),
        },
    }
}

/// The text with its placeholders.
fn text(dialect: Dialect, query: u8) -> &'static str {
    let texts: &[(u8, &str)] = match dialect {
        Dialect::Sqlite => SQLITE,
        Dialect::ClickHouse => CLICKHOUSE,
        Dialect::SqlServer => SQLSERVER,
        Dialect::Oracle => ORACLE,
        Dialect::DuckDb | Dialect::DataFusion | Dialect::Postgres => &[],
    };
    let changed = texts.iter().find(|(number, _)| *number == query).map(|(_, text)| *text);
    changed.or_else(|| COMMON.get(usize::from(query) - 1).copied()).unwrap_or_default()
}

const COMMON: [&str; QUERIES as usize] = [
    include_str!("../queries/q01.sql"),
    include_str!("../queries/q02.sql"),
    include_str!("../queries/q03.sql"),
    include_str!("../queries/q04.sql"),
    include_str!("../queries/q05.sql"),
    include_str!("../queries/q06.sql"),
    include_str!("../queries/q07.sql"),
    include_str!("../queries/q08.sql"),
    include_str!("../queries/q09.sql"),
    include_str!("../queries/q10.sql"),
    include_str!("../queries/q11.sql"),
    include_str!("../queries/q12.sql"),
    include_str!("../queries/q13.sql"),
    include_str!("../queries/q14.sql"),
    include_str!("../queries/q15.sql"),
    include_str!("../queries/q16.sql"),
    include_str!("../queries/q17.sql"),
    include_str!("../queries/q18.sql"),
    include_str!("../queries/q19.sql"),
    include_str!("../queries/q20.sql"),
    include_str!("../queries/q21.sql"),
    include_str!("../queries/q22.sql"),
];

const SQLITE: &[(u8, &str)] = &[
    (7, include_str!("../queries/sqlite/q07.sql")),
    (8, include_str!("../queries/sqlite/q08.sql")),
    (9, include_str!("../queries/sqlite/q09.sql")),
    (15, include_str!("../queries/sqlite/q15.sql")),
    (19, include_str!("../queries/sqlite/q19.sql")),
];

const CLICKHOUSE: &[(u8, &str)] = &[(8, include_str!("../queries/clickhouse/q08.sql"))];

const SQLSERVER: &[(u8, &str)] = &[
    (1, include_str!("../queries/sqlserver/q01.sql")),
    (2, include_str!("../queries/sqlserver/q02.sql")),
    (3, include_str!("../queries/sqlserver/q03.sql")),
    (7, include_str!("../queries/sqlserver/q07.sql")),
    (8, include_str!("../queries/sqlserver/q08.sql")),
    (9, include_str!("../queries/sqlserver/q09.sql")),
    (10, include_str!("../queries/sqlserver/q10.sql")),
    (13, include_str!("../queries/sqlserver/q13.sql")),
    (14, include_str!("../queries/sqlserver/q14.sql")),
    (17, include_str!("../queries/sqlserver/q17.sql")),
    (18, include_str!("../queries/sqlserver/q18.sql")),
    (21, include_str!("../queries/sqlserver/q21.sql")),
];

const ORACLE: &[(u8, &str)] = &[
    (2, include_str!("../queries/oracle/q02.sql")),
    (3, include_str!("../queries/oracle/q03.sql")),
    (7, include_str!("../queries/oracle/q07.sql")),
    (8, include_str!("../queries/oracle/q08.sql")),
    (9, include_str!("../queries/oracle/q09.sql")),
    (10, include_str!("../queries/oracle/q10.sql")),
    (13, include_str!("../queries/oracle/q13.sql")),
    (18, include_str!("../queries/oracle/q18.sql")),
    (21, include_str!("../queries/oracle/q21.sql")),
    (22, include_str!("../queries/oracle/q22.sql")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_of_every_dialect_takes_its_parameters_and_no_others() {
        for dialect in Dialect::ALL {
            for query in 1..=QUERIES {
                for parameters in [
                    Parameters::validation(query, 1.0).unwrap(),
                    Parameters::seeded(query, 1.0, 3, 4).unwrap(),
                ] {
                    let sql = sql(dialect, query, &parameters).unwrap();
                    let words: Vec<&str> = sql.split_whitespace().collect();
                    assert!(words[0] == "SELECT" || words[0] == "WITH", "{sql}");
                    assert!(!sql.contains([':', ';']) && !sql.contains("--"), "{sql}");
                    assert_eq!(sql.matches('(').count(), sql.matches(')').count(), "{sql}");
                }
            }
        }
    }

    #[test]
    fn literals_are_those_of_the_dialect_and_cannot_be_left() {
        let day = Value::Date(crate::parameters::Date::new(1994, 1, 1));
        assert_eq!(literal(Dialect::Postgres, &day), "DATE '1994-01-01'");
        assert_eq!(literal(Dialect::Sqlite, &day), "'1994-01-01'");
        assert_eq!(literal(Dialect::SqlServer, &day), "CAST('1994-01-01' AS date)");
        assert_eq!(literal(Dialect::Oracle, &day), "DATE '1994-01-01'");
        let quote = Value::Text("x' OR '1'='1".to_owned());
        assert_eq!(literal(Dialect::DuckDb, &quote), "'x'' OR ''1''=''1'");
    }

    #[test]
    fn validation_values_stand_where_the_specification_has_them() {
        let filled =
            |dialect, query| sql(dialect, query, &Parameters::validation(query, 1.0).unwrap()).unwrap();
        let six = filled(Dialect::DuckDb, 6);
        assert!(
            six.contains("l_shipdate >= DATE '1994-01-01'") && six.contains("< DATE '1995-01-01'"),
            "{six}"
        );
        assert!(six.contains("l_discount BETWEEN 0.05 AND 0.07") && six.contains("l_quantity < 24"), "{six}");
        assert!(filled(Dialect::Postgres, 1).contains("l_shipdate <= DATE '1998-09-02'"));
        assert!(filled(Dialect::Sqlite, 1).contains("l_shipdate <= '1998-09-02'"));
        assert!(filled(Dialect::DuckDb, 16).contains("p_size IN (49, 14, 23, 45, 19, 3, 36, 9)"));
        assert!(filled(Dialect::DuckDb, 22).contains("IN ('13', '31', '23', '29', '30', '18', '17')"));
        assert!(filled(Dialect::DuckDb, 11).contains("* 0.0001\n"));
    }

    #[test]
    fn wrong_parameters_are_reported() {
        let six = Parameters::validation(6, 1.0).unwrap();
        assert_eq!(sql(Dialect::DuckDb, 7, &six), Err(QueryError::OtherQuery { query: 7, given: 6 }));
        assert_eq!(sql(Dialect::DuckDb, 0, &six), Err(QueryError::Unknown(0)));
    }

    #[test]
    fn a_dialect_gets_no_words_that_it_does_not_know() {
        let strange: [(Dialect, &[&str]); 2] = [
            (Dialect::SqlServer, &[" limit ", " fetch ", " date '", "extract(", "substr(", " interval "]),
            // An AS behind the parenthesis of a table, which stands alone on its line.
            (Dialect::Oracle, &[" limit ", " top ", " ) as ", "substring(", " interval "]),
        ];
        for (dialect, words) in strange {
            for query in 1..=QUERIES {
                let text = sql(dialect, query, &Parameters::validation(query, 1.0).unwrap()).unwrap();
                let text = text.replace('\n', " ").to_lowercase();
                let found = words.iter().find(|word| text.contains(**word));
                assert_eq!(found, None, "{dialect}, query {query}: {text}");
            }
        }
    }

    /// What `workers/tests/test_dialects.py` fills the texts with:
    /// `THREADWISE_WRITE_DOCS=1 cargo test -p threadwise-tpch literals` writes it.
    #[test]
    fn the_literals_of_the_tests_in_python_are_those_of_the_validation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/queries/validation.tsv");
        let mut made = "dialect\tquery\tparameter\tliteral at scale factor 0.05\n".to_owned();
        for dialect in [Dialect::DuckDb, Dialect::SqlServer, Dialect::Oracle] {
            for query in 1..=QUERIES {
                let parameters = Parameters::validation(query, 0.05).unwrap();
                for (name, value) in parameters.values() {
                    made.push_str(&format!("{dialect}\t{query}\t{name}\t{}\n", literal(dialect, value)));
                }
            }
        }
        if std::env::var_os("THREADWISE_WRITE_DOCS").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), made, "write it as this test's comment says");
    }

    #[test]
    fn dialects_have_names() {
        assert_eq!(Dialect::named("datafusion"), Some(Dialect::DataFusion));
        assert_eq!(Dialect::named("mariadb"), None);
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::named(dialect.name()), Some(dialect));
        }
    }
}
