//! Values of rows and their texts, in answers and in what the generator writes: numbers plain and decimal, dates as
//! 1995-03-15.

use threadwise_engine::workloads::tpch::tables::{Kind, Table};
use tiberius::numeric::Numeric;
use tiberius::time::Date;
use tiberius::{ColumnData, Row, TokenRow};

/// The rows of an answer.
pub(super) fn answer(rows: &[Row]) -> Vec<Vec<Option<String>>> {
    rows.iter().map(|row| row.cells().map(|(_, cell)| text(cell)).collect()).collect()
}

fn text(cell: &ColumnData<'_>) -> Option<String> {
    match cell {
        ColumnData::U8(value) => value.map(|value| value.to_string()),
        ColumnData::I16(value) => value.map(|value| value.to_string()),
        ColumnData::I32(value) => value.map(|value| value.to_string()),
        ColumnData::I64(value) => value.map(|value| value.to_string()),
        // Rust writes these without an exponent.
        ColumnData::F32(value) => value.map(|value| value.to_string()),
        ColumnData::F64(value) => value.map(|value| value.to_string()),
        ColumnData::Bit(value) => value.map(|value| u8::from(value).to_string()),
        ColumnData::String(value) => value.as_ref().map(|value| value.to_string()),
        ColumnData::Numeric(value) => value.as_ref().map(decimal),
        ColumnData::Date(value) => value.as_ref().map(|date| day(u64::from(date.days()))),
        // The queries return no other types.
        other => Some(format!("{other:?}")),
    }
}

/// A line as the row of its table; `None` if it is not one.
pub(super) fn row(table: &Table, floats: bool, line: &csv::StringRecord) -> Option<TokenRow<'static>> {
    if line.len() != table.columns.len() {
        return None;
    }
    let mut row = TokenRow::new();
    for ((_, kind), field) in table.columns.iter().zip(line) {
        row.push(match kind {
            Kind::Identifier => ColumnData::I64(Some(field.parse().ok()?)),
            Kind::Integer => ColumnData::I32(Some(field.parse().ok()?)),
            Kind::Decimal if floats => ColumnData::F64(Some(field.parse().ok()?)),
            Kind::Decimal => ColumnData::Numeric(Some(Numeric::new_with_scale(hundredths(field)?, 2))),
            Kind::Date => ColumnData::Date(Some(Date::new(days(field)?))),
            // Padded here, since not every server does so in a bulk load.
            Kind::Char(width) => {
                ColumnData::String(Some(format!("{field:<width$}", width = *width as usize).into()))
            }
            Kind::Varchar(_) => ColumnData::String(Some(field.to_owned().into())),
        });
    }
    Some(row)
}

/// A number with as many decimals as its scale.
fn decimal(number: &Numeric) -> String {
    let (value, scale) = (number.value(), usize::from(number.scale()));
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    match scale {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{rest}"),
    }
}

/// The date this many days after the first of January of year 1 in the Gregorian calendar.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
fn day(days: u64) -> String {
    // Days since the first of March of year 0.
    let days = days + 306;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days from the first of January of year 1 to a date such as `1995-03-15`; `None` for another text.
fn days(date: &str) -> Option<u32> {
    let mut parts = date.split('-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year == 0 {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year).checked_sub(306)
}

/// A decimal such as `-12.5` as hundredths; `None` for another text, or more than two decimals.
fn hundredths(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || rest.len() > 2 || !is_digits(whole) || !is_digits(rest) {
        return None;
    }
    Some(sign * format!("{whole}{rest:0<2}").parse::<i128>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine::workloads::tpch::tables::TABLES;

    #[test]
    fn dates_go_there_and_back() {
        for (date, number) in
            [("0001-01-01", 0), ("1970-01-01", 719_162), ("1996-02-29", 728_717), ("1998-12-01", 729_723)]
        {
            assert_eq!((day(u64::from(number)), days(date)), (date.to_owned(), Some(number)));
        }
        for date in 719_000..=731_000 {
            assert_eq!(days(&day(u64::from(date))), Some(date));
        }
        for none in ["", "1995-13-01", "1995-1", "x-1-1", "0000-01-01"] {
            assert_eq!(days(none), None, "{none}");
        }
    }

    #[test]
    fn decimals_have_all_their_digits() {
        for (value, scale, wanted) in
            [(5, 2, "0.05"), (-5, 2, "-0.05"), (12_345, 2, "123.45"), (7, 0, "7"), (-700, 1, "-70.0")]
        {
            assert_eq!(decimal(&Numeric::new_with_scale(value, scale)), wanted);
        }
        for (text, wanted) in [
            ("12.5", Some(1250)),
            ("-0.07", Some(-7)),
            ("3", Some(300)),
            ("1.234", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(hundredths(text), wanted, "{text}");
        }
    }

    #[test]
    fn lines_become_rows_of_their_table() {
        let nation = &TABLES[1];
        let line = csv::StringRecord::from(vec!["7", "GERMANY", "3", "a, \"b\""]);
        let found: Vec<ColumnData<'static>> = row(nation, false, &line).unwrap().into_iter().collect();
        assert_eq!(found[0], ColumnData::I64(Some(7)));
        assert_eq!(found[1], ColumnData::String(Some(format!("GERMANY{}", " ".repeat(18)).into())));
        assert_eq!(found[3], ColumnData::String(Some("a, \"b\"".into())));
        for bad in [vec!["x", "G", "3", "c"], vec!["7", "G", "3"]] {
            assert!(row(nation, false, &csv::StringRecord::from(bad)).is_none());
        }
    }
}
