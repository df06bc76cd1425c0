//! Logins, whole and broken.
//!
//! Source: \[MS-TDS\] 2.2.6.4; the obfuscated letter is from its example in 4.2 (`a` is 0xb3 0xa5).

use super::{FIXED, Login, read};
use crate::fault::Fault;
use crate::prelogin::Asked;

/// A login of `sa` with the password `a`, to the database `db`.
pub fn login() -> Vec<u8> {
    let mut out = vec![0; 36];
    out[4..8].copy_from_slice(&0x7400_0004u32.to_le_bytes());
    out[8..12].copy_from_slice(&4096u32.to_le_bytes());
    let data: [(&[u8], u16); 12] = [
        (b"", 0),
        (b"s\0a\0", 2),
        (&[0xb3, 0xa5], 1),
        (b"", 0),
        (b"", 0),
        (b"", 0),
        (b"", 0),
        (b"", 0),
        (b"d\0b\0", 2),
        (b"", 0),
        (b"", 0),
        (b"", 0),
    ];
    let mut offset = u16::try_from(FIXED).unwrap();
    for (place, (bytes, count)) in data.iter().enumerate() {
        if place == 9 {
            out.extend([1, 2, 3, 4, 5, 6]);
        }
        out.extend(offset.to_le_bytes());
        out.extend(count.to_le_bytes());
        offset += u16::try_from(bytes.len()).unwrap();
    }
    out.extend([0; 4]);
    out.extend(data.iter().flat_map(|(bytes, _)| *bytes));
    with_length(out)
}

fn with_length(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn parsed(bytes: &[u8]) -> Result<Login, Fault> {
    read(bytes, Asked::Never, false)
}

#[test]
fn a_whole_login_is_read() {
    let login = parsed(&login()).unwrap();
    assert_eq!((login.user.as_str(), login.password.as_str(), login.database.as_str()), ("sa", "a", "db"));
}

#[test]
fn no_part_of_a_login_is_read() {
    let whole = login();
    for length in 0..whole.len() {
        assert!(parsed(&whole[..length]).is_err(), "{length} bytes");
        if length > 3 {
            assert!(parsed(&with_length(whole[..length].to_vec())).is_err(), "{length} bytes that say so");
        }
    }
}

#[test]
fn offsets_outside_and_gaps_are_refused() {
    // Offsets of user, database and extension.
    for place in [40, 68, 56] {
        for offset in [0u16, 93, 0xfff0] {
            let mut bytes = login();
            bytes[place..place + 2].copy_from_slice(&offset.to_le_bytes());
            assert!(parsed(&bytes).is_err() || (place == 56 && offset < 100), "{offset} at {place}");
        }
    }
    let mut longer = login();
    longer.extend([0, 0]);
    assert!(parsed(&with_length(longer)).is_err(), "bytes of no field");
    let mut twice = login();
    twice[68..70].copy_from_slice(&94u16.to_le_bytes());
    assert!(parsed(&twice).is_err(), "two fields at one place");
    let mut long = login();
    long[42..44].copy_from_slice(&129u16.to_le_bytes());
    assert!(parsed(&long).is_err(), "a long user");
}

#[test]
fn flags_versions_and_features_that_are_not_known_are_refused() {
    let with = |place: usize, byte: u8| {
        let mut bytes = login();
        bytes[place] = byte;
        parsed(&bytes)
    };
    assert!(with(4, 5).is_err(), "a version");
    for (place, known) in [(24, 0xf0u8), (25, 0x03), (26, 0x31), (27, 0x0a)] {
        for bit in 0..8 {
            let byte = 1 << bit;
            assert_eq!(with(place, byte).is_ok(), known & byte != 0, "bit {bit} of byte {place}");
        }
    }
    let features = |list: &[u8]| {
        let mut bytes = login();
        let place = u16::try_from(bytes.len()).unwrap();
        bytes[27] = 0x10;
        bytes[56..58].copy_from_slice(&place.to_le_bytes());
        bytes[58..60].copy_from_slice(&4u16.to_le_bytes());
        bytes.extend((u32::from(place) + 4).to_le_bytes());
        bytes.extend(list);
        parsed(&with_length(bytes)).map(|login| login.features)
    };
    assert_eq!(features(&[0x0a, 1, 0, 0, 0, 1, 0xff]).unwrap(), [(0x0a, vec![1])]);
    assert!(features(&[0x0a, 9, 0, 0, 0, 1, 0xff]).is_err(), "a length outside");
    assert!(features(&[0x0a, 1, 0, 0, 0, 1]).is_err(), "no end");
    assert!(features(&[0x0a, 1, 0, 0, 0, 1, 0xff, 0]).is_err(), "bytes after the end");
    assert!(features(&[0x33, 0, 0, 0, 0, 0xff]).is_err(), "an unknown feature");
    assert!(features(&[0x02, 0, 0, 0, 0, 0xff]).is_err(), "federated authentication");
}
