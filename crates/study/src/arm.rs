//! Arms: machine states (SMT, turbo, governor) that treatments are compared in.
//!
//! A mask leaves siblings online and idle; taking them offline or switching SMT off gives the core to one thread, and
//! may change clocks and interrupts. A study tests whether a mask is as good by having both in each block. Sources:
//! kernel `Documentation/admin-guide/cputopology.rst`, `Documentation/ABI/testing/sysfs-devices-system-cpu`
//! (`smt/control`), `Documentation/admin-guide/pm/cpufreq.rst`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use strum::{EnumString, IntoStaticStr};

/// How long the treatments of an arm run unmeasured after a switch, in turns, nanoseconds: clocks and caches settle in
/// that time. The package power limit PL1 settles over tens of seconds (Intel SDM vol. 3B, "RAPL") and is not waited
/// for; the analysis compares first rounds with later ones.
pub const SETTLE_NS: u64 = 1_000_000_000;

/// How SMT is kept from treatments that use one logical CPU of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case", parse_err_fn = no_smt_way, parse_err_ty = String)]
pub enum SmtWay {
    /// By the placement alone: siblings are online and idle. It needs no privileges.
    #[default]
    Mask,
    /// The siblings of the arm's logical CPUs are offline (`cpuN/online`).
    Offline,
    /// SMT is off on the whole machine (`smt/control`).
    System,
}

impl SmtWay {
    /// The word in study definitions and tables.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

fn no_smt_way(text: &str) -> String {
    format!("smt is '{text}'; mask, offline and system are allowed")
}

/// The machine state that a treatment needs. What it does not name is left as found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Arm {
    /// How SMT is taken away.
    pub smt: SmtWay,
    /// Whether clocks may exceed the nominal frequency.
    pub turbo: Option<bool>,
    /// Governor of all clock policies.
    pub governor: Option<String>,
}

impl Arm {
    /// Whether the treatment needs no switch.
    pub fn is_as_found(&self) -> bool {
        *self == Self::default()
    }

    /// Factor and level of each setting that is set.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, String)> {
        let smt = (self.smt != SmtWay::Mask).then(|| self.smt.word().to_owned());
        let turbo = self.turbo.map(|is_on| if is_on { "on" } else { "off" }.to_owned());
        let found = [smt, turbo, self.governor.clone()];
        FACTORS.into_iter().zip(found).filter_map(|(factor, level)| Some((factor, level?)))
    }

    /// Sets the level of an arm factor.
    ///
    /// # Errors
    /// The factor has no such level; one line without a position.
    pub(crate) fn set(&mut self, factor: &str, level: &str) -> Result<(), String> {
        match factor {
            "smt" => self.smt = level.parse()?,
            "turbo" => {
                self.turbo = Some(
                    on_or_off(level).ok_or_else(|| format!("turbo is '{level}'; on and off are allowed"))?,
                )
            }
            "governor" => self.governor = Some(governor(level)?),
            _ => {
                return Err(format!("'{}' is not an arm; {} are", factor.escape_debug(), FACTORS.join(", ")));
            }
        }
        Ok(())
    }
}

impl TryFrom<BTreeMap<String, String>> for Arm {
    type Error = String;

    /// Of the levels by factor; an unknown one comes from a newer program.
    fn try_from(levels: BTreeMap<String, String>) -> Result<Self, String> {
        let mut arm = Self::default();
        levels.iter().try_for_each(|(factor, level)| arm.set(factor, level))?;
        Ok(arm)
    }
}

impl From<Arm> for BTreeMap<String, String> {
    fn from(arm: Arm) -> Self {
        arm.levels().map(|(factor, level)| (factor.to_owned(), level)).collect()
    }
}

/// Factors of a study that are arms, not options of the workload.
pub const FACTORS: [&str; 3] = ["smt", "turbo", "governor"];

/// The meaning of `on` and `off`.
pub(crate) fn on_or_off(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// The kernel's limit is 16 bytes with the ending 0 (`include/linux/cpufreq.h`, `CPUFREQ_NAME_LEN`).
fn governor(level: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match (1..=15).contains(&level.len()) && level.chars().all(is_name) {
        true => Ok(level.to_owned()),
        false => Err(format!(
            "governor is '{}'; it is a name such as performance or powersave, of at most 15 letters",
            level.escape_debug()
        )),
    }
}

impl fmt::Display for Arm {
    /// The factors with their levels, `smt=offline, turbo=off`, or `as found`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.levels().map(|(factor, level)| format!("{factor}={level}")).collect();
        f.write_str(&if parts.is_empty() { "as found".to_owned() } else { parts.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_arm_factors_are_read_and_refused() {
        let mut arm = Arm::default();
        assert!(arm.is_as_found());
        assert_eq!(arm.to_string(), "as found");
        for (factor, level) in [("smt", "offline"), ("turbo", "off"), ("governor", "performance")] {
            arm.set(factor, level).unwrap();
        }
        assert_eq!(arm.to_string(), "smt=offline, turbo=off, governor=performance");
        let mut mask = Arm::default();
        mask.set("smt", "mask").unwrap();
        assert!(mask.is_as_found());
        for (factor, level, words) in [
            ("smt", "forceoff", "mask, offline and system"),
            ("turbo", "true", "on and off"),
            ("governor", "../x", "a name such as"),
            ("governor", "", "a name such as"),
            ("governor", "0123456789abcdef", "at most 15"),
        ] {
            let why = arm.set(factor, level).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
