//! A target: how its inputs are made, and what must hold of the program with any of them.

use crate::mutate;
use crate::random::Random;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use threadwise_machine::text::is_deceptive;

/// A target by its name.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Prepares it.
    pub make: fn() -> Result<Target, String>,
}

/// Makes an input, only from the random numbers.
type Input = Box<dyn Fn(&mut Random) -> Vec<u8>>;

/// Gives an input to the program.
type Judge = Box<dyn FnMut(&[u8]) -> Judged>;

/// What a judgement says: whether the input passed the outermost check (magic, header, first key, syntax). An error
/// is a forbidden result, an answer that contradicts itself. (The caller handles panics, aborts, time and memory.)
pub type Judged = Result<bool, String>;

/// A part of the program that reads others' data.
pub struct Target {
    /// Makes an input.
    pub input: Input,
    /// Gives an input to the program.
    pub judge: Judge,
}

impl Target {
    /// Inputs and judgement of bytes.
    pub fn new(
        input: impl Fn(&mut Random) -> Vec<u8> + 'static,
        judge: impl FnMut(&[u8]) -> Judged + 'static,
    ) -> Self {
        Self { input: Box::new(input), judge: Box::new(judge) }
    }

    /// The same with a state that both have.
    pub fn with<S: 'static>(
        state: S,
        input: fn(&S, &mut Random) -> Vec<u8>,
        judge: fn(&S, &[u8]) -> Judged,
    ) -> Self {
        let state = Rc::new(state);
        let shared = Rc::clone(&state);
        Self::new(move |random| input(&shared, random), move |bytes| judge(&state, bytes))
    }

    /// Texts of a grammar, changed in `percent` of the cases at up to `times` places.
    pub fn texts(
        percent: usize,
        times: usize,
        valid: impl Fn(&mut Random) -> String + 'static,
        mut judge: impl FnMut(&str) -> Judged + 'static,
    ) -> Self {
        Self::new(
            move |random| changed(random, percent, times, &valid),
            move |input| std::str::from_utf8(input).map_or(Ok(false), &mut judge),
        )
    }
}

/// A text of a grammar, changed in `percent` of the cases at up to `times` places, with parts of another one.
pub fn changed(
    random: &mut Random,
    percent: usize,
    times: usize,
    valid: impl Fn(&mut Random) -> String,
) -> Vec<u8> {
    let mut bytes = valid(random).into_bytes();
    if random.percent(percent) {
        let (times, donor) = (random.times(times), valid(random).into_bytes());
        mutate::text(random, &mut bytes, times, &[donor]);
    }
    bytes
}

/// One of the values, changed as a value in most cases, else as a text.
pub fn changed_json(random: &mut Random, values: &[Value]) -> Vec<u8> {
    let (mut value, times) = (random.pick(values).clone(), random.times(4));
    if random.percent(85) {
        mutate::json(random, &mut value, times, values);
        return value.to_string().into_bytes();
    }
    let mut bytes = value.to_string().into_bytes();
    mutate::text(random, &mut bytes, times, &[]);
    bytes
}

/// The parts of a corpus: `### NAME` stands in a line before each.
pub fn parts(corpus: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    corpus.split("### ").filter_map(|part| part.split_once('\n'))
}

/// Values of JSON, one a line.
pub fn values(lines: &str) -> Result<Vec<Value>, String> {
    lines.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))).collect()
}

/// An input's first line, and the rest.
pub fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    (&input[..at], input.get(at + 1..).unwrap_or_default())
}

/// A folder in memory if possible, since some targets write thousands of small files a second.
pub fn space() -> Result<tempfile::TempDir, String> {
    // Journals are trusted only in private folders.
    let private = std::fs::Permissions::from_mode(0o700);
    let mut form = tempfile::Builder::new();
    let form = form.prefix("threadwise-fuzz-").permissions(private);
    let made = form.tempdir_in("/dev/shm").or_else(|_| form.tempdir());
    made.map_err(|error| format!("no temporary folder: {error}"))
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Fails with a message if a condition does not hold.
pub fn hold(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// An error's text is one line that says something.
pub fn one_line(text: &str) -> Result<(), String> {
    hold(!text.is_empty() && !text.contains('\n'), || format!("an error that is not one line: {text:?}"))
}

/// A shown text has no deceptive character. (Errors may: they are escaped where they are printed.)
pub fn plain(what: &str, text: &str) -> Result<(), String> {
    hold(!text.contains(is_deceptive), || format!("{what} deceives: {text:?}"))
}

/// What was written again is read as the same.
pub fn same<T: PartialEq + std::fmt::Debug, E: std::fmt::Debug>(
    again: &Result<T, E>,
    value: &T,
) -> Result<(), String> {
    hold(matches!(again, Ok(again) if again == value), || {
        format!("{value:?} is {again:?} when it is read again")
    })
}
