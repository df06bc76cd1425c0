//! The part `packages` of the laboratory: what `cargo xtask package` made is installed in clean roots, and the
//! programs run there: version, engines, manual page, a small study on SQLite and its report. All of it also makes the
//! packages again, and those of the other processor, reads the list of components against its schema, and packs the
//! crates that are published.

use super::packages::{is_on_path, is_root};
use crate::command::Task;
use crate::dist::{Target, VERSION};
use crate::package::{self, IMAGE};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The smallest study of a real database.
const STUDY: [&str; 10] = [
    "run",
    "placement",
    "--allow-busy",
    "--no-probe",
    "--blocks",
    "3",
    "--rounds",
    "2",
    "-o",
    "s.threadwise",
];
/// Runs the program of a root folder there: what a system mounts, and no variable. The folder may have no shell.
const IN_ROOT: &str = r#"cd "$0" && mkdir -p proc sys dev tmp && mount -t proc proc proc &&
    mount --rbind /sys sys && mount --rbind /dev dev && exec env -i "$(command -v chroot)" . /usr/bin/threadwise "$@""#;

/// The crates that others may use, of which each needs only those before it.
const CRATES: [&str; 6] = ["-p", "threadwise-machine", "-p", "threadwise-study", "-p", "threadwise-document"];
/// Reads a list of components against the schema of CycloneDX 1.5.
const READ: &str = "import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(wrong and str(wrong)[:500])";

/// Installs and runs the packages; `python` is the folder of the interpreter with the schema; without it only the smoke.
pub fn run(python: Option<&str>) -> Result<(), String> {
    if !is_root() {
        return Err("only root may change its root folder and start containers: run it as root".to_owned());
    }
    let target = Target::of(None)?;
    if python.is_some() {
        package::run(None)?;
    }
    let made = Made::of(target)?;
    let scratch = Scratch::new()?;
    archive(&made, &scratch.folder("archive")?)?;
    wheel(&made, &scratch.folder("wheel")?)?;
    rpm(&made, &scratch.folder("rpm")?)?;
    image(&made, &scratch.folder("image")?)?;
    let root = scratch.folder("deb")?;
    match python {
        Some(_) => debian(&root)?,
        None => nothing_installed(&root)?,
    }
    deb(&made, &root)?;
    let Some(python) = python else { return Ok(()) };
    let components = made.file(".cdx.json")?;
    Task::new(&format!("{python}/python"), &["-c", READ, &components]).run()?;
    let sums = made.sums()?;
    package::run(None)?;
    if made.sums()? != sums {
        return Err("packages that are made again differ: compare the sums of both".to_owned());
    }
    foreign(&scratch.folder("foreign")?)?;
    Task::new("cargo", &["publish", "--dry-run", "--allow-dirty"]).more(&CRATES).run()
}

/// The files that were made.
struct Made {
    folder: PathBuf,
}

impl Made {
    fn of(target: &Target) -> Result<Self, String> {
        let folder = package::folder(target)?;
        let sums = folder.join("SHA256SUMS");
        if !sums.exists() {
            return Err(format!("no {}: cargo xtask package makes it", sums.display()));
        }
        let folder_text = folder.to_string_lossy();
        Task::new("env", &["-C", &folder_text, "sha256sum", "--check", "--strict", "SHA256SUMS"]).run()?;
        Ok(Self { folder })
    }

    fn sums(&self) -> Result<String, String> {
        let file = self.folder.join("SHA256SUMS");
        fs::read_to_string(&file).map_err(|cause| wrong(&file, &cause))
    }

    /// The one with this end.
    fn file(&self, end: &str) -> Result<String, String> {
        let entries = fs::read_dir(&self.folder).map_err(|cause| wrong(&self.folder, &cause))?;
        let mut files = entries.flatten().map(|entry| entry.path().to_string_lossy().into_owned());
        files
            .find(|file| file.ends_with(end))
            .ok_or_else(|| format!("no *{end} in {}", self.folder.display()))
    }
}

/// A folder for roots, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, String> {
        let folder = package::absolute("target/test-packages")?;
        let scratch = Self(folder.join(std::process::id().to_string()));
        fs::create_dir_all(&scratch.0).map_err(|cause| wrong(&scratch.0, &cause))?;
        Ok(scratch)
    }

    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.0.join(name);
        fs::create_dir(&folder).map_err(|cause| wrong(&folder, &cause))?;
        Ok(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.0) {
            eprintln!("{}", wrong(&self.0, &cause));
        }
    }
}

fn wrong(path: &Path, cause: &std::io::Error) -> String {
    format!("{}: {cause}", path.display())
}

/// What holds of every installed program, which `run` starts with arguments.
fn works(mut run: impl FnMut(&[&str]) -> Result<Task, String>) -> Result<(), String> {
    prints(&run(&["--version"])?, VERSION)?;
    // The second program is found.
    prints(&run(&["list"])?, "threadwise-engine-sqlserver (ready)")?;
    prints(&run(&STUDY)?, "TRUST")?;
    prints(&run(&["report", "s.threadwise", "--all"])?, "rows/s")
}

fn prints(task: &Task, wanted: &str) -> Result<(), String> {
    match task.output()? {
        output if output.contains(wanted) => Ok(()),
        output => Err(format!("'{}' does not print '{wanted}':\n{output}", task.shown())),
    }
}

fn archive(made: &Made, root: &Path) -> Result<(), String> {
    let root = root.to_string_lossy();
    Task::new("tar", &["-xf", &made.file(".tar.zst")?, "-C", &root, "--strip-components=1"]).run()?;
    let page = format!("{root}/share/man/man1/threadwise.1.gz");
    let page = Task::new("man", &["--warnings", "--local-file", &page]).output()?;
    if !page.contains("threadwise") {
        return Err(format!("man shows no page of threadwise: {page}"));
    }
    works(|more| Ok(Task::new("env", &["-i", "-C", &root, "bin/threadwise"]).more(more)))
}

fn wheel(made: &Made, root: &Path) -> Result<(), String> {
    let root = root.to_string_lossy();
    let python = format!("{root}/bin/python");
    Task::new("python3", &["-m", "venv", &root]).run()?;
    let install = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"];
    Task::new(&python, &install).more(&[&made.file(".whl")?]).run()?;
    works(|more| Ok(Task::new("env", &["-i", "-C", &root, "bin/threadwise"]).more(more)))?;
    // The module finds the program beside its interpreter.
    let module = "import threadwise; print(*threadwise.open('s.threadwise').verdict)";
    prints(&Task::new("env", &["-i", "-C", &root, "bin/python", "-c", module]), "Trust")
}

/// Packages of the processor that this machine does not have. An emulated program cannot start another one, as a study
/// does, so it reads what this machine measured.
fn foreign(root: &Path) -> Result<(), String> {
    let target = Target::other();
    package::run(Some(&target.triple()))?;
    let made = Made::of(target)?;
    prints(&Task::new("dpkg-deb", &["--field", &made.file(".deb")?, "Architecture"]), target.debian)?;
    prints(&Task::new("rpm", &["-qp", "--queryformat", "%{ARCH}", &made.file(".rpm")?]), target.arch)?;
    made.file(&format!("{}.whl", target.arch))?;
    let folder = root.to_string_lossy();
    Task::new("tar", &["-xf", &made.file(".tar.zst")?, "-C", &folder, "--strip-components=1"]).run()?;
    let program = root.join("bin/threadwise");
    let emulated = target.start(&program.to_string_lossy(), is_on_path)?;
    prints(&emulated.clone().more(&["--version"]), VERSION)?;
    let study = root.with_file_name("archive").join("s.threadwise");
    prints(&emulated.more(&["report", &study.to_string_lossy()]), "TRUST")
}

fn in_root(root: &str) -> impl Fn(&[&str]) -> Result<Task, String> {
    move |more| Ok(Task::new("unshare", &["--mount", "sh", "-c", IN_ROOT, root]).more(more))
}

fn rpm(made: &Made, root: &Path) -> Result<(), String> {
    let root = root.to_string_lossy();
    Task::new("rpm", &["--root", &root, "--install", &made.file(".rpm")?]).run()?;
    Task::new("rpm", &["--root", &root, "--verify", "threadwise"]).run()?;
    works(in_root(&root))
}

fn deb(made: &Made, root: &Path) -> Result<(), String> {
    let root = root.to_string_lossy();
    Task::new("dpkg", &[&format!("--root={root}"), "--install", &made.file(".deb")?]).run()?;
    works(in_root(&root))?;
    Task::new("dpkg", &[&format!("--root={root}"), "--purge", "threadwise"]).run()
}

/// A root folder of which dpkg knows nothing.
fn nothing_installed(root: &Path) -> Result<(), String> {
    let known = root.join("var/lib/dpkg");
    let file = known.join("status");
    fs::create_dir_all(known).and_then(|()| fs::write(&file, "")).map_err(|cause| wrong(&file, &cause))
}

/// Debian's smallest system, from where this machine has its packages.
fn debian(root: &Path) -> Result<(), String> {
    let sources =
        ["indextargets", "--format", "$(CODENAME) $(SITE)", "Created-By: Packages", "Component: main"];
    let sources = Task::new("apt-get", &sources).output()?;
    let source =
        sources.lines().find_map(|line| line.split_once(' ').filter(|(name, _)| !name.contains('-')));
    let (name, site) = source.ok_or("apt-get has no source of packages: run apt-get update")?;
    Task::new("debootstrap", &["--variant=minbase", name, &root.to_string_lossy(), site]).output().map(|_| ())
}

/// The image as a container of runc, in the namespaces that umoci writes, without a terminal.
fn image(made: &Made, root: &Path) -> Result<(), String> {
    let [layout, bundle] = ["layout", "bundle"].map(|name| root.join(name));
    fs::create_dir(&layout).map_err(|cause| wrong(&layout, &cause))?;
    let (layout, name) = (layout.to_string_lossy(), format!("threadwise-{}", std::process::id()));
    Task::new("tar", &["-xf", &made.file("-oci.tar")?, "-C", &layout]).run()?;
    let unpacked = bundle.to_string_lossy();
    Task::new("umoci", &["unpack", "--image", &format!("{layout}:{IMAGE}:{VERSION}"), &unpacked]).run()?;
    let file = bundle.join("config.json");
    let text = fs::read_to_string(&file).map_err(|cause| wrong(&file, &cause))?;
    let mut config: Value =
        serde_json::from_str(&text).map_err(|why| format!("{}: {why}", file.display()))?;
    let entry = config["process"]["args"].clone();
    works(|more| {
        let arguments = entry.as_array().into_iter().flatten().cloned();
        config["process"]["args"] = arguments.chain(more.iter().map(|word| json!(word))).collect();
        config["process"]["terminal"] = json!(false);
        fs::write(&file, config.to_string()).map_err(|cause| wrong(&file, &cause))?;
        Ok(Task::new("runc", &["run", "--bundle", &unpacked, &name]))
    })
}
