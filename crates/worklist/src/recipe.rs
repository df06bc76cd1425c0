//! The recipes, which are data: `recipes/*.toml`, one file each. A recipe says what its items are, which
//! programs it needs, and which commands are run for one item.
//!
//! Placeholders are filled in twice: those of a run (`{gbak}`, `{page_size}`) by [`prepared`], when a plan is made;
//! those of an item (`{item}`, `{work}`) by [`filled`], when the item is started.

use crate::plan::Step;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Name and text of each recipe, in the order in which they are shown.
const RECIPES: [(&str, &str); 5] = [
    ("sqlite", include_str!("../recipes/sqlite.toml")),
    ("firebird", include_str!("../recipes/firebird.toml")),
    ("postgres", include_str!("../recipes/postgres.toml")),
    ("mariadb", include_str!("../recipes/mariadb.toml")),
    ("noop", include_str!("../recipes/noop.toml")),
];

/// Placeholders of an item: its text, its name, its place in the list from 0, its own folder, and its job from 0.
pub const OF_ITEMS: [&str; 5] = ["item", "name", "index", "work", "job"];

/// Placeholders of a command that checks one item after the list.
pub const OF_CHECKS: [&str; 4] = ["item", "name", "index", "work"];

/// Placeholders of a run, besides the names of a recipe's programs: the path of this program, the page size of restored
/// databases, and the option file of a private server.
pub const OF_RUNS: [&str; 3] = ["threadwise", "page_size", "defaults"];

/// Kind of a recipe's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Files of SQLite.
    Sqlite,
    /// Files of Firebird.
    Firebird,
    /// Databases of a private PostgreSQL.
    Postgres,
    /// Databases of a private MariaDB.
    Mariadb,
    /// Lines of text.
    Text,
}

/// One recipe.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// One line for the user: what is done for one item.
    pub about: String,
    /// Kind of its items.
    pub items: Kind,
    /// Programs that must exist; a step's first word `{gbak}` is the path of `gbak`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Its commands, in order.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    /// File that the recipe must leave, not empty.
    pub result: Option<String>,
    /// By step: further arguments for reading damaged files as far as possible; empty if the recipe has none.
    #[serde(default)]
    pub salvage: BTreeMap<String, Vec<String>>,
}

/// Why a recipe is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// There is no recipe of this name.
    #[error(
        "there is no recipe '{name}': recipes are {known}; put your own command after -- on the \
         command line"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Its built-in file has an error.
    #[error("the recipe '{name}' that comes with threadwise is broken: {message}")]
    Broken {
        /// The name.
        name: String,
        /// What is wrong.
        message: String,
    },
}

/// Names of all recipes, in the order in which they are shown.
pub fn names() -> Vec<&'static str> {
    RECIPES.iter().map(|(name, _)| *name).collect()
}

/// All recipes, in the order in which they are shown.
///
/// # Errors
/// [`RecipeError::Broken`].
pub fn all() -> Result<Vec<Recipe>, RecipeError> {
    RECIPES.iter().map(|(name, text)| read(name, text)).collect()
}

/// The recipe of this name.
///
/// # Errors
/// [`RecipeError`]: there is none, or it is broken.
pub fn find(name: &str) -> Result<Recipe, RecipeError> {
    let known = RECIPES.iter().find(|(known, _)| *known == name);
    let (name, text) =
        known.ok_or_else(|| RecipeError::Unknown { name: name.to_owned(), known: names().join(", ") })?;
    read(name, text)
}

fn read(name: &str, text: &str) -> Result<Recipe, RecipeError> {
    let broken = |message: String| RecipeError::Broken { name: name.to_owned(), message };
    let recipe: Recipe = toml::from_str(text).map_err(|error| broken(error.message().to_owned()))?;
    if recipe.name != name {
        return Err(broken(format!("its name is '{}'", recipe.name)));
    }
    agree(&recipe).map_err(broken)?;
    Ok(recipe)
}

/// An error in a recipe that was parsed, if any.
fn agree(recipe: &Recipe) -> Result<(), String> {
    if recipe.steps.is_empty() {
        return Err("it has no step".to_owned());
    }
    let known: Vec<&str> =
        recipe.programs.iter().map(String::as_str).chain(OF_RUNS).chain(OF_ITEMS).collect();
    let mut used = Vec::new();
    for text in texts(&recipe.steps, recipe.result.as_deref()) {
        for piece in pieces(text)? {
            match piece {
                Piece::Placeholder(name) if !known.contains(&name) => return Err(unknown(name, &known)),
                Piece::Placeholder(name) => used.push(name),
                _ => {}
            }
        }
    }
    if let Some(name) =
        recipe.salvage.keys().find(|name| !recipe.steps.iter().any(|step| step.name == **name))
    {
        return Err(format!("it salvages in a step '{name}' that it does not have"));
    }
    if let Some(step) = recipe.steps.iter().find(|step| step.command.is_empty()) {
        return Err(format!("step '{}' has no command", step.name));
    }
    match recipe.programs.iter().find(|name| !used.contains(&name.as_str())) {
        Some(idle) => Err(format!("it names the program '{idle}', which no step uses")),
        None => Ok(()),
    }
}

/// Every text of a recipe that may contain placeholders.
pub fn texts<'a>(steps: &'a [Step], result: Option<&'a str>) -> impl Iterator<Item = &'a str> {
    let of_steps = steps.iter().flat_map(|step| step.command.iter().chain(&step.stdin).map(String::as_str));
    of_steps.chain(result)
}

/// A text with the placeholders of a run filled in; those of items, and doubled braces, stay as they are.
///
/// # Errors
/// A placeholder that is neither in `values` nor of an item, or a single brace.
pub fn prepared(text: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let mut done = String::with_capacity(text.len());
    for piece in pieces(text)? {
        match piece {
            Piece::Text(plain) => done.push_str(plain),
            Piece::Brace(brace) => done.extend([brace, brace]),
            Piece::Placeholder(name) => match value(name, values) {
                // `filled` parses the result once more.
                Some(value) => done.push_str(&escaped(value)),
                None if OF_ITEMS.contains(&name) => done.extend(["{", name, "}"]),
                None => {
                    let known: Vec<&str> = values.iter().map(|(name, _)| *name).chain(OF_ITEMS).collect();
                    return Err(unknown(name, &known));
                }
            },
        }
    }
    Ok(done)
}

/// Escapes a text for [`filled`].
pub fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Words with all placeholders filled in; values are not parsed again.
///
/// # Errors
/// A placeholder that is not in `values`, or a single brace.
pub fn filled(words: &[String], values: &[(&str, &str)]) -> Result<Vec<String>, String> {
    words.iter().map(|word| filled_text(word, values)).collect()
}

/// One text with all placeholders filled in.
///
/// # Errors
/// As [`filled`].
pub fn filled_text(text: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let mut done = String::with_capacity(text.len());
    for piece in pieces(text)? {
        done.push_str(match piece {
            Piece::Text(plain) | Piece::Brace(plain) => plain,
            Piece::Placeholder(name) => value(name, values).ok_or_else(|| {
                let known: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
                unknown(name, &known)
            })?,
        });
    }
    Ok(done)
}

fn value<'a>(name: &str, values: &[(&str, &'a str)]) -> Option<&'a str> {
    values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn unknown(name: &str, known: &[&str]) -> String {
    let shown: String = name.chars().take(30).collect();
    let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
    let shown = shown.escape_debug();
    format!("{{{shown}}} is not a placeholder; these are: {}, and {{{{ and }}}} for braces", known.join(" "))
}

/// A part of a text.
enum Piece<'a> {
    Text(&'a str),
    /// A doubled brace.
    Brace(&'a str),
    Placeholder(&'a str),
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        if brace.starts_with("{{") || brace.starts_with("}}") {
            pieces.push(Piece::Brace(&brace[..1]));
            rest = &brace[2..];
            continue;
        }
        let inside = brace.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let Some((name, after)) = inside else {
            return Err(
                "a single brace: write {{ or }} for one that does not belong to a placeholder".to_owned()
            );
        };
        pieces.push(Piece::Placeholder(name));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_can_be_read_and_has_the_name_of_its_file() {
        let recipes = all().unwrap();
        assert_eq!(recipes.iter().map(|recipe| recipe.name.as_str()).collect::<Vec<_>>(), names());
        for recipe in &recipes {
            assert!(!recipe.about.is_empty() && !recipe.about.contains('\n'), "{}", recipe.name);
            assert_ne!(recipe.name, threadwise_study::worklist::OWN_RECIPE);
            assert_eq!(find(&recipe.name).as_ref(), Ok(recipe));
            let mut steps: Vec<&str> = recipe.steps.iter().map(|step| step.name.as_str()).collect();
            steps.dedup();
            assert_eq!(steps.len(), recipe.steps.len(), "{}", recipe.name);
        }
        let said = find("oracle").unwrap_err().to_string();
        assert!(said.contains("sqlite, firebird, postgres, mariadb, noop"), "{said}");
    }

    #[test]
    fn every_program_of_a_recipe_is_a_placeholder_and_no_bare_name() {
        for recipe in all().unwrap() {
            for step in &recipe.steps {
                let program = step.command[0].trim_matches(['{', '}']);
                assert_eq!(step.command[0], format!("{{{program}}}"), "{}", recipe.name);
                let known = recipe.programs.iter().any(|name| name == program);
                assert!(known || program == "threadwise", "{}: {program}", recipe.name);
            }
        }
    }

    #[test]
    fn a_broken_recipe_is_refused_with_what_is_wrong() {
        let refused = |text: &str| read("x", text).unwrap_err().to_string();
        let recipe = |rest: &str| format!("name = 'x'\nabout = 'a'\nitems = 'text'\n{rest}");
        let step = |command: &str| format!("[[step]]\nname = 's'\ncommand = {command}\n");
        assert!(read("x", &recipe(&step("['{item}']"))).is_ok());
        assert!(refused(&recipe("step = []")).contains("no step"));
        assert!(refused(&recipe(&step("[]"))).contains("step 's' has no command"));
        assert!(refused(&recipe(&step("['{gbak}']"))).contains("{gbak} is not a placeholder"));
        assert!(refused(&recipe(&step("['a{']"))).contains("a single brace"));
        assert!(refused(&recipe(&format!("programs = ['p']\n{}", step("['x']")))).contains("'p'"));
        assert!(refused(&recipe(&format!("result = '{{out}}'\n{}", step("['x']")))).contains("{out}"));
        assert!(refused(&recipe(&format!("{}stdin = '{{in}}'", step("['x']")))).contains("{in}"));
        let salvage = format!("{}[salvage]\nt = ['-x']", step("['x']"));
        assert!(refused(&recipe(&salvage)).contains("a step 't'"));
        assert!(refused(&recipe(&format!("colour = 1\n{}", step("['x']")))).contains("colour"));
        assert!(refused("name = 'y'\nabout = 'a'\nitems = 'text'\nstep = []").contains("its name is 'y'"));
    }

    #[test]
    fn placeholders_of_runs_and_items_are_filled_in_one_after_the_other() {
        let run = [("gbak", "/opt/{odd}/gbak"), ("page_size", "8192")];
        let item = [("item", "a {index} b"), ("index", "7"), ("work", "/w")];
        let words = ["{gbak}", "-p={page_size}", "{item}", "{work}/{index}", "{{x}}", "plain", ""];
        let ready: Vec<String> = words.iter().map(|word| prepared(word, &run).unwrap()).collect();
        assert_eq!(ready[0], "/opt/{{odd}}/gbak");
        assert_eq!(ready[2..5], ["{item}", "{work}/{index}", "{{x}}"]);
        let done = filled(&ready, &item).unwrap();
        assert_eq!(done, ["/opt/{odd}/gbak", "-p=8192", "a {index} b", "/w/7", "{x}", "plain", ""]);
        assert!(
            prepared("{gfix}", &run).unwrap_err().contains("{gfix} is not a placeholder; these are: {gbak}")
        );
        assert!(filled_text("{job}", &item).unwrap_err().contains("{job} is not a placeholder"));
        for alone in ["{", "}", "a{b", "a}b", "{{}", "{item}}"] {
            assert!(filled_text(alone, &item).is_err() && prepared(alone, &run).is_err(), "{alone}");
        }
    }
}
