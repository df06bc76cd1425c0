//! Parameters for finding, starting and reaching a server.

use std::fs::File;
use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_process::socket;
use threadwise_study::worklist::MAX_JOBS;

use crate::error::failed;
use crate::programs::Programs;
use crate::recipe::Kind;

/// Connections that a server has room for: its jobs, and threadwise's.
pub(super) const CONNECTIONS: u32 = MAX_JOBS + 8;

/// Parameters for finding and starting a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerParameters<'a> {
    /// The folder of the list.
    pub home: &'a Path,
    /// Kind of server.
    pub kind: Kind,
    /// Folder of programs.
    pub bin: Option<PathBuf>,
    /// The recipe's programs.
    pub programs: Programs,
    /// Bytes of all items.
    pub total_bytes: u64,
}

/// The folder by which programs find a socket in it, see [`socket::folder`].
pub(super) fn socket_folder(folder: &Path, name: &str) -> Result<(PathBuf, Option<File>), EngineError> {
    socket::folder(folder, name)
        .map_err(|error| failed(format!("open the folder {}", folder.display()), error))
}

/// The program of this name; recipes of servers name all that are used here.
pub(super) fn program<'a>(programs: &'a Programs, name: &str) -> Result<&'a Path, String> {
    programs.get(name).map(PathBuf::as_path).ok_or_else(|| format!("its recipe names no program '{name}'"))
}
