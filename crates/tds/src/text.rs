//! Text of `varchar` in the code page 1252, which this server's collation uses.
//!
//! Source: \[MS-TDS\] 2.2.5.1.2 (collations and code pages); the table of windows-1252 as the Unicode Consortium
//! publishes it (MAPPINGS/VENDORS/MICSFT/WINDOWS/CP1252.TXT).

/// `SQL_Latin1_General_CP1_CI_AS`: locale 0x0409, flags 0xD0, sort order 52.
pub const COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];

/// Characters of the bytes from 0x80 to 0x9f; `None` if the page has none.
const UPPER: [Option<char>; 32] = [
    Some('€'),
    None,
    Some('‚'),
    Some('ƒ'),
    Some('„'),
    Some('…'),
    Some('†'),
    Some('‡'),
    Some('ˆ'),
    Some('‰'),
    Some('Š'),
    Some('‹'),
    Some('Œ'),
    None,
    Some('Ž'),
    None,
    None,
    Some('‘'),
    Some('’'),
    Some('“'),
    Some('”'),
    Some('•'),
    Some('–'),
    Some('—'),
    Some('˜'),
    Some('™'),
    Some('š'),
    Some('›'),
    Some('œ'),
    None,
    Some('ž'),
    Some('Ÿ'),
];

/// Text from bytes; an error is a byte without a character.
pub fn decode(bytes: &[u8]) -> Result<String, u8> {
    bytes.iter().map(|byte| character(*byte).ok_or(*byte)).collect()
}

fn character(byte: u8) -> Option<char> {
    match byte.checked_sub(0x80) {
        Some(place @ 0..32) => UPPER[usize::from(place)],
        _ => Some(char::from(byte)),
    }
}

/// Bytes from text; an error is a character without a byte.
pub fn encode(text: &str) -> Result<Vec<u8>, char> {
    text.chars().map(|wanted| byte(wanted).ok_or(wanted)).collect()
}

fn byte(wanted: char) -> Option<u8> {
    match u8::try_from(u32::from(wanted)) {
        Ok(same @ (0..0x80 | 0xa0..)) => Some(same),
        _ => (0x80..0xa0).find(|byte| character(*byte) == Some(wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn every_byte_of_the_page_comes_back() {
        let missing = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
        for byte in 0..=255 {
            match decode(&[byte]) {
                Ok(text) => assert_eq!(encode(&text), Ok(vec![byte])),
                Err(refused) => assert!(missing.contains(&refused)),
            }
        }
        assert_eq!(encode("日"), Err('日'));
        assert_eq!(encode("\u{81}"), Err('\u{81}'));
    }
}
