//! The private folder that holds a study's data and logs, and its removal in every case: at the
//! end, on an error, after Ctrl-C, and (by the watchdog and the next start) after a kill.
//!
//! A folder counts as threadwise's only by the marker file inside, made by the same user; symbolic links
//! are never followed. Source: `flock(2)` (a lock lives as long as its owner's open file, also
//! across PID namespaces, where process numbers mean nothing), `proc_pid_stat(5)`.

use crate::RunnerError;
use crate::settings::Settings;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_engine::engines::command::remove_stale_groups;
use threadwise_process::watchdog::{Start, Tries, Watchdog, await_end};
use threadwise_process::{folder_processes, journal, marked, proc, removal, segments};

/// Name of the marker file.
const MARKER: &str = ".threadwise-folder";
/// Name of the marker file until it is complete.
const UNFINISHED: &str = ".unfinished";
/// First line of the marker file.
const MARKER_LINE: &str = "threadwise work folder: removed by threadwise when its process has ended";
/// Name of the folder for data, in which servers work.
pub(crate) const DATA_FOLDER: &str = "data";
/// This program, as one that may work there.
const OURSELVES: &str = "threadwise";
/// How often the watchdog tries: workers die with their parent, but not at once, and one may still be writing.
const TRIES: Tries = Tries { number: 101, pause: Duration::from_millis(100) };
/// How long killed servers may take to end.
const END_OF_SERVERS: Duration = Duration::from_secs(10);
/// Name of the link to the journal of masks, which is in the user's state folder.
const JOURNAL: &str = "journal";
/// Prefix of every folder's name.
const PREFIX: &str = "threadwise-";

/// A private folder, removed when dropped.
#[derive(Debug)]
pub struct Workdir {
    path: PathBuf,
    /// Open and locked while this process lives.
    _marker: File,
    /// The study's journal of masks, if it has one.
    journal: Option<PathBuf>,
    watchdog: Option<Watchdog>,
    /// Programs that may work there and end with the folder; others in it are left alone.
    programs: Vec<String>,
}

impl Workdir {
    /// Makes the folder in the settings' root, watched by their watchdog.
    ///
    /// # Errors
    /// Those of [`Workdir::create`].
    pub fn of(settings: &Settings) -> Result<Self, RunnerError> {
        Self::below(&settings.data_root, settings)
    }

    /// Makes the folder below another root than the settings', watched by their watchdog.
    ///
    /// # Errors
    /// Those of [`Workdir::create`].
    pub fn below(root: &Path, settings: &Settings) -> Result<Self, RunnerError> {
        Self::create(root, settings.watchdog.as_ref(), &settings.started_programs)
    }

    /// Makes the folder `threadwise-PID-RANDOM` with mode 0700 below `root`. A watchdog gets its path and is started
    /// first, so that there is no moment at which a kill leaves the folder behind; it must call [`watch`].
    ///
    /// `root` may be relative or have links in it; the folder's path is absolute and without links, since
    /// the watchdog works elsewhere, and processes are found by the kernel's path. `programs` are
    /// those that engines start there, which end with the folder.
    ///
    /// # Errors
    /// The folder or its marker cannot be made, or the watchdog cannot be started.
    pub fn create(root: &Path, watchdog: Option<&Start>, programs: &[String]) -> Result<Self, RunnerError> {
        let pid = std::process::id();
        let root = fs::canonicalize(root).map_err(|error| RunnerError::Workdir {
            path: root.to_owned(),
            why: format!("{error}; choose another data folder (--data-dir)"),
        })?;
        // The name is unique: the watchdog, which gets it beforehand, may trust it.
        let path = root.join(format!("{PREFIX}{pid}-{:016x}", RandomState::new().build_hasher().finish()));
        let start = |start: &Start| {
            Watchdog::start(start, &[&path]).map_err(|error| RunnerError::Program {
                program: start.program.clone(),
                why: error.to_string(),
            })
        };
        let watchdog = watchdog.map(start).transpose()?;
        match make_folder(&path, pid) {
            Ok(marker) => {
                Ok(Self { path, _marker: marker, journal: None, watchdog, programs: programs.to_vec() })
            }
            Err(error) => Err(RunnerError::Workdir {
                path,
                why: format!("{error}; choose another data folder (--data-dir)"),
            }),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder inside if it does not exist, and returns its path.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, RunnerError> {
        let path = self.path.join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(RunnerError::Workdir { path, why: error.to_string() })
            }
            _ => Ok(path),
        }
    }
}

impl Workdir {
    /// The file for masks of foreign processes, in the user's state folder; `None` if there is no place
    /// for one, and then no such mask may be changed. A link to it is made here, so that the watchdog finds it;
    /// the first worker that changes a mask makes the file itself.
    ///
    /// # Errors
    /// The link cannot be made.
    pub fn journal(&mut self) -> Result<Option<PathBuf>, RunnerError> {
        let Ok(journal) = journal::new_path() else { return Ok(None) };
        let link = self.path.join(JOURNAL);
        match symlink(&journal, &link) {
            Err(error) => Err(RunnerError::Workdir { path: link, why: error.to_string() }),
            Ok(()) => Ok(self.journal.insert(journal).clone().into()),
        }
    }

    /// Restores masks of other processes, ends remaining processes, and removes the folder.
    ///
    /// # Errors
    /// Something could not be restored, or the folder still exists after the watchdog has tried as well.
    /// The next start with the same data folder tries again.
    pub fn close(mut self) -> Result<(), RunnerError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), RunnerError> {
        let removed = remove(&self.path, &self.programs);
        // Without the link, if others removed the folder meanwhile.
        let restored = self.journal.take().map_or(Ok(()), |journal| put_masks_back(&journal));
        drop(self.watchdog.take());
        let path = self.path.clone();
        match (removed, restored) {
            (Err(RunnerError::Workdir { why, .. }), _) if fs::symlink_metadata(&path).is_ok() => {
                let why = format!("{why}; the next start with this data folder tries again");
                Err(RunnerError::Workdir { path, why })
            }
            (_, Err(why)) => Err(RunnerError::Workdir { path, why }),
            _ => Ok(()),
        }
    }

    /// Lets other users pass through this folder and one inside, without listing them.
    ///
    /// # Errors
    /// The modes cannot be changed.
    pub fn let_others_pass(&self, inside: &Path) -> Result<(), RunnerError> {
        let pass = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o711))
                .map_err(|error| RunnerError::Workdir { path: path.to_owned(), why: error.to_string() })
        };
        pass(&self.path).and_then(|()| pass(inside))
    }
}

impl Drop for Workdir {
    fn drop(&mut self) {
        // Without `close` another error is being reported; the next start tries again.
        let _ = self.end();
    }
}

fn make_folder(path: &Path, pid: u32) -> io::Result<File> {
    let make = || {
        DirBuilder::new().mode(0o700).create(path)?;
        write_marker(path, pid, proc::start_time(pid, pid).unwrap_or(0))
    };
    let made = match make() {
        // A start in another PID namespace, which does not see this process, took the folder for a killed one's.
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(),
        made => made,
    };
    made.inspect_err(|_| {
        // Nothing but this process's marker can be inside yet.
        let _ = fs::remove_dir_all(path);
    })
}

/// Makes the marker so that it is locked from the moment it appears under its name.
fn write_marker(folder: &Path, pid: u32, start: u64) -> io::Result<File> {
    let unfinished = folder.join(UNFINISHED);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    writeln!(file, "{MARKER_LINE}\npid {pid}\nstart {start}")?;
    // A file system without locks only prevents the cleanup after a kill.
    let _ = file.try_lock();
    fs::rename(&unfinished, folder.join(MARKER))?;
    Ok(file)
}

/// Removes one of threadwise's folders, and ends those `programs` that work in its data. `false` if it did
/// not exist.
///
/// # Errors
/// The path is a symbolic link or not a folder, belongs to another user, or has no marker and is not a killed
/// process's; or something inside cannot be removed.
pub fn remove(folder: &Path, programs: &[String]) -> Result<bool, RunnerError> {
    let refuse = |why: &str| RunnerError::Workdir { path: folder.to_owned(), why: why.to_owned() };
    let entry = match fs::symlink_metadata(folder) {
        Ok(entry) => entry,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refuse(&error.to_string())),
    };
    if !entry.is_dir() {
        return Err(refuse("is not a folder; nothing was removed"));
    }
    if entry.uid() != rustix::process::getuid().as_raw() {
        return Err(refuse("belongs to another user; nothing was removed"));
    }
    if read_marker(folder).is_none() {
        return match is_unmarked(folder) {
            true => remove_unmarked(folder).map(|()| true).map_err(|error| refuse(&error.to_string())),
            false => Err(refuse("does not have threadwise's marker; nothing was removed")),
        };
    }
    settle(folder, programs).map_err(|why| refuse(&why))?;
    // The marker goes last, so that the rest of an interrupted removal is still recognised.
    let clear = || -> io::Result<()> {
        removal::clear(folder, &[MARKER])?;
        fs::remove_file(folder.join(MARKER))?;
        fs::remove_dir(folder)
    };
    clear().map(|()| true).map_err(|error| refuse(&format!("could not be removed completely: {error}")))
}

/// Conditions for removing a folder: masks of foreign processes are restored, and no
/// server that was started in it, no command and nothing that a worker started still lives.
fn settle(folder: &Path, programs: &[String]) -> Result<(), String> {
    // Errors are ignored here; it is tried again below.
    let _ = journal_of(folder).map(|journal| journal::restore(&journal));
    let data = folder.join(DATA_FOLDER);
    if data.exists() {
        let names = programs.iter().map(String::as_str).chain([OURSELVES]);
        folder_processes::end_programs_in_folder(&data, &names.collect::<Vec<_>>(), END_OF_SERVERS)
            .map_err(|error| error.to_string())?;
    }
    marked::end(folder, END_OF_SERVERS)
        .map_err(|left| format!("processes of commands or workers still live: {left:?}; end them by hand"))?;
    if data.exists() {
        remove_stale_groups();
        segments::remove_in_folder(&data);
    }
    // A worker that still lived may have bound something meanwhile; now there is none.
    journal_of(folder).map_or(Ok(()), |journal| put_masks_back(&journal))
}

fn put_masks_back(journal: &Path) -> Result<(), String> {
    let restored = journal::close(journal, END_OF_SERVERS).map_err(|error| error.to_string())?;
    match restored.failed.first() {
        Some(why) => Err(format!("not all masks of other processes were restored: {why}")),
        None => Ok(()),
    }
}

/// The journal of a folder's study, if it has one.
fn journal_of(folder: &Path) -> Option<PathBuf> {
    fs::read_link(folder.join(JOURNAL)).ok()
}

/// The maker of the folder: process number and start time. `None` without a marker.
fn read_marker(folder: &Path) -> Option<(u32, u64)> {
    let path = folder.join(MARKER);
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(&path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    (lines.next()? == MARKER_LINE).then_some(())?;
    let pid = lines.next()?.strip_prefix("pid ")?.parse().ok()?;
    let start = lines.next()?.strip_prefix("start ")?.parse().ok()?;
    Some((pid, start))
}

/// Removes leftovers of killed processes of this user below `root`; returns how many folders were removed, and why
/// others could not be, which are left for another time. `programs`: see [`remove`].
pub fn sweep(root: &Path, programs: &[String]) -> (usize, Vec<RunnerError>) {
    let (mut removed, mut failed) = (0, Vec::new());
    for path in stale(root) {
        match remove(&path, programs) {
            Ok(true) => removed += 1,
            // Another start was quicker.
            Ok(false) => {}
            Err(why) => failed.push(why),
        }
    }
    (removed, failed)
}

/// Folders below `root` of killed processes of this user.
pub fn stale(root: &Path) -> Vec<PathBuf> {
    // As in `create`. A folder that does not exist has nothing in it.
    let entries = fs::canonicalize(root).and_then(fs::read_dir);
    let named = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    named.map(|entry| entry.path()).filter(|path| is_stale(path)).collect()
}

/// Whether the process that made the folder is dead: its number and start time are gone and its
/// lock is free.
fn is_stale(folder: &Path) -> bool {
    let ours = fs::symlink_metadata(folder)
        .is_ok_and(|entry| entry.is_dir() && entry.uid() == rustix::process::getuid().as_raw());
    if !ours {
        return false;
    }
    let Some((pid, start)) = read_marker(folder) else { return is_unmarked(folder) };
    if proc::start_time(pid, pid) == Some(start) {
        return false;
    }
    File::open(folder.join(MARKER)).is_ok_and(|marker| marker.try_lock().is_ok())
}

/// The watchdog: waits until the measuring process has ended in any way, and removes the folder. `programs`: see
/// [`remove`].
///
/// # Errors
/// The folder is not threadwise's, or could not be removed within ten seconds.
pub fn watch(folder: &Path, programs: &[String], stdin: &mut dyn Read) -> Result<(), RunnerError> {
    await_end(stdin, |_| ());
    TRIES.until_done(|| {
        remove(folder, programs).map(drop).or_else(|error| remove_unmarked(folder).map_err(|_| error))
    })
}

/// Kills the workers of this process's studies, which then see a crash and continue to their end; returns how many.
pub fn kill_workers() -> usize {
    let ours = format!("{PREFIX}{}-", std::process::id());
    let is_folder = |step: std::path::Component<'_>| step.as_os_str().to_string_lossy().starts_with(&ours);
    marked::kill_children(&|mark| mark.components().any(is_folder))
}

/// Whether a process that has ended was killed before its folder's marker was complete, or after it was gone, and its
/// watchdog with it: by the process in the folder's name, and only if nothing else is inside.
fn is_unmarked(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
    let Some((pid, random)) = name.and_then(|name| name.split_once('-')) else { return false };
    let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_ended = || pid.parse().is_ok_and(proc::has_ended);
    is_random && has_ended() && is_empty(folder).unwrap_or(false)
}

/// Whether nothing but a marker that is not complete is in a folder.
fn is_empty(folder: &Path) -> io::Result<bool> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    Ok(names.iter().all(|name| name == UNFINISHED))
}

/// Removes a folder whose maker was killed before its marker was complete, or after it was
/// gone: by its name, and only if nothing else is inside.
fn remove_unmarked(folder: &Path) -> io::Result<()> {
    let named = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let entry = fs::symlink_metadata(folder)?;
    if !named || !entry.is_dir() || entry.uid() != rustix::process::getuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if !is_empty(folder)? {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    match fs::remove_file(folder.join(UNFINISHED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stale_folder(root: &Path, name: &str) -> PathBuf {
        let path = root.join(name);
        fs::create_dir(&path).unwrap();
        // A process number above the kernel's limit of 2^22 is never alive.
        drop(write_marker(&path, 1 << 23, 1).unwrap());
        fs::write(path.join("data"), "x").unwrap();
        path
    }

    #[test]
    fn the_folder_is_private_and_goes_when_dropped() {
        let root = tempfile::tempdir().unwrap();
        let workdir = Workdir::create(root.path(), None, &[]).unwrap();
        let second = Workdir::create(root.path(), None, &[]).unwrap();
        assert_ne!(workdir.path(), second.path());
        let path = workdir.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(workdir.folder("data").unwrap().join("file"), "x").unwrap();
        assert!(path.join("data/file").exists());
        drop(workdir);
        assert!(!path.exists());
        assert!(second.path().exists());
    }

    #[test]
    fn a_root_that_cannot_be_written_is_an_error_with_a_next_step() {
        let error = Workdir::create(Path::new("/proc/nowhere"), None, &[]).unwrap_err();
        assert!(error.to_string().contains("data folder (--data-dir)"), "{error}");
    }

    #[test]
    fn only_marked_folders_are_removed_and_no_links_followed() {
        let root = tempfile::tempdir().unwrap();
        let precious = root.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        assert!(remove(&precious, &[]).unwrap_err().to_string().contains("marker"));
        let ours = stale_folder(root.path(), "threadwise-1-1");
        let link = root.path().join("threadwise-2-2");
        symlink(&ours, &link).unwrap();
        assert!(remove(&link, &[]).unwrap_err().to_string().contains("is not a folder"));
        assert!(ours.join("data").exists());
        symlink(&precious, ours.join("link-inside")).unwrap();
        assert!(remove(&ours, &[]).unwrap());
        assert!(precious.join("file").exists());
        assert!(!remove(&ours, &[]).unwrap());
        // A marker that is itself a link is none.
        fs::write(root.path().join("fake"), format!("{MARKER_LINE}\npid 1\nstart 1\n")).unwrap();
        symlink(root.path().join("fake"), precious.join(MARKER)).unwrap();
        assert!(remove(&precious, &[]).is_err());
    }

    #[test]
    fn sweeping_takes_the_dead_and_leaves_the_living() {
        let root = tempfile::tempdir().unwrap();
        let dead = stale_folder(root.path(), "threadwise-8388608-1");
        let living = Workdir::create(root.path(), None, &[]).unwrap();
        let unmarked = root.path().join("threadwise-9-9");
        fs::create_dir(&unmarked).unwrap();
        let other_name = stale_folder(root.path(), "other-8388608-1");
        // Another PID namespace: the number means nothing here, the lock is held.
        let elsewhere = root.path().join("threadwise-8388609-1");
        fs::create_dir(&elsewhere).unwrap();
        let lock = write_marker(&elsewhere, (1 << 23) + 1, 1).unwrap();
        assert_eq!(sweep(root.path(), &[]).0, 1);
        assert!(!dead.exists());
        assert!(living.path().exists() && unmarked.exists() && other_name.exists() && elsewhere.exists());
        // Closing it would not do: a process that another test has just forked has it open until it is another program.
        lock.unlock().unwrap();
        assert_eq!(sweep(root.path(), &[]).0, 1);
        assert!(!elsewhere.exists());
        assert_eq!(sweep(&root.path().join("missing"), &[]).0, 0);
    }

    #[test]
    fn what_was_killed_with_its_watchdog_before_it_was_marked_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let folder = |pid: u32, files: &[&str]| {
            let path = root.path().join(format!("threadwise-{pid}-00000000000000{:02x}", files.len()));
            fs::create_dir(&path).unwrap();
            files.iter().for_each(|file| fs::write(path.join(file), "").unwrap());
            path
        };
        let killed = [folder(1 << 23, &[]), folder(1 << 23, &[UNFINISHED])];
        let kept = [folder(std::process::id(), &[]), folder(1 << 23, &[UNFINISHED, "theirs"])];
        assert_eq!(stale(root.path()).len(), 2);
        let (removed, failed) = sweep(root.path(), &[]);
        assert_eq!((removed, failed.len()), (2, 0), "{failed:?}");
        assert!(killed.iter().all(|path| !path.exists()) && kept.iter().all(|path| path.exists()));
        assert!(kept[1].join(UNFINISHED).exists());
    }

    #[test]
    fn a_dead_folder_that_cannot_be_removed_is_named() {
        let root = tempfile::tempdir().unwrap();
        let dead = stale_folder(root.path(), "threadwise-8388608-1");
        let open_to_others = root.path().join("state");
        fs::create_dir(&open_to_others).unwrap();
        fs::write(open_to_others.join("masks"), "").unwrap();
        fs::set_permissions(&open_to_others, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(open_to_others.join("masks"), dead.join(JOURNAL)).unwrap();
        let (removed, failed) = sweep(root.path(), &[]);
        assert_eq!((removed, failed.len()), (0, 1), "{failed:?}");
        let said = failed[0].to_string();
        assert!(said.contains("threadwise-8388608-1") && said.contains("0755"), "{said}");
        fs::set_permissions(&open_to_others, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(sweep(root.path(), &[]).0, 1);
        assert!(!dead.exists() && !open_to_others.join("masks").exists());
    }

    #[test]
    fn the_watchdog_waits_for_the_end_of_its_stdin() {
        let root = tempfile::tempdir().unwrap();
        let folder = stale_folder(root.path(), "threadwise-1-1");
        let (mut reader, writer) = io::pipe().unwrap();
        let watched = folder.clone();
        let thread = std::thread::spawn(move || watch(&watched, &[], &mut reader));
        (&writer).write_all(b"still here").unwrap();
        assert!(folder.exists());
        drop(writer);
        thread.join().unwrap().unwrap();
        assert!(!folder.exists());
    }

    #[test]
    fn the_watchdog_takes_what_has_no_marker_yet_or_no_more_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str, files: &[&str]| {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            files.iter().for_each(|file| fs::write(path.join(file), "").unwrap());
            path
        };
        for path in [folder("threadwise-1-a", &[]), folder("threadwise-1-b", &[UNFINISHED])] {
            watch(&path, &[], &mut io::empty()).unwrap();
            assert!(!path.exists(), "{}", path.display());
        }
        let filled = folder("threadwise-1-c", &["theirs", UNFINISHED]);
        for path in [&filled, &folder("theirs", &[])] {
            assert!(remove_unmarked(path).is_err());
            assert!(path.exists());
        }
        assert!(filled.join(UNFINISHED).exists(), "nothing goes where something stays");
        symlink(root.path().join("theirs"), root.path().join("threadwise-1-d")).unwrap();
        assert!(remove_unmarked(&root.path().join("threadwise-1-d")).is_err());
        assert!(root.path().join("theirs").exists());
    }

    #[test]
    fn the_watchdog_is_there_before_the_folder_and_goes_with_it() {
        let root = tempfile::tempdir().unwrap();
        // `sh -c SCRIPT NAME FOLDER`: says whether the folder was there when it started.
        let seen = root.path().join("seen");
        let script = format!("cat; test -e \"$1\" && echo left >{0} || echo gone >{0}", seen.display());
        let args = ["-c", &script, "watchdog"];
        let workdir = Workdir::create(root.path(), Some(&Start::new("/bin/sh", args)), &[]).unwrap();
        assert!(workdir.path().exists() && !seen.exists());
        drop(workdir);
        assert_eq!(fs::read_to_string(&seen).unwrap(), "gone\n");
        let absent = Start::new("/proc/nowhere", args);
        let error = Workdir::create(root.path(), Some(&absent), &[]).unwrap_err();
        assert!(matches!(error, RunnerError::Program { .. }), "{error}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "no folder without its watchdog");
    }
}
