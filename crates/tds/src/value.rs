//! Values of rows and parameters.
//!
//! Source: \[MS-TDS\] 2.2.5.5.1 (ranges of the system types); days are counted as in "chrono-Compatible Low-Level
//! Date Algorithms" by Howard Hinnant (`days_from_civil`).

/// A value; its column or parameter has the type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Null, of any type.
    Null,
    /// Of `bit`.
    Bool(bool),
    /// Of `tinyint`, `smallint`, `int` and `bigint`.
    Int(i64),
    /// Of `real` and `float`.
    Float(f64),
    /// Of `decimal` and `numeric`.
    Decimal {
        /// The digits, without a point.
        unscaled: i128,
        /// How many of them are behind the point.
        scale: u8,
    },
    /// Of `char`, `varchar`, `nchar`, `nvarchar` and `xml`.
    Text(String),
    /// Of `binary` and `varbinary`.
    Bytes(Vec<u8>),
    /// Of `date`: days since 0001-01-01.
    Date(u32),
    /// Of `time`: nanoseconds since midnight.
    Time(u64),
    /// Of `datetime2`, `datetime` and `smalldatetime`.
    DateTime {
        /// Days since 0001-01-01.
        days: u32,
        /// Since midnight.
        nanoseconds: u64,
    },
    /// Of `datetimeoffset`.
    DateTimeOffset {
        /// Days since 0001-01-01, in UTC.
        days: u32,
        /// Since midnight, in UTC.
        nanoseconds: u64,
        /// From UTC to the local time.
        minutes: i16,
    },
    /// Of `uniqueidentifier`, in the order of its text.
    Guid([u8; 16]),
}

/// Days from 0001-01-01 to 1900-01-01, from which `datetime` counts.
pub const DAYS_TO_1900: u32 = 693_595;

/// The last valid day, 9999-12-31.
pub const LAST_DAY: u32 = 3_652_058;

/// Nanoseconds in a day.
pub const DAY_NANOSECONDS: u64 = 86_400_000_000_000;

impl Value {
    /// A string.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A day of the Gregorian calendar, from 0001-01-01 to 9999-12-31.
    pub fn date(year: u32, month: u32, day: u32) -> Self {
        Self::Date(days(year, month, day))
    }

    /// A date and time.
    pub fn date_time(year: u32, month: u32, day: u32, nanoseconds: u64) -> Self {
        Self::DateTime { days: days(year, month, day), nanoseconds }
    }
}

/// Days since 0001-01-01 of a day of the Gregorian calendar; 0 for earlier days.
pub fn days(year: u32, month: u32, day: u32) -> u32 {
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year.saturating_sub(1) } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day;
    (year * 365 + year / 4 - year / 100 + year / 400 + of_year).saturating_sub(307)
}

#[cfg(test)]
mod tests {
    use super::{DAYS_TO_1900, LAST_DAY, days};

    #[test]
    fn days_of_the_calendar() {
        assert_eq!(days(1, 1, 1), 0);
        assert_eq!(days(1, 12, 31), 364);
        assert_eq!(days(1900, 1, 1), DAYS_TO_1900);
        assert_eq!(days(1970, 1, 1), 719_162);
        assert_eq!(days(2000, 3, 1) - days(2000, 2, 28), 2);
        assert_eq!(days(1900, 3, 1) - days(1900, 2, 28), 1);
        assert_eq!(days(9999, 12, 31), LAST_DAY);
    }
}
