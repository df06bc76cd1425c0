//! The items of a study, and their names.

use threadwise_machine::text::marked;

use crate::plan::Item;

/// The items of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// In the order given.
    pub items: Vec<Item>,
    /// Notes for the report.
    pub notes: Vec<String>,
}

impl Listed {
    /// Bytes of all items together.
    pub fn total_bytes(&self) -> u64 {
        self.items.iter().map(|item| item.size_bytes).sum()
    }
}

/// The last part of a path, as one line; other text unchanged.
pub(super) fn name(text: &str) -> String {
    let last = text.rsplit('/').find(|part| !part.is_empty()).unwrap_or(text);
    let chosen = if text.starts_with('/') { last } else { text };
    marked(chosen).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_last_parts_of_paths_in_one_line() {
        assert_eq!(
            (name("/a/b c.fdb"), name("a/b"), name("/a/x\ny")),
            ("b c.fdb".into(), "a/b".into(), "x\u{fffd}y".into())
        );
        assert_eq!(name("/"), "/");
    }
}
