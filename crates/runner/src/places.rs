//! The private folder of a study and what lies inside it; what killed studies left.

use crate::RunnerError;
use crate::event::Event;
use crate::settings::Settings;
use crate::workdir::{self, Workdir};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use threadwise_store::Store;

/// Says, here and in the report, what could not be removed or put back.
///
/// # Errors
/// The result file cannot be written.
pub fn left_behind(
    store: &mut Store,
    observer: &mut dyn FnMut(Event<'_>),
    text: &str,
) -> Result<(), RunnerError> {
    observer(Event::LeftBehind(text));
    Ok(store.note(text)?)
}

/// Removes what killed studies left in the data folder and in the system's temporary one, where a study is
/// prepared; then makes the folder.
///
/// # Errors
/// The folder cannot be made, or the result file cannot be written.
pub fn open_workdir(
    settings: &Settings,
    store: &mut Store,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Workdir, RunnerError> {
    let roots = BTreeSet::from([settings.data_root.clone(), std::env::temp_dir()]);
    let (mut swept, mut failed) = (0, Vec::new());
    for (count, errors) in roots.iter().map(|root| workdir::sweep(root, &settings.started_programs)) {
        swept += count;
        failed.extend(errors);
    }
    if swept > 0 {
        observer(Event::Note(&format!("removed {swept} work folders of studies that were killed")));
    }
    for error in failed {
        left_behind(store, observer, &format!("left by a study that was killed: {error}"))?;
    }
    Workdir::of(settings)
}

/// Folders and files inside the private folder.
#[derive(Debug)]
pub struct Places {
    data: PathBuf,
    logs: PathBuf,
    journal: Option<PathBuf>,
}

impl Places {
    /// Makes the folders. A server that root starts runs as another user, who has to reach its data by name.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn make(workdir: &mut Workdir, is_client: bool) -> Result<Self, RunnerError> {
        let (data, logs) = (workdir.folder(workdir::DATA_FOLDER)?, workdir.folder("logs")?);
        let journal = if is_client { workdir.journal()? } else { None };
        if is_client && rustix::process::getuid().is_root() {
            workdir.let_others_pass(&data)?;
        }
        Ok(Self { data, logs, journal })
    }

    /// Them for who works in them.
    pub fn folders(&self) -> Folders<'_> {
        Folders { data: &self.data, logs: &self.logs, journal: self.journal.as_deref() }
    }
}

/// Folders inside the private one.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// For data.
    pub data: &'a Path,
    /// For logs.
    pub logs: &'a Path,
    /// File in which clients of servers write masks of foreign processes down; `None` where there is no place
    /// for one, and no such mask may be changed.
    pub journal: Option<&'a Path>,
}
