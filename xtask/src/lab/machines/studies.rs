//! Small studies on a machine, and whether their runs were on the logical CPUs of their placements and had their memory
//! on the nodes of their policy.
//!
//! A run counts if the runner has read back every thread's mask; the built machine gives the logical CPUs of a core, an
//! L3, a NUMA node or a package.

use super::machine::{Machine, Study};
use crate::lab::guest::arch::X86_64;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The sampler of pages by NUMA node (`threadwise_study::pages`).
const MEMORY: &str = "numa-maps";
/// A serial console is slow, and has no room for readings of other samplers.
const MEMORY_ALONE: &str =
    r#"sed -e 's/{[^{}]*"sampler":"\(numa"\|n[^u]\|[^n]\)[^{}]*},\{0,1\}//g' -e 's/},\],"/}],"/'"#;

impl Study {
    /// Commands of a shell: runs it, writes its runs with their readings of memory, and the beginning of its report.
    pub fn command(&self) -> String {
        format!(
            "rm -f s.threadwise; threadwise run {} --no-probe --allow-busy --no-html --output s.threadwise > log 2>&1 \
             || tail -n 3 log; threadwise export s.threadwise --what runs --format jsonl \
             | {MEMORY_ALONE}; threadwise report s.threadwise | grep -m 1 EMULATED",
            self.words
        )
    }

    /// Faults of the output of [`Study::command`].
    pub fn judged(&self, machine: &Machine, output: &str) -> Vec<String> {
        let runs: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let valid = runs.iter().filter(|run| run["status"] == "valid").count();
        let mut found: Vec<String> = runs.iter().filter_map(|run| misplaced(machine, run)).collect();
        if let Some(bounds) = self.own_nodes_percent {
            found.extend(runs.iter().filter_map(|run| mislaid(machine, run, bounds)));
        }
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

/// The logical CPUs of a run.
fn cpus(run: &Value) -> Vec<u32> {
    let cpus = run["cpus"].as_array().into_iter().flatten();
    cpus.filter_map(|cpu| cpu.as_u64()?.try_into().ok()).collect()
}

/// How a run was not where its treatment's name says.
fn misplaced(machine: &Machine, run: &Value) -> Option<String> {
    let cpus = cpus(run);
    let all: Vec<u32> = (0..machine.guest.cpus()).collect();
    let [cores, dies, nodes, packages] = machine.spread(&all);
    // After a slash are levels of factors.
    let name = match run["treatment"].as_str()?.split('/').next()? {
        "same-node" | "same-package" if dies > nodes => "cross-l3",
        "same-package" if nodes > packages => "cross-node",
        "same-node" | "same-package" => "same-l3",
        name => name,
    };
    let (count, groups) = match name {
        "one-cpu" => (1, [1, 1, 1, 1]),
        "one-core" => (all.len() / cores, [1, 1, 1, 1]),
        "same-core" => (2, [1, 1, 1, 1]),
        "same-l3" => (2, [2, 1, 1, 1]),
        "cross-l3" => (2, [2, 2, 1, 1]),
        "cross-node" => (2, [2, 2, 2, 1]),
        "cross-package" => (2, [2, 2, 2, 2]),
        "package" => (all.len() / packages, [cores / packages, dies / packages, nodes / packages, 1]),
        "no-smt" => (cores, [cores, dies, nodes, packages]),
        "all" => (all.len(), [cores, dies, nodes, packages]),
        _ => return None,
    };
    ((cpus.len(), machine.spread(&cpus)) != (count, groups))
        .then(|| format!("block {}: {} was on logical CPUs {cpus:?}", run["block"], run["treatment"]))
}

/// How the share of a run's memory on the nodes of its sessions, after the last slice, is outside its bounds.
fn mislaid(machine: &Machine, run: &Value, [least, most]: [u32; 2]) -> Option<String> {
    let own_nodes: BTreeSet<u32> = cpus(run).into_iter().map(|cpu| machine.node(cpu)).collect();
    let memory = bytes_by_node(run);
    let on_own: f64 =
        memory.iter().filter(|(node, _)| own_nodes.contains(node)).map(|(_, bytes)| bytes).sum();
    let percent = 100.0 * on_own / memory.values().sum::<f64>();
    // Without readings it is 0 of 0 bytes, which is in no range.
    (!(f64::from(least)..=f64::from(most)).contains(&percent)).then(|| {
        format!(
            "block {}: {} had {percent:.1}% of its memory on its own nodes {own_nodes:?} instead of {least}% to {most}%: {memory:?}",
            run["block"], run["treatment"]
        )
    })
}

/// The last reading of each node, bytes.
fn bytes_by_node(run: &Value) -> BTreeMap<u32, f64> {
    let of_node = |reading: &Value| {
        let node = reading["metric"].as_str()?.strip_prefix("node_")?.strip_suffix("_bytes")?;
        (reading["sampler"] == MEMORY).then_some((node.parse().ok()?, reading["value"].as_f64()?))
    };
    run["readings"].as_array().into_iter().flatten().filter_map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::super::machine::tables;
    use super::*;
    use serde_json::json;

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

    fn machine(name: &str) -> &'static Machine {
        tables().unwrap().machines.iter().find(|machine| machine.name == name).unwrap()
    }

    #[test]
    fn levels_are_those_of_the_built_machine() {
        let is_misplaced = |name: &str, treatment: &str, cpus: &str| {
            let run = output(treatment, cpus, "valid");
            misplaced(machine(name), &serde_json::from_str(&run).unwrap()).is_some()
        };
        for (machine, treatment, right, wrong) in [
            ("two-l3s", "one-core", "[2,3]", ["[2]", "[1,2]"]),
            ("two-l3s", "same-core", "[4,5]", ["[3,4]", "[4]"]),
            ("two-l3s", "same-l3", "[5,6]", ["[2,4]", "[4,5]"]),
            ("two-l3s", "cross-l3", "[3,4]", ["[0,2]", "[0,1]"]),
            ("two-l3s", "same-node", "[3,4]", ["[0,2]", "[0,1]"]),
            ("two-l3s", "same-package", "[0,6]", ["[4,6]", "[6,7]"]),
            ("two-l3s", "package", "[0,1,2,3,4,5,6,7]", ["[0,1,2,3]", "[0,1]"]),
            ("two-l3s", "no-smt", "[0,3,5,6]", ["[0,1,5,6]", "[0,4]"]),
            ("four-nodes", "same-l3", "[6,7]", ["[5,6]", "[6]"]),
            ("four-nodes", "same-node", "[2,3]", ["[1,2]", "[3,4]"]),
            ("four-nodes", "cross-node", "[4,7]", ["[6,7]", "[3,4]"]),
            ("four-nodes", "same-package", "[1,2]", ["[0,1]", "[3,4]"]),
            ("four-nodes", "cross-package", "[3,4]", ["[0,2]", "[0,1]"]),
            ("four-nodes", "package", "[4,5,6,7]", ["[2,3,4,5]", "[4,5,6]"]),
        ] {
            assert!(!is_misplaced(machine, treatment, right), "{machine}: {treatment} {right}");
            for cpus in wrong {
                assert!(is_misplaced(machine, treatment, cpus), "{machine}: {treatment} {cpus}");
            }
        }
    }

    /// A run on node 1 of `four-nodes`, and the bytes that two readings of each node found.
    fn remembered(bytes: [[u64; 2]; 4]) -> Value {
        let reading = |node: usize, value: u64| json!({"sampler": MEMORY, "metric": format!("node_{node}_bytes"), "value": value});
        let readings = [0, 1].map(|time| {
            let of_node = |(node, of_node): (usize, &[u64; 2])| reading(node, of_node[time]);
            bytes.iter().enumerate().map(of_node).collect::<Vec<_>>()
        });
        json!({"block": 0, "treatment": "same-l3", "cpus": [2, 3], "readings": readings.concat()})
    }

    #[test]
    fn memory_has_to_lie_where_its_policy_says() {
        let found = |run: &Value, bounds| mislaid(machine("four-nodes"), run, bounds);
        let (local, remote) = ([90, 100], [0, 10]);
        let first_there = remembered([[900, 50], [0, 950], [0, 0], [0, 0]]);
        assert_eq!(found(&first_there, local), None);
        let why = found(&first_there, remote).unwrap();
        assert!(why.contains("same-l3\" had 95.0% of its memory on its own nodes {1}"), "{why}");
        let elsewhere = remembered([[0, 0], [50, 50], [0, 0], [950, 950]]);
        assert_eq!(found(&elsewhere, remote), None);
        assert!(found(&elsewhere, local).is_some());
    }

    #[test]
    fn a_run_without_readings_of_memory_is_a_fault() {
        let mut run = remembered([[1, 1], [1, 1], [1, 1], [1, 1]]);
        run["readings"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|reading| reading["sampler"] = json!("neighbour"));
        assert!(mislaid(machine("four-nodes"), &run, [0, 100]).is_some());
        run["readings"] = json!([]);
        assert!(mislaid(machine("four-nodes"), &run, [0, 100]).is_some());
        // A study says whether its runs are asked for them.
        let line = format!("{}EMULATED\n", output("same-l3", "[2,3]", "valid"));
        let study = Study { runs: 1, ..Study::default() };
        assert_eq!(study.judged(machine("four-nodes"), &line), Vec::<String>::new());
        let study = Study { own_nodes_percent: Some([90, 100]), ..study };
        assert_eq!(study.judged(machine("four-nodes"), &line).len(), 1);
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
