//! Full names of tables in queries: these name tables alone, and some databases have no search path, or a prefix.

use threadwise_engine::workloads::tpch::tables::TABLES;

/// Words after which a list of tables has ended.
const ENDS: [&str; 8] = ["where", "group", "order", "having", "on", "select", "union", "option"];

/// The text with `[schema].`, or whatever else stands `before` a full name, before each table of the data.
pub fn qualified(sql: &str, before: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 200);
    // For each open parenthesis: whether a list of tables is being read, and whether its next word is a table.
    let mut levels = vec![(false, false)];
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        let lower = word.to_ascii_lowercase();
        match (first, levels.last_mut()) {
            ('(', _) => levels.push((false, false)),
            (')', _) => drop(levels.pop()),
            (',', Some(level)) => level.1 = level.0,
            (_, Some(level)) if lower == "from" || lower == "join" => *level = (true, true),
            (_, Some(level)) if ENDS.contains(&lower.as_str()) => *level = (false, false),
            (_, Some(level)) if level.1 && is_of_word(first) => {
                level.1 = false;
                if TABLES.iter().any(|table| table.name == lower) {
                    out.push_str(before);
                }
            }
            _ => {}
        }
        out.push_str(word);
    }
    out
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_tpch::{Dialect, Parameters, sql};

    #[test]
    fn tables_get_their_schema_and_nothing_else_does() {
        let text = "SELECT nation, 'from part' FROM (SELECT n_name AS nation FROM nation n1, orders) AS x, part LEFT \
                    OUTER JOIN customer ON c_custkey = 1 WHERE nation IN (SELECT 1 FROM lineitem)";
        assert_eq!(
            qualified(text, "[s]."),
            "SELECT nation, 'from part' FROM (SELECT n_name AS nation FROM [s].nation n1, [s].orders) AS x, [s].part \
             LEFT OUTER JOIN [s].customer ON c_custkey = 1 WHERE nation IN (SELECT 1 FROM [s].lineitem)"
        );
    }

    #[test]
    fn every_query_has_as_many_as_it_has_tables_and_year_from_is_none() {
        // Tables in FROM and JOIN of the texts, counted by hand.
        let wanted = [1, 9, 3, 2, 6, 1, 6, 8, 6, 4, 6, 2, 2, 2, 2, 3, 3, 4, 2, 5, 6, 3];
        for (query, wanted) in (1..=22).zip(wanted) {
            let parameters = Parameters::validation(query, 1.0).unwrap();
            let text = sql(Dialect::SqlServer, query, &parameters).unwrap();
            let found = qualified(&text, "[s].").matches("[s].").count();
            assert_eq!(found, wanted, "query {query}: {}", qualified(&text, "[s]."));
        }
    }
}
