//! Copies of folders: whole or not there at all.

use super::{another_user, set_mode, started_again};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use threadwise_process::template::{copy, sync};
use threadwise_process::users;

struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A tree with unusual names.
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        let from = bench.from();
        fs::create_dir_all(from.join("base/1")).unwrap();
        fs::create_dir(from.join("empty")).unwrap();
        for (name, bytes) in [
            (OsStr::new("PG_VERSION"), b"15\n".to_vec()),
            (OsStr::new("base/1/a b\nc"), vec![7; 100_000]),
            (OsStr::new("base/--"), Vec::new()),
            (OsStr::from_bytes(b"base/\xff\xfe"), vec![1, 2, 3]),
            (OsStr::new("..."), vec![9]),
        ] {
            fs::write(from.join(name), bytes).unwrap();
        }
        set_mode(&from.join("PG_VERSION"), 0o640);
        set_mode(&from.join("base"), 0o500);
        set_mode(&from, 0o700);
        bench
    }

    fn from(&self) -> PathBuf {
        self.folder.path().join("template")
    }

    fn to(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    fn copy(&self) -> Result<u64, String> {
        copy(&self.from(), &self.to(), None).map_err(|error| error.to_string())
    }

    /// What is in the bench's folder beside the template.
    fn beside(&self) -> Vec<OsString> {
        let names = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != "template").collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A folder without the right to write would keep its owner from removing what is in it.
        for folder in [self.from(), self.to()] {
            let _ = fs::set_permissions(folder.join("base"), fs::Permissions::from_mode(0o700));
        }
    }
}

/// Every path below a folder with its mode, owner and content.
fn tree(folder: &Path) -> Vec<(PathBuf, u32, u32, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        let entry = fs::symlink_metadata(&path).unwrap();
        let content = entry.is_file().then(|| fs::read(&path).unwrap());
        if entry.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let inside = path.strip_prefix(folder).unwrap().to_owned();
        found.push((inside, entry.mode() & 0o7777, entry.uid(), content));
    }
    found.sort();
    found
}

#[test]
fn a_tree_is_copied_with_its_names_modes_and_contents() {
    let bench = Bench::new();
    assert_eq!(bench.copy().unwrap(), 3 + 100_000 + 3 + 1);
    assert_eq!(tree(&bench.to()), tree(&bench.from()));
    assert_eq!(tree(&bench.to()).len(), 9);
    sync(&bench.to()).unwrap();
    // The copy is no second name of the template's files.
    fs::write(bench.to().join("PG_VERSION"), "16\n").unwrap();
    assert_eq!(fs::read(bench.from().join("PG_VERSION")).unwrap(), b"15\n");
}

#[test]
fn what_is_there_is_never_replaced_and_an_interrupted_copy_is() {
    let bench = Bench::new();
    fs::create_dir(bench.to()).unwrap();
    let error = bench.copy().unwrap_err();
    assert!(error.starts_with("cannot make ") && error.contains("/copy: "), "{error}");
    fs::remove_dir(bench.to()).unwrap();
    fs::create_dir(bench.folder.path().join("copy.part")).unwrap();
    fs::write(bench.folder.path().join("copy.part/half"), "x").unwrap();
    bench.copy().unwrap();
    assert_eq!(tree(&bench.to()), tree(&bench.from()));
    assert_eq!(bench.beside(), ["copy"]);
}

#[test]
fn links_and_sockets_are_refused() {
    let bench = Bench::new();
    symlink("/etc", bench.from().join("pg_wal")).unwrap();
    let error = bench.copy().unwrap_err();
    assert!(error.contains("template/pg_wal: it is a symbolic link"), "{error}");
    assert!(bench.beside().is_empty(), "{:?}", bench.beside());
    fs::remove_file(bench.from().join("pg_wal")).unwrap();
    let _socket = UnixListener::bind(bench.from().join("empty/socket")).unwrap();
    let error = bench.copy().unwrap_err();
    assert!(error.contains("empty/socket: it is neither a file nor a folder"), "{error}");
    assert!(bench.beside().is_empty(), "{:?}", bench.beside());
}

#[test]
fn a_file_or_a_link_in_place_of_the_folder_is_refused() {
    let bench = Bench::new();
    let file = bench.from().join("PG_VERSION");
    symlink(bench.from(), bench.folder.path().join("link")).unwrap();
    for from in [file, bench.folder.path().join("link"), bench.folder.path().join("absent")] {
        let error = copy(&from, &bench.to(), None).unwrap_err().to_string();
        assert!(error.starts_with("cannot open "), "{error}");
    }
    let error = copy(&bench.from(), &bench.from().join("PG_VERSION/x"), None).unwrap_err();
    assert!(error.to_string().contains("Not a directory"), "{error}");
    assert_eq!(bench.beside(), ["link"]);
}

#[test]
fn a_copy_belongs_to_its_owner_if_we_may_give_it_away() {
    let bench = Bench::new();
    let owner = another_user();
    let copied = copy(&bench.from(), &bench.to(), Some(&owner));
    if !users::is_root() {
        let error = copied.unwrap_err().to_string();
        assert!(error.contains("set owner and mode of"), "{error}");
        assert!(bench.beside().is_empty(), "{:?}", bench.beside());
        return;
    }
    copied.unwrap();
    assert!(tree(&bench.to()).iter().all(|(_, _, uid, _)| *uid == owner.uid));
    // A second name may lie where its owner decides, and the copy would then show what it should not.
    fs::hard_link(bench.from().join("PG_VERSION"), bench.from().join("second")).unwrap();
    let error = copy(&bench.from(), &bench.folder.path().join("other"), Some(&owner)).unwrap_err();
    assert!(error.to_string().contains("several names"), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_whole_leaves_nothing() {
    let bench = Bench::new();
    // 32 KiB a file, less than the largest one.
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec '{}' --exact template::as_copier_without_room --nocapture",
        exe.display()
    );
    let mut command = Command::new("/bin/sh");
    let output = command.args(["-c", &script]).env(super::FOLDER, bench.folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(bench.beside().is_empty(), "{:?}", bench.beside());
}

/// The process that cannot write much, when the program is started as one.
#[test]
fn as_copier_without_room() {
    let Some(folder) = started_again() else { return };
    let error = copy(&folder.join("template"), &folder.join("copy"), None).unwrap_err();
    assert!(error.to_string().contains("File too large"), "{error}");
}

/// A file system of 64 KiB, as long as it lives.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None` where we may not mount, as in most containers.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "threadwise-test"]).arg(folder.path());
        mount.output().is_ok_and(|output| output.status.success()).then(|| Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// The same as with a limit on files, which every user can have, is also tried on a disk that is full.
#[test]
fn a_full_disk_is_named_and_nothing_is_left_on_it() {
    let bench = Bench::new();
    let Some(disk) = SmallDisk::new() else {
        println!("no file system could be mounted: only the limit on files is tested");
        return;
    };
    let error = copy(&bench.from(), &disk.0.path().join("copy"), None).unwrap_err().to_string();
    assert!(error.contains("No space left on device") && error.contains("more space"), "{error}");
    assert!(fs::read_dir(disk.0.path()).unwrap().next().is_none());
}
