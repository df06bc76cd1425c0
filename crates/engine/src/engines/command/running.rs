//! The running command of a treatment: the commands around its run, the watch over its processes, and the
//! run's results.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use threadwise_machine::CpuSet;
use threadwise_study::command::{BLOCK, COMMAND, CommandOptions, Each, SERVER_CPU_NS, Values, fill, words};
use threadwise_study::{Counters, Note, OptionValue, SessionSlice};

use super::error::failed;
use super::group::Group;
use super::output;
use super::pin_server::Pinned;
use super::progress::{Progress, Verdict};
use super::session::{CommandSession, Job};
use super::spawn::Used;
use super::tree;
use crate::{EngineError, Running, Session, SessionRequest, Standing, StartRequest, Window, clock};

/// Times after the start at which the processes are polled; then every [`LOOK`].
const FIRST_LOOKS: [Duration; 3] =
    [Duration::from_millis(2), Duration::from_millis(10), Duration::from_millis(40)];
/// Pause between polls.
const LOOK: Duration = Duration::from_millis(100);
/// A poll is followed by a pause of at least this multiple of its length: polls take at most 2% of a CPU.
const LOOK_SHARE: u32 = 50;
/// The same for polls of the user's server, which may have thousands of threads: 1% more.
const SERVER_LOOK_SHARE: u64 = 100;
/// How long processes may outlive the last one that the engine started.
const GRACE: Duration = Duration::from_millis(500);
/// How long killed processes may take to end.
pub(super) const KILL: Duration = Duration::from_secs(10);
/// How long the processes left at the end may take to end after they were asked to.
const ASK: Duration = Duration::from_secs(5);
/// Time limit of `teardown` after the engine was asked to stop.
const HURRIED: Duration = Duration::from_secs(60);

/// Sets a flag on SIGTERM, by which the runner asks for an early end.
///
/// # Errors
/// The signal cannot be caught.
pub fn interrupted() -> Result<Arc<AtomicBool>, EngineError> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(Arc::default);
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(flag))
        .map_err(|error| failed("catch SIGTERM", &error.to_string()))?;
    Ok(Arc::clone(flag))
}

/// See the module.
#[derive(Debug)]
pub(super) struct RunningCommand {
    pub(super) options: CommandOptions,
    /// The engine's folder; all files below it are its own.
    pub(super) home: PathBuf,
    /// All logical CPUs of the treatment.
    pub(super) cpus: CpuSet,
    sessions: u32,
    /// Values of the placeholders, without those of sessions.
    pub(super) values: Values,
    pub(super) progress: Arc<Progress>,
    pub(super) group: Option<Group>,
    /// CPU time of the control group at the start of the run.
    pub(super) group_before_ns: Mutex<u64>,
    /// Start of the run's window.
    pub(super) began_ns: Mutex<u64>,
    /// The user's server that is bound for the runs.
    pinned: Option<Pinned>,
    interrupted: Arc<AtomicBool>,
    over: AtomicBool,
}

impl RunningCommand {
    /// Makes the folders, runs `setup`, binds the user's server, and runs `warmup`.
    pub fn start(options: CommandOptions, request: &StartRequest) -> Result<Self, EngineError> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| failed("become the reaper of its processes", &error.to_string()))?;
        let home = request.load.data_dir.join(format!("run-{}", std::process::id()));
        let cpus = request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
        let block = match request.load.options.get(BLOCK) {
            Some(OptionValue::Integer(block)) => u32::try_from(*block).unwrap_or(0),
            _ => 0,
        };
        let sessions = request.sessions.len() as u32;
        let values = Values {
            sessions,
            session: None,
            cpus: cpus.to_string(),
            out: home.join("out").display().to_string(),
            // Tools read a seed as a signed number of 32 bits.
            seed: request.seed & 0x7fff_ffff,
            treatment: words::plain_name(&request.load.treatment),
            block,
        };
        let mut running = Self {
            options,
            home,
            cpus,
            sessions,
            values,
            progress: Arc::default(),
            group: Group::make(),
            group_before_ns: Mutex::new(0),
            began_ns: Mutex::new(0),
            pinned: None,
            interrupted: interrupted()?,
            over: AtomicBool::new(false),
        };
        running.make_folders()?;
        // From here on an error drops this value, which runs `teardown`.
        running.must("setup")?;
        running.pinned = Pinned::of(&running.options, request, &running.cpus)?;
        running.bind_server()?;
        running.must("warmup")?;
        Ok(running)
    }

    fn bind_server(&self) -> Result<(), EngineError> {
        self.pinned.as_ref().map_or(Ok(()), Pinned::bind)
    }

    fn make_folders(&self) -> Result<(), EngineError> {
        let make =
            |folder: PathBuf| {
                DirBuilder::new().mode(0o700).recursive(true).create(&folder).map_err(|error| {
                    failed(&format!("make the folder {}", folder.display()), &error.to_string())
                })
            };
        make(self.home.join("logs"))?;
        make(self.home.join("out"))?;
        (0..self.processes()).try_for_each(|session| make(self.out(session)))
    }

    /// How many processes a run has; they belong to the first sessions.
    pub(super) fn processes(&self) -> u32 {
        match self.options.each {
            Each::Treatment => 1,
            Each::Session => self.sessions,
        }
    }

    /// Output folder of a process.
    pub(super) fn out(&self, session: u32) -> PathBuf {
        match self.options.each {
            Each::Treatment => self.home.join("out"),
            Each::Session => self.home.join(format!("out/session-{session}")),
        }
    }

    pub(super) fn log(&self, name: &str, end: &str) -> PathBuf {
        self.home.join(format!("logs/{name}.{end}"))
    }

    pub(super) fn logs(&self, session: u32) -> [PathBuf; 2] {
        ["out", "err"].map(|end| self.log(&format!("command-{session}"), end))
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.options.folder.clone().unwrap_or_else(|| self.home.join("out"))
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs(self.options.timeout_s)
    }

    /// Watches a run's processes until all have ended, and ends those that must not go on. A run ends with the
    /// last of its descendants.
    fn watch(&self, window: &Window) {
        let deadline_ns = window.end_ns.min(window.start_ns + self.timeout().as_nanos() as u64);
        clock::sleep_until_ns(window.start_ns);
        let mut looks = FIRST_LOOKS.into_iter();
        let mut pause = looks.next().unwrap_or(LOOK);
        let mut seen_ns = clock::monotonic_ns();
        let mut server_due_ns = 0;
        loop {
            let (unstarted, unended, spared, roots) = {
                let state = self.progress.wait(pause);
                (state.unstarted, state.unended, state.spared.clone(), state.roots.clone())
            };
            let unseen_ns = clock::monotonic_ns().saturating_sub(seen_ns);
            if unended == 0 {
                let mut state = self.progress.lock();
                state.unseen_ns = state.unseen_ns.max(unseen_ns);
                break;
            }
            if unstarted > 0 {
                // Which children belong to the run is not known yet.
                pause = Duration::from_millis(1);
                continue;
            }
            let began_ns = clock::monotonic_ns();
            self.progress.adopt(tree::reap_adopted(&spared, &roots));
            let look = tree::look(&spared, &self.cpus);
            {
                let mut state = self.progress.lock();
                state.peak_rss_bytes = state.peak_rss_bytes.max(look.rss_bytes);
                state.unseen_ns = state.unseen_ns.max(unseen_ns);
                seen_ns = clock::monotonic_ns();
            }
            let cost = Duration::from_nanos(clock::monotonic_ns().saturating_sub(began_ns));
            let too_long = clock::monotonic_ns() > deadline_ns;
            let astray = look.astray.or_else(|| self.look_at_server(&mut server_due_ns));
            let verdict = match astray {
                _ if self.is_interrupted() => Some(Verdict::Interrupted),
                _ if too_long => Some(Verdict::TimedOut),
                _ if self.has_written_too_much() => Some(Verdict::TooMuchOutput),
                Some(astray) => Some(Verdict::Astray(astray)),
                None => None,
            };
            if let Some(verdict) = verdict {
                self.progress.end(verdict, KILL);
            }
            pause = looks.next().unwrap_or(LOOK).max(cost * LOOK_SHARE);
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            pause = pause.min(Duration::from_nanos(left_ns) + Duration::from_millis(1));
        }
        self.leave_server();
        self.clear_up();
    }

    /// Polls the user's server if a poll is due. Polls of the command do not wait for it: one of a large server
    /// takes long, and memory is measured by frequent polls.
    fn look_at_server(&self, due_ns: &mut u64) -> Option<String> {
        let pinned = self.pinned.as_ref()?;
        let began_ns = clock::monotonic_ns();
        if began_ns < *due_ns {
            return None;
        }
        let astray = pinned.look();
        let now_ns = clock::monotonic_ns();
        *due_ns = now_ns.saturating_add(now_ns.saturating_sub(began_ns) * SERVER_LOOK_SHARE);
        astray
    }

    /// After the command: what the server used, and whether it was still in its place.
    fn leave_server(&self) {
        let Some(pinned) = &self.pinned else { return };
        pinned.end();
        if let Some(astray) = pinned.look() {
            self.progress.lock().verdict.get_or_insert(Verdict::Astray(astray));
        }
    }

    fn has_written_too_much(&self) -> bool {
        (0..self.processes()).any(|session| {
            let [stdout, stderr] = self.logs(session);
            output::size([&stdout, &stderr]) > self.options.output_limit_bytes
        })
    }

    /// After the last process: waits a moment for its descendants, and ends those that stay.
    fn clear_up(&self) {
        let spared = self.progress.lock().spared.clone();
        let until_ns = clock::monotonic_ns() + GRACE.as_nanos() as u64;
        let mut looks = 0;
        let left = loop {
            self.progress.adopt(tree::reap_adopted(&spared, &[]));
            let left = tree::below_us(&spared);
            if left.is_empty() || clock::monotonic_ns() > until_ns {
                break left;
            }
            looks += 1;
            std::thread::sleep(Duration::from_millis(2));
        };
        if looks > 0 {
            self.progress.lock().outlived_ns = Some(clock::monotonic_ns());
        }
        if !left.is_empty() {
            self.progress.end(Verdict::LeftBehind(tree::names(&left)), KILL);
        }
        // Output of the last moment counts too.
        if self.has_written_too_much() {
            self.progress.lock().verdict.get_or_insert(Verdict::TooMuchOutput);
        }
    }

    /// Runs `teardown` and ends the processes that are left; once.
    fn end(&self) -> Result<(), EngineError> {
        if self.over.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        // First: what follows is not measured, and may take long.
        let put_back = self.pinned.as_ref().map_or(Ok(()), Pinned::put_back);
        let limit = if self.is_interrupted() { self.timeout().min(HURRIED) } else { self.timeout() };
        let ended = self.side("teardown", limit, true);
        let nobody = BTreeSet::new();
        let all_gone = tree::end(&nobody, &[], Some(ASK), ASK + KILL, &mut Used::default());
        let removed = fs::remove_dir_all(&self.home);
        put_back?;
        match ended? {
            Some(how) => Err(failed("run teardown", &how)),
            None if !all_gone => {
                let left = tree::names(&tree::below_us(&nobody));
                Err(failed(
                    "end its processes",
                    &format!("these are still running: {left}; end them by hand"),
                ))
            }
            None => removed
                .map_err(|error| failed(&format!("remove {}", self.home.display()), &error.to_string())),
        }
    }
}

impl Running for RunningCommand {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let session = request.session;
        let progress = Arc::clone(&self.progress);
        if session >= self.processes() {
            return Ok(Box::new(CommandSession { job: None, progress }));
        }
        let cpus = match self.options.each {
            Each::Treatment => self.cpus.clone(),
            Each::Session => request.cpus.clone(),
        };
        let values = Values {
            session: (self.options.each == Each::Session).then_some(session),
            cpus: cpus.to_string(),
            out: self.out(session).display().to_string(),
            ..self.values.clone()
        };
        let [stdout, stderr] = self.logs(session);
        let job = Job {
            session,
            words: filled(COMMAND, self.options.words(COMMAND).unwrap_or_default(), &values)?,
            folder: self.options.folder.clone().unwrap_or_else(|| self.out(session)),
            home: self.home.clone(),
            stdout,
            stderr,
            cpus,
            group: self.group.as_ref().map(|group| Arc::clone(&group.procs)),
        };
        Ok(Box::new(CommandSession { job: Some(job), progress }))
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let counted = self.group.as_ref().and_then(Group::read);
        let memory =
            "memory is the most of all processes together, polled every 0.1 s, or of the largest process";
        let note = match counted {
            Some(group) if group.peak_bytes.is_some() => {
                format!(
                    "CPU time of the command is that of a control group of its own; {memory}; the counter \
                     cgroup_peak_bytes has the group's, page cache included"
                )
            }
            Some(_) => format!("CPU time of the command is that of a control group of its own; {memory}"),
            None => format!(
                "CPU time of the command is that of all processes that were waited for (no cgroup v2 can be made \
                 here); {memory}"
            ),
        };
        let placed = self.pinned.as_ref().map(Pinned::placed).unwrap_or_default();
        let notes =
            [note].into_iter().chain(self.pinned.as_ref().map(Pinned::note)).map(Note::from).collect();
        Ok(Standing { placed, notes })
    }

    fn before(&self) -> Result<(), EngineError> {
        self.must("before")?;
        tree::reap_adopted(&BTreeSet::new(), &[]);
        let spared = tree::below_us(&BTreeSet::new()).into_iter().collect();
        let counted = self.group.as_ref().and_then(Group::read).map_or(0, |counted| counted.cpu_ns);
        *self.group_before_ns.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        self.progress.begin(self.processes() as usize, spared);
        self.bind_server()?;
        self.pinned.iter().for_each(Pinned::begin);
        Ok(())
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        *self.began_ns.lock().unwrap_or_else(PoisonError::into_inner) = window.start_ns;
        self.watch(window);
        Ok(())
    }

    fn after(&self, slices: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let measured = self.judge().and_then(|()| {
            let mut counters = self.measure(slices)?;
            let server_ns = self.pinned.as_ref().and_then(Pinned::used_ns);
            counters.extend(server_ns.map(|used_ns| (SERVER_CPU_NS.to_owned(), used_ns)));
            self.check(slices).map(|()| counters)
        });
        let after = match self.is_interrupted() {
            true => Ok(()),
            false => self.must("after"),
        };
        // The run's own failure comes first.
        measured.and_then(|counters| after.map(|()| counters))
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.end()
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // After an error, which is the one to report.
        let _ = self.end();
    }
}

/// Arguments with their placeholders filled in, which were checked before.
pub(super) fn filled(name: &str, words: &[String], values: &Values) -> Result<Vec<String>, EngineError> {
    let filled: Result<Vec<String>, String> = words.iter().map(|word| fill(word, values)).collect();
    filled.map_err(|why| EngineError::Option { option: name.to_owned(), why })
}
