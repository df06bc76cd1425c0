//! Requests, whole and broken.
//!
//! Source: \[MS-TDS\] 2.2.6.1, 2.2.6.6, 2.2.6.7, 2.2.6.9.

use super::{Request, read};
use crate::fault::Fault;
use crate::packet::{Kind, Message};
use crate::types::Type;
use crate::value::Value;

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];

fn parsed(kind: Kind, payload: &[u8]) -> Result<Request, Fault> {
    read(&Message { kind, reset: false, payload: payload.to_vec() }, 7)
}

fn with_headers(bytes: &[u8]) -> Vec<u8> {
    [&HEADERS[..], bytes].concat()
}

/// `sp_executesql` with a statement and a number.
fn call() -> Vec<u8> {
    let mut bytes = with_headers(&[0xff, 0xff, 10, 0, 0, 0]);
    bytes.extend([0, 0, 0xe7, 8, 0, 0, 0, 0, 0, 0, 2, 0, b'X', 0]);
    bytes.extend([2, b'@', 0, b'p', 0, 1, 0x26, 4, 4, 5, 0, 0, 0]);
    bytes
}

/// A column that may be null and one that may not, and three rows.
fn rows() -> Vec<u8> {
    let mut bytes = vec![0x81, 2, 0];
    bytes.extend([0, 0, 0, 0, 9, 0, 0x26, 4, 1, b'a', 0]);
    bytes.extend([0, 0, 0, 0, 8, 0, 0x38, 1, b'b', 0]);
    bytes.extend([0xd1, 4, 1, 0, 0, 0, 2, 0, 0, 0]);
    bytes.extend([0xd2, 1, 3, 0, 0, 0]);
    bytes.extend([0xd1, 0, 4, 0, 0, 0]);
    bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn begin() -> Vec<u8> {
    with_headers(&[5, 0, 2, 2, b'n', 0])
}

#[test]
fn whole_requests_are_read() {
    let Request::Rpc(rpc) = parsed(Kind::Rpc, &call()).unwrap() else { panic!("not a call") };
    assert_eq!((rpc.procedure.as_str(), rpc.statement()), ("sp_executesql", Some("X")));
    let parameter = rpc.parameter("@P", 9).unwrap();
    assert_eq!((parameter.kind, &parameter.value, parameter.output), (Type::Int, &Value::Int(5), true));
    let Request::Bulk(bulk) = parsed(Kind::Bulk, &rows()).unwrap() else { panic!("no rows") };
    let int = Value::Int;
    assert!(bulk.done);
    assert_eq!(bulk.rows, [[int(1), int(2)], [Value::Null, int(3)], [Value::Null, int(4)]]);
    assert!(matches!(parsed(Kind::Transaction, &begin()), Ok(Request::Transaction(_))));
    assert!(
        matches!(parsed(Kind::Batch, &with_headers(b"a\0b\0")), Ok(Request::Batch { sql }) if sql == "ab")
    );
    assert!(matches!(parsed(Kind::Attention, &[]), Ok(Request::Attention)));
}

#[test]
fn no_part_of_a_request_is_read() {
    for (kind, whole) in [(Kind::Rpc, call()), (Kind::Bulk, rows()), (Kind::Transaction, begin())] {
        // A call may end after each of its parameters, a bulk load after its columns and after each row.
        let ends: &[usize] = match kind {
            Kind::Rpc => &[28, 42],
            Kind::Bulk => &[24, 34, 40, 46],
            _ => &[],
        };
        for length in (0..whole.len()).filter(|length| !ends.contains(length)) {
            assert!(parsed(kind, &whole[..length]).is_err(), "{length} bytes of {kind:?}");
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(parsed(kind, &longer).is_err(), "a byte more of {kind:?}");
    }
    let Request::Bulk(bulk) = parsed(Kind::Bulk, &rows()[..40]).unwrap() else { panic!("no rows") };
    assert!(!bulk.done && bulk.rows.len() == 2);
    assert!(parsed(Kind::Batch, &with_headers(b"a")).is_err());
    assert!(parsed(Kind::Batch, &with_headers(&[0, 0xd8])).is_err());
    assert!(parsed(Kind::Attention, &[0]).is_err());
    for kind in [Kind::Login, Kind::Prelogin, Kind::Response] {
        assert!(parsed(kind, &[]).is_err());
    }
}

#[test]
fn changed_bytes_never_panic() {
    for (kind, whole) in [(Kind::Rpc, call()), (Kind::Bulk, rows()), (Kind::Transaction, begin())] {
        for place in 0..whole.len() {
            for byte in 0..=255 {
                let mut changed = whole.clone();
                changed[place] = byte;
                let _ = parsed(kind, &changed);
            }
        }
    }
}

#[test]
fn tokens_flags_and_numbers_that_are_not_known_are_refused() {
    let refused = |kind: Kind, whole: &[u8], place: usize, byte: u8| {
        let mut changed = whole.to_vec();
        changed[place] = byte;
        assert!(parsed(kind, &changed).is_err(), "byte {place} of {kind:?}");
    };
    // Procedure, options, status of a parameter, type of a parameter.
    for (place, byte) in [(24, 16), (24, 0), (26, 2), (27, 1), (29, 8), (30, 0x62), (42, 0xff)] {
        refused(Kind::Rpc, &call(), place, byte);
    }
    // First token, user type, flags, type, token of a row, bits of the bitmap, null where none may be, DONE.
    let places = [(0, 0xd1), (3, 1), (7, 0x80), (8, 0x20), (7, 13), (9, 0x63), (24, 0xd3), (35, 4), (35, 2)];
    for (place, byte) in places {
        refused(Kind::Bulk, &rows(), place, byte);
    }
    refused(Kind::Bulk, &rows(), 47, 1);
    refused(Kind::Bulk, &rows(), 51, 9);
    // Kind of request, isolation, bytes of the name.
    for (place, byte) in [(22, 6), (22, 99), (24, 6), (25, 1)] {
        refused(Kind::Transaction, &begin(), place, byte);
    }
    assert!(parsed(Kind::Transaction, &with_headers(&[9, 0, 0])).is_err(), "a savepoint without a name");
    assert!(parsed(Kind::Transaction, &with_headers(&[7, 0, 0, 2])).is_err(), "flags of a commit");
}
