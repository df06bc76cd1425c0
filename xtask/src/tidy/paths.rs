//! The items, `use` declarations and paths of a crate's modules, read from shipped code without
//! types, and where a path leads.
//!
//! Source: The Rust Reference, chapters "Use declarations" and "Paths". Names that only a macro makes, and methods,
//! are not found.

use super::source::{SourceFile, body, closing_brace, in_word, words};
use std::collections::{BTreeMap, BTreeSet};

/// Place of a module below its crate: `crate::a::b` is `["a", "b"]`.
pub type ModulePath = Vec<String>;

/// Limit for following re-exports of re-exports.
const MAX_STEPS: usize = 8;

/// A module, including inline ones.
#[derive(Debug, Default)]
pub struct Module {
    /// File that holds it.
    pub file: String,
    /// Modules that it declares.
    children: BTreeSet<String>,
    /// Other items.
    items: BTreeSet<String>,
    /// What it imports.
    pub uses: Vec<Use>,
    /// Paths of two names or more elsewhere in its code.
    pub paths: BTreeSet<Vec<String>>,
}

/// One name that a `use` declaration imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Names between the colons; without the `*` of a glob.
    pub path: Vec<String>,
    /// Its name here; `*` for a glob, `_` for none.
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
        let mut all = BTreeMap::new();
        for (path, file) in files {
            add(&mut all, &file.shipped, place(path), file.path);
        }
        // What only tests declare is not part of the crate.
        let is_declared = |place: &ModulePath| {
            (0..place.len()).all(|at| {
                all.get(&place[..at]).is_some_and(|parent: &Module| parent.children.contains(&place[at]))
            })
        };
        let places: BTreeSet<ModulePath> = all.keys().filter(|place| is_declared(place)).cloned().collect();
        all.retain(|place, _| places.contains(place));
        Self(all)
    }

    /// Where a path in module `at` leads; `None` outside of the crate.
    pub fn resolve(&self, at: &[String], path: &[String]) -> Option<PathTarget> {
        self.resolve_within(at, path, MAX_STEPS)
    }

    fn resolve_within(&self, from: &[String], path: &[String], steps: usize) -> Option<PathTarget> {
        let steps = steps.checked_sub(1)?;
        let mut at = from.to_vec();
        let mut rest = path;
        let mut is_here = false;
        while let Some(first) = rest.first() {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ => break,
            }
            is_here = true;
            rest = &rest[1..];
        }
        while let Some((name, others)) = rest.split_first() {
            match self.lookup(&at, name, others.is_empty(), steps) {
                Some(PathTarget::Module(place)) => at = place,
                Some(item) => return Some(item),
                // An unknown name, such as a macro's.
                None => return is_here.then_some(PathTarget::Item(at)),
            }
            (rest, is_here) = (others, true);
        }
        Some(PathTarget::Module(at))
    }

    /// A name in a module; a module and a function may share it.
    fn lookup(&self, at: &[String], name: &String, is_last: bool, steps: usize) -> Option<PathTarget> {
        let module = self.0.get(at)?;
        let child = module
            .children
            .contains(name)
            .then(|| PathTarget::Module([at, std::slice::from_ref(name)].concat()));
        if child.is_some() && !is_last {
            return child;
        }
        if module.items.contains(name) {
            return Some(PathTarget::Item(at.to_vec()));
        }
        if child.is_some() {
            return child;
        }
        let mut named = module.uses.iter().filter(|a| a.name == *name).peekable();
        if named.peek().is_some() {
            let found: Vec<PathTarget> =
                named.filter_map(|a| self.resolve_within(at, &a.path, steps)).collect();
            return found.into_iter().next();
        }
        let globs = module.uses.iter().filter(|a| a.name == "*");
        globs.filter_map(|glob| self.resolve_within(at, &glob.path, steps)).find_map(|found| match found {
            PathTarget::Module(place) if place != at => {
                self.lookup(&place, name, is_last, steps.checked_sub(1)?)
            }
            _ => None,
        })
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` and `main.rs` the crate itself.
fn place(path: &str) -> ModulePath {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Adds a module with those inside of it.
fn add(all: &mut BTreeMap<ModulePath, Module>, code: &str, place: ModulePath, file: &str) {
    let mut module = Module { file: file.to_owned(), ..Module::default() };
    let mut rest = code.as_bytes().to_vec();
    for item in items(code) {
        match (item.keyword, item.body) {
            ("mod", Some((open, close))) => {
                add(
                    all,
                    &code[open + 1..close],
                    [&place[..], std::slice::from_ref(&item.name)].concat(),
                    file,
                );
                rest[open..close].fill(b' ');
                module.children.insert(item.name);
            }
            ("mod", None) => _ = module.children.insert(item.name),
            _ => _ = module.items.insert(item.name),
        }
    }
    let rest = String::from_utf8_lossy(&rest).into_owned();
    let mut without_uses = rest.clone().into_bytes();
    for at in words(&rest, "use") {
        let Some(end) = rest[at..].find(';').map(|end| at + end) else { continue };
        // `impl Trait + use<'a>` is not a declaration.
        if rest[at + 3..end].trim_start().starts_with('<') {
            continue;
        }
        let before = rest[..at].rfind([';', '{', '}', ']']).map_or(0, |before| before + 1);
        let is_public = rest[before..at].trim().starts_with("pub");
        module.uses.extend(use_tree(&rest[at + 3..end], &[], is_public));
        without_uses[at..end].fill(b' ');
    }
    module.paths = paths(&String::from_utf8_lossy(&without_uses));
    all.insert(place, module);
}

struct Item {
    keyword: &'static str,
    name: String,
    /// Its first pair of braces.
    body: Option<(usize, usize)>,
}

/// Items outside of all braces.
fn items(code: &str) -> Vec<Item> {
    const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod"];
    let bytes = code.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at] == b'{' {
            at = closing_brace(code, at) + 1;
            continue;
        }
        if !in_word(bytes[at]) {
            at += 1;
            continue;
        }
        let word = word_at(code, at);
        at += word.len();
        let keyword = KEYWORDS.into_iter().find(|keyword| *keyword == word);
        let start = at + code[at..].len() - code[at..].trim_start().len();
        let name = word_at(code, start);
        if let Some(keyword) = keyword.filter(|_| !name.is_empty() && !KEYWORDS.contains(&name)) {
            let body = body(code, start).map(|open| (open, closing_brace(code, open)));
            found.push(Item { keyword, name: name.to_owned(), body });
        } else if word == "macro_rules" {
            let name = code[at..].trim_start_matches(['!', ' ']);
            found.push(Item { keyword: "macro", name: word_at(name, 0).to_owned(), body: None });
        }
    }
    found
}

fn word_at(code: &str, at: usize) -> &str {
    let length = code.as_bytes()[at..].iter().take_while(|byte| in_word(**byte)).count();
    &code[at..at + length]
}

/// The names of a `use` declaration: `a::{b, c as d, e::*}`.
fn use_tree(text: &str, before: &[String], is_public: bool) -> Vec<Use> {
    let text = text.trim();
    if let Some(open) = text.find('{') {
        let prefix = [before, &segments(&text[..open])].concat();
        let inside = &text[open + 1..closing_brace(text, open)];
        return split_at_commas(inside)
            .into_iter()
            .flat_map(|part| use_tree(part, &prefix, is_public))
            .collect();
    }
    let (path, alias) =
        text.split_once(" as ").map_or((text, None), |(path, alias)| (path, Some(alias.trim())));
    let mut path = [before, &segments(path)].concat();
    let last = path.last().cloned().unwrap_or_default();
    // `a::{self}` is `a`, and `use self::a` has its `self` in front.
    if last == "*" || (last == "self" && path.len() > 1) {
        path.pop();
    }
    let name = match last.as_str() {
        "*" => "*".to_owned(),
        _ => alias.map(str::to_owned).or_else(|| path.last().cloned()).unwrap_or_default(),
    };
    if path.is_empty() { Vec::new() } else { vec![Use { path, name, is_public }] }
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Paths of two names or more.
fn paths(code: &str) -> BTreeSet<Vec<String>> {
    let bytes = code.as_bytes();
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while at < bytes.len() {
        if !in_word(bytes[at]) {
            at += 1;
            continue;
        }
        let is_start = !code[..at].ends_with("::") && !code[..at].ends_with('.');
        let mut path = vec![word_at(code, at).to_owned()];
        at += path[0].len();
        while code[at..].starts_with("::") && bytes.get(at + 2).is_some_and(|byte| in_word(*byte)) {
            let name = word_at(code, at + 2);
            path.push(name.to_owned());
            at += 2 + name.len();
        }
        if is_start && path.len() > 1 {
            found.insert(path);
        }
    }
    found
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
    fn trees_of_use_are_taken_apart() {
        let found: Vec<String> = use_tree("a::{b, c as d, e::{self, f::*}}", &[], false)
            .into_iter()
            .map(|a| format!("{} {}", a.path.join("::"), a.name))
            .collect();
        assert_eq!(found, ["a::b b", "a::c d", "a::e e", "a::e::f *"]);
    }

    #[test]
    fn items_are_what_stands_outside_of_braces() {
        let code = "pub const fn a(f: fn(u8)) { fn inner() {} } struct B<const N: usize>(u8); impl B<1> { fn m() {} } macro_rules! c { () => {} } mod d;";
        let names: Vec<String> = items(code).into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["a", "B", "N", "c", "d"]);
    }

    #[test]
    fn paths_have_two_names_or_more() {
        let found: Vec<String> = paths("a::b(c.d::<E>(), F::G::<h::I>::new(), j)")
            .into_iter()
            .map(|path| path.join("::"))
            .collect();
        assert_eq!(found, ["F::G", "a::b", "h::I"]);
    }

    #[test]
    fn paths_lead_through_re_exports_to_where_an_item_is_defined() {
        let all = modules(&[
            ("lib.rs", "pub mod a; mod b; pub use a::deep::X as Y; pub use b::*;"),
            ("a/mod.rs", "pub mod deep; use super::b; fn a() { b::g() }"),
            ("a/deep.rs", "pub struct X; mod inline { use super::X; }"),
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
        assert_eq!(found("a::deep::inline", "super::X::new").as_deref(), Some("a::deep"));
        assert_eq!(found("", "a::a").as_deref(), Some("a"), "a function called as its module");
        assert_eq!(found("", "a::made_by_macro").as_deref(), Some("a"));
        assert_eq!(found("a", "std::fmt"), None);
        assert!(!all.0.contains_key(&words_of("loose")), "declared by no module");
    }
}
