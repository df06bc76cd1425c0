//! What can be switched here, and what is always refused.
//!
//! Source: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu` (`smt/control`: `notsupported`, `notimplemented`,
//! `forceoff`), `kernel/cpu.c`, `Documentation/core-api/cpu_hotplug.rst` (logical CPU 0), `pid_namespaces(7)`,
//! `include/linux/proc_ns.h` (`PROC_PID_INIT_INO`), `access(2)` (`EROFS`).

use crate::arm::{Arm, Smt};
use crate::facts::Facts;
use crate::roots::{self, Roots};
use crate::setting::{CPUSETS, Setting, governors};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::fs;
use threadwise_machine::CpuSet;

/// The link `/proc/self/ns/pid` outside of all containers.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What is possible here, or why not, each in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// `smt/control`.
    pub system: Result<(), String>,
    /// Single logical CPUs.
    pub offline: Result<(), String>,
    /// Clocks above the nominal one.
    pub turbo: Result<(), String>,
    /// Governors.
    pub governor: Result<(), String>,
}

/// What is possible here.
pub fn abilities(roots: &Roots, facts: &Facts) -> Abilities {
    let common = in_first_namespace(roots);
    let with = |why: Result<(), String>| common.clone().and(why);
    Abilities {
        system: with(control(roots, facts)),
        offline: with(offline(roots, facts)),
        turbo: turbo(roots, facts),
        governor: governor(roots, facts),
    }
}

fn in_first_namespace(roots: &Roots) -> Result<(), String> {
    match fs::read_link(roots.proc.join("self/ns/pid")) {
        Ok(link) if link.as_os_str() != FIRST_PID_NAMESPACE => Err(
            "this is a container: the affinity of tasks outside of it could not be restored; run it on the host"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

fn control(roots: &Roots, facts: &Facts) -> Result<(), String> {
    match facts.control.as_deref() {
        Some("on" | "off") => writable(roots, &Setting::Control),
        Some("forceoff") => Err(
            "SMT was switched off at boot (forceoff): remove nosmt=force from the kernel's command line and \
             reboot"
                .to_owned(),
        ),
        Some("notsupported") => Err(
            "smt/control is notsupported: the processor has one thread a core, SMT is off in the firmware, or a \
             hypervisor shows none; change it there"
                .to_owned(),
        ),
        Some("notimplemented") => {
            Err("smt/control is notimplemented: this kernel cannot switch SMT on this architecture".to_owned())
        }
        Some(other) => Err(format!(
            "smt/control is '{other}', neither on nor off: a part of each core's threads cannot be restored"
        )),
        None => {
            Err("the kernel has no smt/control: it is older than 4.19, or has no CONFIG_HOTPLUG_SMT".to_owned())
        }
    }
}

fn offline(roots: &Roots, facts: &Facts) -> Result<(), String> {
    let Some(core) = facts.cores.iter().find(|core| core.len() > 1) else {
        if matches!(facts.control.as_deref(), Some("off" | "forceoff")) {
            return Err("SMT is off, so no sibling is online".to_owned());
        }
        return Err("no core has two logical CPUs online, so there is no sibling to take offline".to_owned());
    };
    let setting = core.iter().skip(1).map(Setting::Online).find(|one| facts.first.settings.contains_key(one));
    match setting {
        Some(setting) => writable(roots, &setting),
        None => Err("siblings have no file cpuN/online: the kernel has no CONFIG_HOTPLUG_CPU".to_owned()),
    }
}

fn turbo(roots: &Roots, facts: &Facts) -> Result<(), String> {
    let of_turbo = [Setting::NoTurbo, Setting::Boost];
    match of_turbo.iter().find(|setting| facts.first.settings.contains_key(setting)) {
        Some(setting) => writable(roots, setting),
        None => Err(
            "not here: the kernel has neither intel_pstate/no_turbo nor cpufreq/boost (in a VM the host decides)"
                .to_owned(),
        ),
    }
}

fn governor(roots: &Roots, facts: &Facts) -> Result<(), String> {
    match facts.first.settings.keys().find(|setting| matches!(setting, Setting::Governor(_))) {
        Some(setting) => writable(roots, setting),
        None => Err("not here: the kernel has no cpufreq policies (in a VM the host decides)".to_owned()),
    }
}

fn writable(roots: &Roots, setting: &Setting) -> Result<(), String> {
    match accessat(CWD, setting.path(roots), Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(()),
        Err(Errno::ROFS) => {
            Err("sysfs is mounted read-only, as in a container: run it on the host".to_owned())
        }
        Err(Errno::ACCESS | Errno::PERM) => Err("only root may change it: run it as root".to_owned()),
        Err(error) => Err(format!("{setting} cannot be written: {error}")),
    }
}

/// Whether `arm` is possible here.
///
/// # Errors
/// Why not, in one line; nothing has been changed.
pub fn check(roots: &Roots, facts: &Facts, arm: &Arm) -> Result<(), String> {
    let abilities = abilities(roots, facts);
    if let Some(smt) = &arm.smt {
        check_smt(roots, facts, &abilities, smt)?;
    }
    if arm.turbo.is_some() {
        abilities.turbo?;
    }
    if let Some(name) = &arm.governor {
        abilities.governor?;
        let policies = facts.first.settings.keys().filter_map(|setting| match setting {
            Setting::Governor(policy) => Some(*policy),
            _ => None,
        });
        for policy in policies {
            let there = governors(roots, policy);
            if !there.contains(name) {
                return Err(format!("not here: policy{policy} has the governors {}", there.join(", ")));
            }
        }
    }
    Ok(())
}

fn check_smt(roots: &Roots, facts: &Facts, abilities: &Abilities, smt: &Smt) -> Result<(), String> {
    let gone = match smt {
        Smt::On => return abilities.system.clone().and_then(|()| inside_cpuset(facts, &facts.online)),
        Smt::Off => {
            abilities.system.clone()?;
            facts.siblings_of(&facts.first_of_cores()).union(&facts.perhaps_second())
        }
        Smt::Offline { keep } => {
            abilities.offline.clone()?;
            let absent = keep.difference(&facts.online);
            if !absent.is_empty() {
                return Err(format!("logical CPUs {absent} are not online"));
            }
            facts.siblings_of(keep)
        }
    };
    if gone.contains(0) {
        return Err("logical CPU 0 is never taken offline: keep it, and not its sibling".to_owned());
    }
    match smt {
        Smt::Offline { keep } if gone.is_empty() => {
            return Err(format!("logical CPUs {keep} have no siblings online"));
        }
        Smt::Offline { .. } => {
            let fixed: CpuSet = gone
                .iter()
                .filter(|&cpu| !facts.first.settings.contains_key(&Setting::Online(cpu)))
                .collect();
            if !fixed.is_empty() {
                return Err(format!(
                    "logical CPUs {fixed} cannot be taken offline: they have no file online"
                ));
            }
            inside_cpuset(facts, &gone)?;
        }
        // All of the machine.
        _ => inside_cpuset(facts, &facts.online)?,
    }
    nodes_stay(facts, &gone)?;
    groups_stay(roots, facts, &gone)
}

fn inside_cpuset(facts: &Facts, cpus: &CpuSet) -> Result<(), String> {
    let Some(cpuset) = &facts.cpuset else { return Ok(()) };
    let outside = cpus.difference(cpuset);
    match outside.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "logical CPUs {outside} are outside of this process's cpuset ({cpuset}), and others may use them: run it outside of \
             that control group"
        )),
    }
}

/// A node whose last logical CPU would go offline while something is bound to it.
fn nodes_stay(facts: &Facts, gone: &CpuSet) -> Result<(), String> {
    for (node, cpus) in facts.nodes.iter().filter(|(_, cpus)| !cpus.is_empty() && cpus.is_subset(gone)) {
        let bound =
            facts.first.tasks.iter().find(|(_, mask)| mask.intersection(&facts.online).is_subset(cpus));
        if let Some((thread, _)) = bound {
            return Err(format!(
                "logical CPUs {cpus} are the last ones of NUMA node {node}, and thread {} of process {} is bound to \
                 it",
                thread.tid, thread.pid
            ));
        }
    }
    Ok(())
}

/// A control group of version 1 that would be left without logical CPUs: the kernel would move its tasks out.
fn groups_stay(roots: &Roots, facts: &Facts, gone: &CpuSet) -> Result<(), String> {
    for (setting, list) in &facts.first.settings {
        let Setting::Cpuset(group) = setting else { continue };
        let is_emptied = CpuSet::parse_list(list).is_ok_and(|cpus| cpus.is_subset(gone));
        let tasks = roots::read(&roots.cgroup, &format!("{CPUSETS}/{group}/tasks")).unwrap_or_default();
        if is_emptied && !tasks.is_empty() {
            return Err(format!(
                "the control group {group} has only logical CPUs {list}, and the kernel would move its tasks out of \
                 it"
            ));
        }
    }
    Ok(())
}
