//! The parts of an emulated guest: QEMU, a kernel, busybox and the program that `cargo xtask dist` made.
//!
//! The kernel is Debian's newest one for virtual machines, found through apt, fetched by `apt-get download` and
//! unpacked below `target/`: nothing is installed into `/boot`, and no version is fixed here.

use super::arch::Arch;
use super::cpio::Archive;
use crate::command::Task;
use crate::lab::packages;
use crate::{dist, files};
use std::path::{Path, PathBuf};

/// Where kernels are unpacked, relative to the workspace.
const KERNELS: &str = "target/test-kernel";
/// Makes all of them available: packages are installed in CI, the rest is fetched.
///
/// # Errors
/// What is missing and how to get it, in one line.
pub fn ready(arch: &'static Arch) -> Result<Parts, String> {
    if !cfg!(target_os = "linux") {
        return Err("emulated guests need Linux".to_owned());
    }
    packages::ensure(&[arch.package], false)?;
    Parts::find(arch)
}

/// Files of a guest.
#[derive(Debug)]
pub struct Parts {
    /// Kernel, as QEMU needs it.
    pub kernel: PathBuf,
    /// The program, which also runs on the host if the processor is the same.
    pub program: PathBuf,
    busybox: Vec<u8>,
    threadwise: Vec<u8>,
}

impl Parts {
    /// Finds the program, by default the one that `cargo xtask dist` made (for this machine's processor
    /// `THREADWISE_TEST_PROGRAM`), and fetches kernel and busybox if missing.
    fn find(arch: &Arch) -> Result<Self, String> {
        let (program, how) = dist::for_guest(arch.name)?;
        let threadwise = static_program(&program, &how)?;
        let busybox = fetched(arch, "busybox-static")?.join("bin/busybox");
        let kernel = newest(arch).or_else(|why| match arch.may_update() {
            // Lists that were never fetched have no kernel.
            true => arch.update().and_then(|()| newest(arch)),
            false => Err(why),
        })?;
        let folder = fetched(arch, &kernel)?;
        Ok(Self {
            busybox: static_program(&busybox, "apt-get download busybox-static")?,
            threadwise,
            kernel: image(&folder)
                .ok_or_else(|| format!("{kernel} has no boot/vmlinuz-*: {}", folder.display()))?,
            program,
        })
    }

    /// An initial file system whose `/init` runs these commands of a shell, then powers off. `threadwise` and
    /// `busybox` are on PATH, and busybox's programs by their names.
    pub fn initial_files(&self, commands: &[String]) -> Vec<u8> {
        let mut archive = Archive::default();
        ["bin", "dev", "proc", "sys", "tmp"].into_iter().for_each(|path| archive.folder(path));
        archive.program("bin/busybox", &self.busybox);
        archive.program("bin/threadwise", &self.threadwise);
        archive.program("init", init(commands).as_bytes());
        archive.finish()
    }
}

/// The first program of the guest. Without `devtmpfs` a command would have no `/dev/null`.
fn init(commands: &[String]) -> String {
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

/// The package of the newest kernel that apt knows.
fn newest(arch: &Arch) -> Result<String, String> {
    let depends = arch.apt(Task::new("apt-cache depends {}", &[&arch.newest_kernel]))?;
    let output = depends
        .output()
        .map_err(|why| format!("a kernel for a guest comes from Debian's {}: {why}", arch.newest_kernel))?;
    dependency(&output)
        .ok_or_else(|| format!("apt knows no {}: apt-get update, on Debian", arch.newest_kernel))
}

/// The package that `apt-cache depends` names first.
fn dependency(output: &str) -> Option<String> {
    let line = output.lines().find_map(|line| line.trim().strip_prefix("Depends:"))?;
    let name = line.trim();
    // It becomes a folder's name.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.+".contains(c);
    (name.starts_with("linux-image-") && name.chars().all(is_plain)).then(|| name.to_owned())
}

/// A package, unpacked in a separate folder and not installed.
fn fetched(arch: &Arch, package: &str) -> Result<PathBuf, String> {
    let folder = Path::new(KERNELS).join(format!("{package}_{}", arch.debian));
    if folder.exists() {
        return Ok(folder);
    }
    // The rest of an interrupted attempt would count as complete.
    let part = folder.with_extension("part");
    files::empty_folder(&part)?;
    let script =
        r#"cd "$0" && apt-get -q -o APT::Sandbox::User=root "$@" && dpkg-deb -x ./*.deb . && rm ./*.deb"#;
    let download =
        arch.apt(Task::new("sh -c {} {}", &[&script, &part.display()]))?.more(["download", package]);
    download.run().or_else(|why| match arch.may_update() {
        true => arch.update().and_then(|()| download.run()),
        false => Err(format!("{why}; apt-get update may help")),
    })?;
    files::rename(&part, &folder)?;
    Ok(folder)
}

/// The kernel in an unpacked package.
fn image(folder: &Path) -> Option<PathBuf> {
    let entries = files::entries(folder.join("boot")).ok()?;
    let is_kernel = |path: &PathBuf| path.to_string_lossy().contains("/boot/vmlinuz-");
    entries.into_iter().find(is_kernel)
}

/// A program that needs no library, since the guest has none.
fn static_program(path: &Path, command: &str) -> Result<Vec<u8>, String> {
    let file = files::read(path).map_err(|why| format!("{why}; {command} makes it"))?;
    match dist::Header::read(path)?.has_loader {
        true => Err(format!("{} is not static: {command} makes one that is", path.display())),
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
        let this = std::fs::canonicalize("/proc/self/exe").unwrap();
        let why = static_program(&this, "make one").unwrap_err();
        assert!(why.ends_with("is not static: make one makes one that is"), "{why}");
        let why = static_program(Path::new("/nowhere/program"), "make one").unwrap_err();
        assert!(why.contains("cannot read") && why.ends_with("make one makes it"), "{why}");
    }

    #[test]
    fn init_ends_with_the_commands_and_the_guests_end() {
        let text = init(&["threadwise topology".to_owned(), "echo done".to_owned()]);
        assert!(text.starts_with("#!/bin/busybox sh\n"));
        assert!(text.ends_with("\nthreadwise topology\necho done\npoweroff -f\n"), "{text}");
    }
}
