//! Only an engine's own code has its name in a string.
//!
//! An engine is a crate `engine-NAME`, a module of `engine::engines`, or a worker program in `workers/`; the
//! names come from the tree, so that a new engine is covered from its first file on.

use super::Violation;
use super::source::{SourceFile, line_of};
use std::collections::BTreeSet;

/// Names that are also ordinary words or names of workloads; `engine-sql` is no engine.
const PLAIN_WORDS: [&str; 3] = ["command", "simulated", "sql"];

/// Places that name engines on purpose, beside files and folders of their own name.
const NAMED: [(&str, &str); 8] = [
    ("crates/python/src/engine.rs", "the table of engines on Python packages"),
    ("crates/tpch/src/query.rs", "dialects of SQL, which are called after engines"),
    ("crates/reload/src/", "engines of its own, one folder each"),
    ("crates/study/src/worklist.rs", "the default chain"),
    ("crates/study/src/load/definition.rs", "an example in the schema"),
    ("crates/worklist/src/", "chains and their items, which are called after engines"),
    ("crates/fuzz/src/", "inputs"),
    ("crates/runner/src/guard.rs", "other servers, including products that are an engine as a library"),
];

/// The engines' names, from the paths of the tree.
pub fn names<'p>(paths: impl Iterator<Item = &'p str>) -> BTreeSet<String> {
    let name = |path: &'p str| {
        let one_of_ours = path.strip_prefix("crates/engine-").and_then(|rest| rest.split_once('/'));
        let light = path.strip_prefix("crates/engine/src/engines/").and_then(|rest| rest.split_once('/'));
        let worker = path.strip_prefix("workers/").and_then(|rest| rest.split_once("_worker.py"));
        one_of_ours.or(light).or(worker).map(|(name, _)| name)
    };
    let all = paths.filter_map(name).filter(|name| *name != "threadwise" && !PLAIN_WORDS.contains(name));
    all.map(str::to_owned).collect()
}

/// Strings of shipped code that are an engine's name.
pub fn check(file: &SourceFile<'_>, names: &BTreeSet<String>) -> Vec<Violation> {
    if !file.path.starts_with("crates/") || NAMED.iter().any(|(place, _)| file.path.starts_with(place)) {
        return Vec::new();
    }
    let is_elsewhere = |name: &&String| !file.path.contains(name.as_str());
    let strings = file.shipped_strings();
    let found = names.iter().filter(is_elsewhere).flat_map(|name| {
        let quoted = format!("\"{name}\"");
        let at: Vec<usize> = strings.match_indices(&quoted).map(|(at, _)| at).collect();
        at.into_iter().map(move |at| (at, name))
    });
    let what = |name: &str| {
        format!(
            "the engine {name} is named outside of its crate: ask `Engine::properties` or `Engine::known_by`"
        )
    };
    found.map(|(at, name)| Violation::new(file.path, line_of(file.text, at), what(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeSet<String> {
        names(
            [
                "crates/engine-postgres/src/lib.rs",
                "crates/engine/src/engines/sqlite/mod.rs",
                "crates/engine/src/engines/mod.rs",
                "crates/engine/src/engines/command/mod.rs",
                "workers/duckdb_worker.py",
                "workers/threadwise_worker.py",
                "workers/threadwise_load.py",
            ]
            .into_iter(),
        )
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&SourceFile::new(path, text), &known()).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn names_come_from_the_tree() {
        assert_eq!(known().into_iter().collect::<Vec<_>>(), ["duckdb", "postgres", "sqlite"]);
    }

    #[test]
    fn a_name_in_a_string_is_told_and_nothing_else() {
        let text =
            "fn f(e: &str) -> bool {\n    // \"sqlite\"\n    matches!(e, \"sqlite\" | \"duckdb\")\n}\n";
        assert_eq!(lines("crates/runner/src/a.rs", text), [3, 3]);
        assert_eq!(lines("crates/runner/src/a.rs", "fn f() { g(\"sqlite_schema\", r\"postgres\") }"), [1]);
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() { g(\"sqlite\") }\n}\n";
        assert!(lines("crates/runner/src/a.rs", tests).is_empty());
        assert!(lines("crates/runner/tests/a.rs", text).is_empty());
    }

    #[test]
    fn its_own_files_and_tables_may_name_an_engine() {
        let text = "const NAME: &str = \"sqlite\";\n";
        for path in [
            "crates/engine/src/engines/sqlite/mod.rs",
            "crates/python/src/engine.rs",
            "crates/reload/src/sqlite/mod.rs",
            "xtask/src/servers.rs",
        ] {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        assert_eq!(lines("crates/engine-postgres/src/lib.rs", text), [1]);
    }
}
