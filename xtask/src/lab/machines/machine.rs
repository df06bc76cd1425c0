//! The machines that are built (`machines.toml`), and the comparison of the program's output with them.

use crate::lab::guest::Guest;
use crate::lab::guest::arch::X86_64;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A machine to build, and the expected output on it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Its name on the command line.
    pub name: String,
    /// Its description.
    pub about: String,
    /// Whether only `--all` boots it.
    pub by_all: bool,
    /// Its hardware.
    pub guest: Guest,
    /// Logical CPUs that are present and offline.
    pub offline: Vec<u32>,
    /// The logical CPUs that the program may use, if not all online ones.
    pub allowed: Option<String>,
    /// CPU quota of the program's group.
    pub quota_cpus: Option<f64>,
    /// Commands of a shell before all others, one a line.
    pub before: String,
    /// Checks that are not done on every machine, by their names.
    pub checks: Vec<String>,
    /// Placements, one a line, each with its logical CPUs or `lacks` and a word of the reason.
    pub placements: String,
}

/// A study and its options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The check that it is.
    pub name: String,
    /// Preset and options of `threadwise run`.
    pub words: String,
    /// Number of valid runs at the end.
    pub runs: usize,
    /// Whether only `--all` runs it.
    #[serde(default)]
    pub by_all: bool,
    /// Least and largest share of each run's memory on the NUMA nodes of its sessions, percent, if it is judged.
    #[serde(default)]
    pub own_nodes_percent: Option<[u32; 2]>,
}

/// The machines and studies of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// The machines.
    #[serde(rename = "machine")]
    pub machines: Vec<Machine>,
    /// The studies.
    #[serde(rename = "study")]
    pub studies: Vec<Study>,
}

static TABLES: LazyLock<Result<Tables, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("machines.toml")).map_err(|error| format!("machines.toml: {error}"))
});

/// The machines and studies.
///
/// # Errors
/// The file is wrong.
pub fn tables() -> Result<&'static Tables, String> {
    TABLES.as_ref().map_err(Clone::clone)
}

/// Expected result of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// These logical CPUs, as a list of OS numbers.
    Cpus(&'a str),
    /// Not possible: the reason has this word.
    Lacks(&'a str),
}

/// Position of a logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CorePosition {
    package: u32,
    /// Over the whole machine, as the core. A package that is not divided is one die.
    die: u32,
    core: u32,
}

impl Machine {
    /// The placements and their expected results.
    pub fn placements(&self) -> impl Iterator<Item = (&str, Wanted<'_>)> {
        self.placements.lines().filter_map(|line| {
            let (text, wanted) = line.split_once(' ')?;
            Some((text, wanted.strip_prefix("lacks ").map_or(Wanted::Cpus(wanted), Wanted::Lacks)))
        })
    }

    /// QEMU numbers threads of a core first, then cores, then dies, then sockets.
    fn place(&self, cpu: u32) -> CorePosition {
        let [_, cores, threads] = self.guest.smp;
        let core = cpu / threads;
        CorePosition { package: core / cores, die: core / (cores / self.guest.dies.max(1)), core }
    }

    /// The number of cores, dies, NUMA nodes and packages of logical CPUs. A node of several packages is one in each.
    pub fn spread(&self, cpus: &[u32]) -> [usize; 4] {
        let places: Vec<(CorePosition, u32)> =
            cpus.iter().map(|&cpu| (self.place(cpu), self.node(cpu))).collect();
        let count = |group: fn(&(CorePosition, u32)) -> (u32, u32)| {
            places.iter().map(group).collect::<BTreeSet<(u32, u32)>>().len()
        };
        [
            count(|(place, _)| (place.package, place.core)),
            count(|(place, _)| (place.package, place.die)),
            count(|(place, node)| (place.package, *node)),
            count(|(place, _)| (place.package, 0)),
        ]
    }

    /// The logical CPUs that are online, as the kernel lists them.
    pub fn online(&self) -> String {
        list((0..self.guest.cpus()).filter(|&cpu| self.is_online(cpu)))
    }

    /// One logical CPU of each core, as the kernel lists them.
    pub fn first_of_cores(&self) -> String {
        list((0..self.guest.cpus()).filter(|cpu| cpu % self.guest.smp[2] == 0))
    }

    /// The NUMA node of a logical CPU.
    pub fn node(&self, cpu: u32) -> u32 {
        let holds = |list: &str| list.split(',').any(|range| in_range(range, cpu));
        let found = self.guest.numa.iter().position(|node| holds(&node.cpus));
        found.and_then(|at| u32::try_from(at).ok()).unwrap_or(0)
    }

    fn is_online(&self, cpu: u32) -> bool {
        !self.offline.contains(&cpu)
    }

    fn is_allowed(&self, cpu: u32) -> bool {
        self.is_online(cpu)
            && self.allowed.as_ref().is_none_or(|list| list.split(',').any(|range| in_range(range, cpu)))
    }

    /// The logical CPUs that may be used.
    fn usable(&self) -> Vec<u32> {
        (0..self.guest.cpus()).filter(|&cpu| self.is_allowed(cpu)).collect()
    }

    /// Differences of `topology --json` from what was built, one line each.
    pub fn topology_differs(&self, said: &Value) -> Vec<String> {
        let mut found = Vec::new();
        let cpus = (0..self.guest.cpus()).map(|cpu| self.cpu(cpu));
        let wanted = json!({
            "counts": self.counts(), "logical_cpus": cpus.collect::<Vec<_>>(), "limits": {"quota_cpus": self.quota_cpus},
        });
        differences("", &resolved(said), &wanted, &mut found);
        found
    }

    /// What is said of a logical CPU; of one that is offline only that.
    fn cpu(&self, cpu: u32) -> Value {
        let place = self.place(cpu);
        let mut built = json!({"os_id": cpu, "online": self.is_online(cpu), "allowed": self.is_allowed(cpu)});
        if self.is_online(cpu) {
            let others = (0..self.guest.cpus()).filter(|&other| self.is_online(other));
            built["siblings"] = others.filter(|&other| self.place(other) == place).collect();
        }
        if self.is_allowed(cpu) {
            built["numa_node"] = self.node(cpu).into();
            if self.has_l3s() {
                let of_die = self.usable().into_iter().filter(|&other| self.place(other).die == place.die);
                built["llc"] = list(of_die).into();
            }
        }
        built
    }

    /// QEMU gives a die of an x86 processor an L3, and declares no such cache for others.
    fn has_l3s(&self) -> bool {
        *self.guest.arch == X86_64
    }

    fn counts(&self) -> Value {
        let usable = self.usable();
        let count = |group: &dyn Fn(u32) -> u32| {
            usable.iter().map(|&cpu| group(cpu)).collect::<BTreeSet<u32>>().len()
        };
        let on_core =
            |&cpu: &u32| usable.iter().filter(|&&other| self.place(other) == self.place(cpu)).count();
        let memory_nodes = self.guest.numa.iter().filter(|node| node.cpus.is_empty()).count();
        let mut counts = json!({
            "packages": count(&|cpu| self.place(cpu).package),
            "cores": count(&|cpu| self.place(cpu).core),
            "logical_cpus": usable.len(),
            "max_threads_per_core": usable.iter().map(on_core).max().unwrap_or(0),
            "numa_nodes": count(&|cpu| self.node(cpu)) + memory_nodes,
        });
        if let Some(cores) = self.guest.smp[1].checked_div(self.guest.clusters) {
            counts["clusters"] = count(&|cpu| self.place(cpu).core / cores).into();
        }
        if self.has_l3s() {
            let dies = self.spread(&usable)[1];
            counts["dies"] = dies.into();
            counts["llc_domains"] = dies.into();
        }
        counts
    }

    /// Differences of the placements in `topology --json --placement …` from the expected ones.
    pub fn placements_differ(&self, said: &Value) -> Vec<String> {
        let mut found = Vec::new();
        for (at, (text, wanted)) in self.placements().enumerate() {
            let one = &said["placements"][at];
            differences("placement", &one["placement"], &json!(text), &mut found);
            match wanted {
                Wanted::Cpus(cpus) => differences(text, &one["os_cpus"], &json!(cpus), &mut found),
                Wanted::Lacks(word) => match one["lacks"].as_str() {
                    Some(lacks) if lacks.contains(word) => {}
                    _ => found.push(format!("{text}: {one}, but it is not possible for lack of '{word}'")),
                },
            }
        }
        found
    }
}

/// The same with nodes and caches of logical CPUs in place of their indices.
fn resolved(said: &Value) -> Value {
    let mut resolved = said.clone();
    for cpu in resolved["logical_cpus"].as_array_mut().into_iter().flatten() {
        for (key, list, name) in [("numa_node", "numa_nodes", "os_id"), ("llc", "llc_domains", "os_cpus")] {
            if let Some(index) = cpu[key].as_u64() {
                cpu[key] = said[list][index as usize][name].clone();
            }
        }
    }
    resolved
}

/// As the kernel lists numbers: `0-3,8`.
fn list(numbers: impl Iterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Adds what is wanted and not said, by its place.
pub fn differences(place: &str, said: &Value, wanted: &Value, found: &mut Vec<String>) {
    match wanted {
        Value::Object(wanted) => {
            for (key, wanted) in wanted {
                differences(&format!("{place} {key}"), &said[key], wanted, found);
            }
        }
        // Lists of numbers are compared as they are.
        Value::Array(wanted) if wanted.iter().any(Value::is_object) => {
            for (at, wanted) in wanted.iter().enumerate() {
                differences(&format!("{place} {at}"), &said[at], wanted, found);
            }
        }
        wanted if said != wanted => found.push(format!("{}: {said}, built as {wanted}", place.trim_start())),
        _ => {}
    }
}

/// Whether a number is in `3` or `0-3`.
fn in_range(range: &str, number: u32) -> bool {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let within = |first: u32, last: u32| (first..=last).contains(&number);
    matches!((first.parse(), last.parse()), (Ok(first), Ok(last)) if within(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let text = "guest.smp = [2, 1, 2]\noffline = [3]\n\
            guest.numa = [{ cpus = '0-1', memory_mib = 64 }, { cpus = '2-3', memory_mib = 64 }]";
        let placements = "same-core 0-1\n2s1c2t lacks siblings\n".to_owned();
        Machine { placements, ..toml::from_str(text).unwrap() }
    }

    fn said() -> Value {
        let cpu = |os_id: u32, siblings: Value, node: Value, is_online: bool| json!({"os_id": os_id, "siblings": siblings, "numa_node": node, "llc": node, "online": is_online, "allowed": is_online});
        json!({
            "counts": {
                "packages": 2, "dies": 2, "llc_domains": 2, "cores": 2, "logical_cpus": 3,
                "max_threads_per_core": 2, "numa_nodes": 2,
            },
            "logical_cpus": [
                cpu(0, json!([0, 1]), json!(0), true), cpu(1, json!([0, 1]), json!(0), true),
                cpu(2, json!([2]), json!(1), true), cpu(3, json!([]), json!(null), false),
            ],
            "numa_nodes": [{"os_id": 0}, {"os_id": 1}],
            "llc_domains": [{"os_cpus": "0-1"}, {"os_cpus": "2"}],
            "limits": {"quota_cpus": null},
            "placements": [
                {"placement": "same-core", "os_cpus": "0-1", "lacks": null},
                {"placement": "2s1c2t", "os_cpus": null, "lacks": "1 core with SMT siblings"},
            ],
        })
    }

    #[test]
    fn what_was_built_does_not_differ() {
        assert_eq!(machine().topology_differs(&said()), Vec::<String>::new());
        assert_eq!(machine().placements_differ(&said()), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_named() {
        let changes = [
            ("/counts/cores", json!(3), "counts cores: 3, built as 2"),
            ("/counts/numa_nodes", json!(1), "numa_nodes"),
            ("/counts/llc_domains", json!(1), "counts llc_domains: 1, built as 2"),
            ("/logical_cpus/1/siblings", json!([1]), "logical_cpus 1 siblings: [1], built as [0,1]"),
            ("/logical_cpus/2/numa_node", json!(0), "logical_cpus 2 numa_node: 0, built as 1"),
            ("/logical_cpus/2/llc", json!(0), "logical_cpus 2 llc: \"0-1\", built as \"2\""),
            ("/logical_cpus/3/online", json!(true), "logical_cpus 3 online"),
            ("/limits/quota_cpus", json!(1.5), "limits quota_cpus: 1.5, built as null"),
        ];
        for (place, value, wanted) in changes {
            let mut other = said();
            *other.pointer_mut(place).unwrap() = value;
            let found = machine().topology_differs(&other);
            assert!(found.len() == 1 && found[0].contains(wanted), "{place}: {found:?}");
        }
        for (place, value) in
            [("/placements/0/os_cpus", json!("0,2")), ("/placements/1/lacks", json!("2 packages"))]
        {
            let mut other = said();
            *other.pointer_mut(place).unwrap() = value;
            assert_eq!(machine().placements_differ(&other).len(), 1, "{place}");
        }
        assert!(!machine().topology_differs(&json!({})).is_empty());
        assert_eq!(machine().placements_differ(&json!({})).len(), 4);
    }

    #[test]
    fn cores_of_a_package_are_divided_among_its_dies() {
        let text = "guest.smp = [2, 4, 2]\nguest.dies = 2\n\
            guest.numa = [{ cpus = '0-3,8-11', memory_mib = 64 }, { cpus = '4-7,12-15', memory_mib = 64 }]";
        let machine: Machine = toml::from_str(text).unwrap();
        let spread = |cpus: &[u32]| machine.spread(cpus);
        assert_eq!(spread(&[0, 1]), [1, 1, 1, 1]);
        assert_eq!(spread(&[0, 2]), [2, 1, 1, 1]);
        assert_eq!(spread(&[2, 4]), [2, 2, 2, 1]);
        // The same node in two packages.
        assert_eq!(spread(&[0, 8]), [2, 2, 2, 2]);
        assert_eq!(spread(&(0..16).collect::<Vec<u32>>()), [8, 4, 4, 2]);
    }

    #[test]
    fn lists_are_written_as_the_kernel_does() {
        assert_eq!(list([0, 1, 2, 5, 7, 8].into_iter()), "0-2,5,7-8");
        assert_eq!(list(std::iter::empty()), "");
    }

    #[test]
    fn lists_hold_their_numbers() {
        assert!(in_range("3", 3) && in_range("0-3", 0) && in_range("0-3", 3));
        assert!(!in_range("0-3", 4) && !in_range("", 0) && !in_range("x", 0));
    }
}
