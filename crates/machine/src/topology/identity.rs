//! The kind of the machine; nothing here identifies one machine of a kind.
//!
//! Sources: `proc_cpuinfo(5)`, `proc_meminfo(5)`, kernel `Documentation/ABI/stable/sysfs-hypervisor-xen`
//! and `Documentation/ABI/testing/sysfs-firmware-dmi-entries`; the vendors' DMI texts are those
//! that `systemd-detect-virt(1)` knows.

use super::tree::Tree;
use super::{Identity, TopologyError, cpuinfo};
use crate::text::one_line;

/// Keys of the processor's name, by architecture.
const MODEL_KEYS: [&str; 7] =
    ["model name", "Model Name", "cpu model", "cpu", "uarch", "Processor", "family"];
/// For a guest of an unknown host.
const UNKNOWN: &str = "unknown hypervisor";
/// Where the kernel shows the device tree; the first is a link to the second.
pub(super) const DEVICE_TREES: [&str; 2] = ["proc/device-tree", "sys/firmware/devicetree/base"];
/// In the device tree of a partition of PowerVM, and not on bare metal.
pub(super) const PARTITION_NAME: &str = "ibm,partition-name";
/// Vendor and product texts of virtual machines, and their hypervisor.
const VIRTUAL_MACHINES: [(&str, &str); 16] = [
    ("Apple Virtualization", "Apple Virtualization"),
    ("KVM", "KVM"),
    ("QEMU", "QEMU/KVM"),
    ("VMware", "VMware"),
    ("VMW", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Bochs", "Bochs"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "Hyper-V"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Alibaba Cloud", "Alibaba Cloud"),
    ("OpenStack", "OpenStack"),
];

/// Reads all of it; a missing fact is `None`.
pub(super) fn read(tree: &Tree, about: &cpuinfo::Record) -> Result<Identity, TopologyError> {
    Ok(Identity {
        cpu_model: cpu_model(about),
        cpu_vendor: cpu_vendor(about),
        hypervisor: hypervisor(tree, about)?,
        smt_control: word(tree, "sys/devices/system/cpu/smt", "control")?,
        kernel: word(tree, "proc/sys/kernel", "osrelease")?,
        memory_bytes: total_memory(tree)?,
    })
}

/// The first line of a file, sanitised for a terminal.
fn word(tree: &Tree, dir: &str, name: &str) -> Result<Option<String>, TopologyError> {
    let text = tree.text(dir, name)?;
    Ok(text.and_then(|text| shown(text.lines().next().unwrap_or(""))))
}

fn shown(text: &str) -> Option<String> {
    Some(one_line(text, 200)).filter(|text| !text.is_empty())
}

fn cpu_model(about: &cpuinfo::Record) -> Option<String> {
    let arm = || {
        let part = about.get("CPU part")?;
        Some(format!("{} part {part}", cpu_vendor(about)?))
    };
    let named = MODEL_KEYS.iter().find_map(|key| about.get(*key));
    named.and_then(|name| shown(name)).or_else(|| shown(&arm()?))
}

/// The vendor; Arm processors give a number (Arm Architecture Reference Manual, `MIDR_EL1`).
fn cpu_vendor(about: &cpuinfo::Record) -> Option<String> {
    if let Some(vendor) = about.get("vendor_id").or_else(|| about.get("vendor")) {
        return shown(vendor);
    }
    let code = about.get("CPU implementer")?;
    let name = match code.as_str() {
        "0x41" => "Arm",
        "0x42" => "Broadcom",
        "0x43" => "Cavium",
        "0x46" => "Fujitsu",
        "0x48" => "HiSilicon",
        "0x4e" => "NVIDIA",
        "0x50" => "Applied Micro",
        "0x51" => "Qualcomm",
        "0x53" => "Samsung",
        "0x61" => "Apple",
        "0x6d" => "Microsoft",
        "0xc0" => "Ampere",
        _ => return shown(&format!("implementer {code}")),
    };
    Some(name.to_owned())
}

/// On x86 the processor has a flag for a hypervisor (`hypervisor`), and DMI texts only name it: bare-metal machines
/// of a cloud carry the cloud's texts too. Elsewhere there are only the texts.
fn hypervisor(tree: &Tree, about: &cpuinfo::Record) -> Result<Option<String>, TopologyError> {
    let kind = word(tree, "sys/hypervisor", "type")?;
    if let Some(kind) = kind {
        return Ok(Some(if kind == "xen" { "Xen".to_owned() } else { kind }));
    }
    let vendor = word(tree, "sys/class/dmi/id", "sys_vendor")?.unwrap_or_default();
    let product = word(tree, "sys/class/dmi/id", "product_name")?.unwrap_or_default();
    let known = VIRTUAL_MACHINES
        .iter()
        .find(|(text, _)| product.starts_with(text) || vendor.starts_with(text))
        .map(|(_, name)| (*name).to_owned());
    Ok(match about.get("flags") {
        Some(flags) if flags.split_whitespace().any(|flag| flag == "hypervisor") => {
            known.or_else(|| Some(UNKNOWN.to_owned()))
        }
        Some(_) => None,
        None => match by_firmware(tree)? {
            Some(found) => Some(found),
            None => known.filter(|_| !product.contains("metal")),
        },
    })
}

/// The hypervisor according to the device tree or IBM Z, whose processors have no flag for it.
///
/// Sources: the Devicetree bindings of hypervisors (`/hypervisor/compatible`: `linux,kvm`, `xen,xen`, `vmware`), the
/// machines of guests (`linux,dummy-virt` of QEMU, crosvm and Firecracker; `qemu,pseries`), Linux on Power Architecture
/// Platform Reference (`ibm,partition-name`: a partition of PowerVM), and `arch/s390/kernel/sysinfo.c`
/// (`VM00 Control Program` of the nearest level).
fn by_firmware(tree: &Tree) -> Result<Option<String>, TopologyError> {
    let texts = |folder: &str, name: &str| -> Result<Vec<String>, TopologyError> {
        let text = tree.text(folder, name)?.unwrap_or_default();
        Ok(text.split('\0').map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect())
    };
    let device_tree = DEVICE_TREES.into_iter().find(|folder| tree.dir(folder).is_some());
    if let Some(folder) = device_tree {
        let declared = texts(&format!("{folder}/hypervisor"), "compatible")?;
        if let Some(first) = declared.first() {
            let known = [("linux,kvm", "KVM"), ("xen", "Xen"), ("vmware", "VMware")];
            let known = known.iter().find(|(text, _)| declared.iter().any(|found| found.starts_with(text)));
            return Ok(known.map_or_else(|| shown(first), |(_, name)| Some((*name).to_owned())));
        }
        let machine = texts(folder, "compatible")?;
        if machine.iter().any(|found| found == "qemu,pseries") {
            return Ok(Some("QEMU/KVM".to_owned()));
        }
        if !texts(folder, PARTITION_NAME)?.is_empty() {
            return Ok(Some("PowerVM".to_owned()));
        }
        if machine.iter().any(|found| found == "linux,dummy-virt") {
            return Ok(Some(UNKNOWN.to_owned()));
        }
    }
    let programs = tree.text("proc", "sysinfo")?.unwrap_or_default();
    let nearest = programs.lines().find_map(|line| line.strip_prefix("VM00 Control Program:"));
    Ok(nearest.and_then(|program| match program.trim() {
        program if program.starts_with("KVM") => Some("KVM".to_owned()),
        program if program.starts_with("z/VM") => Some("z/VM".to_owned()),
        program => shown(program),
    }))
}

/// `MemTotal` of /proc/meminfo in bytes.
pub(super) fn total_memory(tree: &Tree) -> Result<Option<u64>, TopologyError> {
    let text = tree.text("proc", "meminfo")?.unwrap_or_default();
    Ok(text.lines().find_map(|line| line.strip_prefix("MemTotal:")).and_then(kib))
}

/// `  8386704 kB` in bytes.
pub(super) fn kib(amount: &str) -> Option<u64> {
    amount.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pairs: &[(&str, &str)]) -> cpuinfo::Record {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_of_several_architectures() {
        let x86 = record(&[("vendor_id", "GenuineIntel"), ("model name", "  Xeon(R)   Gold \u{1b}[31m")]);
        assert_eq!(cpu_model(&x86).as_deref(), Some("Xeon(R) Gold [31m"));
        let arm = record(&[("CPU implementer", "0x41"), ("CPU part", "0xd0c")]);
        assert_eq!(cpu_model(&arm).as_deref(), Some("Arm part 0xd0c"));
        assert_eq!(cpu_model(&record(&[])), None);
    }

    #[test]
    fn amounts_of_memory() {
        assert_eq!(kib("  8386704 kB"), Some(8_386_704 * 1024));
        assert_eq!([kib("12"), kib("-1 kB"), kib("99999999999999999999 kB")], [None; 3]);
    }
}
