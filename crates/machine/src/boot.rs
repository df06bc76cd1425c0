//! What identifies a boot of a machine, and what a boot may change: ids, kernel, microcode, SMT.
//!
//! Sources: `random(4)` (boot_id), `machine-id(5)`, `proc(5)` (cmdline), Documentation/ABI/testing/sysfs-devices-system-cpu
//! (smt/active, smt/control, online), Documentation/admin-guide/kernel-parameters.txt.

use crate::CpuSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest file that is read, bytes: enough for the first record of /proc/cpuinfo.
const MOST_BYTES: u64 = 64 << 10;
/// Longest text of one fact, bytes.
const MOST_TEXT: usize = 200;

/// Kernel parameters that determine SMT, the number of logical CPUs, and mitigations of processor faults. No other
/// parameter is kept: a command line may hold addresses, names and secrets.
const PARAMETERS: [&str; 25] = [
    "gather_data_sampling",
    "indirect_target_selection",
    "kpti",
    "l1d_flush",
    "l1tf",
    "maxcpus",
    "mds",
    "mitigations",
    "mmio_stale_data",
    "nopti",
    "nosmp",
    "nosmt",
    "nospec_store_bypass_disable",
    "nospectre_v1",
    "nospectre_v2",
    "nr_cpus",
    "pti",
    "reg_file_data_sampling",
    "retbleed",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_v2",
    "spectre_v2_user",
    "srbds",
    "tsx_async_abort",
];

/// One boot of one machine, `None` is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootFacts {
    /// Random id that the kernel draws at each boot.
    pub boot_id: Option<String>,
    /// Id of the installation, or else that of the firmware. It identifies the machine, so it is stored only as a
    /// salted hash.
    pub machine_id: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Revision of the first logical CPU's microcode.
    pub microcode: Option<String>,
    /// Whether any core has two online siblings.
    pub smt_active: Option<bool>,
    /// `on`, `off`, `forceoff`, `notsupported`, ….
    pub smt_control: Option<String>,
    /// Number of online logical CPUs.
    pub online_cpus: Option<u32>,
    /// The instance type, if the firmware's product name is one (`m7i.large`).
    pub instance_type: Option<String>,
    /// Kernel parameters that determine SMT and mitigations, in order, separated by a space. Empty if none is set.
    pub parameters: Option<String>,
}

impl BootFacts {
    /// Reads /proc, /sys and /etc below a root. What cannot be read is unknown.
    pub fn read(root: &Path) -> Self {
        let word = |path: &str| text(root, path).and_then(|text| shown(&text));
        Self {
            boot_id: word("proc/sys/kernel/random/boot_id").filter(|id| is_id(id)),
            machine_id: ["etc/machine-id", "sys/class/dmi/id/product_uuid"]
                .into_iter()
                .find_map(|path| word(path).filter(|id| is_id(id))),
            kernel: word("proc/sys/kernel/osrelease"),
            microcode: text(root, "proc/cpuinfo").as_deref().and_then(microcode),
            smt_active: word("sys/devices/system/cpu/smt/active").and_then(|word| match word.as_str() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            }),
            smt_control: word("sys/devices/system/cpu/smt/control"),
            online_cpus: word("sys/devices/system/cpu/online")
                .and_then(|list| CpuSet::parse_list(&list).ok())
                .and_then(|set| u32::try_from(set.len()).ok())
                .filter(|count| *count > 0),
            instance_type: word("sys/class/dmi/id/product_name").filter(|name| is_instance_type(name)),
            parameters: text(root, "proc/cmdline").map(|line| parameters(&line)),
        }
    }
}

fn text(root: &Path, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(root.join(path)).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    // The end of a truncated file may be half a character.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The trimmed text, if it is plain and short; `None` if it is empty.
fn shown(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = text.len() <= MOST_TEXT && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    (is_plain && !text.is_empty()).then(|| text.to_owned())
}

/// A UUID, or 32 hexadecimal digits; not all zeros, which mean none.
fn is_id(id: &str) -> bool {
    let digits = || id.chars().filter(|c| *c != '-');
    digits().count() == 32 && digits().all(|c| c.is_ascii_hexdigit()) && digits().any(|c| c != '0')
}

fn microcode(cpuinfo: &str) -> Option<String> {
    let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == "microcode").and_then(|(_, value)| shown(value))
}

/// Instance types among product names have dots and no spaces: `m7i.large`, `ecs.g6.large`.
fn is_instance_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('.').count() > 1
        && name.split('.').all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        })
}

/// The parameters of a command line that are kept.
fn parameters(line: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | '_' | '-' | '.');
    let kept = line.split_ascii_whitespace().filter(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        PARAMETERS.contains(&name) && value.len() <= 60 && value.chars().all(is_plain)
    });
    kept.take(PARAMETERS.len()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_boot_is_read_below_its_root() {
        let id = "6c1ea6c2-3f5d-4a39-9c53-000000000001";
        let root = root(&[
            ("proc/sys/kernel/random/boot_id", &format!("{id}\n")),
            ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
            ("sys/class/dmi/id/product_uuid", id),
            ("proc/sys/kernel/osrelease", "6.1.0-28-cloud-amd64\n"),
            ("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0x2b000590\n\nprocessor\t: 1\nmicrocode\t: 0x1\n"),
            ("sys/devices/system/cpu/smt/active", "0\n"),
            ("sys/devices/system/cpu/smt/control", "off\n"),
            ("sys/devices/system/cpu/online", "0-3,8\n"),
            ("sys/class/dmi/id/product_name", "m7i.metal-24xl\n"),
            (
                "proc/cmdline",
                "root=UUID=12 password=secret nosmt=force mitigations=auto,nosmt quiet mds=a;b\n",
            ),
        ]);
        let some = |text: &str| Some(text.to_owned());
        let wanted = BootFacts {
            boot_id: some(id),
            machine_id: some("0123456789abcdef0123456789abcdef"),
            kernel: some("6.1.0-28-cloud-amd64"),
            microcode: some("0x2b000590"),
            smt_active: Some(false),
            smt_control: some("off"),
            online_cpus: Some(5),
            instance_type: some("m7i.metal-24xl"),
            parameters: some("nosmt=force mitigations=auto,nosmt"),
        };
        assert_eq!(BootFacts::read(root.path()), wanted);
    }

    #[test]
    fn what_is_missing_or_odd_is_unknown() {
        assert_eq!(BootFacts::read(root(&[]).path()), BootFacts::default());
        let uuid = "0b5ec7e1-0000-4000-8000-00000000000a";
        let odd = root(&[
            ("proc/sys/kernel/random/boot_id", "none"),
            ("etc/machine-id", "uninitialized\n"),
            ("sys/class/dmi/id/product_uuid", uuid),
            ("sys/devices/system/cpu/smt/active", "2"),
            ("sys/devices/system/cpu/smt/control", "\u{1b}[2J"),
            ("sys/devices/system/cpu/online", "3-1"),
            ("sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)"),
            ("proc/cmdline", ""),
        ]);
        let wanted = BootFacts {
            machine_id: Some(uuid.to_owned()),
            parameters: Some(String::new()),
            ..BootFacts::default()
        };
        assert_eq!(BootFacts::read(odd.path()), wanted);
        assert!(!is_id("00000000-0000-0000-0000-000000000000"));
        assert!(is_instance_type("ecs.g6.large") && !is_instance_type("Virtual.Machine"));
    }
}
