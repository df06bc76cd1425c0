//! Types of columns and parameters, for scripts.
//!
//! Source: \[MS-TDS\] 2.2.5.4 (types), 2.2.5.5.1 (system types), 2.2.7.4 (flags of a column).

/// Largest length of a string or binary value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// This many: characters of `nvarchar` and `nchar`, bytes of the others. At most 8000 bytes.
    Limit(u16),
    /// `max`: sent in chunks.
    Max,
}

/// An SQL type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// For a parameter without a type, which is null.
    Null,
    /// `tinyint`, from 0 to 255.
    TinyInt,
    /// `smallint`.
    SmallInt,
    /// `int`.
    Int,
    /// `bigint`.
    BigInt,
    /// `bit`.
    Bit,
    /// `real`.
    Real,
    /// `float`.
    Float,
    /// `decimal` and `numeric`.
    Decimal {
        /// Digits in all, from 1 to 38.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// `nvarchar`.
    NVarChar(Length),
    /// `nchar`, in characters.
    NChar(u16),
    /// `varchar`, in the code page 1252.
    VarChar(Length),
    /// `char`, in the code page 1252.
    Char(u16),
    /// `varbinary`.
    VarBinary(Length),
    /// `binary`.
    Binary(u16),
    /// `date`.
    Date,
    /// `time`, with this many digits of a second.
    Time(u8),
    /// `datetime2`, with this many digits of a second.
    DateTime2(u8),
    /// `datetimeoffset`, with this many digits of a second.
    DateTimeOffset(u8),
    /// `datetime`.
    DateTime,
    /// `smalldatetime`.
    SmallDateTime,
    /// `uniqueidentifier`.
    Guid,
    /// `xml` without a schema.
    Xml,
}

/// A column of a result, or of rows for `INSERT BULK`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be null. A number that may not be null is encoded differently in rows.
    pub nullable: bool,
    /// Whether it can be written to: clients leave other columns out of `INSERT BULK`.
    pub updatable: bool,
    /// Whether it is an identity column.
    pub identity: bool,
}

impl Column {
    /// A column that may be null and can be written to.
    pub fn new(name: &str, kind: Type) -> Self {
        Self { name: name.to_owned(), kind, nullable: true, updatable: true, identity: false }
    }

    /// A column that is never null and can be written to.
    pub fn not_null(self) -> Self {
        Self { nullable: false, ..self }
    }

    /// An identity column.
    pub fn identity(self) -> Self {
        Self { nullable: false, updatable: false, identity: true, ..self }
    }
}
