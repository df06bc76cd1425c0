//! `[external]`: externally switched arms.

use std::collections::BTreeSet;

use super::candidate::Resolver;
use super::definition::TreatmentSection;
use super::source::LoadError;
use crate::arm::FACTORS;
use crate::external::{Expect, External};
use crate::study::Stopping;
use crate::{Role, Study};

/// Default boots: A B B A.
const BOOTS: u32 = 4;
/// Default blocks of a boot.
const BLOCKS: u32 = 8;

impl Resolver<'_> {
    /// Refuses command-line settings that a study with external arms does not allow.
    pub fn check_external(&self) -> Result<(), LoadError> {
        let overrides = self.overrides;
        if self.definition.external.is_none() {
            return Ok(());
        }
        let given = [
            ("--blocks", overrides.blocks.is_some()),
            ("--budget", overrides.budget_s.is_some()),
            ("--until", overrides.until.is_some()),
            ("--long-windows", overrides.long_windows.is_some_and(|count| count > 0)),
            ("--placement", overrides.placements.is_some()),
            ("--sessions", overrides.sessions.is_some()),
            ("--sweep", overrides.orders.is_some()),
            (
                "--smt, --turbo and --governor",
                overrides.factors.keys().any(|factor| FACTORS.contains(&factor.as_str())),
            ),
        ];
        let why =
            "a study with external arms has the blocks and treatments of its definition; change them there";
        given.into_iter().try_for_each(|(option, is_given)| LoadError::option_if(is_given, option, why))
    }

    /// Sets a study's external arms, and the number of blocks that they need.
    pub fn settle_external(&self, study: &mut Study) {
        let Some(section) = &self.definition.external else { return };
        let named = |is_so: fn(&TreatmentSection) -> bool| -> BTreeSet<String> {
            let treatments = self.definition.treatments.iter().filter(|treatment| is_so(treatment));
            let bases: Vec<&str> = treatments.map(TreatmentSection::name).collect();
            let is_base = |name: &str| bases.contains(&name.split('/').next().unwrap_or(name));
            let names = study.treatments.iter().filter(|treatment| treatment.role == Role::Compared);
            names.map(|treatment| treatment.name.clone()).filter(|name| is_base(name)).collect()
        };
        let expect = |expect: &Expect| Expect {
            kernel: expect.kernel.as_ref().map(|kernel| kernel.trim().to_owned()),
            ..expect.clone()
        };
        let external = External {
            arms: section.arms.clone(),
            boots: section.boots.unwrap_or(BOOTS),
            blocks: section.blocks.unwrap_or(BLOCKS),
            expect: section.expect.iter().map(|(arm, one)| (arm.clone(), expect(one))).collect(),
            switch: section.switch.clone(),
            session_per_cpu: named(|treatment| treatment.sessions.is_none()),
            optional: named(|treatment| treatment.optional),
            treatments: study.treatments.len() as u32,
        };
        study.design.stopping = Stopping::Blocks { blocks: external.all_blocks() };
        study.external = Some(external);
    }
}
