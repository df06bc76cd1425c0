//! Files of a crate do not need each other in a circle: what two of them share is below both.
//!
//! An arrow goes from the file that names something to the file that defines it, through any re-exports.
//! Declaring modules and re-exporting from them is not an arrow. The common fault is a type in `mod.rs` beside
//! functions that call modules which use that type: the type belongs into a separate file.

use super::modules::{Module, ModulePath, Modules, PathTarget};
use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// Names that one file takes from another.
type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Circles of all crates.
pub fn check(files: &[SourceFile<'_>]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &SourceFile<'_>)>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.shipped.is_empty()) {
        if let Some((name, path)) = file.path.strip_prefix("crates/").unwrap_or(file.path).split_once("/src/")
        {
            crates.entry(name).or_default().push((path, file));
        }
    }
    crates.into_values().filter_map(|files| circle(arrows(&Modules::read(&files)))).collect()
}

/// The arrows of circles and of ways from one to another, each with what it takes.
fn circle(mut arrows: Arrows) -> Option<String> {
    loop {
        let (from, to): (BTreeSet<String>, BTreeSet<String>) = arrows.keys().cloned().unzip();
        let before = arrows.len();
        arrows.retain(|arrow, _| to.contains(&arrow.0) && from.contains(&arrow.1));
        if arrows.len() == before {
            break;
        }
    }
    let lines = arrows.iter().map(|((from, to), names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("\n    {from} takes {} from {to}", names.join(", "))
    });
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("files in a circle:{lines}"))
}

/// The names that each file takes from others.
fn arrows(modules: &Modules) -> Arrows {
    let mut arrows = Arrows::new();
    for (at, module) in &modules.0 {
        for (place, name) in taken(modules, at, module) {
            if let Some(target) = modules.0.get(&place).filter(|target| target.file != module.file) {
                arrows.entry((module.file.clone(), target.file.clone())).or_default().insert(name);
            }
        }
    }
    arrows
}

/// Modules that define what a module names, with the names.
fn taken(modules: &Modules, at: &ModulePath, module: &Module) -> Vec<(ModulePath, String)> {
    let taken = module.uses.iter().filter_map(|one| match modules.resolve(at, &one.path)? {
        // A parent that re-exports its children's items.
        PathTarget::Module(place) | PathTarget::Item(place) if one.is_public && place.starts_with(at) => None,
        PathTarget::Item(place) => Some((place, one.name.clone())),
        PathTarget::Module(place) => (one.name == "*").then(|| (place, one.name.clone())),
    });
    taken.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<SourceFile<'_>> =
            files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        check(&files).into_iter().map(|line| line.replace("crates/x/src/", "")).collect()
    }

    #[test]
    fn files_that_need_each_other_are_a_circle_with_its_arrows() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::g; pub fn f() { g() }"),
            ("b.rs", "pub fn g() { super::a::f() }"),
        ];
        assert_eq!(
            found(&files),
            ["files in a circle:\n    a.rs takes g from b.rs\n    b.rs takes super::a::f from a.rs"]
        );
    }

    #[test]
    fn a_parent_that_only_declares_and_hands_on_is_in_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::X; pub use b::{f, g};"),
            ("a.rs", "pub struct X;"),
            ("b.rs", "use crate::X; pub fn f(x: X) {} pub fn g() {}"),
        ];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn a_type_beside_what_calls_its_users_is_a_circle() {
        let fault = [
            ("lib.rs", "mod a; pub struct X; pub fn f() { a::g(&X) }"),
            ("a.rs", "use super::X; pub fn g(x: &X) {}"),
        ];
        assert_eq!(found(&fault).len(), 1);
        let repaired = [
            ("lib.rs", "mod a; mod types; pub use types::X; pub fn f() { a::g(&X) }"),
            ("a.rs", "use super::X; pub fn g(x: &X) {}"),
            ("types.rs", "pub struct X;"),
        ];
        assert!(found(&repaired).is_empty());
    }

    #[test]
    fn tests_and_modules_that_are_only_named_are_no_arrows() {
        let files = [
            ("lib.rs", "mod a; #[cfg(test)] mod made; pub fn f() { a::g() }"),
            ("a.rs", "pub fn g() {} #[cfg(test)] mod tests { use crate::{f, made}; }"),
            ("made.rs", "pub fn h() { crate::f() }"),
        ];
        assert!(found(&files).is_empty());
    }
}
