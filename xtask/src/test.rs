//! `cargo xtask test`: the suite, which is the test command of the README. Its verdicts depend only on its input:
//! it needs only Rust, a C compiler and git, no network, and no quiet machine. The rest is `cargo xtask lab`.

use crate::command::Task;
use std::collections::BTreeMap;
use std::time::Instant;

/// A test that cannot run prints one line with this word, past the capture of libtest.
const SKIP_MARK: &str = "SKIPPED";

/// Fewest tests at once, for any number of processors: on two of them the slowest program takes 147 s with four
/// at once and 198 s with two.
const LEAST_THREADS: usize = 4;

/// Runs all tests, then prints the skipped ones, and a summary line.
pub fn run() -> Result<(), String> {
    let begun = Instant::now();
    // --no-fail-fast: one run shows every failure.
    let threads = std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| threads().to_string());
    let suite = Task::new("cargo test --workspace --no-fail-fast", &[]).env("RUST_TEST_THREADS", threads);
    let (lines, outcome) = suite.run_and_keep();
    let (counts, skipped) = (Counts::of(&lines), skipped(&lines));
    println!();
    skipped.iter().for_each(|what| println!("skipped: {what}"));
    for (part, count) in laboratory(&lines) {
        println!("skipped: {count} tests of the laboratory's {part}; cargo xtask lab {part}");
    }
    println!(
        "{} passed, {} failed, {} skipped, {:.1} minutes",
        counts.passed,
        counts.failed,
        counts.ignored + skipped.len() as u64,
        begun.elapsed().as_secs_f64() / 60.0
    );
    outcome?;
    match misplaced(&lines).as_slice() {
        [] => Ok(()),
        found => Err(format!(
            "ignored tests are those of the laboratory, '#[ignore = \"laboratory: PART\"]' in a module lab_PART, \
             which cargo xtask lab runs: {}",
            found.join(", ")
        )),
    }
}

/// Tests that are ignored and in no part of the laboratory, or in one and not ignored.
fn misplaced(lines: &[String]) -> Vec<&str> {
    let tests = lines.iter().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let is_misplaced = |(name, outcome): &(&str, &str)| {
        let modules = name.rsplit_once("::").map_or("", |(modules, _)| modules);
        let part = modules.split("::").find_map(|module| module.strip_prefix("lab_"));
        let wanted = part.map(|part| format!(", laboratory: {part}"));
        outcome.trim().strip_prefix("ignored") != wanted.as_deref()
    };
    tests.filter(is_misplaced).map(|(name, _)| name).collect()
}

/// Tests of a program that run at once. A test that starts programs waits for them most of its time.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).max(LEAST_THREADS)
}

/// Tests of the laboratory, by part: libtest says `test a::lab_PART::b ... ignored, laboratory: PART`.
fn laboratory(lines: &[String]) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for part in lines.iter().filter_map(|line| line.split_once("... ignored, laboratory: ")) {
        *found.entry(part.1.trim()).or_default() += 1;
    }
    found
}

/// Sums over the closing lines of all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// Sums lines such as `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
    pub fn of(lines: &[String]) -> Self {
        let mut counts = Self::default();
        for part in
            lines.iter().filter(|line| line.starts_with("test result:")).flat_map(|line| line.split(';'))
        {
            let mut words = part.rsplit(' ');
            match (words.next(), words.next().and_then(|number| number.parse::<u64>().ok())) {
                (Some("passed"), Some(number)) => counts.passed += number,
                (Some("failed"), Some(number)) => counts.failed += number,
                (Some("ignored"), Some(number)) => counts.ignored += number,
                _ => {}
            }
        }
        counts
    }
}

/// Skipped tests, each once, in order. The mark may follow libtest's unfinished `test name ...`.
fn skipped(lines: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, what) in lines.iter().filter_map(|line| line.split_once(SKIP_MARK)) {
        let what = what.trim_matches([':', ' ']).to_owned();
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
    fn skips_are_found_once_wherever_they_stand_in_a_line() {
        let output = lines("SKIPPED: a: no b\ntest c ... SKIPPED: d: no e\nok\nSKIPPED a: no b\nskipped: f");
        assert_eq!(skipped(&output), ["a: no b", "d: no e"]);
    }

    #[test]
    fn tests_of_the_laboratory_are_counted_by_part() {
        let output = lines(
            "test a::lab_servers::b ... ignored, laboratory: servers\n\
             test c ... ok\n\
             test lab_kills::d ... ignored, laboratory: kills\n\
             test lab_servers::e ... ignored, laboratory: servers",
        );
        assert_eq!(laboratory(&output).into_iter().collect::<Vec<_>>(), [("kills", 1), ("servers", 2)]);
    }

    #[test]
    fn tests_are_ignored_in_the_laboratory_and_only_there() {
        let output = lines(
            "test a::lab_servers::b ... ignored, laboratory: servers\n\
             test c::lab_is_a_word ... ok\n\
             test crates/a/src/lib.rs - d (line 4) ... ok\n\
             test crates/a/src/lib.rs - e (line 9) ... ignored\n\
             test f::lab_kills::g ... ok\n\
             test h::lab_kills::i ... ignored, laboratory: servers\n\
             test j ... ignored, slow\n\
             running 3 tests",
        );
        let found = misplaced(&output);
        assert_eq!(found, ["crates/a/src/lib.rs - e (line 9)", "f::lab_kills::g", "h::lab_kills::i", "j"]);
    }
}
