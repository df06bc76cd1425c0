//! Writing values into rows and output parameters.
//!
//! Source: \[MS-TDS\] 2.2.5.2.2 and 2.2.5.2.3 (lengths before values, values in chunks), 2.2.5.5.1 (forms of the
//! system types).

use crate::fault::{Fault, script};
use crate::read_value::turn_guid;
use crate::text;
use crate::type_info::{TypeInfo, decimal_bytes, time_bytes};
use crate::types::{Length, Type};
use crate::value::{DAY_NANOSECONDS, DAYS_TO_1900, Value};
use crate::writer::utf16;

/// Largest chunk, bytes: longer than a packet, so that chunks and packets do not end together.
const CHUNK: usize = 5000;

/// Adds a value, which must fit its type.
pub fn write(out: &mut Vec<u8>, info: TypeInfo, value: &Value) -> Result<(), Fault> {
    let wrong = || script(format!("{value:?} as {:?}", info.kind));
    if *value == Value::Null {
        return match info.fixed {
            true => Err(script(format!("null as {:?} that is never null", info.kind))),
            false => {
                write_null(out, info.kind);
                Ok(())
            }
        };
    }
    if let Some(bytes) = short(info.kind, value) {
        if !info.fixed {
            out.push(u8::try_from(bytes.len()).map_err(|_| wrong())?);
        }
        out.extend(bytes);
        return Ok(());
    }
    let (bytes, length) = match (info.kind, value) {
        (Type::NVarChar(length), Value::Text(text)) => (utf16(text), doubled(length)),
        (Type::NChar(limit), Value::Text(text)) => (utf16(text), doubled(Length::Limit(limit))),
        (Type::Xml, Value::Text(text)) => (utf16(text), Length::Max),
        (Type::VarChar(length), Value::Text(text)) => (text::encode(text).map_err(|_| wrong())?, length),
        (Type::Char(limit), Value::Text(text)) => {
            (text::encode(text).map_err(|_| wrong())?, Length::Limit(limit))
        }
        (Type::VarBinary(length), Value::Bytes(bytes)) => (bytes.clone(), length),
        (Type::Binary(limit), Value::Bytes(bytes)) => (bytes.clone(), Length::Limit(limit)),
        _ => return Err(wrong()),
    };
    match (length, u16::try_from(bytes.len())) {
        (Length::Max, _) => write_chunks(out, &bytes),
        (Length::Limit(limit), Ok(length)) if length <= limit => {
            out.extend(length.to_le_bytes());
            out.extend(bytes);
            Ok(())
        }
        _ => Err(wrong()),
    }
}

/// A length in bytes from one in characters.
fn doubled(length: Length) -> Length {
    match length {
        Length::Limit(limit) => Length::Limit(limit.saturating_mul(2)),
        Length::Max => Length::Max,
    }
}

fn write_null(out: &mut Vec<u8>, kind: Type) {
    match kind {
        Type::Null => {}
        Type::NVarChar(Length::Max)
        | Type::VarChar(Length::Max)
        | Type::VarBinary(Length::Max)
        | Type::Xml => {
            out.extend(u64::MAX.to_le_bytes());
        }
        Type::NVarChar(_)
        | Type::NChar(_)
        | Type::VarChar(_)
        | Type::Char(_)
        | Type::VarBinary(_)
        | Type::Binary(_) => out.extend(u16::MAX.to_le_bytes()),
        _ => out.push(0),
    }
}

fn write_chunks(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Fault> {
    let whole = u64::try_from(bytes.len()).map_err(|_| script("a value that is too long"))?;
    out.extend(whole.to_le_bytes());
    for chunk in bytes.chunks(CHUNK) {
        let length = u32::try_from(chunk.len()).map_err(|_| script("a chunk that is too long"))?;
        out.extend(length.to_le_bytes());
        out.extend(chunk);
    }
    out.extend([0; 4]);
    Ok(())
}

/// The bytes of a value of at most 17 bytes; `None` for other types and for values that do not fit.
fn short(kind: Type, value: &Value) -> Option<Vec<u8>> {
    match (kind, value) {
        (Type::TinyInt, Value::Int(number)) => Some(vec![u8::try_from(*number).ok()?]),
        (Type::SmallInt, Value::Int(number)) => Some(i16::try_from(*number).ok()?.to_le_bytes().to_vec()),
        (Type::Int, Value::Int(number)) => Some(i32::try_from(*number).ok()?.to_le_bytes().to_vec()),
        (Type::BigInt, Value::Int(number)) => Some(number.to_le_bytes().to_vec()),
        (Type::Bit, Value::Bool(bit)) => Some(vec![u8::from(*bit)]),
        (Type::Real, Value::Float(number)) => Some(real(*number)?.to_le_bytes().to_vec()),
        (Type::Float, Value::Float(number)) => Some(number.to_le_bytes().to_vec()),
        (Type::Decimal { precision, scale }, Value::Decimal { unscaled, scale: digits })
            if scale == *digits =>
        {
            decimal(*unscaled, precision)
        }
        (Type::Date, Value::Date(days)) => Some(day(*days)),
        (Type::Time(scale), Value::Time(nanoseconds)) => time(*nanoseconds, scale),
        (Type::DateTime2(scale), Value::DateTime { days, nanoseconds }) => {
            Some([time(*nanoseconds, scale)?, day(*days)].concat())
        }
        (Type::DateTimeOffset(scale), Value::DateTimeOffset { days, nanoseconds, minutes }) => {
            Some([time(*nanoseconds, scale)?, day(*days), minutes.to_le_bytes().to_vec()].concat())
        }
        (Type::DateTime, Value::DateTime { days, nanoseconds }) => {
            let days = i32::try_from(i64::from(*days) - i64::from(DAYS_TO_1900)).ok()?;
            let fragments = u32::try_from((nanoseconds * 3).div_ceil(10_000_000)).ok()?;
            Some([days.to_le_bytes(), fragments.to_le_bytes()].concat())
        }
        (Type::SmallDateTime, Value::DateTime { days, nanoseconds }) => {
            let days = u16::try_from(days.checked_sub(DAYS_TO_1900)?).ok()?;
            let minutes = u16::try_from(nanoseconds / 60_000_000_000).ok()?;
            Some([days.to_le_bytes(), minutes.to_le_bytes()].concat())
        }
        (Type::Guid, Value::Guid(bytes)) => Some(turn_guid(*bytes).to_vec()),
        _ => None,
    }
}

/// A number as `real`, if that is exact.
fn real(number: f64) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "a loss is checked for")]
    let real = number as f32;
    (f64::from(real) == number || number.is_nan()).then_some(real)
}

fn decimal(unscaled: i128, precision: u8) -> Option<Vec<u8>> {
    let magnitude = unscaled.unsigned_abs();
    if precision > 38 || magnitude >= 10u128.pow(u32::from(precision)) {
        return None;
    }
    let mut out = vec![u8::from(unscaled >= 0)];
    let bytes = usize::from(decimal_bytes(precision)) - 1;
    out.extend(magnitude.to_le_bytes().into_iter().take(bytes));
    Some(out)
}

fn day(days: u32) -> Vec<u8> {
    days.to_le_bytes()[..3].to_vec()
}

/// A time of day, cut to this many digits of a second.
fn time(nanoseconds: u64, scale: u8) -> Option<Vec<u8>> {
    if nanoseconds >= DAY_NANOSECONDS || scale > 7 {
        return None;
    }
    let ticks = nanoseconds / 10u64.pow(9 - u32::from(scale));
    Some(ticks.to_le_bytes()[..usize::from(time_bytes(scale))].to_vec())
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
