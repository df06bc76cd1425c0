//! Making a data set, so that one under its own name is always complete.
//!
//! All work is done in `.making-NAME` beside the final folder, under a lock on `.lock-NAME`
//! (`flock(2)`, which ends with the process): a second process waits and then finds the data. The
//! folder is renamed at the very end, after its files were counted, summed and flushed. A process that gets
//! the lock and finds a `.making-NAME` knows that its maker is dead and removes it; the children of a
//! maker die with it.
//!
//! The lock file stays: it is empty, and removing it would be wrong. A process that waits for the lock has
//! the file open; if a third one removed and remade its name, two would hold "the lock" and make
//! the same folder.

use super::manifest::{self, Manifest};
use super::program::{self, Call};
use super::space::{self, LINEITEM_SHARE};
use super::{Cluster, Dataset, DatasetError, Key, TABLES, Table, checksum, expected_bytes, file, find, rows};
use crate::options::scale_fault;
use crate::sealed;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Input of making a data set.
#[derive(Debug, Clone, Copy)]
pub struct Make<'a> {
    /// Folder of all data sets; made if it does not exist.
    pub cache_root: &'a Path,
    /// The data.
    pub key: Key,
    /// `tpchgen-cli`.
    pub generator: &'a Path,
    /// The Python of the environment that the scripts need.
    pub python: &'a Path,
    /// `cluster_by_shipdate.py SRC_DIR DST_DIR`.
    pub cluster_script: &'a Path,
    /// `count_rows.py DIR`, which prints lines `table rows`.
    pub count_script: &'a Path,
}

const MAKING: &str = ".making-";
const OLD: &str = ".old-";
const LOCK: &str = ".lock-";
const LOG: &str = ".log-";

/// Share of making the files in the whole; counting and summing are the rest.
const FILES_SHARE: f64 = 0.85;

/// Interval of tries for a lock that another process holds.
const LOCK_STEP: Duration = Duration::from_millis(200);

/// The data set, made if it does not exist or is damaged. `progress` gets the finished share, 0 to 1, and the
/// present step.
///
/// # Errors
/// No data for this scale factor, too little disk, a generator that fails or makes other rows than the
/// specification has, a stop, or an error of the system. Then nothing is left behind.
pub fn make(
    make: &Make<'_>,
    progress: &mut dyn FnMut(f64, &str),
    stop: &AtomicBool,
) -> Result<Dataset, DatasetError> {
    let Make { cache_root: root, key, .. } = *make;
    if scale_fault(key.scale).is_some() {
        return Err(DatasetError::Scale(key.scale));
    }
    match find(root, key) {
        Ok(Some(dataset)) => return Ok(dataset),
        Ok(None) | Err(DatasetError::Damaged { .. }) => {}
        // An existing one may be complete: it must not be replaced unseen.
        Err(other) => return Err(other),
    }
    fs::create_dir_all(root).map_err(DatasetError::file("make", root))?;
    let name = key.folder_name();
    let lock = open_lock(root, &name)?;
    wait_for(&lock, root, stop, &mut || {
        progress(0.0, "waiting for another threadwise that makes this data")
    })?;
    // The other process may have made it meanwhile. A damaged one is replaced.
    if let Ok(Some(dataset)) = find(root, key) {
        return Ok(dataset);
    }
    let making = root.join(format!("{MAKING}{name}"));
    remove_ours(root, &name)?;
    let made = make_in(make, &making, progress, stop).and_then(|()| put_in_place(root, &name, &making));
    // Also after a success: logs, and replaced files.
    let removed = remove_ours(root, &name);
    made?;
    removed?;
    progress(1.0, "done");
    let why = "it does not exist after it was made".to_owned();
    find(root, key)?.ok_or_else(|| DatasetError::Damaged { folder: root.join(name), why })
}

/// Removes leftovers of killed runs under the cache folder: folders with such names whose lock no living
/// process holds. Returns their paths.
///
/// # Errors
/// A leftover cannot be removed.
pub fn remove_leftovers(cache_root: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let entries = match fs::read_dir(cache_root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(DatasetError::file("read", cache_root))?,
    };
    let mut removed = Vec::new();
    for entry in entries {
        let entry = entry.map_err(DatasetError::file("read", cache_root))?;
        let name = entry.file_name();
        let name =
            name.to_str().and_then(|name| [MAKING, OLD].iter().find_map(|ours| name.strip_prefix(ours)));
        let Some(name) = name else { continue };
        let lock = open_lock(cache_root, name)?;
        if lock.try_lock().is_ok() {
            remove_ours(cache_root, name)?;
            removed.push(entry.path());
        }
    }
    Ok(removed)
}

fn open_lock(root: &Path, name: &str) -> Result<File, DatasetError> {
    let path = root.join(format!("{LOCK}{name}"));
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    opened.map_err(DatasetError::file("open the lock", &path))
}

fn wait_for(lock: &File, root: &Path, stop: &AtomicBool, tick: &mut dyn FnMut()) -> Result<(), DatasetError> {
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) => {
                return Err(DatasetError::Stopped);
            }
            Err(TryLockError::WouldBlock) => {
                tick();
                std::thread::sleep(LOCK_STEP);
            }
            Err(TryLockError::Error(source)) => {
                return Err(DatasetError::file("lock a file in", root)(source));
            }
        }
    }
}

/// Removes the temporary names of this data set; the caller holds its lock.
fn remove_ours(root: &Path, name: &str) -> Result<(), DatasetError> {
    [MAKING, OLD, LOG].iter().try_for_each(|prefix| remove(&root.join(format!("{prefix}{name}"))))
}

/// Renames to the final name; moves away the earlier folder first.
fn put_in_place(root: &Path, name: &str, making: &Path) -> Result<(), DatasetError> {
    let (folder, old) = (root.join(name), root.join(format!("{OLD}{name}")));
    if fs::symlink_metadata(&folder).is_ok() {
        fs::rename(&folder, &old).map_err(DatasetError::file("move away the damaged", &folder))?;
    }
    fs::rename(making, &folder).map_err(DatasetError::file("rename to", &folder))?;
    sealed::sync_folder(root).map_err(DatasetError::file("flush", root))
}

/// One making, with the input of all its steps.
struct DatasetBuild<'a, 'b> {
    make: &'a Make<'a>,
    /// Where the files go.
    folder: &'a Path,
    log: PathBuf,
    stop: &'a AtomicBool,
    progress: &'b mut dyn FnMut(f64, &str),
}

fn make_in(
    make: &Make<'_>,
    folder: &Path,
    progress: &mut dyn FnMut(f64, &str),
    stop: &AtomicBool,
) -> Result<(), DatasetError> {
    let log = make.cache_root.join(format!("{LOG}{}", make.key.folder_name()));
    let (generator, known) = match make.key.cluster {
        Cluster::OrderKey => {
            space::check_step(make.cache_root, make.key)?;
            fs::create_dir(folder).map_err(DatasetError::file("make", folder))?;
            let mut maker = DatasetBuild { make, folder, log: log.clone(), stop, progress: &mut *progress };
            maker.generate()?;
            (maker.generator_version()?, Vec::new())
        }
        Cluster::ShipDate => {
            let plain = plain(make, &mut *progress, stop)?;
            space::check_step(make.cache_root, make.key)?;
            fs::create_dir(folder).map_err(DatasetError::file("make", folder))?;
            let mut maker = DatasetBuild { make, folder, log: log.clone(), stop, progress: &mut *progress };
            maker.sort(&plain)?;
            (plain.generator, plain.tables)
        }
    };
    let mut maker = DatasetBuild { make, folder, log, stop, progress };
    remove_others(folder)?;
    let counts = maker.count()?;
    let tables = maker.sum(&counts, &known)?;
    manifest::write(folder, &Manifest { key: make.key, generator, tables })
        .map_err(DatasetError::file("write the manifest of", folder))
}

/// The data set in the generator's order, from which a sorted one is made; making it is the first half.
fn plain(
    make: &Make<'_>,
    progress: &mut dyn FnMut(f64, &str),
    stop: &AtomicBool,
) -> Result<Dataset, DatasetError> {
    let plain = Make { key: Key { cluster: Cluster::OrderKey, ..make.key }, ..*make };
    self::make(&plain, &mut |share, what| progress(share / 2.0, what), stop)
}

impl DatasetBuild<'_, '_> {
    fn run(
        &mut self,
        program: &Path,
        args: Vec<OsString>,
        tick: &mut dyn FnMut(),
    ) -> Result<(), DatasetError> {
        let call = Call { program, args, folder: self.make.cache_root, log: &self.log };
        run(&call, self.make, self.stop, tick)
    }

    fn said(&self) -> Result<String, DatasetError> {
        fs::read_to_string(&self.log).map_err(DatasetError::file("read", &self.log))
    }

    /// Runs the generator once for all tables: its start costs most of a second, whatever it makes
    /// (measured). Progress is the bytes on the disk over the expected ones.
    fn generate(&mut self) -> Result<(), DatasetError> {
        let folder = self.folder;
        let all = expected_bytes(self.make.key) as f64;
        let scale = self.make.key.scale.to_string();
        let args = ["parquet", "--quiet", "--no-progress", "--scale-factor", &scale, "--output-dir"];
        let mut args: Vec<OsString> = args.map(OsString::from).into();
        args.push(folder.into());
        let call = Call { program: self.make.generator, args, folder: self.make.cache_root, log: &self.log };
        let progress = &mut *self.progress;
        let mut tick = || {
            progress((bytes_in(folder) as f64 / all).min(1.0) * FILES_SHARE, "generating the tables");
        };
        tick();
        run(&call, self.make, self.stop, &mut tick)
    }

    fn generator_version(&mut self) -> Result<String, DatasetError> {
        self.run(self.make.generator, vec!["--version".into()], &mut || {})?;
        let said = self.said()?;
        Ok(said.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Links the seven other tables and sorts `lineitem`.
    fn sort(&mut self, plain: &Dataset) -> Result<(), DatasetError> {
        for table in TABLES.into_iter().filter(|table| *table != "lineitem") {
            let (from, to) = (file(&plain.folder, table), file(self.folder, table));
            // Some file systems have no hard links.
            let linked = fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(|_| ()));
            linked.map_err(DatasetError::file("copy", &from))?;
        }
        let all = expected_bytes(self.make.key) as f64 * LINEITEM_SHARE;
        let mut args = script(self.make.cluster_script)?;
        args.extend([plain.folder.clone().into(), self.folder.into()]);
        let call = Call { program: self.make.python, args, folder: self.make.cache_root, log: &self.log };
        let (folder, linked) = (self.folder, bytes_in(self.folder));
        let progress = &mut *self.progress;
        let mut tick = || {
            // Under another name until it is complete; spilled runs count too.
            let written = bytes_in(folder).saturating_sub(linked) as f64;
            progress(0.5 + (written / all).min(1.0) * (FILES_SHARE - 0.5), "sorting lineitem by ship date");
        };
        tick();
        run(&call, self.make, self.stop, &mut tick)
    }

    /// Rows of each table, which must be those of the specification.
    fn count(&mut self) -> Result<Vec<(String, u64)>, DatasetError> {
        (self.progress)(FILES_SHARE, "counting rows");
        let mut args = script(self.make.count_script)?;
        args.push(self.folder.into());
        self.run(self.make.python, args, &mut || {})?;
        let counts = rows::parse(&self.said()?);
        match rows::wrong(&counts, self.make.key.scale) {
            None => Ok(counts),
            Some((table, found, expected)) => {
                Err(DatasetError::Rows { key: self.make.key, table, found, expected })
            }
        }
    }

    /// Sizes and checksums; flushes all files. A table that is the same file as a known one gets its checksum.
    fn sum(&mut self, counts: &[(String, u64)], known: &[Table]) -> Result<Vec<Table>, DatasetError> {
        let all = bytes_in(self.folder).max(1) as f64;
        let mut done = 0;
        let mut tables = Vec::with_capacity(TABLES.len());
        for name in TABLES {
            let path = file(self.folder, name);
            let progress = &mut *self.progress;
            let mut tick = |bytes: u64| {
                progress(FILES_SHARE + (1.0 - FILES_SHARE) * ((done + bytes) as f64 / all), "checksums");
            };
            let flushed = File::open(&path).and_then(|file| file.sync_all().and_then(|()| file.metadata()));
            let bytes = flushed.map_err(DatasetError::file("flush", &path))?.len();
            let same =
                known.iter().find(|table| table.name == name && name != "lineitem" && table.bytes == bytes);
            let sha256 = match same {
                Some(table) => table.sha256.clone(),
                None => checksum(&path, self.stop, &mut tick)?,
            };
            done += bytes;
            let rows = counts.iter().find(|(table, _)| table == name).map_or(0, |(_, rows)| *rows);
            tables.push(Table { name, rows, bytes, sha256 });
        }
        Ok(tables)
    }
}

/// Runs a program of the making. A failure for lack of disk space is reported as such, with what to do.
fn run(
    call: &Call<'_>,
    make: &Make<'_>,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(),
) -> Result<(), DatasetError> {
    let (key, folder) = (make.key, make.cache_root);
    program::run(call, stop, tick).map_err(|error| match error {
        DatasetError::Program { program, why } if space::is_full(&why, folder) => {
            DatasetError::Full { key, folder: folder.to_owned(), program, why }
        }
        other => other,
    })
}

/// Arguments of Python that run a script without the user's settings and write no byte code.
fn script(path: &Path) -> Result<Vec<OsString>, DatasetError> {
    let path = std::path::absolute(path).map_err(DatasetError::file("find", path))?;
    Ok(vec!["-I".into(), "-B".into(), path.into()])
}

/// Bytes of the files in a folder; unreadable ones count as 0, since this only shows progress.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|entry| entry.len()).sum()
}

/// Removes what a script left besides the tables, such as its folder for spilled rows.
fn remove_others(folder: &Path) -> Result<(), DatasetError> {
    for entry in fs::read_dir(folder).map_err(DatasetError::file("read", folder))? {
        let path = entry.map_err(DatasetError::file("read", folder))?.path();
        if !TABLES.iter().any(|table| path == file(folder, table)) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file, a link or a folder with its contents, if it exists.
fn remove(path: &Path) -> Result<(), DatasetError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(entry) if entry.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(DatasetError::file("remove", path))
}
