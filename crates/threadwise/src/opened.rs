//! A stored study as `report`, `export` and the end of `run` use it.

use crate::engines;
use crate::error::AppError;
use std::path::Path;
use threadwise_analysis::asked::Asked;
use threadwise_analysis::external_arms::{Boots, external_arms};
use threadwise_analysis::hardware::{self, Hardware};
use threadwise_analysis::long_windows::long_windows;
use threadwise_analysis::{Analysis, Facts, UNTIL_LEVEL_SHARE, analyse_probed, validity};
use threadwise_machine::Topology;
use threadwise_store::{EndState, Store, Versions};
use threadwise_study::probe::Probe;
use threadwise_study::{Note, Run, Stopping, Study};

/// A result file, analysed.
pub struct Opened {
    study: Study,
    topology: Topology,
    runs: Vec<Run>,
    long_runs: Vec<Run>,
    notes: Vec<Note>,
    versions: Versions,
    is_stopped: bool,
    analysis: Analysis,
    source: String,
    probe: Option<Probe>,
    hardware: Option<Hardware>,
    asked: Asked,
    instance_type: Option<String>,
}

impl Opened {
    /// Reads and analyses a result file, without writing to it.
    ///
    /// # Errors
    /// An error of the store.
    pub fn open(path: &Path) -> Result<Self, AppError> {
        let store = Store::open(path).map_err(AppError::input)?;
        let mut study = store.study().clone();
        engines::complete(&mut study);
        let topology = store.topology().clone();
        let versions = store.versions().clone();
        // A study with external arms waits between boots; results do not affect when.
        let done = store.complete_blocks().map_err(AppError::input)?.len() as u32;
        let is_waiting = study.external.as_ref().is_some_and(|arms| done.is_multiple_of(arms.blocks));
        let is_stopped = store.state().map_err(AppError::input)? == EndState::Stopped && !is_waiting;
        let runs = store.runs().map_err(AppError::input)?;
        let notes = store.notes().map_err(AppError::input)?;
        // A continued study has several: the last one describes the machine at the end. The machine in a file with
        // external arms is that of the first boot.
        let mut probes = store.probes().map_err(AppError::input)?;
        probes.truncate(if study.external.is_some() { 1 } else { usize::MAX });
        let probe = probes.pop().map(|stored| stored.probe);
        let share = alpha_share(&study);
        let long_runs = store.long_runs().map_err(AppError::input)?;
        let mut analysis = analyse_probed(&study, Some(&topology), probe.as_ref(), &runs, share);
        let found = long_windows(&study, &analysis, &long_runs, share);
        analysis.answers.put("long_windows", found);
        let (boots, of_blocks) =
            (store.boots().map_err(AppError::input)?, store.block_boots().map_err(AppError::input)?);
        let stored = Boots { boots: &boots, of_blocks: &of_blocks };
        analysis.answers.put("external", external_arms(&study, Some(&topology), &runs, stored, share));
        let instance_type = boots.last().and_then(|boot| boot.instance_type.clone());
        let hardware = probe.as_ref().map(|probe| hardware::compare(&topology, probe));
        let asked = store.asked().map_err(AppError::input)?;
        let source = path.display().to_string();
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
            asked,
            instance_type,
        })
    }

    /// What is wrong with the study as a whole, if anything; also in the verdict's first line.
    pub fn problem(&self) -> Option<String> {
        validity::problem(&self.analysis)
    }

    /// A cloud's name for the kind of machine of the last boot, if its firmware gives one.
    pub fn instance_type(&self) -> Option<&str> {
        self.instance_type.as_deref()
    }

    /// Input of its report and exports.
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
            asked: self.asked,
        }
    }
}

/// Share of alpha of one look: all of it if there is only one.
pub fn alpha_share(study: &Study) -> f64 {
    match study.design.stopping {
        Stopping::Until { .. } => UNTIL_LEVEL_SHARE,
        Stopping::Budget { .. } | Stopping::Blocks { .. } => 1.0,
    }
}
