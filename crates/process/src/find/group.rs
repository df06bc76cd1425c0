//! The processes of a control group.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Processes of a group and of its descendants. One of another PID namespace has no number here.
pub(super) fn processes(group: &Path) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![group.to_owned()];
    while let Some(folder) = open.pop() {
        let list = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        found.extend(list.lines().filter_map(|line| line.trim().parse::<u32>().ok()).filter(|&pid| pid > 0));
        open.extend(folders(&folder));
    }
    found
}

pub(super) fn folders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_folder).map(|entry| entry.path()).collect()
}

/// Whether a process is in a control group or a descendant of it.
pub(crate) fn is_in_group(pid: u32, group: &Path) -> bool {
    processes(group).contains(&pid)
}
