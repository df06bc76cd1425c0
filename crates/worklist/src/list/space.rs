//! Whether the disk has space for the items.

use std::path::Path;
use threadwise_engine::EngineError;

use crate::error::failed;

/// Refuses a list that the disk has no space for: the items, and the backups and results of those that are processed at
/// once.
///
/// # Errors
/// How much is missing.
pub(super) fn expect_space(folder: &Path, sizes: &[u64], at_once: u32) -> Result<(), EngineError> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let largest: u64 = sizes.iter().take(at_once as usize).sum();
    let needed = sizes.iter().sum::<u64>().saturating_add(largest.saturating_mul(2));
    let free = threadwise_process::space::free_bytes(folder)
        .map_err(|error| failed(format!("look at the disk of {}", folder.display()), error))?;
    match needed <= free {
        true => Ok(()),
        false => Err(failed(
            format!("keep the items in {}", folder.display()),
            format!(
                "items, backups and results need {} MiB and {} MiB are free: free some space, give another data \
                 folder, or shorten the list",
                needed >> 20,
                free >> 20
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_reported_before_anything_is_made() {
        let folder = tempfile::tempdir().unwrap();
        assert!(expect_space(folder.path(), &[1, 2], 2).is_ok());
        let error = expect_space(folder.path(), &[u64::MAX / 8], 1).unwrap_err().to_string();
        assert!(error.contains("MiB are free") && error.contains("free some space"), "{error}");
    }
}
