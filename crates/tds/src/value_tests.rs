//! Values and types, written and read back, whole and broken.
//!
//! Source: \[MS-TDS\] 2.2.5.5.1, 2.2.5.6.

use super::write;
use crate::fault::Fault;
use crate::reader::Reader;
use crate::type_info::{self, TypeInfo};
use crate::types::{Length, Type};
use crate::value::Value;

/// Types with values at their ends.
fn samples() -> Vec<(Type, Vec<Value>)> {
    let ints = |ends: [i64; 2]| ends.map(Value::Int).to_vec();
    let digits = 10i128.pow(38) - 1;
    let noon = |day| Value::DateTime { days: day, nanoseconds: 43_200_000_000_000 };
    vec![
        (Type::TinyInt, ints([0, 255])),
        (Type::SmallInt, ints([-32_768, 32_767])),
        (Type::Int, ints([i64::from(i32::MIN), i64::from(i32::MAX)])),
        (Type::BigInt, ints([i64::MIN, i64::MAX])),
        (Type::Bit, vec![Value::Bool(false), Value::Bool(true)]),
        (Type::Real, vec![Value::Float(-0.5), Value::Float(f64::from(f32::MAX))]),
        (Type::Float, vec![Value::Float(0.1), Value::Float(f64::MIN_POSITIVE)]),
        (Type::Decimal { precision: 9, scale: 2 }, vec![Value::Decimal { unscaled: -999_999_999, scale: 2 }]),
        (Type::Decimal { precision: 38, scale: 0 }, vec![Value::Decimal { unscaled: digits, scale: 0 }]),
        (Type::NVarChar(Length::Limit(4)), vec![Value::text(""), Value::text("ä日𝄞")]),
        (Type::NVarChar(Length::Max), vec![Value::text(""), Value::text(&"plan ".repeat(3000))]),
        (Type::NChar(2), vec![Value::text("ab")]),
        (Type::VarChar(Length::Limit(8000)), vec![Value::text("€ä")]),
        (Type::VarChar(Length::Max), vec![Value::text("x")]),
        (Type::Char(3), vec![Value::text("abc")]),
        (Type::VarBinary(Length::Limit(3)), vec![Value::Bytes(vec![]), Value::Bytes(vec![0, 255, 1])]),
        (Type::VarBinary(Length::Max), vec![Value::Bytes(vec![7; 20_000])]),
        (Type::Binary(2), vec![Value::Bytes(vec![1, 2])]),
        (Type::Date, vec![Value::date(1, 1, 1), Value::date(9999, 12, 31)]),
        (Type::Time(0), vec![Value::Time(86_399_000_000_000)]),
        (Type::Time(7), vec![Value::Time(86_399_999_999_900)]),
        (Type::DateTime2(3), vec![Value::date_time(2026, 2, 3, 4_005_000_000)]),
        (Type::DateTimeOffset(7), vec![Value::DateTimeOffset { days: 1, nanoseconds: 100, minutes: -840 }]),
        (Type::DateTime, vec![noon(600_000), noon(700_000)]),
        (Type::SmallDateTime, vec![noon(700_000)]),
        (Type::Guid, vec![Value::Guid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])]),
        (Type::Xml, vec![Value::text("<a/>")]),
    ]
}

/// The bytes of a type and a value.
fn written(info: TypeInfo, value: &Value) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    type_info::write(&mut out, info)?;
    write(&mut out, info, value)?;
    Ok(out)
}

fn read(bytes: &[u8]) -> Result<(TypeInfo, Value), Fault> {
    let mut reader = Reader::new("test", bytes);
    let info = type_info::read(&mut reader)?;
    let value = crate::read_value::read(&mut reader, info)?;
    reader.finish()?;
    Ok((info, value))
}

#[test]
fn every_type_comes_back_and_no_part_of_a_value_does() {
    for (kind, values) in samples() {
        for nullable in [true, false] {
            let info = TypeInfo::new(kind, nullable);
            for value in &values {
                let bytes = written(info, value).unwrap();
                assert_eq!(read(&bytes).unwrap(), (info, value.clone()));
                for length in 0..bytes.len().min(100) {
                    assert!(read(&bytes[..length]).is_err(), "{length} bytes of {kind:?}");
                }
            }
            let null = written(info, &Value::Null);
            assert_eq!(null.is_err(), info.fixed, "{kind:?}");
            if let Ok(bytes) = null {
                assert_eq!(read(&bytes).unwrap(), (info, Value::Null));
            }
        }
    }
}

#[test]
fn changed_bytes_never_panic() {
    for (kind, values) in samples() {
        let bytes = written(TypeInfo::new(kind, true), &values[0]).unwrap();
        for place in 0..bytes.len().min(60) {
            for byte in 0..=255 {
                let mut changed = bytes.clone();
                changed[place] = byte;
                let _ = read(&changed);
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = [
        (Type::TinyInt, Value::Int(-1)),
        (Type::Int, Value::Int(1 << 31)),
        (Type::Int, Value::text("1")),
        (Type::Real, Value::Float(0.1)),
        (Type::NVarChar(Length::Limit(1)), Value::text("ab")),
        (Type::VarChar(Length::Max), Value::text("日")),
        (Type::Decimal { precision: 2, scale: 0 }, Value::Decimal { unscaled: 100, scale: 0 }),
        (Type::Decimal { precision: 2, scale: 0 }, Value::Decimal { unscaled: 10, scale: 1 }),
        (Type::NVarChar(Length::Limit(4001)), Value::text("")),
    ];
    for (kind, value) in refused {
        let fault = written(TypeInfo::new(kind, true), &value);
        assert!(matches!(fault, Err(Fault::Script(_))), "{value:?} as {kind:?}");
    }
}

#[test]
fn lengths_and_types_that_are_not_known_are_refused() {
    let refused: [&[u8]; 14] = [
        &[0x26, 3, 0],
        &[0x26, 4, 2, 1, 1],
        &[0x68, 1, 1, 2],
        &[0x6a, 5, 10, 0, 0],
        &[0x6a, 5, 9, 10, 0],
        &[0x6a, 5, 1, 0, 5, 1, 10, 0, 0, 0],
        &[0x6a, 5, 1, 0, 5, 2, 1, 0, 0, 0],
        &[0x29, 8, 0],
        &[0x28, 3, 0xff, 0xff, 0xff],
        &[0xe7, 3, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0xe7, 2, 0, 0, 0, 0, 0, 0, 4, 0, 65, 0, 65, 0],
        &[0xe7, 2, 0, 9, 4, 0, 0, 0, 0, 0],
        &[0xa5, 0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0],
        &[0x62, 0],
    ];
    for bytes in refused {
        assert!(read(bytes).is_err(), "{bytes:02x?}");
    }
    for byte in 0..=255u8 {
        let _ = read(&[byte]);
        let _ = read(&[byte, 0xff, 0xff, 0, 0, 0, 0, 0, 0xff, 0xff]);
    }
}
