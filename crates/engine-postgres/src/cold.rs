//! `cache=cold`: a new server for each query, whose data is in no cache.
//!
//! Between queries no server runs. Before each query the worker writes dirty data to the disk, drops the data
//! directory's files from the kernel's page cache, and starts a server on it as its child, under the treatment's
//! logical CPUs and memory policy; a new session plans and executes the query, and the server is stopped in order.
//! Treatments take turns on one data directory; none of them loses a connection, since none has one between its
//! queries.
//!
//! Sources: `posix_fadvise(2)`, POSIX_FADV_DONTNEED (dirty pages stay, and so do mapped ones; PostgreSQL
//! maps no tables); `syncfs(2)`; `flock(2)`; PostgreSQL documentation, "Shutting Down the Server".

use rustix::fs::{Advice, FlockOperation, fadvise, flock, statfs};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use threadwise_engine::servers::{self, Ending, Home, TreatmentServer};
use threadwise_engine::{
    EngineError, LoadRequest, Loaded, Placed, Running, Session, SessionRequest, Standing, StartRequest,
    Window,
};
use threadwise_engine_sql::Started;
use threadwise_engine_sql::tpch::{Queries, StreamSession};
use threadwise_study::{Counters, Note, SessionSlice};

use crate::backend::lock;
use crate::cluster::{Cluster, Programs};
use crate::connect::Server;
use crate::error::{failed, refuse};
use crate::placing::expect_in_place;
use crate::running::{OnServer, start_queries};
use crate::workload::{PostgresStream, load_shared};

/// File beside the data directory whose lock gives the turn.
const TURN_FILE: &str = "turn";

/// File systems in memory (`statfs(2)`): tmpfs and ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A note: what `cold` means.
const METHOD: &str = "cold: before every query PostgreSQL's files are dropped from the page cache and its server is \
    started; it is stopped after the query. The session's first reading of the catalogue belongs to planning; caches \
    of disk and hypervisor are not emptied";

/// A note: why the report lists no process of the server.
const PLACES: &str = "the server's processes live for one query: the worker reads their logical CPUs back when it \
    is over";

/// The server and the session's connection, during a query.
type SharedStream = Arc<Mutex<Option<StreamSession<PostgresStream>>>>;

/// A treatment whose queries find nothing in a cache.
pub struct Cold {
    request: StartRequest,
    suffix: String,
    programs: Programs,
    home: Home,
    notes: Vec<Note>,
    stream: SharedStream,
    live: Mutex<Option<Live>>,
}

/// A server for one query.
struct Live {
    // Dropped before the turn: the server has ended when other workers may start theirs.
    at_work: Started<Queries<Server>, OnServer>,
    placed: Vec<Placed>,
    _turn: File,
}

/// A treatment's session. It has a connection only during its queries.
struct ColdSession(SharedStream);

/// Refuses a data folder whose files are always in memory.
///
/// # Errors
/// The folder is in memory.
pub fn expect_storage(data_dir: &Path) -> Result<(), EngineError> {
    let kind = statfs(data_dir).ok().and_then(|found| u64::try_from(found.f_type).ok());
    match kind.is_some_and(|kind| IN_MEMORY.contains(&(kind & 0xffff_ffff))) {
        false => Ok(()),
        true => {
            let folder = data_dir.display();
            let why = format!(
                "'cold' is not possible in {folder}, whose file system is in memory (tmpfs): give a data folder on a \
                 disk, or use cache=warm"
            );
            Err(refuse("cache", why))
        }
    }
}

/// Makes or finds the data, on a server that runs only meanwhile.
///
/// # Errors
/// An error of the server, or the file system's.
pub fn load(home: &Home, programs: &Programs, request: &LoadRequest) -> Result<Loaded, EngineError> {
    let _turn = turn(home)?;
    repair(home, programs)?;
    home.begin()?;
    let cluster = Cluster::start(programs, home)?;
    let loaded = load_shared(cluster.server(), request, true)?;
    cluster.stop(Ending::Keep)?;
    home.end()?;
    Ok(loaded)
}

/// Waits until no other worker has a server on this data; a worker that ends gives up its turn.
fn turn(home: &Home) -> Result<File, EngineError> {
    let path = home.file(TURN_FILE);
    let open = || -> io::Result<File> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                done => return Ok(done.map(|()| file)?),
            }
        }
    };
    open().map_err(|cause| failed(format!("lock {}", path.display()), cause))
}

/// Lets a server recover what a killed one left, so that no query includes a recovery.
fn repair(home: &Home, programs: &Programs) -> Result<(), EngineError> {
    if home.is_clean() {
        return Ok(());
    }
    home.clear()?;
    Cluster::start(programs, home)?.stop(Ending::Keep)?;
    home.end()
}

/// Writes dirty data, and drops all files below a folder from the page cache.
fn evict(folder: &Path) -> Result<(), EngineError> {
    servers::sync(folder);
    evict_files(folder).map_err(|(path, cause)| {
        failed(format!("drop {path} from the page cache"), format!("{cause}; use cache=warm"))
    })
}

fn evict_files(folder: &Path) -> Result<(), (String, io::Error)> {
    let at = |path: &Path| {
        let name = path.display().to_string();
        move |cause: io::Error| (name, cause)
    };
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(at(&path))?;
        if kind.is_dir() {
            evict_files(&path)?;
        } else if kind.is_file() {
            let drop_pages = || Ok(fadvise(File::open(&path)?, 0, None, Advice::DontNeed)?);
            drop_pages().map_err(at(&path))?;
        }
    }
    Ok(())
}

impl Cold {
    /// Tries the treatment on a server that is then stopped: settings, query texts and placement.
    ///
    /// # Errors
    /// An error of the server; data that was not loaded; several sessions.
    pub fn start(
        request: &StartRequest,
        suffix: String,
        programs: Programs,
        home: Home,
    ) -> Result<Self, EngineError> {
        if request.sessions.len() != 1 {
            let why =
                "'cold' is for one stream (test=power): a restart would stop the queries of other streams";
            return Err(refuse("cache", why));
        }
        if !home.data().exists() {
            return Err(failed("find the loaded data", "there is none; load it before start"));
        }
        let (request, notes) = (request.clone(), Vec::new());
        let (stream, live) = (SharedStream::default(), Mutex::default());
        let mut cold = Self { request, suffix, programs, home, notes, stream, live };
        cold.begin()?;
        if let Some(Live { at_work, .. }) = &*lock(&cold.live) {
            cold.notes = [METHOD, PLACES].into_iter().map(Note::from).collect();
            cold.notes.extend(at_work.standing()?.notes);
        }
        cold.end()?;
        Ok(cold)
    }

    /// Starts a server and opens the session on it.
    fn begin(&self) -> Result<(), EngineError> {
        let turn = turn(&self.home)?;
        repair(&self.home, &self.programs)?;
        evict(&self.home.data())?;
        self.home.begin()?;
        let process = Cluster::start(&self.programs, &self.home)?;
        let server = process.server().clone();
        let ours = TreatmentServer { process, discard: false };
        let at_work = start_queries(&server, &self.request, &self.suffix, Some(ours), true)?;
        let (load, seed) = (self.request.load.clone(), self.request.seed);
        let cpus = self.request.sessions[0].clone();
        let request = SessionRequest { load, session: 0, sessions: 1, cpus, seed };
        let stream = at_work.sessions.open_stream(&request)?;
        at_work.place(&request)?;
        *lock(&self.stream) = Some(stream);
        let placed = at_work.standing()?.placed;
        *lock(&self.live) = Some(Live { at_work, placed, _turn: turn });
        Ok(())
    }

    /// Closes the session and stops the server in order.
    fn end(&self) -> Result<(), EngineError> {
        lock(&self.stream).take();
        match lock(&self.live).take() {
            Some(Live { at_work, _turn, .. }) => at_work.finish(),
            None => Ok(()),
        }
    }
}

impl Running for Cold {
    fn open(&self, _: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(ColdSession(Arc::clone(&self.stream))))
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        Ok(Standing { placed: Vec::new(), notes: self.notes.clone() })
    }

    fn before(&self) -> Result<(), EngineError> {
        self.begin()?;
        lock(&self.live).as_ref().map_or(Ok(()), |live| live.at_work.before())
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        lock(&self.live).as_ref().map_or(Ok(()), |live| live.at_work.during(window))
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let counters = match &*lock(&self.live) {
            Some(live) => {
                let counters = live.at_work.after(sessions)?;
                expect_in_place(&live.placed)?;
                counters
            }
            None => Counters::new(),
        };
        self.end()?;
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.end()
    }
}

impl Session for ColdSession {
    /// Nothing to do: nothing may be in a cache.
    fn warm(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn slice(&mut self, _: &Window) -> Result<SessionSlice, EngineError> {
        Err(failed("work for a window", "a session of tpch only executes queries"))
    }

    fn queries(&mut self, window: &Window, queries: &[u8]) -> Result<SessionSlice, EngineError> {
        match &mut *lock(&self.0) {
            Some(stream) => stream.queries(window, queries),
            None => Err(failed("execute queries", "no server was started for them")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    /// Whether a file's first block is in the page cache; `None` where the file system cannot say
    /// (`preadv2(2)`, RWF_NOWAIT).
    fn is_cached(path: &Path) -> Option<bool> {
        let file = File::open(path).unwrap();
        let mut block = [0; 4096];
        let into = &mut [io::IoSliceMut::new(&mut block)];
        match preadv2(&file, into, 0, ReadWriteFlags::NOWAIT) {
            Ok(_) => Some(true),
            Err(Errno::AGAIN) => Some(false),
            Err(_) => None,
        }
    }

    #[test]
    fn files_below_a_folder_go_out_of_the_cache_also_when_they_were_just_written() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let inside = folder.path().join("base/5");
        fs::create_dir_all(&inside).unwrap();
        let file = inside.join("1");
        fs::write(&file, vec![7; 1 << 20]).unwrap();
        let before = is_cached(&file);
        evict(folder.path()).unwrap();
        if expect_storage(folder.path()).is_ok() && before == Some(true) {
            // The kernel keeps a page that another logical CPU has just put on its list, or that is being written
            // (mm/fadvise.c, mm/truncate.c): under load the first call may leave some.
            let goes = (0..50).any(|_| {
                evict(folder.path()).unwrap();
                is_cached(&file) == Some(false)
            });
            assert!(goes, "the file stays in the page cache");
        }
        let message = evict(&folder.path().join("gone")).unwrap_err().to_string();
        assert!(message.contains("gone") && message.contains("cache=warm"), "{message}");
    }

    #[test]
    fn a_folder_in_memory_is_refused() {
        let shm = Path::new("/dev/shm");
        if fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            let message = expect_storage(shm).unwrap_err().to_string();
            assert!(message.contains("option 'cache'") && message.contains("tmpfs"), "{message}");
        }
        assert_eq!(expect_storage(Path::new("/proc")), Ok(()));
    }

    #[test]
    fn turns_are_taken_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let home = crate::cluster::home(folder.path(), "study", "");
        fs::create_dir(home.file("")).unwrap();
        let first = turn(&home).unwrap();
        let other = File::open(home.file(TURN_FILE)).unwrap();
        assert_eq!(flock(&other, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
        drop(first);
        drop(turn(&home).unwrap());
    }
}
