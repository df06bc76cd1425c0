//! `cargo xtask dist`: one static binary that runs on any x86-64 Linux.
//!
//! glibc linked statically (`-C target-feature=+crt-static`, the Rust reference, "Linkage"); the
//! target is named so that the flag does not reach proc macros, which have to be shared objects.

use crate::command::Task;
use crate::elf;
use std::path::Path;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Own folder: the flags differ from those of every other build.
const BUILD_DIR: &str = "target/static";
const DIST_DIR: &str = "target/dist";
/// Largest binary that is handed out.
const MAX_BYTES: usize = 25_000_000;

/// Builds, checks and tries the binary.
pub fn run() -> Result<(), String> {
    build().run()?;
    let built = Path::new(BUILD_DIR).join(TARGET).join("release/threadwise");
    let file =
        std::fs::read(&built).map_err(|cause| format!("{} cannot be read: {cause}", built.display()))?;
    check(&file).map_err(|why| format!("{}: {why}", built.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let out = format!("{DIST_DIR}/threadwise-{version}-x86_64-linux");
    // fs::copy keeps the permissions.
    std::fs::create_dir_all(DIST_DIR)
        .and_then(|()| std::fs::copy(&built, &out))
        .map_err(|cause| format!("{out} cannot be written: {cause}"))?;
    let said = Task::new(&out, &["--version"]).output()?;
    if !said.contains(version) {
        return Err(format!("{out} --version says '{}', not {version}", said.trim()));
    }
    Task::new(&out, &["topology"]).run()?;
    println!("\n{out}: static, {:.1} MB", file.len() as f64 / 1e6);
    println!(
        "container: podman build --file Containerfile --build-arg VERSION={version} --tag threadwise {DIST_DIR}"
    );
    Ok(())
}

fn build() -> Task {
    Task::new(
        "cargo",
        &[
            "build",
            "--release",
            "--locked",
            "--target",
            TARGET,
            "--target-dir",
            BUILD_DIR,
            "--package",
            "threadwise",
        ],
    )
    .env("RUSTFLAGS", "-C target-feature=+crt-static")
}

fn check(file: &[u8]) -> Result<(), String> {
    let header = elf::read(file)?;
    if header.machine != elf::X86_64 {
        return Err(format!("is for ELF machine {}, not for x86-64", header.machine));
    }
    if header.has_loader {
        return Err("asks for a dynamic loader, so it is not static".to_owned());
    }
    if file.len() > MAX_BYTES {
        return Err(format!("has {} bytes, more than {MAX_BYTES}", file.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_program_itself_is_dynamic_and_refused() {
        let this = std::fs::read("/proc/self/exe").expect("own program");
        let why = check(&this).expect_err("tests are linked dynamically");
        let expected = if cfg!(target_arch = "x86_64") { "not static" } else { "not for x86-64" };
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn size_is_limited() {
        // 64-byte header without program headers, little-endian 64-bit, machine 62.
        let mut file = vec![0; MAX_BYTES + 1];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x12] = 62;
        assert!(check(&file).is_err_and(|why| why.contains("more than 25000000")));
        assert_eq!(check(&file[..MAX_BYTES]), Ok(()));
    }
}
