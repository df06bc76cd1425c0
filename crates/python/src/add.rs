//! Making the environment.
//!
//! Everything that can be refused is refused before anything is written; then follow the lock,
//! the marked folder, the virtual environment, the packages, a check by importing, and last
//! the mark that it is complete. Leftovers are removed after an error; after a kill by the next call.

use crate::engine::engine;
use crate::environment::{Complete, Environment, EnvironmentState};
use crate::find::Packages;
use crate::lock::{Lock, Patience};
use crate::private::{private_folder, write_synced};
use crate::python::{self, reason};
use crate::requirements::Requirements;
use crate::run::{Cut, run};
use crate::{AnalyticsError, Engines};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time limit for another process that makes the same environment.
const PATIENCE: Duration = Duration::from_secs(600);
/// Time limit for an empty virtual environment, which takes seconds.
const VENV_LIMIT: Duration = Duration::from_secs(300);

/// How to make it.
#[derive(Debug, Clone, Copy)]
pub struct Add<'a> {
    /// The Python to use, as a path or a name on `path`; `None` for the first suitable one.
    pub python: Option<&'a OsStr>,
    /// A folder with the packages' files, for machines without internet.
    pub wheels: Option<&'a Path>,
    /// Make it again even if it exists.
    pub force: bool,
    /// The value of `PATH`.
    pub path: &'a OsStr,
}

/// Result of making it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// It existed already, and nothing was done.
    pub was_there: bool,
    /// Its folder.
    pub folder: PathBuf,
    /// Its Python and packages.
    pub complete: Complete,
}

impl Engines {
    /// Makes the environments that the engine `name` needs, its own first, or reports that they exist;
    /// [`Add::force`] makes only its own again. `progress` gets a line for each step; `stop` ends it, and leftovers are
    /// removed.
    ///
    /// # Errors
    /// The engine is unknown, this machine lacks a requirement, or the installation fails; the message has the next
    /// step.
    pub fn add(
        &self,
        name: &str,
        how: &Add<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<Added>, AnalyticsError> {
        let needs = engine(name)?.needs().enumerate();
        needs
            .map(|(at, requirements)| {
                self.add_one(requirements, &Add { force: how.force && at == 0, ..*how }, stop, progress)
            })
            .collect()
    }

    fn add_one(
        &self,
        requirements: &'static Requirements,
        how: &Add<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Added, AnalyticsError> {
        let environment = self.environment(requirements);
        let folder = environment.folder().to_owned();
        let is_there = |complete| Added { was_there: true, folder: folder.clone(), complete };
        if let (EnvironmentState::Ready(complete), false) = (self.state(requirements)?, how.force) {
            return Ok(is_there(complete));
        }
        let plan = self.plan(&environment, how, stop)?;
        let above = self.home().join("engines");
        private_folder(&above).map_err(AnalyticsError::io("make the folder", &above))?;
        enough_room(&above, requirements.needed_bytes)?;
        let patience = Patience { longest: PATIENCE, stop };
        let lock = Lock::take(&self.lock_path(requirements), &patience, &mut |process| {
            progress(&format!("waiting for process {process}, which installs or removes engines"));
        })?;
        // The process that had the lock may have made it.
        if let (EnvironmentState::Ready(complete), false) = (self.state(requirements)?, how.force) {
            return Ok(is_there(complete));
        }
        lock.share_with_children()?;
        environment.remove()?;
        let made = make(&environment, &plan, stop, progress);
        if made.is_err() {
            // The first error is the one to report; the next call tries again to remove it.
            let _ = environment.remove();
        }
        Ok(Added { was_there: false, complete: made?, folder })
    }

    /// Everything that can be checked before anything is written.
    fn plan(
        &self,
        environment: &Environment,
        how: &Add<'_>,
        stop: &AtomicBool,
    ) -> Result<Plan, AnalyticsError> {
        let folder = environment.folder();
        if environment.state()? == EnvironmentState::Foreign {
            return Err(AnalyticsError::Foreign { folder: folder.to_owned() });
        }
        // venv refuses it with a message that does not help.
        if folder.as_os_str().as_encoded_bytes().contains(&b':') {
            return Err(AnalyticsError::Input(format!(
                "{}: a virtual environment cannot be in a folder with ':' in its name: set XDG_DATA_HOME to another",
                folder.display()
            )));
        }
        let wheels = how.wheels.map(filled_folder).transpose()?;
        let (python, _) = python::find(how.python, how.path, stop)?;
        Ok(Plan { python, wheels })
    }
}

/// Result of the checks.
struct Plan {
    python: PathBuf,
    wheels: Option<PathBuf>,
}

/// The folder by its absolute path, which pip needs, with at least one wheel in it.
fn filled_folder(folder: &Path) -> Result<PathBuf, AnalyticsError> {
    let wrong = |why: &str| AnalyticsError::Input(format!("--wheels {}: {why}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|cause| wrong(&cause.to_string()))?;
    let is_wheel = |path: PathBuf| path.extension().is_some_and(|end| end == "whl");
    if !entries.flatten().any(|entry| is_wheel(entry.path())) {
        let how =
            "no file in it ends in .whl: threadwise engine add --print-requirements says how to fill it";
        return Err(wrong(how));
    }
    std::path::absolute(folder).map_err(|cause| wrong(&cause.to_string()))
}

fn enough_room(folder: &Path, needed_bytes: u64) -> Result<(), AnalyticsError> {
    let found = rustix::fs::statvfs(folder)
        .map_err(|cause| AnalyticsError::io("check the disk of", folder)(cause.into()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    match free >= needed_bytes {
        true => Ok(()),
        false => Err(AnalyticsError::Lacks(format!(
            "the disk of {} has {} MiB free, but {} MiB are needed: free some space, or set XDG_DATA_HOME to a folder \
             on another disk",
            folder.display(),
            free >> 20,
            needed_bytes >> 20
        ))),
    }
}

fn make(
    environment: &Environment,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> Result<Complete, AnalyticsError> {
    environment.begin()?;
    progress(&format!(
        "making an environment of {} in {}",
        plan.python.display(),
        environment.folder().display()
    ));
    virtual_environment(environment, &plan.python, stop)?;
    let requirements = environment.folder().join("requirements.txt");
    write_synced(&requirements, environment.requirements().text)?;
    crate::pip::install(environment, &requirements, plan.wheels.as_deref(), stop, progress)?;
    progress("checking that the engines start");
    let complete = check(environment, stop)?;
    environment.complete(&complete)?;
    Ok(complete)
}

fn virtual_environment(
    environment: &Environment,
    python: &Path,
    stop: &AtomicBool,
) -> Result<(), AnalyticsError> {
    let mut command = Command::new(python);
    command.args(["-I", "-m", "venv"]).arg(environment.venv()).env("TMPDIR", environment.temporary());
    let failed = |why: &str| {
        AnalyticsError::Install(format!(
            "{} cannot make a virtual environment ({why}): choose another one with --python",
            python.display()
        ))
    };
    match run(&mut command, Some(VENV_LIMIT), stop, &mut |_| {}) {
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) if ended.all.iter().any(|line| line.contains("No space left on device")) => {
            Err(AnalyticsError::Install("the disk is full: free some space, then try again".to_owned()))
        }
        Ok(ended) => Err(failed(&reason(&ended))),
        Err(Cut::Stopped) => Err(AnalyticsError::Stopped),
        Err(cut) => Err(failed(&cut.words("it"))),
    }
}

/// Imports every engine, starts the generator if there is one, and compares all versions with the pinned ones.
fn check(environment: &Environment, stop: &AtomicBool) -> Result<Complete, AnalyticsError> {
    let (python, requirements) = (environment.python(), environment.requirements());
    let failed = |why: String| {
        AnalyticsError::Install(format!("the packages are installed but do not work here: {why}"))
    };
    let packages = Packages::of(&python, requirements, stop).map_err(failed);
    if stop.load(Ordering::Relaxed) {
        return Err(AnalyticsError::Stopped);
    }
    let packages = packages?;
    let lacks = packages.lacks(requirements);
    if !lacks.is_empty() {
        return Err(failed(format!("there is no {}", lacks.join(", no "))));
    }
    for pin in requirements.pins() {
        let there = packages.versions.get(pin.name).map_or("missing", String::as_str);
        if there != pin.version {
            return Err(failed(format!("{} is {there} instead of {}", pin.name, pin.version)));
        }
    }
    if requirements.has_generator {
        let mut generator = Command::new(environment.generator());
        let ended = run(generator.arg("--version"), Some(python::LOOK_LIMIT), stop, &mut |_| {})
            .map_err(|cut| failed(cut.words("tpchgen-cli")))?;
        if !ended.status.success() {
            return Err(failed(format!("tpchgen-cli does not start ({})", reason(&ended))));
        }
    }
    Ok(Complete {
        fingerprint: requirements.fingerprint(),
        python: python::version(&python).map_err(failed)?,
        packages: requirements.pins().map(|pin| (pin.name.to_owned(), pin.version.to_owned())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ANALYTICS;
    use crate::fake::Fake;
    use std::sync::Arc;

    struct Lab {
        folder: tempfile::TempDir,
        engines: Engines,
    }

    impl Lab {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let engines = Engines::open(folder.path()).unwrap();
            Self { folder, engines }
        }

        fn add(&self, fake: &Fake, force: bool) -> Result<Added, AnalyticsError> {
            let how = how(fake, force);
            let added = self.engines.add("duckdb", &how, &AtomicBool::new(false), &mut |_| {});
            added.map(|mut added| added.remove(0))
        }

        /// What is left below the data folder, without the lock and folders that are empty.
        fn left(&self) -> usize {
            let engines = self.folder.path().join("threadwise/engines");
            std::fs::read_dir(engines).map_or(0, |entries| {
                entries
                    .filter(|entry| {
                        entry.as_ref().unwrap().path().extension().is_none_or(|end| end != "lock")
                    })
                    .count()
            })
        }
    }

    fn how(fake: &Fake, force: bool) -> Add<'_> {
        Add {
            python: Some(fake.python().as_os_str()),
            wheels: None,
            force,
            path: OsStr::new("/usr/bin:/bin"),
        }
    }

    #[test]
    fn an_environment_is_made_once_and_found() {
        let (lab, fake) = (Lab::new(), Fake::new());
        let mut steps = Vec::new();
        let never = AtomicBool::new(false);
        let made = lab
            .engines
            .add("duckdb", &how(&fake, false), &never, &mut |step| steps.push(step.to_owned()))
            .unwrap()
            .remove(0);
        assert!(!made.was_there && made.complete.version("duckdb") == Some("2.0.0"));
        assert!(steps.iter().any(|step| step == "downloading duckdb 2.0.0, 24.4 MB"), "{steps:?}");
        for name in ["duckdb", "datafusion"] {
            let found = lab.engines.find(name, None).unwrap();
            assert!(
                found.python.starts_with(&made.folder) && found.generator.is_some_and(|path| path.is_file())
            );
        }
        let again = lab.add(&fake, false).unwrap();
        assert!(again.was_there && again.complete == made.complete);
        let anew = lab.add(&fake, true).unwrap();
        assert!(!anew.was_there);
        assert!(lab.engines.remove(&ANALYTICS).unwrap());
        assert!(matches!(lab.engines.find("duckdb", None), Err(AnalyticsError::Absent { .. })));
        assert_eq!(lab.left(), 0);
    }

    #[test]
    fn what_an_engine_needs_is_made_and_removed_one_by_one() {
        let (lab, fake) = (Lab::new(), Fake::new());
        let never = AtomicBool::new(false);
        let add = |force| lab.engines.add("clickhouse", &how(&fake, force), &never, &mut |_| {}).unwrap();
        let made = add(false);
        let names: Vec<_> = made.iter().map(|one| one.folder.file_name().unwrap()).collect();
        assert_eq!(names, ["clickhouse", "analytics"], "its own, and that of its data and its referee");
        assert!(made.iter().all(|one| !one.was_there));
        let found = lab.engines.find("clickhouse", None).unwrap();
        assert_eq!((found.version.as_str(), found.generator), ("26.9.0", None));
        assert!(found.python.starts_with(&made[0].folder));
        assert_eq!(add(true).iter().map(|one| one.was_there).collect::<Vec<_>>(), [false, true]);
        assert!(lab.engines.remove(found.engine.requirements).unwrap());
        assert!(matches!(lab.engines.find("clickhouse", None), Err(AnalyticsError::Absent { .. })));
        assert!(lab.engines.find("duckdb", None).unwrap().script.is_file());
        lab.add(&fake, true).unwrap();
        assert!(!made[0].folder.exists(), "adding the others makes none for this one");
        assert!(lab.engines.remove(&ANALYTICS).unwrap());
        assert_eq!(lab.left(), 0);
    }

    #[test]
    fn a_failed_one_leaves_nothing_and_says_why() {
        for (pip, words) in [
            ("echo 'ERROR: [Errno 28] No space left on device'; exit 1", "disk is full"),
            ("echo 'Failed to establish a new connection'; exit 1", "cannot be reached"),
            ("kill -SEGV $$", "pip failed"),
        ] {
            let lab = Lab::new();
            let message = lab.add(&Fake::new().pip(pip), false).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
            assert_eq!(lab.left(), 0, "{message}");
        }
        let lab = Lab::new();
        let message = lab.add(&Fake::new().venv("echo 'Error: odd'; exit 1"), false).unwrap_err().to_string();
        assert!(message.contains("cannot make a virtual environment (Error: odd)"), "{message}");
        let broken = Fake::new().packages("broken datafusion GLIBC_2.99 not found");
        let message = lab.add(&broken, false).unwrap_err().to_string();
        assert!(message.contains("a working datafusion (GLIBC_2.99 not found)"), "{message}");
        let other = Fake::new().packages("version duckdb 1.0.0");
        let message = lab.add(&other, false).unwrap_err().to_string();
        assert!(message.contains("duckdb is 1.0.0 instead of 2.0.0"), "{message}");
        assert_eq!(lab.left(), 0);
    }

    #[test]
    fn what_a_kill_left_is_made_anew() {
        let (lab, fake) = (Lab::new(), Fake::new());
        let environment = lab.engines.environment(&ANALYTICS);
        environment.begin().unwrap();
        std::fs::write(environment.folder().join("rubbish"), "").unwrap();
        let error = lab.engines.find("duckdb", None).unwrap_err();
        assert!(error.to_string().contains("not completely installed here"), "{error}");
        assert!(!lab.add(&fake, false).unwrap().was_there);
        assert!(!environment.folder().join("rubbish").exists());
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let (lab, fake) = (Lab::new(), Fake::new());
        let folder = lab.engines.environment(&ANALYTICS).folder().to_owned();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("precious"), "").unwrap();
        assert!(matches!(lab.add(&fake, true), Err(AnalyticsError::Foreign { .. })));
        assert!(matches!(lab.engines.remove(&ANALYTICS), Err(AnalyticsError::Foreign { .. })));
        assert!(folder.join("precious").exists());
    }

    #[test]
    fn a_replaced_system_python_makes_it_incomplete() {
        let (lab, fake) = (Lab::new(), Fake::new());
        lab.add(&fake, false).unwrap();
        Fake::new().look("version 3.14.0").put_at(&lab.engines.environment(&ANALYTICS).python());
        let error = lab.engines.find("duckdb", None).unwrap_err().to_string();
        assert!(error.contains("made for Python 3.12.1, which is now 3.14.0"), "{error}");
        Fake::new().look("version 3.12.9").put_at(&lab.engines.environment(&ANALYTICS).python());
        lab.engines.find("duckdb", None).unwrap();
    }

    #[test]
    fn the_user_can_stop_it() {
        let lab = Lab::new();
        let stop = Arc::new(AtomicBool::new(false));
        let fake = Fake::new().pip("echo 'Installing collected packages: x'; sleep 600");
        let error = lab
            .engines
            .add("duckdb", &how(&fake, false), &stop, &mut |step| {
                stop.store(step == "unpacking the packages", Ordering::Relaxed);
            })
            .unwrap_err();
        assert!(matches!(error, AnalyticsError::Stopped));
        assert_eq!(lab.left(), 0);
    }

    #[test]
    fn two_at_once_make_it_once() {
        let lab = Lab::new();
        let fake = Fake::new();
        let made: Vec<bool> = std::thread::scope(|scope| {
            let both: Vec<_> =
                (0..2).map(|_| scope.spawn(|| lab.add(&fake, false).unwrap().was_there)).collect();
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|was_there| !**was_there).count(), 1, "{made:?}");
        lab.engines.find("duckdb", None).unwrap();
    }

    #[test]
    fn bad_input_touches_nothing() {
        let (lab, fake) = (Lab::new(), Fake::new());
        let never = AtomicBool::new(false);
        let empty = tempfile::tempdir().unwrap();
        let message = |name: &str, wheels: &Path| {
            let how = Add { wheels: Some(wheels), ..how(&fake, false) };
            lab.engines.add(name, &how, &never, &mut |_| {}).unwrap_err().to_string()
        };
        assert!(message("vertica", empty.path()).contains("vertica"));
        assert!(message("duckdb", empty.path()).contains(".whl"));
        assert!(message("duckdb", Path::new("/proc/no/wheels")).contains("/proc/no/wheels"));
        let colon = Engines::open(&lab.folder.path().join("a:b")).unwrap();
        let error = colon.add("duckdb", &how(&fake, false), &never, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("':'"), "{error}");
        assert_eq!(std::fs::read_dir(lab.folder.path()).unwrap().count(), 0);
    }
}
