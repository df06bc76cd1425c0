//! The items of a crate's modules and what they name, read without types; where a path leads; and files that no module
//! declares.
//!
//! Source: The Rust Reference, chapters "Use declarations" and "Paths". Names that only a macro makes, methods, and
//! modules inside of a file are not found.

use super::source::{SourceFile, is_punct};
use proc_macro2::{Delimiter, TokenTree};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// Place of a module below its crate: `crate::a::b` is `["a", "b"]`.
pub type ModulePath = Vec<String>;

/// Limit for following re-exports of re-exports.
const MAX_STEPS: usize = 8;

/// A module.
#[derive(Debug, Default)]
pub struct Module {
    /// File that holds it.
    pub file: String,
    /// Modules that it declares.
    children: BTreeSet<String>,
    /// Other items.
    items: BTreeSet<String>,
    /// What it imports, and what its code names by a path.
    pub uses: BTreeSet<Use>,
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Names between the colons; without the `*` of a glob.
    pub path: Vec<String>,
    /// Its name here; `*` for a glob, `_` for none; the whole path outside of a `use` declaration.
    pub name: String,
    /// Whether it is re-exported.
    pub is_public: bool,
}

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub enum PathTarget {
    /// To a module.
    Module(ModulePath),
    /// To an item of this module.
    Item(ModulePath),
}

/// The modules of a crate by their places.
#[derive(Debug, Default)]
pub struct Modules(pub BTreeMap<ModulePath, Module>);

impl Modules {
    /// From the files of one crate, whose paths are relative to its `src`.
    pub fn read(files: &[(&str, &SourceFile<'_>)]) -> Self {
        let mut all: BTreeMap<ModulePath, Module> = BTreeMap::new();
        for (path, file) in files {
            let mut module = Module { file: file.path.to_owned(), ..Module::default() };
            module.add(&file.shipped, true);
            all.insert(place(path), module);
        }
        // What only tests declare is not part of the crate.
        let is_declared = |place: &ModulePath| {
            let declares = |at: usize| all.get(&place[..at])?.children.get(&place[at]);
            (0..place.len()).all(|at| declares(at).is_some())
        };
        let places: BTreeSet<ModulePath> = all.keys().filter(|place| is_declared(place)).cloned().collect();
        all.retain(|place, _| places.contains(place));
        Self(all)
    }

    /// Where a path in a module leads; `None` outside of the crate.
    pub fn resolve(&self, from: &[String], path: &[String]) -> Option<PathTarget> {
        self.resolve_within(from, path, MAX_STEPS)
    }

    fn resolve_within(&self, from: &[String], path: &[String], steps: usize) -> Option<PathTarget> {
        let steps = steps.checked_sub(1)?;
        let (mut at, mut is_here) = (from.to_vec(), false);
        for (index, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ => match self.lookup(&at, name, index + 1 == path.len(), steps) {
                    Some(PathTarget::Module(place)) => at = place,
                    Some(item) => return Some(item),
                    // An unknown name, such as a macro's.
                    None => return is_here.then_some(PathTarget::Item(at)),
                },
            }
            is_here = true;
        }
        Some(PathTarget::Module(at))
    }

    /// A name in a module; a module and a function may share it.
    fn lookup(&self, at: &[String], name: &str, is_last: bool, steps: usize) -> Option<PathTarget> {
        let module = self.0.get(at)?;
        let is_child = module.children.contains(name);
        if module.items.contains(name) && (is_last || !is_child) {
            return Some(PathTarget::Item(at.to_vec()));
        }
        if is_child {
            return Some(PathTarget::Module([at, &[name.to_owned()]].concat()));
        }
        let uses = |name| module.uses.iter().filter(move |one| one.name == name);
        let by_glob = |glob: &Use| match self.resolve_within(at, &glob.path, steps)? {
            PathTarget::Module(place) if place != at => {
                self.lookup(&place, name, is_last, steps.checked_sub(1)?)
            }
            _ => None,
        };
        let named = uses(name).find_map(|one| self.resolve_within(at, &one.path, steps));
        named.or_else(|| uses("*").find_map(by_glob))
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` and `main.rs` the crate itself.
fn place(path: &str) -> ModulePath {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// What stands before the name of an item.
const KEYWORDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];

impl Module {
    /// Adds what tokens declare and name; only the outermost ones declare items.
    fn add(&mut self, trees: &[TokenTree], is_outermost: bool) {
        let word = |at: usize| match trees.get(at) {
            Some(TokenTree::Ident(word)) => word.to_string(),
            _ => String::new(),
        };
        let is = |at: usize, mark| trees.get(at).is_some_and(|tree| is_punct(tree, mark));
        let mut at = 0;
        while at < trees.len() {
            let first = word(at);
            match first.as_str() {
                // `impl Trait + use<'a>` is not a declaration.
                "use" if !is(at + 1, '<') => {
                    let end = trees.iter().skip(at).position(|tree| is_punct(tree, ';'));
                    let end = end.map_or(trees.len(), |length| at + length);
                    let is_public = trees[..at].last().is_some_and(|tree| match tree {
                        TokenTree::Ident(word) => word == "pub",
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
                        _ => false,
                    });
                    self.add_uses(&trees[at + 1..end], &[], is_public);
                    at = end;
                    continue;
                }
                "mod" if is_outermost => _ = self.children.insert(word(at + 1)),
                "macro_rules" if is_outermost => _ = self.items.insert(word(at + 2)),
                word_here if is_outermost && KEYWORDS.contains(&word_here) => {
                    self.items.insert(word(at + 1));
                }
                _ => {}
            }
            if let TokenTree::Group(group) = &trees[at] {
                self.add(&group.stream().into_iter().collect::<Vec<_>>(), false);
            }
            let is_before = |length: usize, mark| at.checked_sub(length).is_some_and(|at| is(at, mark));
            let is_start = !(is_before(1, '.') || is_before(1, ':') && is_before(2, ':'));
            let mut path = vec![first];
            while !path[0].is_empty() && is(at + 1, ':') && is(at + 2, ':') && !word(at + 3).is_empty() {
                path.push(word(at + 3));
                at += 3;
            }
            if is_start && path.len() > 1 {
                self.uses.insert(Use { name: path.join("::"), path, is_public: false });
            }
            at += 1;
        }
    }

    /// Adds the names of a `use` declaration: `a::{b, c as d, e::*}`.
    fn add_uses(&mut self, trees: &[TokenTree], before: &[String], is_public: bool) {
        for part in trees.split(|tree| is_punct(tree, ',')) {
            let (mut path, mut name) = (before.to_vec(), None);
            for tree in part {
                match tree {
                    TokenTree::Ident(word) if word == "as" => break,
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Group(group) => {
                        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.add_uses(&inside, &path, is_public);
                    }
                    _ if is_punct(tree, '*') => name = Some("*".to_owned()),
                    _ => {}
                }
            }
            // `a::{self}` is `a`, and `use self::a` has its `self` in front.
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            name = name.or_else(|| match part.last()? {
                TokenTree::Ident(word) if word == "self" => path.last().cloned(),
                TokenTree::Ident(word) => Some(word.to_string()),
                _ => None,
            });
            self.uses.extend(name.map(|name| Use { path, name, is_public }));
        }
    }
}

/// Files that no module declares: they are not compiled, and their tests never run.
///
/// # Errors
/// A pattern is wrong.
pub fn orphans(files: &[SourceFile<'_>]) -> Result<Vec<String>, regex::Error> {
    // Where cargo starts a crate; folders of a crate's targets are beside `src`.
    let targets = "src/(lib|main)|src/bin/.+|build|(tests|benches|examples)/([^/]+|[^/]+/main)";
    let root = Regex::new(&format!(r"^(crates/[^/]+|xtask)/({targets})\.rs$"))?;
    let (by_name, by_path) = (Regex::new(r"\bmod\s+(\w+)\s*;")?, Regex::new(r##"#\[path = "([^"]+)"\]"##)?);
    let mut declared = BTreeSet::new();
    for file in files {
        let parent = file.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_folder = file.path.ends_with("/mod.rs") || root.is_match(file.path);
        let below = if is_folder { parent } else { file.path.trim_end_matches(".rs") };
        for name in by_name.captures_iter(&file.code()) {
            let name = &name[1];
            declared.extend([format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")]);
        }
        for path in by_path.captures_iter(file.text) {
            let mut path = format!("{parent}/{}", &path[1]);
            while let Some(at) = path.find("/../") {
                let folder = path[..at].rfind('/').unwrap_or(0);
                path.replace_range(folder..at + 3, "");
            }
            declared.insert(path);
        }
    }
    let is_orphan = |path: &str| path.ends_with(".rs") && !root.is_match(path) && !declared.contains(path);
    let orphans = files.iter().map(|file| file.path).filter(|path| is_orphan(path));
    Ok(orphans.map(|path| format!("{path}:0: no module declares this file, so it is not compiled")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(text: &str) -> Vec<String> {
        text.split("::").map(str::to_owned).collect()
    }

    fn modules(files: &[(&str, &str)]) -> Modules {
        let files: Vec<(&str, SourceFile<'_>)> =
            files.iter().map(|(path, text)| (*path, SourceFile::new(path, text))).collect();
        Modules::read(&files.iter().map(|(path, file)| (*path, file)).collect::<Vec<_>>())
    }

    #[test]
    fn items_and_uses_are_read() {
        let code = "use a::{b, c as d, e::{self, f::*}}; pub(crate) use self::g; \
                    pub const fn h(f: fn(u8)) -> i::J { fn inner() { use k::L; } m.n::<O>(); P::<q::R>::s(); V { w: w::w() } } \
                    impl T<1> { fn m() {} } macro_rules! u { () => {} } mod v;";
        let all = modules(&[("lib.rs", code)]);
        let module = &all.0[&Vec::new()];
        let uses = module.uses.iter().map(|one| format!("{} {}", one.path.join("::"), one.name));
        assert_eq!(
            uses.collect::<Vec<_>>(),
            [
                "a::b b",
                "a::c d",
                "a::e e",
                "a::e::f *",
                "i::J i::J",
                "k::L L",
                "q::R q::R",
                "self::g g",
                "w::w w::w"
            ]
        );
        assert!(module.uses.iter().all(|one| one.is_public == (one.name == "g")));
        assert!(["h", "u"].iter().all(|name| module.items.contains(*name)) && !module.items.contains("m"));
        assert_eq!(module.children.iter().collect::<Vec<_>>(), ["v"]);
    }

    #[test]
    fn paths_lead_through_re_exports_to_where_an_item_is_defined() {
        let all = modules(&[
            ("lib.rs", "pub mod a; mod b; pub use a::deep::X as Y; pub use b::*;"),
            ("a/mod.rs", "pub mod deep; use super::b; fn a() { b::g() }"),
            ("a/deep.rs", "pub struct X;"),
            ("b.rs", "pub fn g() {} mod a {}"),
            ("loose.rs", "fn f() {}"),
        ]);
        let found = |at: &str, path: &str| {
            let at = if at.is_empty() { Vec::new() } else { words_of(at) };
            all.resolve(&at, &words_of(path)).map(|found| match found {
                PathTarget::Module(place) => format!("mod {}", place.join("::")),
                PathTarget::Item(place) => place.join("::"),
            })
        };
        assert_eq!(found("b", "crate::Y").as_deref(), Some("a::deep"));
        assert_eq!(found("b", "crate::g").as_deref(), Some("b"));
        assert_eq!(found("a", "b::g").as_deref(), Some("b"));
        assert_eq!(found("a", "super::b").as_deref(), Some("mod b"));
        assert_eq!(found("", "a::a").as_deref(), Some("a"), "a function called as its module");
        assert_eq!(found("", "a::made_by_macro").as_deref(), Some("a"));
        assert_eq!(found("", "std::fmt"), None);
        assert!(!all.0.contains_key(&words_of("loose")), "declared by no module");
    }

    #[test]
    fn a_file_that_no_module_declares_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "//! A.\nmod b;\n// mod lost;\npub(crate) mod c;\nmod inline { }\n"),
            ("crates/a/src/b.rs", "mod deep;"),
            ("crates/a/src/b/deep.rs", ""),
            ("crates/a/src/c/mod.rs", "#[cfg(test)]\nmod tests;"),
            ("crates/a/src/c/tests.rs", ""),
            ("crates/a/src/lost.rs", ""),
            ("crates/a/tests/one.rs", "#[path = \"../shared/x.rs\"]\nmod x;\nmod common;"),
            ("crates/a/shared/x.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/tests/it/main.rs", "mod part;"),
            ("crates/a/tests/it/part.rs", ""),
            ("crates/a/tests/it/selection.rs", ""),
            ("crates/a/src/tests/never.rs", ""),
        ];
        let files: Vec<SourceFile<'_>> =
            files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        let found = orphans(&files).unwrap();
        let lost = ["crates/a/src/lost.rs", "crates/a/tests/it/selection.rs", "crates/a/src/tests/never.rs"];
        assert_eq!(found.len(), lost.len(), "{found:?}");
        assert!(found.iter().zip(lost).all(|(found, path)| found.starts_with(path)), "{found:?}");
    }
}
