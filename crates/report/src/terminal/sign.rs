//! Signs of marks. Tables are laid out with a private character of one column for each (Unicode 16, section 23.5),
//! which is replaced by a sign, coloured if colours are on, after layout: escapes take no columns. Texts from elsewhere
//! cannot contain such a character ([`crate::text::plain`]).

use super::{GREEN, Style, YELLOW};
use threadwise_document::{Mark, Ratio, Says};

/// First of the private characters.
const FIRST: u32 = 0xE000;

/// Appearance of a sign, and whether the difference is welcome.
const SIGNS: [(char, char, Option<&str>); 6] = [
    ('▲', '^', Some(GREEN)),
    ('▲', '^', Some(YELLOW)),
    ('▼', 'v', Some(GREEN)),
    ('▼', 'v', Some(YELLOW)),
    ('=', '=', None),
    ('?', '?', None),
];

/// Whether a character is one of the private ones.
pub fn is_private(c: char) -> bool {
    (FIRST..FIRST + SIGNS.len() as u32).contains(&u32::from(c))
}

/// The character that represents a ratio's sign.
pub fn marker(ratio: &Ratio, says: Says) -> char {
    // Colours mean better and worse if that is known, else more and less.
    let is_welcome = match says {
        Says::Better => ratio.meaning() == "better" || ratio.meaning() == "higher",
        _ => ratio.value > 1.0,
    };
    let at = match ratio.mark() {
        Mark::Higher => u32::from(!is_welcome),
        Mark::Lower => 2 + u32::from(!is_welcome),
        Mark::Same => 4,
        Mark::Undecided => 5,
    };
    char::from_u32(FIRST + at).unwrap_or('?')
}

/// Replaces the private characters of a text by signs.
pub fn painted(text: &str, style: Style) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let Some((unicode, ascii, color)) =
            Some(u32::from(c)).filter(|_| is_private(c)).map(|code| SIGNS[(code - FIRST) as usize])
        else {
            out.push(c);
            continue;
        };
        let sign = if style.unicode { unicode } else { ascii }.to_string();
        out.push_str(&color.map_or_else(|| sign.clone(), |color| style.paint(color, &sign)));
    }
    out
}
