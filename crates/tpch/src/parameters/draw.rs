//! Drawing parameters from the specification's domains, and the forms of values.
//!
//! Source: TPC-H specification, clauses 2.4.1.3 to 2.4.22.3. Draws are independent and uniform except
//! where the specification requires distinct values: the nations of query 7, the ship modes of 12, the
//! sizes of 16 and the country codes of 22.

use super::date::Date;
use super::domains::{
    COLORS, COMMENT_WORDS, CONTAINERS, FIRST_COUNTRY_CODE, NATIONS, REGIONS, SEGMENTS, SHIP_MODES, TYPES,
};
use super::value::{Value, fraction};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Drawn parameters of a query from 1 to 22.
pub fn values(query: u8, scale: f64, random: &mut ChaCha8Rng) -> BTreeMap<&'static str, Value> {
    match query {
        1..=6 => first_six(query, random),
        7..=15 => middle_nine(query, scale, random),
        _ => last_seven(query, random),
    }
    .into_iter()
    .collect()
}

type Named = Vec<(&'static str, Value)>;

fn first_six(query: u8, random: &mut ChaCha8Rng) -> Named {
    match query {
        1 => {
            let days = random.random_range(60..=120);
            vec![("date_end", Value::Date(Date::new(1998, 12, 1).days_before(days)))]
        }
        2 => vec![
            ("size", whole(random.random_range(1..=50))),
            ("type_like", like_end(pick(TYPES[2], random))),
            ("region", text(pick(&REGIONS, random))),
        ],
        3 => vec![
            ("segment", text(pick(&SEGMENTS, random))),
            ("date", Value::Date(Date::new(1995, 3, random.random_range(1..=31)))),
        ],
        4 => span(month(random, 1993, 1, 58), 3),
        5 => from_day(january(random), 12, [("region", text(pick(&REGIONS, random)))]),
        _ => {
            let [low, high] = discount(random.random_range(2..=9));
            let quantity = whole(random.random_range(24..=25));
            from_day(january(random), 12, [low, high, ("quantity", quantity)])
        }
    }
}

fn middle_nine(query: u8, scale: f64, random: &mut ChaCha8Rng) -> Named {
    match query {
        7 => {
            let [one, two] = distinct(&NATIONS, random).map(|(nation, _)| text(nation));
            vec![("nation1", one), ("nation2", two)]
        }
        8 => {
            let (nation, region) = pick(&NATIONS, random);
            let kind =
                format!("{} {} {}", pick(TYPES[0], random), pick(TYPES[1], random), pick(TYPES[2], random));
            vec![("nation", text(nation)), ("region", text(region)), ("type", text(&kind))]
        }
        9 => vec![("color_like", like_inside(pick(&COLORS, random)))],
        10 => span(month(random, 1993, 2, 24), 3),
        11 => vec![("nation", text(pick(&NATIONS, random).0)), ("fraction", fraction(scale))],
        12 => {
            let [one, two] = distinct(&SHIP_MODES, random).map(text);
            from_day(january(random), 12, [("shipmode1", one), ("shipmode2", two)])
        }
        13 => {
            let words = words_like(pick(COMMENT_WORDS[0], random), pick(COMMENT_WORDS[1], random));
            vec![("words_like", words)]
        }
        14 => span(month(random, 1993, 1, 60), 1),
        _ => span(month(random, 1993, 1, 58), 3),
    }
}

fn last_seven(query: u8, random: &mut ChaCha8Rng) -> Named {
    match query {
        16 => {
            let sizes: [i64; 50] = std::array::from_fn(|index| index as i64 + 1);
            let mut values = numbered(SIZE_NAMES, distinct(&sizes, random).map(whole));
            let kind = format!("{} {}", pick(TYPES[0], random), pick(TYPES[1], random));
            values.extend([("brand", any_brand(random)), ("type_like", like_start(&kind))]);
            values
        }
        17 => {
            let container = format!("{} {}", pick(CONTAINERS[0], random), pick(CONTAINERS[1], random));
            vec![("brand", any_brand(random)), ("container", text(&container))]
        }
        18 => vec![("quantity", whole(random.random_range(312..=315)))],
        19 => {
            let mut values = numbered(BRAND_NAMES, std::array::from_fn(|_| any_brand(random)));
            let one = random.random_range(1..=10);
            let two = random.random_range(10..=20);
            values.extend(quantities([one, two, random.random_range(20..=30)]));
            values
        }
        20 => {
            let color = like_start(pick(&COLORS, random));
            let nation = text(pick(&NATIONS, random).0);
            from_day(january(random), 12, [("color_like", color), ("nation", nation)])
        }
        21 => vec![("nation", text(pick(&NATIONS, random).0))],
        _ => {
            let codes: [i64; 25] = std::array::from_fn(|nation| nation as i64 + FIRST_COUNTRY_CODE);
            numbered(CODE_NAMES, distinct(&codes, random).map(|code| text(&code.to_string())))
        }
    }
}

fn pick<T: Copy>(from: &[T], random: &mut ChaCha8Rng) -> T {
    from[random.random_range(0..from.len())]
}

/// `N` different values, in the order of drawing. `N` is at most `M`.
fn distinct<T: Copy, const M: usize, const N: usize>(from: &[T; M], random: &mut ChaCha8Rng) -> [T; N] {
    const { assert!(N <= M) };
    let mut shuffled = *from;
    shuffled.shuffle(random);
    std::array::from_fn(|index| shuffled[index])
}

/// The first day of one of `months` months.
fn month(random: &mut ChaCha8Rng, year: u16, first: u8, months: u16) -> Date {
    Date::new(year, first, 1).months_later(random.random_range(0..months))
}

/// The first day of a year from 1993 to 1997.
fn january(random: &mut ChaCha8Rng) -> Date {
    Date::new(random.random_range(1993..=1997), 1, 1)
}

fn any_brand(random: &mut ChaCha8Rng) -> Value {
    brand(random.random_range(1..=5), random.random_range(1..=5))
}

/// A text.
pub fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// A whole number.
pub fn whole(value: i64) -> Value {
    Value::Integer(value)
}

/// A brand's name from its two digits.
pub fn brand(manufacturer: u8, number: u8) -> Value {
    Value::Text(format!("Brand#{manufacturer}{number}"))
}

/// Pattern of texts that begin so.
pub fn like_start(word: &str) -> Value {
    Value::Text(format!("{word}%"))
}

/// Pattern of texts that end so.
pub fn like_end(word: &str) -> Value {
    Value::Text(format!("%{word}"))
}

/// Pattern of texts that contain this word.
pub fn like_inside(word: &str) -> Value {
    Value::Text(format!("%{word}%"))
}

/// Pattern of texts that contain these words in order.
pub fn words_like(first: &str, second: &str) -> Value {
    Value::Text(format!("%{first}%{second}%"))
}

/// Query 6's range: a discount in hundredths, and 0.01 to both sides. Written out, since
/// `0.06 + 0.01` is less than 0.07 where an engine adds them as doubles.
pub fn discount(hundredths: i64) -> [(&'static str, Value); 2] {
    let decimal = |units| Value::Decimal { units, digits: 2 };
    [("discount_low", decimal(hundredths - 1)), ("discount_high", decimal(hundredths + 1))]
}

/// A first day and the day after the last, `months` later.
pub fn span(start: Date, months: u16) -> Named {
    vec![("date", Value::Date(start)), ("date_end", Value::Date(start.months_later(months)))]
}

/// [`span`] with other values.
pub fn from_day<const N: usize>(start: Date, months: u16, others: [(&'static str, Value); N]) -> Named {
    let mut values = span(start, months);
    values.extend(others);
    values
}

/// Names with their values.
pub fn numbered<const N: usize>(names: [&'static str; N], values: [Value; N]) -> Named {
    names.into_iter().zip(values).collect()
}

/// Names of query 16's sizes.
pub const SIZE_NAMES: [&str; 8] = ["size1", "size2", "size3", "size4", "size5", "size6", "size7", "size8"];

/// Names of query 19's brands.
pub const BRAND_NAMES: [&str; 3] = ["brand1", "brand2", "brand3"];

/// Names of query 22's country codes.
pub const CODE_NAMES: [&str; 7] = ["code1", "code2", "code3", "code4", "code5", "code6", "code7"];

/// Query 19's quantities: from each to ten more, clause 2.4.19.2.
pub fn quantities([one, two, three]: [i64; 3]) -> Vec<(&'static str, Value)> {
    vec![
        ("quantity1", whole(one)),
        ("quantity1_end", whole(one + 10)),
        ("quantity2", whole(two)),
        ("quantity2_end", whole(two + 10)),
        ("quantity3", whole(three)),
        ("quantity3_end", whole(three + 10)),
    ]
}
