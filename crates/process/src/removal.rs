//! Removing a folder's contents without leaving it: no link is followed, and no mount is crossed, including one of the
//! same file system (`mount --bind`), behind which are other files.
//!
//! Source: `openat(2)` (`O_NOFOLLOW`), `unlinkat(2)`, `proc_pid_fdinfo(5)` (`mnt_id`, since Linux 3.15; st_dev is the
//! same on both sides of a bind mount).

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes everything in a folder, which may not be a link, except the given names.
///
/// # Errors
/// What cannot be removed, for instance a mount; what was removed before is gone.
pub fn clear(folder: &Path, except: &[&str]) -> io::Result<()> {
    clear_in(openat(CWD, folder, FOLDER, Mode::empty())?.as_fd(), except)
}

/// As [`clear`], for an open folder.
///
/// # Errors
/// As [`clear`].
pub fn clear_in(folder: BorrowedFd<'_>, except: &[&str]) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || except.iter().any(|keep| name == *keep) {
            continue;
        }
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", name.display()));
        remove(folder, name).map_err(named)?;
    }
    Ok(())
}

fn remove(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return unlinkat(folder, name, AtFlags::empty()).map_err(busy);
    }
    let below = openat(folder, name, FOLDER, Mode::empty())?;
    if mount_of(&below)? != mount_of(&folder)? {
        return Err(mounted());
    }
    clear_in(below.as_fd(), &[])?;
    unlinkat(folder, name, AtFlags::REMOVEDIR).map_err(busy)
}

/// The kernel never removes a mount.
fn busy(error: Errno) -> io::Error {
    if error == Errno::BUSY { mounted() } else { error.into() }
}

fn mounted() -> io::Error {
    io::Error::new(
        io::ErrorKind::CrossesDevices,
        "a file system is mounted there and is not removed: unmount it",
    )
}

/// Number of the mount of an open file.
fn mount_of(file: &impl AsFd) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_fd().as_raw_fd()))?;
    let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or_else(|| io::Error::other("/proc does not show the mount of a folder"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn everything_goes_but_what_links_lead_to() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("ours/deep/deeper")).unwrap();
        fs::create_dir(at("theirs")).unwrap();
        for name in ["theirs/precious", "ours/file", "ours/keep", "ours/deep/deeper/file"] {
            fs::write(at(name), "x").unwrap();
        }
        symlink(at("theirs"), at("ours/deep/link")).unwrap();
        symlink(at("theirs/precious"), at("ours/link")).unwrap();
        clear(&at("ours"), &["keep"]).unwrap();
        let left: Vec<_> =
            fs::read_dir(at("ours")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["keep"]);
        assert!(at("theirs/precious").exists());
        symlink(at("theirs"), at("link")).unwrap();
        assert!(clear(&at("link"), &[]).is_err() && clear(&at("nowhere"), &[]).is_err());
        assert!(at("theirs/precious").exists());
    }

    /// Where mounts can be made: root, or a user with namespaces of his own.
    #[test]
    fn no_mount_is_crossed() {
        const TEST: &str = "removal::tests::no_mount_is_crossed";
        const INSIDE: &str = "THREADWISE_TEST_OF_MOUNTS";
        if std::env::var_os(INSIDE).is_none() {
            let may = |words: &[&str]| {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-root-user", "--mount"]).args(words).env(INSIDE, "1");
                command.status().is_ok_and(|status| status.success())
            };
            if !may(&["sh", "-c", "mount -t tmpfs none /mnt"]) {
                let line =
                    "SKIPPED: no_mount_is_crossed: no mounts can be made here (unshare --user --mount)\n";
                io::Write::write_all(&mut io::stderr(), line.as_bytes()).unwrap();
                return;
            }
            let this = std::env::current_exe().unwrap();
            assert!(may(&[this.to_str().unwrap(), "--exact", TEST, "--nocapture"]));
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let mount = |words: &[&str]| assert!(Command::new("mount").args(words).status().unwrap().success());
        let path = |name: &str| at(name).display().to_string();
        fs::create_dir_all(at("theirs/below")).unwrap();
        fs::write(at("theirs/precious"), "x").unwrap();
        // Another file system, a bind mount of the same one, and a file that is one.
        for (kind, target) in
            [("tmpfs", "ours/data/mount"), ("bind", "ours/data/mount"), ("file", "ours/data/file")]
        {
            fs::create_dir_all(at("ours/data")).unwrap();
            match kind {
                "file" => {
                    fs::write(at(target), "").unwrap();
                    mount(&["--bind", &path("theirs/precious"), &path(target)]);
                }
                _ => fs::create_dir_all(at(target)).unwrap(),
            }
            match kind {
                "tmpfs" => {
                    mount(&["-t", "tmpfs", "none", &path(target)]);
                    fs::write(at("ours/data/mount/precious"), "x").unwrap();
                }
                "bind" => mount(&["--bind", &path("theirs"), &path(target)]),
                _ => {}
            }
            let why = clear(&at("ours"), &[]).unwrap_err().to_string();
            assert!(why.contains("unmount") && why.contains("data"), "{kind}: {why}");
            let behind = if kind == "file" { at(target) } else { at("ours/data/mount/precious") };
            assert_eq!(fs::read_to_string(behind).unwrap(), "x", "{kind}");
            assert!(Command::new("umount").arg(at(target)).status().unwrap().success());
            clear(&at("ours"), &[]).unwrap();
            assert_eq!(fs::read_dir(at("ours")).unwrap().count(), 0);
        }
        assert!(at("theirs/precious").exists() && at("theirs/below").exists());
    }
}
