//! SQL statements of workloads inside a server: names of objects, and placeholders filled in.

/// Names of one treatment's objects, for statements.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Their schema or database.
    pub schema: &'a str,
    /// Suffix of the names.
    pub suffix: &'a str,
    /// Opening and closing quote of a name.
    pub quotes: [char; 2],
}

impl Names<'_> {
    /// A quoted object name with its schema, by its prefix.
    pub fn object(&self, begins: &str) -> String {
        let [open, close] = self.quotes;
        format!("{open}{}{close}.{open}{begins}{}{close}", self.schema, self.suffix)
    }

    fn numbered(&self, begins: &str, number: u32) -> String {
        let [open, close] = self.quotes;
        format!("{open}{}{close}.{open}{begins}{}_{number}{close}", self.schema, self.suffix)
    }

    /// The table that a session of `logical-io` reads.
    pub fn blocks(&self, table: u32) -> String {
        self.numbered("blocks", table)
    }

    /// The procedure that reads this table.
    pub fn read_blocks(&self, table: u32) -> String {
        self.numbered("read_blocks", table)
    }

    /// The table that rows are inserted into.
    pub fn inserted(&self) -> String {
        self.object("inserted")
    }

    /// The table of facts about the seeded data.
    pub fn facts(&self) -> String {
        self.object("facts")
    }

    /// The procedure that inserts.
    pub fn insert_rows(&self) -> String {
        self.object("insert_rows")
    }
}

/// A statement with its placeholders filled in and its comment lines removed.
pub fn fill(sql: &str, places: &[(&str, &str)]) -> String {
    let bare: Vec<&str> = sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    places.iter().fold(bare.join("\n"), |sql, (name, value)| sql.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_comments_left_out() {
        let sql = fill("-- what\nSELECT {a}, {b}\n  -- more\nFROM {a}", &[("a", "x"), ("b", "y")]);
        assert_eq!(sql, "SELECT x, y\nFROM x");
    }

    #[test]
    fn names_are_quoted_as_the_server_does() {
        let names = Names { schema: "s", suffix: "_1", quotes: ['[', ']'] };
        assert_eq!(
            (names.blocks(2), names.inserted()),
            ("[s].[blocks_1_2]".into(), "[s].[inserted_1]".into())
        );
        let names = Names { quotes: ['`', '`'], ..names };
        assert_eq!(names.object("seed"), "`s`.`seed_1`");
    }
}
