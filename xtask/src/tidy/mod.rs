//! `cargo xtask tidy`: rules beyond those of rustc, clippy and cargo. A rule is a pure function over text.
//!
//! Checks everything that git tracks or would track, so that a new file is checked before it is
//! committed; without git, everything except the build folder.

mod arrows;
mod circles;
mod modules;
mod rules;
mod source;

use crate::command::Task;
use crate::files;
pub use source::SourceFile;
use std::path::Path;

/// Largest tracked file, bytes; larger data belongs into a release or is made by a program.
const MAX_BYTES: usize = 1_000_000;
/// Most words of the map of the project.
const MAX_WORDS: (&str, usize) = ("ARCHITECTURE.md", 2000);

/// Reads the tree, applies all rules, prints what breaks them.
pub fn run() -> Result<(), String> {
    let paths = project_files()?;
    let mut tree = Vec::new();
    for path in &paths {
        tree.push((path.as_str(), files::read(path)?));
    }
    let found = check(&paths, &tree)?;
    found.iter().for_each(|line| eprintln!("error: {line}"));
    match found.len() {
        0 => {
            println!("{} files tidy", tree.len());
            Ok(())
        }
        errors => Err(format!("violations of the rules in CONTRIBUTING.md: {errors}")),
    }
}

/// What breaks a rule: its file, line (0 for the file as a whole), and what is wrong.
fn check(paths: &[String], tree: &[(&str, Vec<u8>)]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for (path, bytes) in tree.iter().filter(|(_, bytes)| bytes.len() > MAX_BYTES) {
        found.push(format!("{path}:0: {} bytes, more than {MAX_BYTES}", bytes.len()));
    }
    let texts = tree.iter().filter_map(|(path, bytes)| Some((*path, std::str::from_utf8(bytes).ok()?)));
    let texts: Vec<(&str, &str)> = texts.collect();
    for (path, text) in &texts {
        if path.ends_with(".rs") && !text.starts_with("//! ") {
            found.push(format!("{path}:1: the first line must describe the module: '//! …'"));
        }
        let words = text.split_whitespace().count();
        if (*path, true) == (MAX_WORDS.0, words > MAX_WORDS.1) {
            found.push(format!("{path}:0: {words} words, more than {}", MAX_WORDS.1));
        }
    }
    let files: Vec<SourceFile<'_>> = texts.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
    let orphans = modules::orphans(&files).map_err(|why| format!("a pattern of xtask tidy: {why}"))?;
    let found_in_files = rules::check(&rules::rules(paths)?, &files);
    Ok([found, found_in_files, arrows::check(&texts), circles::check(&files), orphans].concat())
}

/// Paths of all that git tracks or would track, sorted.
pub fn project_files() -> Result<Vec<String>, String> {
    let git = Task::new("git ls-files -z --cached --others --exclude-standard", &[]);
    let find = Task::new("find . ( -name .git -o -name target ) -prune -o -type f -printf %P\\0", &[]);
    let list = git.output().or_else(|_| find.output())?;
    // Also drops files in git's index that are no longer in the tree.
    let files = list.split('\0').filter(|path| Path::new(path).is_file());
    let mut paths: Vec<String> = files.map(str::to_owned).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(path: &str, text: &str) -> Vec<String> {
        let tree = [(path, text.as_bytes().to_vec()), ("ARCHITECTURE.md", b"## Crates\n".to_vec())];
        let found = check(&["crates/engine-oracle/src/lib.rs".to_owned()], &tree).unwrap();
        found.into_iter().filter(|line| line.starts_with(&format!("{path}:"))).collect()
    }

    #[test]
    fn each_kind_of_file_gets_its_rules() {
        assert!(errors("crates/machine/src/lib.rs", "//! Purpose.\nfn a() {}\n").is_empty());
        let oracle = errors("crates/machine/src/a.rs", "fn a() { b(\"oracle\") }\n");
        assert_eq!(oracle.len(), 3, "{oracle:?}");
        assert!(oracle[0].contains(":1: the first line") && oracle[2].contains("no module declares"));
        assert!(errors("crates/a/Cargo.toml", "")[0].contains("no row"));
        assert_eq!(errors("a.md", &"long ".repeat(MAX_BYTES / 5 + 1)).len(), 1);
        assert_eq!(errors(MAX_WORDS.0, &"word ".repeat(MAX_WORDS.1 + 1)).len(), 2);
    }
}
