//! Whether the server's processes are visible on this machine: only then can they be bound, and only then does /proc
//! show their CPU time.
//!
//! A process number from the server may belong to another process here, or to none: the server may run on
//! another machine or in another PID namespace. So the number alone proves nothing. Behind a Unix socket the
//! server is the socket's peer (`SO_PEERCRED`, unix(7), which the kernel translates to this namespace): the
//! backend must be its child. Behind TCP a backend is known by its title, which contains the client's port
//! ("postgres: user database 127.0.0.1(54321) idle").

use postgres::Client;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use threadwise_process::proc;

use super::target::{Address, Target, kernel_folder, socket_path};

/// Where the server's processes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locality {
    /// On this machine, with the postmaster's process number.
    Here {
        /// Parent of all other processes of the server.
        postmaster: u32,
    },
    /// Out of reach; with the reason in a few words.
    Elsewhere {
        /// The reason.
        why: String,
    },
}

impl Locality {
    /// Finds out over an open connection to the target.
    pub(super) fn of(target: &Target, client: &mut Client) -> Self {
        match find(target, client) {
            Ok(postmaster) => Self::Here { postmaster },
            Err(why) => Self::Elsewhere { why },
        }
    }
}

const OTHER_NAMESPACE: &str = "its processes cannot be identified from here (another container or PID namespace, or a proxy in between)";

fn find(target: &Target, client: &mut Client) -> Result<u32, String> {
    let sql = "SELECT pg_backend_pid(), inet_client_port(), \
               host(inet_server_addr()) = host(inet_client_addr())";
    let row = client.query_one(sql, &[]).map_err(|_| "it does not report its process numbers".to_owned())?;
    let (backend, port, same): (i32, Option<i32>, Option<bool>) = (row.get(0), row.get(1), row.get(2));
    let backend = u32::try_from(backend).map_err(|_| OTHER_NAMESPACE.to_owned())?;
    let parent = proc::parent(backend);
    match &target.address {
        Address::Socket(folder) => {
            let peer = peer(&socket_path(&kernel_folder(folder), target.port)).ok_or(OTHER_NAMESPACE)?;
            parent.filter(|parent| *parent == peer).ok_or_else(|| OTHER_NAMESPACE.to_owned())
        }
        Address::Host { .. } if same != Some(true) => Err("it runs on another machine".to_owned()),
        Address::Host { .. } => {
            let title = proc::title(backend).unwrap_or_default();
            let ours = port.is_some_and(|port| is_backend_of(&title, port));
            parent.filter(|_| ours).ok_or_else(|| OTHER_NAMESPACE.to_owned())
        }
    }
}

/// The process at the other end of a socket; `None` if it has no number here.
fn peer(path: &Path) -> Option<u32> {
    let address = match path.as_os_str().as_bytes() {
        [0, name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(path),
    };
    let stream = UnixStream::connect_addr(&address.ok()?).ok()?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}

fn is_backend_of(title: &str, client_port: i32) -> bool {
    title.starts_with("postgres:") && title.contains(&format!("({client_port})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_prove_a_backend_by_our_own_port() {
        assert!(is_backend_of("postgres: 15/main: ada sales 127.0.0.1(54321) idle", 54321));
        assert!(!is_backend_of("postgres: ada sales 127.0.0.1(5432) idle", 54321));
        assert!(!is_backend_of("nginx: (54321)", 54321));
    }

    #[test]
    fn the_peer_of_a_socket_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        assert_eq!(peer(&path), None);
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(peer(&path), Some(std::process::id()));
    }
}
