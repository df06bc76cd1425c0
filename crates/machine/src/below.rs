//! Paths and files below a root.
//!
//! A recorded machine comes from another person: its links may point anywhere and its files may be
//! pipes. So a path is resolved step by step, an absolute link counts from the root (as in `chroot(2)`),
//! and files are opened without following links and without blocking (`open(2)`: `O_NOFOLLOW`, `O_NONBLOCK`).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// The kernel's own limit on links (`path_resolution(7)`).
const MAX_LINKS: u32 = 40;

/// Follows `path` from the folder `from`, which is below `root`; never leaves the root.
///
/// # Errors
/// A step does not exist or may not be read, or links form a loop.
pub fn resolve(root: &Path, from: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut at = from.to_owned();
    let mut pending = reversed_steps(path);
    let mut links = 0;
    while let Some(step) = pending.pop() {
        if step == ".." {
            if at != root {
                at.pop();
            }
            continue;
        }
        let next = at.join(&step);
        if !fs::symlink_metadata(&next)?.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            at = root.to_owned();
        }
        pending.extend(reversed_steps(&target));
    }
    Ok(at)
}

/// The steps of a path, last one first; `..` is kept, the leading `/` is not.
fn reversed_steps(path: &Path) -> Vec<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    let mut steps: Vec<OsString> = path.components().filter_map(step).collect();
    steps.reverse();
    steps
}

/// Opens a file that is not a link for reading, without waiting for the other end of a pipe.
///
/// # Errors
/// Those of `open(2)`; a link is `ELOOP`.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_count_from_the_root_and_circles_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(folder.path().join("secret"), "1").unwrap();
        fs::write(root.join("plain"), "7").unwrap();
        symlink("/plain", root.join("inside")).unwrap();
        symlink("../secret", root.join("up")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let to = |path: &str| resolve(&root, &root, Path::new(path));
        assert_eq!(to("inside").unwrap(), root.join("plain"));
        assert_eq!(to("../../plain").unwrap(), root.join("plain"));
        assert_eq!(to("up").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(to("circle").unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(open(&root.join("inside")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    }
}
