//! Numbers of answers as text.

/// A number in the one form that equal numbers share: no plus, no leading or trailing zeros, `-0` as `0`;
/// `None` for anything but a finite number. All digits are kept.
pub fn exact_number(text: &str) -> Option<String> {
    let text = text.trim();
    if text.contains(['e', 'E']) {
        // A double that was printed with an exponent, which Display of f64 does not use.
        return exact_number(&format!("{}", number(text)?));
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !is_number(whole) || !is_number(part) {
        return None;
    }
    let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match (whole, part) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, part) => format!("{sign}{whole}.{part}"),
    })
}

/// The nearest double; `None` for anything but a finite number.
pub fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_one_form() {
        for (text, form) in [
            ("24.00", "24"),
            ("24", "24"),
            ("24.0", "24"),
            ("0024.50", "24.5"),
            ("-0.00", "0"),
            ("-.50", "-0.5"),
            ("+7", "7"),
            ("5755.94", "5755.94"),
            ("1e3", "1000"),
            ("3.7734107E7", "37734107"),
            ("100", "100"),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.1"),
        ] {
            assert_eq!(exact_number(text).as_deref(), Some(form), "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "abc", "nan", "inf", "1e999", "0x10", "1 2"] {
            assert_eq!(exact_number(text), None, "{text}");
        }
    }

    #[test]
    fn only_finite_numbers_are_numbers() {
        assert_eq!(number(" 1.5 "), Some(1.5));
        assert!(["NaN", "inf", "", "1,5"].iter().all(|text| number(text).is_none()));
    }
}
