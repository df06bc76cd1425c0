//! The password: its sources, and a type that never shows it.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_machine::given;

/// The variable that `sqlcmd` reads, too.
pub(super) const VARIABLE: &str = "SQLCMDPASSWORD";

/// A password. Only the client library gets its text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password, for the client library alone.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

/// The first line of a file that other users may not read.
///
/// # Errors
/// There is no such file, or other users may read it.
pub(super) fn of_file(path: &Path) -> Result<Secret, EngineError> {
    let cannot = |why: String| refuse("password_file", format!("{}: {why}", path.display()));
    let mode = std::fs::metadata(path).map_err(|cause| cannot(cause.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(cannot(format!("other users may read it: chmod 600 {}", path.display())));
    }
    let text = given::text(path, given::TEXT_BYTES).map_err(|cause| cannot(cause.to_string()))?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(Secret::new(line)),
        None => Err(cannot("its first line, which is the password, is empty".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_when_it_is_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "hush hush\nmore\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        let message = of_file(&path).unwrap_err().to_string();
        assert!(message.contains("chmod 600") && !message.contains("hush"), "{message}");
        mode(0o600);
        let secret = of_file(&path).unwrap();
        assert_eq!((secret.reveal(), format!("{secret:?}").contains("hush")), ("hush hush", false));
        std::fs::write(&path, "\n").unwrap();
        assert!(of_file(&path).unwrap_err().to_string().contains("empty"));
        assert!(of_file(&folder.path().join("absent")).is_err());
    }
}
