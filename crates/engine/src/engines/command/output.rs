//! What a command wrote: read within its limit, and its last lines for messages.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Last lines that a message repeats.
const LINES: usize = 5;
/// Characters of them at most.
const CHARACTERS: usize = 400;
/// How much of the end of a file is looked through for them.
const TAIL_BYTES: u64 = 16 << 10;

/// A file as text, up to `limit` bytes of it; what is not UTF-8 is replaced.
///
/// # Errors
/// It cannot be read.
pub(super) fn text(path: &Path, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Bytes of both output files.
pub(super) fn size(paths: [&Path; 2]) -> u64 {
    paths.iter().filter_map(|path| path.metadata().ok()).map(|entry| entry.len()).sum()
}

/// The last lines of standard error, or where that is empty of standard output, as one line.
pub(super) fn last_words(stdout: &Path, stderr: &Path) -> String {
    let said = [stderr, stdout].into_iter().map(|path| last_lines(&tail(path)));
    said.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| "it wrote nothing".to_owned())
}

fn tail(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // Output that cannot be read must not hide what is told with it.
    read().unwrap_or_default()
}

fn last_lines(text: &str) -> String {
    let clean = |line: &str| {
        let words: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        words.trim().to_owned()
    };
    let lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    let joined = lines[lines.len().saturating_sub(LINES)..].join("; ");
    let skipped = joined.chars().count().saturating_sub(CHARACTERS);
    let end: String = joined.chars().skip(skipped).collect();
    if skipped > 0 { format!("…{end}") } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_clean_and_short() {
        assert_eq!(last_lines("a\n\nb\x1b[31m\x07red\nc\r\n"), "a; b [31m red; c");
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6\n"), "2; 3; 4; 5; 6");
        let long = last_lines(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), 401);
        assert_eq!(last_lines(" \n\n"), "");
    }

    #[test]
    fn standard_error_says_more() {
        let folder = tempfile::tempdir().unwrap();
        let (out, err) = (folder.path().join("out"), folder.path().join("err"));
        assert_eq!(last_words(&out, &err), "it wrote nothing");
        std::fs::write(&out, "fine\n").unwrap();
        assert_eq!(last_words(&out, &err), "fine");
        std::fs::write(&err, "no such table\n").unwrap();
        assert_eq!(last_words(&out, &err), "no such table");
        assert_eq!((size([&out, &err]), text(&out, 3).unwrap().as_str()), (19, "fin"));
    }
}
