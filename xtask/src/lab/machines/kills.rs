//! Ending processes that switch SMT midway, and checking that all of the machine's state is restored.
//!
//! Compared: the online logical CPUs, `smt/control`, cpusets of control groups of version 1, masks of
//! tasks, affinities of interrupts, an administrator's own offline logical CPU, and that no journal is left. The shell
//! waits for the moment, stops the process there (SIGSTOP) and then ends it, so that it is at that point.

/// Shell functions.
const FUNCTIONS: &str = include_str!("kills.sh");

/// Fewest compared lines: without groups, interrupts or tasks there would be fewer.
const LEAST_LINES: usize = 20;

/// Commands that switch, each ended at every moment.
const SWITCHING: [(&str, &str); 2] =
    [("off", "threadwise smt off --yes"), ("offline", "threadwise smt off --offline --yes")];
/// A study whose arms take siblings offline.
const STUDY: &str = "threadwise run smt-off --smt mask,offline --placement no-smt --yes --allow-busy --no-probe --no-html \
     --blocks 1 --rounds 2 --slice 200ms --output killed.threadwise";
/// The journal and the watchdog exist; the first logical CPU is offline; all are.
const MOMENTS: [&str; 3] = ["journalled", "begun", "switched"];
/// What is killed; after the second, no process is left, and `threadwise restore` must do it.
const KILLED: [&str; 2] = ["runner", "both"];

/// The cases, a line of the shell for each: the kill of runner and watchdog, and with `--all` every one.
fn cases(is_all: bool) -> Vec<String> {
    let case = |(name, command): (&str, &str), moment: &str, what: &str| {
        format!("ended '{name}, {what} at {moment}' {moment} {what} {command}")
    };
    if !is_all {
        return vec![case(SWITCHING[0], "begun", "both")];
    }
    let mut cases = Vec::new();
    for switching in SWITCHING {
        let kills = MOMENTS.iter().flat_map(|moment| KILLED.iter().map(move |what| (*moment, *what)));
        cases.extend(kills.map(|(moment, what)| case(switching, moment, what)));
        cases.push(case(switching, "begun", "ctrl-c"));
    }
    let of_study = [("begun", "runner"), ("begun", "both"), ("switched", "both"), ("begun", "ctrl-c")];
    cases.extend(of_study.map(|(moment, what)| case(("run", STUDY), moment, what)));
    cases.push("failed 'offline, an error' threadwise smt off --offline --yes".to_owned());
    cases
}

/// Commands of a shell: sets up the state to restore, and each case prints the state after it.
pub fn command(is_all: bool) -> String {
    format!("{FUNCTIONS}\nprepare\n{}", cases(is_all).join("\n"))
}

/// Faults of the output of [`command`].
pub fn judged(is_all: bool, output: &str) -> Vec<String> {
    let said: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("case ")).collect();
    let differing = said.iter().filter(|case| !case.ends_with(": as before"));
    let mut found: Vec<String> = differing.map(|case| (*case).to_owned()).collect();
    let wanted = cases(is_all).len();
    if said.len() != wanted {
        let last = output.lines().last().unwrap_or_default();
        found.push(format!("{} of {wanted} cases reported their end; last: {last}", said.len()));
    }
    let compared = output.lines().find_map(|line| line.strip_prefix("lines ")?.trim().parse::<usize>().ok());
    if compared.is_none_or(|lines| lines < LEAST_LINES) {
        found.push(format!("{compared:?} lines of state are compared, fewer than {LEAST_LINES}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_both_kills() {
        assert_eq!(cases(false), ["ended 'off, both at begun' begun both threadwise smt off --yes"]);
        let all = cases(true);
        for moment in MOMENTS {
            for what in KILLED {
                let is_one = |case: &&String| {
                    case.contains(&format!("' {moment} {what} ")) && case.contains(" smt off ")
                };
                let of_both = all.iter().filter(is_one);
                assert_eq!(of_both.count(), SWITCHING.len(), "{moment} {what}");
            }
        }
        assert_eq!(all.iter().filter(|case| case.contains(" ctrl-c ")).count(), SWITCHING.len() + 1);
        assert!(command(true).contains("\nprepare\nended "));
    }

    #[test]
    fn whatever_is_not_as_before_is_a_fault() {
        assert_eq!(
            judged(false, "lines 31\ncase off, both at begun with 0,2 online: as before\n"),
            Vec::<String>::new()
        );
        let differs = judged(false, "lines 31\ncase off, both at begun: -online:0-7 +online:0-6\n");
        assert_eq!(differs, ["off, both at begun: -online:0-7 +online:0-6"]);
        assert!(judged(false, "lines 31\n")[0].starts_with("0 of 1 cases"));
        assert!(judged(false, "lines 3\ncase x: as before\n")[0].contains("Some(3) lines"));
        assert!(judged(false, "case x: as before\n")[0].contains("None lines"));
    }
}
