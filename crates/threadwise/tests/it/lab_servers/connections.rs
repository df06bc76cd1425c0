//! A user's server with few connections: an application that connects all the time is never refused
//! because of a study, which is refused itself, before anything is made, or stops.

use crate::harness::{Lab, Said, said};
use crate::lab_servers::servers::{in_second_block, lab, wait_until};
use std::any::Any;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use threadwise_engine_mariadb::{PrivateOptions, PrivateServer};
use threadwise_engine_postgres::Server;
use threadwise_engine_postgres::cluster::{self, Cluster, Programs, prepare};
use threadwise_engine_postgres::connect::{Environment, Target};
use threadwise_engine_postgres::options::Managed;

/// Connections that the test's servers take.
const MOST: u32 = 40;

/// Blocks of reads with so many sessions in the treatments besides the baseline and its twin.
fn study(engine_url: &str, sessions: u32, blocks: u32) -> String {
    format!(
        "version = 1\nname = \"many\"\nengine = \"{}\"\nworkload = \"logical-io\"\n\n\
         [engine_options]\nurl = \"{engine_url}\"\n\n[options]\nblocks = 100\nwork_unit = 16\n\n\
         [design]\nrounds = 2\nslice_ms = 60\nrewarm_ms = 2\nblocks = {blocks}\n\n\
         [baseline]\nplacement = \"1c1t\"\nsessions = 1\n\n\
         [[treatment]]\nplacement = \"1c1t\"\nsessions = {sessions}\n",
        engine_url.split(':').next().unwrap()
    )
}

fn run_command(lab: &Lab, text: &str, more: &[&str]) -> Command {
    std::fs::write(lab.path().join("many.toml"), text).unwrap();
    let args =
        ["run", "many.toml", "--allow-busy", "--no-probe", "--no-html", "--seed", "5", "-o", "s.threadwise"];
    lab.command(&[&args[..], more].concat())
}

fn run(lab: &Lab, text: &str, more: &[&str]) -> Said {
    said(run_command(lab, text, more).output().unwrap())
}

/// A connection, until it is dropped.
type Held = Box<dyn Any + Send>;
type Connect = dyn Fn() -> Result<Held, String> + Send + Sync;

/// An application that connects, asks and goes, all the time.
struct Application {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(u32, Vec<String>)>,
}

impl Application {
    fn start(connect: &Arc<Connect>) -> Self {
        let (stop, connect) = (Arc::new(AtomicBool::new(false)), Arc::clone(connect));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut served, mut refusals) = (0, Vec::new());
            while !seen.load(Ordering::Relaxed) {
                match connect() {
                    Ok(_) => served += 1,
                    Err(error) => refusals.push(error),
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            (served, refusals)
        });
        Self { stop, thread }
    }

    fn was_always_served(self) {
        self.stop.store(true, Ordering::Relaxed);
        let (served, refusals) = self.thread.join().unwrap();
        assert_eq!(refusals, Vec::<String>::new(), "and it was let in {served} times");
        assert!(served > 0);
    }
}

/// A refusal names the numbers, and nothing was measured or left.
fn is_refused(lab: &Lab, said: &Said, parts: &[&str]) {
    assert_eq!(said.code, Some(3), "{}\n{}", said.stdout, said.stderr);
    for part in parts {
        assert!(said.stderr.contains(part), "no '{part}' in: {}", said.stderr);
    }
    assert_eq!(lab.leftovers(), Vec::<String>::new());
    assert!(!lab.path().join("s.threadwise").exists());
}

/// A PostgreSQL as a user has it, with an account for threadwise and one for the application.
struct Postgres {
    cluster: Cluster,
    url: String,
    app: Arc<Connect>,
}

impl Postgres {
    fn start(lab: &Lab) -> Self {
        let programs = Programs::find(None).unwrap();
        let home = cluster::home(lab.path(), "theirs", "");
        let settings = [("max_connections".to_owned(), MOST.to_string())].into();
        prepare(&home, &programs, &Managed { settings, ..Managed::default() }, 0, 1).unwrap();
        let cluster = Cluster::start(&programs, &home).unwrap();
        let url =
            |user: &str| format!("postgres://{user}@/postgres?host={}&port=5432", home.data().display());
        let mut admin = cluster.server().connect("admin").unwrap();
        let roles =
            "CREATE ROLE bench LOGIN; CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO bench";
        admin.batch_execute(roles).unwrap();
        let target = Target::resolve(Some(&url("app")), &Environment::default()).unwrap();
        let server = Server::reach(target, "public").unwrap();
        let app = move || -> Result<Held, String> {
            let client = server.connect("app").map_err(|error| error.to_string())?;
            Ok(Box::new(client))
        };
        Self { cluster, url: url("bench"), app: Arc::new(app) }
    }

    fn administer(&self, sql: &str) {
        self.cluster.server().connect("admin").unwrap().batch_execute(sql).unwrap();
    }

    fn schemas(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'threadwise%'";
        self.cluster.server().connect("admin").unwrap().query_one(sql, &[]).unwrap().get(0)
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_study_that_needs_too_many_connections_of_a_postgres_is_refused_and_the_application_is_not() {
    let lab = lab();
    let server = Postgres::start(&lab);
    let held: Vec<Held> = (0..5).map(|_| (server.app)().unwrap()).collect();
    let application = Application::start(&server.app);
    // All treatments of a block are there at once: 1 + 1 + 32 sessions.
    let many = study(&server.url, 32, 2);
    let parts =
        ["needs 42 connections", "34 of the sessions", "max_connections of the server is 40", "10 always"];
    for more in [&[][..], &["--plan"]] {
        is_refused(&lab, &run(&lab, &many, more), &parts);
        assert_eq!(server.schemas(), 0);
    }
    // What fits is planned with its numbers, runs, and leaves nothing.
    let few = study(&server.url, 2, 2);
    let plan = run(&lab, &few, &["--plan"]);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let line = plan.stdout.lines().find(|line| line.starts_with("Connections to your server: 12 needed"));
    assert!(line.is_some_and(|line| line.contains(" free, of which ")), "{}", plan.stdout);
    assert_eq!(server.schemas(), 0, "a plan makes nothing");
    let done = run(&lab, &few, &[]);
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    assert_eq!((server.schemas(), lab.leftovers()), (0, Vec::new()));
    application.was_always_served();
    drop(held);

    std::fs::remove_file(lab.path().join("s.threadwise")).unwrap();
    server.administer("ALTER ROLE bench CONNECTION LIMIT 21");
    let parts = ["and 11 may be taken", "the CONNECTION LIMIT of role 'bench' is 21: 0 in use, 10 always"];
    is_refused(&lab, &run(&lab, &few, &[]), &parts);
    server.administer("ALTER ROLE bench CONNECTION LIMIT -1; ALTER DATABASE postgres CONNECTION LIMIT 20");
    is_refused(&lab, &run(&lab, &few, &[]), &["the CONNECTION LIMIT of database 'postgres' is 20"]);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_study_stops_where_the_application_comes_to_need_its_connections() {
    let lab = lab();
    let server = Postgres::start(&lab);
    let application = Application::start(&server.app);
    let mut command = run_command(&lab, &study(&server.url, 2, 1000), &[]);
    let mut child: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("no second block", || in_second_block(&lab) || child.try_wait().unwrap().is_some());
    let held: Vec<Held> = (0..20).map(|_| (server.app)().unwrap()).collect();
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(3), "{}\n{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("max_connections of the server is 40"), "{}", said.stderr);
    assert!(said.stderr.contains("--resume"), "{}", said.stderr);
    assert_eq!((server.schemas(), lab.leftovers()), (0, Vec::new()));
    application.was_always_served();
    drop(held);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_study_that_is_stopped_while_it_loads_leaves_nothing_in_the_server() {
    let lab = lab();
    let server = Postgres::start(&lab);
    // They take a second to load.
    let large = study(&server.url, 1, 1000).replace("blocks = 100\n", "blocks = 8000\n");
    let mut child: Child = run_command(&lab, &large, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let sql = "SELECT count(*) FROM pg_class WHERE relname LIKE 'blocks%' AND relkind = 'r'";
    let tables =
        || -> i64 { server.cluster.server().connect("admin").unwrap().query_one(sql, &[]).unwrap().get(0) };
    wait_until("no load", || tables() > 0 || child.try_wait().unwrap().is_some());
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .unwrap();
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert_eq!((server.schemas(), lab.leftovers()), (0, Vec::new()));
}

#[test]
#[ignore = "laboratory: servers"]
fn a_mariadb_is_not_exhausted_either() {
    let lab = lab();
    let folder = lab.path().join("theirs");
    std::fs::create_dir(&folder).unwrap();
    let options = PrivateOptions { folder, bin: None, data_bytes: 0, sessions: 1 };
    PrivateServer::make(&options).unwrap();
    let server = PrivateServer::start(&options).unwrap();
    let socket = server.socket();
    let ask = move |user: &str, sql: &str| -> Result<String, String> {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-N", "-B", "-u", user, "-e", sql]).arg("-S").arg(&socket);
        let said = said(client.stdin(Stdio::null()).output().unwrap());
        if said.code == Some(0) { Ok(said.stdout) } else { Err(said.stderr) }
    };
    ask(
        "root",
        &format!(
            "SET GLOBAL max_connections = {MOST}; CREATE USER app@localhost; CREATE USER bench@localhost; \
             GRANT ALL ON *.* TO bench@localhost; REVOKE SUPER, CONNECTION ADMIN ON *.* FROM bench@localhost"
        ),
    )
    .unwrap();
    let databases = || ask("root", "SHOW DATABASES LIKE 'threadwise%'").unwrap();
    let url = format!("mariadb://bench@{}/", server.socket().display().to_string().replace('/', "%2F"));

    let (many, few) = (study(&url, 36, 2), study(&url, 2, 2));
    let connect = ask.clone();
    let app: Arc<Connect> = Arc::new(move || connect("app", "SELECT 1").map(|said| Box::new(said) as Held));
    let application = Application::start(&app);
    let parts =
        ["needs 46 connections", "38 of the sessions", "max_connections of the server is 40", "10 always"];
    for more in [&[][..], &["--plan"]] {
        is_refused(&lab, &run(&lab, &many, more), &parts);
        assert_eq!(databases(), "");
    }
    let plan = run(&lab, &few, &["--plan"]);
    assert!(plan.stdout.contains("Connections to your server: 12 needed"), "{}{}", plan.stdout, plan.stderr);
    let done = run(&lab, &few, &[]);
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    assert_eq!((databases(), lab.leftovers()), (String::new(), Vec::new()));
    application.was_always_served();

    std::fs::remove_file(lab.path().join("s.threadwise")).unwrap();
    ask("root", "ALTER USER bench@localhost WITH MAX_USER_CONNECTIONS 21").unwrap();
    let parts = ["and 11 may be taken", "max_user_connections of account 'bench' is 21: 0 in use, 10 always"];
    is_refused(&lab, &run(&lab, &few, &[]), &parts);
}
