//! A lock file that protects changes of its subject.
//!
//! `flock(2)`: the lock belongs to the open file, so that it ends with the last process that has it.
//! Child programs may inherit it; if this process is killed, an installer that continues for a moment
//! still holds it, and the next process waits instead of disturbing it.

use crate::AnalyticsError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// A held lock; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

/// The time limit for a lock, and the stop flag.
pub(crate) struct Patience<'a> {
    pub(crate) longest: Duration,
    pub(crate) stop: &'a AtomicBool,
}

impl Lock {
    /// Waits until no other process has it. `waiting` is called once, with the process that has it.
    pub(crate) fn take(
        path: &Path,
        patience: &Patience<'_>,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Self, AnalyticsError> {
        let begun = Instant::now();
        let mut reported = false;
        loop {
            if let Some(lock) = Self::attempt(path)? {
                return Ok(lock);
            }
            let process = holder(path);
            if begun.elapsed() >= patience.longest {
                return Err(AnalyticsError::Busy { what: path.display().to_string(), process });
            }
            if patience.stop.load(Ordering::Relaxed) {
                return Err(AnalyticsError::Stopped);
            }
            if !std::mem::replace(&mut reported, true) {
                waiting(&process);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }

    /// Takes it if it is free.
    fn attempt(path: &Path) -> Result<Option<Self>, AnalyticsError> {
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_follow)
            .open(path)
            .map_err(AnalyticsError::io("open the lock file", path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(cause) => return Err(AnalyticsError::io("lock", path)(cause.into())),
        }
        // Its last holder may have removed the name in the meantime: then this lock has no effect.
        let same = match (file.metadata(), path.symlink_metadata()) {
            (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
            _ => false,
        };
        if !same {
            return Ok(None);
        }
        let named = file.set_len(0).and_then(|()| file.rewind());
        let named = named.and_then(|()| write!(file, "{}", std::process::id()));
        named.map_err(AnalyticsError::io("write the lock file", path))?;
        Ok(Some(Self { file, path: path.to_owned() }))
    }

    /// From now on every started program also holds it, until its end.
    pub(crate) fn share_with_children(&self) -> Result<(), AnalyticsError> {
        fcntl_setfd(&self.file, FdFlags::empty())
            .map_err(|cause| AnalyticsError::io("share the lock file", &self.path)(cause.into()))
    }

    /// Removes the file, and with it the lock.
    pub(crate) fn discard(self) -> Result<(), AnalyticsError> {
        std::fs::remove_file(&self.path).map_err(AnalyticsError::io("remove the lock file", &self.path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A program that another thread started just now may have inherited it. If unlocking
        // fails, it ends with those.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The process number in the lock file.
fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_string(&mut text));
    let number = read.ok().and_then(|_| text.trim().parse::<u32>().ok());
    number.map_or_else(|| "(unknown)".to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &Path, longest_ms: u64, stop: &AtomicBool) -> Result<Lock, AnalyticsError> {
        let patience = Patience { longest: Duration::from_millis(longest_ms), stop };
        Lock::take(path, &patience, &mut |_| {})
    }

    #[test]
    fn only_one_has_it_and_the_other_learns_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let never = AtomicBool::new(false);
        let lock = take(&path, 0, &never).unwrap();
        let message = take(&path, 0, &never).unwrap_err().to_string();
        let us = format!("process {}", std::process::id());
        assert!(message.contains("x.lock") && message.contains(&us), "{message}");
        drop(lock);
        take(&path, 0, &never).unwrap();
    }

    #[test]
    fn waiting_is_said_once_and_ends_when_the_lock_is_free_or_the_user_stops() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let never = AtomicBool::new(false);
        let lock = take(&path, 0, &never).unwrap();
        let stopped = take(&path, 60_000, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(stopped, AnalyticsError::Stopped));
        let mut held = Some(lock);
        let mut reported = 0;
        let patience = Patience { longest: Duration::from_secs(60), stop: &never };
        let second = Lock::take(&path, &patience, &mut |_| {
            reported += 1;
            held = None;
        });
        assert!(second.is_ok() && reported == 1);
    }

    #[test]
    fn a_program_that_outlives_us_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let never = AtomicBool::new(false);
        let mut lock = take(&path, 0, &never).unwrap();
        lock.share_with_children().unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        // What happens to a killed process: its descriptor is closed, and nothing is unlocked.
        drop(std::mem::replace(&mut lock.file, File::open("/dev/null").unwrap()));
        drop(lock);
        assert!(take(&path, 0, &never).is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        // Programs that other tests started meanwhile may have it for a moment.
        take(&path, 60_000, &never).unwrap();
    }

    #[test]
    fn a_removed_lock_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let never = AtomicBool::new(false);
        take(&path, 0, &never).unwrap().discard().unwrap();
        assert!(!path.exists());
        let lock = take(&path, 0, &never).unwrap();
        std::fs::remove_file(&path).unwrap();
        let other = take(&path, 0, &never).unwrap();
        assert!(path.exists());
        drop((lock, other));
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("precious");
        std::fs::write(&target, "precious").unwrap();
        let path = folder.path().join("x.lock");
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(take(&path, 0, &AtomicBool::new(false)).is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    }
}
