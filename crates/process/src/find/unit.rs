//! The control group of a systemd unit, and its processes.

use super::group::{folders, processes};
use super::{FindError, Server};
use crate::proc;
use std::path::{Path, PathBuf};

/// Where systemd keeps its groups: version 2 only, beside version 1, and version 1.
const MOUNTS: [&str; 3] = ["/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"];
/// Groups are not nested deeper.
const DEPTH: usize = 16;

/// The server of a unit such as `mariadb.service`.
///
/// # Errors
/// No such unit is running, several have its name, or it has no process.
pub fn by_unit(name: &str) -> Result<Server, FindError> {
    // With only version 2 its files are at the top; otherwise there are other mounts.
    let is_systemds = |mount: &&Path| mount.join("cgroup.procs").exists();
    let mut mounts = MOUNTS.iter().map(Path::new).filter(is_systemds);
    let groups = mounts.find_map(|mount| Some(named(mount, name)).filter(|found| !found.is_empty()));
    of_groups(name, &groups.unwrap_or_default())
}

fn of_groups(name: &str, groups: &[PathBuf]) -> Result<Server, FindError> {
    let absent = |what: String, next| Err(FindError::Absent { what, next });
    let group = match groups {
        [] => {
            let what = format!("no unit {name} is running here");
            return absent(what, "systemctl list-units shows names; or name its port as port:N");
        }
        [group] => group,
        several => {
            let shown: Vec<String> = several.iter().map(|group| group.display().to_string()).collect();
            return Err(FindError::Several { what: format!("unit {name}"), found: shown.join(", ") });
        }
    };
    let processes = processes(group);
    let is_first = |pid: &u32| proc::parent(*pid).is_none_or(|parent| !processes.contains(&parent));
    let started = |pid: u32| Some((pid, proc::start_time(pid, pid)?));
    let first =
        processes.iter().copied().filter(is_first).filter_map(started).min_by_key(|process| process.1);
    match first {
        Some(root) => Ok(Server { root, group: Some(group.clone()) }),
        None => absent(format!("unit {name} has no process"), "start it first"),
    }
}

/// All groups with that name.
fn named(mount: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(mount.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for below in folders(&folder) {
            match below.file_name().is_some_and(|file_name| file_name == name) {
                true => found.push(below),
                false if depth < DEPTH => open.push((below, depth + 1)),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_unit_is_found_below_its_slices_with_all_its_processes() {
        let mount = tempfile::tempdir().unwrap();
        let make = |folder: &str, pids: &str| {
            fs::create_dir_all(mount.path().join(folder)).unwrap();
            fs::write(mount.path().join(folder).join("cgroup.procs"), pids).unwrap();
        };
        let this = std::process::id();
        make("system.slice/system-db.slice/db@1.service", &format!("{this}\n"));
        make("system.slice/system-db.slice/db@1.service/workers", "0\n");
        make("system.slice/empty.service", "");
        make("user.slice/x.service", "7\n");
        make("system.slice/x.service", "7\n");
        let find = |name: &str| of_groups(name, &named(mount.path(), name));
        let server = find("db@1.service").unwrap();
        assert_eq!(server.root.0, this);
        assert!(server.is_alive() && server.group.is_some());
        assert!(find("none.service").unwrap_err().to_string().contains("no unit none.service"));
        assert!(find("empty.service").unwrap_err().to_string().contains("has no process"));
        let several = find("x.service").unwrap_err().to_string();
        assert!(several.contains("ambiguous") && several.contains("user.slice"), "{several}");
    }
}
