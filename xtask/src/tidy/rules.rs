//! Rules on the texts of single files: what stands where it must not, as a table of patterns with their places.

use super::source::{SourceFile, line_of};
use regex::Regex;
use std::collections::BTreeSet;

/// The part of a file that a rule reads.
#[derive(Clone, Copy)]
enum Part {
    /// All of it.
    Whole,
    /// Comments, strings and documents.
    Prose,
    /// Rust without strings.
    Code,
    /// Rust without tests and strings.
    Shipped,
    /// Rust without tests, with its strings.
    Texts,
}

/// What some files must not have.
pub struct Rule {
    part: Part,
    /// Beginnings of the paths that it is for.
    places: &'static [&'static str],
    /// Parts of the paths that it is not for, each with something that the rule would find.
    except: Vec<String>,
    pattern: Regex,
    why: String,
}

/// Modules that may contain `unsafe`.
const UNSAFE: [&str; 8] = [
    "crates/machine/src/pin.rs",
    "crates/engine/src/clock.rs",
    "crates/engine/src/engines/command/spawn.rs",
    "crates/engine/src/engines/sqlite/ffi.rs",
    "crates/probe/src/kernels/aarch64.rs",
    "crates/probe/src/kernels/x86_64.rs",
    "crates/runner/src/spawn.rs",
    "crates/process/src/spawn.rs",
];

/// Folders of values whose form serde's derives define; other modules read and write them.
const VALUES: [&str; 6] = [
    "crates/headroom/src/",
    "crates/machine/src/",
    "crates/study/src/",
    "crates/analysis/src/",
    "crates/document/src/",
    "crates/report/src/terminal/doctor.rs",
];

/// Modules of [`VALUES`] that read and write JSON all the same.
const VALUES_WITH_JSON: [&str; 2] = ["crates/analysis/src/answers.rs", "crates/study/src/load/"];

/// Modules (or folders) that may know serde; tests may too.
const SERDE: [&str; 19] = [
    "crates/engine/src/engines/command/extract.rs",
    "crates/engine/src/protocol.rs",
    "crates/engine/src/protocol/",
    "crates/engine-oracle/src/proxy.rs",
    "crates/engine-postgres/src/workload/tpch/plan.rs",
    "crates/published/src/",
    "crates/worklist/src/",
    "crates/fleet/src/",
    "crates/store/src/json.rs",
    "crates/report/src/csv.rs",
    "crates/report/src/estimates.rs",
    "crates/report/src/json.rs",
    "crates/report/src/json/",
    "crates/report/src/html/data.rs",
    "crates/report/src/html/view.rs",
    "crates/fuzz/src/",
    "xtask/src/lab/",
    "xtask/src/package/sbom.rs",
    "xtask/src/site/mod.rs",
];

/// Crates whose output people read.
const READ_BY_PEOPLE: [&str; 4] =
    ["crates/analysis/src/", "crates/document/src/", "crates/report/src/", "crates/threadwise/src/"];

/// Where numbers become text: in the module that all others use; in columns for programs, whose decimals are part of a
/// contract; and seconds of a reload in a column and in JSON, which have nothing beside them to agree with.
const NUMBERS: [&str; 3] = [
    "crates/document/src/numbers.rs",
    "crates/report/src/csv.rs",
    "crates/threadwise/src/commands/reload/shown.rs",
];

/// Places that name engines on purpose, beside files and folders of their own name.
const NAME_ENGINES: [&str; 8] = [
    // The table of engines on Python packages.
    "crates/python/src/engine.rs",
    // Dialects of SQL, which are called after engines.
    "crates/tpch/src/query.rs",
    // Engines of its own, one folder each.
    "crates/reload/src/",
    // The default chain.
    "crates/study/src/worklist.rs",
    // An example in the schema.
    "crates/study/src/load/definition.rs",
    // Chains and their items, which are called after engines.
    "crates/worklist/src/",
    // Inputs.
    "crates/fuzz/src/",
    // Other servers, including products that are an engine as a library.
    "crates/runner/src/guard.rs",
];

/// Engines whose names are also ordinary words or names of workloads; `engine-sql` is no engine.
const PLAIN_WORDS: [&str; 4] = ["command", "simulated", "sql", "threadwise"];

/// The terminal and the page show documents. JSON and CSV are the contract for programs, and name kinds and engines.
const RENDERERS: [&str; 3] =
    ["crates/report/src/terminal.rs", "crates/report/src/terminal/", "crates/report/src/html/"];

/// What belongs to kinds of workload, beside their names.
const OF_KINDS: [&str; 3] = ["activity", "commands", "tpch"];

/// Forms that the project's English avoids, and what stands for them. The list grows when a form has been replaced
/// everywhere (CONTRIBUTING.md, "Rules").
const FORMS: [(&str, &str); 19] = [
    (r"somebody\w*", "name what acts: another process, a user"),
    (r"anybody\w*", "name what acts: any user, any process"),
    (r"nobody\w*", "say what does not happen: no process, no user"),
    (r"everybody\w*", "all users, all processes"),
    ("anew", "again"),
    ("to be had", "available"),
    ("cannot be had", "is not available, is not possible"),
    ("of ours", "our"),
    ("of yours", "your"),
    ("mend|mends|mended", "repair, repairs, repaired"),
    ("at the least", "at least"),
    ("at the most", "at most"),
    ("no news", "say what has not changed"),
    ("known no better", "uncertain by"),
    ("came to lie", "lies"),
    ("in vain", "without effect"),
    ("told", "said, reported, shown"),
    ("last words", "last message"),
    ("is none of", "is not one of"),
];

/// What belongs to the past, lists of words, and the account `nobody`.
const OTHER_WORDS: [&str; 5] =
    ["CHANGELOG.md", "evidence/", "clippy.toml", "xtask/src/tidy/rules.rs", "crates/process/src/users.rs"];

/// The rules; names of engines and of kinds come from the paths of the tree, so that a new one is covered from its
/// first file on.
///
/// # Errors
/// A pattern is wrong.
pub fn rules(paths: &[String]) -> Result<Vec<Rule>, String> {
    let (engines, kinds) = (engines(paths), kinds(paths));
    let any = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join("|");
    let mut rules = Vec::new();
    let mut add = |part, places, except: &[&str], pattern: &str, why: &str| {
        let pattern = Regex::new(pattern).map_err(|why| format!("a rule of xtask tidy: {why}"))?;
        let except = except.iter().map(|place| (*place).to_owned()).collect();
        rules.push(Rule { part, places, except, pattern, why: why.to_owned() });
        Ok::<(), String>(())
    };
    let lies_in = |places: &[&str]| format!("only for {}", places.join(", "));
    add(Part::Code, &[], &UNSAFE, r"\bunsafe(?:_code)?\b", &lies_in(&UNSAFE))?;
    let with_serde = [&SERDE[..], &VALUES].concat();
    add(Part::Shipped, &[], &with_serde, r"\bserde(?:_json)?\b", &lies_in(&with_serde))?;
    add(Part::Shipped, &VALUES, &VALUES_WITH_JSON, r"\bserde_json\b", &lies_in(&VALUES_WITH_JSON))?;
    let numbers = "use document::numbers, which has the digits of all reports";
    let placeholder = r"(?:^|[^{])(\{\w*:[^{}\s]*(?:\.[\w*][^{}\s]*|[eE])\})";
    add(Part::Texts, &READ_BY_PEOPLE, &NUMBERS, placeholder, numbers)?;
    let workload = r#"\bworkload(?:\.as_str\(\)|\.name\(\)|\.to_string\(\)|\(\))*\s*[=!]=\s*"|\bWORKLOAD\b"#;
    let typed = "a workload's name is compared as text: match threadwise_study::Workload";
    add(Part::Texts, &["crates/"], &[], workload, typed)?;
    for engine in &engines {
        let except = [&NAME_ENGINES[..], &[engine]].concat();
        let asked = "an engine is named outside of its crate: ask `Engine::properties` or `Engine::known_by`";
        add(Part::Texts, &["crates/"], &except, &format!(r#""{engine}""#), asked)?;
    }
    let shown = "a renderer names an engine or a kind of workload: what it shows belongs into the document";
    add(Part::Texts, &RENDERERS, &[], &format!(r"\b(?:{}|{})\b", any(&engines), any(&kinds)), shown)?;
    // Both are also words of reports.
    add(Part::Shipped, &RENDERERS, &[], r"\bcommand\b|\bkinds::|::kinds\b", shown)?;
    for (form, instead) in FORMS {
        add(Part::Prose, &[], &OTHER_WORDS, &format!(r"(?i)(?:^|[^\w-])({form})(?:$|[^\w-])"), instead)?;
    }
    let users = ["/home/alice", "/home/bob"];
    let path = r"(?:^|[^\w.~/})\]-])(/(?:work|root)/|/home/\w+)";
    add(Part::Whole, &[], &users, path, "a path of one machine")?;
    Ok(rules)
}

/// Engines: a crate `engine-NAME`, a module of `engine::engines`, or a worker program in `workers/`.
fn engines(paths: &[String]) -> BTreeSet<&str> {
    let names = paths.iter().filter_map(|path| {
        let ours = path.strip_prefix("crates/engine-");
        let ours = ours.or_else(|| path.strip_prefix("crates/engine/src/engines/"));
        let worker = || path.strip_prefix("workers/")?.split_once("_worker.py");
        ours.and_then(|rest| rest.split_once('/')).or_else(worker)
    });
    names.map(|(name, _)| name).filter(|name| !PLAIN_WORDS.contains(name)).collect()
}

/// Kinds of workload: files and folders of `analysis::kinds`. `command` is also a word of reports.
fn kinds(paths: &[String]) -> BTreeSet<&str> {
    let files = paths.iter().filter_map(|path| path.strip_prefix("crates/analysis/src/kinds/"));
    let names = files.filter_map(|file| file.trim_end_matches(".rs").split('/').next());
    names.filter(|name| !["mod", "command"].contains(name)).chain(OF_KINDS).collect()
}

/// What is found in files where it must not stand, and exceptions that nothing needs.
pub fn check(rules: &[Rule], files: &[SourceFile<'_>]) -> Vec<String> {
    let (mut found, mut needed) = (Vec::new(), BTreeSet::new());
    for file in files {
        let is_read = [".rs", ".md", ".toml", ".py"].iter().any(|end| file.path.ends_with(end));
        let prose = if is_read { file.prose() } else { String::new() };
        let parts = [file.text.to_owned(), prose, file.code(), file.shipped_code(), file.shipped_text()];
        let is_for = |rule: &&Rule| {
            rule.places.is_empty() || rule.places.iter().any(|place| file.path.starts_with(place))
        };
        for rule in rules.iter().filter(is_for) {
            for captures in rule.pattern.captures_iter(&parts[rule.part as usize]) {
                let Some(place) = captures.get(1).or_else(|| captures.get(0)) else { continue };
                let what = place.as_str();
                match rule.except.iter().find(|except| file.path.contains(*except) || *except == what) {
                    Some(except) => _ = needed.insert(except),
                    None => {
                        let line = line_of(file.text, place.start());
                        found.push(format!("{}:{line}: '{what}': {}", file.path, rule.why));
                    }
                }
            }
        }
    }
    let all: BTreeSet<&String> = rules.iter().flat_map(|rule| &rule.except).collect();
    let unneeded = all.into_iter().filter(|except| except.contains('/') && !needed.contains(except));
    found.extend(unneeded.map(|except| format!("xtask/src/tidy/rules.rs:0: no file needs '{except}'")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: [&str; 6] = [
        "crates/engine-postgres/src/lib.rs",
        "crates/engine/src/engines/sqlite/mod.rs",
        "crates/engine/src/engines/mod.rs",
        "crates/engine/src/engines/command/mod.rs",
        "workers/threadwise_worker.py",
        "workers/duckdb_worker.py",
    ];

    /// Lines of what is found in a file.
    fn lines(path: &str, text: &str) -> Vec<usize> {
        let paths = TREE.map(str::to_owned).to_vec();
        let kind = "crates/analysis/src/kinds/rate/mod.rs".to_owned();
        let rules = rules(&[paths, vec![kind]].concat()).unwrap();
        let found = check(&rules, &[SourceFile::new(path, text)]);
        let found =
            found.iter().filter_map(|line| line.strip_prefix(path)?.strip_prefix(':')?.split_once(':'));
        found.map(|(line, _)| line.parse().unwrap()).collect()
    }

    #[test]
    fn engines_and_kinds_come_from_the_tree() {
        let paths = TREE.map(str::to_owned);
        assert_eq!(engines(&paths).into_iter().collect::<Vec<_>>(), ["duckdb", "postgres", "sqlite"]);
        let paths =
            ["mod.rs", "queries/dop.rs", "rate.rs"].map(|file| format!("crates/analysis/src/kinds/{file}"));
        let found: Vec<&str> = kinds(&paths).into_iter().collect();
        assert_eq!(found, ["activity", "commands", "queries", "rate", "tpch"]);
    }

    #[test]
    fn places_that_nothing_needs_are_found() {
        let rules = rules(&[]).unwrap();
        let found = check(&rules, &[SourceFile::new(UNSAFE[0], "unsafe fn a() {}")]);
        assert!(!found.iter().any(|line| line.contains(UNSAFE[0])), "{found:?}");
        assert!(
            found.iter().any(|line| line.ends_with(&format!("no file needs '{}'", UNSAFE[1]))),
            "{found:?}"
        );
    }

    #[test]
    fn unsafe_and_serde_are_for_named_modules() {
        let text = "fn a() { unsafe { b() } }";
        assert!(lines("crates/machine/src/pin.rs", text).is_empty());
        assert_eq!(lines("crates/machine/src/other.rs", text), [1]);
        assert_eq!(lines("crates/machine/tests/a.rs", text), [1]);
        assert_eq!(lines("crates/study/src/a.rs", "#![allow(unsafe_code)]"), [1]);
        assert!(lines("crates/study/src/a.rs", "// unsafe\nfn a() { b(\"unsafe\") }").is_empty());
        let text = "use serde::Serialize;\nfn a() { serde_json::to_string(&1); }";
        assert_eq!(lines("crates/probe/src/a.rs", text), [1, 2]);
        assert_eq!(lines("crates/analysis/src/queries/table.rs", text), [2]);
        for path in ["crates/engine/src/protocol/toml.rs", "crates/threadwise/tests/a.rs"] {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        assert!(
            lines("crates/probe/src/a.rs", "#[cfg(test)]\nmod tests { use serde_json::json; }").is_empty()
        );
    }

    #[test]
    fn precisions_and_exponents_are_found() {
        let in_a = |placeholder: &str| format!("fn f() {{\n    g(\"a {placeholder} b\");\n}}\n");
        for placeholder in
            ["{:.2}", "{x:.*}", "{0:.decimals$}", "{:>8.2}", "{:+.1e}", "{value:e}", "{:.prec$?}"]
        {
            assert_eq!(lines("crates/report/src/a.rs", &in_a(placeholder)), [2], "{placeholder}");
            for path in
                ["crates/document/src/numbers.rs", "crates/report/tests/a.rs", "crates/probe/src/a.rs"]
            {
                assert!(lines(path, &in_a(placeholder)).is_empty(), "{path}");
            }
        }
        for other in
            ["{}", "{x}", "{:>8}", "{x:width$}", "{:02x}", "{:?}", "{:.<9}", "{{:.2}} said", "{ a: 1.5 }"]
        {
            assert!(lines("crates/report/src/a.rs", &in_a(other)).is_empty(), "{other}");
        }
        assert!(lines("crates/report/src/a.rs", "// {:.2}\nconst A: B = B { x: 1.5 };\n").is_empty());
    }

    #[test]
    fn names_of_workloads_are_not_compared_as_text() {
        let text = "fn a(s: &S) -> bool {\n    s.workload == \"insert\"\n    || s.workload.name() != \"tpch\"\n\
                    || s.workload == tpch::WORKLOAD\n    || s.workload == Workload::Insert\n\
                    || known.workload == s.workload.name()\n}\n// workload == \"a\"\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [2, 3, 4]);
        assert_eq!(lines("crates/a/tests/it/b.rs", text), Vec::<usize>::new());
        assert_eq!(lines("crates/a/src/b.rs", "fn f() { g(\"workload\", WORKLOADS) }"), Vec::<usize>::new());
    }

    #[test]
    fn only_an_engines_own_files_have_its_name_in_a_string() {
        let text =
            "fn f(e: &str) -> bool {\n    // \"sqlite\"\n    matches!(e, \"sqlite\" | \"duckdb\")\n}\n";
        assert_eq!(lines("crates/runner/src/a.rs", text), [3, 3]);
        assert!(lines("crates/runner/tests/a.rs", text).is_empty());
        assert!(lines("crates/runner/src/a.rs", "fn f() { g(\"sqlite_schema\", r\"x\") }").is_empty());
        let text = "const NAME: &str = \"sqlite\";\n";
        for path in
            ["crates/engine/src/engines/sqlite/mod.rs", "crates/python/src/engine.rs", "xtask/src/servers.rs"]
        {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        assert_eq!(lines("crates/engine-postgres/src/lib.rs", text), [1]);
    }

    #[test]
    fn renderers_name_no_kinds_and_no_engines() {
        let text = "use a::kinds::b;\nfn f(t: &T) {\n    g(\"a postgres\", rate, t.kinds);\n}\n// rate\n";
        for path in ["crates/report/src/terminal.rs", "crates/report/src/html/view.rs"] {
            let mut found = lines(path, text);
            found.sort_unstable();
            assert_eq!(found, [1, 3, 3], "{path}");
        }
        assert_eq!(lines("crates/report/src/html/a.rs", "fn f() { g(\"rate.js\", \"rates\", Rate) }"), [1]);
        for path in ["crates/report/src/csv.rs", "crates/report/src/html/tests.rs"] {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        assert!(lines("crates/report/src/html/a.rs", "fn f() { g(\"command\") }").is_empty());
        assert_eq!(lines("crates/report/src/html/a.rs", "fn f() { command::g() }"), [1]);
    }

    #[test]
    fn forms_are_found_in_prose_and_not_in_code() {
        assert_eq!(lines("a.rs", "let somebody = 1;\n// Somebody else.\nfail(\"somebody\");"), [2, 3]);
        assert_eq!(lines("a.md", "Fine.\nHe is somebody's"), [2]);
        assert!(lines("CHANGELOG.md", "somebody").is_empty());
        assert!(lines("a.md", "recommended, told-off").is_empty());
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let path = |folder: &str, rest: &str| format!("first\nsee \"/{folder}/{rest}\"\n");
        for (folder, rest) in
            [("work", "main"), ("root", ".cargo"), ("home", "ann/x"), ("work", ""), ("home", "alicia/x")]
        {
            assert_eq!(lines("a.svg", &path(folder, rest)), [2], "{folder} {rest}");
        }
        let url = format!("https://example.org/{}/x", "work");
        let relative = format!("crates/{}/src", "work");
        let all_homes = format!("mounts on /{}/ or /{}/<name>", "home", "home");
        let example = format!("/{}/alice/groups", "home");
        for line in [&example, &url, &relative, &all_homes, "/proc/self/status", "a network/root"] {
            assert!(lines("a.md", line).is_empty(), "{line}");
        }
    }
}
