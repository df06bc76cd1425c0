//! Enough of ELF to see whether a program is static. Source: elf(5).

/// The header of a 64-bit little-endian ELF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elf {
    /// `e_machine`.
    pub machine: u16,
    /// Whether it asks for a dynamic loader (`PT_INTERP`); a static program does not.
    pub has_loader: bool,
}

/// `EM_X86_64`.
pub const X86_64: u16 = 62;
/// `EM_AARCH64`.
pub const AARCH64: u16 = 183;

const PT_INTERP: u32 = 3;

/// Reads the header; the error names the difference.
pub fn read(file: &[u8]) -> Result<Elf, String> {
    if file.get(..4) != Some(b"\x7fELF") {
        return Err("not an ELF file".to_owned());
    }
    if file.get(4..6) != Some(&[2, 1]) {
        return Err("not a 64-bit little-endian ELF file".to_owned());
    }
    let headers_at = number::<8>(file, 0x20).map(u64::from_le_bytes)?;
    let header_size = u64::from(number::<2>(file, 0x36).map(u16::from_le_bytes)?);
    let headers = u64::from(number::<2>(file, 0x38).map(u16::from_le_bytes)?);
    let mut has_loader = false;
    for index in 0..headers {
        let at = headers_at.checked_add(index * header_size).ok_or_else(cut_short)?;
        has_loader |= number::<4>(file, at).map(u32::from_le_bytes)? == PT_INTERP;
    }
    Ok(Elf { machine: number::<2>(file, 0x12).map(u16::from_le_bytes)?, has_loader })
}

fn number<const N: usize>(file: &[u8], at: u64) -> Result<[u8; N], String> {
    let tail = usize::try_from(at).ok().and_then(|at| file.get(at..)).ok_or_else(cut_short)?;
    tail.first_chunk::<N>().copied().ok_or_else(cut_short)
}

fn cut_short() -> String {
    "the ELF file is truncated".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header followed by program headers of these types.
    fn elf(types: &[u32]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56 * types.len()];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x12] = 62;
        file[0x20] = 64;
        file[0x36] = 56;
        file[0x38] = types.len() as u8;
        for (index, kind) in types.iter().enumerate() {
            file[64 + 56 * index..][..4].copy_from_slice(&kind.to_le_bytes());
        }
        file
    }

    #[test]
    fn a_loader_makes_a_program_dynamic() {
        assert_eq!(read(&elf(&[1, 6, 2])), Ok(Elf { machine: X86_64, has_loader: false }));
        assert_eq!(read(&elf(&[6, PT_INTERP, 1])), Ok(Elf { machine: X86_64, has_loader: true }));
    }

    #[test]
    fn other_files_are_distinguished() {
        assert_eq!(read(b"#!/bin/sh"), Err("not an ELF file".to_owned()));
        assert_eq!(read(b"\x7fELF\x01\x01"), Err("not a 64-bit little-endian ELF file".to_owned()));
        assert_eq!(read(&elf(&[1, 1])[..100]), Err(cut_short()));
        let mut far = elf(&[1]);
        far[0x20..0x28].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&far), Err(cut_short()));
    }
}
