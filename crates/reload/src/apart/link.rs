//! The socket between root and a process of the owner: lines of escaped words, read with a bound.

use crate::escape::{escaped, unescaped};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest message: far above a report with its warnings.
const MAX_BYTES: u64 = 1 << 20;

/// One end of the socket.
#[derive(Debug)]
pub struct Link {
    stream: BufReader<UnixStream>,
    begun: Vec<u8>,
}

/// The error for an unknown message.
pub fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "unknown message from the other process")
}

/// A line of these words.
pub fn line(words: &[&[u8]]) -> String {
    words.iter().map(|word| escaped(word)).collect::<Vec<_>>().join(" ") + "\n"
}

impl Link {
    /// An end of a socket.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream), begun: Vec::new() }
    }

    /// Sends a line.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        self.stream.get_mut().write_all(line.as_bytes())
    }

    /// The words of the next line; `None` if none came in time.
    ///
    /// # Errors
    /// Those of the socket, its end, or a malformed line.
    pub fn words(&mut self, within: Option<Duration>) -> io::Result<Option<Vec<Vec<u8>>>> {
        self.stream.get_ref().set_read_timeout(within)?;
        let left = MAX_BYTES.saturating_sub(self.begun.len() as u64);
        match self.stream.by_ref().take(left).read_until(b'\n', &mut self.begun) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let text = String::from_utf8(std::mem::take(&mut self.begun)).map_err(|_| odd())?;
        let words = text.strip_suffix('\n').ok_or(io::ErrorKind::UnexpectedEof)?.split(' ').map(unescaped);
        words.collect::<Option<_>>().map(Some).ok_or_else(odd)
    }
}

/// The words of a line, read one after another.
#[derive(Debug)]
pub struct Words(std::vec::IntoIter<Vec<u8>>);

impl Words {
    /// The words of a line.
    pub fn new(words: Vec<Vec<u8>>) -> Self {
        Self(words.into_iter())
    }

    /// The next word.
    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        self.0.next()
    }

    /// The next word as text.
    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }

    /// The next word as a number, or any type with one text form.
    pub fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.text()?.parse().ok()
    }

    /// A number that may be missing, which is written `-`.
    pub fn maybe<T: std::str::FromStr>(&mut self) -> Option<Option<T>> {
        match self.text()?.as_str() {
            "-" => Some(None),
            text => text.parse().ok().map(Some),
        }
    }
}

/// A number that may be missing, as a word.
pub fn maybe<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}
