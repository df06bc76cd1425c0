//! One file per sampler; [`all`] is the registry.

pub mod pressure;
pub mod quota;
pub mod schedstat;

use crate::{Sampler, Status};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use threadwise_study::Reading;

/// Every sampler, reading below `root` (`/` on a live system, a folder of fixtures in tests).
pub fn all(root: &Path) -> Vec<Box<dyn Sampler>> {
    vec![
        Box::new(quota::Quota::new(root)),
        Box::new(pressure::Pressure::new(root)),
        Box::new(schedstat::Schedstat::new(root)),
    ]
}

/// A pseudo-file that stays open and is read from its start each time.
#[derive(Debug)]
pub(crate) struct Counter {
    file: File,
    text: String,
}

impl Counter {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, text: String::new() })
    }

    /// Text of the file now.
    pub(crate) fn read(&mut self) -> io::Result<&str> {
        self.text.clear();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_string(&mut self.text)?;
        Ok(&self.text)
    }
}

/// What a failed opening means to the user.
pub(crate) fn status_of(path: &Path, error: &io::Error, remedy: &str) -> Status {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Status::Denied {
            why: format!("{} may not be read by this user", path.display()),
            remedy: remedy.to_owned(),
        },
        _ => Status::Unsupported { why: format!("{}: {error}", path.display()) },
    }
}

/// The window that a reading is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

/// A reading of how much a counter grew; a failed side, or one that ran backwards, makes a gap.
pub(crate) fn growth(
    sampler: &str,
    metric: &str,
    span: Span,
    before: &Result<u64, String>,
    after: &Result<u64, String>,
) -> Reading {
    let grown = match (before, after) {
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        (Ok(before), Ok(after)) => after
            .checked_sub(*before)
            .ok_or_else(|| format!("the counter ran backwards, from {before} to {after}")),
    };
    Reading {
        sampler: sampler.to_owned(),
        metric: metric.to_owned(),
        cpu: None,
        start_ns: span.start_ns,
        end_ns: span.end_ns,
        value: grown.as_ref().ok().map(|&value| value as f64),
        gap: grown.err(),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::Moment;
    use threadwise_machine::CpuSet;

    static NO_CPUS: CpuSet = CpuSet::new();

    /// A moment without CPUs and processes.
    pub(crate) fn at(now_ns: u64) -> Moment<'static> {
        Moment { now_ns, cpus: &NO_CPUS, pids: &[] }
    }

    /// Writes a fixture file below a root, with its folders.
    pub(crate) fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::testing::at;
    use super::*;

    const SPAN: Span = Span { start_ns: 1, end_ns: 2 };

    #[test]
    fn growth_is_a_value_or_a_gap_with_its_reason() {
        assert_eq!(growth("s", "m", SPAN, &Ok(3), &Ok(5)).value, Some(2.0));
        let backwards = growth("s", "m", SPAN, &Ok(5), &Ok(3));
        assert_eq!(backwards.value, None);
        assert!(backwards.gap.unwrap().contains("backwards"));
        assert_eq!(growth("s", "m", SPAN, &Ok(5), &Err("gone".into())).gap.unwrap(), "gone");
    }

    #[test]
    fn on_an_empty_root_every_sampler_says_why_it_cannot_work() {
        let root = tempfile::tempdir().unwrap();
        for sampler in &mut all(root.path()) {
            assert!(matches!(sampler.status(), Status::Unsupported { .. }), "{}", sampler.name());
            let mut readings = Vec::new();
            sampler.start(&at(1));
            sampler.finish(&at(2), &mut readings);
            assert!(!readings.is_empty(), "{}", sampler.name());
            assert!(readings.iter().all(|reading| reading.value.is_none() && reading.gap.is_some()));
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = all(Path::new("/")).iter().map(|sampler| sampler.name()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
