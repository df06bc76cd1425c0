//! The private folder of a study and its contents; leftovers of killed studies.

use crate::RunnerError;
use crate::event::Event;
use crate::settings::Settings;
use crate::workdir::{self, Workdir};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use threadwise_store::Store;
use threadwise_study::Study;

/// Reports, here and in the report, what could not be removed or restored.
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

/// Removes leftovers of killed studies in the data folder and in the system's temporary one, where a study is
/// prepared; then makes the folder.
///
/// # Errors
/// The folder cannot be made, or the result file cannot be written.
pub fn open_workdir(
    settings: &Settings,
    store: &mut Store,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Workdir, RunnerError> {
    let devices = devices(&part_study(settings, store)).into_iter().map(PathBuf::from);
    let roots: BTreeSet<PathBuf> =
        [settings.data_root.clone(), std::env::temp_dir()].into_iter().chain(devices).collect();
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

/// The study as this start of the program runs it.
pub fn part_study(settings: &Settings, store: &Store) -> Study {
    settings.part_study.clone().unwrap_or_else(|| store.study().clone())
}

/// Folders on the devices that a study's treatments name, each once.
fn devices(study: &Study) -> BTreeSet<String> {
    study.treatments.iter().filter_map(|treatment| treatment.instance.device.clone()).collect()
}

/// A private folder on each device that the study's treatments name, by its device.
///
/// # Errors
/// Those of [`Workdir::create`].
pub fn open_devices(study: &Study, settings: &Settings) -> Result<BTreeMap<String, Workdir>, RunnerError> {
    let open = |device: String| Workdir::below(Path::new(&device), settings).map(|workdir| (device, workdir));
    devices(study).into_iter().map(open).collect()
}

/// Folders and files inside the private folder.
#[derive(Debug)]
pub struct Places {
    data: PathBuf,
    logs: PathBuf,
    journal: Option<PathBuf>,
    /// By treatment: the folder of its data.
    instances: Vec<PathBuf>,
}

impl Places {
    /// Makes the folders. A server that root starts runs as another user, who must reach its data by name.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn make(
        workdir: &mut Workdir,
        devices: &BTreeMap<String, Workdir>,
        study: &Study,
        is_client: bool,
    ) -> Result<Self, RunnerError> {
        let others_pass = is_client && rustix::process::getuid().is_root();
        let data_of = |workdir: &Workdir| {
            let data = workdir.folder(workdir::DATA_FOLDER)?;
            if others_pass {
                workdir.let_others_pass(&data)?;
            }
            Ok::<PathBuf, RunnerError>(data)
        };
        let (data, logs) = (data_of(workdir)?, workdir.folder("logs")?);
        let mut instances = vec![data.clone(); study.treatments.len()];
        let groups = study.instances();
        for (number, treatments) in groups.iter().enumerate().filter(|_| groups.len() > 1) {
            let device = &study.treatments[treatments[0]].instance.device;
            let home = device.as_ref().and_then(|device| devices.get(device)).unwrap_or(workdir);
            data_of(home)?;
            // Short, since the path of a server's socket has 107 bytes at most (unix(7)).
            let folder = home.folder(&format!("{}/{number}", workdir::DATA_FOLDER))?;
            if others_pass {
                home.let_others_pass(&folder)?;
            }
            treatments.iter().for_each(|at| instances[*at].clone_from(&folder));
        }
        let journal = if is_client { workdir.journal()? } else { None };
        Ok(Self { data, logs, journal, instances })
    }

    /// Them for the worker's user.
    pub fn folders(&self) -> Folders<'_> {
        Folders {
            data: &self.data,
            logs: &self.logs,
            journal: self.journal.as_deref(),
            instances: &self.instances,
        }
    }
}

/// Folders inside the private one.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// For data.
    pub data: &'a Path,
    /// For logs.
    pub logs: &'a Path,
    /// File in which clients of servers record masks of foreign processes; `None` if there is no place
    /// for one, and then no such mask may be changed.
    pub journal: Option<&'a Path>,
    /// By treatment: the folder of its data, `data` or its instance's folder inside or on its device.
    pub instances: &'a [PathBuf],
}
