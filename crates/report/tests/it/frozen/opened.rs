//! A stored study, read and analysed as `threadwise report` does (crates/threadwise/src/opened.rs).

use std::path::Path;
use threadwise_analysis::external_arms::{Boots, external_arms};
use threadwise_analysis::hardware::{self, Hardware};
use threadwise_analysis::long_windows::long_windows;
use threadwise_analysis::{Analysis, Facts, UNTIL_LEVEL_SHARE, analyse_probed};
use threadwise_machine::Topology;
use threadwise_store::{EndState, Store, StoreError, Versions};
use threadwise_study::engine::Properties;
use threadwise_study::probe::Probe;
use threadwise_study::{Note, Run, Stopping, Study};

/// Everything that a document borrows.
pub struct Opened {
    pub study: Study,
    pub topology: Topology,
    pub runs: Vec<Run>,
    pub long_runs: Vec<Run>,
    pub is_stopped: bool,
    pub notes: Vec<Note>,
    pub versions: Versions,
    pub analysis: Analysis,
    /// The file without its folder, which differs between checkouts.
    pub source: String,
    pub probe: Option<Probe>,
    pub hardware: Option<Hardware>,
}

impl Opened {
    /// `studies/NAME.threadwise`.
    pub fn open(name: &str) -> Self {
        let source = format!("{name}.threadwise");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/frozen/studies");
        let store = Store::open(&folder.join(&source)).unwrap();
        Self::read(&store, source).unwrap()
    }

    /// A file that was opened, under the name that reports show.
    pub fn read(store: &Store, source: String) -> Result<Self, StoreError> {
        let (mut study, topology) = (store.study().clone(), store.topology().clone());
        study.engine_properties.get_or_insert_with(|| properties(&store.study().engine));
        let versions = store.versions().clone();
        let is_stopped = store.state()? == EndState::Stopped;
        let (runs, notes) = (store.runs()?, store.notes()?);
        let probe = store.probes()?.pop().map(|stored| stored.probe);
        // As threadwise::opened::alpha_share.
        let is_until = matches!(study.design.stopping, Stopping::Until { .. });
        let alpha_share = if is_until { UNTIL_LEVEL_SHARE } else { 1.0 };
        let long_runs = store.long_runs()?;
        let mut analysis = analyse_probed(&study, Some(&topology), probe.as_ref(), &runs, alpha_share);
        let found = long_windows(&study, &analysis, &long_runs, alpha_share);
        analysis.answers.put("long_windows", found);
        let (boots, of_blocks) = (store.boots()?, store.block_boots()?);
        let stored = Boots { boots: &boots, of_blocks: &of_blocks };
        analysis.answers.put("external", external_arms(&study, Some(&topology), &runs, stored, alpha_share));
        let hardware = probe.as_ref().map(|probe| hardware::compare(&topology, probe));
        Ok(Self {
            study,
            topology,
            runs,
            long_runs,
            notes,
            versions,
            is_stopped,
            analysis,
            source,
            probe,
            hardware,
        })
    }

    /// What reports and exports are made from.
    pub fn facts(&self) -> Facts<'_> {
        Facts {
            study: &self.study,
            topology: &self.topology,
            analysis: &self.analysis,
            runs: &self.runs,
            long_runs: &self.long_runs,
            notes: &self.notes,
            source: &self.source,
            program_version: &self.versions.program,
            engine_version: &self.versions.engine_version,
            created_utc: &self.versions.created_utc,
            is_stopped: self.is_stopped,
            probe: self.probe.as_ref(),
            hardware: self.hardware.as_ref(),
            asked: Default::default(),
        }
    }
}

/// What the engines of these files say of themselves today, as `threadwise::engines::complete` adds it: the files were
/// made before engines said anything.
fn properties(engine: &str) -> Properties {
    let (usual, dialect) = (Properties::default(), Some(engine.to_owned()));
    match engine {
        "simulated" => Properties { simulated: true, service_threads: false, ..usual },
        "duckdb" => Properties { service_threads: false, dialect, reads_files: true, ..usual },
        "postgres" => Properties { block_bytes: 8192, dialect, holds_plans: true, ..usual },
        "sqlite" => Properties { service_threads: false, dialect, ..usual },
        _ => Properties { service_threads: false, ..usual },
    }
}
