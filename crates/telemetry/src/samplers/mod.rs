//! One file per sampler; [`all`] is the registry.

pub mod clock;
pub mod counters;
pub mod cpu;
pub mod disk;
pub mod energy;
pub mod memory;
pub mod numa;
pub mod pressure;
pub mod process;
pub mod quota;
mod readings;
pub mod schedstat;

use crate::Sampler;
pub(crate) use readings::{
    Counter, Span, growth, growths, number_of, numbers_of, opened, reading, status_of,
};
use std::path::Path;
use threadwise_machine::Topology;

/// Every sampler, reading below `root` (`/` on a live system, a folder of fixtures in tests), on the
/// machine of `topology`.
pub fn all(root: &Path, topology: &Topology) -> Vec<Box<dyn Sampler>> {
    vec![
        Box::new(cpu::Cpu::new(root, topology)),
        Box::new(process::Process::new(root)),
        Box::new(quota::Quota::new(root)),
        Box::new(pressure::Pressure::new(root)),
        Box::new(schedstat::Schedstat::new(root)),
        Box::new(memory::Memory::new(root)),
        Box::new(numa::Numa::new(root)),
        Box::new(disk::Disk::new(root)),
        Box::new(energy::Energy::new(root)),
        Box::new(clock::Clock::new(root)),
        Box::new(counters::Counters::new(root)),
    ]
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::Moment;
    use threadwise_machine::CpuSet;
    use threadwise_study::Reading;

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

    /// The reading of a metric that belongs to no logical CPU.
    pub(crate) fn found<'a>(readings: &'a [Reading], metric: &str) -> &'a Reading {
        let mut all = readings.iter().filter(|reading| reading.metric == metric && reading.cpu.is_none());
        let reading = all.next().unwrap_or_else(|| panic!("no {metric} in {readings:?}"));
        assert!(all.next().is_none(), "{metric} is there twice");
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::testing::at;
    use super::*;
    use crate::Status;

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
        for sampler in &mut all(root.path(), &Topology::default()) {
            assert!(matches!(sampler.status(), Status::Unsupported { .. }), "{}", sampler.name());
            let mut readings = Vec::new();
            sampler.start(&at(1));
            sampler.tick(&at(2));
            sampler.finish(&at(3), &mut readings);
            assert!(!readings.is_empty(), "{}", sampler.name());
            assert!(readings.iter().all(|reading| reading.value.is_none() && reading.gap.is_some()));
        }
    }

    #[test]
    fn names_are_distinct() {
        let all = all(Path::new("/"), &Topology::default());
        let mut names: Vec<_> = all.iter().map(|sampler| sampler.name()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_file_that_grows_is_read_whole_each_time() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        std::fs::write(&path, "short").unwrap();
        let mut counter = Counter::open(&path).unwrap();
        assert_eq!(counter.read().unwrap(), "short");
        let long = "x".repeat(20_000);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(counter.read().unwrap(), long);
        std::fs::write(&path, b"\xff").unwrap();
        assert!(counter.read().is_err());
    }

    #[test]
    fn numbers_are_found_by_the_whole_word() {
        let text = "pgmajfaultx 1\npgmajfault 2\nMemAvailable:    400 kB\nbad x\n";
        assert_eq!(number_of(text, "pgmajfault"), Some(2));
        assert_eq!(number_of(text, "MemAvailable"), Some(400));
        assert_eq!(number_of(text, "bad"), None);
        assert_eq!(number_of(text, "absent"), None);
    }
}
