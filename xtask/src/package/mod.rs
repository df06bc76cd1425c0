//! `cargo xtask package [--target TRIPLE]`: what users install, in `target/packages/ARCH`: an archive, a Debian
//! package, an RPM, an OCI image, a Python wheel, the list of components and SHA-256 sums.
//!
//! All hold the programs that `cargo xtask dist` makes. The tools are Debian's, and maturin for the wheel. The same
//! commit and tools give the same bytes: times are the commit's (SOURCE_DATE_EPOCH, reproducible-builds.org), owners 0.

mod sbom;

use crate::command::Task;
use crate::dist::{self, PROGRAMS, Target, VERSION};
use crate::files;
use crate::lab::fetched;
use crate::lab::packages::{self, is_on_path};
use crate::steps::Steps;
use crate::tidy::project_files;
use std::fmt::Display;
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
    let [_, maturin] = fetched::ensure("maturin", false)?;
    let release = Release::new(target)?;
    let mut steps = Steps::default();
    steps.step("programs", || dist::run(triple))?;
    files::empty_folder(&release.out)?;
    files::empty_folder(&release.scratch)?;
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
    files::absolute(Path::new("target/packages").join(target.arch))
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
            Err(_) => Task::new("git log -1 --format=%ct", &[])
                .output()
                .map_err(|why| format!("no time for the files: set SOURCE_DATE_EPOCH to seconds; {why}"))?,
        };
        let epoch = epoch.trim().to_owned();
        epoch
            .parse::<u32>()
            .map_err(|_| format!("SOURCE_DATE_EPOCH '{epoch}' is not a number of seconds"))?;
        let scratch = files::absolute(Path::new("target/packaging").join(target.arch))?;
        Ok(Self { target, epoch, out: folder(target)?, scratch })
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

    fn task(&self, text: &str, values: &[&dyn Display]) -> Task {
        Task::new(text, values).env("SOURCE_DATE_EPOCH", &self.epoch)
    }

    /// The tree that all packages hold.
    fn stage(&self) -> Result<(), String> {
        let tree = self.scratch.join("tree");
        for program in PROGRAMS {
            files::copy(self.target.out(program), tree.join("usr/bin").join(program))?;
        }
        for document in DOCUMENTS {
            files::copy(document, tree.join("usr/share/doc/threadwise").join(document))?;
        }
        let program = self.program()?;
        println!("completions and manual page: {}", program.shown());
        for [shell, file] in COMPLETIONS {
            files::write(tree.join(file), program.clone().more(["completions", shell]).output()?)?;
        }
        let page = tree.join("usr/share/man/man1/threadwise.1");
        files::write(&page, program.more(["man"]).output()?)?;
        self.task("gzip -9 -n {}", &[&page.display()]).run()?;
        self.at_epoch(&self.at("tree"))
    }

    /// The program, or one of the same version that runs here: what it prints of itself is the same.
    fn program(&self) -> Result<Task, String> {
        let host = Target::of(None).map(|host| host.out(PROGRAMS[0]));
        self.target.start(&self.target.out(PROGRAMS[0]), is_on_path).or_else(|missing| match host {
            Ok(host) if Path::new(&host).exists() => Ok(Task::new("{}", &[&host])),
            _ => Err(format!("no program that runs here: apt-get install qemu-user (for {missing})")),
        })
    }

    /// Modes that do not depend on the umask, and times of the commit.
    fn at_epoch(&self, tree: &str) -> Result<(), String> {
        Task::new("chmod -R u=rwX,go=rX {}", &[&tree]).run()?;
        Task::new("find {} -exec touch -h -d @{} {} +", &[&tree, &self.epoch, &"{}"]).run()
    }

    /// A file of tar(1) of an entry of a folder, with further options.
    fn tar(&self, file: &str, folder: &str, entry: &str, options: &[&str]) -> Result<(), String> {
        let tar = "tar -cf {} -C {} --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime=@{}";
        self.task(tar, &[&file, &folder, &self.epoch]).more(options).more([entry]).run()
    }

    fn archive(&self) -> Result<(), String> {
        let name = self.name();
        let moved = format!("--transform=s,^usr,{name},");
        let file = self.out(&format!("{name}.tar.zst"));
        self.tar(&file, &self.at("tree"), "usr", &["-I", "zstd -10 -T0", &moved])
    }

    fn deb(&self) -> Result<(), String> {
        let sizes = Task::new("du -sk --apparent-size {}", &[&self.at("tree")]).output()?;
        let kib = sizes.split_whitespace().next().unwrap_or_default();
        let control = fill(CONTROL, &[("version", VERSION), ("debian", self.target.debian), ("kib", kib)]);
        // Packed from a copy: the folder DEBIAN is in no other package.
        Task::new("cp -a {} {}", &[&self.at("tree"), &self.at("deb")]).run()?;
        files::write(self.at("deb/DEBIAN/control"), control)?;
        self.at_epoch(&self.at("deb"))?;
        let file = self.out(&format!("threadwise_{VERSION}_{}.deb", self.target.debian));
        self.task("dpkg-deb -Zgzip --root-owner-group --build {} {}", &[&self.at("deb"), &file]).run()
    }

    fn rpm(&self) -> Result<(), String> {
        let spec = self.at("threadwise.spec");
        files::write(&spec, fill(SPEC, &[("version", VERSION), ("tree", &self.at("tree"))]))?;
        let (top, out) = (format!("_topdir {}", self.at("rpm")), format!("_rpmdir {}", self.out.display()));
        let build = "rpmbuild -bb --quiet --target {}-linux --define {} --define {} {}";
        self.task(build, &[&self.target.arch, &top, &out, &spec]).run()
    }

    /// An OCI image from nothing but the tree, as one layer. `/data` is where results appear, and `TMPDIR` where
    /// measured data is made and removed again, since the image has no `/tmp`.
    fn image(&self) -> Result<(), String> {
        let (layout, layer) = (self.at("image"), self.at("layer.tar"));
        let image = format!("{layout}:{IMAGE}:{VERSION}");
        let time = self.utc()?;
        self.tar(&layer, &self.at("tree"), "usr", &[])?;
        Task::new("umoci init --layout {}", &[&layout]).run()?;
        Task::new("umoci new --image {}", &[&image]).run()?;
        let add = "umoci raw add-layer --image {} --history.created {} --history.created_by {} {}";
        Task::new(add, &[&image, &time, &"cargo xtask package", &layer]).run()?;
        let config = "umoci config --no-history --image {} --created {} --os linux --architecture {} \
                      --config.entrypoint /usr/bin/threadwise --config.workingdir /data \
                      --config.env PATH=/usr/bin --config.env TMPDIR=/data";
        Task::new(config, &[&image, &time, &self.target.debian]).run()?;
        Task::new("umoci gc --layout {}", &[&layout]).run()?;
        self.tar(&self.out(&format!("{}-oci.tar", self.name())), &layout, ".", &[])
    }

    /// The commit's time as RFC 3339 has it.
    fn utc(&self) -> Result<String, String> {
        let time = Task::new("date -u -d @{} +%FT%TZ", &[&self.epoch]).output()?;
        Ok(time.trim().to_owned())
    }

    fn components(&self) -> Result<(), String> {
        let text = sbom::list(self.target, &self.utc()?)?;
        files::write(self.out(&self.components_file()), text)
    }

    fn components_file(&self) -> String {
        format!("{}.cdx.json", self.name())
    }

    /// The wheel: maturin finds the program built, with the flags of `dist`, and the other one is a script beside it.
    /// Without SOURCE_DATE_EPOCH, by which C libraries would be built again, it dates all files 1980.
    fn wheel(&self, maturin: &str) -> Result<(), String> {
        let project = self.scratch.join("python");
        for file in project_files()?.iter().filter(|file| file.starts_with("python/")) {
            files::copy(file, self.scratch.join(file))?;
        }
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            files::copy(licence, project.join(licence))?;
        }
        files::copy(self.target.out(PROGRAMS[1]), project.join("beside/scripts").join(PROGRAMS[1]))?;
        let settings = project.join("pyproject.toml");
        files::write(&settings, settings_of_release(&files::read_text(&settings)?)?)?;
        // A static program needs no C library, so any glibc's tag is right; this one is the oldest that pip knows.
        let build = "env -C {} {} build --release --locked --target {} --target-dir {} \
                     --compatibility manylinux2014 --auditwheel skip --sbom-include {} --out {}";
        let (components, folder) = (self.out(&self.components_file()), files::absolute(dist::BUILD_DIR)?);
        let values: [&dyn Display; 6] = [
            &project.display(),
            &maturin,
            &self.target.triple(),
            &folder.display(),
            &components,
            &self.out.display(),
        ];
        self.target.settings(Task::new(build, &values)).run()
    }

    /// The sums, and what was made with its sizes.
    fn sums(&self) -> Result<(), String> {
        let mut sums = String::new();
        for file in files::entries(&self.out)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let line = Task::new("sha256sum {}", &[&file.display()]).output()?;
            sums += &format!("{}  {name}\n", line.split_whitespace().next().unwrap_or_default());
            println!("{:>6.1} MB  {name}", files::read(&file)?.len() as f64 / 1e6);
        }
        println!("in {}", self.out.display());
        files::write(self.out("SHA256SUMS"), sums)
    }
}

/// The settings of the Python package for a wheel of the release, whose project is copied below `target`.
fn settings_of_release(text: &str) -> Result<String, String> {
    let refused = |why: &dyn std::fmt::Display| format!("python/pyproject.toml: {why}");
    let mut settings: toml::Table = text.parse().map_err(|why: toml::de::Error| refused(&why))?;
    let maturin = settings.get_mut("tool").and_then(|tool| tool.get_mut("maturin"));
    let maturin = maturin.and_then(toml::Value::as_table_mut).ok_or_else(|| refused(&"no [tool.maturin]"))?;
    let manifest = files::absolute("crates/threadwise/Cargo.toml")?;
    // Stripped by its profile already; with rustc's flag it would be linked again. Its list of components is ours.
    let changed =
        format!("manifest-path = {manifest:?}\ndata = \"beside\"\nstrip = false\nsbom = {{ rust = false }}");
    let changed: toml::Table = changed.parse().map_err(|why: toml::de::Error| refused(&why))?;
    maturin.extend(changed);
    toml::to_string(&settings).map_err(|why| refused(&why))
}

/// A text with values in its places `{name}`.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}
