//! Data sets: their folders, completeness, size, and making.
//!
//! A data set is a folder `sf1`, `sf0.1`, `sf1-shipdate` under the cache: eight Parquet files, and
//! `manifest.txt` with their sizes, row counts and checksums, written last. While it is made it has
//! another name and a lock (`make`), so that a set under its own name is complete. Answers of the second
//! engine are kept in its subfolder `answers`.

mod error;
mod make;
mod manifest;
mod program;
mod rows;
mod space;
mod types;

use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use rows::has_distinct_suppliers;

pub use error::DatasetError;
pub use make::{Make, make, remove_leftovers};
pub use space::{DatasetSpace, space};
pub use types::{Cluster, Key, TABLES, Table};

/// A data set that is complete by its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Its folder.
    pub folder: PathBuf,
    /// The data.
    pub key: Key,
    /// Name and version of the generator.
    pub generator: String,
    /// The tables, in the order of [`TABLES`].
    pub tables: Vec<Table>,
}

impl Dataset {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).sum()
    }

    /// The files, in the order of [`TABLES`].
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.tables.iter().map(|table| file(&self.folder, table.name))
    }

    /// Folder for [`crate::Reference::read`] and [`crate::Reference::write`].
    pub fn answers(&self) -> PathBuf {
        self.folder.join("answers")
    }
}

/// The folder of all data sets from the values of `XDG_CACHE_HOME` and `HOME`: `threadwise/tpch` under
/// the first if it is an absolute path (a relative one is ignored, XDG Base Directory
/// Specification), else under `.cache` of the second. `None` if neither is set.
pub fn cache_root(xdg_cache_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |path: Option<&OsStr>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute(xdg_cache_home).or_else(|| Some(absolute(home)?.join(".cache")))?;
    Some(cache.join("threadwise/tpch"))
}

/// Bytes of raw data of a scale factor: 1 GB each, TPC-H clause 4.1.3.1.
pub fn logical_bytes(key: Key) -> u64 {
    (key.scale * 1e9) as u64
}

/// Estimated size of the Parquet files. Measured at scale factor 1 with tpchgen-cli 4.0.0
/// (Snappy): 361.7 MB, of which `lineitem` 231.7 MB.
pub fn expected_bytes(key: Key) -> u64 {
    (key.scale * 361.7e6) as u64 + 10_000
}

/// The data set, if it exists: its manifest is complete and every file has the size in it.
/// Contents are not read; [`verify`] does that.
///
/// # Errors
/// [`DatasetError::Damaged`] if it exists but is incomplete ([`make()`] makes it again), or the system
/// refuses the check.
pub fn find(cache_root: &Path, key: Key) -> Result<Option<Dataset>, DatasetError> {
    let folder = cache_root.join(key.folder_name());
    match fs::symlink_metadata(&folder) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DatasetError::File { what: "inspect", path: folder, source }),
    }
    let damaged = |why: String| DatasetError::Damaged { folder: folder.clone(), why };
    let manifest = manifest::read(&folder).map_err(DatasetError::file("read the manifest of", &folder))?;
    let manifest = manifest.ok_or_else(|| damaged("it has no complete manifest.txt".to_owned()))?;
    if manifest.key != key {
        return Err(damaged(format!("its manifest is that of {}", manifest.key)));
    }
    for table in &manifest.tables {
        let expected = table.bytes;
        let name = format!("{}.parquet", table.name);
        match fs::metadata(folder.join(&name)) {
            Ok(entry) if entry.len() == expected => {}
            Ok(entry) => {
                return Err(damaged(format!("{name} has {} bytes instead of {expected}", entry.len())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged(format!("{name}: {error}")));
            }
            // An unreadable one may be complete.
            Err(source) => return Err(DatasetError::file("inspect", &folder.join(&name))(source)),
        }
    }
    let manifest::Manifest { key, generator, tables } = manifest;
    Ok(Some(Dataset { folder, key, generator, tables }))
}

/// Reads all files and compares their checksums with the manifest's. `progress` gets the finished share,
/// 0 to 1.
///
/// # Errors
/// [`DatasetError::Damaged`] with the first file that differs, [`DatasetError::Stopped`], or a file
/// cannot be read.
pub fn verify(
    dataset: &Dataset,
    progress: &mut dyn FnMut(f64),
    stop: &AtomicBool,
) -> Result<(), DatasetError> {
    let (mut done, all) = (0, dataset.bytes().max(1));
    for table in &dataset.tables {
        let path = file(&dataset.folder, table.name);
        let sum = checksum(&path, stop, &mut |bytes| progress((done + bytes) as f64 / all as f64))?;
        if sum != table.sha256 {
            let why = format!("the contents of {}.parquet do not match their checksum", table.name);
            return Err(DatasetError::Damaged { folder: dataset.folder.clone(), why });
        }
        done += table.bytes;
    }
    Ok(())
}

/// Makes a data set count as incomplete whose contents were found damaged though all sizes are right:
/// removes its manifest, so that [`make()`] makes it again.
///
/// # Errors
/// The manifest cannot be removed.
pub fn condemn(folder: &Path) -> Result<(), DatasetError> {
    let path = folder.join(manifest::FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DatasetError::file("remove", &path)(error))
        }
        _ => Ok(()),
    }
}

fn file(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;

/// SHA-256 of a file; `tick` gets the bytes read so far.
fn checksum(path: &Path, stop: &AtomicBool, tick: &mut dyn FnMut(u64)) -> Result<String, DatasetError> {
    let read = DatasetError::file("read", path);
    let mut sum = Sha256::new();
    let mut pieces = || -> io::Result<Option<()>> {
        let mut file = File::open(path)?;
        let mut piece = vec![0; PIECE_BYTES];
        let mut done = 0;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            match file.read(&mut piece) {
                Ok(0) => return Ok(Some(())),
                Ok(bytes) => {
                    sum.update(&piece[..bytes]);
                    done += bytes as u64;
                    tick(done);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    match pieces().map_err(read)? {
        Some(()) => Ok(format!("{:x}", sum.finalize())),
        None => Err(DatasetError::Stopped),
    }
}

#[cfg(test)]
mod tests;
