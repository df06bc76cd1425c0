//! Finding the parts of an engine's worker: a Python, its program, and the generator of the data.

use crate::engine::{AnalyticsEngine, engine, known};
use crate::environment::EnvironmentState;
use crate::python;
use crate::requirements::{GENERATOR, Requirements};
use crate::{AnalyticsError, Engines, scripts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The packages of a Python: prints the version of each named package, the error of
/// the import of each module, and the path of the generator.
const PACKAGES: &str = r#"
import importlib, os, sys, sysconfig
from importlib import metadata
for name in sys.argv[1].split(","):
    try:
        print("version " + name + " " + metadata.version(name))
    except metadata.PackageNotFoundError:
        print("lacks " + name)
for name in sys.argv[2].split(","):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            print("broken " + name + " " + " ".join(str(error).split()))
    except Exception as error:
        print("broken " + name + " " + " ".join(str(error).split()))
for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
    path = os.path.join(folder, sys.argv[3])
    if os.path.isfile(path) and os.access(path, os.X_OK):
        print("generator " + path)
        break
print("end")
"#;

/// The parts that run an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInstallation {
    /// The engine.
    pub engine: &'static AnalyticsEngine,
    /// The Python of the environment.
    pub python: PathBuf,
    /// The engine's worker program.
    pub script: PathBuf,
    /// The generator of the data, if the engine's environment has it.
    pub generator: Option<PathBuf>,
    /// Version of the engine's package.
    pub version: String,
}

impl EngineInstallation {
    /// Arguments for [`EngineInstallation::python`] that make it the engine's worker: isolated from the user's
    /// Python settings and packages (`-I`), writing nothing beside sources (`-B`).
    pub fn args(&self) -> Vec<String> {
        // The folder's path was UTF-8 when it was opened.
        vec!["-I".to_owned(), "-B".to_owned(), self.script.to_string_lossy().into_owned()]
    }

    /// Arguments for [`EngineInstallation::python`] that make it a worker whose `load` checks the options of a treatment
    /// and reads no data.
    pub fn check_args(&self) -> Vec<String> {
        let mut args = self.args();
        args.push("check".to_owned());
        args
    }

    /// Another one of the worker programs, such as [`scripts::COUNT_ROWS`].
    pub fn tool(&self, name: &str) -> PathBuf {
        self.script.with_file_name(name)
    }
}

impl Engines {
    /// The parts that run the engine `name`: in threadwise's environment, or in that of `python_override`. Checks the
    /// worker programs, and writes missing ones.
    ///
    /// # Errors
    /// The engine is unknown or not installed, or the user's own environment lacks a part; the
    /// message has the next step.
    pub fn find(
        &self,
        name: &str,
        python_override: Option<&Path>,
    ) -> Result<EngineInstallation, AnalyticsError> {
        let engine = engine(name)?;
        let (python, generator, version) = match python_override {
            Some(python) => own_environment(engine, python)?,
            None => self.ours(engine)?,
        };
        let script = scripts::ensure(self.home())?.join(engine.script);
        Ok(EngineInstallation { engine, python, script, generator, version })
    }

    /// The parts that run the engine `name` if another environment has its data and its referee: in that of `python`,
    /// which needs only its package, or in threadwise's.
    ///
    /// # Errors
    /// Those of [`Engines::find`].
    pub fn find_alone(
        &self,
        name: &str,
        python: Option<&Path>,
    ) -> Result<EngineInstallation, AnalyticsError> {
        let Some(python) = python else { return self.find(name, None) };
        let engine = engine(name)?;
        let (python, version) = lone_environment(engine, python)?;
        let script = scripts::ensure(self.home())?.join(engine.script);
        Ok(EngineInstallation { engine, python, script, generator: None, version })
    }

    fn ours(&self, engine: &AnalyticsEngine) -> Result<(PathBuf, Option<PathBuf>, String), AnalyticsError> {
        let name = engine.name.to_owned();
        let environment = self.environment(engine.requirements);
        let generator = engine.requirements.has_generator.then(|| environment.generator());
        match self.state(engine.requirements)? {
            EnvironmentState::Absent => Err(AnalyticsError::Absent { engine: name }),
            EnvironmentState::Foreign => {
                Err(AnalyticsError::Foreign { folder: environment.folder().to_owned() })
            }
            EnvironmentState::Incomplete(why) => Err(AnalyticsError::Incomplete { engine: name, why }),
            EnvironmentState::Outdated(_) => Err(AnalyticsError::Outdated { engine: name }),
            EnvironmentState::Ready(complete) => match complete.version(engine.package) {
                Some(version) => Ok((environment.python(), generator, version.to_owned())),
                None => Err(AnalyticsError::Outdated { engine: name }),
            },
        }
    }
}

/// Inspects an environment of the user by running its Python once.
fn own_environment(
    engine: &AnalyticsEngine,
    python: &Path,
) -> Result<(PathBuf, Option<PathBuf>, String), AnalyticsError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = python::resolve(python.as_os_str(), &path)?;
    let requirements = engine.requirements;
    let packages =
        Packages::of(&python, requirements, &AtomicBool::new(false)).map_err(AnalyticsError::Lacks)?;
    let lacks = packages.lacks(requirements);
    let (Some(version), true) = (packages.versions.get(engine.package), lacks.is_empty()) else {
        return Err(AnalyticsError::Lacks(format!(
            "engine {0}: {1} lacks {2}: install that there (tested versions: threadwise engine add \
             {0} --print-requirements), or leave python out and run: threadwise engine add {0}",
            engine.name,
            python.display(),
            lacks.join(", "),
        )));
    };
    Ok((python, packages.generator, version.clone()))
}

/// The same for one that needs only the engine itself.
fn lone_environment(engine: &AnalyticsEngine, python: &Path) -> Result<(PathBuf, String), AnalyticsError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = python::resolve(python.as_os_str(), &path)?;
    let packages =
        Packages::of(&python, engine.requirements, &AtomicBool::new(false)).map_err(AnalyticsError::Lacks)?;
    let lacks: Vec<&str> = std::iter::once(engine.package)
        .chain(shared(engine.requirements))
        .filter(|name| !packages.versions.contains_key(*name))
        .collect();
    match packages.versions.get(engine.package).filter(|_| lacks.is_empty()) {
        Some(version) => Ok((python, version.clone())),
        None => Err(AnalyticsError::Lacks(format!(
            "engine {}: {} lacks {}: install that there",
            engine.name,
            python.display(),
            lacks.join(", ")
        ))),
    }
}

/// The package that workers of files need beside their engine's, if the environment has such workers.
fn shared(wanted: &Requirements) -> impl Iterator<Item = &'static str> + use<> {
    const PYARROW: &str = "pyarrow";
    wanted.modules.contains(&PYARROW).then_some(PYARROW).into_iter()
}

/// The packages of an environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Packages {
    /// Version of each present package.
    pub(crate) versions: BTreeMap<String, String>,
    /// Modules that exist but cannot be imported, with Python's own message.
    pub(crate) broken: Vec<(String, String)>,
    /// The generator.
    pub(crate) generator: Option<PathBuf>,
}

impl Packages {
    /// Runs `python` once and asks it.
    pub(crate) fn of(python: &Path, wanted: &Requirements, stop: &AtomicBool) -> Result<Self, String> {
        let names = wanted.pins().map(|pin| pin.name).collect::<Vec<_>>().join(",");
        let modules = wanted.modules.join(",");
        let ended = python::call(python, PACKAGES, &[&names, &modules, GENERATOR], stop)
            .map_err(|cut| cut.words(&python.display().to_string()))?;
        match ended.status.success() && ended.output.last().is_some_and(|line| line == "end") {
            true => Ok(Self::parse(&ended.output)),
            false => {
                let why = python::reason(&ended);
                Err(format!("{} did not list its packages ({why}): is it a Python 3?", python.display()))
            }
        }
    }

    fn parse(lines: &[String]) -> Self {
        let mut packages = Self::default();
        for line in lines {
            match line.split_once(' ') {
                Some(("version", rest)) => {
                    let (name, version) = rest.split_once(' ').unwrap_or((rest, ""));
                    packages.versions.insert(name.to_owned(), version.to_owned());
                }
                Some(("broken", rest)) => {
                    let (name, why) = rest.split_once(' ').unwrap_or((rest, ""));
                    packages.broken.push((name.to_owned(), why.to_owned()));
                }
                Some(("generator", path)) => packages.generator = Some(PathBuf::from(path)),
                _ => {}
            }
        }
        packages
    }

    /// The missing parts of all engines of an environment, one by one: each needs its referee.
    pub(crate) fn lacks(&self, wanted: &Requirements) -> Vec<String> {
        let mut lacks: Vec<String> =
            self.broken.iter().map(|(name, why)| format!("a working {name} ({why})")).collect();
        let engines = || known().iter().filter(|engine| engine.requirements == wanted);
        let about = |engine: &AnalyticsEngine| {
            let judged = engines().find(|other| other.referee == engine.name);
            judged.map(|judged| format!(" (referee of {}'s answers)", judged.name)).unwrap_or_default()
        };
        let packages = engines().map(|engine| (engine.package, about(engine)));
        for (name, about) in packages.chain(shared(wanted).map(|name| (name, String::new()))) {
            if !self.versions.contains_key(name) {
                lacks.push(format!("{name}{about}"));
            }
        }
        if wanted.has_generator && self.generator.is_none() {
            lacks.push(format!("{GENERATOR} (beside python)"));
        }
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn open() -> (tempfile::TempDir, Engines) {
        let folder = tempfile::tempdir().unwrap();
        let engines = Engines::open(folder.path()).unwrap();
        (folder, engines)
    }

    #[test]
    fn a_missing_engine_says_the_one_command() {
        let (_folder, engines) = open();
        for name in ["duckdb", "datafusion"] {
            assert_eq!(
                engines.find(name, None).unwrap_err().to_string(),
                format!("engine {name} is not installed here: threadwise engine add {name}")
            );
        }
        assert!(matches!(engines.find("sqlite", None), Err(AnalyticsError::Unknown { .. })));
    }

    #[test]
    fn an_environment_of_the_users_own_stands_in() {
        let (folder, engines) = open();
        let fake = Fake::new();
        let found = engines.find("datafusion", Some(fake.python())).unwrap();
        assert_eq!((found.python.as_path(), found.version.as_str()), (fake.python(), "55.0.0"));
        assert_eq!(found.generator, Some(fake.generator()));
        assert!(found.script.starts_with(folder.path()) && found.script.is_file());
        assert_eq!(found.args(), ["-I", "-B", found.script.to_str().unwrap()]);
        assert_eq!(found.check_args()[3..], ["check"]);
        assert!(found.tool(scripts::COUNT_ROWS).is_file());
    }

    #[test]
    fn what_it_lacks_is_named() {
        let (_folder, engines) = open();
        let message = |fake: &Fake| engines.find("duckdb", Some(fake.python())).unwrap_err().to_string();
        let without = message(&Fake::new().packages("lacks datafusion"));
        assert!(without.contains("lacks datafusion (referee of duckdb's answers)"), "{without}");
        let broken = message(&Fake::new().packages("broken duckdb undefined symbol: x"));
        assert!(broken.contains("a working duckdb (undefined symbol: x)"), "{broken}");
        let generator = message(&Fake::new().packages("generator"));
        assert!(generator.contains("tpchgen-cli (beside python)"), "{generator}");
        let failing = message(&Fake::new().packages("exit"));
        assert!(failing.contains("did not list its packages"), "{failing}");
        let absent = engines.find("duckdb", Some(Path::new("/proc/no/python"))).unwrap_err().to_string();
        assert!(absent.contains("/proc/no/python"), "{absent}");
    }
}
