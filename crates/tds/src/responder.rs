//! The handle of a server: its address, its received requests, and its end.
//!
//! Source: \[MS-TDS\] 2.1 (transport). Killing it closes the sockets, as the kernel does for a killed process.

use crate::fault::Fault;
use crate::script::{Reply, Request, Script, Session};
use crate::session::{self, Options};
use crate::wire::Wire;
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

/// A request that was received.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The connection's number.
    pub connection: u64,
    /// The request.
    pub request: Request,
    /// Whether the session had to be reset before it.
    pub reset: bool,
}

/// A connection that this side ended, because the client sent bytes that the specification does not allow or this crate
/// does not support, or because the script's answer could not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The connection's number.
    pub connection: u64,
    /// The fault, as text.
    pub what: String,
}

/// A server on 127.0.0.1 that answers from a script. It ends when it is dropped.
pub struct Responder {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

/// The open connections of a server.
#[derive(Clone)]
pub struct Connected(Weak<Shared>);

impl Connected {
    /// Whether the connection of this number is open: its client may be gone while a request of it is answered.
    pub fn is_open(&self, connection: u64) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.state().open.contains_key(&connection))
    }
}

/// State shared by all of its connections.
struct Shared {
    options: Options,
    script: Box<Script>,
    state: Mutex<ResponderState>,
}

#[derive(Default)]
struct ResponderState {
    requests: Vec<Received>,
    failures: Vec<Failure>,
    open: BTreeMap<u64, TcpStream>,
    handlers: Vec<JoinHandle<()>>,
    connections: u64,
    stopped: bool,
}

impl Responder {
    /// Starts to listen on a free port of 127.0.0.1; each connection is answered on its own thread.
    ///
    /// # Errors
    ///
    /// The system has no free port.
    pub fn start(
        options: Options,
        script: impl Fn(&Session, &Request) -> Vec<Reply> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Mutex::new(ResponderState::default());
        let shared = Arc::new(Shared { options, script: Box::new(script), state });
        let listening = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || listen(&listener, &shared)
        });
        Ok(Self { address, shared, listening: Mutex::new(Some(listening)) })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests received and parsed so far, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.state().requests.clone()
    }

    /// All connections that this side ended, and why; not those that the client closed.
    pub fn errors(&self) -> Vec<Failure> {
        self.shared.state().failures.clone()
    }

    /// Number of open connections. One whose client is gone counts until that is noticed.
    pub fn connections_open(&self) -> usize {
        self.shared.state().open.len()
    }

    /// What a script can ask of its server.
    pub fn connected(&self) -> Connected {
        Connected(Arc::downgrade(&self.shared))
    }

    /// Number of all connections so far.
    pub fn connections(&self) -> u64 {
        self.shared.state().connections
    }

    /// Drops all connections at once and stops listening, as when a server is killed.
    pub fn kill(&self) {
        {
            let mut state = self.shared.state();
            state.stopped = true;
            for socket in state.open.values() {
                // A socket that the client has closed needs no shutdown.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listening) = listening {
            // The listener waits for a connection: this one wakes it up to see the end.
            drop(TcpStream::connect(self.address));
            let _ = listening.join();
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.kill();
        let handlers = std::mem::take(&mut self.shared.state().handlers);
        for handler in handlers {
            // The panic of a handler has been recorded.
            let _ = handler.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ResponderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, connection: u64, what: String) {
        self.state().failures.push(Failure { connection, what });
    }
}

/// One connection's view of the script.
struct Noting<'a> {
    shared: &'a Shared,
}

impl session::Script for Noting<'_> {
    fn replies(&self, session: &Session, request: &Request, reset: bool) -> Vec<Reply> {
        let connection = session.connection;
        self.shared.state().requests.push(Received { connection, request: request.clone(), reset });
        (self.shared.script)(session, request)
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        let mut state = shared.state();
        if state.stopped {
            return;
        }
        let Ok((socket, other)) = socket.and_then(|socket| Ok((socket.try_clone()?, socket))) else {
            continue;
        };
        state.connections += 1;
        let number = state.connections;
        state.open.insert(number, other);
        let shared = Arc::clone(shared);
        let handler = std::thread::spawn(move || {
            let closing = Closing { shared: &shared, number };
            handle(socket, &shared, number);
            drop(closing);
        });
        state.handlers.push(handler);
    }
}

/// Marks a connection as closed when dropped, also when the script panics.
struct Closing<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.fail(self.number, "the script panicked".to_owned());
        }
        if let Some(socket) = self.shared.state().open.remove(&self.number) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn handle(socket: TcpStream, shared: &Shared, number: u64) {
    // Packets are sent at once: Nagle's algorithm would add a wait to every answer.
    let _ = socket.set_nodelay(true);
    let mut wire = Wire::new(socket);
    match session::run(&mut wire, &shared.options, number, &Noting { shared }) {
        // The client went away, or a kill closed the connection, during an answer.
        Ok(()) | Err(Fault::Broken(_)) => {}
        Err(_) if shared.state().stopped => {}
        Err(fault) => shared.fail(number, fault.to_string()),
    }
}
