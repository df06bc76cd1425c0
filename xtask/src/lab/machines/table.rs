//! The table of machines and checks.

use super::checks::{Outcome, names};
use super::machine::Machine;

/// What the document begins with.
const HEAD: &str = "\
# Machines that are emulated

Written by `THREADWISE_WRITE_DOCS=1 cargo xtask machines --all`; not edited by hand.

Each machine is a guest that QEMU emulates in software, with Debian's kernel for virtual machines and the program of \
`cargo xtask dist`. *topology*: `threadwise topology --json` says what the machine was built as: packages, cores, \
siblings, L3s, NUMA nodes and clusters of every logical CPU, what is offline, what is allowed, the quota. *placements*: every \
placement is the logical CPUs that were worked out by hand, or is not possible, for the expected reason. *smt*: what is online after \
`threadwise smt off`, `on`, `off --offline` and `restore`. *kills*: `smt off` and `smt off --offline` are ended when their \
journal and their watchdog are there, when the first logical CPU has gone and when all have: by SIGKILL of the process, by SIGKILL of the \
process and its watchdog, after which `threadwise restore` restores it, by Ctrl-C, and by an error; after each, what is online, \
`smt/control`, cpusets of control groups of version 1, masks of tasks, affinities of interrupts and a logical CPU that an \
administrator has taken offline are as before. A study with arms is ended in the \
same way, in the arm that takes siblings offline. The others are small \
studies, each run of which was on the logical CPUs of its placement: `smt-off`, whose arms switch the machine, \
`cached-reads` on SQLite, by levels too (`l3s`, `nodes`, `nodes-remote`: most of each run's pages were on the nodes of \
its sessions, or hardly any), `concurrent-inserts` on SQLite \
and on the native engine with the tables that 4 GiB hold, `log-buffer` on the native engine, and `threadwise run` by \
itself. `smt-boots` is a study over four boots of the machine, two of them with `nosmt` on the kernel's command line; a \
part is refused on a boot that has the other arm's SMT, and on one that has measured a part already. Times in an emulator mean nothing, and reports from there say so first. The laboratory boots the quick machines and does the \
             quick checks, of the kills one; CI boots two of them.
";

/// In Markdown: a row for each machine, a column for each check.
///
/// # Errors
/// The table of studies is wrong.
pub fn of(rows: &[(&Machine, Vec<Outcome>)]) -> Result<String, String> {
    let names = names()?;
    let mut text = format!(
        "| machine | {} | what it is |\n|---|{}---|\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for (machine, outcomes) in rows {
        let words: Vec<&str> = outcomes.iter().map(word).collect();
        text.push_str(&format!("| {} | {} | {} |\n", machine.name, words.join(" | "), machine.about));
    }
    Ok(text)
}

/// The document of all machines.
///
/// # Errors
/// The table of studies is wrong.
pub fn document(rows: &[(&Machine, Vec<Outcome>)]) -> Result<String, String> {
    Ok(format!("{HEAD}\n{}", of(rows)?))
}

fn word(outcome: &Outcome) -> &'static str {
    match &outcome.found {
        None => "–",
        Some(faults) if faults.is_empty() => "ok",
        Some(_) => "FAILED",
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::tables;
    use super::*;

    /// What the document says may be of earlier code, but not of other machines.
    #[test]
    fn the_document_has_all_machines_and_checks() {
        let text = include_str!("../../../../evidence/machines.md");
        assert!(text.starts_with(HEAD));
        let head = text.lines().find(|line| line.starts_with("| machine ")).unwrap();
        assert!(names().unwrap().iter().all(|name| head.contains(name)), "{head}");
        let machines = &tables().unwrap().machines;
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(rows.len(), machines.len());
        for (row, machine) in rows.iter().zip(machines) {
            assert!(
                row.starts_with(&format!("| {} |", machine.name)) && row.contains(&machine.about),
                "{row}"
            );
            assert!(!row.contains("FAILED"), "{row}");
        }
    }

    #[test]
    fn a_row_has_a_word_for_each_check() {
        let outcome = |name, found| Outcome { name, found };
        let outcomes = vec![
            outcome("topology", Some(Vec::new())),
            outcome("placements", Some(vec!["all: 0".to_owned()])),
        ];
        let machines = &tables().unwrap().machines;
        let text = of(&[(&machines[4], outcomes), (&machines[0], vec![outcome("topology", None)])]).unwrap();
        assert!(text.contains("\n| one-cpu | ok | FAILED | 1 logical CPU |\n"), "{text}");
        assert!(text.contains("\n| two-packages-smt | – | "), "{text}");
        let empty = document(&[]).unwrap();
        assert!(empty.starts_with("# Machines") && empty.contains("\n\n| machine |"));
        let columns = names().unwrap().len() + 2;
        assert_eq!(text.lines().nth(1), Some(format!("|{}", "---|".repeat(columns)).as_str()));
    }
}
