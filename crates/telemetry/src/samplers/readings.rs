//! Shared by samplers: files that stay open, numbers in their text, and readings or gaps.

use crate::Status;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use threadwise_study::Reading;

/// A pseudo-file that stays open and is read from its start each time.
#[derive(Debug)]
pub(crate) struct Counter {
    file: File,
    bytes: Vec<u8>,
}

impl Counter {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, bytes: vec![0; 4096] })
    }

    /// Bytes of the file now. `pread(2)` until the end: pseudo-files give less than requested before
    /// their end, and `read_to_end` would ask for their size and position first, which costs more
    /// than the read.
    pub(crate) fn read_bytes(&mut self) -> io::Result<&[u8]> {
        let mut length = 0;
        loop {
            if length == self.bytes.len() {
                self.bytes.resize(length * 2, 0);
            }
            match self.file.read_at(&mut self.bytes[length..], length as u64) {
                Ok(0) => return Ok(&self.bytes[..length]),
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Text of the file now.
    pub(crate) fn read(&mut self) -> io::Result<&str> {
        std::str::from_utf8(self.read_bytes()?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// The number after a word at the start of a line: `pgmajfault 17`, `MemAvailable:  400 kB`.
pub(crate) fn number_of(text: &str, word: &str) -> Option<u64> {
    let [number] = numbers_of(text, [word]);
    number
}

/// The numbers after several words, in one pass: some of these files are long.
pub(crate) fn numbers_of<const N: usize>(text: &str, words: [&str; N]) -> [Option<u64>; N] {
    let mut numbers = [None; N];
    for line in text.lines() {
        for (number, word) in numbers.iter_mut().zip(words) {
            let rest = line.strip_prefix(word).and_then(|rest| rest.strip_prefix([' ', ':', '\t']));
            if let Some(rest) = rest {
                *number = rest.split_ascii_whitespace().next().and_then(|digits| digits.parse().ok());
            }
        }
        if numbers.iter().all(Option::is_some) {
            break;
        }
    }
    numbers
}

/// The status for a failed opening.
pub(crate) fn status_of(path: &Path, error: &io::Error, remedy: &str) -> Status {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Status::Denied {
            why: format!("{} may not be read by this user", path.display()),
            remedy: remedy.to_owned(),
        },
        _ => Status::Unsupported { why: format!("{}: {error}", path.display()) },
    }
}

/// An open source, or the reason for a gap.
pub(crate) fn opened<T>(source: &mut Result<T, Status>) -> Result<&mut T, String> {
    match source {
        Ok(source) => Ok(source),
        Err(Status::Unsupported { why } | Status::Denied { why, .. }) => Err(why.clone()),
        Err(Status::Ready) => Err("not opened".to_owned()),
    }
}

/// The window that a reading is for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

impl Span {
    pub(crate) fn length_ns(self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64
    }
}

/// A reading of a value, or the gap in its place.
pub(crate) fn reading(
    sampler: &str,
    metric: &str,
    cpu: Option<u32>,
    span: Span,
    value: Result<f64, String>,
) -> Reading {
    let (value, gap) = match value {
        Ok(value) => (Some(value), None),
        Err(why) => (None, Some(why)),
    };
    Reading {
        sampler: sampler.to_owned(),
        metric: metric.to_owned(),
        cpu,
        start_ns: span.start_ns,
        end_ns: span.end_ns,
        value,
        gap,
    }
}

/// Growth of a counter; a failed side, or one that ran backwards, is a gap.
pub(crate) fn grown(before: &Result<u64, String>, after: &Result<u64, String>) -> Result<f64, String> {
    match (before, after) {
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        (Ok(before), Ok(after)) => after
            .checked_sub(*before)
            .map(|value| value as f64)
            .ok_or_else(|| format!("the counter ran backwards, from {before} to {after}")),
    }
}

/// A reading of a counter's growth.
pub(crate) fn growth(
    sampler: &str,
    metric: &str,
    span: Span,
    before: &Result<u64, String>,
    after: &Result<u64, String>,
) -> Reading {
    reading(sampler, metric, None, span, grown(before, after))
}

/// Several counters at one moment, or why there are none.
pub(crate) type Counts<const N: usize> = Result<[u64; N], String>;

/// Readings of several counters from one file, in the order of `metrics`; a failed
/// file is a gap for each.
pub(crate) fn growths<const N: usize>(
    sampler: &str,
    metrics: [&str; N],
    span: Span,
    (before, after): (&Counts<N>, &Counts<N>),
    readings: &mut Vec<Reading>,
) {
    let side = |counters: &Counts<N>, at: usize| counters.clone().map(|counters| counters[at]);
    readings.extend(
        metrics
            .iter()
            .enumerate()
            .map(|(at, metric)| growth(sampler, metric, span, &side(before, at), &side(after, at))),
    );
}
