//! The part `packages` of the laboratory: what `cargo xtask package` made is installed in clean roots, and the
//! programs run there: version, engines, manual page, a small study on SQLite and its report. All of it also makes the
//! packages again, and those of the other processor, reads the list of components against its schema, and packs the
//! crates that are published.

use super::packages::{is_on_path, is_root};
use crate::command::Task;
use crate::dist::{Target, VERSION};
use crate::files;
use crate::package::{self, IMAGE};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The smallest study of a real database.
const STUDY: &str = "run placement --allow-busy --no-probe --blocks 3 --rounds 2 -o s.threadwise";
/// Runs the program of a root folder there: what a system mounts, and no variable. The folder may have no shell.
const IN_ROOT: &str = r#"cd "$0" && mkdir -p proc sys dev tmp && mount -t proc proc proc &&
    mount --rbind /sys sys && mount --rbind /dev dev && exec env -i "$(command -v chroot)" . /usr/bin/threadwise "$@""#;

/// Packs the crates that others may use, of which each needs only those before it.
const PUBLISH: &str =
    "cargo publish --dry-run --allow-dirty -p threadwise-machine -p threadwise-study -p threadwise-document";
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
    files::make_folder(ROOTS)?;
    let scratch =
        tempfile::tempdir_in(ROOTS).map_err(|cause| format!("cannot make a folder in {ROOTS}: {cause}"))?;
    let root = |name: &str| {
        let root = files::absolute(scratch.path().join(name))?;
        files::make_folder(&root).map(|()| root)
    };
    archive(&made, &root("archive")?)?;
    wheel(&made, &root("wheel")?)?;
    rpm(&made, &root("rpm")?)?;
    image(&made, &root("image")?)?;
    let deb_root = root("deb")?;
    match python {
        Some(_) => debian(&deb_root)?,
        // A root folder of which dpkg knows nothing.
        None => files::write(deb_root.join("var/lib/dpkg/status"), "")?,
    }
    deb(&made, &deb_root)?;
    let Some(python) = python else { return Ok(()) };
    Task::new("{}/python -c {} {}", &[&python, &READ, &made.file(".cdx.json")?]).run()?;
    let sums = made.sums()?;
    package::run(None)?;
    if made.sums()? != sums {
        return Err("packages that are made again differ: compare the sums of both".to_owned());
    }
    foreign(&root("foreign")?)?;
    Task::new(PUBLISH, &[]).run()
}

/// The folder of root folders, which are removed at the end.
const ROOTS: &str = "target/test-packages";

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
        Task::new("env -C {} sha256sum --check --strict SHA256SUMS", &[&folder.display()]).run()?;
        Ok(Self { folder })
    }

    fn sums(&self) -> Result<String, String> {
        files::read_text(self.folder.join("SHA256SUMS"))
    }

    /// The one with this end.
    fn file(&self, end: &str) -> Result<String, String> {
        let entries = files::entries(&self.folder)?;
        let mut files = entries.iter().map(|path| path.to_string_lossy().into_owned());
        files
            .find(|file| file.ends_with(end))
            .ok_or_else(|| format!("no *{end} in {}", self.folder.display()))
    }
}

/// What holds of every installed program, which `run` starts with arguments.
fn works(mut run: impl FnMut(&str) -> Result<Task, String>) -> Result<(), String> {
    prints(&run("--version")?, VERSION)?;
    // The second program is found.
    prints(&run("list")?, "threadwise-engine-sqlserver (ready)")?;
    prints(&run(STUDY)?, "TRUST")?;
    prints(&run("report s.threadwise --all")?, "rows/s")
}

/// The same where the program is in a folder that is not the system's root.
fn works_in(root: &Path) -> Result<(), String> {
    works(|words| Ok(Task::new(&format!("env -i -C {{}} bin/threadwise {words}"), &[&root.display()])))
}

/// The same where the folder is the system's root.
fn works_as_root(root: &Path) -> Result<(), String> {
    let unshare = "unshare --mount sh -c {} {}";
    works(|words| Ok(Task::new(&format!("{unshare} {words}"), &[&IN_ROOT, &root.display()])))
}

fn prints(task: &Task, wanted: &str) -> Result<(), String> {
    match task.output()? {
        output if output.contains(wanted) => Ok(()),
        output => Err(format!("'{}' does not print '{wanted}':\n{output}", task.shown())),
    }
}

/// Unpacks an archive.
fn unpack(made: &Made, root: &Path) -> Result<(), String> {
    let file = made.file(".tar.zst")?;
    Task::new("tar -xf {} -C {} --strip-components=1", &[&file, &root.display()]).run()
}

fn archive(made: &Made, root: &Path) -> Result<(), String> {
    unpack(made, root)?;
    let man = "man --warnings --local-file {}/share/man/man1/threadwise.1.gz";
    prints(&Task::new(man, &[&root.display()]), "threadwise")?;
    works_in(root)
}

fn wheel(made: &Made, root: &Path) -> Result<(), String> {
    Task::new("python3 -m venv {}", &[&root.display()]).run()?;
    let install = "{}/bin/python -m pip install --quiet --no-index --disable-pip-version-check {}";
    Task::new(install, &[&root.display(), &made.file(".whl")?]).run()?;
    works_in(root)?;
    // The module finds the program beside its interpreter.
    let module = "import threadwise; print(*threadwise.open('s.threadwise').verdict)";
    prints(&Task::new("env -i -C {} bin/python -c {}", &[&root.display(), &module]), "Trust")
}

/// Packages of the processor that this machine does not have. An emulated program cannot start another one, as a study
/// does, so it reads what this machine measured.
fn foreign(root: &Path) -> Result<(), String> {
    let target = Target::other();
    package::run(Some(&target.triple()))?;
    let made = Made::of(target)?;
    prints(&Task::new("dpkg-deb --field {} Architecture", &[&made.file(".deb")?]), target.debian)?;
    prints(&Task::new("rpm -qp --queryformat {} {}", &[&"%{ARCH}", &made.file(".rpm")?]), target.arch)?;
    made.file(&format!("{}.whl", target.arch))?;
    unpack(&made, root)?;
    let emulated = target.start(&root.join("bin/threadwise").to_string_lossy(), is_on_path)?;
    prints(&emulated.clone().more(["--version"]), VERSION)?;
    let study = root.with_file_name("archive").join("s.threadwise");
    prints(&emulated.more(["report", &study.to_string_lossy()]), "TRUST")
}

fn rpm(made: &Made, root: &Path) -> Result<(), String> {
    Task::new("rpm --root {} --install {}", &[&root.display(), &made.file(".rpm")?]).run()?;
    Task::new("rpm --root {} --verify threadwise", &[&root.display()]).run()?;
    works_as_root(root)
}

fn deb(made: &Made, root: &Path) -> Result<(), String> {
    Task::new("dpkg --root={} --install {}", &[&root.display(), &made.file(".deb")?]).run()?;
    works_as_root(root)?;
    Task::new("dpkg --root={} --purge threadwise", &[&root.display()]).run()
}

/// Debian's smallest system, from where this machine has its packages.
fn debian(root: &Path) -> Result<(), String> {
    let sources = Task::new("apt-get indextargets --format {}", &[&"$(CODENAME) $(SITE)"]);
    let sources = sources.more(["Created-By: Packages", "Component: main"]).output()?;
    let source =
        sources.lines().find_map(|line| line.split_once(' ').filter(|(name, _)| !name.contains('-')));
    let (name, site) = source.ok_or("apt-get has no source of packages: run apt-get update")?;
    let bootstrap = "debootstrap --variant=minbase {} {} {}";
    Task::new(bootstrap, &[&name, &root.display(), &site]).output().map(|_| ())
}

/// The image as a container of runc, in the namespaces that umoci writes, without a terminal.
fn image(made: &Made, root: &Path) -> Result<(), String> {
    let (layout, bundle) = (root.join("layout"), root.join("bundle"));
    files::make_folder(&layout)?;
    let (layout, name) = (layout.display(), format!("threadwise-{}", std::process::id()));
    Task::new("tar -xf {} -C {}", &[&made.file("-oci.tar")?, &layout]).run()?;
    Task::new("umoci unpack --image {}:{}:{} {}", &[&layout, &IMAGE, &VERSION, &bundle.display()]).run()?;
    let file = bundle.join("config.json");
    let mut config: Value = serde_json::from_str(&files::read_text(&file)?)
        .map_err(|why| format!("{}: {why}", file.display()))?;
    let entry = config["process"]["args"].clone();
    works(|words| {
        let arguments = entry.as_array().into_iter().flatten().cloned();
        config["process"]["args"] = arguments.chain(words.split(' ').map(|word| json!(word))).collect();
        config["process"]["terminal"] = json!(false);
        files::write(&file, config.to_string())?;
        Ok(Task::new("runc run --bundle {} {}", &[&bundle.display(), &name]))
    })
}
