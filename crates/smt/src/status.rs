//! The present state of SMT, logical CPUs and clocks, and what can be done with them here.

use crate::facts::Facts;
use crate::left::{Holder, SmtJournal};
use crate::refuse::{Abilities, abilities};
use crate::roots::{self, Roots};
use crate::setting::{CPUS, Setting};
use crate::state::present_cpus;
use std::collections::BTreeMap;
use std::io;
use threadwise_machine::CpuSet;

/// What took a logical CPU offline, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfflineBy {
    /// It was online before threadwise switched it.
    Threadwise,
    /// It was offline before threadwise switched something.
    Before,
    /// `smt/control` is off, so it may be a sibling.
    ControlOrOthers,
    /// An administrator, or boot.
    Others,
}

impl OfflineBy {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Threadwise => "threadwise",
            Self::Before => "before-threadwise",
            Self::ControlOrOthers => "smt-control-or-others",
            Self::Others => "others",
        }
    }

    /// Its words in a text.
    pub fn text(self) -> &'static str {
        match self {
            Self::Threadwise => "by threadwise",
            Self::Before => "before threadwise switched anything",
            Self::ControlOrOthers => "by smt/control, or an administrator",
            Self::Others => "by an administrator or at boot",
        }
    }
}

/// Whether clocks may rise above the nominal one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turbo {
    /// Whether they may.
    pub is_on: bool,
    /// The file, below sysfs.
    pub file: &'static str,
}

/// The present state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// `smt/control`; `None` if the kernel has none.
    pub control: Option<String>,
    /// `smt/active`: whether a core has two logical CPUs online.
    pub is_active: Option<bool>,
    /// Cores: their online logical CPUs.
    pub cores: Vec<CpuSet>,
    /// Logical CPUs that are offline.
    pub offline: BTreeMap<u32, OfflineBy>,
    /// `None` if unknown.
    pub turbo: Option<Turbo>,
    /// Governors and the policies that have them.
    pub governors: BTreeMap<String, CpuSet>,
    /// What is possible here.
    pub abilities: Abilities,
    /// The owner of the present change; `None` if nothing is switched.
    pub holder: Option<Holder>,
}

impl Status {
    /// Reads it. `journals`: those of this boot and namespace, if they can be read.
    ///
    /// # Errors
    /// See [`crate::MachineState::read`].
    pub fn read(roots: &Roots, cpuset: Option<CpuSet>, journals: &[SmtJournal]) -> io::Result<Self> {
        let facts = Facts::read(roots, cpuset)?;
        let journal = journals.first();
        let by = |cpu: u32| match journal.and_then(|found| found.first.settings.get(&Setting::Online(cpu))) {
            Some(value) if value == "1" => OfflineBy::Threadwise,
            Some(_) => OfflineBy::Before,
            None if matches!(facts.control.as_deref(), Some("off" | "forceoff")) => {
                OfflineBy::ControlOrOthers
            }
            None => OfflineBy::Others,
        };
        let offline =
            present_cpus(roots).difference(&facts.online).iter().map(|cpu| (cpu, by(cpu))).collect();
        let active = roots::read(&roots.sys, &format!("{CPUS}/smt/active")).ok();
        let mut governors: BTreeMap<String, CpuSet> = BTreeMap::new();
        for (setting, value) in &facts.first.settings {
            if let Setting::Governor(policy) = setting {
                governors.entry(value.clone()).or_default().insert(*policy);
            }
        }
        Ok(Self {
            is_active: active.and_then(|text| match text.as_str() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            }),
            offline,
            turbo: turbo(&facts),
            governors,
            abilities: abilities(roots, &facts),
            holder: journal.map(|found| found.holder),
            control: facts.control,
            cores: facts.cores,
        })
    }
}

fn turbo(facts: &Facts) -> Option<Turbo> {
    let value = |setting| facts.first.settings.get(&setting);
    let no_turbo =
        value(Setting::NoTurbo).map(|value| Turbo { is_on: value == "0", file: "intel_pstate/no_turbo" });
    no_turbo
        .or_else(|| value(Setting::Boost).map(|value| Turbo { is_on: value == "1", file: "cpufreq/boost" }))
}
