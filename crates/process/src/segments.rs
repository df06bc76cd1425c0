//! System V shared memory of PostgreSQL servers that were killed with all their processes, including servers that
//! initdb runs.
//!
//! A PostgreSQL server keeps a small segment as its lock on the data directory, and only that server or its
//! next start removes it. Sources: PostgreSQL, `src/backend/port/sysv_shmem.c` (the segment) and
//! `src/include/utils/pidfile.h` (line 7 of `postmaster.pid`: its key and id); `proc(5)`,
//! `/proc/sysvipc/shm`; `ipcrm(1)`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Greatest depth of a server's data directory below the data folder of a study.
const DEPTH: u32 = 4;

/// One line of `postmaster.pid` and one of `/proc/sysvipc/shm`, the parts that must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    /// Its key, which PostgreSQL draws from the data directory's inode.
    key: i64,
    /// Its number.
    id: i64,
    /// The process that made it: the server. Its number is negative in the file of one without a postmaster, such as
    /// initdb starts (`src/backend/utils/init/miscinit.c`, `CreateLockFile`).
    maker: i64,
}

/// Removes the segments of servers whose data directories are below `folder`, if no process is attached
/// to them; returns how many. Call it when the servers have ended and their folders
/// still exist. What cannot be removed is left: 56 bytes, until the next boot.
pub fn remove_in_folder(folder: &Path) -> usize {
    let segments: Vec<Segment> = pid_files(folder, DEPTH).iter().filter_map(|file| read(file)).collect();
    if segments.is_empty() {
        return 0;
    }
    let there = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let idle = unattached(&there);
    let ours = segments.iter().filter(|segment| idle.contains(segment));
    ours.filter(|segment| remove(segment.id)).count()
}

/// Files `postmaster.pid`, links not followed.
fn pid_files(folder: &Path, depth: u32) -> Vec<PathBuf> {
    let file = folder.join("postmaster.pid");
    let is_file = fs::symlink_metadata(&file).is_ok_and(|entry| entry.is_file() && entry.size() < 4096);
    let mut found: Vec<PathBuf> = is_file.then_some(file).into_iter().collect();
    if depth == 0 {
        return found;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(pid_files(&entry.path(), depth - 1));
        }
    }
    found
}

fn read(file: &Path) -> Option<Segment> {
    parse(&fs::read_to_string(file).ok()?)
}

fn parse(pid_file: &str) -> Option<Segment> {
    let mut lines = pid_file.lines();
    let maker = lines.next()?.trim().parse::<i64>().ok()?.checked_abs()?;
    let mut words = lines.nth(5)?.split_whitespace();
    Some(Segment { key: words.next()?.parse().ok()?, id: words.next()?.parse().ok()?, maker })
}

/// Segments of `/proc/sysvipc/shm` to which no process is attached. Columns: key, shmid, perms, size,
/// cpid, lpid, nattch, …
fn unattached(table: &str) -> Vec<Segment> {
    let segment = |line: &str| {
        let words: Vec<i64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        match words.as_slice() {
            [key, id, _, _, maker, _, 0, ..] => Some(Segment { key: *key, id: *id, maker: *maker }),
            _ => None,
        }
    };
    table.lines().skip(1).filter_map(segment).collect()
}

fn remove(id: i64) -> bool {
    let mut command = Command::new("ipcrm");
    command.args(["-m", &id.to_string()]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID_FILE: &str = "4711\n/tmp/x/data\n1763786000\n5432\n/tmp/x\n*\n  8126735     32770\nready   \n";
    const TABLE: &str = "       key      shmid perms                  size  cpid  lpid nattch   uid\n   8126735      32770   600                    56  4711  4800      0   111\n   8126736      32771   600                    56  4712  4800      3   111\n";

    #[test]
    fn the_segment_of_a_server_is_known_by_key_number_and_maker() {
        let segment = parse(PID_FILE).unwrap();
        assert_eq!(segment, Segment { key: 8_126_735, id: 32_770, maker: 4711 });
        assert_eq!(parse(&PID_FILE.replacen("4711", "-4711", 1)), Some(segment), "a server of initdb");
        assert_eq!(unattached(TABLE), [segment], "one with processes attached is in use");
        assert_eq!(parse("4711\n/tmp/x/data\n"), None);
        assert_eq!(parse(""), None);
        assert_eq!(unattached("key\nnothing here\n"), []);
    }

    #[test]
    fn files_are_found_below_a_folder_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("postmaster.pid"), PID_FILE).unwrap();
        std::os::unix::fs::symlink(&deep, folder.path().join("link")).unwrap();
        assert_eq!(pid_files(folder.path(), DEPTH), [deep.join("postmaster.pid")]);
        assert_eq!(pid_files(folder.path(), 1), [] as [PathBuf; 0]);
        assert_eq!(remove_in_folder(folder.path()), 0, "no such segment is there");
    }

    /// A segment made by a process that is gone, as a killed server leaves it.
    #[test]
    fn an_abandoned_segment_is_removed() {
        let made = Command::new("ipcmk").args(["-M", "56"]).output().unwrap();
        let text = String::from_utf8(made.stdout).unwrap();
        let id: i64 = text.split_whitespace().last().unwrap().parse().unwrap();
        let there = || fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let segment = unattached(&there()).into_iter().find(|segment| segment.id == id).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{} {}", segment.key, segment.id);
        let pid_file = format!("{}\n/x\n1\n5432\n/x\n*\n{line}\n", segment.maker);
        fs::write(folder.path().join("postmaster.pid"), pid_file.replace(&line, "1 2")).unwrap();
        assert_eq!(remove_in_folder(folder.path()), 0, "another server's numbers");
        fs::write(folder.path().join("postmaster.pid"), pid_file).unwrap();
        assert_eq!(remove_in_folder(folder.path()), 1);
        assert!(!unattached(&there()).iter().any(|segment| segment.id == id));
    }
}
