//! "Did you mean": the known name most similar to what was typed, and what to type for a program.

use crate::engines;
use std::path::Path;
use threadwise_study::{command, presets};

/// Minimum similarity of two names (Jaro's measure, as clap uses for options).
const LIKENESS: f64 = 0.7;

/// The name among `known` that was probably meant.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let engine = engines::by_other_name(&typed).or(engines::names().into_iter().find(|name| *name == typed));
    if let Some(engine) = engine {
        return known.iter().copied().find(|name| *name == engine);
    }
    let likeness = |name: &str| strsim::jaro(&typed, &name.to_lowercase());
    let likely = known.iter().copied().filter(|name| likeness(name) > LIKENESS);
    likely.max_by(|one, other| likeness(one).total_cmp(&likeness(other)))
}

/// What to type instead of an unknown preset; `rest` is what follows it on the command line.
pub fn instead_of_preset(typed: &str, rest: &[String]) -> Option<String> {
    let all: Vec<&str> = presets::names().into_iter().map(|(name, _)| name).collect();
    let engines: Vec<&str> = engines::all().iter().map(|engine| engine.name()).collect();
    let exactly = |name: &&&str| **name == typed || engines::by_other_name(typed) == Some(**name);
    if is_program(typed) || command::parsers::find(typed).is_ok() {
        let words: Vec<String> = std::iter::once(typed)
            .chain(rest.iter().map(String::as_str))
            .map(crate::output::quoted)
            .collect();
        return Some(format!("to measure a program: threadwise run command -- {}", words.join(" ")));
    }
    if let Some(engine) = engines.iter().find(exactly) {
        return Some(format!("to measure that engine: threadwise run --engine {engine}"));
    }
    nearest(typed, &all).map(|name| format!("did you mean {name}?"))
}

/// The hint for a command line that clap could not read because a program with its own options is in place of a preset:
/// `run pgbench -c 4`. Without `--` these options look like threadwise's.
pub fn for_command_line(args: &[String]) -> Option<String> {
    let [_, run, name, rest @ ..] = args else { return None };
    let is_study = presets::get(name).is_some() || name.ends_with(".toml") || name.starts_with('-');
    if !["run", "study"].contains(&run.as_str()) || is_study || args.iter().any(|word| word == "--") {
        return None;
    }
    instead_of_preset(name, rest)
}

/// Whether a word is a program, on PATH or by its path.
fn is_program(word: &str) -> bool {
    let is_file = |path: &Path| path.is_file();
    if word.contains('/') {
        return is_file(Path::new(word));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_file(&folder.join(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_products_and_slips() {
        let known: Vec<&str> = engines::all().iter().map(|engine| engine.name()).collect();
        for (typed, meant) in [
            ("mysqld", "mysql"),
            ("MySQL", "mysql"),
            ("postgresql", "postgres"),
            ("pg", "postgres"),
            ("sqlite3", "sqlite"),
            ("postgers", "postgres"),
            ("fierbird", "firebird"),
        ] {
            assert_eq!(nearest(typed, &known), Some(meant), "{typed}");
        }
        assert_eq!(nearest("zzz", &known), None);
        assert_eq!(nearest("duck", &["duckdb", "datafusion"]), Some("duckdb"));
        // A name that is known somewhere else is not offered where it is not available.
        assert_eq!(nearest("mysql", &["sqlite", "noop"]), None);
        assert!(engines::names().iter().all(|name| engines::by_other_name(name).is_none()));
    }

    #[test]
    fn presets_engines_and_programs() {
        let hint = |typed: &str| instead_of_preset(typed, &[]).unwrap_or_default();
        assert_eq!(hint("placment"), "did you mean placement?");
        assert_eq!(hint("sesion-sweep"), "did you mean session-sweep?");
        assert_eq!(hint("postgresql"), "to measure that engine: threadwise run --engine postgres");
        assert_eq!(hint("sh"), "to measure a program: threadwise run command -- sh");
        assert_eq!(hint("qqqq"), "");
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        assert_eq!(
            for_command_line(&words("threadwise run pgbench -c 4")).as_deref(),
            Some("to measure a program: threadwise run command -- pgbench -c 4")
        );
        for other in ["threadwise run placement -c 4", "threadwise run my.toml -c 4", "threadwise run -c 4"] {
            assert_eq!(for_command_line(&words(other)), None, "{other}");
        }
        assert_eq!(
            for_command_line(&words("threadwise study pgbench -c 4")),
            for_command_line(&words("threadwise run pgbench -c 4"))
        );
        assert_eq!(for_command_line(&words("threadwise run command -- pgbench -c 4")), None);
    }
}
