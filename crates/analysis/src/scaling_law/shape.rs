//! Machines by their shape, `[Ns]NcNt` as in placements: packages, cores on each, logical CPUs of each core.

use super::load::{Load, MAX_THREADS};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Most of each number, so that products stay small.
const MOST: u32 = 4096;

/// A machine's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Packages.
    pub packages: u32,
    /// Cores of each.
    pub cores: u32,
    /// Logical CPUs of each core.
    pub threads: u32,
}

/// A text that is no shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no shape of a machine: packages, cores of each and logical CPUs of each core, such as 2s16c2t or 8c1t"
)]
pub struct ShapeError(String);

impl Shape {
    /// All of its logical CPUs busy.
    pub fn whole(self) -> Load {
        Load::whole(self.packages * self.cores, self.threads)
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let wrong = || ShapeError(text.chars().take(40).collect());
        let number = |digits: &str, most: u32| {
            let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_plain.then(|| digits.parse::<u32>().ok())?;
            number.filter(|number| (1..=most).contains(number))
        };
        let (packages, rest) = match text.split_once('s') {
            Some((digits, rest)) => (number(digits, MOST).ok_or_else(wrong)?, rest),
            None => (1, text),
        };
        let (cores, threads) = rest.split_once('c').ok_or_else(wrong)?;
        let threads = threads.strip_suffix('t').ok_or_else(wrong)?;
        let cores = number(cores, MOST).ok_or_else(wrong)?;
        let threads = number(threads, MAX_THREADS as u32).ok_or_else(wrong)?;
        Ok(Self { packages, cores, threads })
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.packages > 1 {
            write!(f, "{}s", self.packages)?;
        }
        write!(f, "{}c{}t", self.cores, self.threads)
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_and_written() {
        for (text, wanted) in [("2s16c2t", [2, 16, 2]), ("8c1t", [1, 8, 1]), ("1s4c8t", [1, 4, 8])] {
            let shape: Shape = text.parse().unwrap();
            assert_eq!([shape.packages, shape.cores, shape.threads], wanted);
            assert_eq!(shape.to_string(), text.trim_start_matches("1s"));
        }
        assert_eq!("2s16c2t".parse::<Shape>().unwrap().whole().sessions, 64);
        for wrong in
            ["", "8", "8c", "c2t", "8c9t", "0c1t", "8c1t ", "2s", "+2s8c1t", "99999c1t", "2s8c2t1", "8c2tt"]
        {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
    }
}
