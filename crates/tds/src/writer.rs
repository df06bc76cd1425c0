//! Writing the bytes of an answer.
//!
//! Source: \[MS-TDS\] 2.2.5.1.1 (numbers are little-endian), 2.2.5.2.2 (`B_VARCHAR`, `US_VARCHAR`).

use crate::fault::{Fault, script};

/// UTF-16 of a string, little-endian.
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Adds a `B_VARCHAR`: a byte with the number of UTF-16 units, and these.
pub fn b_varchar(out: &mut Vec<u8>, text: &str) -> Result<(), Fault> {
    let units = utf16(text);
    let count = u8::try_from(units.len() / 2).map_err(|_| script(format!("a name is too long: {text}")))?;
    out.push(count);
    out.extend(units);
    Ok(())
}

/// Adds a `US_VARCHAR`: two bytes with the number of UTF-16 units, and these.
pub fn us_varchar(out: &mut Vec<u8>, text: &str) -> Result<(), Fault> {
    let units = utf16(text);
    let count = u16::try_from(units.len() / 2).map_err(|_| script("a message has more than 65535 units"))?;
    out.extend(count.to_le_bytes());
    out.extend(units);
    Ok(())
}

/// Adds a token with its two bytes of length, and the body.
pub fn token(out: &mut Vec<u8>, token: u8, body: &[u8]) -> Result<(), Fault> {
    let length = u16::try_from(body.len()).map_err(|_| script("a token has more than 65535 bytes"))?;
    out.push(token);
    out.extend(length.to_le_bytes());
    out.extend(body);
    Ok(())
}
