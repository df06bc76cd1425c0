//! Output: a stdout that may be closed, files that must not be overwritten, the terminal's abilities.
//!
//! One rule for all outputs: text, JSON and CSV are printed; a shell redirects them. A file (a result file, a page, a
//! recording of a machine) has a name on the command line: it must be new, its folder must exist, and `-` is not a
//! name; [`check_new`] checks this before anything else is done. Printing comes first; a file is written even if
//! standard output is closed ([`deliver`]).

use crate::error::AppError;
use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use threadwise_machine::given;
use threadwise_machine::text::{escaped_json, marked_lines};
use threadwise_report::ReportError;
use threadwise_report::terminal::Style;

/// Prints to stdout, without terminal control characters except colours, if any. A closed pipe ends the program
/// quietly.
///
/// # Errors
/// [`AppError::ClosedPipe`], or a failed write.
pub fn print(text: &str) -> Result<(), AppError> {
    let text = harmless(text, style().color);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => AppError::ClosedPipe,
        _ => AppError::Failed(format!("cannot write to standard output: {error}")),
    })
}

/// Last filter of a text, which should already be free of control characters. With `color`, escape sequences of colours
/// stay (ECMA-48, SGR: `ESC [ … m`).
fn harmless(text: &str, color: bool) -> Cow<'_, str> {
    let is_color = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit() && !matches!(c, '[' | ';'));
        part.starts_with('[') && end.is_some_and(|end| part[end..].starts_with('m'))
    };
    let Some((first, rest)) = text.split_once('\u{1b}').filter(|_| color) else { return marked_lines(text) };
    let mut harmless = marked_lines(first).into_owned();
    for part in rest.split('\u{1b}') {
        harmless.push(if is_color(part) { '\u{1b}' } else { char::REPLACEMENT_CHARACTER });
        harmless.push_str(&marked_lines(part));
    }
    harmless.into()
}

/// Writes a line to stderr, without terminal control characters. A closed or full stderr is ignored.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", marked_lines(line));
}

/// Streams an export to stdout, however large it is.
///
/// # Errors
/// As [`print()`].
pub fn stream(write: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>) -> Result<(), AppError> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| Ok(out.flush()?));
    written.map_err(|error| match &error {
        ReportError::Write(cause) if cause.kind() == io::ErrorKind::BrokenPipe => AppError::ClosedPipe,
        _ => AppError::failed(error),
    })
}

/// Writes a page after `printed`, even if that failed: a closed pipe must not prevent a file. It replaces an existing
/// page of the kind that `replaces` names.
///
/// # Errors
/// The page cannot be created or written, or else the error of printing.
pub fn deliver(
    printed: Result<(), AppError>,
    path: Option<&Path>,
    replaces: Option<&str>,
    page: impl FnOnce() -> Result<String, AppError>,
) -> Result<(), AppError> {
    if let Some(path) = path {
        let page = page()?;
        match replaces.is_some_and(|kind| is_page(path, kind)) {
            true => replace(path, &page)?,
            false => write_new(path, &page)?,
        }
    }
    printed
}

/// Prints where a page is, if there is one.
///
/// # Errors
/// As [`print()`].
pub fn name_page(path: Option<&Path>) -> Result<(), AppError> {
    path.map_or(Ok(()), |path| print(&format!("Report: {}\n", path.display())))
}

/// Writes a new file, complete or not at all. [`check_new`] checked its name before, so an existing file is new since
/// then.
///
/// # Errors
/// The file exists, or cannot be written; nothing is left half-written.
fn write_new(path: &Path, text: &str) -> Result<(), AppError> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => AppError::Failed(exists(path)),
            _ => AppError::Failed(format!("cannot create {}: {error}", path.display())),
        })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| {
        // Incomplete: it would only mislead. A failed removal changes nothing for the user.
        let _ = std::fs::remove_file(path);
        AppError::Failed(format!("cannot write {}: {error}", path.display()))
    })
}

/// The message for an existing name.
fn exists(path: &Path) -> String {
    format!("{} exists and is not overwritten: give another name", path.display())
}

/// Whether a file is a page of this kind that this program wrote.
pub fn is_page(path: &Path, kind: &str) -> bool {
    let mark = format!("<meta name=\"generator\" content=\"{kind}\">");
    let regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut head = Vec::new();
    let read = given::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut head));
    regular && read.is_ok() && head.windows(mark.len()).any(|window| window == mark.as_bytes())
}

/// Replaces an existing report atomically.
///
/// # Errors
/// It cannot be written; the old one then stays.
fn replace(path: &Path, text: &str) -> Result<(), AppError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let next = path.with_file_name(name);
    write_new(&next, text)?;
    std::fs::rename(&next, path)
        .map_err(|error| AppError::Failed(format!("cannot replace {}: {error}", path.display())))
}

/// A path quoted for a shell, in commands to copy.
pub fn shell_word(path: &Path) -> String {
    quoted(&path.display().to_string())
}

pub use threadwise_machine::text::shell_word as quoted;

/// Checks the name of an output before anything else, so that a long run does not fail at its end.
///
/// # Errors
/// It exists, its folder does not exist or is not writable, or it is `-`.
pub fn check_new(path: &Path) -> Result<(), AppError> {
    if path == Path::new("-") {
        let why = "text, --json and the like go to standard output; for a file of that name, write ./-";
        return Err(AppError::Input(format!("'-' is not a file name: {why}")));
    }
    if path.symlink_metadata().is_ok() {
        return Err(AppError::Input(exists(path)));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(AppError::Input(format!(
            "{} is not a folder: create it, or give another name",
            folder.display()
        )));
    }
    // Only creating a file shows whether this user may; it is removed at once.
    let made = OpenOptions::new().write(true).create_new(true).open(path).map(drop);
    made.and_then(|()| std::fs::remove_file(path)).map_err(|error| {
        AppError::Input(format!(
            "cannot create {}: {error}; give a name in a folder that you may write to",
            path.display()
        ))
    })
}

/// Whether stdout shows colours: only a terminal, and without NO_COLOR (no-color.org).
pub fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let unicode = locale.is_some_and(|name| name.to_ascii_uppercase().replace('-', "").contains("UTF8"));
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).or_else(terminal_columns);
    Style {
        color: terminal && std::env::var_os("NO_COLOR").is_none(),
        unicode,
        width: columns.unwrap_or(100).clamp(60, 200),
    }
}

/// Width of the terminal on stdout, if known.
fn terminal_columns() -> Option<usize> {
    terminal_size().map(|(columns, _)| columns)
}

/// Columns and lines of the terminal on stdout, if known.
pub fn terminal_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// A JSON string (RFC 8259, 7).
pub fn json_string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if u32::from(c) < 0x20 => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    escaped_json(&quoted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_report::html;

    #[test]
    fn only_colours_act_on_a_terminal() {
        let text = "\u{1b}[1;32mgood\u{1b}[0m\n\u{1b}[2Jx\u{1b}]0;t\u{7}\u{202e}";
        let marked = "\u{1b}[1;32mgood\u{1b}[0m\n\u{fffd}[2Jx\u{fffd}]0;t\u{fffd}\u{fffd}";
        assert_eq!(harmless(text, true), marked);
        assert_eq!(harmless(text, false), marked.replace('\u{1b}', "\u{fffd}"));
        assert_eq!(harmless("\ta\n", true), "\ta\n");
    }

    #[test]
    fn only_a_page_of_ours_of_the_same_kind_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.html");
        assert!(!is_page(&path, html::REPORT));
        for (generator, is_report) in [("other", false), (html::GALLERY, false), (html::REPORT, true)] {
            std::fs::write(&path, format!("<html><meta name=\"generator\" content=\"{generator}\">"))
                .unwrap();
            assert_eq!(is_page(&path, html::REPORT), is_report, "{generator}");
        }
        replace(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shell_word(Path::new("a/b-1.threadwise")), "a/b-1.threadwise");
        assert_eq!(shell_word(Path::new("a b")), "'a b'");
        assert_eq!(shell_word(Path::new("it's")), "'it'\\''s'");
    }
}
