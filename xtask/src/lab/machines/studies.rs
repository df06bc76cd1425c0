//! Small studies on a machine, and whether their runs were on the logical CPUs of their placements.
//!
//! A run counts if the runner has read back every thread's mask; the built machine gives the logical CPUs of a core, a
//! package or two packages.

use super::machine::{Machine, Study};
use crate::lab::guest::arch::X86_64;
use serde_json::Value;
use std::collections::BTreeSet;

impl Study {
    /// Commands of a shell: runs it, writes its runs without their readings, and the beginning of its report.
    pub fn command(&self) -> String {
        format!(
            "rm -f s.threadwise; threadwise run {} --no-probe --allow-busy --no-html --output s.threadwise > log 2>&1 \
             || tail -n 3 log; threadwise export s.threadwise --what runs --format jsonl \
             | sed 's/\"readings\".*\\],\"/\"/'; threadwise report s.threadwise | grep -m 1 EMULATED",
            self.words
        )
    }

    /// Faults of the output of [`Study::command`].
    pub fn judged(&self, machine: &Machine, output: &str) -> Vec<String> {
        let runs: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let valid = runs.iter().filter(|run| run["status"] == "valid").count();
        let mut found: Vec<String> = runs.iter().filter_map(|run| misplaced(machine, run)).collect();
        if valid != self.runs || runs.len() != self.runs {
            let others = output.lines().filter(|line| !line.starts_with('{')).collect::<Vec<_>>().join(" / ");
            let treatments: BTreeSet<String> = runs.iter().map(|run| run["treatment"].to_string()).collect();
            let treatments: Vec<String> = treatments.into_iter().collect();
            found.push(format!(
                "{valid} of {} runs ({}) are valid instead of {}: {others}",
                runs.len(),
                treatments.join(", "),
                self.runs
            ));
        }
        // Other processors do not show that they are emulated.
        let is_seen = *machine.guest.arch == X86_64;
        if is_seen && !output.lines().any(|line| line.contains("EMULATED")) {
            found.push("its report does not say that the machine is emulated".to_owned());
        }
        found
    }
}

/// How a run was not where its treatment's name says.
fn misplaced(machine: &Machine, run: &Value) -> Option<String> {
    let cpus: Vec<u32> =
        run["cpus"].as_array()?.iter().filter_map(|cpu| cpu.as_u64()?.try_into().ok()).collect();
    let (cores, packages) = machine.spread(&cpus);
    let [packages_here, cores_here, threads_here] = machine.guest.smp.map(|number| number as usize);
    let cores_here = packages_here * cores_here;
    // After a slash are levels of factors.
    let wanted = match run["treatment"].as_str()?.split('/').next()? {
        "one-cpu" => (1, 1, 1),
        "same-core" => (2, 1, 1),
        "same-package" => (2, 2, 1),
        "cross-package" => (2, 2, 2),
        "package" => (cores_here / packages_here * threads_here, cores_here / packages_here, 1),
        "no-smt" => (cores_here, cores_here, packages_here),
        "all" => (cores_here * threads_here, cores_here, packages_here),
        _ => return None,
    };
    let had = (cpus.len(), cores, packages);
    (had != wanted)
        .then(|| format!("block {}: {} was on logical CPUs {cpus:?}", run["block"], run["treatment"]))
}

#[cfg(test)]
mod tests {
    use super::super::machine::tables;
    use super::*;

    fn output(treatment: &str, cpus: &str, status: &str) -> String {
        format!("{{\"block\":0,\"cpus\":{cpus},\"status\":\"{status}\",\"treatment\":\"{treatment}\"}}\n")
    }

    #[test]
    fn runs_have_to_be_where_their_placement_is() {
        let machine = &tables().unwrap().machines[0];
        let study = Study { runs: 1, ..Study::default() };
        let judged = |line: String| study.judged(machine, &format!("{line}EMULATED: …\n"));
        for (treatment, cpus) in [
            ("one-cpu", "[7]"),
            ("same-core", "[2,3]"),
            ("same-package", "[4,7]"),
            ("cross-package", "[1,6]"),
            ("package", "[4,5,6,7]"),
            ("no-smt/random", "[0,3,4,6]"),
            ("all", "[0,1,2,3,4,5,6,7]"),
            ("A", "[]"),
        ] {
            assert_eq!(judged(output(treatment, cpus, "valid")), Vec::<String>::new(), "{treatment}");
        }
        for (treatment, cpus) in [
            ("one-cpu", "[0,1]"),
            ("same-core", "[1,2]"),
            ("same-package", "[4,5]"),
            ("cross-package", "[1,2]"),
            ("package", "[0,1,4,5]"),
            ("no-smt/random", "[0,1,4,6]"),
            ("all", "[0,1,2,3,4,5,6]"),
        ] {
            assert_eq!(judged(output(treatment, cpus, "valid")).len(), 1, "{treatment}");
        }
    }

    #[test]
    fn failed_runs_missing_ones_and_a_silent_report_are_faults() {
        let study = Study { runs: 1, ..Study::default() };
        let failed = study.judged(&tables().unwrap().machines[0], &output("A", "[0]", "failed"));
        assert!(
            failed.len() == 2 && failed[0].contains("0 of 1 runs (\"A\") are valid instead of 1"),
            "{failed:?}"
        );
        let none = study.judged(&tables().unwrap().machines[0], "threadwise: no room\n");
        assert!(
            none[0].ends_with("instead of 1: threadwise: no room") && none[1].contains("emulated"),
            "{none:?}"
        );
    }
}
