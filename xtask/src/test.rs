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
    let suite = Task::new("cargo", &["test", "--workspace", "--no-fail-fast"]);
    let suite = match std::env::var_os("RUST_TEST_THREADS") {
        Some(_) => suite,
        None => suite.env("RUST_TEST_THREADS", &threads().to_string()),
    };
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
    outcome
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
    /// Sums them.
    pub fn of(lines: &[String]) -> Self {
        let mut counts = Self::default();
        for line in lines.iter().filter(|line| line.starts_with("test result:")) {
            counts.add(line);
        }
        counts
    }

    /// Reads `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
    fn add(&mut self, line: &str) {
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
}
