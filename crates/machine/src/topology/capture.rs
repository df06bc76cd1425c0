//! Records a machine, for a bug report, as a folder that can be read as a root.
//!
//! Only the files named here are copied, and of those that hold more than topology only the needed lines: no
//! serial number, host name, hardware address or UUID. Control groups keep their nesting and their limits; their
//! names, which show services, users and containers, are replaced.

use super::groups::{ControlGroup, Membership};
use super::identity::{DEVICE_TREES, PARTITION_NAME};
use super::limits::{CPU_FILES, NODE_FILES};
use super::tree::{Dir, LARGE_BYTES, Tree};
use super::{TopologyError, cpuinfo};
use crate::text::is_deceptive;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

const CPU_FOLDER: [&str; 6] = ["possible", "present", "online", "offline", "kernel_max", "isolated"];
const TOPOLOGY: [&str; 18] = [
    "book_id",
    "drawer_id",
    "core_id",
    "physical_package_id",
    "die_id",
    "cluster_id",
    "core_cpus",
    "core_cpus_list",
    "thread_siblings",
    "thread_siblings_list",
    "package_cpus",
    "package_cpus_list",
    "core_siblings",
    "core_siblings_list",
    "die_cpus",
    "die_cpus_list",
    "cluster_cpus",
    "cluster_cpus_list",
];
const CACHE: [&str; 8] = [
    "id",
    "level",
    "type",
    "size",
    "shared_cpu_list",
    "shared_cpu_map",
    "coherency_line_size",
    "ways_of_associativity",
];
const NODE_FOLDER: [&str; 5] = ["online", "possible", "has_cpu", "has_memory", "has_normal_memory"];
/// Keys of /proc/cpuinfo for the kind of processor and its place, on any architecture.
const CPUINFO_KEYS: [&str; 28] = [
    "processor",
    "vendor_id",
    "vendor",
    "cpu family",
    "family",
    "model",
    "model name",
    "Model Name",
    "cpu model",
    "cpu",
    "Processor",
    "uarch",
    "isa",
    "arch",
    "stepping",
    "revision",
    "physical id",
    "siblings",
    "core id",
    "cpu cores",
    "thread id",
    "flags",
    "Features",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
];
const CONTROLLERS: [&str; 4] = ["cpuset", "cpu", "memory", "cpuacct"];
/// Group names that every system of a kind has: they reveal nothing and help the reader.
const COMMON_GROUPS: [&str; 14] = [
    "system.slice",
    "user.slice",
    "init.scope",
    "machine.slice",
    "kubepods",
    "kubepods.slice",
    "burstable",
    "besteffort",
    "kubepods-burstable.slice",
    "kubepods-besteffort.slice",
    "docker",
    "lxc",
    "podman",
    "slurm",
];

/// Summary of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureSummary {
    /// Number of files.
    pub files: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Control groups and mount points that got a neutral name.
    pub renamed: u64,
}

/// Records the machine below `root` in the folder `to`, which must be new or empty. Reading the recording gives
/// the same topology, limits and identity, except the affinity of a live process; the path of a quota's file has
/// neutral names.
///
/// # Errors
/// [`TopologyError::NoSys`] when the root has no CPU description, [`TopologyError::Record`] when
/// the target is not empty or cannot be written, [`TopologyError::File`] for a file of the root
/// that cannot be read.
pub fn capture(root: &Path, to: &Path) -> Result<CaptureSummary, TopologyError> {
    let tree = Tree::open(root)?;
    if tree.dir("sys/devices/system/cpu").is_none() {
        return Err(TopologyError::NoSys { root: root.to_owned() });
    }
    let mut recorder = Recorder { to: to.to_owned(), summary: CaptureSummary::default() };
    recorder.claim()?;
    recorder.cpus(&tree)?;
    recorder.nodes(&tree)?;
    recorder.identity(&tree)?;
    recorder.control_groups(&tree)?;
    Ok(recorder.summary)
}

struct Recorder {
    to: PathBuf,
    summary: CaptureSummary,
}

impl Recorder {
    /// Creates the target, or accepts an empty folder.
    fn claim(&self) -> Result<(), TopologyError> {
        let refuse = |why: String| TopologyError::Record { path: self.to.clone(), why };
        fs::create_dir_all(&self.to).map_err(|error| refuse(error.to_string()))?;
        let mut entries = fs::read_dir(&self.to).map_err(|error| refuse(error.to_string()))?;
        match entries.next() {
            None => Ok(()),
            Some(_) => Err(refuse("it is not empty; name a new or empty folder".to_owned())),
        }
    }

    fn folder(&self, folder: &str) -> Result<PathBuf, TopologyError> {
        let path = self.to.join(folder);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(error) => Err(TopologyError::Record { path, why: error.to_string() }),
        }
    }

    fn write(&mut self, folder: &str, name: &str, text: &str) -> Result<(), TopologyError> {
        let path = self.folder(folder)?.join(name);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| TopologyError::Record { path, why: error.to_string() })?;
        self.summary.files += 1;
        self.summary.bytes += text.len() as u64;
        Ok(())
    }

    /// Copies the named files of a folder, if they exist.
    fn copy(&mut self, from: Option<Dir<'_>>, folder: &str, names: &[&str]) -> Result<(), TopologyError> {
        let Some(from) = from else { return Ok(()) };
        self.folder(folder)?;
        for name in names {
            if let Some(text) = from.text(name)? {
                self.write(folder, name, &text)?;
            }
        }
        Ok(())
    }

    fn cpus(&mut self, tree: &Tree) -> Result<(), TopologyError> {
        let folder = "sys/devices/system/cpu";
        self.copy(tree.dir(folder), folder, &CPU_FOLDER)?;
        let smt = format!("{folder}/smt");
        self.copy(tree.dir(&smt), &smt, &["control", "active"])?;
        for (cpu, dir) in tree.dir(folder).map(|dir| dir.numbered("cpu")).unwrap_or_default() {
            let place = format!("{folder}/cpu{cpu}");
            self.copy(Some(dir.clone()), &place, &["online", "cpu_capacity"])?;
            self.copy(dir.sub("topology"), &format!("{place}/topology"), &TOPOLOGY)?;
            self.copy(dir.sub("cpufreq"), &format!("{place}/cpufreq"), &["cpuinfo_max_freq"])?;
            for (index, cache) in dir.sub("cache").map(|dir| dir.numbered("index")).unwrap_or_default() {
                self.copy(Some(cache), &format!("{place}/cache/index{index}"), &CACHE)?;
            }
        }
        for device in ["cpu_core", "cpu_atom", "cpu_lowpower"] {
            let folder = format!("sys/devices/{device}");
            self.copy(tree.dir(&folder), &folder, &["cpus"])?;
        }
        Ok(())
    }

    fn nodes(&mut self, tree: &Tree) -> Result<(), TopologyError> {
        let folder = "sys/devices/system/node";
        self.copy(tree.dir(folder), folder, &NODE_FOLDER)?;
        for (node, dir) in tree.dir(folder).map(|dir| dir.numbered("node")).unwrap_or_default() {
            let place = format!("{folder}/node{node}");
            self.copy(Some(dir.clone()), &place, &["cpulist", "cpumap", "distance"])?;
            if let Some(text) = dir.text("meminfo")? {
                self.write(&place, "meminfo", &lines(&text, |line| line.contains("MemTotal:")))?;
            }
        }
        Ok(())
    }

    fn identity(&mut self, tree: &Tree) -> Result<(), TopologyError> {
        for (folder, names) in [
            ("sys/hypervisor", &["type"][..]),
            ("sys/class/dmi/id", &["sys_vendor", "product_name"]),
            ("proc/sys/kernel", &["osrelease"]),
        ] {
            self.copy(tree.dir(folder), folder, names)?;
        }
        if let Some(folder) = DEVICE_TREES.into_iter().find(|folder| tree.dir(folder).is_some()) {
            let to = DEVICE_TREES[0];
            self.copy(tree.dir(folder), to, &["compatible"])?;
            let hypervisor = tree.dir(&format!("{folder}/hypervisor"));
            self.copy(hypervisor, &format!("{to}/hypervisor"), &["compatible"])?;
            if tree.text(folder, PARTITION_NAME)?.is_some_and(|name| !name.is_empty()) {
                // Its presence shows the hypervisor; its name is private.
                self.write(to, PARTITION_NAME, "partition\0")?;
            }
        }
        let Some(proc) = tree.dir("proc") else { return Ok(()) };
        if let Some(text) = proc.text("sysinfo")? {
            self.write("proc", "sysinfo", &lines(&text, |line| line.contains("Control Program:")))?;
        }
        if let Some(text) = proc.text_within("cpuinfo", LARGE_BYTES)? {
            let kept = |line: &str| match cpuinfo::pair(line) {
                Some((key, _)) => CPUINFO_KEYS.contains(&key),
                None => line.trim().is_empty(),
            };
            self.write("proc", "cpuinfo", &lines(&text, kept))?;
        }
        if let Some(text) = proc.text("meminfo")? {
            self.write("proc", "meminfo", &lines(&text, |line| line.starts_with("MemTotal:")))?;
        }
        Ok(())
    }

    /// The groups of the process for the controllers that limit CPUs and memory, as mount lines,
    /// /proc/self/cgroup lines and the limit files of each level.
    fn control_groups(&mut self, tree: &Tree) -> Result<(), TopologyError> {
        let membership = Membership::read(tree)?;
        let sets = CPU_FILES.iter().chain(&NODE_FILES).map(|(name, _)| *name).collect();
        let wanted: [(&str, Vec<&str>); 3] = [
            ("cpuset", sets),
            (
                "cpu",
                vec!["cpu.max", "cpu.max.burst", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"],
            ),
            ("memory", vec!["memory.max", "memory.limit_in_bytes"]),
        ];
        let mut names = Neutral::default();
        // Mount point, kind and group path, and the controllers found there.
        let mut mounts: BTreeMap<(String, String, String), Vec<&str>> = BTreeMap::new();
        for (controller, files) in wanted {
            let Some(group) = membership.group(tree, controller) else { continue };
            let point = names.mount_point(&group.mount.point);
            let path = self.levels(&group, &point, &files, &mut names)?;
            mounts.entry((point, group.mount.kind, path)).or_default().push(controller);
        }
        let (mut mount_lines, mut group_lines) = (String::new(), String::new());
        for (number, ((point, kind, path), controllers)) in mounts.iter().enumerate() {
            let controllers = controllers.join(",");
            if kind == "cgroup2" {
                mount_lines.push_str(&format!("cgroup2 {point} cgroup2 rw 0 0\n"));
                group_lines.push_str(&format!("0::{path}\n"));
            } else {
                mount_lines.push_str(&format!("{kind} {point} {kind} rw,{controllers} 0 0\n"));
                group_lines.push_str(&format!("{}:{controllers}:{path}\n", number + 1));
            }
        }
        if membership.is_hidden(tree, "cpu") {
            group_lines.push_str(&format!("{}:cpu:/\n", mounts.len() + 1));
        }
        if !mounts.is_empty() {
            self.write("proc", "mounts", &mount_lines)?;
        }
        if !group_lines.is_empty() {
            self.write("proc/self", "cgroup", &group_lines)?;
        }
        self.summary.renamed = names.count();
        Ok(())
    }

    /// Copies the limit files of each level and gives the group's neutral path.
    fn levels(
        &mut self,
        group: &ControlGroup<'_>,
        point: &str,
        files: &[&str],
        names: &mut Neutral,
    ) -> Result<String, TopologyError> {
        let mut path = String::new();
        for (depth, level) in group.levels.iter().enumerate() {
            if depth > 0 {
                path = format!("{path}/{}", names.group(&group.names[depth - 1]));
            }
            self.copy(Some(level.clone()), format!("{point}{path}").trim_start_matches('/'), files)?;
        }
        Ok(if path.is_empty() { "/".to_owned() } else { path })
    }
}

/// Neutral names, the same one for the same name.
#[derive(Default)]
struct Neutral {
    groups: BTreeMap<String, String>,
    points: BTreeMap<String, String>,
}

impl Neutral {
    fn group(&mut self, name: &str) -> String {
        if COMMON_GROUPS.contains(&name) {
            return name.to_owned();
        }
        let next = format!("group{}", self.groups.len() + 1);
        self.groups.entry(name.to_owned()).or_insert(next).clone()
    }

    fn mount_point(&mut self, point: &str) -> String {
        let usual = match point.strip_prefix("/sys/fs/cgroup") {
            Some("" | "/unified") => true,
            Some(rest) => rest.trim_start_matches('/').split(',').all(|name| CONTROLLERS.contains(&name)),
            None => point == "/dev/cpuset",
        };
        if usual {
            return point.to_owned();
        }
        let next = format!("/cgroup{}", self.points.len() + 1);
        self.points.entry(point.to_owned()).or_insert(next).clone()
    }

    fn count(&self) -> u64 {
        (self.groups.len() + self.points.len()) as u64
    }
}

/// The kept lines, without deceptive characters other than the tab.
fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines()
        .filter(|line| keep(line))
        .map(|line| line.replace(|c: char| is_deceptive(c) && c != '\t', " ") + "\n")
        .collect()
}
