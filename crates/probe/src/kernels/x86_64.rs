//! The kernels in x86-64 assembly.
//!
//! Sources of the figures: Agner Fog, "The microarchitecture of Intel, AMD and VIA CPUs" and
//! "Instruction tables" (`agner.org/optimize`); the measurements of `uops.info` for ADD (R64, R64),
//! MOV (R64, M64) and MOV (M64, R64).
#![allow(unsafe_code)]

use super::Scratch;
use std::arch::asm;

/// Independent adds.
///
/// Limit: the execution ports that can add integers, shared by the threads of a core: 4 a cycle on
/// Intel from Haswell to Tiger Lake and on AMD Zen 1 to 4, 5 on Golden Cove and its server versions
/// (Sapphire Rapids to Granite Rapids), 6 on Lion Cove and Zen 5; never more than 8, since each of
/// the 8 registers takes one add a cycle. A turn is 128 adds and one fused decrement-and-branch,
/// 0.8% of it. It is 394 bytes long and stays in the cache of decoded instructions; the alignment
/// keeps the branch from crossing a 32-byte line, which Skylake's microcode would slow down (Intel,
/// "Mitigations for Jump Conditional Code Erratum").
pub fn wide(turns: u64, scratch: &mut Scratch) -> u64 {
    let [mut a, mut b, mut c, mut d] = [1, 2, 3, 4].map(|index| scratch.word(index));
    let [mut e, mut f, mut g, mut h] = [5, 6, 7, 8].map(|index| scratch.word(index));
    // SAFETY: only the named registers and the flags change; no memory and no stack is touched.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 16",
            "add {a}, {by}",
            "add {b}, {by}",
            "add {c}, {by}",
            "add {d}, {by}",
            "add {e}, {by}",
            "add {f}, {by}",
            "add {g}, {by}",
            "add {h}, {by}",
            ".endr",
            "sub {turns}, 1",
            "jnz 2b",
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
/// Limit: the latency of an add, one cycle on all x86-64. Two registers, not a register and a
/// constant: from Golden Cove on Intel adds small constants while it renames registers, so that such
/// a chain runs faster than one add a cycle. The counter's own chain runs beside this one. Without
/// competition for ports (one add a cycle leaves most free) a busy sibling hardly slows it.
pub fn chain(turns: u64, scratch: &mut Scratch) -> u64 {
    let mut a = scratch.word(1);
    // SAFETY: only the named registers and the flags change; no memory and no stack is touched.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 16",
            "add {a}, {by}",
            ".endr",
            "sub {turns}, 1",
            "jnz 2b",
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
/// Limit: the load ports, shared by the threads of a core: 2 loads a cycle on Intel up to Tiger
/// Lake and on AMD Zen 2, 3 on Golden Cove, 4 on Zen 5; on Zen 1 and on Zen 3 and 4 the address
/// units, which take 2 and 3 loads and stores together. Stores (1 a cycle up to Skylake and Zen 2,
/// 2 later, if consecutive ones hit the same line) are half as many as loads and not the limit.
/// Loads that follow each other read from one 128-byte stretch, so that they do not compete for
/// banks of AMD's cache. Nothing depends on a load, and the registers that are loaded are renamed.
/// A turn is 48 of these and an add and a fused compare-and-branch, 4% of it.
pub fn load_store(turns: u64, scratch: &mut Scratch) -> u64 {
    let (a, b): (u64, u64);
    // SAFETY: offsets 0 to 127 of `loaded` are read and of `stored` are written, both 2048 bytes
    // long; `scratch` is borrowed mutably, so there is no other reference. No stack is touched.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add {turn}, 1",
            ".irp at, 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120",
            r"mov {a}, qword ptr [{from} + \at]",
            r"mov {b}, qword ptr [{from} + 120 - \at]",
            r"mov qword ptr [{to} + \at], {turn}",
            ".endr",
            "cmp {turn}, {turns}",
            "jne 2b",
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
