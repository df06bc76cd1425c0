//! `cargo xtask lab [NAME…] [--hours N] [--smoke] [--install] [--list]`: the laboratory, for verdicts that need real
//! time, real servers, browsers, schedulers, emulated machines, kills at many moments, or many studies.
//!
//! A test of the laboratory is `#[ignore]`d and in a module `lab_NAME`; its requirements are checked here, so that
//! it does not check them. The smoke of a part is the smallest run that would notice that it is broken: CI runs it.

pub mod emulated;
pub mod fetched;
pub mod fuzz;
pub mod guest;
mod installed;
pub mod machines;
pub mod packages;
mod table;
pub mod watched;

use crate::command::Task;
use crate::site;
use crate::steps::Steps;
use crate::test::Counts;
use table::{LabPart, tables};

/// How much of a part is run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    /// The smallest run that would notice that it is broken.
    Smoke,
    /// All of it, once.
    Once,
    /// More inputs, studies and looks, where there can be more.
    Hours(f64),
}

impl Scale {
    /// Simulated studies a line; without it each test has as many as its document.
    fn studies(self) -> Option<u32> {
        match self {
            Self::Smoke => Some(40),
            Self::Once => None,
            Self::Hours(hours) => Some((2000.0 * hours).max(40.0) as u32),
        }
    }
}

/// What is run beside a part's tests, with the variables of its tests.
fn beside(name: &str, scale: Scale, variables: &Variables) -> Result<(), String> {
    let seconds = |hours: f64, share: f64, least: f64| format!("{:.0}", (share * hours).max(least));
    match (name, scale) {
        ("portable", _) => portable(scale),
        ("packages", Scale::Smoke) => installed::run(None),
        ("packages", _) => installed::run(Some(folder(variables, "THREADWISE_TEST_COMPONENTS")?)),
        ("site", Scale::Smoke) => site::stage().map(|_| ()),
        ("site", _) => site::run().and_then(|()| site::widths::check()),
        ("engines", _) => workers(scale, variables),
        ("fuzz", Scale::Smoke) => fuzz::run(&["--inputs", "300", "--seed", "1"]),
        ("fuzz", Scale::Once) => fuzz::run(&["--seconds", "20", "--seed", "1"]),
        ("fuzz", Scale::Hours(hours)) => fuzz::run(&["--seconds", &seconds(hours, 200.0, 1.0)]),
        ("emulated", Scale::Smoke) => emulated::run(&["--seconds", "20"]),
        ("emulated", Scale::Once) => emulated::run(&[]),
        ("emulated", Scale::Hours(hours)) => emulated::run(&["--seconds", &seconds(hours, 3600.0, 60.0)]),
        ("machines", _) => {
            recorded_machines()?;
            machines::run(match scale {
                Scale::Smoke => &["one-package-smt", "two-l3s"],
                Scale::Once => &[],
                Scale::Hours(_) => &["--all"],
            })
        }
        _ => Ok(()),
    }
}

/// The command line.
#[derive(Debug, PartialEq)]
struct Options<'a> {
    names: Vec<&'a str>,
    scale: Scale,
    /// Root installs what is missing.
    may_install: bool,
    /// Only prints the parts.
    is_list: bool,
    /// Only makes the requirements available, and prints the tests' variables.
    is_env: bool,
}

impl<'a> Options<'a> {
    fn read(words: &[&'a str]) -> Result<Self, String> {
        let mut options =
            Self { names: Vec::new(), scale: Scale::Once, may_install: false, is_list: false, is_env: false };
        let parts = &tables()?.parts;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--smoke" => options.scale = Scale::Smoke,
                "--install" => options.may_install = true,
                "--list" => options.is_list = true,
                "--env" => options.is_env = true,
                "--hours" => {
                    let value = words.next().ok_or("--hours has no value: --hours 2")?;
                    let hours = value.parse().ok().filter(|hours| (0.001..=1000.0).contains(hours));
                    options.scale = Scale::Hours(hours.ok_or(format!("--hours {value}: 0.001 to 1000"))?);
                }
                name if parts.iter().any(|part| part.name == name) => options.names.push(name),
                other => {
                    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
                    return Err(format!("the laboratory has no '{other}'; parts: {}", names.join(", ")));
                }
            }
        }
        Ok(options)
    }

    fn parts(&self) -> Result<Vec<&'static LabPart>, String> {
        let is_asked = |part: &&LabPart| self.names.is_empty() || self.names.contains(&part.name.as_str());
        Ok(tables()?.parts.iter().filter(is_asked).collect())
    }
}

/// Runs parts, by default all; a failed one does not keep others from running.
pub fn run(words: &[&str]) -> Result<(), String> {
    let options = Options::read(words)?;
    let parts = options.parts()?;
    if options.is_list {
        parts.iter().for_each(|part| println!("{:<12} {}", part.name, part.about));
        return Ok(());
    }
    if options.is_env {
        let of_part = |part: &&LabPart| part.variables(options.scale, options.may_install);
        let variables: Variables = parts.iter().map(of_part).collect::<Result<Vec<_>, _>>()?.concat();
        variables.iter().for_each(|[name, value]| println!("export {name}='{value}'"));
        return Ok(());
    }
    let scale = match options.scale {
        Scale::Hours(hours) => Scale::Hours(hours / parts.len() as f64),
        scale => scale,
    };
    let mut steps = Steps::default();
    let mut failed: Vec<&str> = Vec::new();
    // All at once; a part reports itself what is still missing.
    let packages: Vec<&str> = parts.iter().flat_map(|part| &part.packages).map(String::as_str).collect();
    if let Err(why) = steps.step("packages", || packages::ensure(&packages, options.may_install)) {
        println!("{why}");
    }
    for part in &parts {
        if let Err(why) = steps.step(&part.name, || part.run(scale, options.may_install)) {
            println!("{}: {why}", part.name);
            failed.push(&part.name);
        }
    }
    println!("\n=== laboratory\n{}", steps.summary());
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("cargo xtask lab {} runs them again", failed.join(" "))),
    }
}

impl LabPart {
    /// Makes the packages and fetched parts available; the variables for the tests.
    fn variables(&self, scale: Scale, may_install: bool) -> Result<Variables, String> {
        let packages: Vec<&str> = self.packages.iter().map(String::as_str).collect();
        packages::ensure(&packages, may_install)?;
        let is_smoke = scale == Scale::Smoke;
        let known = &tables()?.fetched;
        let is_wanted = |name: &str| !is_smoke && self.fetched.iter().any(|wanted| wanted == name);
        if let Some(why) = fetched::impossible().filter(|_| is_wanted("postgres")) {
            return Err(why);
        }
        let wanted = known.iter().filter(|fetched| is_wanted(&fetched.name));
        let mut variables: Variables =
            wanted.map(|fetched| fetched.ensure(may_install)).collect::<Result<_, _>>()?;
        let engine = &self.engines[usize::from(!is_smoke)];
        if !engine.is_empty() {
            variables.push(fetched::engines(engine)?);
        }
        Ok(variables)
    }

    fn run(&self, scale: Scale, may_install: bool) -> Result<(), String> {
        let variables = self.variables(scale, may_install)?;
        if self.tests {
            let smoke = if scale == Scale::Smoke { "smoke" } else { "" };
            let tests = ["test", "--workspace", "--no-fail-fast", "--", "--ignored"];
            let tests = Task::new("cargo", &tests).more(&[&format!("lab_{}::{smoke}", self.name)]);
            let tests = match scale.studies() {
                Some(studies) => tests.env("THREADWISE_TEST_STUDIES", &studies.to_string()),
                None => tests,
            };
            let (lines, outcome) = tell(tests, &variables).run_and_keep();
            outcome?;
            if Counts::of(&lines).passed == 0 {
                return Err(format!("no test in a module lab_{} is called {smoke}…", self.name));
            }
        }
        beside(&self.name, scale, &variables)
    }
}

/// Variables and their values.
type Variables = Vec<[String; 2]>;

fn tell(task: Task, variables: &Variables) -> Task {
    variables.iter().fold(task, |task, [name, value]| task.env(name, value))
}

/// The folder that a variable names.
fn folder<'a>(variables: &'a Variables, variable: &str) -> Result<&'a str, String> {
    let found = variables.iter().find(|[name, _]| name == variable).map(|[_, value]| value.as_str());
    found.ok_or_else(|| {
        format!("{variable} is not set: the table of parts in xtask/src/lab/parts.toml is wrong")
    })
}

/// Recorded machines, if THREADWISE_MACHINES names a folder of them: they are not part of the project.
fn recorded_machines() -> Result<(), String> {
    if std::env::var_os("THREADWISE_MACHINES").is_none() {
        println!("skipped: recorded machines; THREADWISE_MACHINES names their folder");
        return Ok(());
    }
    Task::new("cargo", &["test", "--workspace", "--", "--ignored", "lab_machines::"]).run()
}

/// `--cfg threadwise_portable` enables the fallbacks, so that an x86-64 machine can test them. The crates that have
/// some are tested; for all others their interface is the same.
fn portable(scale: Scale) -> Result<(), String> {
    // Cargo keeps a wrapper's builds apart from rustc's, as for clippy: RUSTFLAGS would build every
    // dependency again.
    let wrapper = std::fs::canonicalize("xtask/portable-rustc")
        .map_err(|cause| format!("cannot find xtask/portable-rustc: {cause}"))?;
    let crates = ["--package", "threadwise-machine", "--package", "threadwise-probe"];
    let subcommand = if scale == Scale::Smoke { "check" } else { "test" };
    let tests = Task::new("cargo", &[subcommand, "--tests"]).more(&crates);
    let with_clock = match scale {
        Scale::Smoke => tests,
        _ => tests.more(&["--", "--include-ignored", "--skip", "lab_simulations"]),
    };
    with_clock.env("RUSTC_WORKSPACE_WRAPPER", &wrapper.to_string_lossy()).run()
}

/// The tests of the workers, which run on the environment's own interpreter, and those of a proxy's use of its
/// driver, on the clients'. Those of an engine with a proxy start the program.
fn workers(scale: Scale, variables: &Variables) -> Result<(), String> {
    // -B: no compiled files beside the sources.
    let unittest = ["-B", "-m", "unittest", "discover", "-s", "workers/tests"];
    let engines =
        Task::new(&format!("{}/bin/python", folder(variables, "THREADWISE_TEST_ENGINES")?), &unittest);
    if scale == Scale::Smoke {
        return tell(engines.more(&["-p", "test_plan.py"]), variables).run();
    }
    Task::new("cargo", &["build", "--quiet", "-p", "threadwise"]).run()?;
    tell(engines, variables).run()?;
    let drivers = Task::new(&format!("{}/python", folder(variables, "THREADWISE_TEST_CLIENTS")?), &unittest);
    tell(drivers.more(&["-p", "test_oracle_statements.py"]), variables).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        let names = |words: &[&str]| -> Vec<&str> {
            Options::read(words).unwrap().parts().unwrap().iter().map(|part| part.name.as_str()).collect()
        };
        assert_eq!(Options::read(&["--hours", "0.5"]).unwrap().scale, Scale::Hours(0.5));
        assert_eq!(names(&["servers", "--hours", "0.5", "fuzz"]), ["fuzz", "servers"]);
        assert_eq!(names(&[]).len(), tables().unwrap().parts.len());
    }

    #[test]
    fn what_is_no_part_is_refused_with_the_parts() {
        for wrong in [&["serfers"][..], &["--hours"], &["--hours", "0"], &["--hours", "x"]] {
            assert!(Options::read(wrong).is_err(), "{wrong:?}");
        }
        assert!(Options::read(&["serfers"]).is_err_and(|why| why.contains("servers, engines")));
    }
}
