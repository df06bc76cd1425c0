//! Finding the process that listens on a port or on a socket's path.
//!
//! The kernel's tables name a socket by its inode number, and its owner has it among its open files.
//! If several processes hold it (they were forked with it), the server is their common ancestor.
//! Source: `proc_net_tcp(5)`, `proc_net_unix(5)`, `proc_pid_fd(5)`.

use super::{FindError, Identity, Server, ancestors, table, user};
use crate::as_owner;
use crate::proc;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// State of a listening socket in /proc/net/tcp (`TCP_LISTEN`).
const LISTENS: &str = "0A";
/// Flag of a listening socket in /proc/net/unix (`__SO_ACCEPTCON`).
const ACCEPTS: u64 = 0x1_0000;

/// Programs that listen on behalf of a server elsewhere, by their names in /proc/PID/comm: forwarders of ports into
/// containers, of sockets of units, and tunnels.
const PROXIES: [&str; 8] = [
    "docker-proxy",
    "rootlesskit",
    "rootlessport",
    "slirp4netns",
    "pasta",
    "pasta.avx2",
    "systemd-socket-",
    "ssh",
];

/// A listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Socket {
    inode: u64,
    /// User who made it, if the table has it.
    uid: Option<u32>,
}

/// The server that listens on a TCP port of this machine, on any address.
///
/// # Errors
/// None listens, several do, or its processes are not visible.
pub fn by_port(port: u16) -> Result<Server, FindError> {
    let read = |name: &str| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    let sockets: Vec<Socket> = ["tcp", "tcp6"].iter().flat_map(|name| tcp(&read(name), port)).collect();
    holder(&format!("TCP port {port}"), &sockets)
}

/// The server that listens on the socket with that path.
///
/// # Errors
/// As [`by_port`].
pub fn by_socket(path: &Path) -> Result<Server, FindError> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let is_meant = |bound: &Path| bound == path || is_same(bound, path);
    holder(&format!("socket {}", path.display()), &unix(&table, is_meant))
}

/// Whether two paths lead to one file: one of them may have a link such as /var/run.
fn is_same(bound: &Path, path: &Path) -> bool {
    bound.file_name() == path.file_name()
        && matches!((fs::canonicalize(bound), fs::canonicalize(path)), (Ok(one), Ok(other)) if one == other)
}

fn tcp(table: &str, port: u16) -> Vec<Socket> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, local_port) = words.get(1)?.rsplit_once(':')?;
        let listens = u16::from_str_radix(local_port, 16).ok()? == port && *words.get(3)? == LISTENS;
        let inode = words.get(9)?.parse().ok()?;
        listens.then(|| Socket { inode, uid: words[7].parse().ok() })
    };
    table.lines().filter_map(socket).collect()
}

fn unix(table: &str, is_meant: impl Fn(&Path) -> bool) -> Vec<Socket> {
    let socket = |line: &str| {
        let mut words = line.split_whitespace();
        let flags = u64::from_str_radix(words.nth(3)?, 16).ok()?;
        let inode = words.nth(2)?.parse().ok()?;
        // The rest of the line is the path, including spaces.
        let at = line.find('/')?;
        (flags & ACCEPTS != 0 && is_meant(Path::new(&line[at..]))).then_some(Socket { inode, uid: None })
    };
    table.lines().filter_map(socket).collect()
}

fn holder(what: &str, sockets: &[Socket]) -> Result<Server, FindError> {
    if sockets.is_empty() {
        return Err(FindError::Absent {
            what: format!("nothing listens on {what} here"),
            next: "start the server first; for one in a container, use its process number",
        });
    }
    let inodes: BTreeSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
    let mut holders: BTreeSet<u32> =
        proc::processes().into_iter().filter(|&pid| holds(pid, &inodes)).collect();
    if holders.len() > 1 {
        // It holds sockets for units that it starts on connection (`systemd.socket(5)`).
        holders.remove(&1);
    }
    let tops = without_descendants(&holders);
    match tops[..] {
        [] => {
            let owner = sockets.iter().find_map(|socket| socket.uid);
            let owner = owner.map_or_else(|| "another user".to_owned(), user);
            Err(FindError::Hidden { what: what.to_owned(), owner })
        }
        [root] => match proc::comm(root.0).filter(|name| PROXIES.contains(&name.as_str())) {
            Some(program) => Err(FindError::Proxy { what: what.to_owned(), program, pid: root.0 }),
            None => Ok(Server { root, group: None }),
        },
        _ => {
            let name = |(pid, _): &Identity| format!("{} ({pid})", proc::comm(*pid).unwrap_or_default());
            let found: Vec<String> = tops.iter().map(name).collect();
            Err(FindError::Several { what: what.to_owned(), found: found.join(", ") })
        }
    }
}

/// Processes of a set without an ancestor in it.
fn without_descendants(holders: &BTreeSet<u32>) -> Vec<Identity> {
    let table = table();
    let is_top = |pid: u32| !ancestors(&table, pid).skip(1).any(|(above, _)| holders.contains(&above));
    let identity = |pid: u32| Some((pid, table.get(&pid)?.start));
    holders.iter().copied().filter(|&pid| is_top(pid)).filter_map(identity).collect()
}

/// Whether a process has one of the sockets open.
fn holds(pid: u32, inodes: &BTreeSet<u64>) -> bool {
    let look = || -> io::Result<bool> {
        let entries = fs::read_dir(format!("/proc/{pid}/fd"))?;
        Ok(entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| {
            let link = link.to_string_lossy();
            let number = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            number.and_then(|number| number.parse().ok()).is_some_and(|inode| inodes.contains(&inode))
        }))
    };
    match look() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            as_owner::run(pid, look).and_then(Result::ok).unwrap_or(false)
        }
        found => found.unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;

    #[test]
    fn tables_are_read_and_only_listening_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   113        0 4711 1 0 100 0\n\
             1: 0100007F:1538 0100007F:9C40 01 00000000:00000000 00:00000000 00000000   113        0 4712 1 0 20 4\n\
             2: 00000000:1539 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0\n";
        assert_eq!(tcp(table, 5432), [Socket { inode: 4711, uid: Some(113) }]);
        assert_eq!(tcp(table, 80), []);
        let six = "   0: 00000000000000000000000001000000:1538 00000000000000000000000000000000:0000 0A \
             00000000:00000000 00:00000000 00000000   113        0 99 1 0 100 0\n";
        assert_eq!(tcp(six, 5432), [Socket { inode: 99, uid: Some(113) }]);
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
             ffff: 00000002 00000000 00010000 0001 01 31 /run/my db/.s.5432\n\
             ffff: 00000003 00000000 00000000 0001 03 32 /run/my db/.s.5432\n\
             ffff: 00000003 00000000 00010000 0001 03 33\n";
        let found = unix(table, |path| path == Path::new("/run/my db/.s.5432"));
        assert_eq!(found, [Socket { inode: 31, uid: None }]);
    }

    #[test]
    fn listeners_of_this_process_are_found() {
        let this = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(by_port(port).unwrap().root.0, this);
        // A client's own port: nothing listens on it, and no other process gets it while the client lives.
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let unheard = by_port(client.local_addr().unwrap().port()).unwrap_err();
        assert!(unheard.to_string().contains("nothing listens on TCP port"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        assert_eq!(by_socket(&path).unwrap().root.0, this);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        assert_eq!(by_socket(&folder.path().join("link/a socket")).unwrap().root.0, this);
    }
}
