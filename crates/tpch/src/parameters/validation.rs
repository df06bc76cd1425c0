//! The parameters for which the specification has answers.
//!
//! Source: TPC-H specification, clauses 2.4.1.4 to 2.4.22.4.

use super::date::Date;
use super::draw::{
    BRAND_NAMES, CODE_NAMES, SIZE_NAMES, brand, discount, from_day, like_end, like_inside, like_start,
    numbered, quantities, span, text, whole, words_like,
};
use super::value::{Value, fraction};
use std::collections::BTreeMap;

/// The validation parameters of a query from 1 to 22.
pub fn values(query: u8, scale: f64) -> BTreeMap<&'static str, Value> {
    let first = |year, month| Date::new(year, month, 1);
    let values: Vec<(&'static str, Value)> = match query {
        1 => vec![("date_end", Value::Date(first(1998, 12).days_before(90)))],
        2 => vec![("size", whole(15)), ("type_like", like_end("BRASS")), ("region", text("EUROPE"))],
        3 => vec![("segment", text("BUILDING")), ("date", Value::Date(Date::new(1995, 3, 15)))],
        4 => span(first(1993, 7), 3),
        5 => from_day(first(1994, 1), 12, [("region", text("ASIA"))]),
        6 => {
            let [low, high] = discount(6);
            from_day(first(1994, 1), 12, [low, high, ("quantity", whole(24))])
        }
        7 => vec![("nation1", text("FRANCE")), ("nation2", text("GERMANY"))],
        8 => vec![
            ("nation", text("BRAZIL")),
            ("region", text("AMERICA")),
            ("type", text("ECONOMY ANODIZED STEEL")),
        ],
        9 => vec![("color_like", like_inside("green"))],
        10 => span(first(1993, 10), 3),
        11 => vec![("nation", text("GERMANY")), ("fraction", fraction(scale))],
        12 => from_day(first(1994, 1), 12, [("shipmode1", text("MAIL")), ("shipmode2", text("SHIP"))]),
        13 => vec![("words_like", words_like("special", "requests"))],
        14 => span(first(1995, 9), 1),
        15 => span(first(1996, 1), 3),
        16 => {
            let mut values = numbered(SIZE_NAMES, [49, 14, 23, 45, 19, 3, 36, 9].map(whole));
            values.extend([("brand", brand(4, 5)), ("type_like", like_start("MEDIUM POLISHED"))]);
            values
        }
        17 => vec![("brand", brand(2, 3)), ("container", text("MED BOX"))],
        18 => vec![("quantity", whole(300))],
        19 => {
            let mut values = numbered(BRAND_NAMES, [brand(1, 2), brand(2, 3), brand(3, 4)]);
            values.extend(quantities([1, 10, 20]));
            values
        }
        20 => {
            let others = [("color_like", like_start("forest")), ("nation", text("CANADA"))];
            from_day(first(1994, 1), 12, others)
        }
        21 => vec![("nation", text("SAUDI ARABIA"))],
        _ => numbered(CODE_NAMES, ["13", "31", "23", "29", "30", "18", "17"].map(text)),
    };
    values.into_iter().collect()
}
