//! A target: how its inputs are made, and what must hold of the program with any of them. What does not hold is a
//! panic, as in a test; the caller handles panics, aborts, time and memory.

use crate::mutate;
use crate::random::Random;
use std::fmt::Debug;
use std::fs;
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
    pub make: fn() -> Target,
}

/// Makes an input, only from the random numbers.
type Input = Box<dyn Fn(&mut Random) -> Vec<u8>>;
/// Gives an input to the program; whether it passed the outermost check (magic, header, first key, syntax).
type Judge = Box<dyn FnMut(&[u8]) -> bool>;

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
        judge: impl FnMut(&[u8]) -> bool + 'static,
    ) -> Self {
        Self { input: Box::new(input), judge: Box::new(judge) }
    }

    /// The same with a state that both have.
    pub fn with<S: 'static>(
        state: S,
        input: fn(&S, &mut Random) -> Vec<u8>,
        judge: fn(&S, &[u8]) -> bool,
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
        mut judge: impl FnMut(&str) -> bool + 'static,
    ) -> Self {
        Self::new(
            move |random| changed(random, percent, times, &valid),
            move |input| std::str::from_utf8(input).is_ok_and(&mut judge),
        )
    }

    /// Documents of JSON or TOML, changed.
    pub fn documents(corpus: Vec<String>, mut judge: impl FnMut(&str) -> bool + 'static) -> Self {
        Self::new(
            move |random| mutate::document(random, &corpus),
            move |input| std::str::from_utf8(input).is_ok_and(&mut judge),
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

/// The parts of a corpus: `### NAME` stands in a line before each.
pub fn parts(corpus: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    corpus.split("### ").filter_map(|part| part.split_once('\n'))
}

/// The lines of a corpus.
pub fn lines(corpus: &str) -> Vec<String> {
    corpus.lines().map(str::to_owned).collect()
}

/// An input's first line, and the rest.
pub fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    (&input[..at], input.get(at + 1..).unwrap_or_default())
}

/// A folder in memory if possible, since some targets write thousands of small files a second.
pub fn space() -> tempfile::TempDir {
    // Journals are trusted only in private folders.
    let private = fs::Permissions::from_mode(0o700);
    let mut form = tempfile::Builder::new();
    let form = form.prefix("threadwise-fuzz-").permissions(private);
    form.tempdir_in("/dev/shm").or_else(|_| form.tempdir()).expect("a temporary folder")
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// An error's text is one line that says something.
#[track_caller]
pub fn one_line(error: &dyn std::fmt::Display) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "an error that is not one line: {text:?}");
}

/// A shown text has no deceptive character. (Errors may: they are escaped where they are printed.)
#[track_caller]
pub fn plain(what: &str, text: &str) {
    assert!(!text.contains(is_deceptive), "{what} deceives: {text:?}");
}

/// What was written again is read as the same.
#[track_caller]
pub fn same<T: PartialEq + Debug, E: Debug>(again: &Result<T, E>, value: &T) {
    let is_same = again.as_ref().is_ok_and(|again| again == value);
    assert!(is_same, "{value:?} is {again:?} when it is read again");
}
