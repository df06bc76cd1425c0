//! A guest that QEMU emulates in software: each of its logical CPUs is a thread of QEMU, which can be moved.
//!
//! Source: qemu-system-x86_64(1): `-accel tcg,thread=multi`, `-smp`, `-numa`, `-name debug-threads=on`, which
//! names the threads `CPU 0/TCG` and so on. `setpriv --pdeathsig` (setpriv(1), PR_SET_PDEATHSIG(2const)) ends QEMU
//! when the thread that started it ends, including by a signal: a guest is booted from the main thread.

pub mod arch;
pub mod cpio;
pub mod parts;

use arch::Arch;
use parts::Parts;
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Time limit until all of QEMU's threads of logical CPUs exist.
const THREADS_WITHIN: Duration = Duration::from_secs(10);
/// Lines that an error repeats.
const LAST_LINES: usize = 3;
/// Kernel messages would get into lines of the console. An emulated guest counts its TSC against timers that are late
/// on a busy host, and would then replace it by a clock that takes microseconds to read.
const KERNEL_ARGUMENTS: &str = "quiet loglevel=0 panic=-1 mitigations=off tsc=reliable no_timer_check";

/// A machine and its commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest<'a> {
    /// Its processor.
    pub arch: &'static Arch,
    /// Sockets, cores of each, threads of each core.
    pub smp: [u32; 3],
    /// Memory, MiB, if there are no nodes.
    pub memory_mib: u32,
    /// Clusters of a socket, among which its cores are divided; 0 if the processor has none.
    pub clusters: u32,
    /// NUMA nodes; empty for a machine without them.
    pub numa: &'a [Node<'a>],
    /// Distances between nodes other than those of the same node (10) and of two (20).
    pub distances: &'a [[u32; 3]],
    /// Addition to the kernel's command line.
    pub kernel: &'a str,
    /// Commands of a shell, after which the guest powers off.
    pub commands: &'a [&'a str],
}

/// A machine of one core, which others differ from.
pub const SMALLEST: Guest<'_> = Guest {
    arch: &arch::X86_64,
    smp: [1, 1, 1],
    clusters: 0,
    memory_mib: 512,
    numa: &[],
    distances: &[],
    kernel: "",
    commands: &[],
};

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'a> {
    /// Logical CPUs, such as `0-1`; empty for a memory-only node.
    pub cpus: &'a str,
    /// Memory, MiB.
    pub memory_mib: u32,
}

/// A line of the serial console.
#[derive(Debug, Clone)]
pub struct Line {
    /// When its end arrived.
    pub arrived: Instant,
    /// Without its end.
    pub text: String,
}

/// A running guest. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    qemu: Child,
    lines: Receiver<Line>,
    /// The last lines, for an error.
    last: VecDeque<String>,
    until: Instant,
    /// Removed as soon as the guest has read it.
    initial_files: Option<PathBuf>,
}

impl Guest<'_> {
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
        fs::write(&initial_files, parts.initial_files(self.commands))
            .map_err(|cause| format!("cannot write {}: {cause}", initial_files.display()))?;
        let started = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", self.arch.qemu()])
            .args(self.arguments())
            .arg("-kernel")
            .arg(&parts.kernel)
            .arg("-initrd")
            .arg(&initial_files)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        let mut qemu = started.map_err(|cause| format!("cannot start setpriv (util-linux): {cause}"))?;
        let (line, lines) = channel();
        if let Some(console) = qemu.stdout.take() {
            std::thread::spawn(move || pass_on(console, &line));
        }
        Ok(Running::new(qemu, lines, limit, Some(initial_files)))
    }

    fn arguments(&self) -> Vec<String> {
        let [sockets, cores, threads] = self.smp;
        let cores = match self.clusters {
            0 => format!("cores={cores}"),
            clusters => format!("clusters={clusters},cores={}", cores / clusters),
        };
        let smp = format!("{},sockets={sockets},{cores},threads={threads}", self.cpus());
        let of_nodes: u32 = self.numa.iter().map(|node| node.memory_mib).sum();
        let memory = format!("{}M", if self.numa.is_empty() { self.memory_mib } else { of_nodes });
        let kernel = format!("console={} {KERNEL_ARGUMENTS} {}", self.arch.console, self.kernel);
        let fixed = [
            ["-name", "threadwise,debug-threads=on"],
            ["-accel", "tcg,thread=multi"],
            ["-smp", &smp],
            ["-m", &memory],
            ["-display", "none"],
            ["-monitor", "none"],
            ["-serial", "stdio"],
            ["-append", kernel.trim_end()],
        ];
        let mut arguments: Vec<String> = fixed.concat().into_iter().map(str::to_owned).collect();
        arguments.extend(["-nodefaults", "-no-reboot"].map(str::to_owned));
        arguments.extend(self.arch.arguments.iter().map(|word| (*word).to_owned()));
        for (id, Node { cpus, memory_mib }) in self.numa.iter().enumerate() {
            arguments.extend([
                "-object".to_owned(),
                format!("memory-backend-ram,id=node{id},size={memory_mib}M"),
                "-numa".to_owned(),
                match cpus.is_empty() {
                    true => format!("node,nodeid={id},memdev=node{id}"),
                    false => format!("node,nodeid={id},cpus={cpus},memdev=node{id}"),
                },
            ]);
        }
        for [from, to, distance] in self.distances {
            arguments.extend(["-numa".to_owned(), format!("dist,src={from},dst={to},val={distance}")]);
        }
        arguments
    }
}

impl Running {
    fn new(qemu: Child, lines: Receiver<Line>, limit: Duration, initial_files: Option<PathBuf>) -> Self {
        Self { qemu, lines, last: VecDeque::new(), until: Instant::now() + limit, initial_files }
    }

    /// QEMU's process.
    pub fn process(&self) -> u32 {
        self.qemu.id()
    }

    /// The next line of the console; `None` if there is none before `wake_at`.
    ///
    /// # Errors
    /// The guest has ended, or its time is over.
    pub fn line(&mut self, wake_at: Instant) -> Result<Option<Line>, String> {
        let wait = wake_at.min(self.until).saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(wait) {
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
                let status =
                    self.qemu.wait().map_or_else(|cause| cause.to_string(), |status| status.to_string());
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
    pub fn cpu_threads(&self, guest: &Guest<'_>) -> Result<Vec<u32>, String> {
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
        // One that has ended needs no signal.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
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

/// Sends the lines of a program's output until the receiver is gone.
pub fn pass_on(console: ChildStdout, line: &Sender<Line>) {
    for bytes in BufReader::new(console).split(b'\n').map_while(Result::ok) {
        let text = String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_owned();
        if line.send(Line { arrived: Instant::now(), text }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_values() {
        let nodes = [Node { cpus: "0-1", memory_mib: 128 }, Node { cpus: "2-3", memory_mib: 384 }];
        let guest = Guest { smp: [2, 1, 2], numa: &nodes, ..SMALLEST };
        let words = guest.arguments().join(" ");
        assert!(words.contains("-smp 4,sockets=2,cores=1,threads=2 -m 512M "), "{words}");
        let second =
            "-object memory-backend-ram,id=node1,size=384M -numa node,nodeid=1,cpus=2-3,memdev=node1";
        assert!(words.ends_with(second), "{words}");
        assert!(!Guest { numa: &[], ..guest }.arguments().contains(&"-numa".to_owned()));
        let clusters = Guest { arch: &arch::AARCH64, smp: [1, 4, 1], clusters: 2, ..SMALLEST };
        let words = clusters.arguments().join(" ");
        assert!(words.contains("-smp 4,sockets=1,clusters=2,cores=2,threads=1 "), "{words}");
        assert!(words.contains("-append console=ttyAMA0 ") && words.contains("-machine virt"), "{words}");
        let nodes = [Node { cpus: "0", memory_mib: 512 }, Node { cpus: "", memory_mib: 128 }];
        let guest = Guest { numa: &nodes, distances: &[[0, 1, 31]], kernel: "maxcpus=1", ..SMALLEST };
        let words = guest.arguments().join(" ");
        assert!(words.ends_with("-numa node,nodeid=1,memdev=node1 -numa dist,src=0,dst=1,val=31"), "{words}");
        assert!(words.contains(" no_timer_check maxcpus=1 "), "{words}");
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
        let mut qemu = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let (line, lines) = channel();
        let console = qemu.stdout.take().unwrap();
        std::thread::spawn(move || pass_on(console, &line));
        Running::new(qemu, lines, limit, None)
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
