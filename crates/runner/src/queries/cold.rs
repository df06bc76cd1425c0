//! Emptying caches before a query: of the whole system if permitted, else of the data set's files.
//!
//! Sources: kernel `Documentation/admin-guide/sysctl/vm.rst`, `drop_caches` (1 frees the page cache,
//! clean pages only, hence the sync); `posix_fadvise(2)`, POSIX_FADV_DONTNEED (pages that others have
//! mapped stay).

use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::path::Path;

/// How caches are emptied here, for the report.
pub(super) fn method() -> &'static str {
    match is_root() {
        true => "cold: the page cache of the whole system is emptied before every query (drop_caches)",
        false => {
            "cold: the files of the data set are dropped from the page cache before every query (posix_fadvise); only root can empty all of it"
        }
    }
}

/// Empties the caches.
///
/// # Errors
/// A file cannot be opened, or the kernel refuses.
pub(super) fn empty(folder: &Path) -> Result<(), String> {
    // In a container root may be refused; then its files are dropped.
    if is_root() {
        rustix::fs::sync();
        if fs::write("/proc/sys/vm/drop_caches", "1").is_ok() {
            return Ok(());
        }
    }
    let say =
        |path: &Path, why: String| format!("{} cannot be dropped from the cache: {why}", path.display());
    for entry in fs::read_dir(folder).map_err(|error| say(folder, error.to_string()))? {
        let path = entry.map_err(|error| say(folder, error.to_string()))?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            let file = File::open(&path).map_err(|error| say(&path, error.to_string()))?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| say(&path, error.to_string()))?;
        }
    }
    Ok(())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
