//! The load at one point of a sweep: how many sessions, on how many cores with how many of their threads.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

/// Most logical CPUs that one core has (SMT8 of POWER).
pub const MAX_THREADS: usize = 8;

/// What is busy at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Sessions that run at once, each on its own logical CPU.
    pub sessions: u32,
    /// Number of cores with one busy thread, with two, and so on; the last is not 0.
    pub cores: Vec<u32>,
    /// Clock over that with one core busy; `None` if unknown.
    pub clock_ratio: Option<f64>,
}

impl Load {
    /// Sessions on cores of which only the number of logical CPUs is known, the least busy core first, as schedulers
    /// spread threads (Linux `select_idle_core` in kernel/sched/fair.c).
    ///
    /// `None` if there are more sessions than logical CPUs, or none: waiting sessions are not load.
    pub fn spread(sessions: u32, threads_of_cores: &[u32]) -> Option<Self> {
        let widest = threads_of_cores.iter().copied().max()?.min(MAX_THREADS as u32);
        let mut cores = vec![0_u32; widest as usize];
        let mut left = sessions;
        for level in 1..=widest {
            let wide = threads_of_cores.iter().filter(|threads| **threads >= level).count() as u32;
            let filled = left.min(wide);
            left -= filled;
            cores[level as usize - 1] = filled;
        }
        (left == 0 && sessions > 0).then(|| Self::of_levels(sessions, &cores))
    }

    /// From the number of cores that have at least one busy thread, at least two, and so on.
    fn of_levels(sessions: u32, at_least: &[u32]) -> Self {
        let next = |level: usize| at_least.get(level + 1).copied().unwrap_or(0);
        let mut cores: Vec<u32> = at_least.iter().enumerate().map(|(level, n)| n - next(level)).collect();
        while cores.last() == Some(&0) {
            cores.pop();
        }
        Self { sessions, cores, clock_ratio: None }
    }

    /// Sessions on a core each.
    pub fn of_cores(sessions: u32) -> Self {
        Self { sessions, cores: vec![sessions], clock_ratio: None }
    }

    /// All logical CPUs of a machine busy.
    pub fn whole(cores: u32, threads_per_core: u32) -> Self {
        let mut by_threads = vec![0; (threads_per_core as usize).clamp(1, MAX_THREADS)];
        let last = by_threads.len() - 1;
        by_threads[last] = cores;
        Self { sessions: cores * (last as u32 + 1), cores: by_threads, clock_ratio: None }
    }

    /// What distinguishes it from another load of its machine.
    pub(super) fn place(&self) -> (u32, &[u32]) {
        (self.sessions, &self.cores)
    }

    /// The load with a clock.
    pub fn at_clock(self, clock_ratio: Option<f64>) -> Self {
        Self { clock_ratio, ..self }
    }

    /// Most busy threads of one core.
    pub fn widest(&self) -> u32 {
        self.cores.len() as u32
    }

    /// Cores with at least one busy thread.
    pub fn busy_cores(&self) -> u32 {
        self.cores.iter().sum()
    }
}

/// Limit of each number, so that products stay small.
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

/// A text that is not a shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a machine shape: give packages, cores of each and logical CPUs of each core, such as 2s16c2t or 8c1t"
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
        let threads = threads.strip_suffix('t').and_then(|digits| number(digits, MAX_THREADS as u32));
        let cores = number(cores, MOST).ok_or_else(wrong)?;
        Ok(Self { packages, cores, threads: threads.ok_or_else(wrong)? })
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

impl JsonSchema for Shape {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Shape".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_come_first_and_siblings_after_them() {
        let cores = |sessions, threads: &[u32]| Load::spread(sessions, threads).map(|load| load.cores);
        assert_eq!(cores(3, &[2; 4]), Some(vec![3]));
        assert_eq!(cores(4, &[2; 4]), Some(vec![4]));
        assert_eq!(cores(6, &[2; 4]), Some(vec![2, 2]));
        assert_eq!(cores(8, &[2; 4]), Some(vec![0, 4]));
        assert_eq!(cores(9, &[2; 4]), None, "one waits");
        // Hybrid: two cores of two threads, four of one.
        assert_eq!(cores(7, &[2, 2, 1, 1, 1, 1]), Some(vec![5, 1]));
        assert_eq!(cores(5, &[4, 4]), Some(vec![0, 1, 1]));
        assert_eq!(cores(0, &[1]), None);
        assert_eq!(cores(1, &[]), None);
    }

    #[test]
    fn a_whole_machine_has_all_threads_busy() {
        let whole = Load::whole(16, 2);
        assert_eq!((whole.sessions, whole.cores.clone(), whole.busy_cores()), (32, vec![0, 16], 16));
        assert_eq!(Load::whole(3, 1), Load::of_cores(3));
    }

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
