//! `[external]`: externally switched arms.

use std::collections::BTreeSet;

use toml::Spanned;

use super::error::{LoadError, Source};
use super::file::StudyFile;
use super::overrides::Overrides;
use super::policy::Policies;
use super::raw::{RawExpect, RawExternal, RawStudy, RawTreatment, converted};
use super::seat::Seat;
use super::values;
use crate::arm::FACTORS;
use crate::external::{ARMS, Expect, External, MOST_BLOCKS, MOST_BOOTS, name_fault};
use crate::study::Stopping;
use crate::{Instance, Role, Study};

/// Default boots: A B B A.
const BOOTS: u32 = 4;
/// Default blocks of a boot.
const BLOCKS: u32 = 8;

/// Checks that need no machine.
pub(super) fn check(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    let Some(external) = &raw.external else { return Ok(()) };
    let span = external.arms.span();
    arms(external, source)?;
    let inner = raw.factors.iter().find(|(factor, _)| FACTORS.contains(&factor.as_str()));
    if let Some((factor, levels)) = inner {
        let why = format!("factor '{factor}' switches the machine, as [external] does: keep one of them");
        return Err(source.at(levels.span(), why));
    }
    let fewest = external.arms.get_ref().len() as u32;
    let counts =
        [("boots", &external.boots, fewest, MOST_BOOTS), ("blocks", &external.blocks, 1, MOST_BLOCKS)];
    for (key, count, least, most) in counts {
        if let Some(count) = count
            && !(least..=most).contains(count.get_ref())
        {
            let why = format!("{key} is {}, and {least} to {most} is allowed", count.get_ref());
            return Err(source.at(count.span(), why));
        }
    }
    for (arm, expect) in &external.expect {
        known(arm, external, source)?;
        expected(expect, source)?;
    }
    for (arm, command) in &external.switch {
        known(arm, external, source)?;
        if command.get_ref().first().is_none_or(String::is_empty) {
            return Err(source.at(command.span(), "a command must be a list of a program and its arguments"));
        }
    }
    match refused(raw) {
        Some(why) => Err(source.at(span, why)),
        None => Ok(()),
    }
}

fn arms(external: &RawExternal, source: &Source) -> Result<(), LoadError> {
    let arms = external.arms.get_ref();
    if !(ARMS.0..=ARMS.1).contains(&arms.len()) {
        let why = format!("{} arms; {} to {} are allowed", arms.len(), ARMS.0, ARMS.1);
        return Err(source.at(external.arms.span(), why));
    }
    for (at, arm) in arms.iter().enumerate() {
        if let Some(why) = name_fault(arm.get_ref()) {
            return Err(source.at(arm.span(), why));
        }
        if arms[..at].iter().any(|earlier| earlier.get_ref() == arm.get_ref()) {
            return Err(source.at(arm.span(), format!("arm '{}' appears twice", arm.get_ref())));
        }
    }
    Ok(())
}

fn known(arm: &Spanned<String>, external: &RawExternal, source: &Source) -> Result<(), LoadError> {
    let all: Vec<&str> = external.arms.get_ref().iter().map(|arm| arm.get_ref().as_str()).collect();
    match all.contains(&arm.get_ref().as_str()) {
        true => Ok(()),
        false => {
            let why = format!("there is no arm '{}'; arms are {}", arm.get_ref(), all.join(", "));
            Err(source.at(arm.span(), why))
        }
    }
}

fn expected(expect: &RawExpect, source: &Source) -> Result<(), LoadError> {
    if let Some(smt) = &expect.smt
        && smt_state(smt.get_ref()).is_none()
    {
        return Err(source
            .at(smt.span(), format!("smt is '{}'; on and off are allowed", smt.get_ref().escape_debug())));
    }
    if let Some(kernel) = &expect.kernel
        && kernel.get_ref().trim().is_empty()
    {
        return Err(source.at(kernel.span(), "kernel is empty; give a release such as 6.1"));
    }
    match &expect.cpus {
        Some(cpus) if *cpus.get_ref() == 0 => {
            Err(source.at(cpus.span(), "cpus is 0; at least 1 must be online"))
        }
        _ => Ok(()),
    }
}

fn smt_state(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Why a definition cannot have external arms beside its other settings.
fn refused(raw: &RawStudy) -> Option<String> {
    let workload = raw.workload.get_ref();
    if !workload.is_sliced() {
        return Some(format!("external arms compare rates, and the workload {workload} has none"));
    }
    let design = &raw.design;
    [
        ("[sweep]", raw.sweep.is_some()),
        ("[dop]", raw.dop.is_some()),
        ("[jobs]", raw.jobs.is_some()),
        ("blocks of [design]", design.blocks.is_some()),
        ("budget_s", design.budget_s.is_some()),
        ("until", design.until.is_some()),
        ("long_windows", design.long_windows.as_ref().is_some_and(|count| *count.get_ref() > 0)),
    ]
    .into_iter()
    .find(|(_, is_there)| *is_there)
    .map(|(what, _)| {
        format!(
            "{what} cannot be combined with [external], whose boots have their own blocks; remove one of them"
        )
    })
}

/// Refuses command-line settings that a study with external arms does not allow.
pub(super) fn check_overrides(file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    if file.raw.external.is_none() {
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
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let why = "a study with external arms has the blocks and treatments of its definition; change them there";
    Err(LoadError::Override { option: option.to_owned(), why: why.to_owned() })
}

/// A treatment that this machine lacks, or has under another name, and that another arm may have.
pub(super) fn absent(
    treatment: &RawTreatment,
    file: &StudyFile,
    policies: &Policies,
) -> Result<Seat, LoadError> {
    // Sessions are resolved in the arm that has the placement.
    const OF_TWO: [&str; 3] = ["same-core", "same-package", "cross-package"];
    let placement = treatment.placement.get_ref();
    let usual = if OF_TWO.contains(&placement.as_str()) { 2 } else { 1 };
    Ok(Seat {
        name: treatment.name.as_ref().unwrap_or(&treatment.placement).get_ref().clone(),
        placement: placement.clone(),
        sessions: treatment.sessions.as_ref().map_or(usual, |count| *count.get_ref()),
        pin: values::pin(treatment.pin.as_ref(), file.raw.workload.get_ref(), &file.source)?,
        memory: policies.of(treatment.memory.as_ref())?,
        service: policies.service(treatment.service.as_ref())?,
        set: converted(&treatment.set),
        instance: Instance::default(),
        version: None,
        role: Role::Compared,
    })
}

/// Sets a study's external arms, and the number of blocks that they need.
pub(super) fn settle(study: &mut Study, file: &StudyFile) {
    let Some(raw) = &file.raw.external else { return };
    let named = |is_so: fn(&RawTreatment) -> bool| -> BTreeSet<String> {
        let bases: Vec<&str> = file
            .raw
            .treatments
            .iter()
            .filter(|treatment| is_so(treatment))
            .map(|treatment| treatment.name.as_ref().unwrap_or(&treatment.placement).get_ref().as_str())
            .collect();
        let is_base = |name: &str| bases.contains(&name.split('/').next().unwrap_or(name));
        let names = study.treatments.iter().filter(|treatment| treatment.role == Role::Compared);
        names.map(|treatment| treatment.name.clone()).filter(|name| is_base(name)).collect()
    };
    let expect = |raw: &RawExpect| Expect {
        smt: raw.smt.as_ref().and_then(|word| smt_state(word.get_ref())),
        kernel: raw.kernel.as_ref().map(|kernel| kernel.get_ref().trim().to_owned()),
        cpus: raw.cpus.as_ref().map(|cpus| *cpus.get_ref()),
    };
    let external = External {
        arms: raw.arms.get_ref().iter().map(|arm| arm.get_ref().clone()).collect(),
        boots: raw.boots.as_ref().map_or(BOOTS, |count| *count.get_ref()),
        blocks: raw.blocks.as_ref().map_or(BLOCKS, |count| *count.get_ref()),
        expect: raw.expect.iter().map(|(arm, raw)| (arm.get_ref().clone(), expect(raw))).collect(),
        switch: raw.switch.iter().map(|(arm, raw)| (arm.get_ref().clone(), raw.get_ref().clone())).collect(),
        session_per_cpu: named(|treatment| treatment.sessions.is_none()),
        optional: named(|treatment| treatment.optional),
        treatments: study.treatments.len() as u32,
    };
    study.design.stopping = Stopping::Blocks { blocks: external.all_blocks() };
    study.external = Some(external);
}
