//! The boot and machine that a part of a study was measured on, and how two of them differ. Pure data.
//!
//! A boot changes several things at once: where the kernel lays code and data, which physical pages are used, what the
//! firmware has trained (Kalibera, Jones, "Rigorous benchmarking in reasonable time", ISMM 2013; Mytkowicz et al.,
//! "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A start of a study on another boot or machine. `None` means unknown.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boot {
    /// Number in the result file, from 1.
    pub number: u32,
    /// The kernel's random boot id.
    pub boot_id: Option<String>,
    /// Hash of the machine id, salted per file, so that hashes of two files cannot be compared.
    pub machine_hash: Option<String>,
    /// Date and time of the start in UTC, RFC 3339.
    pub started_utc: String,
    /// Arm that the machine was in; `None` in a study without external arms.
    pub arm: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Whether any core had two online siblings.
    pub smt_active: Option<bool>,
    /// Content of `smt/control`.
    pub smt_control: Option<String>,
    /// Number of online logical CPUs.
    pub online_cpus: Option<u32>,
    /// Version of the engine.
    pub engine_version: String,
    /// Cloud instance type.
    pub instance_type: Option<String>,
    /// Kernel parameters that control SMT and mitigations.
    pub parameters: Option<String>,
}

/// `on`, `off` or `unknown`.
pub fn smt_word(active: Option<bool>) -> &'static str {
    match active {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    }
}

impl Boot {
    /// Names and values of what may differ between boots.
    pub fn attributes(&self) -> [(&'static str, String); 9] {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let parameters = known(&self.parameters);
        let cpus = self.online_cpus.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        [
            ("machine", known(&self.machine_hash)),
            ("instance type", known(&self.instance_type)),
            ("kernel", known(&self.kernel)),
            ("kernel parameters", if parameters.is_empty() { "none".to_owned() } else { parameters }),
            ("microcode", known(&self.microcode)),
            ("engine version", self.engine_version.clone()),
            ("SMT", smt_word(self.smt_active).to_owned()),
            ("SMT control", known(&self.smt_control)),
            ("online logical CPUs", cpus),
        ]
    }
}

/// Differences between two boots, one line each: `kernel was 6.1.0-28 and is 6.1.0-29`.
pub fn changes(before: &Boot, now: &Boot) -> Vec<String> {
    let pairs = before.attributes().into_iter().zip(now.attributes());
    let different = pairs.filter(|((_, was), (_, is))| was != is);
    different
        .map(|((name, was), (_, is))| match name {
            // The hash itself tells a reader nothing.
            "machine" if [&was, &is].iter().any(|hash| **hash == "unknown") => {
                "whether it is the same machine is not known".to_owned()
            }
            "machine" => "it is another machine".to_owned(),
            _ => format!("{name} was {was} and is {is}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(number: u32) -> Boot {
        let some = |text: &str| Some(text.to_owned());
        Boot {
            number,
            boot_id: some("b"),
            machine_hash: some("m"),
            started_utc: String::new(),
            arm: None,
            kernel: some("6.1"),
            microcode: some("0x1"),
            smt_active: Some(true),
            smt_control: some("on"),
            online_cpus: Some(8),
            engine_version: "3.50".to_owned(),
            instance_type: None,
            parameters: Some(String::new()),
        }
    }

    #[test]
    fn every_difference_is_named() {
        assert_eq!(changes(&boot(1), &boot(2)), Vec::<String>::new());
        let other = Boot {
            machine_hash: Some("n".to_owned()),
            kernel: None,
            microcode: Some("0x2".to_owned()),
            smt_active: Some(false),
            smt_control: Some("off".to_owned()),
            online_cpus: Some(4),
            engine_version: "3.51".to_owned(),
            instance_type: Some("m7i.large".to_owned()),
            parameters: Some("nosmt".to_owned()),
            ..boot(2)
        };
        assert_eq!(
            changes(&boot(1), &other),
            [
                "it is another machine",
                "instance type was unknown and is m7i.large",
                "kernel was 6.1 and is unknown",
                "kernel parameters was none and is nosmt",
                "microcode was 0x1 and is 0x2",
                "engine version was 3.50 and is 3.51",
                "SMT was on and is off",
                "SMT control was on and is off",
                "online logical CPUs was 8 and is 4",
            ]
        );
        let unknown = Boot { machine_hash: None, ..boot(2) };
        assert_eq!(changes(&boot(1), &unknown), ["whether it is the same machine is not known"]);
    }
}
