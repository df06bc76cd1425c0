//! Rules for one Rust file: header, tests of the laboratory, and words that only named modules may use.

use super::Violation;
use super::source::{SourceFile, is_place, line_of, words};

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

/// Modules (or folders, with a slash at the end) that may know serde; tests may too.
const SERDE: [&str; 21] = [
    "crates/analysis/src/answers.rs",
    "crates/study/src/load/",
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

/// Folders of values whose form serde's derives define; other modules read and write them, so they may not use
/// `serde_json`.
const SERDE_DERIVES: [&str; 6] = [
    "crates/headroom/src/",
    "crates/machine/src/",
    "crates/study/src/",
    "crates/analysis/src/",
    "crates/document/src/",
    "crates/report/src/terminal/doctor.rs",
];

/// All rules of this module.
pub fn check(file: &SourceFile) -> Vec<Violation> {
    [header(file), laboratory(file), unfinished(file), unsafe_modules(file), serde_modules(file)].concat()
}

fn header(file: &SourceFile) -> Vec<Violation> {
    if file.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![Violation::new(file.path, 1, "the first line must describe the module: '//! …'")]
}

/// Tests of the laboratory, and no others, are ignored: `cargo xtask lab PART` finds them by their module `lab_PART`.
fn laboratory(file: &SourceFile) -> Vec<Violation> {
    let names = file.path.split('/').map(|name| name.trim_end_matches(".rs"));
    let lies_in: Vec<&str> = names.filter_map(|name| name.strip_prefix("lab_")).collect();
    let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
    let part =
        |line: &str| line.strip_prefix("#[ignore = \"laboratory: ")?.strip_suffix("\"]").map(str::to_owned);
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("#[ignore")) {
        let is_there = part(line).is_some_and(|part| {
            lies_in.contains(&part.as_str()) || lines.iter().any(|line| *line == format!("mod lab_{part} {{"))
        });
        if !is_there {
            let what =
                "only '#[ignore = \"laboratory: PART\"]', in a module lab_PART: cargo xtask lab runs it";
            found.push(Violation::new(file.path, index + 1, what));
        }
    }
    let is_ignored = |index: usize| lines[index..].iter().take(4).any(|line| part(line).is_some());
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| !lies_in.is_empty() && **line == "#[test]")
    {
        if !is_ignored(index) {
            let what = "a test of the laboratory that cargo test runs: '#[ignore = \"laboratory: PART\"]'";
            found.push(Violation::new(file.path, index + 1, what));
        }
    }
    found
}

/// Unfinished code, and examples that are never built.
fn unfinished(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in ["todo", "unimplemented", "dbg"] {
        let calls = words(&file.code, name).filter(|at| file.code[at + name.len()..].starts_with('!'));
        found.extend(
            calls.map(|at| {
                Violation::new(file.path, line_of(&file.code, at), format!("{name}! is not allowed"))
            }),
        );
    }
    for (index, line) in file.text.lines().enumerate() {
        let doc = line.trim_start().strip_prefix("///").or_else(|| line.trim_start().strip_prefix("//!"));
        if doc.is_some_and(|doc| doc.trim_start().starts_with("```ignore")) {
            found.push(Violation::new(file.path, index + 1, "an example that is never built: no ```ignore"));
        }
    }
    found
}

fn unsafe_modules(file: &SourceFile) -> Vec<Violation> {
    let at = ["unsafe", "unsafe_code"].iter().filter_map(|word| words(&file.code, word).next()).min();
    restricted(file, &UNSAFE, at, "unsafe")
}

fn serde_modules(file: &SourceFile) -> Vec<Violation> {
    let first = |word| words(&file.shipped, word).next();
    if SERDE_DERIVES.iter().any(|folder| file.path.starts_with(folder)) {
        return restricted(file, &SERDE, first("serde_json"), "serde_json");
    }
    let at = ["serde", "serde_json"].into_iter().filter_map(first).min();
    restricted(file, &SERDE, at, "serde")
}

/// Unused entries of the lists, which would permit unchecked uses.
pub fn unneeded(files: &[SourceFile]) -> Vec<Violation> {
    let has = |file: &SourceFile, word: &str| words(&file.code, word).next().is_some();
    let mut found = Vec::new();
    for (list, what) in [(&UNSAFE[..], ["unsafe", "unsafe_code"]), (&SERDE[..], ["serde", "serde_json"])] {
        let needs = |file: &SourceFile, module: &str| {
            is_place(file.path, module) && what.iter().any(|word| has(file, word))
        };
        let unneeded = list.iter().filter(|module| !files.iter().any(|file| needs(file, module)));
        found.extend(unneeded.map(|module| {
            let why = format!("has no {}: remove it from the list in xtask/src/tidy/modules.rs", what[0]);
            Violation::new(module, 0, why)
        }));
    }
    found
}

fn restricted(file: &SourceFile, modules: &[&str], at: Option<usize>, what: &str) -> Vec<Violation> {
    let named = modules.iter().any(|module| is_place(file.path, module));
    match at {
        Some(at) if !named => {
            let line = line_of(&file.code, at);
            vec![Violation::new(file.path, line, format!("{what} is only for: {}", modules.join(", ")))]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let file = SourceFile::new(path, text);
        check(&file).into_iter().map(|violation| (violation.line, violation.what)).collect()
    }

    fn in_a(text: &str) -> Vec<(usize, String)> {
        found("crates/study/src/a.rs", &format!("//! Purpose.\n{text}"))
    }

    #[test]
    fn a_module_starts_with_its_purpose() {
        assert_eq!(found("a.rs", "// Purpose.\n").len(), 1);
        assert_eq!(found("a.rs", "\n//! Purpose.\n").len(), 1);
        assert_eq!(found("a.rs", "").len(), 1);
        assert!(in_a("").is_empty());
    }

    #[test]
    fn tests_are_ignored_in_the_laboratory_and_only_there() {
        let ignored = "//! Purpose.\n#[test]\n#[ignore = \"laboratory: kills\"]\nfn a() {}";
        let there = "crates/a/tests/it/lab_kills/b.rs";
        assert!(
            found(there, ignored).is_empty() && found("crates/a/tests/it/lab_kills.rs", ignored).is_empty()
        );
        assert_eq!(found("crates/a/tests/it/b.rs", ignored)[0].0, 3);
        assert_eq!(found("crates/a/tests/it/lab_servers/b.rs", ignored)[0].0, 3);
        assert_eq!(found(there, "//! Purpose.\n#[test]\nfn a() {}")[0].0, 2);
        assert!(
            found("crates/a/src/b.rs", &ignored.replace("#[test]", "mod lab_kills {\n#[test]")).is_empty()
        );
        assert_eq!(in_a("#[test]\n#[ignore = \"slow\"]\nfn a() {}")[0].0, 3);
    }

    #[test]
    fn unfinished_code_is_found_and_talk_of_it_is_not() {
        assert_eq!(in_a("fn a() {\n todo!() }")[0].0, 3);
        assert_eq!(in_a("fn a() { unimplemented!(); dbg!(1); }").len(), 2);
        assert_eq!(in_a("/// ```ignore\n/// a\n/// ```\nfn a() {}")[0].0, 2);
        assert!(in_a("// todo!()\nfn todo() { let a = \"dbg!(1) #[ignore]\"; }").is_empty());
    }

    #[test]
    fn unsafe_is_for_named_modules() {
        let text = "//! Purpose.\nfn a() { unsafe { b() } }";
        assert!(found("crates/machine/src/pin.rs", text).is_empty());
        assert_eq!(found("crates/machine/src/other.rs", text)[0].0, 2);
        assert_eq!(found("crates/machine/tests/a.rs", text).len(), 1);
        assert_eq!(in_a("#![allow(unsafe_code)]").len(), 1);
        assert!(in_a("// unsafe\nfn a() { b(\"unsafe\") }").is_empty());
    }

    #[test]
    fn serde_is_for_named_modules_and_tests() {
        let text = "//! Purpose.\nuse serde::Serialize;";
        assert_eq!(found("crates/probe/src/a.rs", text)[0].0, 2);
        assert_eq!(found("crates/store/src/load.rs", text)[0].0, 2);
        assert!(found("crates/engine/src/protocol/toml.rs", text).is_empty());
        assert!(found("crates/threadwise/tests/a.rs", text).is_empty());
        assert!(in_a("#[cfg(test)]\nmod tests { use serde_json::json; }").is_empty());
        assert_eq!(in_a("fn a() { serde_json::to_string(&1); }").len(), 1);
    }

    #[test]
    fn values_may_derive_but_not_read_or_write() {
        let derive = "//! Purpose.\nuse serde::Serialize;";
        let write = "//! Purpose.\nfn a() { serde_json::to_string(&1); }";
        for path in ["crates/analysis/src/queries/table.rs", "crates/document/src/chart.rs"] {
            assert!(found(path, derive).is_empty());
            assert_eq!(found(path, write)[0].0, 2);
        }
    }

    #[test]
    fn entries_of_the_lists_are_needed() {
        let all = |text: &'static str| {
            let files: Vec<SourceFile> = [&UNSAFE[..], &SERDE[..]]
                .concat()
                .into_iter()
                .map(|module| SourceFile::new(module, text))
                .collect();
            unneeded(&files).len()
        };
        assert_eq!(all("//! Purpose.\nunsafe fn a() { serde::b() }"), 0);
        assert_eq!(all("//! Purpose of serde.\nunsafe fn a() {}"), SERDE.len());
        assert_eq!(all("//! Purpose.\nfn a() { serde_json::b() }"), UNSAFE.len());
    }
}
