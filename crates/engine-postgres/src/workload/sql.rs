//! SQL files with names and numbers put in: `{table}` and the like, which cannot be parameters.

/// The text with each `{name}` replaced. Names and values are ours: identifiers, numbers, or SQL made
/// here; nothing of a user's gets in unquoted.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled() {
        let filled = fill("FROM {schema}.{table} -- {table}", &[("schema", "s"), ("table", "t")]);
        assert_eq!(filled, "FROM s.t -- t");
    }
}
