//! The only settings and values that may be written.
//!
//! Source: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu` (`online`, `smt/control`), `kernel/cpu.c`
//! (`control_store`), `Documentation/admin-guide/pm/cpufreq.rst` (`boost`, `scaling_governor`),
//! `Documentation/admin-guide/pm/intel_pstate.rst` (`no_turbo`), `Documentation/admin-guide/cgroup-v1/cpusets.rst`,
//! `Documentation/core-api/irq/irq-affinity.rst`.

use crate::roots::{self, Roots};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use threadwise_machine::CpuSet;
use threadwise_machine::cpuset::MAX_CPUS;

/// First word of a setting's line in a journal.
const WORD: &str = "set";
/// Longest name of a governor (`CPUFREQ_NAME_LEN`).
const MAX_GOVERNOR: usize = 16;
/// Folder of version 1's controller below the mount of control groups.
pub(crate) const CPUSETS: &str = "cpuset";
/// In sysfs.
pub(crate) const CPUS: &str = "devices/system/cpu";

/// A file that may be written. Files are restored in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// `smt/control`: `on` or `off`, never `forceoff`, which only a reboot undoes.
    Control,
    /// `cpuN/online`.
    Online(u32),
    /// `cpuset.cpus` of a control group of version 1, by its path below the controller's mount.
    Cpuset(String),
    /// `/proc/irq/N/smp_affinity_list`.
    Irq(u32),
    /// `cpufreq/policyN/scaling_governor`.
    Governor(u32),
    /// `cpufreq/boost`.
    Boost,
    /// `intel_pstate/no_turbo`.
    NoTurbo,
    /// `cpufreq/policyN/boost`, which writing `cpufreq/boost` changes.
    PolicyBoost(u32),
}

impl Setting {
    /// Its kind and its name, two words of a line.
    fn words(&self) -> (&'static str, String) {
        match self {
            Self::Control => ("control", "-".to_owned()),
            Self::Online(cpu) => ("online", cpu.to_string()),
            Self::Cpuset(group) => ("cpuset", group.clone()),
            Self::Irq(number) => ("irq", number.to_string()),
            Self::Governor(policy) => ("governor", policy.to_string()),
            Self::Boost => ("boost", "-".to_owned()),
            Self::NoTurbo => ("no_turbo", "-".to_owned()),
            Self::PolicyBoost(policy) => ("policy_boost", policy.to_string()),
        }
    }

    fn of_words(kind: &str, name: &str) -> Option<Self> {
        // Without a sign or leading zeros, so that its form is unique.
        let number =
            |most: u32| name.parse().ok().filter(|number: &u32| *number < most && number.to_string() == name);
        match (kind, name) {
            ("control", "-") => Some(Self::Control),
            ("boost", "-") => Some(Self::Boost),
            ("no_turbo", "-") => Some(Self::NoTurbo),
            ("online", _) => number(MAX_CPUS).map(Self::Online),
            ("governor", _) => number(MAX_CPUS).map(Self::Governor),
            ("policy_boost", _) => number(MAX_CPUS).map(Self::PolicyBoost),
            ("irq", _) => number(u32::MAX).map(Self::Irq),
            ("cpuset", _) => is_group(name).then(|| Self::Cpuset(name.to_owned())),
            _ => None,
        }
    }

    /// The root and the path below it.
    fn place<'a>(&self, roots: &'a Roots) -> (&'a Path, String) {
        let cpu = |rest: String| (roots.sys.as_path(), format!("{CPUS}/{rest}"));
        match self {
            Self::Control => cpu("smt/control".to_owned()),
            Self::Online(number) => cpu(format!("cpu{number}/online")),
            Self::Governor(policy) => cpu(format!("cpufreq/policy{policy}/scaling_governor")),
            Self::PolicyBoost(policy) => cpu(format!("cpufreq/policy{policy}/boost")),
            Self::Boost => cpu("cpufreq/boost".to_owned()),
            Self::NoTurbo => cpu("intel_pstate/no_turbo".to_owned()),
            Self::Cpuset(group) => (roots.cgroup.as_path(), format!("{CPUSETS}/{group}/cpuset.cpus")),
            Self::Irq(number) => (roots.proc.as_path(), format!("irq/{number}/smp_affinity_list")),
        }
    }

    /// The file.
    pub fn path(&self, roots: &Roots) -> PathBuf {
        let (root, path) = self.place(roots);
        root.join(path)
    }

    /// The value in the form that is compared and written; `None` for one that is not of this kind.
    pub fn canonical(&self, text: &str) -> Option<String> {
        let plain = || Some(text.to_owned());
        match self {
            Self::Control => matches!(text, "on" | "off").then(plain)?,
            Self::Online(_) | Self::Boost | Self::NoTurbo | Self::PolicyBoost(_) => {
                matches!(text, "0" | "1").then(plain)?
            }
            Self::Governor(_) => is_governor(text).then(plain)?,
            Self::Cpuset(_) | Self::Irq(_) => {
                let cpus = CpuSet::parse_list(text).ok().filter(|cpus| !cpus.is_empty())?;
                Some(cpus.to_string())
            }
        }
    }

    /// The file's value; `None` if it could not be restored.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    pub fn read(&self, roots: &Roots) -> io::Result<Option<String>> {
        let (root, path) = self.place(roots);
        Ok(self.canonical(&roots::read(root, &path)?))
    }

    /// Writes it into the file.
    ///
    /// # Errors
    /// The value is not of this kind, the policy lacks the governor, or the kernel refuses.
    pub fn write(&self, roots: &Roots, value: &str) -> io::Result<()> {
        let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        let Some(value) = self.canonical(value) else {
            return refuse(format!("'{value}' is not a value of {self}"));
        };
        if let Self::Governor(policy) = self {
            let there = governors(roots, *policy);
            if !there.contains(&value) {
                return refuse(format!("there is no governor {value}; there are: {}", there.join(" ")));
            }
        }
        let (root, path) = self.place(roots);
        roots::write(root, &path, &value)
    }

    /// Its line in a journal, written at that place (boot and PID namespace).
    pub(crate) fn line(&self, place: &str, value: &str) -> String {
        let (kind, name) = self.words();
        format!("{WORD} {place} {kind} {name} {value}\n")
    }

    /// The place and contents of a line, if it is one of a setting.
    #[allow(clippy::type_complexity)]
    pub(crate) fn parse(line: &str) -> Option<Result<(String, Self, String), String>> {
        let rest = line.strip_prefix(WORD)?.strip_prefix(' ')?;
        let words: Vec<&str> = rest.split(' ').collect();
        let [boot, namespace, kind, name, value] = words[..] else {
            return Some(Err(format!("it is not '{WORD}' and five words")));
        };
        let Some(setting) = Self::of_words(kind, name) else {
            return Some(Err("it names no file that may be written".to_owned()));
        };
        match setting.canonical(value) {
            Some(canonical) if canonical == value => {
                Some(Ok((format!("{boot} {namespace}"), setting, canonical)))
            }
            _ => Some(Err(format!("it has no value of {setting}"))),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.write_str("smt/control"),
            Self::Online(cpu) => write!(f, "cpu{cpu}/online"),
            Self::Cpuset(group) => write!(f, "cpuset.cpus of the control group {group}"),
            Self::Irq(number) => write!(f, "the affinity of interrupt {number}"),
            Self::Governor(policy) => write!(f, "the governor of policy{policy}"),
            Self::Boost => f.write_str("cpufreq/boost"),
            Self::NoTurbo => f.write_str("intel_pstate/no_turbo"),
            Self::PolicyBoost(policy) => write!(f, "the boost of policy{policy}"),
        }
    }
}

/// Governors that a policy has.
pub(crate) fn governors(roots: &Roots, policy: u32) -> Vec<String> {
    let path = format!("{CPUS}/cpufreq/policy{policy}/scaling_available_governors");
    let text = roots::read(&roots.sys, &path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn is_governor(name: &str) -> bool {
    (1..MAX_GOVERNOR).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a path can be that of a group, and be written in one word.
pub(crate) fn is_group(path: &str) -> bool {
    let is_step = |step: &str| !matches!(step, "" | "." | "..");
    path.split('/').all(is_step) && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        for (setting, value) in [
            (Setting::Control, "on"),
            (Setting::Online(12), "0"),
            (Setting::Cpuset("docker/3f2a".into()), "0-3,8"),
            (Setting::Irq(24), "2"),
            (Setting::Governor(0), "schedutil"),
            (Setting::Boost, "1"),
            (Setting::NoTurbo, "0"),
            (Setting::PolicyBoost(4), "1"),
        ] {
            let line = setting.line("3f2a-b 4026531836", value);
            let parsed = Setting::parse(line.trim_end()).unwrap().unwrap();
            assert_eq!(parsed, ("3f2a-b 4026531836".to_owned(), setting, value.to_owned()));
        }
    }

    #[test]
    fn what_is_not_on_the_list_is_refused() {
        for rest in [
            "control - forceoff",
            "control - 1",
            "control /etc/passwd on",
            "online 3 2",
            "online -1 1",
            "online 03 1",
            "online 70000 1",
            "online 3/../../x 1",
            "cpuset ../../../etc/passwd 0",
            "cpuset /etc 0",
            "cpuset a//b 0",
            "cpuset a 9-1",
            "cpuset a ",
            "cpuset a 0,1",
            "irq 7 ",
            "irq x 0",
            "governor 0 ../x",
            "governor 0 aaaaaaaaaaaaaaaaa",
            "boost - 2",
            "file /etc/passwd x",
            "no_turbo - 0 0",
            "no_turbo -",
        ] {
            assert!(Setting::parse(&format!("set b 1 {rest}")).unwrap().is_err(), "{rest}");
        }
        assert_eq!(Setting::parse("v1 b 1 77 78 1234 0"), None);
        assert_eq!(Setting::parse("kept b 1"), None);
    }
}
