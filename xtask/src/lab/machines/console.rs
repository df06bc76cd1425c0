//! Commands of a shell on a machine, and their output.
//!
//! Each command's output is between two lines on the serial console, the second with its exit status.

use super::machine::Machine;
use crate::lab::guest::parts::Parts;
use crate::lab::guest::{Guest, Running};
use std::time::{Duration, Instant};

/// The first line of a guest.
const BOOTED: &str = "@booted";
/// Begins and ends the output of a command.
const BEGIN: &str = "@begin ";
const END: &str = "@end ";

/// Time limit of a guest; on a quiet host it boots in 5 to 11 s, and its commands take 40 to 120 s.
const BOOT_LIMIT: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
/// Output of a command and its exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Standard output and standard error.
    pub text: String,
    /// Exit status.
    pub status: i32,
}

/// Boots the machine and runs commands of a shell, each under a name, in at most `limit` besides the time to boot. A
/// guest that ends early is the error of the rest.
///
/// # Errors
/// QEMU cannot be started.
pub fn outputs(
    machine: &Machine,
    parts: &Parts,
    commands: &[(&str, &str)],
    limit: Duration,
) -> Result<Vec<Result<Output, String>>, String> {
    let mut lines = vec![format!("echo {BOOTED}")];
    lines.extend(machine.before.lines().map(str::to_owned));
    let line = |(name, command): &(&str, &str)| {
        format!("echo '{BEGIN}{name}'; {{ {command}\n}} 2>&1; echo '{END}'$?")
    };
    lines.extend(commands.iter().map(line));
    let guest = Guest { commands: lines, ..machine.guest.clone() };
    let to_boot = BOOT_LIMIT + 2 * guest.cpus() * SECOND;
    let limit = to_boot + limit;
    let prints = |running: &mut Running| matches!(running.line(Instant::now() + to_boot), Ok(Some(_)));
    let mut running = printing(|| guest.boot(parts, limit), prints)?;
    let mut next = || Ok(running.line(Instant::now() + limit)?.map(|line| line.text));
    Ok(commands.iter().map(|(name, _)| output(&mut next, name)).collect())
}

/// A guest after its first line. One that prints none in time is booted once more: on a busy host a kernel in an emulator
/// may get no further than the interrupts of its timers.
fn printing<G>(
    mut boot: impl FnMut() -> Result<G, String>,
    prints: impl Fn(&mut G) -> bool,
) -> Result<G, String> {
    let mut guest = boot()?;
    if prints(&mut guest) {
        return Ok(guest);
    }
    eprintln!("a guest printed nothing in its time to boot, and is booted once more");
    // It ends first: two share the host.
    drop(guest);
    boot()
}

/// The next command's output, which must be that of the check of this name.
fn output(line: &mut dyn FnMut() -> Result<Option<String>, String>, name: &str) -> Result<Output, String> {
    let mut text: Option<String> = None;
    loop {
        let Some(line) = line()? else { return Err("no answer in time".to_owned()) };
        match (&mut text, line.strip_prefix(BEGIN), line.strip_prefix(END)) {
            (None, Some(begun), _) if begun.trim() == name => text = Some(String::new()),
            (None, Some(begun), _) => return Err(format!("{} came instead", begun.trim())),
            (Some(text), _, Some(status)) => {
                let status = status.trim().parse().map_err(|_| format!("no exit status: {status}"))?;
                return Ok(Output { text: std::mem::take(text), status });
            }
            (Some(text), _, None) => {
                text.push_str(&line);
                text.push('\n');
            }
            (None, None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[&str], name: &str) -> Result<Output, String> {
        let mut lines = lines.iter();
        output(&mut || Ok(lines.next().map(|line| (*line).to_owned())), name)
    }

    #[test]
    fn a_silent_guest_is_booted_once_more() {
        let boots = |printing_from: u32| {
            let mut boots = 0;
            let boot = || {
                boots += 1;
                Ok(boots)
            };
            printing(boot, |guest| *guest >= printing_from)
        };
        assert_eq!((boots(1), boots(2), boots(3)), (Ok(1), Ok(2), Ok(2)));
        assert_eq!(
            printing(|| Err::<u32, String>("no QEMU".to_owned()), |_| true),
            Err("no QEMU".to_owned())
        );
    }

    #[test]
    fn output_stands_between_its_lines() {
        let lines = [BOOTED, "@begin topology", "{", "}", "@end 3"];
        assert_eq!(said(&lines, "topology"), Ok(Output { text: "{\n}\n".to_owned(), status: 3 }));
        assert!(said(&lines, "placements").is_err_and(|why| why.contains("topology came instead")));
        assert!(said(&lines[..4], "topology").is_err_and(|why| why.contains("in time")));
        assert!(said(&["@begin topology", "@end x"], "topology").is_err());
    }
}
