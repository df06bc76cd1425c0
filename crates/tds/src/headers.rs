//! `ALL_HEADERS`, before a batch, a call and a transaction manager request.
//!
//! Source: \[MS-TDS\] 2.2.5.3 (the rule), 2.2.5.3.2 (transaction descriptor), 2.2.5.3.3 (trace activity).

use crate::fault::{Fault, unknown};
use crate::reader::Reader;

const NOTIFICATION: u16 = 1;
const TRANSACTION: u16 = 2;
const TRACE: u16 = 3;

/// Reads the headers: `transaction` must be the open one (0 for none), with one request outstanding.
pub fn read(reader: &mut Reader<'_>, transaction: u64) -> Result<(), Fault> {
    let start = reader.at();
    let end = start + usize::try_from(reader.u32()?).unwrap_or(usize::MAX - start);
    let mut descriptor = None;
    while reader.at() < end {
        let header = reader.at();
        let length = reader.u32()?;
        match (reader.u16()?, length) {
            (TRANSACTION, 18) if descriptor.is_none() => descriptor = Some((reader.u64()?, reader.u32()?)),
            (TRACE, 26) => {
                reader.take(20)?;
            }
            (NOTIFICATION, _) => return Err(unknown("query notifications")),
            (kind @ (TRANSACTION | TRACE), length) => {
                return Err(reader.fault(format!("a header of type {kind} with {length} bytes at {header}")));
            }
            (kind, _) => return Err(unknown(format!("headers of type {kind}"))),
        }
    }
    if reader.at() != end {
        return Err(reader.fault(format!("headers that should end at {end}")));
    }
    match descriptor {
        Some((open, 1)) if open == transaction => Ok(()),
        Some((open, 1)) => Err(reader.fault(format!("transaction {open:#x} where {transaction:#x} is open"))),
        Some((_, count)) => Err(reader.fault(format!("{count} requests outstanding, without MARS"))),
        None => Err(reader.fault("headers without a transaction descriptor")),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::reader::Reader;

    const GOOD: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];

    fn read_all(bytes: &[u8]) -> Result<(), crate::fault::Fault> {
        read(&mut Reader::new("test", bytes), 7)
    }

    #[test]
    fn one_header_with_the_open_transaction() {
        assert!(read_all(&GOOD).is_ok());
        for length in 0..GOOD.len() {
            assert!(read_all(&GOOD[..length]).is_err(), "{length} bytes");
        }
        for place in 0..GOOD.len() {
            let mut bytes = GOOD;
            bytes[place] ^= 0x40;
            assert!(read_all(&bytes).is_err(), "byte {place}");
        }
    }
}
