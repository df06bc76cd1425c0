//! Licence expressions: whether a dependency may be used under the allowed licences.
//!
//! Source: SPDX specification 2.3, annex D (`AND` binds tighter than `OR`, `WITH` names an
//! exception); the slash is Cargo's older form of `OR`.

/// Whether the expression can be met with only the allowed licences.
pub fn allowed(expression: &str, licences: &[&str]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, licences };
    let met = reader.any().map_err(|why| format!("licence '{expression}': {why}"))?;
    match reader.words {
        [] => Ok(met),
        [word, ..] => Err(format!("licence '{expression}': '{word}' is not expected")),
    }
}

struct Reader<'a> {
    words: &'a [&'a str],
    licences: &'a [&'a str],
}

impl Reader<'_> {
    fn any(&mut self) -> Result<bool, String> {
        let mut met = self.every()?;
        while self.take("OR") {
            met |= self.every()?;
        }
        Ok(met)
    }

    fn every(&mut self) -> Result<bool, String> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Ok(met)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let met = self.any()?;
            return if self.take(")") { Ok(met) } else { Err("a ')' is missing".to_owned()) };
        }
        let licence = self.name()?;
        if self.take("WITH") {
            let exception = self.name()?;
            return Ok(self.licences.contains(&format!("{licence} WITH {exception}").as_str()));
        }
        Ok(self.licences.contains(&licence.as_str()))
    }

    fn name(&mut self) -> Result<String, String> {
        match self.words {
            [] => Err("it ends too early".to_owned()),
            [word @ ("AND" | "OR" | "WITH" | "(" | ")"), ..] => Err(format!("'{word}' is not expected")),
            [word, rest @ ..] => {
                self.words = rest;
                Ok((*word).to_owned())
            }
        }
    }

    fn take(&mut self, wanted: &str) -> bool {
        match self.words {
            [word, rest @ ..] if *word == wanted => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LICENCES: [&str; 2] = ["MIT", "Unicode-3.0"];

    #[test]
    fn single_names() {
        assert_eq!(allowed("MIT", &LICENCES), Ok(true));
        assert_eq!(allowed("GPL-3.0-only", &LICENCES), Ok(false));
        assert_eq!(allowed("mit", &LICENCES), Ok(false));
    }

    #[test]
    fn or_needs_one_and_needs_all() {
        assert_eq!(allowed("Apache-2.0 OR MIT", &LICENCES), Ok(true));
        assert_eq!(allowed("Apache-2.0/MIT", &LICENCES), Ok(true));
        assert_eq!(allowed("Unlicense / Zlib", &LICENCES), Ok(false));
        assert_eq!(allowed("Apache-2.0 AND MIT", &LICENCES), Ok(false));
        assert_eq!(allowed("Unicode-3.0 AND MIT", &LICENCES), Ok(true));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        assert_eq!(allowed("MIT OR Apache-2.0 AND Zlib", &LICENCES), Ok(true));
        assert_eq!(allowed("(MIT OR Apache-2.0) AND Zlib", &LICENCES), Ok(false));
        assert_eq!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &LICENCES), Ok(true));
    }

    #[test]
    fn an_exception_is_part_of_the_name() {
        let expression = "Apache-2.0 WITH LLVM-exception";
        assert_eq!(allowed(expression, &["Apache-2.0"]), Ok(false));
        assert_eq!(allowed(expression, &[expression]), Ok(true));
        assert_eq!(allowed("Apache-2.0 WITH LLVM-exception OR MIT", &LICENCES), Ok(true));
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for text in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH"] {
            assert!(allowed(text, &LICENCES).is_err(), "{text}");
        }
    }
}
