//! Space for a study, checked before anything is created: its data set in the cache, its data in the data folder, and
//! connections of the user's server.

use super::program::Program;
use crate::engines;
use crate::error::AppError;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use threadwise_machine::words::bytes;
use threadwise_runner::{connections, guard, known_bytes_by_device};
use threadwise_study::Study;
use threadwise_tpch::dataset::{self, DatasetError, DatasetSpace};
use threadwise_tpch::{Key, TpchOptions};

/// Refuses a study that would fill a disk. Returns the plan's line about its data set, if it needs one.
///
/// # Errors
/// There is too little space, or the cache cannot be read or written.
pub fn check(study: &Study, program: &Program, data_root: &Path) -> Result<Option<String>, AppError> {
    let key = program.queries.is_some().then(|| key(study)).transpose()?.flatten();
    let set = match (&program.queries, key) {
        (Some(queries), Some(key)) => {
            Some((key, dataset::space(&queries.cache_root, key).map_err(dataset_error)?))
        }
        _ => None,
    };
    let taken = match &set {
        Some((_, space)) if is_same_disk(&space.existing_parent, data_root) => space.needed_bytes,
        _ => 0,
    };
    let mut loaded = 0;
    for (device, bytes) in known_bytes_by_device(study) {
        let folder = device.map_or(data_root, Path::new);
        let taken = if device.is_none() { taken } else { 0 };
        let free = guard::read_free_bytes(folder).map(|free| free.saturating_sub(taken));
        guard::check_disk(folder, bytes, free).map_err(AppError::refused)?;
        loaded += if device.is_none() { bytes } else { 0 };
    }
    Ok(set.map(|(key, space)| line(key, &space, loaded, data_root)))
}

/// Refuses a study that would use connections of the user's server that are reserved for others. Returns the plan's
/// line about such a server. Changes nothing on the server.
///
/// # Errors
/// There are too few connections, or the server cannot be asked.
pub fn check_connections(study: &Study) -> Result<Option<String>, AppError> {
    let Some(engine) = engines::find(&study.engine).filter(|_| study.is_users_server()) else {
        return Ok(None);
    };
    let limits = engine.limits(&study.engine_options).map_err(|error| AppError::engine(&error))?;
    let need = connections(study);
    need.expect_free(&limits).map_err(AppError::refused)?;
    Ok((!limits.is_empty()).then(|| need.line(&limits)))
}

/// The shared data set of all treatments.
fn key(study: &Study) -> Result<Option<Key>, AppError> {
    let Some(first) = study.treatments.first() else { return Ok(None) };
    TpchOptions::read(&first.options).map(|options| Some(options.key())).map_err(AppError::input)
}

fn dataset_error(error: DatasetError) -> AppError {
    match error {
        DatasetError::Scale(_) => AppError::input(error),
        _ => AppError::refused(error),
    }
}

fn is_same_disk(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
    device(one).is_some_and(|found| device(other) == Some(found))
}

fn line(key: Key, space: &DatasetSpace, loaded: u64, data_root: &Path) -> String {
    let folder = space.folder.display();
    let set = match space.needed_bytes {
        0 => format!("Data set {key}: in {folder}"),
        needed => format!(
            "Data set {key}: created first in {folder}, {} of {} free there",
            bytes(needed),
            bytes(space.free_bytes)
        ),
    };
    match loaded {
        0 => set,
        loaded => {
            format!("{set}; loading it takes {} in {} during the study", bytes(loaded), data_root.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_tpch::Cluster;

    #[test]
    fn the_line_says_where_and_how_much() {
        let key = Key { scale: 10.0, cluster: Cluster::OrderKey };
        let space = |needed_bytes| DatasetSpace {
            folder: "/c/sf10".into(),
            existing_parent: "/c".into(),
            needed_bytes,
            free_bytes: 8 << 30,
        };
        assert_eq!(line(key, &space(0), 0, Path::new("/tmp")), "Data set sf10: in /c/sf10");
        assert_eq!(
            line(key, &space(4 << 30), 18 << 30, Path::new("/tmp")),
            "Data set sf10: created first in /c/sf10, 4 GiB of 8 GiB free there; loading it takes 18 GiB in \
             /tmp during the study"
        );
    }

    #[test]
    fn folders_on_one_disk_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        assert!(is_same_disk(folder.path(), &inner));
        assert!(!is_same_disk(folder.path(), Path::new("/proc")));
        assert!(!is_same_disk(&folder.path().join("absent"), &folder.path().join("absent")));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_code() {
        assert!(matches!(dataset_error(DatasetError::Scale(0.0)), AppError::Input(_)));
        assert!(matches!(dataset_error(DatasetError::Stopped), AppError::Refused(_)));
    }
}
