//! A command's output: read in pieces from its end, and its last lines for messages.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use threadwise_machine::text::one_line;

/// Number of last lines that a message repeats.
const LINES: usize = 5;
/// Most characters of these lines.
const CHARACTERS: usize = 400;
/// How much of the end of a file is searched for them.
const TAIL_BYTES: u64 = 16 << 10;

/// How much of an output is in memory at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// A piece: whole lines, or a part of a longer line.
    pub piece_bytes: u64,
    /// Text shown behind the piece, so that a match may extend beyond it.
    pub behind_bytes: u64,
}

/// The worker must stay small beside its command, whose output may have a gigabyte.
pub(super) const SIZES: Sizes = Sizes { piece_bytes: 4 << 20, behind_bytes: 64 << 10 };

/// Bytes shown before a piece to tell whether it begins a line or a word: the longest character.
const BEFORE_BYTES: u64 = 4;

/// Calls `look` with a text piece by piece, the last one first, until it returns something. `look` gets a text
/// and the range of it that is the piece; invalid UTF-8 is replaced.
///
/// # Errors
/// It cannot be read.
pub(super) fn from_the_end<T>(
    file: &mut (impl Read + Seek),
    sizes: Sizes,
    mut look: impl FnMut(&str, Range<usize>) -> Option<T>,
) -> io::Result<Option<T>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut end = length;
    loop {
        let mut start = end.saturating_sub(sizes.piece_bytes);
        let mut piece = between(file, start..end)?;
        if let Some(line) = line_begin(&piece).filter(|_| start > 0) {
            piece.drain(..line);
            start += line as u64;
        }
        let mut text = lossy(&between(file, start.saturating_sub(BEFORE_BYTES)..start)?);
        let from = text.len();
        text.push_str(&String::from_utf8_lossy(&piece));
        drop(piece);
        let until = text.len();
        text.push_str(&lossy(&between(file, end..length.min(end + sizes.behind_bytes))?));
        let found = look(&text, from..until);
        if found.is_some() || start == 0 {
            return Ok(found);
        }
        end = start;
    }
}

/// Where the first complete line begins; `None` if there is none.
fn line_begin(bytes: &[u8]) -> Option<usize> {
    let (_, inner) = bytes.split_last()?;
    inner.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
}

fn between(file: &mut (impl Read + Seek), range: Range<u64>) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(range.start))?;
    let mut bytes = Vec::new();
    file.take(range.end - range.start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file as text, up to `limit` bytes of it; invalid UTF-8 is replaced.
///
/// # Errors
/// It cannot be read.
pub(super) fn text(file: &mut File, limit: u64) -> io::Result<String> {
    between(file, 0..limit).map(|bytes| lossy(&bytes))
}

/// The whole lines at the end of a file, no more than `limit` bytes of them.
///
/// # Errors
/// It cannot be read.
pub(super) fn last_text(file: &mut File, limit: u64) -> io::Result<String> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(limit);
    let bytes = between(file, start..length)?;
    // A line cut at its beginning could be taken for a shorter one.
    let skipped = if start > 0 { line_begin(&bytes).unwrap_or(bytes.len()) } else { 0 };
    Ok(lossy(&bytes[skipped..]))
}

/// Bytes of both output files.
pub(super) fn size(paths: [&Path; 2]) -> u64 {
    paths.iter().filter_map(|path| path.metadata().ok()).map(|entry| entry.len()).sum()
}

/// The last lines of standard error, or if that is empty of standard output, as one line.
pub fn last_words(stdout: &Path, stderr: &Path) -> String {
    let said = [stderr, stdout].into_iter().map(|path| last_lines(&tail(path)));
    said.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| "it wrote nothing".to_owned())
}

fn tail(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        between(&mut file, length.saturating_sub(TAIL_BYTES)..length).map(|bytes| lossy(&bytes))
    };
    // Output that cannot be read must not hide what is reported with it.
    read().unwrap_or_default()
}

fn last_lines(text: &str) -> String {
    let lines = text.lines().map(|line| one_line(line, usize::MAX));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
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
        assert_eq!(size([&out, &err]), 19);
        let mut file = File::open(&out).unwrap();
        assert_eq!(text(&mut file, 3).unwrap(), "fin");
        assert_eq!([last_text(&mut file, 5).unwrap(), last_text(&mut file, 4).unwrap()], ["fine\n", ""]);
        std::fs::write(&out, "one\ntwo\n").unwrap();
        assert_eq!(last_text(&mut File::open(&out).unwrap(), 5).unwrap(), "two\n");
    }

    #[test]
    fn pieces_are_lines_from_the_end_and_no_larger_than_asked() {
        let read = |bytes: &[u8], piece_bytes: u64| {
            let (mut pieces, mut around) = (Vec::new(), Vec::new());
            let sizes = Sizes { piece_bytes, behind_bytes: 3 };
            let none = from_the_end(&mut io::Cursor::new(bytes), sizes, |text, range| {
                pieces.push(text[range.clone()].to_owned());
                around.push((text[..range.start].to_owned(), text[range.end..].to_owned()));
                None::<()>
            });
            assert_eq!(none.unwrap(), None);
            (pieces, around)
        };
        let (pieces, around) = read(b"one\ntwo\nthree\n", 9);
        assert_eq!(pieces, ["three\n", "one\ntwo\n"]);
        assert_eq!(around[0], ("two\n".to_owned(), String::new()));
        assert_eq!(around[1], (String::new(), "thr".to_owned()));
        assert_eq!(read(b"", 9).0, [""]);
        assert_eq!(read(b"\n\n\n", 1).0, ["\n", "\n", "\n"]);
        // A line that is longer than a piece is cut, and so may a character be.
        assert_eq!(read(b"abcdefgh\n", 4).0, ["fgh\n", "bcde", "a"]);
        assert_eq!(read("a\u{e4}b".as_bytes(), 2).0, ["\u{fffd}b", "a\u{fffd}"]);
        // Nothing is read before the piece that has what is looked for.
        let mut seen = 0;
        let sizes = Sizes { piece_bytes: 9, behind_bytes: 3 };
        let found = from_the_end(&mut io::Cursor::new(b"one\ntwo\nthree\n"), sizes, |_, _| {
            seen += 1;
            Some(seen)
        });
        assert_eq!(found.unwrap(), Some(1));
    }

    #[test]
    fn no_more_than_a_piece_is_asked_of_a_gigabyte() {
        /// A gigabyte of one line, which notes how much is read at once.
        struct Endless {
            at: u64,
            largest: u64,
        }
        const LENGTH: u64 = 1 << 30;
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = (buffer.len() as u64).min(LENGTH - self.at);
                self.largest = self.largest.max(length);
                self.at += length;
                buffer[..length as usize].fill(b'x');
                Ok(length as usize)
            }
        }
        impl Seek for Endless {
            fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
                self.at = match to {
                    SeekFrom::End(_) => LENGTH,
                    SeekFrom::Start(at) => at,
                    SeekFrom::Current(by) => self.at.saturating_add_signed(by),
                };
                Ok(self.at)
            }
        }
        let mut endless = Endless { at: 0, largest: 0 };
        let (mut pieces, mut most) = (0, 0);
        let none = from_the_end(&mut endless, SIZES, |text, _| {
            pieces += 1;
            most = most.max(text.len());
            None::<()>
        });
        assert_eq!((none.unwrap(), pieces), (None, 256));
        assert!(most <= (4 << 20) + (64 << 10) + 4 && endless.largest <= 8 << 20, "{most}");
    }
}
