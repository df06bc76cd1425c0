//! `cargo xtask dist [--target TRIPLE]`: static binaries that run on any Linux of their processor: the program, and
//! the worker programs of separate crates.
//!
//! glibc linked statically (`-C target-feature=+crt-static`, the Rust reference, "Linkage"); the
//! target is named so that the flag does not reach proc macros, which must be shared objects.
//! The names of compilers and packages for another processor are Debian's.

use crate::command::Task;
use crate::files;
use crate::lab::packages::is_on_path;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// The folder of builds. A separate one: the flags differ from those of every other build.
pub const BUILD_DIR: &str = "target/static";
const DIST_DIR: &str = "target/dist";
/// The released programs. Each is built separately, so that none gets library features for another one.
pub const PROGRAMS: [&str; 2] = ["threadwise", "threadwise-engine-sqlserver"];
/// Size limit of each.
const MAX_BYTES: u64 = 45_000_000;
const FLAGS: &str = "-C target-feature=+crt-static";
/// The version of this workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Tests start the program in this variable, by default the development build.
pub const TEST_PROGRAM: &str = "THREADWISE_TEST_PROGRAM";

/// Builds, checks and runs the binary for a target, by default this machine's.
pub fn run(triple: Option<&str>) -> Result<(), String> {
    let target = Target::of(triple)?;
    let library = Task::new("rustc --print target-libdir --target {}", &[&target.triple()]).output()?;
    target.lacks(is_on_path(&target.cc()), Path::new(library.trim()).exists())?;
    for program in PROGRAMS {
        hand_out(target, program)?;
    }
    match target.start(&target.out(PROGRAMS[0]), is_on_path) {
        Ok(program) => try_out(&program)?,
        Err(missing) => println!("not started: {missing} is not installed (apt-get install qemu-user)"),
    }
    Ok(())
}

/// Builds a program, checks it and copies it to the release folder.
fn hand_out(target: &Target, program: &str) -> Result<(), String> {
    target.build(program).run()?;
    let (built, out) = (target.built(program), target.out(program));
    let bytes = target.check(&built, MAX_BYTES).map_err(|why| format!("{}: {why}", built.display()))?;
    // Beside it first: one that runs cannot be written, but its name can be taken.
    let new = format!("{out}.new");
    files::copy(&built, &new)?;
    files::rename(&new, &out)?;
    println!("\n{out}: static, {:.1} MB", bytes as f64 / 1e6);
    Ok(())
}

/// The binary for this machine, for tests.
pub fn for_tests() -> Result<PathBuf, String> {
    files::absolute(Target::of(None)?.out(PROGRAMS[0]))
}

/// The binary for guests with this processor, and the command that makes it.
pub fn for_guest(arch: &str) -> Result<(PathBuf, String), String> {
    let target = Target::of(Some(&format!("{arch}-unknown-linux-gnu")))?;
    match std::env::var_os(TEST_PROGRAM).filter(|_| target.is_host()) {
        Some(program) => Ok((PathBuf::from(program), "cargo xtask dist".to_owned())),
        None => {
            Ok((target.out(PROGRAMS[0]).into(), format!("cargo xtask dist --target {}", target.triple())))
        }
    }
}

fn try_out(program: &Task) -> Result<(), String> {
    let version = program.clone().more(["--version"]);
    let said = version.output()?;
    if !said.contains(VERSION) {
        return Err(format!("'{}' prints '{}' instead of {VERSION}", version.shown(), said.trim()));
    }
    program.clone().more(["topology"]).run()
}

/// A kind of processor with a binary.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// As in the triple and in `std::env::consts::ARCH`; RPM's name, too.
    pub arch: &'static str,
    /// What readelf(1) calls it.
    machine: &'static str,
    /// Debian's name for it, and that of OCI images.
    pub debian: &'static str,
}

/// All of them.
const TARGETS: [Target; 2] = [
    Target { arch: "x86_64", machine: "X86-64", debian: "amd64" },
    Target { arch: "aarch64", machine: "AArch64", debian: "arm64" },
];

impl Target {
    /// The one with this triple, or this machine's.
    pub fn of(triple: Option<&str>) -> Result<&'static Self, String> {
        let triple = triple.map_or_else(|| format!("{ARCH}-unknown-linux-gnu"), str::to_owned);
        TARGETS.iter().find(|target| target.triple() == triple).ok_or_else(|| {
            let known: Vec<String> = TARGETS.iter().map(Self::triple).collect();
            format!("dist makes no binary for {triple}: --target {}", known.join(" or "))
        })
    }

    /// The first one that is not this machine's.
    pub fn other() -> &'static Self {
        if TARGETS[0].is_host() { &TARGETS[1] } else { &TARGETS[0] }
    }

    /// The triple of its programs.
    pub fn triple(&self) -> String {
        format!("{}-unknown-linux-gnu", self.arch)
    }

    /// Whether this machine has such a processor.
    pub fn is_host(&self) -> bool {
        self.arch == ARCH
    }

    /// The compiler that links it and builds SQLite.
    pub fn cc(&self) -> String {
        if self.is_host() { "cc".to_owned() } else { format!("{}-linux-gnu-gcc", self.arch) }
    }

    /// The path of the released binary.
    pub fn out(&self, program: &str) -> String {
        format!("{DIST_DIR}/{}-{VERSION}-{}-linux", program, self.arch)
    }

    /// What this machine lacks for the build, as an error with the command that installs it.
    fn lacks(&self, has_cc: bool, has_std: bool) -> Result<(), String> {
        let triple = self.triple();
        if !has_cc {
            let packages = if self.is_host() {
                "gcc libc6-dev".to_owned()
            } else {
                let gcc = self.arch.replace('_', "-");
                format!("gcc-{gcc}-linux-gnu libc6-dev-{}-cross", self.debian)
            };
            return Err(format!("no linker {} for {triple}: apt-get install {packages}", self.cc()));
        }
        if !has_std {
            return Err(format!("no Rust standard library for {triple}: rustup target add {triple}"));
        }
        Ok(())
    }

    fn build(&self, program: &str) -> Task {
        let build = "cargo build --release --locked --target {} --target-dir {} --package {} --bin {}";
        self.settings(Task::new(build, &[&self.triple(), &BUILD_DIR, &program, &program]))
    }

    /// The environment of a command that builds its programs.
    pub fn settings(&self, task: Task) -> Task {
        let task = task.env("RUSTFLAGS", FLAGS);
        if self.is_host() {
            return task;
        }
        // Cargo does not guess the linker; the crate cc, which builds SQLite, finds the same compiler.
        let variable = self.triple().replace('-', "_").to_uppercase();
        task.env(&format!("CARGO_TARGET_{variable}_LINKER"), self.cc())
    }

    fn built(&self, program: &str) -> PathBuf {
        Path::new(BUILD_DIR).join(self.triple()).join("release").join(program)
    }

    /// The size of a program that has one, bytes.
    fn check(&self, file: &Path, max_bytes: u64) -> Result<u64, String> {
        let header = Header::read(file)?;
        if !header.machine.contains(self.machine) {
            return Err(format!("is for {}, not {}", header.machine, self.machine));
        }
        if header.has_loader {
            return Err("asks for a dynamic loader, so it is not static".to_owned());
        }
        match std::fs::metadata(file).map_err(|cause| cause.to_string())?.len() {
            bytes if bytes > max_bytes => Err(format!("has {bytes} bytes, more than {max_bytes}")),
            bytes => Ok(bytes),
        }
    }

    /// The command that starts a binary here; without one, the name of what is missing.
    pub fn start(&self, binary: &str, is_there: impl Fn(&str) -> bool) -> Result<Task, String> {
        if self.is_host() {
            return Ok(Task::new("{}", &[&binary]));
        }
        // Debian's packages qemu-user and qemu-user-static.
        let emulators = [format!("qemu-{}", self.arch), format!("qemu-{}-static", self.arch)];
        match emulators.iter().find(|name| is_there(name)) {
            Some(emulator) => Ok(Task::new("{} {}", &[emulator, &binary])),
            None => Err(emulators[0].clone()),
        }
    }
}

/// What readelf(1) says of a program.
pub struct Header {
    /// Kind of processor.
    machine: String,
    /// Whether it asks for a dynamic loader; a static program does not.
    pub has_loader: bool,
}

impl Header {
    /// Reads it.
    pub fn read(file: &Path) -> Result<Self, String> {
        let readelf = Task::new("readelf --wide --file-header --program-headers {}", &[&file.display()]);
        let output = readelf.env("LC_ALL", "C").output()?;
        let machine = output.lines().find_map(|line| line.trim().strip_prefix("Machine:"));
        let machine = machine.ok_or("readelf names no processor")?.trim().to_owned();
        Ok(Self { machine, has_loader: output.lines().any(|line| line.trim().starts_with("INTERP ")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86_64: &Target = &TARGETS[0];
    const AARCH64: &Target = &TARGETS[1];
    const AARCH64_TRIPLE: &str = "aarch64-unknown-linux-gnu";

    #[test]
    fn processor_loader_and_size_are_checked() {
        let this = std::fs::canonicalize("/proc/self/exe").unwrap();
        assert!(Header::read(&this).unwrap().has_loader, "tests are linked dynamically");
        let refused = |target: &Target, file: &Path| target.check(file, 1000).unwrap_err();
        for target in &TARGETS {
            let expected = if target.is_host() { "not static" } else { target.machine };
            assert!(refused(target, &this).contains(expected));
        }
        assert!(refused(X86_64, Path::new("Cargo.toml")).contains("ELF"));
    }

    #[test]
    fn a_target_is_named_by_its_triple_and_is_the_machines_by_default() {
        assert_eq!(Target::of(Some(AARCH64_TRIPLE)), Ok(AARCH64));
        if let Ok(target) = Target::of(None) {
            assert!(target.is_host());
        }
        let unknown = Target::of(Some("riscv64gc-unknown-linux-gnu"));
        assert!(unknown.is_err_and(|why| why.contains("riscv64gc") && why.contains(AARCH64_TRIPLE)));
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_brings_it() {
        let target = Target::other();
        assert_eq!(target.lacks(true, true), Ok(()));
        let std = target.lacks(true, false);
        assert!(std.is_err_and(|why| why.ends_with(&format!("rustup target add {}", target.triple()))));
        let cross = format!("libc6-dev-{}-cross", target.debian);
        assert!(target.lacks(false, true).is_err_and(|why| why.contains("apt-get") && why.ends_with(&cross)));
    }

    #[test]
    fn only_a_foreign_binary_needs_a_linker_and_an_emulator() {
        let target = Target::other();
        assert!(
            target.build(PROGRAMS[1]).shown().contains(&format!("_LINKER={}-linux-gnu-gcc ", target.arch))
        );
        let start = |names: &[&str]| target.start("b", |name| names.contains(&name)).map(|task| task.shown());
        let emulator = format!("qemu-{}", target.arch);
        let other = format!("{emulator}-static");
        assert_eq!(start(&[&emulator, &other]), Ok(format!("{emulator} b")));
        assert_eq!(start(&[&other]), Ok(format!("{other} b")));
        assert_eq!(start(&[]), Err(emulator));
        if let Ok(host) = Target::of(None) {
            assert!(!host.build(PROGRAMS[0]).shown().contains("_LINKER"));
            assert_eq!(host.start("b", |_| false), Ok(Task::new("b", &[])));
        }
    }
}
