//! `PRELOGIN`: the negotiation before the login, with TLS.
//!
//! Source: \[MS-TDS\] 2.2.6.5 (options, and the table of resulting encryption).

use crate::fault::{Fault, malformed, unknown};
use crate::reader::Reader;

/// The server's TLS policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// The server has no TLS (`ENCRYPT_NOT_SUP`): clients that require it end the connection.
    Refused,
    /// The client decides (`ENCRYPT_OFF`): nothing is encrypted for a client without TLS, only the login for one
    /// that sends `ENCRYPT_OFF` too, everything for one that sends `ENCRYPT_ON`.
    #[default]
    Allowed,
    /// Everything is encrypted (`ENCRYPT_ON`): a client without TLS is refused.
    Required,
    /// TDS 8.0: TLS comes before the first message, and encrypts everything.
    Strict,
}

/// The client's TLS request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Only for the login: `ENCRYPT_OFF`.
    LoginOnly,
    /// For everything: `ENCRYPT_ON`.
    On,
    /// Not at all: `ENCRYPT_NOT_SUP`.
    Never,
    /// For everything, or not at all: `ENCRYPT_REQ`.
    Required,
    /// TDS 8.0: TLS is established already.
    Strict,
}

/// How much of a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nothing.
    Nothing,
    /// The message `LOGIN7`, and nothing after it.
    Login,
    /// Everything from the login on.
    Everything,
    /// Client and server do not agree: the connection is closed after the answer.
    Disagreed,
}

/// A client's `PRELOGIN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prelogin {
    /// Its TLS request.
    pub asked: Asked,
    /// The instance that it requests, empty for none.
    pub instance: String,
}

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD: u8 = 3;
const MARS: u8 = 4;
const TRACE: u8 = 5;
const FEDERATED: u8 = 6;
const NONCE: u8 = 7;
const END: u8 = 0xff;

/// Parses a client's `PRELOGIN`, to the last byte.
pub fn read(payload: &[u8]) -> Result<Prelogin, Fault> {
    let mut reader = Reader::new("PRELOGIN", payload);
    let mut listed: Vec<(u8, usize, usize)> = Vec::new();
    loop {
        let option = reader.u8()?;
        if option == END {
            break;
        }
        if listed.iter().any(|(known, ..)| *known == option) {
            return Err(reader.fault(format!("option {option} twice")));
        }
        listed.push((option, usize::from(reader.u16_be()?), usize::from(reader.u16_be()?)));
    }
    if listed.first().is_none_or(|(option, ..)| *option != VERSION) {
        return Err(reader.fault("VERSION is not the first option"));
    }
    let mut asked = None;
    let mut instance = String::new();
    for (option, offset, length) in &listed {
        if *offset != reader.at() {
            return Err(reader.fault(format!("option {option} at {offset}")));
        }
        let value = reader.take(*length)?;
        match (option, value) {
            (&ENCRYPTION, [byte]) => asked = Some(encryption(*byte)?),
            (&INSTANCE, [name @ .., 0]) if !name.contains(&0) => {
                instance =
                    String::from_utf8(name.to_vec()).map_err(|_| reader.fault("INSTOPT is not text"))?;
            }
            (&VERSION, [_, _, _, _, _, _]) | (&THREAD, [] | [_, _, _, _]) | (&MARS, [0 | 1]) => {}
            (&TRACE, trace) if trace.len() == 36 => {}
            (&FEDERATED, [1]) => return Err(unknown("federated authentication")),
            (&FEDERATED, [0]) => {}
            (&NONCE, nonce) if nonce.len() == 32 => {}
            (VERSION..=NONCE, value) => {
                return Err(reader.fault(format!("option {option} with {value:02x?}")));
            }
            _ => return Err(unknown(format!("option {option} of PRELOGIN"))),
        }
    }
    reader.finish()?;
    let asked = asked.ok_or_else(|| malformed("PRELOGIN without ENCRYPTION"))?;
    Ok(Prelogin { asked, instance })
}

fn encryption(byte: u8) -> Result<Asked, Fault> {
    match byte {
        0 => Ok(Asked::LoginOnly),
        1 => Ok(Asked::On),
        2 => Ok(Asked::Never),
        3 => Ok(Asked::Required),
        4 => Ok(Asked::Strict),
        _ => Err(unknown(format!("ENCRYPTION 0x{byte:02x}"))),
    }
}

/// The result of both sides' policies: the byte of the answer, and how much is encrypted.
pub fn agree(server: Encryption, client: Asked) -> (u8, Reach) {
    const OFF: u8 = 0;
    const ON: u8 = 1;
    const NOT_SUPPORTED: u8 = 2;
    const REQUIRED: u8 = 3;
    match (server, client) {
        (Encryption::Strict, _) => (ON, Reach::Everything),
        (_, Asked::Strict) => (NOT_SUPPORTED, Reach::Disagreed),
        (Encryption::Refused, Asked::On | Asked::Required) => (NOT_SUPPORTED, Reach::Disagreed),
        (Encryption::Refused, _) => (NOT_SUPPORTED, Reach::Nothing),
        (Encryption::Allowed, Asked::LoginOnly) => (OFF, Reach::Login),
        (Encryption::Allowed, Asked::Never) => (NOT_SUPPORTED, Reach::Nothing),
        (Encryption::Allowed, _) => (ON, Reach::Everything),
        (Encryption::Required, Asked::Never) => (REQUIRED, Reach::Disagreed),
        (Encryption::Required, Asked::LoginOnly) => (REQUIRED, Reach::Everything),
        (Encryption::Required, _) => (ON, Reach::Everything),
    }
}

/// The server's `PRELOGIN`: its version, the encryption, no other instance, no MARS.
pub fn answer(encryption: u8) -> Vec<u8> {
    let values: [(u8, &[u8]); 5] = [
        (VERSION, &[16, 0, 0x03, 0xe8, 0, 0]),
        (ENCRYPTION, &[encryption]),
        (INSTANCE, &[0]),
        (THREAD, &[]),
        (MARS, &[0]),
    ];
    let mut offset = u16::try_from(values.len() * 5 + 1).unwrap_or_default();
    let mut out = Vec::new();
    for (option, value) in values {
        let length = u16::try_from(value.len()).unwrap_or_default();
        out.push(option);
        out.extend(offset.to_be_bytes());
        out.extend(length.to_be_bytes());
        offset += length;
    }
    out.push(END);
    out.extend(values.iter().flat_map(|(_, value)| *value));
    out
}

#[cfg(test)]
mod tests {
    use super::{Asked, Encryption, Reach, agree, answer, read};

    const GOOD: [u8; 21] = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 255, 1, 2, 3, 4, 5, 6, 2, 0, 0, 0];

    fn good() -> Vec<u8> {
        GOOD[..18].to_vec()
    }

    #[test]
    fn a_whole_message_is_read_and_no_part_of_one() {
        assert_eq!(read(&good()).unwrap().asked, Asked::Never);
        for length in 0..good().len() {
            assert!(read(&good()[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&GOOD[..19]).is_err());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let with = |place: usize, byte: u8| {
            let mut bytes = good();
            bytes[place] = byte;
            read(&bytes)
        };
        assert!(with(0, 1).is_err(), "VERSION is not first");
        assert!(with(5, 9).is_err(), "an unknown option");
        assert!(with(5, 0).is_err(), "an option twice");
        assert!(with(7, 16).is_err(), "an offset outside");
        assert!(with(9, 2).is_err(), "a length outside");
        assert!(with(17, 5).is_err(), "an unknown encryption");
        assert!(read(&answer(2)).is_ok(), "what the server says has the same form");
    }

    #[test]
    fn the_table_of_the_specification() {
        assert_eq!(agree(Encryption::Refused, Asked::LoginOnly), (2, Reach::Nothing));
        assert_eq!(agree(Encryption::Refused, Asked::On), (2, Reach::Disagreed));
        assert_eq!(agree(Encryption::Allowed, Asked::LoginOnly), (0, Reach::Login));
        assert_eq!(agree(Encryption::Allowed, Asked::On), (1, Reach::Everything));
        assert_eq!(agree(Encryption::Allowed, Asked::Never), (2, Reach::Nothing));
        assert_eq!(agree(Encryption::Required, Asked::LoginOnly), (3, Reach::Everything));
        assert_eq!(agree(Encryption::Required, Asked::Never), (3, Reach::Disagreed));
    }
}
