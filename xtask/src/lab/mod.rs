//! `cargo xtask lab [NAME…] [--hours N] [--smoke] [--install] [--list]`: the laboratory, for verdicts that need real
//! time, real servers, browsers, schedulers, emulated machines, kills at many moments, or many studies.
//!
//! A test of the laboratory is `#[ignore]`d and in a module `lab_NAME`; its requirements are checked here, so that
//! it does not check them. The smoke of a part is the smallest run that would notice that it is broken: CI runs it.

pub mod emulated;
pub mod fetched;
pub mod guest;
mod installed;
pub mod machines;
pub mod packages;
mod table;
pub mod watched;

use crate::command::{Task, built};
use crate::files;
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
    let seconds = |hours: f64, share: f64, least: f64| (share * hours).max(least) as u64;
    let looks = |seconds| emulated::run(emulated::Options { seed: 1, seconds });
    match (name, scale) {
        ("portable", _) => portable(scale),
        ("packages", Scale::Smoke) => installed::run(None),
        ("packages", _) => installed::run(Some(folder(variables, "THREADWISE_TEST_COMPONENTS")?)),
        ("site", Scale::Smoke) => site::stage().map(|_| ()),
        ("site", _) => site::run().and_then(|()| site::widths::check()),
        ("engines", _) => workers(scale, variables),
        ("fuzz", Scale::Smoke) => fuzz(&["--inputs", "300", "--seed", "1"]),
        ("fuzz", Scale::Once) => fuzz(&["--seconds", "20", "--seed", "1"]),
        ("fuzz", Scale::Hours(hours)) => {
            fuzz(&["--seconds".to_owned(), seconds(hours, 200.0, 1.0).to_string()])
        }
        ("emulated", Scale::Smoke) => looks(20),
        ("emulated", Scale::Once) => looks(60),
        ("emulated", Scale::Hours(hours)) => looks(seconds(hours, 3600.0, 60.0)),
        ("machines", _) => {
            recorded_machines()?;
            let quick = ["one-package-smt", "two-l3s"].map(str::to_owned).to_vec();
            machines::run(&machines::Options {
                all: matches!(scale, Scale::Hours(_)),
                names: if scale == Scale::Smoke { quick } else { Vec::new() },
            })
        }
        _ => Ok(()),
    }
}

/// The command line.
#[derive(Debug, PartialEq, clap::Args)]
pub struct Options {
    /// Parts; all of them without a name
    #[arg(value_parser = part)]
    names: Vec<String>,
    /// The least of each part
    #[arg(long, conflicts_with = "hours")]
    smoke: bool,
    /// More of each part: hours for all of them together
    #[arg(long, value_parser = hours)]
    hours: Option<f64>,
    /// Root installs missing Debian packages, as with CI=true
    #[arg(long)]
    install: bool,
    /// Fetch the rest, and name it to `cargo test`
    #[arg(long)]
    env: bool,
    /// Say which parts there are
    #[arg(long)]
    list: bool,
}

fn part(name: &str) -> Result<String, String> {
    let names: Vec<&str> = tables()?.parts.iter().map(|part| part.name.as_str()).collect();
    match names.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("the laboratory has no '{name}'; parts: {}", names.join(", "))),
    }
}

fn hours(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|hours| (0.001..=1000.0).contains(hours)).ok_or("0.001 to 1000".to_owned())
}

impl Options {
    fn parts(&self) -> Result<Vec<&'static LabPart>, String> {
        let is_asked = |part: &&LabPart| self.names.is_empty() || self.names.contains(&part.name);
        Ok(tables()?.parts.iter().filter(is_asked).collect())
    }
}

/// Runs parts, by default all; a failed one does not keep others from running.
pub fn run(options: &Options) -> Result<(), String> {
    let parts = options.parts()?;
    if options.list {
        parts.iter().for_each(|part| println!("{:<12} {}", part.name, part.about));
        return Ok(());
    }
    let scale = match options.hours {
        Some(hours) => Scale::Hours(hours / parts.len() as f64),
        None if options.smoke => Scale::Smoke,
        None => Scale::Once,
    };
    if options.env {
        for part in &parts {
            let variables = part.variables(scale, options.install)?;
            variables.iter().for_each(|[name, value]| println!("export {name}='{value}'"));
        }
        return Ok(());
    }
    let mut steps = Steps::default();
    let mut failed: Vec<&str> = Vec::new();
    // All at once; a part reports itself what is still missing.
    let packages: Vec<&str> = parts.iter().flat_map(|part| &part.packages).map(String::as_str).collect();
    if let Err(why) = steps.step("packages", || packages::ensure(&packages, options.install)) {
        println!("{why}");
    }
    for part in &parts {
        if let Err(why) = steps.step(&part.name, || part.run(scale, options.install)) {
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

/// `cargo xtask fuzz`: builds the program of mutated inputs (`crates/fuzz`) and runs it with the words of the command
/// line.
pub fn fuzz(words: &[impl std::fmt::Display]) -> Result<(), String> {
    Task::new("{}", &[&built("threadwise-fuzz")?]).more(words).run()
}

impl LabPart {
    /// Makes the packages and fetched parts available; the variables for the tests.
    fn variables(&self, scale: Scale, may_install: bool) -> Result<Variables, String> {
        let packages: Vec<&str> = self.packages.iter().map(String::as_str).collect();
        packages::ensure(&packages, may_install)?;
        let is_smoke = scale == Scale::Smoke;
        let wanted = if is_smoke { &[][..] } else { &self.fetched };
        if let Some(why) = fetched::impossible().filter(|_| wanted.iter().any(|name| name == "postgres")) {
            return Err(why);
        }
        let mut variables = Variables::new();
        for name in wanted {
            variables.push(fetched::ensure(name, may_install)?);
        }
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
            let tests = "cargo test --workspace --no-fail-fast -- --ignored lab_{}::{}";
            let mut tests = Task::new(tests, &[&self.name, &smoke]);
            if let Some(studies) = scale.studies() {
                tests = tests.env("THREADWISE_TEST_STUDIES", studies);
            }
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
    Task::new("cargo test --workspace -- --ignored lab_machines::", &[]).run()
}

/// `--cfg threadwise_portable` enables the fallbacks, so that an x86-64 machine can test them. The crates that have
/// some are tested; for all others their interface is the same.
fn portable(scale: Scale) -> Result<(), String> {
    // Cargo keeps a wrapper's builds apart from rustc's, as for clippy: RUSTFLAGS would build every
    // dependency again.
    let wrapper = files::absolute("xtask/portable-rustc")?;
    let (subcommand, options) = match scale {
        Scale::Smoke => ("check", ""),
        _ => ("test", "-- --include-ignored --skip lab_simulations"),
    };
    let crates = "--package threadwise-machine --package threadwise-probe";
    let tests = Task::new(&format!("cargo {subcommand} --tests {crates} {options}"), &[]);
    tests.env("RUSTC_WORKSPACE_WRAPPER", wrapper.display()).run()
}

/// The tests of the workers, which run on the environment's own interpreter, and those of a proxy's use of its
/// driver, on the clients'. Those of an engine with a proxy start the program.
fn workers(scale: Scale, variables: &Variables) -> Result<(), String> {
    // -B: no compiled files beside the sources.
    let unittest = "{}/python -B -m unittest discover -s workers/tests";
    let python = format!("{}/bin", folder(variables, "THREADWISE_TEST_ENGINES")?);
    let engines = tell(Task::new(unittest, &[&python]), variables);
    if scale == Scale::Smoke {
        return engines.more(["-p", "test_plan.py"]).run();
    }
    Task::new("cargo build --quiet -p threadwise", &[]).run()?;
    engines.run()?;
    let drivers = tell(Task::new(unittest, &[&folder(variables, "THREADWISE_TEST_CLIENTS")?]), variables);
    drivers.more(["-p", "test_oracle_statements.py"]).run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn read(words: &[&str]) -> Result<Options, clap::Error> {
        Line::try_parse_from(std::iter::once(&"lab").chain(words)).map(|line| line.options)
    }

    #[test]
    fn parts_are_known_by_their_names() {
        let names = |words: &[&str]| -> Vec<&str> {
            read(words).unwrap().parts().unwrap().iter().map(|part| part.name.as_str()).collect()
        };
        assert_eq!(read(&["--hours", "0.5"]).unwrap().hours, Some(0.5));
        assert_eq!(names(&["servers", "--hours", "0.5", "fuzz"]), ["fuzz", "servers"]);
        assert_eq!(names(&[]).len(), tables().unwrap().parts.len());
    }

    #[test]
    fn what_is_no_part_is_refused_with_the_parts() {
        for wrong in [&["serfers"][..], &["--hours"], &["--hours", "0"], &["--hours", "x"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        assert!(read(&["serfers"]).unwrap_err().to_string().contains("servers, engines"));
    }
}
