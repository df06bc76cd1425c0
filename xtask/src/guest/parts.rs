//! What an emulated guest is made of: QEMU, a kernel, busybox and the program that `cargo xtask dist` made.
//!
//! The kernel is the newest one of Debian for virtual machines, found through apt, fetched by `apt-get download` and
//! unpacked below `target/`: nothing is installed into `/boot`, and no version is written down here.

use super::cpio::Archive;
use crate::command::Task;
use crate::packages::{self, Package};
use crate::{dist, elf};
use std::fs;
use std::path::{Path, PathBuf};

/// Packages that have to be installed.
pub const PACKAGES: [Package; 2] = [
    Package {
        name: "qemu-system-x86",
        programs: &["qemu-system-x86_64"],
        used_for: "looks against a schedule in an emulated guest",
    },
    Package {
        name: "busybox-static",
        programs: &["busybox"],
        used_for: "looks against a schedule in an emulated guest",
    },
];

/// Where kernels are unpacked, from the workspace's folder.
const KERNELS: &str = "target/test-kernel";
/// Debian's package that depends on the newest kernel for virtual machines.
const NEWEST: &str = "linux-image-cloud-amd64";

/// Files that a guest is booted from.
#[derive(Debug)]
pub struct Parts {
    /// Kernel, as QEMU takes it.
    pub kernel: PathBuf,
    /// The program, which runs on the host too.
    pub program: PathBuf,
    busybox: Vec<u8>,
    threadwise: Vec<u8>,
}

impl Parts {
    /// Finds them, by default with the program that `cargo xtask dist` made (`THREADWISE_TEST_PROGRAM`), and fetches the kernel where it is not there.
    ///
    /// # Errors
    /// What is missing and how to get it, in one line.
    pub fn find() -> Result<Self, String> {
        let program = std::env::var_os(dist::TEST_PROGRAM).map(PathBuf::from);
        let threadwise = program.map_or_else(dist::for_tests, Ok)?;
        let busybox = Task::new("sh", &["-c", "command -v busybox"]).output()?;
        Ok(Self {
            busybox: static_program(Path::new(busybox.trim()), "apt-get install busybox-static")?,
            threadwise: static_program(&threadwise, "cargo xtask dist")?,
            kernel: kernel()?,
            program: threadwise,
        })
    }

    /// An initial file system whose `/init` runs these commands of a shell, then powers off. `threadwise` and
    /// `busybox` are on PATH, and busybox's programs by their names.
    pub fn initial_files(&self, commands: &[&str]) -> Vec<u8> {
        let mut archive = Archive::default();
        ["bin", "dev", "proc", "sys", "tmp"].into_iter().for_each(|path| archive.folder(path));
        archive.program("bin/busybox", &self.busybox);
        archive.program("bin/threadwise", &self.threadwise);
        archive.program("init", init(commands).as_bytes());
        archive.finish()
    }
}

/// The first program of the guest. Without `devtmpfs` a command would have no `/dev/null`.
fn init(commands: &[&str]) -> String {
    let before = "#!/bin/busybox sh\n\
        export PATH=/bin\n\
        /bin/busybox --install -s /bin\n\
        mount -t proc proc /proc\n\
        mount -t sysfs sysfs /sys\n\
        mount -t devtmpfs dev /dev\n\
        mount -t tmpfs tmp /tmp\n\
        cd /tmp\n";
    format!("{before}{}\npoweroff -f\n", commands.join("\n"))
}

/// The newest kernel of the system's apt, unpacked.
fn kernel() -> Result<PathBuf, String> {
    let newest = match newest() {
        // Lists that were never fetched have no kernel, and old ones one that is gone.
        Err(_) if packages::is_ci() && packages::is_root() => {
            Task::new("apt-get", &["update", "-q"]).run()?;
            newest()?
        }
        other => other?,
    };
    let folder = Path::new(KERNELS).join(&newest);
    if let Some(found) = unpacked(&folder) {
        return Ok(found);
    }
    fetch(&newest, &folder)?;
    unpacked(&folder).ok_or_else(|| format!("{newest} has no boot/vmlinuz-*: {}", folder.display()))
}

fn newest() -> Result<String, String> {
    let said = Task::new("apt-cache", &["depends", NEWEST])
        .output()
        .map_err(|why| format!("a kernel for a guest comes from Debian's {NEWEST}: {why}"))?;
    dependency(&said).ok_or_else(|| format!("apt knows no {NEWEST}: apt-get update, on Debian"))
}

/// The package that `apt-cache depends` names first.
fn dependency(said: &str) -> Option<String> {
    let line = said.lines().find_map(|line| line.trim().strip_prefix("Depends:"))?;
    let name = line.trim();
    // It becomes a folder's name.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.+".contains(c);
    (name.starts_with("linux-image-") && name.chars().all(is_plain)).then(|| name.to_owned())
}

fn fetch(package: &str, folder: &Path) -> Result<(), String> {
    let said = |cause: std::io::Error| format!("{} cannot be written: {cause}", folder.display());
    // What an attempt that was cut short left would be taken for whole.
    let part = Path::new(KERNELS).join(format!("{package}.part"));
    if part.exists() {
        fs::remove_dir_all(&part).map_err(said)?;
    }
    fs::create_dir_all(&part).map_err(said)?;
    let script = r#"cd "$0" && apt-get -q -o APT::Sandbox::User=root download "$1" && dpkg-deb -x ./*.deb . && rm ./*.deb"#;
    let download = Task::new("sh", &["-c", script, &part.to_string_lossy(), package]);
    download.run().or_else(|why| match packages::is_ci() && packages::is_root() {
        true => Task::new("apt-get", &["update", "-q"]).run().and_then(|()| download.run()),
        false => Err(format!("{why}; apt-get update may help")),
    })?;
    fs::rename(&part, folder).map_err(said)
}

fn unpacked(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder.join("boot")).ok()?.flatten().map(|entry| entry.path());
    entries.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")))
}

/// A program that needs no library, which a guest has not.
fn static_program(path: &Path, command: &str) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let file =
        fs::read(path).map_err(|cause| format!("{shown} cannot be read: {cause}; {command} makes it"))?;
    match elf::read(&file).map_err(|why| format!("{shown}: {why}"))?.has_loader {
        true => Err(format!("{shown} is not static: {command} makes one that is")),
        false => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_what_its_package_depends_on() {
        let said = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n  Depends: other\n";
        assert_eq!(dependency(said).as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(dependency("linux-image-cloud-amd64\n"), None);
        assert_eq!(dependency("  Depends: ../linux-image-x\n"), None);
        assert_eq!(dependency("  Depends: linux-image-../x\n"), None);
    }

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        let why = static_program(Path::new("/proc/self/exe"), "make one").unwrap_err();
        assert!(why.ends_with("is not static: make one makes one that is"), "{why}");
        let why = static_program(Path::new("/nowhere/program"), "make one").unwrap_err();
        assert!(why.contains("cannot be read") && why.ends_with("make one makes it"), "{why}");
    }

    #[test]
    fn init_ends_with_the_commands_and_the_guests_end() {
        let text = init(&["threadwise topology", "echo done"]);
        assert!(text.starts_with("#!/bin/busybox sh\n"));
        assert!(text.ends_with("\nthreadwise topology\necho done\npoweroff -f\n"), "{text}");
    }
}
