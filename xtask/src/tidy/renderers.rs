//! The terminal and the page show documents: they know neither kinds of workloads nor engines. JSON and CSV are
//! the contract for programs, and name both.

use super::Violation;
use super::source::{SourceFile, is_place, line_of, words};
use std::collections::BTreeSet;

/// The renderers' files, and folders with a slash at the end.
const RENDERERS: [&str; 3] =
    ["crates/report/src/terminal.rs", "crates/report/src/terminal/", "crates/report/src/html/"];

/// The folder of the kinds.
const KINDS: &str = "crates/analysis/src/kinds/";

/// Modules and workloads that belong to kinds, beside the kinds' names.
const OF_KINDS: [&str; 4] = ["activity", "commands", MODULE, "tpch"];

/// The module of all kinds; machines also have "kinds" of cores, so only paths count.
const MODULE: &str = "kinds";

/// A kind whose name is also a word in reports: it is searched in code, not in texts.
const PLAIN_WORD: &str = "command";

/// Names of the kinds, from the paths of the tree, and of what belongs to them.
pub fn kinds<'p>(paths: impl Iterator<Item = &'p str>) -> BTreeSet<String> {
    let name = |path: &'p str| {
        let name = path.strip_prefix(KINDS)?.split('/').next()?.trim_end_matches(".rs");
        (name != "mod").then_some(name)
    };
    paths.filter_map(name).chain(OF_KINDS).map(str::to_owned).collect()
}

/// Names of kinds and engines in the shipped code and texts of a renderer.
pub fn check(file: &SourceFile<'_>, kinds: &BTreeSet<String>, engines: &BTreeSet<String>) -> Vec<Violation> {
    if !RENDERERS.iter().any(|place| is_place(file.path, place)) {
        return Vec::new();
    }
    let texts = file.shipped_strings();
    let named = |name: &str, what: &str| -> Vec<Violation> {
        let searched = if name == PLAIN_WORD { &file.shipped } else { &texts };
        let why = format!("a renderer names the {what} {name}: what it shows belongs into the document");
        let is_path =
            |at: usize| searched[..at].ends_with("::") || searched[at + name.len()..].starts_with("::");
        words(searched, name)
            .filter(|at| name != MODULE || is_path(*at))
            .map(|at| Violation::new(file.path, line_of(file.text, at), why.clone()))
            .collect()
    };
    let of_kinds = kinds.iter().flat_map(|name| named(name, "kind of workload"));
    of_kinds.chain(engines.iter().flat_map(|name| named(name, "engine"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let kinds =
            kinds(["crates/analysis/src/kinds/mod.rs", "crates/analysis/src/kinds/rate/mod.rs"].into_iter());
        let kinds = kinds.into_iter().chain([PLAIN_WORD.to_owned()]).collect();
        let found = check(&SourceFile::new(path, text), &kinds, &BTreeSet::from(["oracle".to_owned()]));
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn kinds_come_from_the_tree() {
        let paths = ["crates/analysis/src/kinds/mod.rs", "crates/analysis/src/kinds/queries/dop.rs"];
        let paths = paths.into_iter().chain(["crates/analysis/src/kinds/rate.rs"]);
        let all: Vec<String> = kinds(paths).into_iter().collect();
        assert_eq!(all, ["activity", "commands", "kinds", "queries", "rate", "tpch"]);
    }

    #[test]
    fn names_in_code_and_texts_are_found() {
        let text = "use a::kinds::b;\nfn f(t: &T) {\n    g(\"oracle\", rate, t.kinds);\n}\n// rate\n";
        for path in ["crates/report/src/terminal.rs", "crates/report/src/html/view.rs"] {
            assert_eq!(lines(path, text), [1, 3, 3], "{path}");
        }
        assert_eq!(lines("crates/report/src/html/a.rs", "fn f() { g(\"rate.js\", \"rates\", Rate) }"), [1]);
    }

    #[test]
    fn data_and_tests_may_name_them() {
        let text = "use a::kinds::b;\n";
        for path in
            ["crates/report/src/json.rs", "crates/report/src/csv.rs", "crates/report/src/html/tests.rs"]
        {
            assert!(lines(path, text).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_plain_word_is_looked_for_in_code_only() {
        assert!(lines("crates/report/src/html/a.rs", "fn f() { g(\"command\") }").is_empty());
        assert_eq!(lines("crates/report/src/html/a.rs", "fn f() { command::g() }"), [1]);
    }
}
