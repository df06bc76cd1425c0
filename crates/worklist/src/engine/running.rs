//! A treatment: a private server if the recipe needs one, the plan of the run, and the work around each run that its
//! time does not include.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use threadwise_engine::engines::command;
use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, StartRequest, Window};
use threadwise_study::command::{COMMAND, CommandOptions, METRIC_PREFIX};
use threadwise_study::worklist::{self, WorklistOptions};
use threadwise_study::{Counters, Note, OptionValue, Options, SessionSlice};

use super::asked::Asked;
use super::run;
use crate::check;
use crate::cold::{self, CachedPages};
use crate::error::{failed, refuse};
use crate::list::Listed;
use crate::plan::{self, Feed, Item, Plan};
use crate::programs::Way;
use crate::recipe::{self, Kind};
use crate::servers::{Server, ServerParameters};

/// Counter of a run: cached pages among those checked before it, in thousandths.
const CACHED: &str = "cached_at_start_permille";
/// How often a pause checks whether it must end.
const STEP: Duration = Duration::from_millis(50);

/// Start of one run.
#[derive(Debug, Default)]
struct Begun {
    start_ns: u64,
    kept: Option<usize>,
    server_ns: Option<u64>,
    seen: Option<CachedPages>,
}

/// See the module.
pub(super) struct RunningWorklist {
    // Dropped before the command, whose end kills every descendant of this process.
    server: Mutex<Option<Server>>,
    inner: Box<dyn Running>,
    asked: Asked,
    items: Vec<Item>,
    plan: Plan,
    /// Folder of this treatment's runs.
    folder: PathBuf,
    seed: u64,
    runs: AtomicU64,
    begun: Mutex<Begun>,
    notes: Vec<String>,
    interrupted: Arc<AtomicBool>,
}

impl RunningWorklist {
    /// Starts the server, if there is one, and prepares a run.
    ///
    /// # Errors
    /// An error of the server, or a folder or file of the run cannot be made.
    pub fn start(
        asked: Asked,
        home: PathBuf,
        listed: Listed,
        request: &StartRequest,
    ) -> Result<Self, EngineError> {
        let folder = request.load.data_dir.join(format!("worklist-run-{}", std::process::id()));
        for made in [&folder, &folder.join("locks"), &folder.join("tmp")] {
            let made = DirBuilder::new().mode(0o700).create(made).map_err(|error| (made, error));
            made.map_err(|(path, error)| failed(format!("make the folder {}", path.display()), error))?;
        }
        let server = start_server(&asked, &home, &listed)?;
        let way = match &server {
            Some(server) => server.way().clone(),
            None => way(asked.recipe.items, &folder)?,
        };
        let (steps, result) = asked.steps(server.as_ref().and_then(Server::defaults))?;
        let plan = Plan {
            order: run::order(&listed.items, asked.options.order, request.seed),
            items: listed.items.clone(),
            feed: match asked.options.feed {
                worklist::Feed::Queue => Feed::Queue,
                worklist::Feed::Split => Feed::Split,
            },
            jobs: request.sessions.len().max(1) as u32,
            steps,
            result,
            keep: None,
            work: folder.join("work"),
            folder: asked.options.run.folder.clone(),
            environment: way.environment.clone(),
            spans: folder.join("spans"),
        };
        let mut running = Self {
            inner: command::start(
                command_of(&asked.options, &request.load.options, &folder, &way)?,
                request,
            )?,
            server: Mutex::new(server),
            items: listed.items,
            plan,
            folder,
            seed: request.seed,
            runs: AtomicU64::new(0),
            begun: Mutex::default(),
            notes: Vec::new(),
            interrupted: command::interrupted()?,
            asked,
        };
        running.notes = running.run_notes()?;
        Ok(running)
    }

    /// Notes for the report; tries whether the items can be made cold.
    fn run_notes(&self) -> Result<Vec<String>, EngineError> {
        let mut notes = Vec::new();
        match (self.asked.options.cold, self.files()?) {
            (true, Some(files)) => notes.push(evict(&files)?.note()),
            (true, None) => {
                notes.push("cold: the items are not files, so nothing is dropped from the page cache".into())
            }
            (false, _) => {}
        }
        if self.server().is_some() {
            notes.push(
                "one private server, started again for each run under the treatment's placement; its CPU time, in \
                 steps of 10 ms, counts as the run's, its memory does not"
                    .to_owned(),
            );
        }
        Ok(notes)
    }

    fn server(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of the items; `None` if items are not files.
    fn files(&self) -> Result<Option<Vec<PathBuf>>, EngineError> {
        if let Some(server) = &*self.server() {
            let data = server.data();
            let files = cold::files_below(&data);
            return files.map(Some).map_err(|error| failed(format!("look into {}", data.display()), error));
        }
        let is_file = |item: &&Item| item.text.starts_with('/') && Path::new(&item.text).is_file();
        let files: Vec<PathBuf> =
            self.items.iter().filter(is_file).map(|item| PathBuf::from(&item.text)).collect();
        Ok((!files.is_empty()).then_some(files))
    }

    /// Removes what an earlier run left.
    fn clear(&self) -> Result<(), EngineError> {
        if let Some(server) = &*self.server() {
            server.drop_restored()?;
        }
        let removed = |result: std::io::Result<()>| match result {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed("remove what the last run left", error))
            }
            _ => Ok(()),
        };
        removed(fs::remove_dir_all(&self.plan.work))?;
        removed(fs::remove_file(&self.plan.spans))
    }

    fn write_plan(&self, kept: Option<usize>) -> Result<(), EngineError> {
        let path = self.folder.join("plan.json");
        plan::write(&path, &Plan { keep: kept, ..self.plan.clone() })
            .map_err(|error| failed(format!("write {}", path.display()), error))
    }

    /// Waits, unless the study is stopped.
    fn settle(&self) {
        let until = Instant::now() + Duration::from_secs(self.asked.options.settle_s);
        while Instant::now() < until && !self.interrupted.load(Ordering::Relaxed) {
            std::thread::sleep(STEP.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Compares the kept item with its result; `false` if there is nothing to compare.
    fn check(&self, kept: Option<usize>) -> Result<bool, EngineError> {
        let Some((index, item)) = kept.and_then(|index| Some((index, self.items.get(index)?))) else {
            return Ok(false);
        };
        let folder = self.plan.work.join(format!("item-{index}"));
        let folder = folder.to_string_lossy();
        let place = index.to_string();
        let values = [
            ("work", &*folder),
            ("name", item.name.as_str()),
            ("item", item.text.as_str()),
            ("index", place.as_str()),
        ];
        let wrong = |why: String| EngineError::WrongAnswer(format!("{}: {why}", item.label()));
        if let Some(words) = self.asked.options.check() {
            check::by_command(words, &values, self.asked.options.run.folder.as_deref()).map_err(wrong)?;
            return Ok(true);
        }
        let result = self.plan.result.as_ref().map(|text| recipe::filled_text(text, &values)).transpose();
        let result = result.map_err(|why| refuse("recipe", why))?.map(PathBuf::from);
        let (server, bin) = (self.server(), self.asked.bin.as_deref());
        check::compare(self.asked.recipe.items, (index, item), result.as_deref(), server.as_ref(), bin)
            .map_err(wrong)
    }

    /// The items of a run, once its command has ended.
    fn judge(
        &self,
        measured: Result<Counters, EngineError>,
        slices: &mut [SessionSlice],
    ) -> Result<Counters, EngineError> {
        let begun = std::mem::take(&mut *self.begun());
        let path = &self.plan.spans;
        let spans = plan::spans(path).map_err(|error| failed(format!("read {}", path.display()), error))?;
        let fault = run::fault(&self.items, &spans);
        let mut counters = match (measured, fault) {
            // The command ends so if items failed; the failed items tell more.
            (Err(error), Some(fault)) if error.kind() == "exit-code" && !spans.is_empty() => {
                return Err(fault);
            }
            (Err(error), _) | (Ok(_), Some(error)) => return Err(error),
            (Ok(counters), None) => counters,
        };
        counters.extend(begun.seen.and_then(|seen| Some((CACHED.to_owned(), seen.cached_permille()?))));
        let used_ns = self.server().as_ref().and_then(Server::used_ns).zip(begun.server_ns);
        let checked = self.check(begun.kept)?;
        if let Some(first) = slices.first_mut() {
            first.items = run::item_spans(&self.items, &spans, begun.start_ns);
            first.cpu_ns += used_ns.map_or(0, |(after, before)| after.saturating_sub(before));
            first.answers_checked += u64::from(checked);
        }
        Ok(counters)
    }
}

impl Running for RunningWorklist {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        self.inner.open(request)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut standing = self.inner.standing()?;
        standing.notes.extend(self.notes.iter().map(|note| Note::from(note.as_str())));
        Ok(standing)
    }

    fn before(&self) -> Result<(), EngineError> {
        self.clear()?;
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let compared = self.asked.recipe.items != Kind::Text || self.asked.options.check().is_some();
        let kept = compared.then(|| run::kept(self.items.len(), self.seed, number));
        self.write_plan(kept)?;
        rustix::fs::sync();
        let files = if self.asked.options.cold { self.files()? } else { None };
        let seen = files.map(|files| evict(&files)).transpose()?;
        *self.begun() = Begun { kept, seen, ..Begun::default() };
        self.settle();
        self.inner.before()
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let server_ns = self.server().as_ref().and_then(Server::used_ns);
        {
            let mut begun = self.begun();
            begun.start_ns = window.start_ns;
            begun.server_ns = server_ns;
        }
        self.inner.during(window)
    }

    fn after(&self, slices: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let measured = self.inner.after(slices);
        let judged = self.judge(measured, slices);
        // The run's own failure comes first.
        let cleared = self.clear();
        judged.and_then(|counters| cleared.map(|()| counters))
    }

    fn finish(&self) -> Result<(), EngineError> {
        // First: the command's end kills every descendant of this process.
        let server = self.server().take();
        let stopped = server.map_or(Ok(()), Server::stop);
        let ended = self.inner.finish();
        let removed = fs::remove_dir_all(&self.folder);
        stopped
            .and(ended)
            .and(removed.map_err(|error| failed(format!("remove {}", self.folder.display()), error)))
    }
}

impl Drop for RunningWorklist {
    fn drop(&mut self) {
        // After an error, which is the one to report: the next treatment uses the server's data.
        if let Some(server) = self.server().take() {
            let _ = server.stop();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn start_server(asked: &Asked, home: &Path, listed: &Listed) -> Result<Option<Server>, EngineError> {
    if !matches!(asked.recipe.items, Kind::Postgres | Kind::Mariadb) {
        return Ok(None);
    }
    let parameters = ServerParameters {
        home,
        kind: asked.recipe.items,
        bin: asked.bin.clone(),
        programs: asked.programs.clone(),
        total_bytes: listed.total_bytes(),
    };
    Server::start(&parameters).map(Some)
}

/// The environment of programs without a server. Firebird's work embedded, all with one lock folder, like those of one
/// installation.
fn way(kind: Kind, folder: &Path) -> Result<Way, EngineError> {
    if kind != Kind::Firebird {
        return Ok(Way::default());
    }
    let text = folder.to_str().filter(|text| !text.contains(':')).ok_or_else(|| {
        let why = "its path has a colon or is not UTF-8, which Firebird's programs misread: give another";
        failed(format!("use the data folder {}", folder.display()), why)
    })?;
    let set = [
        ("FIREBIRD_LOCK", format!("{text}/locks")),
        ("FIREBIRD_TMP", format!("{text}/tmp")),
        // In the plain C locale the engine refuses a path with a non-ASCII letter.
        ("LC_ALL", "C.UTF-8".to_owned()),
    ];
    let environment: BTreeMap<String, String> =
        set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Way { environment, without: &["ISC_"] })
}

/// The command of a run: this program with the plan, without the variables that would lead its tools elsewhere.
fn command_of(
    asked: &WorklistOptions,
    options: &Options,
    folder: &Path,
    way: &Way,
) -> Result<CommandOptions, EngineError> {
    let program = std::env::current_exe().map_err(|error| failed("find its own program", error))?;
    let mut words: Vec<String> =
        way.taken_out().into_iter().flat_map(|name| ["-u".to_owned(), name]).collect();
    if !words.is_empty() {
        words.insert(0, "env".to_owned());
    }
    for path in [program, folder.join("plan.json")] {
        let text = path.to_str().ok_or_else(|| {
            failed("write its command", format!("the path {} is not UTF-8", path.display()))
        })?;
        words.push(text.to_owned());
    }
    words.insert(words.len() - 1, "worklist-run".to_owned());
    let metrics = options.iter().filter(|(name, _)| name.starts_with(METRIC_PREFIX));
    let mut given: Options = metrics.map(|(name, value)| (name.clone(), value.clone())).collect();
    // Read with the default command, since these paths must not be split into words.
    given.insert(COMMAND.to_owned(), OptionValue::Text("true".to_owned()));
    let mut read = CommandOptions::read(&given).map_err(|fault| refuse(&fault.option, fault.why))?;
    read.commands.insert(COMMAND, words.iter().map(|word| recipe::escaped(word)).collect());
    read.timeout_s = asked.run.timeout_s;
    Ok(read)
}

fn evict(files: &[PathBuf]) -> Result<CachedPages, EngineError> {
    cold::evict(files).map_err(|error| failed("drop the items from the page cache", error))
}
