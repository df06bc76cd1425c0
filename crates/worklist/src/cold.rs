//! Dropping the items from the page cache, and checking that they are gone.
//!
//! Sources: `posix_fadvise(2)`, POSIX_FADV_DONTNEED (only clean pages are dropped, hence the sync before; pages
//! that other processes have mapped stay; POSIX_FADV_RANDOM: no read-ahead); `preadv2(2)`,
//! RWF_NOWAIT: a read of an uncached page fails with EAGAIN. The kernel begins to read it all the same
//! (`filemap_get_pages` in mm/filemap.c), so checked pages are dropped once more. Pages that were never
//! written need no reading and are left out (`lseek(2)`, SEEK_DATA).

use rustix::fs::{Advice, SeekFrom, fadvise, fstatfs, seek};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of files whose pages are checked.
const FILES: usize = 64;
/// Number of checked pages of a file.
const PAGES: u64 = 16;
/// Bytes of a page; on machines with larger ones some are checked twice.
const PAGE_BYTES: u64 = 4096;
/// Time for pages that are being read.
const READING: Duration = Duration::from_millis(20);
/// `TMPFS_MAGIC` of `statfs(2)`.
const TMPFS: i64 = 0x0102_1994;

/// Result of a check of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CachedPages {
    /// Pages that were checked.
    pub pages: u64,
    /// Those of them that were in the page cache.
    pub cached: u64,
    /// Whether files lie on a file system that is itself in memory.
    pub in_memory: bool,
}

impl CachedPages {
    /// The share of pages that were cached, in thousandths; `None` if none could be checked.
    pub fn cached_permille(&self) -> Option<u64> {
        (self.pages > 0).then(|| self.cached * 1000 / self.pages)
    }

    /// A note on how cold the items are.
    pub fn note(&self) -> String {
        let how = "cold: before every run its files are dropped from the page cache (posix_fadvise)";
        match (self.in_memory, self.cached_permille()) {
            (true, _) => {
                "not cold: the files are in memory (tmpfs), from which they cannot be dropped; give a data folder on a \
                          disk, or use cold=no"
                    .to_owned()
            }
            (false, None) => format!("{how}; whether they are gone cannot be checked here"),
            // In words, since every run's check would give another figure; the figures are counters of runs.
            (false, Some(permille)) => {
                let stayed = match permille {
                    0 => "none",
                    1..=100 => "up to a tenth",
                    _ => "more than a tenth",
                };
                format!("{how}; of the pages checked after a trial, {stayed} had stayed")
            }
        }
    }
}

/// Every regular file below a folder; links are not followed.
///
/// # Errors
/// A folder cannot be read.
pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Drops files from the page cache, and checks some of them. A file that no longer exists is cold.
///
/// # Errors
/// A file cannot be opened, or the kernel refuses.
pub(crate) fn evict(files: &[PathBuf]) -> io::Result<CachedPages> {
    rustix::fs::sync();
    files.iter().try_for_each(|path| put_out(path))?;
    let mut seen = CachedPages::default();
    let step = files.len().div_ceil(FILES).max(1);
    let looked = files.iter().step_by(step);
    for path in looked.clone() {
        if let Some(file) = open(path)? {
            look(&file, &mut seen)?;
        }
    }
    // A page that is being read cannot be dropped.
    std::thread::sleep(READING);
    for path in looked {
        put_out(path)?;
    }
    Ok(seen)
}

/// Drops one file; no error if it no longer exists.
fn put_out(path: &Path) -> io::Result<()> {
    let Some(file) = open(path)? else { return Ok(()) };
    fadvise(&file, 0, None, Advice::DontNeed)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        // A server removes files by itself.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// Checks pages of a file at even distances.
fn look(file: &File, seen: &mut CachedPages) -> io::Result<()> {
    seen.in_memory |= fstatfs(file).is_ok_and(|system| i128::from(system.f_type) == i128::from(TMPFS));
    let pages = file.metadata()?.len() / PAGE_BYTES;
    let looked = pages.min(PAGES);
    // Without it the kernel would read more; the check works all the same.
    let _ = fadvise(file, 0, None, Advice::Random);
    let mut byte = [0];
    for number in 0..looked {
        let at = number * pages / looked * PAGE_BYTES;
        if !is_written(file, at) {
            continue;
        }
        match preadv2(file, &mut [IoSliceMut::new(&mut byte)], at, ReadWriteFlags::NOWAIT) {
            Ok(read) => {
                seen.pages += 1;
                seen.cached += u64::from(read > 0);
            }
            Err(Errno::AGAIN) => seen.pages += 1,
            // The file system does not support it.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether a page has data of its own, as far as the file system tells.
fn is_written(file: &File, at: u64) -> bool {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) => data < at + PAGE_BYTES,
        Err(Errno::NXIO) => false,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn files_are_found_below_and_links_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/x"), "").unwrap();
        fs::write(at("y"), "").unwrap();
        std::os::unix::fs::symlink(at("y"), at("z")).unwrap();
        assert_eq!(files_below(folder.path()).unwrap(), [at("a/x"), at("y")]);
        assert!(files_below(&at("absent")).is_err());
    }

    #[test]
    fn what_was_just_written_is_cached_and_gone_after_eviction() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        let mut before = CachedPages::default();
        look(&File::open(&path).unwrap(), &mut before).unwrap();
        // The kernel keeps a page that it is about to move or to write (mm/truncate.c, `mapping_evict_folio`): soon it
        // is not.
        let end = Instant::now() + Duration::from_secs(60);
        let mut after = evict(&[path.clone(), folder.path().join("gone")]).unwrap();
        while after.cached_permille().is_some_and(|cached| cached > 0)
            && !after.in_memory
            && Instant::now() < end
        {
            std::thread::sleep(Duration::from_millis(10));
            after = evict(&[path.clone(), folder.path().join("gone")]).unwrap();
        }
        match (before.cached_permille(), after.in_memory) {
            (Some(cached), false) => {
                assert_eq!((cached, before.pages), (1000, PAGES));
                assert_eq!(after.cached_permille(), Some(0));
                assert!(after.note().ends_with("none had stayed"), "{}", after.note());
                let mut again = CachedPages::default();
                look(&File::open(&path).unwrap(), &mut again).unwrap();
                assert_eq!(again.cached, 0, "to look makes nothing warm");
            }
            // Nothing can be put out here; then it has to say so.
            _ => assert!(after.note().contains("not cold") || after.note().contains("cannot be checked")),
        }
    }

    #[test]
    fn what_was_never_written_is_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 4096]).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        rustix::fs::sync();
        let mut seen = CachedPages::default();
        look(&File::open(&path).unwrap(), &mut seen).unwrap();
        assert!(seen.pages <= 1, "{seen:?}");
    }

    #[test]
    fn files_in_memory_are_said_not_to_be_cold() {
        let seen = CachedPages { pages: 4, cached: 4, in_memory: true };
        assert!(seen.note().starts_with("not cold"));
        assert_eq!(seen.cached_permille(), Some(1000));
        assert_eq!(CachedPages::default().cached_permille(), None);
    }
}
