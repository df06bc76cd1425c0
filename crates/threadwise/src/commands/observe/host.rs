//! The server's machine, if it is this one: used capacity, stolen time, clock, and the states of SMT and clocks.
//!
//! Sources: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu` (`smt/active`), by crate `smt` for clocks.

use crate::commands::headroom::meter::{Meter, Window};
use crate::commands::headroom::yields::Chosen;
use crate::error::AppError;
use std::path::Path;
use threadwise_headroom::layout::Scope;
use threadwise_machine::{Topology, given};
use threadwise_observed::{Host, States};
use threadwise_smt::{Roots, Setting};

/// Whether a core has two logical CPUs online.
const SMT_ACTIVE: &str = "/sys/devices/system/cpu/smt/active";

/// Reads this machine, interval after interval.
pub struct LocalHost {
    meter: Meter,
    roots: Roots,
}

impl LocalHost {
    /// Begins the first interval.
    ///
    /// # Errors
    /// The topology or /proc/stat cannot be read.
    pub fn start(chosen: &Chosen) -> Result<Self, AppError> {
        // Records of switches would have to be read ten times a second.
        Ok(Self { meter: Meter::start(chosen, false, true)?, roots: Roots::live() })
    }

    /// Why the clock is not counted, if so.
    pub fn no_clock(&self) -> Option<&str> {
        self.meter.no_clock()
    }

    /// The machine.
    pub fn topology(&self) -> &Topology {
        self.meter.topology()
    }

    /// Ends an interval and begins the next.
    ///
    /// # Errors
    /// As [`LocalHost::start`].
    pub fn window(&mut self) -> Result<Window, AppError> {
        self.meter.window()
    }

    /// The states now.
    pub fn states(&self) -> States {
        States {
            smt: smt(Path::new(SMT_ACTIVE)),
            clock: self.clock(),
            cpus: u32::try_from(self.meter.layout().cpus().len()).ok().filter(|count| *count > 0),
            ..States::default()
        }
    }

    /// Governor of the first policy, and turbo.
    fn clock(&self) -> Option<String> {
        let read = |setting: Setting| setting.read(&self.roots).ok().flatten();
        let governor = read(Setting::Governor(0));
        let no_turbo = read(Setting::NoTurbo).map(|value| if value == "0" { "on" } else { "off" });
        let boost = read(Setting::Boost).map(|value| if value == "1" { "on" } else { "off" });
        let turbo = no_turbo.or(boost).map(|word| format!("turbo {word}"));
        let parts: Vec<String> = governor.into_iter().chain(turbo).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// `on` or `off`; `None` if the kernel does not say.
fn smt(file: &Path) -> Option<String> {
    let bytes = given::bytes(file, 64).ok()?;
    match std::str::from_utf8(&bytes).ok()?.trim() {
        "1" => Some("on".to_owned()),
        "0" => Some("off".to_owned()),
        _ => None,
    }
}

/// The machine's row of a window.
pub fn host(window: &Window) -> Option<Host> {
    let row = window.rows.iter().find(|row| row.scope == Scope::Machine)?;
    Some(Host {
        busy_share: row.busy_share,
        used_low_share: row.capacity_used_share.low,
        used_high_share: row.capacity_used_share.high,
        stolen_share: row.stolen_share,
        busy_mhz: window.busy_mhz,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smt_is_what_the_kernel_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("active");
        for (text, wanted) in [("1\n", Some("on")), ("0\n", Some("off")), ("x", None), ("", None)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(smt(&file).as_deref(), wanted, "{text:?}");
        }
        assert_eq!(smt(&folder.path().join("absent")), None);
    }
}
