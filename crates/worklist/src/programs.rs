//! The programs of recipes: finding them, and running one of them for its output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use threadwise_engine::{EngineError, missing as engine_missing};
use threadwise_engine_postgres::cluster;
use threadwise_process::programs;

use crate::error::{ENGINE, refuse};
use crate::recipe::{Kind, Recipe};

/// Paths of programs by their names in a recipe.
pub(crate) type Programs = BTreeMap<String, PathBuf>;

/// Where packages put programs that are not on PATH.
const FOLDERS: [&str; 3] = ["/usr/local/mysql/bin", "/opt/firebird/bin", "/usr/lib*/firebird/bin"];

/// The Debian packages of a kind of items.
fn packages(kind: Kind) -> &'static str {
    match kind {
        Kind::Firebird => "firebird3.0-utils and firebird3.0-server-core",
        Kind::Postgres => "postgresql",
        Kind::Mariadb => "mariadb-server and mariadb-client",
        Kind::Sqlite | Kind::Text => "coreutils",
    }
}

/// Finds the programs of a recipe: in `bin` alone if it is given; those of PostgreSQL beside its server, since Debian's
/// on PATH are scripts that look for a cluster first.
///
/// # Errors
/// Which one is missing, and what to install.
pub(crate) fn find(recipe: &Recipe, bin: Option<&Path>) -> Result<Programs, EngineError> {
    let beside = match (recipe.items, bin) {
        (Kind::Postgres, None) => {
            let found = cluster::Programs::find(None)
                .map_err(|error| refuse("recipe", format!("'{}': {error}", recipe.name)))?;
            found.postgres.parent().map(Path::to_owned)
        }
        _ => bin.map(Path::to_owned),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let one = |name: &String| {
        let first = beside.as_deref().map_or(OsString::new(), |folder| folder.as_os_str().to_owned());
        let found = programs::find(&[name], &[], &first);
        let found =
            if bin.is_some() { found } else { found.or_else(|| programs::find(&[name], &FOLDERS, &path)) };
        found.map(|program| (name.clone(), program)).ok_or_else(|| missing(recipe, name, bin))
    };
    recipe.programs.iter().map(one).collect()
}

fn missing(recipe: &Recipe, name: &str, bin: Option<&Path>) -> EngineError {
    let place = bin.map_or("on PATH".to_owned(), |bin| format!("in {}", bin.display()));
    let why = format!(
        "there is no program '{name}' {place}, which the recipe '{}' needs: install it (Debian: {}), or name its \
         folder with --engine-option bin=FOLDER",
        recipe.name,
        packages(recipe.items)
    );
    match bin {
        Some(_) => refuse("bin", why),
        None => engine_missing(ENGINE, &why),
    }
}

/// Refuses a command whose program does not exist.
///
/// # Errors
/// What is missing.
pub(crate) fn expect_own(words: &[String], folder: Option<&Path>) -> Result<(), EngineError> {
    let program = match words.first() {
        Some(program) if program.is_empty() => {
            return Err(refuse("command", "its first word, the program, is empty"));
        }
        Some(program) if !program.contains(['{', '}']) => program,
        _ => return Ok(()),
    };
    let found = match program.contains('/') {
        true => {
            let path = folder.map_or_else(|| PathBuf::from(program), |folder| folder.join(program));
            // Without a folder it runs in the item's own, which is empty.
            (folder.is_none() && path.is_relative()) || programs::is_program(&path)
        }
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            programs::find(&[program], &[], &path).is_some()
        }
    };
    match found {
        true => Ok(()),
        false => Err(refuse(
            "command",
            format!("there is no executable program '{program}': install it, or give its path"),
        )),
    }
}

/// How a server's own programs reach it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Way {
    /// Variables that are set.
    pub environment: BTreeMap<String, String>,
    /// Prefixes of variables that would lead elsewhere and are removed.
    pub without: &'static [&'static str],
}

impl Way {
    /// The names to remove from this process's environment.
    pub fn taken_out(&self) -> Vec<String> {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        names.filter(|name| self.without.iter().any(|begin| name.starts_with(begin))).collect()
    }
}

/// Runs a program to its end, and gives its standard output.
///
/// # Errors
/// It cannot be run, or its standard error, in one line.
pub(crate) fn ask(program: &Path, args: &[&str], way: &Way, stdin: &str) -> Result<String, String> {
    let mut command = Command::new(program);
    for name in way.taken_out() {
        command.env_remove(name);
    }
    command.args(args).envs(&way.environment);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let said = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut child = command.spawn().map_err(said)?;
    let text = stdin.to_owned();
    let input = child.stdin.take();
    // On a separate thread: the input may be longer than a pipe holds, while output fills another.
    let writer = std::thread::spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
    let output = child.wait_with_output().map_err(said)?;
    // If the program ended early, its exit status tells.
    let _ = writer.join();
    answer(program, &output)
}

/// The standard output of a program that has ended.
///
/// # Errors
/// It failed: how it ended, and the last lines of its standard error, in one line.
pub(crate) fn answer(program: &Path, output: &Output) -> Result<String, String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = words[words.len().saturating_sub(3)..].join("; ");
    Err(format!("{} ended with {}: {last}", program.display(), output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(programs: &[&str]) -> Recipe {
        Recipe {
            name: "mine".into(),
            about: String::new(),
            items: Kind::Firebird,
            programs: programs.iter().map(|&name| name.to_owned()).collect(),
            steps: Vec::new(),
            result: None,
            salvage: BTreeMap::new(),
        }
    }

    #[test]
    fn a_missing_program_is_reported_with_its_package() {
        let found = find(&recipe(&["true"]), None).unwrap();
        assert!(found["true"].is_absolute());
        let error = find(&recipe(&["no-such-gbak"]), None).unwrap_err().to_string();
        assert!(error.contains("no-such-gbak") && error.contains("firebird3.0-utils"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        let error = find(&recipe(&["true"]), Some(empty.path())).unwrap_err().to_string();
        assert!(error.contains("option 'bin'") && error.contains("true"), "{error}");
    }

    #[test]
    fn a_program_is_asked_with_its_input_and_its_words_are_reported() {
        let way = Way { environment: BTreeMap::from([("X".into(), "7".into())]), without: &[] };
        let sh = Path::new("/bin/sh");
        assert_eq!(ask(sh, &["-c", "echo $X; cat"], &way, "in").unwrap(), "7\nin");
        let long = "x".repeat(1 << 20);
        assert_eq!(ask(sh, &["-c", "cat"], &way, &long).unwrap().len(), 1 << 20);
        let error = ask(sh, &["-c", "echo bad >&2; exit 3"], &way, "").unwrap_err();
        assert!(error.contains("bad") && error.contains('3'), "{error}");
    }

    #[test]
    fn commands_of_ones_own_have_a_program() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(
            expect_own(&words("true {item}"), None).is_ok() && expect_own(&words("{item} x"), None).is_ok()
        );
        assert!(expect_own(&words("no-such-program-here x"), None).is_err());
        assert!(expect_own(&words("/etc/passwd x"), None).is_err());
        assert!(expect_own(&words("bin/x"), Some(Path::new("/"))).is_err());
    }
}
