//! Commands of tasks: shown as a person would type them, with or without keeping their output.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

/// A command and its additional environment variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The program and its arguments.
    words: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Task {
    /// A command of the words of a text, in which each `{}` stands for the next value, whatever that has inside.
    pub fn new(text: &str, values: &[&dyn Display]) -> Self {
        Self { words: Vec::new(), environment: Vec::new() }.with(text, values)
    }

    /// Adds the words of such a text.
    pub fn with(mut self, text: &str, values: &[&dyn Display]) -> Self {
        let mut values = values.iter().map(ToString::to_string);
        for word in text.split_whitespace() {
            let mut parts = word.split("{}");
            let first = parts.next().unwrap_or_default().to_owned();
            self.words.push(parts.fold(first, |word, part| word + &values.next().unwrap_or_default() + part));
        }
        self
    }

    /// Adds arguments.
    pub fn more(mut self, words: impl IntoIterator<Item = impl Display>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.to_string()));
        self
    }

    /// The command that ends, by a signal, with the thread that starts it (setpriv(1), PR_SET_PDEATHSIG(2const)).
    pub fn with_parent(&self) -> Self {
        Self { environment: self.environment.clone(), ..Self::new("setpriv --pdeathsig KILL", &[]) }
            .more(&self.words)
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: impl Display) -> Self {
        self.environment.push((name.to_owned(), value.to_string()));
        self
    }

    /// The command line as a person would type it.
    pub fn shown(&self) -> String {
        let settings = self.environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        settings.chain(self.words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
    }

    /// Runs it with this process's input and output; an error names the command.
    pub fn run(&self) -> Result<(), String> {
        println!("$ {}", self.shown());
        let status = self.command().status().map_err(|cause| self.not_started(&cause))?;
        if status.success() { Ok(()) } else { Err(self.failed(&status.to_string())) }
    }

    /// Runs it without showing anything and returns its standard output.
    pub fn output(&self) -> Result<String, String> {
        let output =
            self.command().stdin(Stdio::null()).output().map_err(|cause| self.not_started(&cause))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}\n{}", self.failed(&output.status.to_string()), message.trim_end()))
    }

    /// Runs it, passes on every line as it comes, and returns the lines with the outcome.
    pub fn run_and_keep(&self) -> (Vec<String>, Result<(), String>) {
        println!("$ {}", self.shown());
        let spawned = self.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(cause) => return (Vec::new(), Err(self.not_started(&cause))),
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let lines = std::thread::scope(|scope| {
            let errors = scope.spawn(|| stderr.map(|from| pass_on(from, std::io::stderr())));
            let mut lines = stdout.map(|from| pass_on(from, std::io::stdout())).unwrap_or_default();
            lines.extend(errors.join().ok().flatten().unwrap_or_default());
            lines
        });
        let outcome = match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.failed(&status.to_string())),
            Err(cause) => Err(self.not_started(&cause)),
        };
        (lines, outcome)
    }

    /// The command as the standard library has it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.program());
        command.args(self.words.iter().skip(1));
        // Cargo's variables about this program's own package must not reach other builds.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn not_started(&self, cause: &std::io::Error) -> String {
        format!("cannot start '{}': {cause}; is {} installed?", self.shown(), self.program())
    }

    fn failed(&self, status: &str) -> String {
        format!("'{}' failed ({status})", self.shown())
    }
}

/// Builds a program of the workspace as tests need it, and returns its path.
pub fn built(program: &str) -> Result<String, String> {
    // Of the whole workspace: for a single package cargo would build dependencies again with fewer features.
    Task::new("cargo build --quiet --workspace --bin {}", &[&program]).run()?;
    let folder = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    Ok(format!("{folder}/debug/{program}"))
}

/// Copies lines to `to` as they come and keeps them.
fn pass_on(from: impl Read, mut to: impl Write) -> Vec<String> {
    let mut kept = Vec::new();
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        // A closed terminal must not end the tests: their outcome is still needed.
        let _ = to.write_all(&line).and_then(|()| to.write_all(b"\n")).and_then(|()| to.flush());
        kept.push(String::from_utf8_lossy(&line).into_owned());
    }
    kept
}

/// The word in quotes if a shell needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        let task = Task::new("cargo doc --no-deps", &[]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(task.shown(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
        assert_eq!(Task::new("echo {}", &[&"it's"]).more([""]).shown(), r"echo 'it'\''s' ''");
        assert_eq!(Task::new("{}/b --c={}:{}x", &[&"a b", &1, &"{}"]).shown(), "'a b/b' '--c=1:{}x'");
    }

    #[test]
    fn lines_of_both_outputs_are_kept_with_the_failure() {
        let (mut lines, outcome) = Task::new("sh -c {}", &[&"echo one; echo two >&2; exit 3"]).run_and_keep();
        lines.sort();
        assert_eq!(lines, ["one", "two"]);
        assert!(outcome.is_err_and(|why| why.contains("exit 3") && why.contains("exit status: 3")));
    }

    #[test]
    fn a_missing_program_is_named() {
        let outcome = Task::new("threadwise-no-such-program", &[]).output();
        assert!(outcome.is_err_and(|why| why.contains("is threadwise-no-such-program installed?")));
    }

    #[test]
    fn a_failing_command_tells_what_it_said() {
        let outcome = Task::new("sh -c {}", &[&"echo because >&2; exit 1"]).output();
        assert!(outcome.is_err_and(|why| why.ends_with("\nbecause")));
    }
}
