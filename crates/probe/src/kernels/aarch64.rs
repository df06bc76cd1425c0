//! The kernels in AArch64 assembly.
//!
//! Sources of the figures: Arm's Software Optimization Guides for Neoverse N1 (PJDOC-466751330-9707),
//! V1 (PJDOC-466751330-9685) and V2 (PJDOC-466751330-593177), chapters "Pipeline overview" and
//! "Instruction characteristics".
#![allow(unsafe_code)]

use super::Scratch;
use std::arch::asm;

/// Independent adds.
///
/// Limit: the pipelines that can add integers: 3 a cycle on Neoverse N1, 4 on V1, 6 on V2; never
/// more than 8, since each of the 8 registers takes one add a cycle. Few AArch64 server cores have
/// SMT; then this is limited by other guests that the hypervisor puts on the core. A turn is 128 adds
/// and a subtract and a branch, 1.5% of it.
pub fn wide(turns: u64, scratch: &mut Scratch) -> u64 {
    let [mut a, mut b, mut c, mut d] = [1, 2, 3, 4].map(|index| scratch.word(index));
    let [mut e, mut f, mut g, mut h] = [5, 6, 7, 8].map(|index| scratch.word(index));
    // SAFETY: only the named registers and the flags change; no memory and no stack is touched.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 16",
            "add {a}, {a}, {by}",
            "add {b}, {b}, {by}",
            "add {c}, {c}, {by}",
            "add {d}, {d}, {by}",
            "add {e}, {e}, {by}",
            "add {f}, {f}, {by}",
            "add {g}, {g}, {by}",
            "add {h}, {h}, {by}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            a = inout(reg) a,
            b = inout(reg) b,
            c = inout(reg) c,
            d = inout(reg) d,
            e = inout(reg) e,
            f = inout(reg) f,
            g = inout(reg) g,
            h = inout(reg) h,
            by = in(reg) scratch.word(0),
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    [a, b, c, d, e, f, g, h].into_iter().fold(0, u64::wrapping_add)
}

/// One chain of adds.
///
/// Limit: the latency of an add without a shift, one cycle on the cores named above. The counter's
/// own chain runs beside this one.
pub fn chain(turns: u64, scratch: &mut Scratch) -> u64 {
    let mut a = scratch.word(1);
    // SAFETY: only the named registers and the flags change; no memory and no stack is touched.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 16",
            "add {a}, {a}, {by}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            a = inout(reg) a,
            by = in(reg) scratch.word(0),
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    a
}

/// Two loads and one store a step, all on independent addresses.
///
/// Limit: the load and store pipelines: two for both on Neoverse N1 (3 instructions take 1.5
/// cycles), two for both and one for loads alone on V1 and V2 (one cycle). Nothing depends on a
/// load. A turn is 48 of these and an add, a compare and a branch, which run on other pipelines.
pub fn load_store(turns: u64, scratch: &mut Scratch) -> u64 {
    let (a, b): (u64, u64);
    // SAFETY: offsets 0 to 127 of `loaded` are read and of `stored` are written, both 2048 bytes
    // long; `scratch` is borrowed mutably, so there is no other reference. No stack is touched.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add {turn}, {turn}, #1",
            ".irp at, 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120",
            r"ldr {a}, [{from}, #\at]",
            r"ldr {b}, [{from}, #(120 - \at)]",
            r"str {turn}, [{to}, #\at]",
            ".endr",
            "cmp {turn}, {turns}",
            "b.ne 2b",
            a = out(reg) a,
            b = out(reg) b,
            from = in(reg) scratch.loaded.as_ptr(),
            to = in(reg) scratch.stored.as_mut_ptr(),
            turn = inout(reg) 0_u64 => _,
            turns = in(reg) turns,
            options(nostack),
        );
    }
    a.wrapping_add(b)
}

/// The result of [`load_store`]: the two words of its last step.
#[cfg(test)]
pub fn loaded(scratch: &Scratch, _turns: u64) -> u64 {
    scratch.word(15).wrapping_add(scratch.word(0))
}
