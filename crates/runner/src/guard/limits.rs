//! Limits of this process that a study could hit midway (`getrlimit(2)`, `ulimit -n` and `-v`):
//! workers inherit them.

use super::Refusal;
use crate::known_bytes_by_device;
use rustix::process::{Resource, getrlimit};
use threadwise_study::{Study, Workload};

/// Open files of the runner besides those of workers: the result file, samplers, counters.
const RUNNER_FILES: u64 = 64;
/// Open files of the runner for each worker: both pipes, the log, and one while it starts.
const FILES_PER_WORKER: u64 = 4;
/// Open files of a worker besides those of its sessions.
const WORKER_FILES: u64 = 16;

/// Limits of a process; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Open files.
    pub files: Option<u64>,
    /// Bytes of address space.
    pub address_space: Option<u64>,
}

impl ProcessLimits {
    /// Those of this process.
    pub fn read() -> Self {
        let current = |resource| getrlimit(resource).current;
        Self { files: current(Resource::Nofile), address_space: current(Resource::As) }
    }
}

/// Refuses a study that cannot stay below the limits, before anything is made. It checks the least that
/// the study needs, so that nothing is refused that would have worked.
///
/// # Errors
/// [`Refusal::Files`] or [`Refusal::AddressSpace`].
pub fn check_process_limits(study: &Study, limits: ProcessLimits) -> Result<(), Refusal> {
    let treatments = study.treatments.len() as u64;
    // Each session has at least one file or connection.
    let sessions = study
        .treatments
        .iter()
        .map(|treatment| u64::from(study.worker_sessions(treatment)))
        .max()
        .unwrap_or(0);
    let needed = (RUNNER_FILES + FILES_PER_WORKER * treatments).max(WORKER_FILES + sessions);
    if let Some(limit) = limits.files.filter(|limit| *limit < needed) {
        return Err(Refusal::Files { needed, limit });
    }
    let needed = study.treatments.iter().map(|treatment| {
        let alone = Study { treatments: vec![treatment.clone()], ..study.clone() };
        cached_bytes(&alone)
    });
    let needed = needed.max().unwrap_or(0);
    match limits.address_space.filter(|limit| *limit < needed) {
        Some(limit) => Err(Refusal::AddressSpace { needed, limit }),
        None => Ok(()),
    }
}

/// Least memory of a treatment's worker: half of its data, of which one copy, the
/// template, is only on disk.
fn cached_bytes(study: &Study) -> u64 {
    match study.workload {
        Workload::LogicalIo => known_bytes_by_device(study).values().sum::<u64>() / 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::{OptionValue, Options, Role, Stopping};

    fn study(treatments: usize, sessions: u32, blocks: i64) -> Study {
        let one = threadwise_study::Treatment {
            name: "one".into(),
            group: String::new(),
            role: Role::Compared,
            placement: "1c1t".parse().unwrap(),
            sessions,
            pin: threadwise_machine::Pin::Each,
            memory: threadwise_machine::Memory::Local,
            service: None,
            arm: threadwise_study::Arm::default(),
            instance: Default::default(),
            options: Options::from([("blocks".to_owned(), OptionValue::Integer(blocks))]),
            factors: Default::default(),
        };
        Study {
            name: "x".into(),
            title: "x".into(),
            seed: 1,
            engine: "sqlite".into(),
            engine_properties: None,
            engine_options: Options::new(),
            workload: Workload::LogicalIo,
            treatments: vec![one; treatments],
            comparisons: Vec::new(),
            design: threadwise_study::Design {
                rounds: 1,
                slice_ns: 1,
                rewarm_ns: Some(1),
                stopping: Stopping::Blocks { blocks: 8 },
                level: 0.95,
                margin: 0.03,
                long_windows: None,
            },
            quota: None,
            external: None,
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_study_that_cannot_stay_below_the_limits_is_refused_with_the_numbers() {
        let check = |study: &Study, files, address_space| {
            let limits = ProcessLimits { files, address_space };
            check_process_limits(study, limits).map_err(|why| why.to_string())
        };
        let (small, wide, large) = (study(3, 2, 8), study(3, 1200, 8), study(3, 1, 1 << 20));
        assert_eq!(check(&small, Some(1024), Some(1 << 30)), Ok(()));
        assert_eq!(check(&small, None, None), Ok(()));
        let why = check(&small, Some(64), None).unwrap_err();
        assert!(why.contains("64 open files") && why.contains("ulimit -n 76"), "{why}");
        assert!(check(&wide, Some(1024), None).unwrap_err().contains("ulimit -n 1216"));
        // 4 GiB of blocks in the cache of one session.
        let why = check(&large, None, Some(1 << 30)).unwrap_err();
        assert!(why.contains("4 GiB") && why.contains("1 GiB") && why.contains("ulimit -v"), "{why}");
        assert_eq!(check(&large, None, Some(5 << 30)), Ok(()));
    }
}
