//! A fleet's folder: `plan.json`, `study.toml`, the program, the engine's files, `cells/`, `logs/` and
//! `submitted.jsonl`.

use crate::cell::{CellId, CellRecord, EXIT_FILE, Outcome, RECORD_FILE, STUDY_FILE, VERSION};
use crate::durable;
use crate::engine::{FleetEngine, FleetLocation, GeneratedFile};
use crate::engines;
use crate::paths::{BINARY, CELLS, LOGS, PLAN_FILE, STUDY_DEFINITION, SUMMARY};
use crate::plan::{Plan, sha256};
use crate::{FleetError, quote};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use threadwise_machine::given;

/// Maximum bytes of a plan.
const MOST_PLAN_BYTES: u64 = 64 << 20;
/// Maximum bytes of cell.json.
const MOST_RECORD_BYTES: u64 = 1 << 20;

/// A fleet's folder with its plan.
#[derive(Debug, Clone)]
pub struct FleetFolder {
    /// The folder, absolute.
    pub dir: PathBuf,
    /// Its location, for scripts.
    pub location: FleetLocation,
    /// The plan.
    pub plan: Plan,
    /// SHA-256 of its text.
    pub hash: String,
}

/// A cell's folder on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellFolder {
    /// It does not exist.
    Nothing,
    /// An attempt has a work folder: it is running, or was stopped, and the next one continues it.
    Aside(PathBuf),
    /// It is complete.
    Whole(Box<CellRecord>, i32),
    /// It exists and cannot be used; one line that says what to do.
    Broken(String),
}

impl FleetFolder {
    /// Opens a folder that `fleet plan` created.
    ///
    /// # Errors
    /// It has no plan, or an unusable one.
    pub fn open(dir: &Path) -> Result<Self, FleetError> {
        const MAKE: &str = "create one with threadwise fleet plan FILE -o DIR";
        let dir = dir
            .canonicalize()
            .map_err(|error| FleetError::broken(dir, format!("it cannot be opened ({error}): {MAKE}")))?;
        let path = dir.join(PLAN_FILE);
        if !path.exists() {
            return Err(FleetError::broken(&dir, format!("it has no plan.json: {MAKE}")));
        }
        let (plan, hash) = Plan::parse(&durable::read_text(&path, MOST_PLAN_BYTES)?, &path)?;
        Ok(Self { location: FleetLocation::new(&dir)?, dir, plan, hash })
    }

    /// The engine of its plan.
    ///
    /// # Errors
    /// It is unknown to this program.
    pub fn engine(&self) -> Result<&'static dyn FleetEngine, FleetError> {
        let known = || {
            format!("the plan's engine '{}' is not one of {}", self.plan.engine, engines::names().join(", "))
        };
        engines::find(&self.plan.engine).ok_or_else(|| FleetError::broken(&self.dir.join(PLAN_FILE), known()))
    }

    /// Folder of results.
    pub fn cells(&self) -> PathBuf {
        self.dir.join(CELLS)
    }

    /// Folder of a complete cell.
    pub fn cell(&self, cell: &CellId) -> PathBuf {
        self.cells().join(cell.to_string())
    }

    /// The state on the disk of every cell of the plan.
    ///
    /// # Errors
    /// The folder of results cannot be read.
    pub fn found(&self) -> Result<BTreeMap<CellId, CellFolder>, FleetError> {
        let aside = asides(&self.cells())?;
        let one = |cell: &CellId| {
            let path = self.cell(cell);
            let found = match path.symlink_metadata() {
                Ok(_) => self.whole(cell, &path),
                Err(_) => aside.get(cell).map_or(CellFolder::Nothing, |path| CellFolder::Aside(path.clone())),
            };
            (cell.clone(), found)
        };
        Ok(self.plan.order.iter().map(one).collect())
    }

    fn whole(&self, cell: &CellId, path: &Path) -> CellFolder {
        match read_cell(path, cell, &self.hash) {
            Ok((record, exit)) => CellFolder::Whole(Box::new(record), exit),
            Err(why) => CellFolder::Broken(format!("{why}; move {} away and submit again", path.display())),
        }
    }
}

/// Reads `cell.json` and `exit` of a cell's folder, and checks that they belong to this plan.
///
/// # Errors
/// Why they cannot be used.
pub fn read_cell(path: &Path, cell: &CellId, plan_hash: &str) -> Result<(CellRecord, i32), FleetError> {
    let file = path.join(RECORD_FILE);
    let record = read_record(&file)?;
    let broken = |why: &str| FleetError::broken(&file, why);
    if record.plan != plan_hash {
        return Err(broken("it belongs to another plan"));
    }
    if record.cell != *cell {
        return Err(broken("it belongs to another cell"));
    }
    let exit_path = path.join(EXIT_FILE);
    let exit = durable::read_text(&exit_path, 100)?;
    let exit = exit.trim().parse().map_err(|_| FleetError::broken(&exit_path, "it is not an exit code"))?;
    let has_study = matches!(record.outcome, Outcome::Measured | Outcome::Invalid);
    if has_study && !path.join(STUDY_FILE).is_file() {
        return Err(FleetError::broken(
            &path.join(STUDY_FILE),
            "it does not exist, though the cell was measured",
        ));
    }
    Ok((record, exit))
}

/// Reads a cell.json alone.
///
/// # Errors
/// It cannot be read, or is of another version.
pub fn read_record(file: &Path) -> Result<CellRecord, FleetError> {
    let text = durable::read_text(file, MOST_RECORD_BYTES)?;
    let record: CellRecord = serde_json::from_str(&text)
        .map_err(|error| FleetError::broken(file, format!("it is not the record of a cell: {error}")))?;
    match record.version {
        VERSION => Ok(record),
        version => Err(FleetError::broken(
            file,
            format!("its version is {version}, but this program reads {VERSION}"),
        )),
    }
}

/// Work folders of attempts, `.MACHINE.REPEAT.XXXX`, by their cell.
fn asides(cells: &Path) -> Result<BTreeMap<CellId, PathBuf>, FleetError> {
    let failed = |error: std::io::Error| FleetError::file("read", cells, &error);
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(cells).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let cell = name.to_str().and_then(|name| name.strip_prefix('.')?.rsplit_once('.')?.0.parse().ok());
        if let Some(cell) = cell {
            found.insert(cell, entry.path());
        }
    }
    Ok(found)
}

/// A plan to be written into a folder.
pub struct NewFolder<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Text of the study definition.
    pub study: &'a str,
    /// The program that measures.
    pub binary: &'a Path,
    /// The summary as text.
    pub summary: &'a str,
}

/// Creates a fleet's folder, or completes an interrupted one of the same plan. `plan.json` comes last: a folder with it
/// is complete.
///
/// # Errors
/// The folder has other content, or cannot be written; the engine cannot express the plan.
pub fn make(dir: &Path, new: &NewFolder<'_>) -> Result<FleetFolder, FleetError> {
    let text = new.plan.text()?;
    check_folder(dir, &text)?;
    std::fs::create_dir_all(dir).map_err(|error| FleetError::file("make", dir, &error))?;
    let dir = dir.canonicalize().map_err(|error| FleetError::file("open", dir, &error))?;
    let location = FleetLocation::new(&dir)?;
    let known = || FleetError::Failed(format!("there is no engine '{}'", new.plan.engine));
    let engine = engines::find(&new.plan.engine).ok_or_else(known)?;
    let files = engine.files(new.plan, &location)?;
    for folder in [CELLS, LOGS] {
        let path = dir.join(folder);
        std::fs::create_dir_all(&path).map_err(|error| FleetError::file("make", &path, &error))?;
    }
    copy_binary(new.binary, &dir.join(BINARY), &new.plan.binary_sha256)?;
    durable::write(&dir.join(STUDY_DEFINITION), new.study.as_bytes(), 0o644)?;
    write_files(&dir, &files)?;
    durable::write(&dir.join(SUMMARY), new.summary.as_bytes(), 0o644)?;
    durable::write(&dir.join(PLAN_FILE), text.as_bytes(), 0o644)?;
    Ok(FleetFolder { dir, location, hash: sha256(text.as_bytes()), plan: new.plan.clone() })
}

/// Refuses a folder with files of something else.
///
/// # Errors
/// [`FleetError::Broken`].
pub fn check_folder(dir: &Path, plan_text: &str) -> Result<(), FleetError> {
    if dir.symlink_metadata().is_err() {
        return Ok(());
    }
    let entries = std::fs::read_dir(dir).map_err(|error| FleetError::file("read", dir, &error))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let path = dir.join(PLAN_FILE);
    match path.exists() {
        true if durable::read_text(&path, MOST_PLAN_BYTES)? == plan_text => Ok(()),
        true => Err(FleetError::broken(
            dir,
            "it has another plan: use a new folder, or fleet report for that one",
        )),
        // Interrupted before the plan was written, so nothing was submitted.
        false if names.iter().all(|name| is_ours(name)) => Ok(()),
        false => {
            let first = names.iter().find(|name| !is_ours(name)).cloned().unwrap_or_default();
            Err(FleetError::broken(
                dir,
                format!("it is not empty (it has {}): use a new folder", quote::shell(&first)),
            ))
        }
    }
}

/// What an interrupted plan may have left.
fn is_ours(name: &str) -> bool {
    [CELLS, LOGS, BINARY, STUDY_DEFINITION, SUMMARY].contains(&name)
        || engines::ALL.iter().any(|engine| engine.name() == name)
        || name.ends_with(".new")
}

/// Writes an engine's files below the folder.
///
/// # Errors
/// A path outside the folder, or a file that cannot be written.
pub fn write_files(dir: &Path, files: &[GeneratedFile]) -> Result<(), FleetError> {
    for file in files {
        let relative = Path::new(&file.path);
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(FleetError::Failed(format!(
                "the engine's file '{}' is not below the folder",
                file.path
            )));
        }
        let path = dir.join(relative);
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent).map_err(|error| FleetError::file("make", parent, &error))?;
        durable::write(&path, file.text.as_bytes(), file.mode)?;
    }
    Ok(())
}

/// Maximum bytes of the program.
const MOST_PROGRAM_BYTES: u64 = 1 << 30;

/// Copies the program beside the plan, if missing, and checks the copy.
fn copy_binary(from: &Path, to: &Path, sha: &str) -> Result<(), FleetError> {
    let is_there =
        |path: &Path| given::bytes(path, MOST_PROGRAM_BYTES).is_ok_and(|bytes| sha256(&bytes) == sha);
    if is_there(to) {
        return Ok(());
    }
    let bytes = std::fs::read(from).map_err(|error| FleetError::file("read", from, &error))?;
    if sha256(&bytes) != sha {
        return Err(FleetError::broken(from, "the program changed while the plan was created: plan again"));
    }
    durable::write(to, &bytes, 0o755)
}
