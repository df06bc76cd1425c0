//! Everything that changes the machine: two calls.

use crate::roots::Roots;
use crate::setting::Setting;
use std::io;
use std::time::Duration;
use threadwise_machine::{CpuSet, pin};

/// The calls that change a machine's kernel state. Files are read below its roots.
pub trait Kernel {
    /// The roots of its files.
    fn roots(&self) -> &Roots;

    /// Writes a value into the file of a setting.
    ///
    /// # Errors
    /// See [`Setting::write`].
    fn write(&self, setting: &Setting, value: &str) -> io::Result<()>;

    /// Binds a thread.
    ///
    /// # Errors
    /// Those of `sched_setaffinity(2)`.
    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()>;

    /// Waits for what the kernel may do later: it gives control groups their logical CPUs from a
    /// work queue (`kernel/cgroup/cpuset.c`, `cpuset_hotplug_workfn`).
    fn pause(&self);
}

/// The kernel that this process runs on.
#[derive(Debug, Clone)]
pub struct Live {
    roots: Roots,
}

impl Live {
    /// The running kernel.
    pub fn new() -> Self {
        Self { roots: Roots::live() }
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Kernel for Live {
    fn roots(&self) -> &Roots {
        &self.roots
    }

    fn write(&self, setting: &Setting, value: &str) -> io::Result<()> {
        setting.write(&self.roots, value)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        pin::set_thread_affinity(tid, cpus)
    }

    fn pause(&self) {
        std::thread::sleep(Duration::from_millis(20));
    }
}
