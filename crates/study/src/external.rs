//! External arms: levels that something outside the program switches (firmware, a boot parameter, a kernel, another
//! machine), so that every change is a boot. Defines them and finds the next one. Pure.
//!
//! Arms take turns as A B B A, so that a steady drift from boot to boot affects all equally; the first arm is drawn
//! (Montgomery, *Design and Analysis of Experiments*, ch. 4; Kalibera and Jones, ISMM 2013, for the boot as the unit).

use crate::OptionValue;
use crate::boot::smt_word;
use crate::plan::stream::{Purpose, random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use threadwise_machine::BootFacts;

/// Minimum and maximum number of arms of a study.
pub const ARMS: (usize, usize) = (2, 4);
/// Maximum boots of a study.
pub const MOST_BOOTS: u32 = 100;
/// Maximum blocks of a boot.
pub const MOST_BLOCKS: u32 = 1000;
/// Maximum length of an arm's name.
pub const MOST_NAME: usize = 40;

/// The external arms of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Names of the arms. The others are compared with the first.
    pub arms: Vec<String>,
    /// Total boots.
    pub boots: u32,
    /// Blocks of each boot.
    pub blocks: u32,
    /// What is checked before a boot of an arm is measured.
    pub expect: BTreeMap<String, Expect>,
    /// Command that switches to an arm: program and arguments.
    pub switch: BTreeMap<String, Vec<String>>,
    /// Treatments with one session for each logical CPU that their placement has in the arm.
    pub session_per_cpu: BTreeSet<String>,
    /// Treatments that are left out in arms where they equal an earlier one.
    pub optional: BTreeSet<String>,
    /// Treatments of the whole study; an arm may lack some.
    pub treatments: u32,
}

/// The machine state that an arm requires. `None` is not checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Whether SMT is on: `on` or `off`; result files have `true` or `false`.
    #[serde(default, deserialize_with = "on_or_off")]
    #[schemars(with = "Option<String>", extend("enum" = ["on", "off"]))]
    pub smt: Option<bool>,
    /// Kernel release or its prefix: `6.1` for 6.1.0-28.
    #[schemars(regex(pattern = r"\S"))]
    pub kernel: Option<String>,
    /// Number of online logical CPUs.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub cpus: Option<u32>,
}

/// The next part of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootPart {
    /// Number from 0, which is also the number of completed boots.
    pub number: u32,
    /// Name of its arm.
    pub arm: String,
    /// Blocks still missing.
    pub blocks_left: u32,
}

/// The arm of each boot, by index: forward and back again, starting at the first arm or the last.
pub(crate) fn order(arms: usize, boots: u32, seed: u64) -> Vec<usize> {
    let forward: Vec<usize> = match random(seed, Purpose::ExternalArms, 0).next_u32() % 2 == 1 {
        true => (0..arms).rev().collect(),
        false => (0..arms).collect(),
    };
    let there_and_back: Vec<usize> = forward.iter().chain(forward.iter().rev()).copied().collect();
    there_and_back.into_iter().cycle().take(boots as usize).collect()
}

/// What is wrong with the name of an arm.
pub(crate) fn name_fault(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_right = (1..=MOST_NAME).contains(&name.len()) && name.chars().all(is_plain);
    (!is_right).then(|| {
        format!(
            "arm '{}' is not 1 to {MOST_NAME} letters, digits, '-', '_' and '.'",
            name.escape_debug().take(2 * MOST_NAME).collect::<String>()
        )
    })
}

impl External {
    /// Whether it lies within the limits of a definition, for a study of this many treatments: a stored study may have
    /// any numbers.
    pub(crate) fn is_valid(&self, treatments: usize) -> bool {
        let arms = &self.arms;
        (ARMS.0..=ARMS.1).contains(&arms.len())
            && arms.iter().all(|arm| name_fault(arm).is_none())
            && arms.iter().collect::<BTreeSet<_>>().len() == arms.len()
            && (arms.len() as u32..=MOST_BOOTS).contains(&self.boots)
            && (1..=MOST_BLOCKS).contains(&self.blocks)
            && self.expect.keys().chain(self.switch.keys()).all(|arm| arms.contains(arm))
            && self.switch.values().all(|words| !words.is_empty())
            && self.treatments as usize == treatments
    }

    /// Blocks of all boots.
    pub fn all_blocks(&self) -> u32 {
        self.boots.saturating_mul(self.blocks)
    }

    /// The arm of each boot, by index.
    pub fn order(&self, seed: u64) -> Vec<usize> {
        order(self.arms.len(), self.boots, seed)
    }

    /// The next part after this many complete blocks; `None` when the study is complete.
    pub fn due(&self, seed: u64, blocks_done: u32) -> Option<BootPart> {
        let number = blocks_done.checked_div(self.blocks)?;
        let arm = *self.order(seed).get(number as usize)?;
        let blocks_left = self.blocks - blocks_done % self.blocks;
        Some(BootPart { number, arm: self.arms.get(arm)?.clone(), blocks_left })
    }

    /// Requirements of an arm that are not met, one line each.
    pub fn unmet(&self, arm: &str, facts: &BootFacts) -> Vec<String> {
        self.expect.get(arm).map_or_else(Vec::new, |expect| expect.unmet(facts))
    }
}

fn on_or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    let fault = |word: &dyn fmt::Display| {
        serde::de::Error::custom(format!("smt is '{word}'; on and off are allowed"))
    };
    match OptionValue::deserialize(deserializer)? {
        OptionValue::Flag(is_on) => Ok(Some(is_on)),
        OptionValue::Text(word) => {
            crate::arm::on_or_off(&word).map(Some).ok_or_else(|| fault(&word.escape_debug()))
        }
        other => Err(fault(&other)),
    }
}

impl Expect {
    fn unmet(&self, facts: &BootFacts) -> Vec<String> {
        let unknown = || "unknown".to_owned();
        let smt = self.smt.filter(|_| facts.smt_active != self.smt).map(|wanted| {
            format!("SMT is {} and must be {}", smt_word(facts.smt_active), smt_word(Some(wanted)))
        });
        let is_release = |wanted: &str| {
            let rest = facts.kernel.as_deref().and_then(|kernel| kernel.strip_prefix(wanted));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let kernel = self.kernel.as_deref().filter(|wanted| !is_release(wanted)).map(|wanted| {
            let found = facts.kernel.clone().unwrap_or_else(unknown);
            format!("the kernel is {found} and must be {wanted}")
        });
        let cpus = self.cpus.filter(|wanted| facts.online_cpus != Some(*wanted)).map(|wanted| {
            let found = facts.online_cpus.map_or_else(unknown, |count| count.to_string());
            format!("the number of online logical CPUs is {found} and must be {wanted}")
        });
        [smt, kernel, cpus].into_iter().flatten().collect()
    }
}
