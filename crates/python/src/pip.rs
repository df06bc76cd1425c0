//! Installing the pinned packages with pip, and explaining its failures.
//!
//! Sources: pip's documentation ("Secure installs", "Configuration"): `--require-hashes` refuses every
//! file whose SHA-256 is not in the requirements; settings of the user (`PIP_*`, pip.conf: proxies,
//! certificates, mirrors) are respected, except those that would install to another place, leave
//! something out, or build from source.

use crate::AnalyticsError;
use crate::environment::Environment;
use crate::python::reason;
use crate::run::{Cut, run};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Settings by environment that would change what is installed or where.
const NOT_RESPECTED: [&str; 16] = [
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_SRC",
    "PIP_DRY_RUN",
    "PIP_REPORT",
    "PIP_LOG",
    "PIP_PYTHON",
    "PIP_REQUIREMENT",
    "PIP_CONSTRAINT",
    "PIP_BUILD_CONSTRAINT",
    "PIP_NO_BINARY",
    "PIP_EDITABLE",
    "PIP_QUIET",
    "PIP_VERBOSE",
];

/// Installs the requirements of the file into the environment, only from the folder `wheels` if
/// given. Temporary files go into the environment too, and pip's cache is not used unless
/// `PIP_CACHE_DIR` names one, so that nothing is written elsewhere.
pub(crate) fn install(
    environment: &Environment,
    requirements: &Path,
    wheels: Option<&Path>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> Result<(), AnalyticsError> {
    let mut command = Command::new(environment.python());
    command.args(["-I", "-m", "pip", "install", "--require-hashes", "--only-binary=:all:", "--no-deps"]);
    command.args(["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--no-user"]);
    if std::env::var_os("PIP_CACHE_DIR").is_none() {
        command.arg("--no-cache-dir");
    }
    if let Some(wheels) = wheels {
        command.arg("--no-index").arg("--find-links").arg(wheels);
    }
    command.arg("-r").arg(requirements).env("TMPDIR", environment.temporary());
    for name in NOT_RESPECTED {
        command.env_remove(name);
    }
    let ended = run(&mut command, None, stop, &mut |line| {
        if let Some(words) = passing(line) {
            progress(&words);
        }
    });
    match ended {
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) => Err(AnalyticsError::Install(explain(&ended.all, &reason(&ended), wheels))),
        Err(Cut::Stopped) => Err(AnalyticsError::Stopped),
        Err(cut) => Err(AnalyticsError::Install(cut.words("pip"))),
    }
}

/// The progress in a line of pip: `Downloading duckdb-2.0.0-….whl (24.4 MB)`.
fn passing(line: &str) -> Option<String> {
    let (verb, rest) = line.trim_start().split_once(' ')?;
    match verb {
        // pip names files, or addresses that end in their names.
        "Downloading" | "Processing" => {
            let (file, size) = rest.split_once(" (").map_or((rest, ""), |(file, size)| (file, size));
            let name = file.rsplit('/').next().unwrap_or(file);
            let package = name.splitn(3, '-').take(2).collect::<Vec<_>>().join(" ");
            // Or where the requirement comes from.
            let size = if size.starts_with("from ") { "" } else { size.trim_end_matches(')') };
            let verb = if verb == "Downloading" { "downloading" } else { "reading" };
            Some(format!("{verb} {package}{}{size}", if size.is_empty() { "" } else { ", " }))
        }
        "Installing" => Some("unpacking the packages".to_owned()),
        _ => None,
    }
}

/// Messages of pip, of its libraries and of the system, and their meaning. The first that occurs
/// counts: causes before their consequences.
const MEANINGS: [(&[&str], Meaning); 6] = [
    (&["No space left on device", "Disk quota exceeded", "Errno 28", "Errno 122"], Meaning::Full),
    (&["DO NOT MATCH THE HASHES"], Meaning::Hash),
    (&["CERTIFICATE_VERIFY_FAILED", "SSLError", "SSLCertVerificationError"], Meaning::Certificate),
    (
        &[
            "Failed to establish a new connection",
            "NewConnectionError",
            "Temporary failure in name resolution",
            "Name or service not known",
            "Network is unreachable",
            "Connection refused",
            "Connection reset",
            "ProxyError",
            "Cannot connect to proxy",
            "ConnectTimeout",
            "ReadTimeout",
            "Read timed out",
            "Connection broken",
            "Connection aborted",
            "Max retries exceeded",
        ],
        Meaning::Network,
    ),
    (&["No matching distribution found", "is not a supported wheel on this platform"], Meaning::NoWheel),
    (&["Permission denied", "Read-only file system"], Meaning::Forbidden),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Full,
    Hash,
    Certificate,
    Network,
    NoWheel,
    Forbidden,
}

/// One line about a failed installation; `otherwise` if pip printed no error.
fn explain(lines: &[String], otherwise: &str, wheels: Option<&Path>) -> String {
    let has = |words: &[&str]| lines.iter().any(|line| words.iter().any(|word| line.contains(word)));
    let error = lines.iter().rev().find_map(|line| line.trim().strip_prefix("ERROR: ")).unwrap_or(otherwise);
    let error = without_password(error);
    let offline =
        "without internet: threadwise engine add --print-requirements says how to fill a folder for --wheels";
    match MEANINGS.iter().find(|(words, _)| has(words)).map(|(_, meaning)| *meaning) {
        Some(Meaning::Full) => {
            "the disk is full: free some space, or set XDG_DATA_HOME to a folder on another disk".to_owned()
        }
        Some(Meaning::Hash) => format!(
            "the file of {} is not the pinned one (its SHA-256 differs), so it was not installed: a \
             truncated or changed download; try again, or elsewhere with --wheels",
            mismatched(lines).unwrap_or("a package")
        ),
        Some(Meaning::Certificate) => format!(
            "the certificate of the package index is not trusted: behind a proxy with its own, set PIP_CERT; {offline}"
        ),
        Some(Meaning::Network) => {
            format!(
                "the package index cannot be reached: behind a proxy set https_proxy or PIP_PROXY; {offline}"
            )
        }
        Some(Meaning::NoWheel) => match wheels {
            Some(folder) => format!(
                "{} lacks a file ({error}): fill it for this Python and machine, as threadwise engine add \
                 --print-requirements says",
                folder.display()
            ),
            // Without retries (PIP_RETRIES=0) pip prints the same if it could not connect.
            None => format!(
                "the package index cannot be reached or lacks the pinned version ({error}): behind a proxy set \
                 https_proxy or PIP_PROXY; {offline}"
            ),
        },
        Some(Meaning::Forbidden) => {
            format!("pip may not write ({error}): set XDG_DATA_HOME to a folder that you may write")
        }
        None => format!("pip failed ({error}): fix the cause, then try again"),
    }
}

/// The package of a hash mismatch: pip prints `    duckdb==2.0.0 from …:` before the two hashes.
fn mismatched(lines: &[String]) -> Option<&str> {
    let at = lines.iter().position(|line| line.contains("DO NOT MATCH THE HASHES"))?;
    let line = lines[at + 1..].iter().find(|line| line.contains("==") || line.contains(" from "))?;
    line.split_whitespace().next()
}

/// The text with the part between `://` and `@` of addresses removed.
fn without_password(text: &str) -> String {
    let word = |word: &str| match word.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('@') {
            Some((_, rest)) => format!("{scheme}://{rest}"),
            None => word.to_owned(),
        },
        None => word.to_owned(),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str, wheels: Option<&Path>) -> String {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let said = explain(&lines, lines.last().unwrap(), wheels);
        assert!(!said.contains('\n'));
        said
    }

    #[test]
    fn how_far_it_is_comes_from_its_lines() {
        let said = |line: &str| passing(line).unwrap_or_default();
        assert_eq!(
            said("Downloading duckdb-2.0.0-cp312-abi3-manylinux_2_28_x86_64.whl (24.4 MB)"),
            "downloading duckdb 2.0.0, 24.4 MB"
        );
        assert_eq!(
            said("  Downloading http://x/y/pyarrow-26.0.1-cp312.whl (55.0 MB)"),
            "downloading pyarrow 26.0.1, 55.0 MB"
        );
        let processing = "Processing ./wheels/duckdb-2.0.0-cp312.whl";
        assert_eq!(said(processing), "reading duckdb 2.0.0");
        assert_eq!(
            said(&format!("{processing} (from -r requirements.txt (line 2))")),
            "reading duckdb 2.0.0"
        );
        assert_eq!(said("Installing collected packages: duckdb, pyarrow"), "unpacking the packages");
        assert_eq!(passing("Looking in links: /x"), None);
    }

    #[test]
    fn failures_are_distinguished() {
        // Texts of pip 23.2 and 25, from failures that were provoked.
        let network = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(\
            '<HTTPSConnection object>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'\n\
            ERROR: Could not find a version that satisfies the requirement duckdb==2.0.0 (from versions: none)\n\
            ERROR: No matching distribution found for duckdb==2.0.0";
        assert!(explained(network, None).contains("cannot be reached"));
        let hash = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated\n    \
            duckdb==2.0.0 from file:///x/duckdb.whl (from -r requirements.txt (line 9)):\n        Expected sha256 ab\n             Got        cd";
        assert!(explained(hash, None).starts_with("the file of duckdb==2.0.0 is not the pinned one"));
        let full = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device";
        assert!(explained(full, None).contains("disk is full"));
        let nothing = "ERROR: Could not find a version that satisfies the requirement duckdb==2.0.0 (from versions: none)\n\
            ERROR: No matching distribution found for duckdb==2.0.0";
        let folder = explained(nothing, Some(Path::new("/wheels")));
        assert!(folder.starts_with("/wheels lacks a file") && folder.contains("duckdb==2.0.0"), "{folder}");
        assert!(explained(nothing, None).contains("--print-requirements"));
        let tls = "WARNING: SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))\nERROR: No matching distribution found";
        assert!(explained(tls, None).contains("PIP_CERT"));
        assert!(
            explained("ERROR: Could not install: [Errno 13] Permission denied: '/x'", None)
                .contains("may not write")
        );
        assert!(explained("Segmentation fault", None).contains("Segmentation fault"));
    }

    #[test]
    fn passwords_of_addresses_are_left_out() {
        let said = explained("ERROR: odd thing at http://me:secret@proxy:3128/x happened", None);
        assert!(said.contains("http://proxy:3128/x") && !said.contains("secret"), "{said}");
    }
}
