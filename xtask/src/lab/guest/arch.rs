//! Kinds of processors that QEMU emulates, and Debian's packages for each.
//!
//! Source: qemu-system-x86_64(1), qemu-system-aarch64(1); apt.conf(5) for packages of another architecture than the
//! system's, which are looked up in separate lists below `target/`, so that the system's apt is unchanged.

use crate::command::Task;
use crate::files;
use crate::lab::packages;
use serde::{Deserialize, Deserializer};

/// A kind of processor.
#[derive(Debug, PartialEq, Eq)]
pub struct Arch {
    /// As in the names of the released programs.
    pub name: &'static str,
    /// Debian's name for it.
    pub debian: &'static str,
    /// QEMU's program.
    pub qemu: &'static str,
    /// Its package.
    pub package: &'static str,
    /// Debian's package that depends on the newest kernel for virtual machines.
    pub newest_kernel: &'static str,
    /// Machine and processor.
    pub arguments: &'static [&'static str],
    /// The serial console, as the kernel calls it.
    pub console: &'static str,
}

/// All that QEMU can emulate. As an AMD processor, its default, it has no SMT siblings, since software
/// emulation lacks CPUID's topology extensions.
pub const X86_64: Arch = Arch {
    name: "x86_64",
    debian: "amd64",
    qemu: "qemu-system-x86_64",
    package: "qemu-system-x86",
    newest_kernel: "linux-image-cloud-amd64",
    arguments: &["-cpu", "max,vendor=GenuineIntel"],
    console: "ttyS0",
};

/// QEMU's own machine for guests. `max` would have features whose emulation takes most of the time.
pub const AARCH64: Arch = Arch {
    name: "aarch64",
    debian: "arm64",
    qemu: "qemu-system-aarch64",
    package: "qemu-system-arm",
    newest_kernel: "linux-image-cloud-arm64",
    arguments: &["-machine", "virt", "-cpu", "neoverse-n1"],
    console: "ttyAMA0",
};

/// Where apt keeps its lists of another architecture, relative to the workspace.
const LISTS: &str = "target/test-kernel/apt";

/// The processor of this name.
///
/// # Errors
/// Another name.
pub fn named<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Arch, D::Error> {
    let name = String::deserialize(from)?;
    let found = [&X86_64, &AARCH64].into_iter().find(|arch| arch.name == name);
    found.ok_or_else(|| serde::de::Error::custom(format!("no processor {name}")))
}

impl Arch {
    fn is_host(&self) -> bool {
        self.name == std::env::consts::ARCH
    }

    /// A command of apt that looks for packages of this architecture; as it is for the system's own.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn apt(&self, task: Task) -> Result<Task, String> {
        if self.is_host() {
            return Ok(task);
        }
        let folder = files::absolute(format!("{LISTS}-{}", self.debian))?;
        files::make_folder(folder.join("lists/partial"))?;
        files::make_folder(folder.join("cache/archives/partial"))?;
        let settings = "-o APT::Architecture={} -o APT::Architectures={} -o Dir::State::lists={}/lists \
                        -o Dir::Cache={}/cache";
        Ok(task.with(settings, &[&self.debian, &self.debian, &folder.display(), &folder.display()]))
    }

    /// Whether apt's lists may be updated unasked: the system's in CI, those below `target/` always.
    pub fn may_update(&self) -> bool {
        !self.is_host() || (packages::is_ci() && packages::is_root())
    }

    /// Updates apt's lists.
    ///
    /// # Errors
    /// apt's own.
    pub fn update(&self) -> Result<(), String> {
        self.apt(Task::new("apt-get update -q -o APT::Sandbox::User=root", &[]))?.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_architecture_has_lists_of_its_own() {
        let (host, other) = match std::env::consts::ARCH {
            "aarch64" => (&AARCH64, &X86_64),
            _ => (&X86_64, &AARCH64),
        };
        let task = || Task::new("apt-cache", &[]);
        assert_eq!(host.apt(task()), Ok(task()));
        assert!(other.may_update());
        let shown = other.apt(task()).unwrap().shown();
        assert!(shown.contains(&format!(" -o APT::Architectures={} -o ", other.debian)), "{shown}");
        assert!(shown.contains(" -o Dir::State::lists=/"), "{shown}");
    }
}
