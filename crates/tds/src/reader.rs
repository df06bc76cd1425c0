//! Reading the bytes of a message in order, never beyond the end.
//!
//! Source: \[MS-TDS\] 2.2.5.1.1 (numbers are little-endian by default), 2.2.5.2.2 (`B_VARCHAR`,
//! `US_VARCHAR`, `B_VARBYTE`).

use crate::fault::{Fault, malformed};

/// The rest of a message.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte; `what` names the message in faults.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, what }
    }

    /// The position of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether there is nothing left.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next byte, without taking it.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// A fault at the current position.
    pub fn fault(&self, what: impl std::fmt::Display) -> Fault {
        malformed(format!("{}, byte {}: {what}", self.what, self.at))
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..count) else {
            return Err(self.fault(format!("{count} bytes must follow, and {} do", rest.len())));
        };
        self.at += count;
        Ok(taken)
    }

    /// The next bytes as an array.
    pub fn array<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Fault> {
        let taken = self.take(COUNT)?;
        <[u8; COUNT]>::try_from(taken).map_err(|_| self.fault("too few bytes"))
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Two bytes, big-endian.
    pub fn u16_be(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A little-endian number of up to eight bytes.
    pub fn number(&mut self, bytes: usize) -> Result<u64, Fault> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    }

    /// A string of this many bytes of UTF-16.
    pub fn utf16(&mut self, bytes: usize) -> Result<String, Fault> {
        let taken = self.take(bytes)?;
        utf16(taken).map_err(|what| self.fault(what))
    }

    /// `B_VARCHAR`: a byte with the number of UTF-16 units, and these.
    pub fn b_varchar(&mut self) -> Result<String, Fault> {
        let units = self.u8()?;
        self.utf16(usize::from(units) * 2)
    }

    /// Checks that nothing is left.
    pub fn finish(&self) -> Result<(), Fault> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self.fault(format!("{} bytes too many", self.remaining()))),
        }
    }
}

/// Text of UTF-16, little-endian.
pub fn utf16(bytes: &[u8]) -> Result<String, String> {
    if !bytes.len().is_multiple_of(2) {
        return Err(format!("UTF-16 of {} bytes", bytes.len()));
    }
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).map_err(|_| "half a pair of surrogates in UTF-16".to_owned())
}
