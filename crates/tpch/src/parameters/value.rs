//! One parameter's value.

use super::date::Date;
use std::fmt;

/// One parameter's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text, such as `EUROPE`; for LIKE with its `%`.
    Text(String),
    /// Whole number.
    Integer(i64),
    /// Decimal number `units / 10^digits`.
    Decimal {
        /// The number without its decimal point.
        units: i64,
        /// Digits after the point.
        digits: u32,
    },
    /// A day.
    Date(Date),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Decimal { units, digits: 0 } => write!(f, "{units}"),
            Self::Decimal { units, digits } => {
                let one = 10_u64.saturating_pow(*digits);
                let sign = if *units < 0 { "-" } else { "" };
                let (whole, part) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
                write!(f, "{sign}{whole}.{part:0width$}", width = *digits as usize)
            }
            Self::Date(date) => write!(f, "{date}"),
        }
    }
}

/// Digits of query 11's fraction: enough for the largest scale factors.
const FRACTION_DIGITS: u32 = 12;

/// 0.0001 / SF, clause 2.4.11.3, without trailing zeros.
pub(super) fn fraction(scale: f64) -> Value {
    let mut units = (1e-4 / scale * 10_f64.powi(FRACTION_DIGITS as i32)).round() as i64;
    let mut digits = FRACTION_DIGITS;
    while digits > 4 && units % 10 == 0 {
        units /= 10;
        digits -= 1;
    }
    Value::Decimal { units, digits }
}
