//! SQL texts with places for names and numbers, which cannot be parameters; with lines for some options alone, and
//! parts that are repeated for every row of a transaction.
//!
//! `{name}` is a place. A line that begins with `?flag ` or `?!flag ` (several are joined by `&`) is only there with or
//! without that flag. `[[text|between]]` is repeated for every row, with the row's number in the place of `{row}`.
//! Lines of comments (`--`) are left out. Names and values are threadwise's: identifiers, numbers, or SQL; a user's
//! text is never filled in.

/// A text with what its places, flags and repetitions stand for.
#[derive(Debug, Clone, Default)]
pub struct Template {
    places: Vec<(&'static str, String)>,
    flags: Vec<&'static str>,
    rows: u64,
}

impl Template {
    /// Gives a place its value.
    #[must_use]
    pub fn with(mut self, place: &'static str, value: impl ToString) -> Self {
        self.places.push((place, value.to_string()));
        self
    }

    /// Sets a flag if this is so.
    #[must_use]
    pub fn flag(mut self, flag: &'static str, is_set: bool) -> Self {
        self.flags.extend(is_set.then_some(flag));
        self
    }

    /// How often repeated parts are there.
    #[must_use]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    /// The text with all of it filled in.
    pub fn fill(&self, sql: &str) -> String {
        let lines: Vec<&str> = sql.lines().filter_map(|line| self.line(line)).collect();
        let sql = self.repeat(&lines.join("\n"));
        self.places.iter().fold(sql, |sql, (name, value)| sql.replace(&format!("{{{name}}}"), value))
    }

    /// The line without its flags; `None` for comments, and if a flag is not as the line needs it.
    fn line<'a>(&self, line: &'a str) -> Option<&'a str> {
        if line.trim_start().starts_with("--") {
            return None;
        }
        let Some((flags, rest)) = line.strip_prefix('?').and_then(|line| line.split_once(' ')) else {
            return Some(line);
        };
        let is_met = |flag: &str| match flag.strip_prefix('!') {
            Some(flag) => !self.flags.contains(&flag),
            None => self.flags.contains(&flag),
        };
        flags.split('&').all(is_met).then_some(rest)
    }

    fn repeat(&self, sql: &str) -> String {
        let mut filled = String::with_capacity(sql.len());
        let mut rest = sql;
        while let Some((before, (text, after))) = rest.split_once("[[").and_then(|(before, after)| {
            let (part, after) = after.split_once("]]")?;
            Some((before, (part.rsplit_once('|').unwrap_or((part, "")), after)))
        }) {
            let (text, between) = text;
            let rows: Vec<String> =
                (0..self.rows).map(|row| text.replace("{row}", &row.to_string())).collect();
            filled.push_str(before);
            filled.push_str(&rows.join(between));
            rest = after;
        }
        filled + rest
    }
}

/// A text with these places filled in.
pub fn fill(sql: &str, places: &[(&'static str, &str)]) -> String {
    places.iter().fold(Template::default(), |all, (place, value)| all.with(place, value)).fill(sql)
}

/// Names of one treatment's objects.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Their schema or database; empty where a database has none. Names without quotes begin with it: it is a prefix.
    pub schema: &'a str,
    /// Suffix of the names.
    pub suffix: &'a str,
    /// Opening and closing quote of a name.
    pub quotes: [&'a str; 2],
}

impl Names<'_> {
    /// A quoted object name with its schema.
    pub fn quoted(&self, name: &str) -> String {
        let [open, close] = self.quotes;
        match self.schema {
            schema if open.is_empty() => format!("{schema}{name}"),
            "" => format!("{open}{name}{close}"),
            schema => format!("{open}{schema}{close}.{open}{name}{close}"),
        }
    }

    /// The same for an object of the treatment, by its prefix.
    pub fn object(&self, begins: &str) -> String {
        self.quoted(&format!("{begins}{}", self.suffix))
    }

    /// The bare name of the table that a session of `logical-io` reads.
    pub fn bare_blocks(&self, table: u32) -> String {
        format!("blocks{}_{table}", self.suffix)
    }

    /// The table that a session of `logical-io` reads.
    pub fn blocks(&self, table: u32) -> String {
        self.quoted(&self.bare_blocks(table))
    }

    /// The procedure that reads this table.
    pub fn read_blocks(&self, table: u32) -> String {
        self.quoted(&format!("read_blocks{}_{table}", self.suffix))
    }

    /// The table that rows are inserted into.
    pub fn inserted(&self) -> String {
        self.object("inserted")
    }

    /// The procedure that inserts.
    pub fn insert_rows(&self) -> String {
        self.object("insert_rows")
    }
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
    fn lines_have_flags_and_parts_are_repeated_for_every_row() {
        let sql = "?hot a\n?!hot b\n?hot&!shared c {n}\nVALUES [[(k{row}, {n})|, ]]; [[SET k{row};| ]]";
        let text = |flags: &[&'static str], rows| {
            let all = Template::default().with("n", 7).rows(rows);
            flags.iter().fold(all, |all, flag| all.flag(flag, true)).fill(sql)
        };
        assert_eq!(text(&["hot"], 2), "a\nc 7\nVALUES (k0, 7), (k1, 7); SET k0; SET k1;");
        assert_eq!(text(&["hot", "shared"], 1), "a\nVALUES (k0, 7); SET k0;");
        assert_eq!(text(&[], 0), "b\nVALUES ; ");
    }

    #[test]
    fn names_are_quoted_as_the_server_does() {
        let names = Names { schema: "s", suffix: "_1", quotes: ["[", "]"] };
        assert_eq!(
            (names.blocks(2), names.inserted()),
            ("[s].[blocks_1_2]".into(), "[s].[inserted_1]".into())
        );
        let names = Names { quotes: ["`", "`"], ..names };
        assert_eq!(
            (names.object("seed"), names.bare_blocks(0)),
            ("`s`.`seed_1`".into(), "blocks_1_0".into())
        );
        let names = Names { schema: "TW_", quotes: ["", ""], ..names };
        assert_eq!(names.blocks(3), "TW_blocks_1_3");
    }
}
