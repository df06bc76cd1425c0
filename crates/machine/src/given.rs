//! Reading files that users name, if they are regular files.
//!
//! A name on the command line, in a definition or in an engine's settings may be anything: opening a pipe waits for
//! its other end, `/dev/zero` has no end, and opening some devices has an effect. So a name is checked before it is
//! opened, opened without waiting and without becoming a terminal's owner (`open(2)`: `O_NONBLOCK`, `O_NOCTTY`; the
//! standard library adds `O_CLOEXEC`), checked again by its descriptor, since the name may have changed, and read up to
//! a limit. Links are followed: the user chose the name.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Limit for a text that a person writes, bytes: a study definition, a file of settings or of passwords, certificates.
pub const TEXT_BYTES: u64 = 1 << 20;

/// Opens a regular file to read it.
///
/// # Errors
/// Those of `open(2)`, or that it is not a regular file; one line.
pub fn open(path: &Path) -> io::Result<File> {
    let is_file = |kind: FileType| instead(kind).map_or(Ok(()), |what| Err(refused(what)));
    is_file(path.metadata()?.file_type())?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    is_file(file.metadata()?.file_type())?;
    Ok(file)
}

/// All bytes of a regular file, if it has at most `most`.
///
/// # Errors
/// As [`open`], those of `read(2)`, or that it is longer.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(invalid(format!("it is longer than {}", size(most)))),
    }
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`bytes`], or it is not text; only that is `InvalidData`.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(bytes(path, most)?).map_err(no_text)
}

/// The kind of a file that is not regular.
pub fn instead(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_fifo() => Some("a pipe"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

fn refused(what: &str) -> io::Error {
    invalid(format!("it is {what}, not a file"))
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_no_file_is_refused_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), "text").unwrap();
        symlink("plain", at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        symlink("pipe", at("to-pipe")).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(
            (text(&at("plain"), 4).unwrap(), text(&at("link"), 100).unwrap()),
            ("text".into(), "text".into())
        );
        for (name, what) in [
            ("endless", "it is a device, not a file"),
            ("null", "it is a device, not a file"),
            ("pipe", "it is a pipe, not a file"),
            ("to-pipe", "it is a pipe, not a file"),
            ("socket", "it is a socket, not a file"),
            (".", "it is a folder, not a file"),
        ] {
            assert_eq!(bytes(&at(name), 100).unwrap_err().to_string(), what, "{name}");
        }
        assert_eq!(bytes(&at("absent"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(bytes(&at("plain"), 3).unwrap_err().to_string(), "it is longer than 3 bytes");
        std::fs::write(at("bytes"), [0xff, 0xfe]).unwrap();
        assert_eq!(text(&at("bytes"), 9).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
