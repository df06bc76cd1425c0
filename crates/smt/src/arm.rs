//! The machine state that a treatment requests, and the settings that follow from it.

use crate::facts::Facts;
use crate::setting::Setting;
use crate::settle::Target;
use crate::state::MachineState;
use std::fmt;
use threadwise_machine::CpuSet;

/// How SMT is switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Smt {
    /// `smt/control` on: all of the machine.
    On,
    /// `smt/control` off: all of the machine.
    Off,
    /// The siblings of these logical CPUs offline, one by one; these stay online.
    Offline {
        /// The logical CPUs that stay online.
        keep: CpuSet,
    },
}

/// A treatment's request. What it does not name is restored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arm {
    /// SMT.
    pub smt: Option<Smt>,
    /// Whether clocks may rise above the nominal one.
    pub turbo: Option<bool>,
    /// Governor of all policies.
    pub governor: Option<String>,
}

impl Arm {
    /// Only SMT.
    pub fn smt(smt: Smt) -> Self {
        Self { smt: Some(smt), ..Self::default() }
    }
}

impl fmt::Display for Arm {
    /// Short text: `SMT off`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let smt = self.smt.as_ref().map(|smt| match smt {
            Smt::On => "SMT on".to_owned(),
            Smt::Off => "SMT off".to_owned(),
            Smt::Offline { keep } => format!("siblings of logical CPUs {keep} offline"),
        });
        let turbo = self.turbo.map(|is_on| format!("turbo {}", if is_on { "on" } else { "off" }));
        let governor = self.governor.as_ref().map(|name| format!("governor {name}"));
        let parts: Vec<String> = [smt, turbo, governor].into_iter().flatten().collect();
        f.write_str(&if parts.is_empty() { "as found".to_owned() } else { parts.join(", ") })
    }
}

/// The machine as it was found.
pub(crate) fn as_found(first: &MachineState) -> Target {
    Target { state: first.clone(), online_by_control: false }
}

/// The target state of `arm`, from what was found. Call [`crate::refuse::check`] first.
pub(crate) fn target(facts: &Facts, arm: &Arm) -> Target {
    let mut target = as_found(&facts.first);
    let settings = &mut target.state.settings;
    let found = settings.get(&Setting::Control).cloned();
    let mut control = |value: &str| {
        target.online_by_control = found.as_deref() != Some(value);
        settings.insert(Setting::Control, value.to_owned());
    };
    match &arm.smt {
        None => {}
        Some(Smt::On) => control("on"),
        Some(Smt::Off) => control("off"),
        Some(Smt::Offline { keep }) => facts.siblings_of(keep).iter().for_each(|cpu| {
            settings.insert(Setting::Online(cpu), "0".to_owned());
        }),
    }
    if let Some(is_on) = arm.turbo {
        for (setting, value) in settings.iter_mut() {
            match setting {
                Setting::NoTurbo => *value = u8::from(!is_on).to_string(),
                Setting::Boost | Setting::PolicyBoost(_) => *value = u8::from(is_on).to_string(),
                _ => {}
            }
        }
    }
    if let Some(governor) = &arm.governor {
        for (setting, value) in settings.iter_mut() {
            if let Setting::Governor(_) = setting {
                value.clone_from(governor);
            }
        }
    }
    target
}
