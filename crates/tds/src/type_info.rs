//! `TYPE_INFO`: the encoding of a type, before its values.
//!
//! Source: \[MS-TDS\] 2.2.5.6 (`TYPE_INFO`), 2.2.5.4.1 to 2.2.5.4.3 (type codes), 2.2.5.5.1.5 (size of
//! decimals).

use crate::fault::{Fault, script, unknown};
use crate::reader::Reader;
use crate::text::COLLATION;
use crate::types::{Length, Type};

/// Type codes.
pub mod bytes {
    /// A parameter without a type.
    pub const NULL: u8 = 0x1f;
    /// `tinyint`, never null.
    pub const INT1: u8 = 0x30;
    /// `bit`, never null.
    pub const BIT: u8 = 0x32;
    /// `smallint`, never null.
    pub const INT2: u8 = 0x34;
    /// `int`, never null.
    pub const INT4: u8 = 0x38;
    /// `smalldatetime`, never null.
    pub const DATETIM4: u8 = 0x3a;
    /// `real`, never null.
    pub const FLT4: u8 = 0x3b;
    /// `datetime`, never null.
    pub const DATETIME: u8 = 0x3d;
    /// `float`, never null.
    pub const FLT8: u8 = 0x3e;
    /// `bigint`, never null.
    pub const INT8: u8 = 0x7f;
    /// `uniqueidentifier`.
    pub const GUID: u8 = 0x24;
    /// Integers.
    pub const INTN: u8 = 0x26;
    /// `date`.
    pub const DATEN: u8 = 0x28;
    /// `time`.
    pub const TIMEN: u8 = 0x29;
    /// `datetime2`.
    pub const DATETIME2N: u8 = 0x2a;
    /// `datetimeoffset`.
    pub const DATETIMEOFFSETN: u8 = 0x2b;
    /// `bit`.
    pub const BITN: u8 = 0x68;
    /// `decimal`.
    pub const DECIMALN: u8 = 0x6a;
    /// `numeric`.
    pub const NUMERICN: u8 = 0x6c;
    /// `real` and `float`.
    pub const FLTN: u8 = 0x6d;
    /// `datetime` and `smalldatetime`.
    pub const DATETIMN: u8 = 0x6f;
    /// `varbinary`.
    pub const BIGVARBINARY: u8 = 0xa5;
    /// `varchar`.
    pub const BIGVARCHAR: u8 = 0xa7;
    /// `binary`.
    pub const BIGBINARY: u8 = 0xad;
    /// `char`.
    pub const BIGCHAR: u8 = 0xaf;
    /// `nvarchar`.
    pub const NVARCHAR: u8 = 0xe7;
    /// `nchar`.
    pub const NCHAR: u8 = 0xef;
    /// `xml`.
    pub const XML: u8 = 0xf1;
}

/// A type, and whether its values have no length before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeInfo {
    /// The type.
    pub kind: Type,
    /// Whether values are never null, and so have no length.
    pub fixed: bool,
}

impl TypeInfo {
    /// For a column or parameter: numbers, bits and times that are never null have the fixed form.
    pub fn new(kind: Type, nullable: bool) -> Self {
        Self { kind, fixed: !nullable && fixed_byte(kind).is_some() }
    }
}

/// The code of the never-null form, for types that have one.
fn fixed_byte(kind: Type) -> Option<u8> {
    match kind {
        Type::TinyInt => Some(bytes::INT1),
        Type::SmallInt => Some(bytes::INT2),
        Type::Int => Some(bytes::INT4),
        Type::BigInt => Some(bytes::INT8),
        Type::Bit => Some(bytes::BIT),
        Type::Real => Some(bytes::FLT4),
        Type::Float => Some(bytes::FLT8),
        Type::DateTime => Some(bytes::DATETIME),
        Type::SmallDateTime => Some(bytes::DATETIM4),
        _ => None,
    }
}

/// Bytes of a decimal's number, with the sign.
pub fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Bytes of a time of day with this many digits of a second.
pub fn time_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

/// Reads a `TYPE_INFO`.
pub fn read(reader: &mut Reader<'_>) -> Result<TypeInfo, Fault> {
    let byte = reader.u8()?;
    let fixed = [
        Type::TinyInt,
        Type::SmallInt,
        Type::Int,
        Type::BigInt,
        Type::Bit,
        Type::Real,
        Type::Float,
        Type::DateTime,
        Type::SmallDateTime,
    ];
    if let Some(kind) = fixed.into_iter().find(|kind| fixed_byte(*kind) == Some(byte)) {
        return Ok(TypeInfo { kind, fixed: true });
    }
    let kind = match byte {
        bytes::NULL => Type::Null,
        bytes::GUID => sized(reader, &[(16, Type::Guid)])?,
        bytes::INTN => {
            sized(reader, &[(1, Type::TinyInt), (2, Type::SmallInt), (4, Type::Int), (8, Type::BigInt)])?
        }
        bytes::BITN => sized(reader, &[(1, Type::Bit)])?,
        bytes::FLTN => sized(reader, &[(4, Type::Real), (8, Type::Float)])?,
        bytes::DATETIMN => sized(reader, &[(4, Type::SmallDateTime), (8, Type::DateTime)])?,
        bytes::DECIMALN | bytes::NUMERICN => decimal(reader)?,
        bytes::DATEN => Type::Date,
        bytes::TIMEN => Type::Time(scale(reader)?),
        bytes::DATETIME2N => Type::DateTime2(scale(reader)?),
        bytes::DATETIMEOFFSETN => Type::DateTimeOffset(scale(reader)?),
        bytes::BIGVARBINARY => Type::VarBinary(length(reader, 1)?),
        bytes::BIGBINARY => Type::Binary(limit(reader, 1)?),
        bytes::BIGVARCHAR => collated(reader, 1, Type::VarChar)?,
        bytes::NVARCHAR => collated(reader, 2, Type::NVarChar)?,
        bytes::BIGCHAR => Type::Char(collated_limit(reader, 1)?),
        bytes::NCHAR => Type::NChar(collated_limit(reader, 2)?),
        bytes::XML => match reader.u8()? {
            0 => Type::Xml,
            _ => return Err(unknown("xml with a schema")),
        },
        _ => return Err(unknown(format!("type 0x{byte:02x}"))),
    };
    Ok(TypeInfo { kind, fixed: false })
}

fn sized(reader: &mut Reader<'_>, sizes: &[(u8, Type)]) -> Result<Type, Fault> {
    let size = reader.u8()?;
    match sizes.iter().find(|(known, _)| *known == size) {
        Some((_, kind)) => Ok(*kind),
        None => Err(reader.fault(format!("a size of {size} where there is {sizes:?}"))),
    }
}

fn decimal(reader: &mut Reader<'_>) -> Result<Type, Fault> {
    let [size, precision, scale] = reader.array()?;
    // Clients may give more bytes than the precision needs.
    let fits = [5, 9, 13, 17].contains(&size) && size >= decimal_bytes(precision);
    match fits && (1..=38).contains(&precision) && scale <= precision {
        true => Ok(Type::Decimal { precision, scale }),
        false => Err(reader.fault(format!("decimal({precision}, {scale}) of {size} bytes"))),
    }
}

fn scale(reader: &mut Reader<'_>) -> Result<u8, Fault> {
    match reader.u8()? {
        scale @ 0..=7 => Ok(scale),
        scale => Err(reader.fault(format!("{scale} digits of a second"))),
    }
}

/// A length in bytes, from characters of `unit` bytes.
fn length(reader: &mut Reader<'_>, unit: u16) -> Result<Length, Fault> {
    match reader.u16()? {
        u16::MAX => Ok(Length::Max),
        bytes if bytes <= 8000 && bytes.is_multiple_of(unit) => Ok(Length::Limit(bytes / unit)),
        bytes => Err(reader.fault(format!("a type of {bytes} bytes"))),
    }
}

fn limit(reader: &mut Reader<'_>, unit: u16) -> Result<u16, Fault> {
    match length(reader, unit)? {
        Length::Limit(limit) => Ok(limit),
        Length::Max => Err(reader.fault("a char, nchar or binary of max")),
    }
}

fn collated(reader: &mut Reader<'_>, unit: u16, kind: fn(Length) -> Type) -> Result<Type, Fault> {
    let length = length(reader, unit)?;
    collation(reader)?;
    Ok(kind(length))
}

fn collated_limit(reader: &mut Reader<'_>, unit: u16) -> Result<u16, Fault> {
    let limit = limit(reader, unit)?;
    collation(reader)?;
    Ok(limit)
}

/// The server's own collation, or none.
fn collation(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let collation: [u8; 5] = reader.array()?;
    match collation == COLLATION || collation == [0; 5] {
        true => Ok(()),
        false => Err(unknown(format!("collation {collation:02x?}"))),
    }
}

/// Adds a `TYPE_INFO`.
pub fn write(out: &mut Vec<u8>, info: TypeInfo) -> Result<(), Fault> {
    if let (true, Some(byte)) = (info.fixed, fixed_byte(info.kind)) {
        out.push(byte);
        return Ok(());
    }
    match info.kind {
        Type::Null => out.push(bytes::NULL),
        Type::TinyInt => out.extend([bytes::INTN, 1]),
        Type::SmallInt => out.extend([bytes::INTN, 2]),
        Type::Int => out.extend([bytes::INTN, 4]),
        Type::BigInt => out.extend([bytes::INTN, 8]),
        Type::Bit => out.extend([bytes::BITN, 1]),
        Type::Real => out.extend([bytes::FLTN, 4]),
        Type::Float => out.extend([bytes::FLTN, 8]),
        Type::Decimal { precision, scale } => {
            out.extend([bytes::DECIMALN, decimal_bytes(precision), precision, scale]);
        }
        Type::Date => out.push(bytes::DATEN),
        Type::Time(scale) => out.extend([bytes::TIMEN, scale]),
        Type::DateTime2(scale) => out.extend([bytes::DATETIME2N, scale]),
        Type::DateTimeOffset(scale) => out.extend([bytes::DATETIMEOFFSETN, scale]),
        Type::DateTime => out.extend([bytes::DATETIMN, 8]),
        Type::SmallDateTime => out.extend([bytes::DATETIMN, 4]),
        Type::Guid => out.extend([bytes::GUID, 16]),
        Type::Xml => out.extend([bytes::XML, 0]),
        Type::VarBinary(length) => write_length(out, bytes::BIGVARBINARY, length, 1)?,
        Type::Binary(limit) => write_length(out, bytes::BIGBINARY, Length::Limit(limit), 1)?,
        Type::VarChar(length) => write_length(out, bytes::BIGVARCHAR, length, 1)?,
        Type::Char(limit) => write_length(out, bytes::BIGCHAR, Length::Limit(limit), 1)?,
        Type::NVarChar(length) => write_length(out, bytes::NVARCHAR, length, 2)?,
        Type::NChar(limit) => write_length(out, bytes::NCHAR, Length::Limit(limit), 2)?,
    }
    if matches!(info.kind, Type::VarChar(_) | Type::Char(_) | Type::NVarChar(_) | Type::NChar(_)) {
        out.extend(COLLATION);
    }
    Ok(())
}

fn write_length(out: &mut Vec<u8>, byte: u8, length: Length, unit: u16) -> Result<(), Fault> {
    let bytes = match length {
        Length::Max => Some(u16::MAX),
        Length::Limit(limit) => limit.checked_mul(unit).filter(|bytes| *bytes <= 8000),
    };
    let bytes = bytes.ok_or_else(|| script(format!("a type of more than 8000 bytes: {length:?}")))?;
    out.push(byte);
    out.extend(bytes.to_le_bytes());
    Ok(())
}
