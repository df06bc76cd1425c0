//! `cargo xtask package [--target TRIPLE]`: what users install, in `target/packages/ARCH`: an archive, a Debian
//! package, an RPM, an OCI image, a Python wheel, the list of components and SHA-256 sums.
//!
//! All hold the programs that `cargo xtask dist` makes. The tools are Debian's, and maturin for the wheel. The same
//! commit and tools give the same bytes: times are the commit's (SOURCE_DATE_EPOCH, reproducible-builds.org), owners 0.

mod sbom;

use crate::command::Task;
use crate::dist::{self, PROGRAMS, Target, VERSION};
use crate::lab::fetched;
use crate::lab::packages::{self, is_on_path};
use crate::steps::Steps;
use crate::tidy::project_files;
use std::fs;
use std::path::{Path, PathBuf};

/// Debian packages whose programs are run.
const TOOLS: [&str; 6] = ["dpkg", "python3", "python3-venv", "rpm", "umoci", "zstd"];
const CONTROL: &str = include_str!("control");
const SPEC: &str = include_str!("threadwise.spec");
/// What the image is called where it is loaded, before its version.
pub const IMAGE: &str = "threadwise";
/// Shells and their files of completions; RPM's spec moves that of zsh.
const COMPLETIONS: [[&str; 2]; 3] = [
    ["bash", "usr/share/bash-completion/completions/threadwise"],
    ["zsh", "usr/share/zsh/vendor-completions/_threadwise"],
    ["fish", "usr/share/fish/vendor_completions.d/threadwise.fish"],
];
const DOCUMENTS: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Makes all packages for a target, by default this machine's.
pub fn run(triple: Option<&str>) -> Result<(), String> {
    let target = Target::of(triple)?;
    packages::ensure(&TOOLS, false)?;
    let maturin = fetched::by_name("maturin")?;
    let release = Release::new(target)?;
    let mut steps = Steps::default();
    steps.step("programs", || dist::run(triple))?;
    release.clear()?;
    steps.step("tree", || release.stage())?;
    steps.step("archive", || release.archive())?;
    steps.step("deb", || release.deb())?;
    steps.step("rpm", || release.rpm())?;
    steps.step("image", || release.image())?;
    steps.step("components", || release.components())?;
    steps.step("wheel", || release.wheel(&format!("{maturin}/bin/maturin")))?;
    println!("\n{}\n", steps.summary());
    release.sums()
}

/// The folder of a target's packages.
pub fn folder(target: &Target) -> Result<PathBuf, String> {
    absolute(Path::new("target/packages").join(target.arch))
}

/// What is packed, and where.
struct Release {
    target: &'static Target,
    /// Seconds since 1970 that stand for every time in a package.
    epoch: String,
    /// What is made, and what it is made from. Both absolute, since tools change their folder.
    out: PathBuf,
    scratch: PathBuf,
}

impl Release {
    fn new(target: &'static Target) -> Result<Self, String> {
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => Task::new("git", &["log", "-1", "--format=%ct"])
                .output()
                .map_err(|why| format!("no time for the files: set SOURCE_DATE_EPOCH to seconds; {why}"))?,
        };
        let epoch = epoch.trim().to_owned();
        epoch
            .parse::<u32>()
            .map_err(|_| format!("SOURCE_DATE_EPOCH '{epoch}' is not a number of seconds"))?;
        let (out, scratch) = (folder(target)?, absolute(Path::new("target/packaging").join(target.arch))?);
        Ok(Self { target, epoch, out, scratch })
    }

    /// Name, version and processor, as in the names of files.
    fn name(&self) -> String {
        format!("threadwise-{VERSION}-{}-linux", self.target.arch)
    }

    /// A path below the scratch folder, as text for commands.
    fn at(&self, path: &str) -> String {
        self.scratch.join(path).to_string_lossy().into_owned()
    }

    fn out(&self, file: &str) -> String {
        self.out.join(file).to_string_lossy().into_owned()
    }

    fn task(&self, program: &str, arguments: &[&str]) -> Task {
        Task::new(program, arguments).env("SOURCE_DATE_EPOCH", &self.epoch)
    }

    fn clear(&self) -> Result<(), String> {
        for folder in [&self.out, &self.scratch] {
            if folder.exists() {
                fs::remove_dir_all(folder).map_err(|cause| cannot_write(folder, &cause))?;
            }
            fs::create_dir_all(folder).map_err(|cause| cannot_write(folder, &cause))?;
        }
        Ok(())
    }

    /// The tree that all packages hold.
    fn stage(&self) -> Result<(), String> {
        let tree = self.scratch.join("tree");
        for program in PROGRAMS {
            copy(Path::new(&self.target.out(program)), &tree.join("usr/bin").join(program))?;
        }
        for document in DOCUMENTS {
            copy(Path::new(document), &tree.join("usr/share/doc/threadwise").join(document))?;
        }
        let program = self.program()?;
        println!("completions and manual page: {}", program.shown());
        for [shell, file] in COMPLETIONS {
            write(&tree.join(file), &program.clone().more(&["completions", shell]).output()?)?;
        }
        let page = tree.join("usr/share/man/man1/threadwise.1");
        write(&page, &program.more(&["man"]).output()?)?;
        self.task("gzip", &["-9", "-n", &page.to_string_lossy()]).run()?;
        self.at_epoch(&self.at("tree"))
    }

    /// The program, or one of the same version that runs here: what it prints of itself is the same.
    fn program(&self) -> Result<Task, String> {
        let host = Target::of(None).map(|host| host.out(PROGRAMS[0]));
        self.target.start(&self.target.out(PROGRAMS[0]), is_on_path).or_else(|missing| match host {
            Ok(host) if Path::new(&host).exists() => Ok(Task::new(&host, &[])),
            _ => Err(format!("no program that runs here: apt-get install qemu-user (for {missing})")),
        })
    }

    /// Modes that do not depend on the umask, and times of the commit.
    fn at_epoch(&self, tree: &str) -> Result<(), String> {
        Task::new("chmod", &["-R", "u=rwX,go=rX", tree]).run()?;
        let time = format!("@{}", self.epoch);
        Task::new("find", &[tree, "-exec", "touch", "-h", "-d", &time, "{}", "+"]).run()
    }

    /// The arguments of tar(1) for a folder's contents, or one entry of it.
    fn tar(&self, file: &str, folder: &str, more: &[&str]) -> Result<(), String> {
        let time = format!("--mtime=@{}", self.epoch);
        let fixed = ["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner", &time];
        self.task("tar", &["-cf", file, "-C", folder]).more(&fixed).more(more).run()
    }

    fn archive(&self) -> Result<(), String> {
        let name = self.name();
        let moved = format!("--transform=s,^usr,{name},");
        self.tar(
            &self.out(&format!("{name}.tar.zst")),
            &self.at("tree"),
            &["-I", "zstd -10 -T0", &moved, "usr"],
        )
    }

    fn deb(&self) -> Result<(), String> {
        let sizes = Task::new("du", &["-sk", "--apparent-size", &self.at("tree")]).output()?;
        let kib = sizes.split_whitespace().next().unwrap_or_default();
        let control = fill(CONTROL, &[("version", VERSION), ("debian", self.target.debian), ("kib", kib)]);
        // Packed from a copy: the folder DEBIAN is in no other package.
        Task::new("cp", &["-a", &self.at("tree"), &self.at("deb")]).run()?;
        write(&self.scratch.join("deb/DEBIAN/control"), &control)?;
        self.at_epoch(&self.at("deb"))?;
        let file = self.out(&format!("threadwise_{VERSION}_{}.deb", self.target.debian));
        self.task("dpkg-deb", &["-Zgzip", "--root-owner-group", "--build", &self.at("deb"), &file]).run()
    }

    fn rpm(&self) -> Result<(), String> {
        let spec = self.at("threadwise.spec");
        write(Path::new(&spec), &fill(SPEC, &[("version", VERSION), ("tree", &self.at("tree"))]))?;
        let top = format!("_topdir {}", self.at("rpm"));
        let out = format!("_rpmdir {}", self.out.display());
        let target = format!("{}-linux", self.target.arch);
        self.task("rpmbuild", &["-bb", "--quiet", "--target", &target, "--define", &top, "--define", &out])
            .more(&[&spec])
            .run()
    }

    /// An OCI image from nothing but the tree, as one layer. `/data` is where results appear, and `TMPDIR` where
    /// measured data is made and removed again, since the image has no `/tmp`.
    fn image(&self) -> Result<(), String> {
        let (layout, layer) = (self.at("image"), self.at("layer.tar"));
        let image = format!("{layout}:{IMAGE}:{VERSION}");
        let time = self.utc()?;
        self.tar(&layer, &self.at("tree"), &["usr"])?;
        Task::new("umoci", &["init", "--layout", &layout]).run()?;
        Task::new("umoci", &["new", "--image", &image]).run()?;
        let made = ["--history.created", &time, "--history.created_by", "cargo xtask package"];
        Task::new("umoci", &["raw", "add-layer", "--image", &image]).more(&made).more(&[&layer]).run()?;
        Task::new("umoci", &["config", "--no-history", "--image", &image, "--created", &time])
            .more(&["--os", "linux", "--architecture", self.target.debian])
            .more(&["--config.entrypoint", "/usr/bin/threadwise", "--config.workingdir", "/data"])
            .more(&["--config.env", "PATH=/usr/bin", "--config.env", "TMPDIR=/data"])
            .run()?;
        Task::new("umoci", &["gc", "--layout", &layout]).run()?;
        self.tar(&self.out(&format!("{}-oci.tar", self.name())), &layout, &["."])
    }

    /// The commit's time as RFC 3339 has it.
    fn utc(&self) -> Result<String, String> {
        let time = Task::new("date", &["-u", "-d", &format!("@{}", self.epoch), "+%FT%TZ"]).output()?;
        Ok(time.trim().to_owned())
    }

    fn components(&self) -> Result<(), String> {
        let text = sbom::list(self.target, &self.utc()?)?;
        write(&self.out.join(self.components_file()), &text)
    }

    fn components_file(&self) -> String {
        format!("{}.cdx.json", self.name())
    }

    /// The wheel: maturin finds the program built, with the flags of `dist`, and the other one is a script beside it.
    /// Without SOURCE_DATE_EPOCH, by which C libraries would be built again, it dates all files 1980.
    fn wheel(&self, maturin: &str) -> Result<(), String> {
        let project = self.scratch.join("python");
        for file in project_files()?.iter().filter(|file| file.starts_with("python/")) {
            copy(Path::new(file), &self.scratch.join(file))?;
        }
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            copy(Path::new(licence), &project.join(licence))?;
        }
        copy(Path::new(&self.target.out(PROGRAMS[1])), &project.join("beside/scripts").join(PROGRAMS[1]))?;
        let settings = project.join("pyproject.toml");
        let text =
            fs::read_to_string(&settings).map_err(|cause| format!("python/pyproject.toml: {cause}"))?;
        write(&settings, &settings_of_release(&text)?)?;
        let (triple, components) = (self.target.triple(), self.out(&self.components_file()));
        let build = absolute(dist::BUILD_DIR)?.to_string_lossy().into_owned();
        let maturin = ["-C", &self.at("python"), maturin, "build", "--release", "--locked"];
        // A static program needs no C library, so any glibc's tag is right; this one is the oldest that pip knows.
        let tag = ["--compatibility", "manylinux2014", "--auditwheel", "skip"];
        self.target
            .settings(Task::new("env", &maturin))
            .more(&["--target", &triple, "--target-dir", &build])
            .more(&tag)
            .more(&["--sbom-include", &components, "--out", &self.out.to_string_lossy()])
            .run()
    }

    /// The sums, and what was made with its sizes.
    fn sums(&self) -> Result<(), String> {
        let entries = fs::read_dir(&self.out).map_err(|cause| cannot_write(&self.out, &cause))?;
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let mut sums = String::new();
        for file in &files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let line = Task::new("sha256sum", &[&file.to_string_lossy()]).output()?;
            sums += &format!("{}  {name}\n", line.split_whitespace().next().unwrap_or_default());
            let bytes = fs::metadata(file).map_or(0, |entry| entry.len());
            println!("{:>6.1} MB  {name}", bytes as f64 / 1e6);
        }
        println!("in {}", self.out.display());
        write(&self.out.join("SHA256SUMS"), &sums)
    }
}

/// The settings of the Python package for a wheel of the release, whose project is copied below `target`.
fn settings_of_release(text: &str) -> Result<String, String> {
    let refused = |why: &dyn std::fmt::Display| format!("python/pyproject.toml: {why}");
    let mut settings: toml::Table = text.parse().map_err(|why: toml::de::Error| refused(&why))?;
    let maturin = settings.get_mut("tool").and_then(|tool| tool.get_mut("maturin"));
    let maturin = maturin.and_then(toml::Value::as_table_mut).ok_or_else(|| refused(&"no [tool.maturin]"))?;
    let manifest = absolute("crates/threadwise/Cargo.toml")?;
    // Stripped by its profile already; with rustc's flag it would be linked again. Its list of components is ours.
    let changed =
        format!("manifest-path = {manifest:?}\ndata = \"beside\"\nstrip = false\nsbom = {{ rust = false }}");
    let changed: toml::Table = changed.parse().map_err(|why: toml::de::Error| refused(&why))?;
    maturin.extend(changed);
    toml::to_string(&settings).map_err(|why| refused(&why))
}

/// A path that holds for programs that change their folder.
pub fn absolute(path: impl AsRef<Path>) -> Result<PathBuf, String> {
    std::path::absolute(&path).map_err(|cause| format!("{}: {cause}", path.as_ref().display()))
}

/// A text with values in its places `{name}`.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Why a file or folder cannot be written.
pub fn cannot_write(path: &Path, cause: &std::io::Error) -> String {
    format!("cannot write {}: {cause}", path.display())
}

fn with_folder(file: &Path) -> Result<(), String> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(|cause| cannot_write(folder, &cause))
}

/// Writes a file, and makes its folder.
pub fn write(file: &Path, text: &str) -> Result<(), String> {
    with_folder(file)?;
    fs::write(file, text).map_err(|cause| cannot_write(file, &cause))
}

/// Copies a file with its mode, and makes its folder.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    with_folder(to)?;
    fs::copy(from, to).map(|_| ()).map_err(|cause| format!("cannot copy {}: {cause}", from.display()))
}
