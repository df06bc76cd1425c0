//! A scripted server, a folder with the password, and what engines are asked with.

use crate::model::{LIMIT, Model, PASSWORD, Settings, State, USER};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread::ScopedJoinHandle;
use std::time::Instant;
use tempfile::TempDir;
use threadwise_engine::{
    Engine, EngineError, LoadRequest, Running, Session, SessionRequest, StartRequest, Window, clock,
};
use threadwise_engine_sqlserver::{Client, hear_messages};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, OptionValue, Options, SessionSlice};
use threadwise_tds::{Encryption, Received, Request, Responder};

/// Seconds of a window that ends only when the model says so.
pub const LONG_NS: u64 = 60_000_000_000;

/// A server and its user.
pub struct Bench {
    pub responder: Responder,
    pub model: Arc<Model>,
    pub folder: TempDir,
}

/// Options of one line: `a=1 b=word`.
pub fn options(text: &str) -> Options {
    let value = |value: &str| match (value.parse::<i64>(), value.parse::<f64>(), value.parse::<bool>()) {
        (Ok(whole), ..) => OptionValue::Integer(whole),
        (_, Ok(number), _) => OptionValue::Number(number),
        (.., Ok(flag)) => OptionValue::Flag(flag),
        _ => OptionValue::Text(value.to_owned()),
    };
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, text)| (name.to_owned(), value(text))).collect()
}

/// A text that has to be an error for a tired person: one line, without the password.
pub fn assert_clear(message: &str) {
    assert!(!message.contains('\n') && !message.contains('\r'), "{message}");
    assert!(!message.contains(PASSWORD), "the password: {message}");
    assert!(message.chars().count() < 500, "{}: {message}", message.chars().count());
}

impl Bench {
    /// A server that is like this, and encrypts logins.
    pub fn new(settings: Settings) -> Self {
        Self::encrypted(settings, Encryption::Allowed)
    }

    /// A server with or without TLS.
    pub fn encrypted(settings: Settings, encryption: Encryption) -> Self {
        hear_messages();
        let model = Arc::new(Model::new(settings));
        let options = threadwise_tds::Options { encryption, ..threadwise_tds::Options::default() };
        let script = {
            let model = Arc::clone(&model);
            move |session: &threadwise_tds::Session, request: &Request| model.answer(session, request)
        };
        let responder = Responder::start(options, script).unwrap();
        model.connected.get_or_init(|| responder.connected());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, format!("{PASSWORD}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        Self { responder, model, folder }
    }

    /// The address.
    pub fn url(&self) -> String {
        format!("sqlserver://{USER}@127.0.0.1:{}/shop", self.responder.address().port())
    }

    /// Engine options, and more of them.
    pub fn engine_options(&self, more: &str) -> Options {
        let mut all = options(more);
        all.entry("url".into()).or_insert_with(|| OptionValue::Text(self.url()));
        all.entry("tls".into()).or_insert_with(|| OptionValue::Text("off".into()));
        let file = self.folder.path().join("password").display().to_string();
        all.entry("password_file".into()).or_insert(OptionValue::Text(file));
        all
    }

    /// What is to be loaded for so many sessions.
    pub fn load(&self, workload: &str, workload_options: &str, sessions: u32) -> LoadRequest {
        LoadRequest {
            workload: workload.into(),
            options: options(workload_options),
            engine_options: self.engine_options(""),
            data_dir: self.folder.path().to_owned(),
            treatment: "same-core".into(),
            sessions,
            seed: 42,
        }
    }

    /// Keeps, loads and starts; gives what has to be ended, notes of the load, and the treatment at work.
    pub fn begin(
        &self,
        load: &LoadRequest,
    ) -> (Box<dyn threadwise_engine::Keeper>, Vec<String>, Box<dyn Running>) {
        Client.check(load).unwrap();
        let keeper = Client.keep(load, 0).unwrap().unwrap();
        let loaded = Client.load(load).unwrap();
        (keeper, loaded.notes, Client.start(&start(load)).unwrap())
    }

    /// What there is now.
    pub fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.model.state()
    }

    /// That the conversation was one that the server knows, that it is over, and that the password went nowhere but
    /// into logins.
    pub fn assert_over(&self) {
        let end = Instant::now() + LIMIT;
        while self.responder.connections_open() > 0 {
            assert!(Instant::now() < end, "{} connections are open", self.responder.connections_open());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(self.responder.errors(), []);
        assert_eq!(self.state().unknown, [""; 0]);
        for received in self.responder.requests() {
            self.assert_no_password(&received);
        }
    }

    fn assert_no_password(&self, received: &Received) {
        match &received.request {
            Request::Login(login) => {
                assert!(login.application.starts_with("threadwise"), "{}", login.application);
                for text in [&login.application, &login.user, &login.host, &login.server, &login.database] {
                    assert!(!text.contains(PASSWORD), "{text}");
                }
            }
            // Rows are numbers and what the generator gave.
            Request::Bulk(_) => {}
            other => assert!(!format!("{other:?}").contains(PASSWORD), "{other:?}"),
        }
    }

    /// That none of our objects is left, and nothing else is gone.
    pub fn assert_clean(&self) {
        let state = self.state();
        assert_eq!(state.schemas, ["dbo"]);
        assert_eq!(state.tables.keys().collect::<Vec<_>>(), ["[dbo].[customers]"]);
        assert_eq!((state.procedures.len(), state.others.len()), (0, 0));
        let dropped = state.log.iter().filter_map(|line| line.strip_prefix("DROP "));
        let made: Vec<&str> = state.log.iter().filter_map(|line| line.strip_prefix("CREATE ")).collect();
        for object in dropped {
            assert!(made.contains(&object), "{object} is not ours");
        }
    }

    /// The folder for what outlasts a killed study.
    pub fn state_folder(&self) -> std::path::PathBuf {
        self.path().join("state")
    }

    /// The folder with the password and the data.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What an engine is started with.
pub fn start(load: &LoadRequest) -> StartRequest {
    let cpus = CpuSet::parse_list("0").unwrap();
    StartRequest {
        load: load.clone(),
        sessions: vec![cpus.clone(); load.sessions as usize],
        service: cpus,
        seed: 7,
        journal: None,
    }
}

/// What a session is opened with.
pub fn session(load: &LoadRequest, session: u32) -> SessionRequest {
    let cpus = CpuSet::parse_list("0").unwrap();
    SessionRequest { load: load.clone(), session, sessions: load.sessions, cpus, seed: 7 }
}

/// A window from a moment in the future on.
pub fn window(sequence: u64, length_ns: u64) -> Window {
    let start_ns = clock::monotonic_ns() + 2_000_000;
    Window { sequence, start_ns, end_ns: start_ns + length_ns, piece_ns: None, arrivals: None }
}

/// What came of a slice.
pub struct Slices {
    /// Of each session.
    pub sessions: Vec<Result<SessionSlice, EngineError>>,
    /// Of none of them.
    pub counters: Counters,
    /// What the treatment said once its sessions were warm, as a worker asks.
    pub notes: Vec<String>,
    /// Whether what they wait for could be watched.
    pub watched: Result<(), EngineError>,
}

impl Slices {
    /// The slices, where nothing failed.
    pub fn done(&self) -> Vec<SessionSlice> {
        self.watched.clone().unwrap();
        self.sessions.iter().map(|slice| slice.clone().unwrap()).collect()
    }

    /// The error of the only session.
    pub fn error(&self) -> EngineError {
        let [slice] = &self.sessions[..] else { panic!("{} sessions", self.sessions.len()) };
        slice.clone().unwrap_err()
    }
}

/// Opens all sessions, warms them, and has them do a slice while the treatment is watched, as a worker does.
pub fn slice(bench: &Bench, running: &dyn Running, load: &LoadRequest, length_ns: u64) -> Slices {
    work(bench, running, load, length_ns, &|session, window| session.slice(window))
}

/// The same with queries.
pub fn queries(
    bench: &Bench,
    running: &dyn Running,
    load: &LoadRequest,
    queries: &[u8],
    length_ns: u64,
) -> Slices {
    work(bench, running, load, length_ns, &|session, window| session.queries(window, queries))
}

/// The same with sessions of short queries, which are those that execute no others, beside the streams.
pub fn queries_beside(bench: &Bench, running: &dyn Running, load: &LoadRequest, queries: &[u8]) -> Slices {
    let act = |session: &mut dyn Session, window: &Window| {
        session.queries(window, queries).or_else(|_| session.slice(window))
    };
    work(bench, running, load, LONG_NS, &act)
}

/// What a session does in a window.
type Act<'a> = &'a (dyn Fn(&mut dyn Session, &Window) -> Result<SessionSlice, EngineError> + Sync);

fn work(bench: &Bench, running: &dyn Running, load: &LoadRequest, length_ns: u64, act: Act<'_>) -> Slices {
    let ready = Barrier::new(load.sessions as usize + 1);
    let (chosen, go) = (std::sync::OnceLock::new(), Barrier::new(load.sessions as usize + 1));
    std::thread::scope(|scope| {
        let one = |number: u32| {
            let (ready, go, chosen) = (&ready, &go, &chosen);
            move || {
                let opened = running.open(&session(load, number));
                let opened = opened.and_then(|mut session| session.warm().map(|()| session));
                ready.wait();
                go.wait();
                act(opened?.as_mut(), chosen.get().unwrap())
            }
        };
        let sessions: Vec<ScopedJoinHandle<'_, _>> =
            (0..load.sessions).map(|number| scope.spawn(one(number))).collect();
        ready.wait();
        let notes = running.standing().unwrap().notes.into_iter().map(|note| note.text).collect();
        bench.state().is_warm = true;
        running.before().unwrap();
        let window = window(3, length_ns);
        chosen.set(window.clone()).unwrap();
        go.wait();
        let watched = running.during(&window);
        let mut slices: Vec<_> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
        let mut done: Vec<SessionSlice> =
            slices.iter().filter_map(|slice| slice.as_ref().ok().cloned()).collect();
        let counters = running.after(&mut done).unwrap();
        let mut given = done.into_iter();
        for slice in slices.iter_mut().flatten() {
            *slice = given.next().unwrap();
        }
        Slices { sessions: slices, counters, notes, watched }
    })
}
