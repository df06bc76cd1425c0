//! The users who could rename a folder on the way to a database while root works on it.
//!
//! Engines take paths, and any user who may write a folder may replace another one in it between two calls
//! (`rename(2)`, `RENAME_EXCHANGE`). For root that would give another user access to every file, so it is decided
//! before anything is done: if all folders are root's, root works itself, if they are a user's, it works with that
//! user's rights, and otherwise not at all.
//!
//! A sticky folder (`chmod(1)`) is safe on the way if the next name in it belongs to root or that
//! user: only its owner and the folder's may rename it. The database's own folder may not be sticky for root,
//! since others could make files there that SQLite finds by their names.

use crate::error::ItemError;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use threadwise_process::users::{self, Account};

/// The user as whom a database is processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunsAs {
    /// This process.
    Ours,
    /// A process of this user, who owns the database and its folder.
    Owner(Account),
}

/// Group of a file that no process may have; the kernel's `overflowgid`.
const NO_GROUP: u32 = 65_534;

/// One folder on the way, or the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owned {
    path: PathBuf,
    uid: u32,
    gid: u32,
    mode: u32,
}

/// Decides who works on a database, whose path is absolute and without links; its name may not exist.
///
/// # Errors
/// [`ItemError::Skip`]: this is root, and another user could swap folders on the way.
pub fn of(database: &Path) -> Result<RunsAs, ItemError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(RunsAs::Ours);
    }
    let (folders, file) = way(database)
        .map_err(|error| ItemError::skip(format!("cannot inspect the folders on the way: {error}")))?;
    judge(&folders, file.as_ref(), users::account).map_err(ItemError::Skip)
}

/// All folders from `/` on, and the database, by descriptors: none of them is a link.
fn way(database: &Path) -> io::Result<(Vec<Owned>, Option<Owned>)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let owned = |path: &Path, stat: &Stat| Owned {
        path: path.to_owned(),
        uid: stat.st_uid,
        gid: stat.st_gid,
        mode: stat.st_mode,
    };
    let mut path = PathBuf::from("/");
    let mut folder = openat(CWD, "/", flags, Mode::empty())?;
    let mut folders = vec![owned(&path, &fstat(&folder)?)];
    for part in database.parent().unwrap_or(&path.clone()).components() {
        let name = match part {
            Component::RootDir => continue,
            Component::Normal(name) => name,
            _ => return Err(io::Error::other("the path is not absolute, or has dots")),
        };
        folder = openat(&folder, name, flags, Mode::empty())?;
        path.push(name);
        folders.push(owned(&path, &fstat(&folder)?));
    }
    let name = database.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok((folders, None)),
        found => Ok((folders, Some(owned(database, &found?)))),
    }
}

/// Most links in a path, as the kernel's limit (`path_resolution(7)`).
const MOST_LINKS: u32 = 40;

/// The file of a path, without links; and for root why it may not work there, if a user other than its owner
/// could lead the path elsewhere by a link.
///
/// # Errors
/// The path leads to no file.
pub fn follow(path: &Path) -> io::Result<(PathBuf, Option<String>)> {
    led_to(path, None)
}

/// As [`follow`], for a path to the folder of the given database.
///
/// # Errors
/// The path leads to no folder.
pub fn led_to(path: &Path, database: Option<&Path>) -> io::Result<(PathBuf, Option<String>)> {
    let found = fs::canonicalize(path)?;
    if !rustix::process::geteuid().is_root() {
        return Ok((found, None));
    }
    // The result of this walk is what is worked on: a link that is swapped meanwhile has no effect.
    let (found, decisive) = walk(path)?;
    let database = database.unwrap_or(&found);
    let why = match of(database) {
        // Reported when it is worked on.
        Err(_) => None,
        Ok(runs_as) => refuse_link(&decisive, &runs_as, database),
    };
    Ok((found, why))
}

/// The end of a path, and the folders that decide it, each with the links followed in it: those up to the last link.
/// After it there is none, and [`of`] judges.
fn walk(path: &Path) -> io::Result<(PathBuf, Vec<(Owned, Owned)>)> {
    let mut rest: VecDeque<OsString> =
        std::path::absolute(path)?.components().map(|part| part.as_os_str().to_owned()).collect();
    let (mut at, mut way, mut decisive, mut links) = (PathBuf::from("/"), Vec::new(), 0, 0);
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                let entry = owned_at(&next)?;
                let is_link = FileType::from_raw_mode(entry.mode) == FileType::Symlink;
                way.push((owned_at(&at)?, entry));
                if !is_link {
                    at = next;
                    continue;
                }
                (links, decisive) = (links + 1, way.len());
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let to = fs::read_link(&next)?;
                to.components().rev().for_each(|part| rest.push_front(part.as_os_str().to_owned()));
            }
            _ => {}
        }
    }
    way.truncate(decisive);
    Ok((at, way))
}

fn owned_at(path: &Path) -> io::Result<Owned> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Owned { path: path.to_owned(), uid: stat.st_uid, gid: stat.st_gid, mode: stat.st_mode })
}

/// Why a file may not be worked on whose path follows links in these folders.
fn refuse_link(decisive: &[(Owned, Owned)], runs_as: &RunsAs, found: &Path) -> Option<String> {
    let owner = match runs_as {
        RunsAs::Ours => None,
        RunsAs::Owner(owner) => Some(owner),
    };
    let what = decisive.iter().find_map(|(folder, next)| swappable(folder, Some(next), owner))?;
    Some(format!(
        "its path leads by a link to {}, and {what}: use the path of that file itself if it is the right one (docs/RELOAD.md, \
         Root)",
        found.display()
    ))
}

/// The decision for root.
fn judge(
    folders: &[Owned],
    file: Option<&Owned>,
    account: impl Fn(u32) -> Option<Account>,
) -> Result<RunsAs, String> {
    let Some((folder, above)) = folders.split_last() else { return Err("it is in no folder".to_owned()) };
    let user = folder.uid;
    let advice = |who: u32| match who {
        0 => "move it to a folder that only root can write".to_owned(),
        who => format!("run threadwise as user {who}"),
    };
    let unsafe_ = |what: String| {
        let who = file.map_or(user, |file| file.uid);
        format!("root cannot work on it safely: {what}; {} (docs/RELOAD.md, Root)", advice(who))
    };
    let file_uid = file.map_or(user, |file| file.uid);
    if user != 0 && file_uid != user {
        return Err(unsafe_(format!("it belongs to user {file_uid} and its folder to user {user}")));
    }
    let owner = (user != 0).then(|| account(user).unwrap_or_else(|| without_account(user, file, folder)));
    let next = folders.iter().skip(1);
    for (one, next) in above.iter().zip(next) {
        swappable(one, Some(next), owner.as_ref()).map_or(Ok(()), |what| Err(unsafe_(what)))?;
    }
    match owner {
        // What the owner lets others do in the folder is their matter: root's rights are not involved.
        Some(owner) => Ok(RunsAs::Owner(owner)),
        None => swappable(folder, None, None).map_or(Ok(RunsAs::Ours), |what| Err(unsafe_(what))),
    }
}

/// Who except root and the owner could give a name in a folder to another file, as text; `None` if none could.
fn swappable(folder: &Owned, next: Option<&Owned>, owner: Option<&Account>) -> Option<String> {
    let is_trusted = |uid: u32| uid == 0 || owner.is_some_and(|owner| owner.uid == uid);
    let path = folder.path.display();
    if !is_trusted(folder.uid) {
        return Some(format!("user {} owns {path} and could swap files in it", folder.uid));
    }
    if folder.mode & 0o1000 != 0 && next.is_some_and(|next| is_trusted(next.uid)) {
        return None;
    }
    if folder.mode & 0o002 != 0 {
        return Some(format!("every user could swap files in {path}"));
    }
    // With an access control list these bits are its mask (`acl(5)`), so no entry of it has more.
    let is_own_group = owner.is_some_and(|owner| owner.gid == folder.gid);
    match folder.mode & 0o020 != 0 && !is_own_group {
        true => Some(format!("group {} could swap files in {path}", folder.gid)),
        false => None,
    }
}

/// A user that is not in passwd(5), as in containers: with the file's group, unless that is root's.
fn without_account(uid: u32, file: Option<&Owned>, folder: &Owned) -> Account {
    let gid = file.unwrap_or(folder).gid;
    Account { uid, gid: if gid == 0 { NO_GROUP } else { gid }, groups: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(path: &str, uid: u32, mode: u32) -> Owned {
        Owned { path: path.into(), uid, gid: uid, mode }
    }

    /// The folders `/`, `/a` and `/a/b`, and the file `/a/b/db`, each with its owner and mode.
    fn judged(all: [(u32, u32); 4]) -> Result<RunsAs, String> {
        let [root, a, b, file] = all;
        let folders = [("/", root), ("/a", a), ("/a/b", b)];
        let folders = folders.map(|(path, (uid, mode))| owned(path, uid, mode));
        let known = |uid| (uid == 1000).then(|| Account { uid, gid: 1000, groups: vec![7] });
        judge(&folders, Some(&owned("/a/b/db", file.0, file.1)), known)
    }

    #[test]
    fn root_works_itself_where_nobody_else_can_rename() {
        let root = (0, 0o755);
        for file in [(0, 0o600), (1000, 0o666)] {
            assert_eq!(judged([root, root, root, file]), Ok(RunsAs::Ours));
            assert_eq!(judged([root, (0, 0o1777), (0, 0o700), file]), Ok(RunsAs::Ours), "root's in /tmp");
        }
        for (folders, what) in [
            ([root, (1000, 0o755), root], "user 1000 owns /a and could swap files in it"),
            ([root, (0, 0o777), root], "every user could swap files in /a;"),
            ([root, (0, 0o775), root], "group 0 could swap files in /a;"),
            ([root, root, (0, 0o1777)], "every user could swap files in /a/b;"),
            ([(0, 0o1775), (0, 0o775), root], "group 0 could swap files in /a;"),
        ] {
            let [one, two, three] = folders;
            let why = judged([one, two, three, (0, 0o600)]).unwrap_err();
            assert!(why.contains(what) && why.contains("only root can write"), "{why}");
            assert!(
                judged([one, two, three, (1000, 0o600)]).unwrap_err().contains("run threadwise as user 1000")
            );
        }
    }

    #[test]
    fn an_owner_works_where_the_folder_is_theirs_too() {
        let (root, file) = ((0, 0o755), (1000, 0o600));
        let owner = Ok(RunsAs::Owner(Account { uid: 1000, gid: 1000, groups: vec![7] }));
        assert_eq!(judged([root, root, (1000, 0o700), file]), owner);
        assert_eq!(judged([root, (1000, 0o775), (1000, 0o777), file]), owner, "their own group");
        assert_eq!(judged([root, (0, 0o1777), (1000, 0o700), file]), owner, "theirs in /tmp");
        for (folders, what) in [
            ([root, root, (2000, 0o700)], "belongs to user 1000 and its folder to user 2000"),
            ([root, (2000, 0o755), (1000, 0o700)], "user 2000 owns /a and could swap files in it"),
            ([root, (0, 0o775), (1000, 0o700)], "group 0 could swap files in /a;"),
            ([(0, 0o777), root, (1000, 0o700)], "every user could swap files in /;"),
        ] {
            let [one, two, three] = folders;
            let why = judged([one, two, three, file]).unwrap_err();
            assert!(why.contains(what) && why.contains("user 1000"), "{why}");
        }
        let why = judged([root, root, (1000, 0o700), (0, 0o600)]).unwrap_err();
        assert!(why.contains("belongs to user 0"), "{why}");
    }

    #[test]
    fn a_user_without_an_account_has_the_files_group_and_never_roots() {
        let root = (0, 0o755);
        let Ok(RunsAs::Owner(found)) = judged([root, root, (12_345, 0o700), (12_345, 0o600)]) else {
            panic!()
        };
        assert_eq!(found, Account { uid: 12_345, gid: 12_345, groups: Vec::new() });
        let file = Owned { gid: 0, ..owned("/db", 12_345, 0o600) };
        assert_eq!(without_account(12_345, Some(&file), &file).gid, NO_GROUP);
    }

    /// A link `/a/b/link` that leads to the ground of root or of user 1000.
    fn linked(folders: [(u32, u32); 2], link: u32, owner: Option<u32>) -> Option<String> {
        let [a, b] = folders.map(|(uid, mode)| owned("/a/b", uid, mode));
        let decisive = [(a, b.clone()), (b, owned("/a/b/link", link, 0o777))];
        let runs_as =
            owner.map_or(RunsAs::Ours, |uid| RunsAs::Owner(Account { uid, gid: uid, groups: Vec::new() }));
        refuse_link(&decisive, &runs_as, Path::new("/srv/db"))
    }

    #[test]
    fn a_link_leads_only_to_what_is_of_those_who_could_change_it() {
        let (root, user) = ((0, 0o755), (1000, 0o755));
        for folders in [[root, root], [(0, 0o1777), root]] {
            assert_eq!(linked(folders, 0, None), None, "root's own link to root's file");
            assert_eq!(linked(folders, 0, Some(1000)), None, "root's own link to a user's file");
        }
        assert_eq!(linked([root, user], 1000, Some(1000)), None, "a user's link to the user's file");
        assert_eq!(linked([root, (0, 0o1777)], 1000, Some(1000)), None, "theirs in /tmp");
        for (folders, link, owner) in [
            ([root, user], 1000, None),
            ([root, user], 0, None),
            ([user, root], 0, None),
            ([root, user], 1000, Some(2000)),
            ([root, (0, 0o777)], 0, None),
            ([root, (0, 0o1777)], 1000, None),
        ] {
            let why = linked(folders, link, owner).unwrap();
            assert!(why.contains("leads by a link to /srv/db") && why.contains("could swap"), "{why}");
        }
    }

    #[test]
    fn a_path_is_walked_as_the_kernel_does() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let at = |name: &str| real.join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/db"), "").unwrap();
        symlink("b/../b", at("a/one")).unwrap();
        symlink(at("a/one/db"), at("two")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for (path, links) in
            [("a/b/db", 0), ("a/./b/../b/db", 0), ("a/one/db", 1), ("two", 2), ("a/one/../../two", 3)]
        {
            let (found, decisive) = walk(&at(path)).unwrap();
            assert_eq!(found, at("a/b/db"), "{path}");
            let is_link = |entry: &Owned| FileType::from_raw_mode(entry.mode) == FileType::Symlink;
            assert_eq!(decisive.iter().filter(|(_, next)| is_link(next)).count(), links, "{path}");
            assert!(decisive.last().is_none_or(|(_, next)| is_link(next)), "{path}");
            assert_eq!(follow(&at(path)).unwrap().0, at("a/b/db"));
        }
        assert!(walk(&at("loop")).is_err() && follow(&at("loop")).is_err());
        assert!(follow(&at("nowhere")).is_err());
    }

    #[test]
    fn a_link_on_the_way_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("folder", root.path().join("link")).unwrap();
        let real = root.path().canonicalize().unwrap();
        assert!(way(&real.join("folder/gone")).is_ok_and(|(folders, file)| {
            folders.last().is_some_and(|last| last.path == real.join("folder")) && file.is_none()
        }));
        assert!(way(&real.join("link/db")).is_err());
    }
}
