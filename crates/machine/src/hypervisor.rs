//! The name of the hypervisor below this process, which sysfs often does not show.
//!
//! Source: kernel `Documentation/virt/kvm/x86/cpuid.rst` and `arch/x86/kernel/cpu/{vmware,mshyperv}.c`:
//! where CPUID leaf 1 has bit 31 of ECX set, leaf 0x40000000 holds a signature of twelve bytes. This
//! asks the processor, so it is not part of `Topology::read`, which reads a root.

/// QEMU's software emulation (Tiny Code Generator), which emulates the processor.
pub const EMULATOR: &str = "QEMU TCG";

/// Signatures and names; the first four are those of the public clouds.
const SIGNATURES: [(&[u8; 12], &str); 8] = [
    (b"KVMKVMKVM\0\0\0", "KVM"),
    (b"Microsoft Hv", "Hyper-V"),
    (b"XenVMMXenVMM", "Xen"),
    (b"VMwareVMware", "VMware"),
    (b"TCGTCGTCGTCG", EMULATOR),
    (b"bhyve bhyve ", "bhyve"),
    (b" prl hyperv ", "Parallels"),
    (b"ACRNACRNACRN", "ACRN"),
];

/// The hypervisor's name; `None` without a hypervisor or with an unknown signature, and on processors other
/// than x86-64.
pub fn live() -> Option<&'static str> {
    signature().and_then(|signature| name(&signature))
}

fn name(signature: &[u8; 12]) -> Option<&'static str> {
    SIGNATURES.iter().find(|(known, _)| *known == signature).map(|(_, name)| *name)
}

#[cfg(all(target_arch = "x86_64", not(threadwise_portable)))]
fn signature() -> Option<[u8; 12]> {
    use std::arch::x86_64::__cpuid;
    const PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & PRESENT == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let mut signature = [0; 12];
    for (place, register) in signature.chunks_exact_mut(4).zip([leaf.ebx, leaf.ecx, leaf.edx]) {
        place.copy_from_slice(&register.to_le_bytes());
    }
    Some(signature)
}

#[cfg(not(all(target_arch = "x86_64", not(threadwise_portable))))]
fn signature() -> Option<[u8; 12]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_have_names_and_others_have_none() {
        assert_eq!(name(b"KVMKVMKVM\0\0\0"), Some("KVM"));
        assert_eq!(name(b"Microsoft Hv"), Some("Hyper-V"));
        assert_eq!(name(b"SomethingNew"), None);
    }

    #[test]
    fn a_name_is_only_there_where_the_kernel_sees_a_hypervisor_too() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flagged = cpuinfo.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
        assert!(live().is_none() || flagged);
    }

    #[test]
    #[cfg(any(threadwise_portable, not(target_arch = "x86_64")))]
    fn other_processors_are_not_asked() {
        assert_eq!(live(), None);
    }
}
