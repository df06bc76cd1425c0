//! Every Rust file belongs to a module: one that no `mod` names is not compiled, and its tests never run.

use super::Violation;
use super::source::{SourceFile, in_word, words};
use std::collections::{BTreeMap, BTreeSet};

/// Files that no root reaches. Modules that are declared inside of an inline module are searched beside those of the
/// file itself.
pub fn check(files: &[SourceFile<'_>]) -> Vec<Violation> {
    let by_path: BTreeMap<&str, &SourceFile<'_>> = files.iter().map(|file| (file.path, file)).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> =
        by_path.keys().filter(|path| is_root(path)).map(|path| (*path).to_owned()).collect();
    while let Some(path) = open.pop() {
        let Some(file) = by_path.get(path.as_str()).filter(|_| !reached.contains(&path)) else { continue };
        open.extend(declared(file));
        reached.insert(path);
    }
    let orphans = by_path.keys().filter(|path| !reached.contains(**path));
    orphans
        .map(|path| Violation::new(path, 0, "no module declares this file, so it is not compiled"))
        .collect()
}

/// Whether cargo starts a crate from it.
fn is_root(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (name, folder, above) = (parts.next(), parts.next(), parts.next());
    let is_target = |folder: Option<&str>| matches!(folder, Some("tests" | "benches" | "examples" | "bin"));
    // Folders of a crate's targets are beside `src`; modules of that name are below it.
    let is_source = path.contains("/src/") && !path.contains("/src/bin/");
    match name {
        Some("lib.rs" | "main.rs") if folder == Some("src") => true,
        Some("build.rs") => !is_source,
        Some("main.rs") if is_target(above) => !is_source,
        _ => is_target(folder) && !is_source,
    }
}

/// Possible files of a file's `mod NAME;`.
fn declared(file: &SourceFile<'_>) -> Vec<String> {
    let parent = file.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let is_mod = file.path.ends_with("/mod.rs");
    let below = if is_mod || is_root(file.path) { parent } else { file.path.trim_end_matches(".rs") };
    let named = words(&file.code, "mod").filter_map(|at| {
        let rest = file.code[at + "mod".len()..].trim_start();
        let end = rest.bytes().position(|byte| !in_word(byte))?;
        rest[end..].trim_start().starts_with(';').then(|| rest[..end].to_owned())
    });
    let by_name = named.flat_map(|name| [format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")]);
    let by_path = file.text.split("#[path = \"").skip(1).filter_map(|rest| rest.split_once('"'));
    by_name.chain(by_path.map(|(path, _)| resolved(parent, path))).collect()
}

/// A path below a folder, with its `..` resolved.
fn resolved(parent: &str, path: &str) -> String {
    let mut parts: Vec<&str> = parent.split('/').collect();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile<'_>> =
            files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        check(&files).into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn a_file_that_no_module_declares_is_found() {
        let found = orphans(&[
            ("crates/a/src/lib.rs", "//! A.\nmod b;\n// mod lost;\npub(crate) mod c;\nmod inline { }\n"),
            ("crates/a/src/b.rs", "mod deep;"),
            ("crates/a/src/b/deep.rs", ""),
            ("crates/a/src/c/mod.rs", "#[cfg(test)]\nmod tests;"),
            ("crates/a/src/c/tests.rs", ""),
            ("crates/a/src/lost.rs", "mod d;"),
            ("crates/a/src/lost/d.rs", ""),
            ("crates/a/tests/one.rs", "#[path = \"../shared/x.rs\"]\nmod x;\nmod common;"),
            ("crates/a/shared/x.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/tests/it/main.rs", "mod part;"),
            ("crates/a/tests/it/part.rs", ""),
            ("crates/a/tests/it/selection.rs", ""),
            ("crates/a/src/tests/never.rs", ""),
        ]);
        assert_eq!(
            found,
            [
                "crates/a/src/lost.rs",
                "crates/a/src/lost/d.rs",
                "crates/a/src/tests/never.rs",
                "crates/a/tests/it/selection.rs"
            ]
        );
    }
}
