//! The user that a server runs as under root: database servers refuse to be root.
//!
//! Source: `passwd(5)`. The file is read directly, since the C library's look-up loads modules at run
//! time, which a static binary cannot. Users of directories (LDAP) are therefore not found; those of
//! server packages are always in the file.

use std::fs;
use std::path::Path;
use threadwise_machine::below;

/// A user that processes can be started as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its name.
    pub name: String,
    /// Its number; never 0.
    pub uid: u32,
    /// The number of its group.
    pub gid: u32,
}

/// The credentials for file access: the user's number, the group's, and those of further groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its further groups.
    pub groups: Vec<u32>,
}

/// The account of a user by its number, with the groups from `passwd(5)` and `group(5)`; `None`
/// if it has none there.
pub fn account(uid: u32) -> Option<Account> {
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    account_in(&passwd, &fs::read_to_string("/etc/group").unwrap_or_default(), uid)
}

fn account_in(passwd: &str, group: &str, uid: u32) -> Option<Account> {
    let user = passwd.lines().filter_map(parse_line).find(|user| user.uid == uid)?;
    let is_member =
        |line: &&str| line.rsplit(':').next().is_some_and(|all| all.split(',').any(|m| m == user.name));
    let number = |line: &str| line.split(':').nth(2)?.parse().ok();
    let groups = group.lines().filter(is_member).filter_map(number).collect();
    Some(Account { uid, gid: user.gid, groups })
}

/// Whether this process has root's rights over files.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The name of a user of this machine by its number.
pub fn name_of(uid: u32) -> Option<String> {
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find(|fields| fields.get(2) == Some(&uid.to_string().as_str())).map(|fields| fields[0].to_owned())
}

/// The first of the `candidates` that `root`/etc/passwd has, root itself excepted.
pub fn find(root: &Path, candidates: &[&str]) -> Option<User> {
    let file = below::resolve(root, root, Path::new("etc/passwd")).ok()?;
    find_in(&fs::read_to_string(file).ok()?, candidates)
}

/// The user that a private server runs as: `None` if this process is not root's, and it is this user; else the
/// first of the `candidates`, else the system's unprivileged account.
pub fn server_user(candidates: &[&str]) -> Option<User> {
    is_root().then(|| {
        find(Path::new("/"), candidates)
            .or_else(|| find(Path::new("/"), &["nobody"]))
            // The number that the kernel uses for a user without one (`overflowuid`).
            .unwrap_or_else(|| User { name: "nobody".into(), uid: 65_534, gid: 65_534 })
    })
}

fn find_in(passwd: &str, candidates: &[&str]) -> Option<User> {
    let users: Vec<User> = passwd.lines().filter_map(parse_line).collect();
    candidates.iter().find_map(|name| users.iter().find(|user| user.name == *name).cloned())
}

fn parse_line(line: &str) -> Option<User> {
    let mut fields = line.split(':');
    let name = fields.next()?.to_owned();
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    (uid != 0).then_some(User { name, uid, gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nbroken:x:1\ntoor:x:0:7::/:/bin/sh\n\
        mysql:x:108:116:MySQL Server,,,:/nonexistent:/bin/false\nodd:x:many:1::/:/x\n\
        postgres:x:107:115::/var/lib/postgresql:/bin/bash\nnobody:x:65534:65534::/:/x\n";

    #[test]
    fn candidates_are_taken_in_their_order() {
        let user = |name: &str, uid, gid| Some(User { name: name.into(), uid, gid });
        assert_eq!(find_in(PASSWD, &["postgres", "mysql"]), user("postgres", 107, 115));
        assert_eq!(find_in(PASSWD, &["mariadb", "mysql"]), user("mysql", 108, 116));
        assert_eq!(find_in(PASSWD, &["postgre", "x"]), None);
    }

    #[test]
    fn an_account_has_the_groups_that_name_it() {
        let group =
            "root:x:0:\nssl-cert:x:101:postgres,mysql\nodd:x:many:mysql\nmysql:x:116:\nmy:x:7:my,sql\n";
        let account = |uid| account_in(PASSWD, group, uid);
        assert_eq!(account(108), Some(Account { uid: 108, gid: 116, groups: vec![101] }));
        assert_eq!(account(65_534).unwrap().groups, Vec::<u32>::new());
        assert_eq!((account(0), account(12_345)), (None, None));
    }

    #[test]
    fn root_and_damaged_lines_are_never_found() {
        assert_eq!(find_in(PASSWD, &["root", "toor", "broken", "odd"]), None);
    }

    #[test]
    fn the_file_is_looked_for_below_the_root_only() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(find(root.path(), &["postgres"]), None);
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("users"), PASSWD).unwrap();
        std::os::unix::fs::symlink("/users", root.path().join("etc/passwd")).unwrap();
        assert_eq!(find(root.path(), &["postgres"]).unwrap().uid, 107);
    }

    #[test]
    fn a_server_user_is_wanted_by_root_alone() {
        let user = server_user(&["no-such-user-here"]);
        assert_eq!(user.is_some(), is_root());
        assert!(user.is_none_or(|user| user.uid != 0));
    }
}
