//! A guest that QEMU emulates in software: each of its logical CPUs is a thread of QEMU, which can be moved.
//!
//! Source: qemu-system-x86_64(1): `-accel tcg,thread=multi`, `-smp`, `-numa`, `-name debug-threads=on`, which
//! names the threads `CPU 0/TCG` and so on. A guest is booted from the main thread, with which it ends
//! ([`super::watched`]).

pub mod arch;
pub mod cpio;
pub mod parts;

use super::watched::{Line, Watched};
use crate::command::Task;
use crate::files;
use arch::Arch;
use parts::Parts;
use serde::Deserialize;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Time limit until all of QEMU's threads of logical CPUs exist.
const THREADS_WITHIN: Duration = Duration::from_secs(10);
/// Lines that an error repeats.
const LAST_LINES: usize = 3;
/// Kernel messages would get into lines of the console. An emulated guest counts its TSC against timers that are late
/// on a busy host, and would then replace it by a clock that takes microseconds to read.
const KERNEL_ARGUMENTS: &str = "quiet loglevel=0 panic=-1 mitigations=off tsc=reliable no_timer_check";

/// A machine and its commands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guest {
    /// Its processor.
    #[serde(deserialize_with = "arch::named")]
    pub arch: &'static Arch,
    /// Sockets, cores of each, threads of each core.
    pub smp: [u32; 3],
    /// Memory, MiB, if there are no nodes.
    pub memory_mib: u32,
    /// Dies of a socket, among which its cores are divided (x86_64); 0 if it is not divided. QEMU gives each die an L3
    /// (`target/i386/cpu.c`, CPUID leaf 4) and each core an L2.
    pub dies: u32,
    /// Clusters of a socket, among which its cores are divided (aarch64); 0 if the processor has none. QEMU declares
    /// no caches of theirs.
    pub clusters: u32,
    /// NUMA nodes; empty for a machine without them.
    pub numa: Vec<Node>,
    /// Distances between nodes other than those of the same node (10) and of two (20).
    pub distances: Vec<[u32; 3]>,
    /// Addition to the kernel's command line.
    pub kernel: String,
    /// Commands of a shell, after which the guest powers off.
    #[serde(skip)]
    pub commands: Vec<String>,
}

/// A machine of one core, which others differ from.
impl Default for Guest {
    fn default() -> Self {
        Self {
            arch: &arch::X86_64,
            smp: [1, 1, 1],
            memory_mib: 512,
            dies: 0,
            clusters: 0,
            numa: Vec::new(),
            distances: Vec::new(),
            kernel: String::new(),
            commands: Vec::new(),
        }
    }
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Node {
    /// Logical CPUs, such as `0-1`; empty for a memory-only node.
    pub cpus: String,
    /// Memory, MiB.
    pub memory_mib: u32,
}

/// A running guest. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    qemu: Watched,
    /// The last lines, for an error.
    last: VecDeque<String>,
    until: Instant,
    /// Removed as soon as the guest has read it.
    initial_files: Option<PathBuf>,
}

impl Guest {
    /// Number of its logical CPUs.
    pub fn cpus(&self) -> u32 {
        self.smp.iter().product()
    }

    /// Starts it; it ends after `limit` at the latest.
    ///
    /// # Errors
    /// A file cannot be written, or QEMU cannot be started.
    pub fn boot(&self, parts: &Parts, limit: Duration) -> Result<Running, String> {
        let initial_files = Path::new("target").join(format!("emulated-{}.cpio", std::process::id()));
        files::write(&initial_files, parts.initial_files(&self.commands))?;
        let files = "-kernel {} -initrd {}";
        let qemu = self.qemu().with(files, &[&parts.kernel.display(), &initial_files.display()]);
        Ok(Running::new(Watched::start(&qemu)?, limit, Some(initial_files)))
    }

    fn qemu(&self) -> Task {
        let [sockets, cores, threads] = self.smp;
        let cores = match (self.dies, self.clusters) {
            (0, 0) => format!("cores={cores}"),
            (0, clusters) => format!("clusters={clusters},cores={}", cores / clusters),
            (dies, _) => format!("dies={dies},cores={}", cores / dies),
        };
        let smp = format!("{},sockets={sockets},{cores},threads={threads}", self.cpus());
        let of_nodes: u32 = self.numa.iter().map(|node| node.memory_mib).sum();
        let memory = format!("{}M", if self.numa.is_empty() { self.memory_mib } else { of_nodes });
        let kernel = format!("console={} {KERNEL_ARGUMENTS} {}", self.arch.console, self.kernel);
        let fixed = "{} -name threadwise,debug-threads=on -accel tcg,thread=multi -smp {} -m {} -display none \
                     -monitor none -serial stdio -append {} -nodefaults -no-reboot";
        let task = Task::new(fixed, &[&self.arch.qemu, &smp, &memory, &kernel.trim_end()]);
        let mut task = task.more(self.arch.arguments);
        for (id, Node { cpus, memory_mib }) in self.numa.iter().enumerate() {
            let cpus = if cpus.is_empty() { String::new() } else { format!(",cpus={cpus}") };
            let node = "-object memory-backend-ram,id=node{},size={}M -numa node,nodeid={}{},memdev=node{}";
            task = task.with(node, &[&id, memory_mib, &id, &cpus, &id]);
        }
        for [from, to, distance] in &self.distances {
            task = task.with("-numa dist,src={},dst={},val={}", &[from, to, distance]);
        }
        task
    }
}

impl Running {
    fn new(qemu: Watched, limit: Duration, initial_files: Option<PathBuf>) -> Self {
        Self { qemu, last: VecDeque::new(), until: Instant::now() + limit, initial_files }
    }

    /// QEMU's process.
    pub fn process(&self) -> u32 {
        self.qemu.process()
    }

    /// The next line of the console; `None` if there is none before `wake_at`.
    ///
    /// # Errors
    /// The guest has ended, or its time is over.
    pub fn line(&mut self, wake_at: Instant) -> Result<Option<Line>, String> {
        let wait = wake_at.min(self.until).saturating_duration_since(Instant::now());
        match self.qemu.lines.recv_timeout(wait) {
            Ok(line) => {
                self.remove_initial_files();
                self.last.push_back(line.text.clone());
                if self.last.len() > LAST_LINES {
                    self.last.pop_front();
                }
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < self.until => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(self.ended("took too long and was killed")),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.qemu.ended();
                Err(self.ended(&format!("ended before its time ({status})")))
            }
        }
    }

    fn ended(&self, how: &str) -> String {
        let last: Vec<&str> =
            self.last.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
        format!("the emulated guest {how}; it said last: {}", last.join(" / "))
    }

    /// A guest that has printed a line has read them, and a kill leaves none.
    fn remove_initial_files(&mut self) {
        if let Some(path) = self.initial_files.take() {
            // One that does not exist needs no removal.
            let _ = fs::remove_file(path);
        }
    }

    /// Threads of its logical CPUs, in their order.
    ///
    /// # Errors
    /// They do not exist in time.
    pub fn cpu_threads(&self, guest: &Guest) -> Result<Vec<u32>, String> {
        let until = Instant::now() + THREADS_WITHIN;
        loop {
            let mut threads = cpu_threads(&PathBuf::from(format!("/proc/{}/task", self.process())));
            if threads.len() == guest.cpus() as usize {
                threads.sort_unstable();
                return Ok(threads.into_iter().map(|(_, thread)| thread).collect());
            }
            if Instant::now() > until {
                return Err(format!(
                    "QEMU has {} threads of logical CPUs instead of {}",
                    threads.len(),
                    guest.cpus()
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.remove_initial_files();
    }
}

/// Logical CPU and number of each thread that runs one.
fn cpu_threads(tasks: &Path) -> Vec<(u32, u32)> {
    let folders = fs::read_dir(tasks).into_iter().flatten().flatten();
    let of_thread = |folder: fs::DirEntry| {
        let thread = folder.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(folder.path().join("comm")).ok()?;
        Some((name.trim().strip_prefix("CPU ")?.strip_suffix("/TCG")?.parse().ok()?, thread))
    };
    folders.filter_map(of_thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_values() {
        let node = |cpus: &str, memory_mib| Node { cpus: cpus.to_owned(), memory_mib };
        let words = |guest: &Guest| guest.qemu().shown().replace('\'', "");
        let numa = vec![node("0-1", 128), node("2-3", 384)];
        let guest = words(&Guest { smp: [2, 1, 2], numa, ..Guest::default() });
        assert!(guest.contains("-smp 4,sockets=2,cores=1,threads=2 -m 512M "), "{guest}");
        let second =
            "-object memory-backend-ram,id=node1,size=384M -numa node,nodeid=1,cpus=2-3,memdev=node1";
        assert!(guest.ends_with(second), "{guest}");
        assert!(!words(&Guest::default()).contains("-numa"));
        let clusters = Guest { arch: &arch::AARCH64, smp: [1, 4, 1], clusters: 2, ..Guest::default() };
        let clusters = words(&clusters);
        assert!(clusters.contains("-smp 4,sockets=1,clusters=2,cores=2,threads=1 "), "{clusters}");
        assert!(clusters.contains("-append console=ttyAMA0 ") && clusters.contains("-machine virt"));
        let dies = words(&Guest { smp: [2, 4, 1], dies: 2, ..Guest::default() });
        assert!(dies.contains("-smp 8,sockets=2,dies=2,cores=2,threads=1 "), "{dies}");
        let numa = vec![node("0", 512), node("", 128)];
        let kernel = "maxcpus=1".to_owned();
        let guest = words(&Guest { numa, distances: vec![[0, 1, 31]], kernel, ..Guest::default() });
        assert!(guest.ends_with("-numa node,nodeid=1,memdev=node1 -numa dist,src=0,dst=1,val=31"), "{guest}");
        assert!(guest.contains(" no_timer_check maxcpus=1 "), "{guest}");
    }

    #[test]
    fn threads_of_logical_cpus_are_known_by_their_names() {
        let folder = std::env::temp_dir().join(format!("threadwise-xtask-tasks-{}", std::process::id()));
        for (thread, name) in [("11", "qemu-system-x86"), ("14", "CPU 0/TCG"), ("13", "CPU 1/TCG")] {
            fs::create_dir_all(folder.join(thread)).unwrap();
            fs::write(folder.join(thread).join("comm"), format!("{name}\n")).unwrap();
        }
        let mut threads = cpu_threads(&folder);
        threads.sort_unstable();
        assert_eq!(threads, [(0, 14), (1, 13)]);
        fs::remove_dir_all(&folder).unwrap();
        assert!(cpu_threads(&folder).is_empty());
    }

    fn running(script: &str, limit: Duration) -> Running {
        Running::new(Watched::start(&Task::new("sh -c {}", &[&script])).unwrap(), limit, None)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn lines_come_as_they_are_and_an_early_end_is_an_error() {
        let mut ends = running("printf 'one\\r\\ntwo\\n'; exit 3", LONG);
        let far = Instant::now() + LONG;
        let texts = [(); 2].map(|()| ends.line(far).unwrap().unwrap().text);
        assert_eq!(texts, ["one", "two"]);
        let why = ends.line(far).unwrap_err();
        assert!(why.ends_with("(exit status: 3); it said last: one / two"), "{why}");
    }

    #[test]
    fn no_process_is_left_after_its_time() {
        let mut sleeps = running("exec sleep 1000", Duration::from_millis(1));
        let folder = PathBuf::from(format!("/proc/{}", sleeps.process()));
        let why = sleeps.line(Instant::now() + LONG).unwrap_err();
        assert!(why.contains("too long") && folder.exists(), "{why}");
        drop(sleeps);
        assert!(!folder.exists());
    }
}
