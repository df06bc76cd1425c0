//! SMT, and how the kernel treats siblings.
//!
//! Sources: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu` (`smt/control`, `smt/active`,
//! `vulnerabilities`), `Documentation/admin-guide/hw-vuln/` (the words about SMT in those files;
//! `core-scheduling.rst`), `Documentation/admin-guide/kernel-parameters.txt` (`mitigations`, `nosmt`).

use crate::answer::Answer;
use crate::case::Case;
use crate::tree::Gap;

const CONTROL: &str = "sys/devices/system/cpu/smt/control";
const ACTIVE: &str = "sys/devices/system/cpu/smt/active";
const WEAKNESSES: &str = "sys/devices/system/cpu/vulnerabilities";

/// Whether there are siblings to measure.
pub(super) fn smt(case: &Case<'_>) -> Answer {
    let control = match case.tree.line(CONTROL) {
        Ok(control) => control,
        Err(gap) => return Answer::gap(&gap, CONTROL, "the kernel does not report whether there is SMT"),
    };
    let source = format!("/{CONTROL}");
    let threads = case.topology.max_threads_per_core();
    let turn_on =
        || case.changed(&format!("echo on > /{CONTROL}"), Some(format!("echo {control} > /{CONTROL}")));
    match control.as_str() {
        "on" if case.tree.number(ACTIVE) == Ok(0) => {
            Answer::warning("SMT is on, but no core has two logical CPUs online", format!("/{ACTIVE}"))
                .remedied("list offline logical CPUs: lscpu -e; as root: chcpu -e LIST")
        }
        "on" => Answer::ok(format!("SMT is on, up to {threads} logical CPUs a core"), source),
        "off" => {
            Answer::warning("SMT is switched off: siblings cannot be measured", source).remedied(turn_on())
        }
        "forceoff" => Answer::warning("SMT is switched off until the next boot", source)
            .remedied("remove nosmt=force from the kernel's command line and boot again"),
        "notsupported" | "notimplemented" => match case.hypervisor() {
            Some(_) => Answer::unknown(
                "the system reports no SMT, but a hypervisor may hide which logical CPUs share a core",
                source,
            )
            .remedied("threadwise probe measures it"),
            None => Answer::ok("this machine has no SMT: one logical CPU a core", source),
        },
        // Machines with more than two threads a core may run with some of them (PowerPC).
        number if number.parse::<u32>().is_ok() => {
            Answer::ok(format!("SMT is on with {number} logical CPUs a core"), source)
        }
        other => Answer::unknown(format!("the file reads '{other}', which is not a known value"), source),
    }
}

/// Whether our threads share cores only with threads of the same cookie.
pub(super) fn core_scheduling(case: &Case<'_>) -> Answer {
    const SOURCE: &str = "prctl(PR_SCHED_CORE)";
    match case.live.map(|live| live.core_cookie) {
        None => Answer::not_measured(SOURCE),
        Some(None) => Answer::unknown("the kernel does not report it", SOURCE),
        Some(Some(false)) => Answer::ok("this process has no core scheduling cookie", SOURCE),
        Some(Some(true)) => Answer::warning(
            "this process has a core scheduling cookie: siblings stay idle rather than run other processes",
            SOURCE,
        )
        .remedied("start threadwise from a session without one (coresched get -s PID shows the cookie)"),
    }
}

/// Mitigations of processor weaknesses, and their effect on siblings.
pub(super) fn mitigations(case: &Case<'_>) -> Answer {
    let files = match case.tree.names(WEAKNESSES) {
        Ok(files) => files,
        Err(gap) => return Answer::gap(&gap, WEAKNESSES, "the kernel does not list its mitigations"),
    };
    let states: Vec<(String, String)> =
        files.into_iter().filter_map(|name| Some((name.clone(), state(case, &name)?))).collect();
    if states.is_empty() {
        let why = Gap::Damaged("list is empty or cannot be read".to_owned());
        return Answer::gap(&why, WEAKNESSES, "");
    }
    let affected = states.iter().filter(|(_, state)| !state.starts_with("Not affected")).count();
    let mitigated = with_words(&states, "Mitigation").len();
    let exposed = with_words(&states, "SMT vulnerable");
    let unsure = with_words(&states, "SMT Host state unknown");
    let command_line = case.tree.text("proc/cmdline").unwrap_or_default();
    let option =
        command_line.split_whitespace().filter_map(|word| word.strip_prefix("mitigations=")).next_back();
    let mut found = format!("{mitigated} of {affected} weaknesses are mitigated");
    let open = with_words(&states, "Vulnerable");
    if !open.is_empty() {
        found.push_str(&format!(" (not {})", open.join(", ")));
    }
    for (names, what) in [
        (&exposed, "siblings can spy on each other by"),
        (&unsure, "the hypervisor does not report whether siblings are safe from"),
    ] {
        if !names.is_empty() {
            found.push_str(&format!("; {what} {}", names.join(", ")));
        }
    }
    if states.iter().any(|(_, state)| state.contains("STIBP: always-on") || state.contains("STIBP: forced")) {
        found.push_str("; siblings share no branch prediction (STIBP), which costs some of the SMT yield");
    }
    let source = format!("/{WEAKNESSES}");
    let words = option.unwrap_or_default();
    if words.split(',').any(|word| word == "off") {
        return Answer::warning(
            format!("mitigations=off; {found}: not the speed of other machines"),
            "/proc/cmdline",
        )
        .remedied("compare only with machines that run with mitigations=off too, or start without it");
    }
    match exposed.is_empty() {
        false => Answer::warning(found, source).remedied(
            "the measurement is valid; but if security requires SMT off, do not plan with its yield",
        ),
        true => Answer::ok(found, source),
    }
}

/// The whole line: its end is about SMT.
fn state(case: &Case<'_>, name: &str) -> Option<String> {
    let text = case.tree.text(&format!("{WEAKNESSES}/{name}")).ok()?;
    text.lines().next().map(str::to_owned)
}

fn with_words<'s>(states: &'s [(String, String)], words: &str) -> Vec<&'s str> {
    states.iter().filter(|(_, state)| state.contains(words)).map(|(name, _)| name.as_str()).collect()
}
