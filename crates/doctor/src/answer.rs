//! The result of a check function, and texts that several of them use.

use crate::check::Outcome;
use crate::tree::Gap;
use threadwise_machine::CpuSet;
use threadwise_machine::text::one_line;

/// A check without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) found: String,
    pub(crate) source: String,
    pub(crate) remedy: Option<String>,
}

impl Answer {
    fn new(outcome: Outcome, found: impl Into<String>, source: impl Into<String>) -> Self {
        Self { outcome, found: found.into(), source: source.into(), remedy: None }
    }

    /// No problem.
    pub(crate) fn ok(found: impl Into<String>, source: impl Into<String>) -> Self {
        Self::new(Outcome::Ok, found, source)
    }

    /// Unknown; `found` says why.
    pub(crate) fn unknown(found: impl Into<String>, source: impl Into<String>) -> Self {
        Self::new(Outcome::Unknown, found, source)
    }

    /// It may disturb a measurement.
    pub(crate) fn warning(found: impl Into<String>, source: impl Into<String>) -> Self {
        Self::new(Outcome::Warning, found, source)
    }

    /// It will spoil a measurement.
    pub(crate) fn problem(found: impl Into<String>, source: impl Into<String>) -> Self {
        Self::new(Outcome::Problem, found, source)
    }

    /// An unreadable file: what it would have shown, and why it is not available.
    pub(crate) fn gap(gap: &Gap, path: &str, missing: &str) -> Self {
        let source = format!("/{path}");
        match gap {
            Gap::Missing => Self::unknown(missing, source),
            Gap::Denied => Self::unknown("this user may not read it", source)
                .remedied("run threadwise doctor as root, or have the file mounted readable"),
            Gap::Damaged(why) => Self::unknown(format!("the file {why}"), source),
        }
    }

    /// A measurement that was not made.
    pub(crate) fn not_measured(source: impl Into<String>) -> Self {
        Self::unknown("not measured", source)
    }

    /// Adds the remedy.
    pub(crate) fn remedied(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// A short text for a set of logical CPUs: `CPU 3`, `CPUs 0-3,8`, `12 CPUs (0,2,4,…)`.
pub(crate) fn cpus(set: &CpuSet) -> String {
    const LONGEST: usize = 40;
    let list = set.to_string();
    match set.len() {
        1 => format!("CPU {list}"),
        _ if list.len() <= LONGEST => format!("CPUs {list}"),
        count => {
            let head: String = list.chars().take(LONGEST).collect();
            // Not in the middle of a number.
            let head = head.rsplit_once(',').map_or("", |(head, _)| head);
            format!("{count} CPUs ({head},…)")
        }
    }
}

/// A share as text: `0.4%`, `37%`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 10.0 => format!("{percent:.0}%"),
        percent => format!("{percent:.1}%"),
    }
}

/// A value from a file, safe to paste into a shell; `None` for anything but a plain word or number, since the file may
/// come from someone else.
pub(crate) fn plain(word: &str) -> Option<&str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    // A leading dash would be an option, except for a negative number.
    let safe = word.parse::<i64>().is_ok() || !word.starts_with('-');
    (!word.is_empty() && word.len() <= 40 && safe && word.chars().all(fits)).then_some(word)
}

/// A path quoted for a shell; `None` if a terminal cannot show it unchanged.
pub(crate) fn shell_path(path: &str) -> Option<String> {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-+./:@=,".contains(c);
    if one_line(path, usize::MAX) != path {
        return None;
    }
    Some(match path.chars().all(bare) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sets_are_cut_between_numbers() {
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        assert_eq!(cpus(&set("3")), "CPU 3");
        assert_eq!(cpus(&set("0-767")), "CPUs 0-767");
        let text = cpus(&set("100-300:2"));
        assert_eq!(text, "101 CPUs (100,102,104,106,108,110,112,114,116,118,…)");
    }

    #[test]
    fn only_plain_words_come_into_commands() {
        for word in ["schedutil", "60", "-1", "amd-pstate-epp", "defer+madvise"] {
            assert_eq!(plain(word), Some(word));
        }
        for word in ["", "$(reboot)", "a b", "a;b", "--help", "`x`", "ä", "a>b"] {
            assert_eq!(plain(word), None, "{word}");
        }
    }

    #[test]
    fn paths_are_quoted_where_a_shell_would_read_them() {
        assert_eq!(shell_path("/a/b.slice/cpu.max").as_deref(), Some("/a/b.slice/cpu.max"));
        assert_eq!(shell_path("/a/x\\x2d$(b)").as_deref(), Some("'/a/x\\x2d$(b)'"));
        assert_eq!(shell_path("/a/it's").as_deref(), Some("'/a/it'\\''s'"));
        assert_eq!(shell_path("/a\n/b"), None);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([percent(0.0042), percent(0.372), percent(0.0)], ["0.4%", "37%", "0.0%"]);
    }

    #[test]
    fn a_gap_says_why_and_what_would_help() {
        let missing = Answer::gap(&Gap::Missing, "proc/x", "the kernel has no x");
        assert_eq!((missing.found.as_str(), missing.source.as_str()), ("the kernel has no x", "/proc/x"));
        let denied = Answer::gap(&Gap::Denied, "proc/x", "");
        assert!(denied.remedy.unwrap().contains("as root"));
        assert_eq!(denied.outcome, Outcome::Unknown);
    }
}
