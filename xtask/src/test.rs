//! `cargo xtask test`: the test command of the README.

use crate::axe;
use crate::clients;
use crate::command::Task;
use crate::engines;
use crate::fleets;
use crate::packages::{self, Package};
use crate::portable;
use crate::servers;
use crate::sqlglot;
use crate::steps::Steps;

/// Tests that cannot run say so in one line with one of these words, past the capture of libtest.
const SKIP_MARKS: [&str; 2] = ["SKIPPED", "NOT RUN"];

/// Runs all tests, then says how many, how long, and what was skipped.
pub fn run(install: bool) -> Result<(), String> {
    let mut steps = Steps::default();
    let mut lines = Vec::new();
    let outcome = all(install, &mut steps, &mut lines);
    let counts = Counts::of(&lines);
    println!("\n=== summary of the tests");
    println!("{}", steps.summary());
    println!("  {} passed, {} failed, {} ignored", counts.passed, counts.failed, counts.ignored);
    let skipped = skipped(&lines);
    for line in &skipped {
        println!("  SKIPPED: {line}");
    }
    let missing = outcome?;
    match needless(&skipped, &missing) {
        Some(line) if packages::is_ci() => Err(format!("skipped, though what it needs is installed: {line}")),
        _ => Ok(()),
    }
}

fn all(install: bool, steps: &mut Steps, lines: &mut Vec<String>) -> Result<Vec<&'static Package>, String> {
    let missing = steps.step("packages", || packages::ensure(install))?;
    for package in &missing {
        let line = format!("SKIPPED: {}", packages::skip(package));
        println!("{line}");
        lines.push(line);
    }
    let engines = steps.step("engines", engines::ensure)?;
    if let Some(what) = engines.skip() {
        let line = format!("SKIPPED: {what}");
        println!("{line}");
        lines.push(line);
    }
    let servers = steps.step("servers", servers::ensure)?;
    for what in servers.skips() {
        let line = format!("SKIPPED: {what}");
        println!("{line}");
        lines.push(line);
    }
    let axe = steps.step("axe-core", axe::ensure)?;
    if let Some(what) = axe.skip() {
        let line = format!("SKIPPED: {what}");
        println!("{line}");
        lines.push(line);
    }
    let sqlglot = steps.step("sqlglot", sqlglot::ensure)?;
    let clients = steps.step("clients", clients::ensure)?;
    let fleets = steps.step("fleets", fleets::ensure)?;
    for what in sqlglot.skip().into_iter().chain(clients.skip()).chain(fleets.skip()) {
        let line = format!("SKIPPED: {what}");
        println!("{line}");
        lines.push(line);
    }
    // --no-fail-fast: one run shows every failure.
    let tests = Task::new("cargo", &["test", "--workspace", "--no-fail-fast"]);
    let tests = fleets.tell(clients.tell(axe.tell(servers.tell(engines.tell(tests)))));
    steps.step("tests", || kept(&tests, lines))?;
    if let Some(workers) = engines.workers() {
        steps.step("workers", || kept(&clients.tell(sqlglot.tell(workers)), lines))?;
    }
    if let Some(drivers) = clients.drivers() {
        steps.step("drivers", || kept(&sqlglot.tell(drivers), lines))?;
    }
    steps.step("portable", || kept(&portable::step()?, lines))?;
    Ok(missing)
}

/// A skip that speaks of a package which is not missing.
fn needless<'a>(skipped: &'a [String], missing: &[&Package]) -> Option<&'a String> {
    let present = |package: &Package| !missing.contains(&package);
    skipped.iter().find(|line| packages::package_of(line).is_some_and(present))
}

fn kept(task: &Task, lines: &mut Vec<String>) -> Result<(), String> {
    let (output, outcome) = task.run_and_keep();
    lines.extend(output);
    outcome
}

/// Sums over the closing lines of all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// Sums the closing lines of Rust's test programs and of Python's.
    fn of(lines: &[String]) -> Self {
        let mut counts = Self::default();
        let mut ran = None;
        for line in lines {
            if line.starts_with("test result:") {
                counts.add_libtest(line);
            } else if let Some(rest) = line.strip_prefix("Ran ") {
                ran = rest.split_once(" test").and_then(|(number, _)| number.parse().ok());
            } else if line.starts_with("OK") || line.starts_with("FAILED") {
                ran.take().into_iter().for_each(|ran| counts.add_unittest(ran, line));
            }
        }
        counts
    }

    /// Reads `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
    fn add_libtest(&mut self, line: &str) {
        let words: Vec<&str> = line.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    /// Reads `OK`, or `FAILED (failures=1, errors=2, skipped=1)`, that comes after `Ran 12 tests in 1.0s`.
    fn add_unittest(&mut self, ran: u64, line: &str) {
        let number = |name: &str| {
            let found = line
                .split(['(', ',', ')'])
                .find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
            found.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
        };
        let failed = number("failures") + number("errors") + number("unexpected successes");
        self.failed += failed;
        self.ignored += number("skipped");
        // A fault outside of any test, as in setUpModule, is an error without a test that ran.
        self.passed += ran.saturating_sub(failed + number("skipped"));
    }
}

/// What was skipped, each once, in order. The mark may follow libtest's unfinished `test name ...`.
fn skipped(lines: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines {
        let Some((_, what)) = SKIP_MARKS.iter().find_map(|mark| line.split_once(mark)) else { continue };
        let what = what.trim_matches([':', '*', ' ']).to_owned();
        if !found.contains(&what) {
            found.push(what);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn closing_lines_are_summed() {
        let output = lines(
            "running 3 tests\n\
             test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.01s\n\
             test result: FAILED. 4 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.0s\n\
             8 passed in a line of its own",
        );
        assert_eq!(Counts::of(&output), Counts { passed: 7, failed: 2, ignored: 1 });
    }

    #[test]
    fn closing_lines_of_python_are_summed_too() {
        let output = lines(
            "OK in a line of its own\n\
             Ran 12 tests in 3.210s\n\nFAILED (failures=1, errors=2, skipped=3)\n\
             Ran 1 test in 0.001s\n\nOK\n\
             Ran 0 tests in 0.001s\n\nFAILED (errors=1)\n\
             Ran out of words\nOK",
        );
        assert_eq!(Counts::of(&output), Counts { passed: 7, failed: 4, ignored: 3 });
    }

    #[test]
    fn skips_are_found_once_wherever_they_stand_in_a_line() {
        let output =
            lines("SKIPPED: a: no b\ntest c ... *** NOT RUN: d: no e ***\nok\nSKIPPED a: no b\nskipped: f");
        assert_eq!(skipped(&output), ["a: no b", "d: no e"]);
    }

    #[test]
    fn a_skip_is_needless_when_its_package_is_there() {
        let [bzip2, _, chromium, ..] = &packages::PACKAGES;
        let skipped = lines("recorded machines: none here\nreport: chromium does not start");
        assert_eq!(needless(&skipped, &[]), Some(&skipped[1]));
        assert_eq!(needless(&skipped, &[bzip2]), Some(&skipped[1]));
        assert_eq!(needless(&skipped, &[chromium]), None);
    }
}
