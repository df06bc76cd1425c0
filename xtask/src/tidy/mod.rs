//! `cargo xtask tidy`: rules beyond the compiler's. A rule is a pure function over text.
//!
//! Checks everything that git tracks or would track, so that a new file is checked before it is
//! committed; without git, everything except the build folder.

mod arrows;
mod bindings;
mod circles;
mod engines;
mod files;
mod floats;
mod graph;
mod modules;
mod orphans;
mod paths;
mod renderers;
mod source;
mod violation;
mod wording;
mod workloads;

use crate::command::Task;
pub use source::SourceFile;
use std::collections::BTreeSet;
use std::path::Path;
use violation::Violation;

/// Reads the tree, applies all rules, prints the violations.
pub fn run() -> Result<(), String> {
    let paths = project_files()?;
    let names = Names::new(&paths);
    let mut tree = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(|cause| format!("cannot read {path}: {cause}"))?;
        tree.push((path, bytes));
    }
    let mut found: Vec<Violation> =
        tree.iter().flat_map(|(path, bytes)| check(path, bytes, &names)).collect();
    found.extend(check_tree(&texts(&tree)));
    for violation in &found {
        eprintln!("error: {}:{}: {}", violation.path, violation.line, violation.what);
    }
    match found.len() {
        0 => {
            println!("{} files tidy", tree.len());
            Ok(())
        }
        errors => Err(format!("violations of the rules in CONTRIBUTING.md: {errors}")),
    }
}

/// Names that only some files may have.
struct Names {
    engines: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Names {
    /// From the paths of the tree.
    fn new(paths: &[String]) -> Self {
        let paths = || paths.iter().map(String::as_str);
        Self { engines: engines::names(paths()), kinds: renderers::kinds(paths()) }
    }
}

/// All rules on one file.
fn check(path: &str, bytes: &[u8], names: &Names) -> Vec<Violation> {
    let mut found = files::size(path, bytes.len());
    let Ok(text) = std::str::from_utf8(bytes) else { return found };
    found.extend(files::machine_paths(path, text));
    found.extend(wording::check(path, text));
    if path.ends_with(".rs") {
        let file = SourceFile::new(path, text);
        found.extend(modules::check(&file));
        found.extend(floats::check(&file));
        found.extend(engines::check(&file, &names.engines));
        found.extend(renderers::check(&file, &names.kinds, &names.engines));
        found.extend(workloads::check(&file));
    }
    found
}

/// Paths with contents that are text.
fn texts(tree: &[(String, Vec<u8>)]) -> Vec<(&str, &str)> {
    tree.iter().filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?))).collect()
}

/// Rules on all files together: paths with their texts.
fn check_tree(texts: &[(&str, &str)]) -> Vec<Violation> {
    let rust = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
    let files: Vec<SourceFile> = rust.map(|(path, text)| SourceFile::new(path, text)).collect();
    [
        arrows::check(texts),
        modules::unneeded(&files),
        circles::check(&files),
        bindings::check(&files),
        orphans::check(&files),
    ]
    .concat()
}

/// Paths of all that git tracks or would track, sorted.
pub fn project_files() -> Result<Vec<String>, String> {
    let git = Task::new("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut paths = match git.output() {
        Ok(list) => list.split('\0').map(str::to_owned).collect(),
        Err(_) => {
            let mut paths = Vec::new();
            walk(Path::new(""), &mut paths).map_err(|cause| format!("cannot list the tree: {cause}"))?;
            paths
        }
    };
    // Also drops files in git's index that are no longer in the tree.
    paths.retain(|path| !path.is_empty() && Path::new(path).is_file());
    paths.sort();
    Ok(paths)
}

fn walk(folder: &Path, paths: &mut Vec<String>) -> std::io::Result<()> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in std::fs::read_dir(here)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let path = folder.join(&name);
        if kind.is_dir() && name != ".git" && name != "target" {
            walk(&path, paths)?;
        } else if kind.is_file() {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new(&["crates/engine-oracle/src/lib.rs".to_owned()])
    }

    fn errors(path: &str, text: &str) -> usize {
        check(path, text.as_bytes(), &names()).len()
    }

    #[test]
    fn each_kind_of_file_gets_its_rules() {
        assert_eq!(errors("crates/machine/src/a.rs", "//! Purpose.\nfn a() {}\n"), 0);
        assert_eq!(errors("crates/machine/src/a.rs", "fn a() { todo!() }\n"), 2);
        assert_eq!(errors("docs/a.md", "fn a() { todo!() }\n"), 0);
        assert_eq!(errors("crates/machine/src/a.rs", "//! Purpose.\nfn a() { b(\"oracle\") }\n"), 1);
        assert_eq!(errors("crates/report/src/html/a.rs", "//! Purpose.\nfn a() { kinds::b() }\n"), 1);
        assert!(check("picture.png", &[0xff, 0xfe], &names()).is_empty());
        assert_eq!(check("picture.png", &vec![0xff; files::MAX_BYTES + 1], &names()).len(), 1);
    }

    #[test]
    fn the_tree_gets_the_rules_on_all_files() {
        let row = "## Crates\n| `a` | text | – |\n";
        let manifest = "[dependencies]\nthreadwise-b.workspace = true\n";
        let found = check_tree(&[("ARCHITECTURE.md", row), ("crates/a/Cargo.toml", manifest)]);
        assert!(found.iter().any(|violation| violation.path == "crates/a/Cargo.toml"));
        assert!(found.iter().any(|violation| violation.path == "crates/machine/src/pin.rs"));
    }

    #[test]
    fn the_walk_finds_this_file_and_no_build_folder() {
        let mut paths = Vec::new();
        let package = env!("CARGO_MANIFEST_DIR");
        walk(Path::new(package), &mut paths).expect("own folder");
        let below = |path: &String| path.strip_prefix(package).map(str::to_owned);
        assert!(paths.iter().filter_map(below).any(|path| path == "/src/tidy/mod.rs"));
        assert!(!paths.iter().filter_map(below).any(|path| path.contains("/target/")));
    }
}
