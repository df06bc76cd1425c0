//! SMT off, on and restored, on a kernel that has siblings, and the online logical CPUs after each.

use super::machine::Machine;

/// Each step and the file with the online logical CPUs.
const STEPS: [&str; 4] = ["smt off --yes", "smt on --yes", "smt off --offline --yes", "restore"];
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Commands of a shell: each step, and then the online logical CPUs.
pub fn command() -> String {
    let step = |words: &&str| format!("threadwise {words} > log 2>&1 || tail -n 1 log; cat {ONLINE}");
    STEPS.iter().map(step).collect::<Vec<_>>().join("; ")
}

/// Faults of the output of [`command`].
pub fn judged(machine: &Machine, output: &str) -> Vec<String> {
    let all = machine.online();
    let one_of_each = machine.first_of_cores();
    let wanted = [&one_of_each, &all, &one_of_each, &all];
    let lines: Vec<&str> = output.lines().collect();
    if lines.len() != STEPS.len() {
        return vec![format!("{} lines instead of {}: {}", lines.len(), STEPS.len(), lines.join(" / "))];
    }
    let differs = |((step, said), wanted): ((&&str, &&str), &&String)| {
        (said.trim() != wanted.as_str())
            .then(|| format!("after '{step}' {said} are online instead of {wanted}"))
    };
    STEPS.iter().zip(&lines).zip(&wanted).filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::super::machine::tables;
    use super::*;

    #[test]
    fn one_of_each_core_stays_and_all_come_back() {
        let machine = &tables().unwrap().machines[0];
        assert_eq!(judged(machine, "0,2,4,6\n0-7\n0,2,4,6\n0-7\n"), Vec::<String>::new());
        let found = judged(machine, "0,2,4,6\n0,2,4,6\n0,2,4,6\n0-6\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], "after 'restore' 0-6 are online instead of 0-7");
        assert!(
            judged(machine, "threadwise: no\n0-7\n")[0]
                .contains("2 lines instead of 4: threadwise: no / 0-7")
        );
    }
}
