//! A machine of 2 packages, 2 cores and 2 threads in a folder, and a kernel that acts on what is written as the worst
//! of the real ones does: a logical CPU that goes offline is lost to affinities and control groups for good, a clock
//! begins with another governor, and `on` wakes every logical CPU.
//!
//! Source: kernel `kernel/cpu.c`, `kernel/cgroup/cpuset.c`, `kernel/sched/core.c`, `drivers/cpufreq/cpufreq.c`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::CpuSet;
use threadwise_smt::{Kernel, Roots, Setting};

pub const CPUS: u32 = 8;
const CPU: &str = "machine/sys/devices/system/cpu";
const GROUPS: &str = "machine/sys/fs/cgroup/cpuset";

/// Files by their paths below the folder.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

pub struct Fake {
    folder: TempDir,
    roots: Roots,
    /// All files after each write.
    pub snapshots: RefCell<Vec<Files>>,
    /// Settings whose writing fails.
    pub refused: RefCell<Vec<Setting>>,
    /// Writes, in order.
    pub writes: RefCell<Vec<String>>,
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().copied().collect::<CpuSet>().to_string()
}

impl Fake {
    /// Everything is online and at its default.
    pub fn new() -> Self {
        let fake = Self::of(&Files::new());
        for cpu in 0..CPUS {
            // Logical CPU 0 has no file: it cannot be taken offline.
            if cpu > 0 {
                fake.put(&format!("{CPU}/cpu{cpu}/online"), "1");
            }
            fake.put(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"), &list(&[cpu & !1, cpu | 1]));
            let policy = format!("{CPU}/cpufreq/policy{cpu}");
            fake.put(&format!("{policy}/scaling_available_governors"), "performance schedutil powersave");
            fake.put(&format!("{policy}/scaling_governor"), "schedutil");
            fake.put(&format!("{policy}/boost"), "1");
        }
        fake.put(&format!("{CPU}/smt/control"), "on");
        fake.put(&format!("{CPU}/smt/active"), "1");
        fake.put(&format!("{CPU}/cpufreq/boost"), "1");
        for node in 0..2 {
            let cpus = format!("{}-{}", node * 4, node * 4 + 3);
            fake.put(&format!("machine/sys/devices/system/node/node{node}/cpulist"), &cpus);
        }
        fake.put(&format!("{GROUPS}/cpuset.cpus"), "0-7");
        fake
    }

    /// The machine and the state folder that a snapshot has.
    pub fn of(files: &Files) -> Self {
        // In memory, where there is such a folder: these are many small files.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let roots = Roots::below(&folder.path().join("machine"));
        fs::DirBuilder::new().mode(0o700).create(folder.path().join("state")).unwrap();
        for path in ["machine/proc/irq", "machine/proc/self/ns", GROUPS, CPU] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        symlink("pid:[4026531836]", folder.path().join("machine/proc/self/ns/pid")).unwrap();
        let new = RefCell::new(Vec::new());
        let fake =
            Self { folder, roots, snapshots: new, refused: RefCell::default(), writes: RefCell::default() };
        fake.put_all(files);
        fake
    }

    pub fn put_all(&self, files: &Files) {
        files.iter().for_each(|(path, contents)| self.put_bytes(path, contents));
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put_bytes(&self, path: &Path, contents: &[u8]) {
        use std::io::Write;
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
        file.write_all(contents).unwrap();
    }

    pub fn put(&self, path: &str, text: &str) {
        self.put_bytes(Path::new(path), text.as_bytes());
    }

    pub fn get(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn cpu_file(&self, path: &str) -> String {
        self.get(&format!("{CPU}/{path}"))
    }

    pub fn put_cpu_file(&self, path: &str, text: &str) {
        self.put(&format!("{CPU}/{path}"), text);
    }

    pub fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// All files of the machine and of the state folder.
    pub fn files(&self) -> Files {
        let mut found = Files::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    let below = entry.path().strip_prefix(self.folder.path()).unwrap().to_owned();
                    found.insert(below, fs::read(entry.path()).unwrap());
                }
            }
        }
        found
    }

    /// Files of the machine alone.
    pub fn machine(&self) -> Files {
        self.files().into_iter().filter(|(path, _)| path.starts_with("machine")).collect()
    }

    pub fn task(&self, pid: u32, tid: u32, parent: u32, mask: &str) {
        self.task_with_flags(pid, tid, parent, mask, 0);
    }

    pub fn task_with_flags(&self, pid: u32, tid: u32, parent: u32, mask: &str, flags: u64) {
        let folder = format!("machine/proc/{pid}/task/{tid}");
        let start = 1000 + tid;
        let stat = format!("{tid} (a) b) S {parent} 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0");
        self.put(&format!("{folder}/stat"), &stat);
        self.put(&format!("{folder}/status"), &format!("Name:\ta\nCpus_allowed_list:\t{mask}\nx:\t1\n"));
    }

    pub fn mask(&self, pid: u32, tid: u32) -> String {
        let status = self.get(&format!("machine/proc/{pid}/task/{tid}/status"));
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap().to_owned()
    }

    fn set_mask(&self, folder: &Path, mask: &CpuSet) {
        let path = folder.join("status");
        let status = fs::read_to_string(&path).unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        fs::write(&path, status.replace(line, &format!("Cpus_allowed_list:\t{mask}"))).unwrap();
    }

    pub fn irq(&self, number: u32, cpus: &str) {
        self.put(&format!("machine/proc/irq/{number}/smp_affinity_list"), cpus);
    }

    pub fn group(&self, path: &str, cpus: &str, tasks: &[u32]) {
        self.put(&format!("{GROUPS}/{path}/cpuset.cpus"), cpus);
        let tasks: String = tasks.iter().map(|tid| format!("{tid}\n")).collect();
        self.put(&format!("{GROUPS}/{path}/tasks"), &tasks);
    }

    /// As an administrator.
    pub fn take_offline(&self, cpu: u32) {
        self.down(cpu);
    }

    pub fn is_online(&self, cpu: u32) -> bool {
        let path = self.path(&format!("{CPU}/cpu{cpu}/online"));
        fs::read_to_string(path).map_or(true, |text| text == "1")
    }

    pub fn online(&self) -> CpuSet {
        (0..CPUS).filter(|&cpu| self.is_online(cpu)).collect()
    }

    fn task_folders(&self) -> Vec<PathBuf> {
        let numbers = |folder: PathBuf| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let is_number = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().parse::<u32>().is_ok();
            entries.filter(is_number).map(|entry| entry.path()).collect::<Vec<_>>()
        };
        numbers(self.path("machine/proc")).into_iter().flat_map(|pid| numbers(pid.join("task"))).collect()
    }

    fn group_folders(&self) -> Vec<PathBuf> {
        let (mut found, mut folders) = (Vec::new(), vec![self.path(GROUPS)]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
                found.push(entry.path());
                folders.push(entry.path());
            }
        }
        found
    }

    fn siblings_change(&self) {
        for cpu in 0..CPUS {
            let core: Vec<u32> = [cpu & !1, cpu | 1].into_iter().filter(|&one| self.is_online(one)).collect();
            self.put_cpu_file(&format!("cpu{cpu}/topology/thread_siblings_list"), &list(&core));
        }
        let is_active = (0..CPUS).step_by(2).any(|cpu| self.is_online(cpu) && self.is_online(cpu + 1));
        self.put_cpu_file("smt/active", if is_active { "1" } else { "0" });
    }

    fn down(&self, cpu: u32) {
        if !self.is_online(cpu) {
            return;
        }
        self.put_cpu_file(&format!("cpu{cpu}/online"), "0");
        self.siblings_change();
        let without = |mask: &CpuSet| {
            let mut left = mask.clone();
            left.remove(cpu);
            if left.is_empty() { self.online() } else { left }
        };
        for folder in self.task_folders() {
            let mask = self.mask_of(&folder);
            self.set_mask(&folder, &without(&mask));
        }
        let groups = self.group_folders().into_iter().map(|group| group.join("cpuset.cpus"));
        let interrupts = fs::read_dir(self.path("machine/proc/irq")).unwrap().flatten();
        for path in groups.chain(interrupts.map(|entry| entry.path().join("smp_affinity_list"))) {
            let cpus = CpuSet::parse_list(&fs::read_to_string(&path).unwrap()).unwrap();
            fs::write(&path, without(&cpus).to_string()).unwrap();
        }
        let _ = fs::remove_file(self.path(&format!("{CPU}/cpufreq/policy{cpu}/scaling_governor")));
    }

    fn up(&self, cpu: u32) {
        if !self.is_online(cpu) {
            self.put_cpu_file(&format!("cpu{cpu}/online"), "1");
            self.siblings_change();
            if self.path(&format!("{CPU}/cpufreq/policy{cpu}")).is_dir() {
                self.put_cpu_file(&format!("cpufreq/policy{cpu}/scaling_governor"), "performance");
            }
        }
    }

    fn mask_of(&self, folder: &Path) -> CpuSet {
        let status = fs::read_to_string(folder.join("status")).unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        CpuSet::parse_list(list).unwrap()
    }

    /// What the kernel does besides taking the value, or why it does not take it.
    fn act(&self, setting: &Setting, value: &str) -> io::Result<()> {
        let error = |number| Err(io::Error::from_raw_os_error(number));
        const EPERM: i32 = 1;
        const EINVAL: i32 = 22;
        let is_off = |text: String| text == "off";
        match setting {
            // One after the other, and the word of control last.
            Setting::Control if value == "off" => (1..CPUS).step_by(2).for_each(|cpu| {
                self.down(cpu);
                self.snapshot();
            }),
            Setting::Control => (1..CPUS).for_each(|cpu| {
                self.up(cpu);
                self.snapshot();
            }),
            Setting::Online(cpu) if value == "0" => self.down(*cpu),
            Setting::Online(cpu) if cpu % 2 == 1 && is_off(self.cpu_file("smt/control")) => {
                return error(EPERM);
            }
            Setting::Online(cpu) => self.up(*cpu),
            Setting::Cpuset(group) => {
                let folder = self.path(&format!("{GROUPS}/{group}"));
                let above = fs::read_to_string(folder.parent().unwrap().join("cpuset.cpus")).unwrap();
                let (cpus, above) = (CpuSet::parse_list(value).unwrap(), CpuSet::parse_list(&above).unwrap());
                if !cpus.is_subset(&above) || !cpus.is_subset(&self.online()) {
                    return error(EINVAL);
                }
                let tasks = fs::read_to_string(folder.join("tasks")).unwrap();
                let is_in = |folder: &Path| {
                    tasks.lines().any(|tid| folder.file_name().unwrap().to_string_lossy() == tid)
                };
                let folders = self.task_folders();
                folders.iter().filter(|folder| is_in(folder)).for_each(|folder| self.set_mask(folder, &cpus));
            }
            Setting::Irq(_) => {
                if CpuSet::parse_list(value).unwrap().intersection(&self.online()).is_empty() {
                    return error(EINVAL);
                }
            }
            Setting::Boost => {
                for cpu in 0..CPUS {
                    let path = format!("cpufreq/policy{cpu}/boost");
                    if self.path(&format!("{CPU}/{path}")).exists() {
                        self.put_cpu_file(&path, value);
                    }
                }
            }
            Setting::Governor(_) | Setting::NoTurbo | Setting::PolicyBoost(_) => {}
        }
        Ok(())
    }

    fn written(&self, what: String) {
        self.writes.borrow_mut().push(what);
        self.snapshot();
    }

    fn snapshot(&self) {
        let files = self.files();
        self.snapshots.borrow_mut().push(files);
    }
}

impl Kernel for Fake {
    fn roots(&self) -> &Roots {
        &self.roots
    }

    fn write(&self, setting: &Setting, value: &str) -> io::Result<()> {
        if self.refused.borrow().contains(setting) {
            return Err(io::Error::from_raw_os_error(5));
        }
        // What is not there, or a link, is not opened, and nothing comes of it.
        setting.read(&self.roots)?;
        self.act(setting, value)?;
        setting.write(&self.roots, value)?;
        self.written(format!("{setting} {value}"));
        Ok(())
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        let is_it = |folder: &PathBuf| folder.file_name().unwrap().to_string_lossy() == tid.to_string();
        let folder = self.task_folders().into_iter().find(is_it);
        let folder = folder.ok_or_else(|| io::Error::from_raw_os_error(3))?;
        let possible = cpus.intersection(&self.online());
        if possible.is_empty() {
            return Err(io::Error::from_raw_os_error(22));
        }
        self.set_mask(&folder, &possible);
        self.written(format!("thread {tid} {possible}"));
        Ok(())
    }

    fn pause(&self) {}
}
