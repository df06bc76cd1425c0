//! Figures: a number as given, and how it follows from others.

use serde::{Deserialize, Serialize};

/// A figure.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name inside the file.
    pub id: String,
    /// Its arm; `None` for the whole study.
    pub arm: Option<String>,
    /// Its query; `None` for all.
    pub query: Option<u8>,
    /// What it is.
    pub what: String,
    /// A remark.
    pub note: Option<String>,
    /// The number with the given digits, commas between groups of three; `15:07` is minutes and seconds.
    pub value: String,
    /// Upper end of a range.
    pub to: Option<String>,
    /// Unit, as it follows the number; empty if none was given.
    pub unit: String,
    /// Base units in one unit: 1e9 for GHz if others are in Hz.
    #[serde(default = "one")]
    pub scale: f64,
    /// Size of the last significant digit, if the text does not show it: 100 of `121,200`.
    pub rounded_to: Option<f64>,
    /// Whether the article prints it; default: yes without a formula.
    #[serde(default)]
    printed: bool,
    /// How it follows from other figures.
    pub formula: Option<Formula>,
    /// Command that repeats it, if it is not its arm's.
    pub command: Option<String>,
    /// Why no command can repeat it.
    pub missing: Option<String>,
}

/// How a figure follows from others, by their names. Either a quotient, or one of the last three.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Formula {
    /// Factors of the numerator.
    pub numerator: Vec<String>,
    /// Factors of a product added to it.
    pub plus: Vec<String>,
    /// Factors of a product subtracted from it.
    pub minus: Vec<String>,
    /// Factors of the denominator.
    pub denominator: Vec<String>,
    /// Whether the quotient is in percent.
    pub percent: bool,
    /// This many percent faster, as a ratio of speed: 1.20 for 20.
    pub faster: Option<String>,
    /// This many percent more time, as a ratio of speed: 1 / 1.13 for 13.
    pub slower: Option<String>,
    /// The largest absolute value of these; the figure must not be below it.
    pub within: Vec<String>,
}

fn one() -> f64 {
    1.0
}

impl Figure {
    /// Whether the article prints it.
    pub fn is_printed(&self) -> bool {
        self.printed || self.formula.is_none()
    }

    /// Its number in the base unit; `None` if its text is not a number. The lower end of a range.
    pub fn number(&self) -> Option<f64> {
        Some(number(&self.value)? * self.scale)
    }

    /// Maximum rounding error of its number, in the base unit.
    pub fn rounding(&self) -> f64 {
        let decimals = self.value.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        self.rounded_to.unwrap_or_else(|| 10_f64.powi(-decimals)) / 2.0 * self.scale
    }

    /// Number and unit as given: `955,750 reads/s`, `0–65% faster`, `1.316x`.
    pub fn text(&self) -> String {
        let ends = self.to.as_ref().map_or_else(|| self.value.clone(), |to| format!("{}–{to}", self.value));
        match self.unit.as_str() {
            "" => ends,
            "min:s" => format!("{ends} min"),
            "node" => format!("node {ends}"),
            unit if unit.starts_with(['%', 'x']) => format!("{ends}{unit}"),
            unit => format!("{ends} {unit}"),
        }
    }
}

/// Parses a number of an article: `6,692,284,057`, `-1.47`, `15:07` (seconds).
fn number(text: &str) -> Option<f64> {
    let plain = |text: &str| text.replace(',', "").parse::<f64>().ok();
    match text.split_once(':') {
        Some((minutes, seconds)) => Some(plain(minutes)? * 60.0 + plain(seconds)?),
        None => plain(text),
    }
    .filter(|number| number.is_finite())
}

impl Formula {
    /// Names of all parts.
    pub fn parts(&self) -> impl Iterator<Item = &String> {
        let lists = [&self.numerator, &self.plus, &self.minus, &self.denominator, &self.within];
        lists.into_iter().flatten().chain(&self.faster).chain(&self.slower)
    }

    /// Its value; `part` returns those of the parts. `None` if one is missing or it divides by 0.
    pub fn value(&self, part: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let product = |names: &[String]| names.iter().map(|name| part(name)).product::<Option<f64>>();
        let sum = |names: &[String]| if names.is_empty() { Some(0.0) } else { product(names) };
        let value = if let Some(percent) = &self.faster {
            1.0 + part(percent)? / 100.0
        } else if let Some(percent) = &self.slower {
            1.0 / (1.0 + part(percent)? / 100.0)
        } else if !self.within.is_empty() {
            let sizes: Option<Vec<f64>> = self.within.iter().map(|name| part(name).map(f64::abs)).collect();
            sizes?.into_iter().fold(0.0, f64::max)
        } else {
            let above = product(&self.numerator)? + sum(&self.plus)? - sum(&self.minus)?;
            above / product(&self.denominator)? * if self.percent { 100.0 } else { 1.0 }
        };
        Some(value).filter(|value| value.is_finite())
    }

    /// The formula as text, with `text` for each part.
    pub fn words(&self, text: &dyn Fn(&str) -> String) -> String {
        let product = |names: &[String]| names.iter().map(|name| text(name)).collect::<Vec<_>>().join(" · ");
        if let Some(percent) = &self.faster {
            return text(percent);
        }
        if let Some(percent) = &self.slower {
            return format!("1 / (1 + {})", text(percent).replace(" slower", ""));
        }
        if !self.within.is_empty() {
            let all: Vec<String> = self.within.iter().map(|name| text(name)).collect();
            return format!("largest of {}", all.join(", "));
        }
        let mut above = product(&self.numerator);
        let more = [("+", &self.plus), ("-", &self.minus)];
        for (sign, names) in more.into_iter().filter(|(_, names)| !names.is_empty()) {
            above = format!("{above} {sign} {}", product(names));
        }
        match self.denominator.len() {
            0 => above,
            _ if self.plus.is_empty() && self.minus.is_empty() => {
                format!("{above} / {}", bracketed(&product(&self.denominator), self.denominator.len()))
            }
            count => format!("({above}) / {}", bracketed(&product(&self.denominator), count)),
        }
    }
}

fn bracketed(product: &str, factors: usize) -> String {
    if factors > 1 { format!("({product})") } else { product.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_articles_have_them() {
        assert_eq!(number("6,692,284,057"), Some(6_692_284_057.0));
        assert_eq!(number("-1.47"), Some(-1.47));
        assert_eq!(number("+58"), Some(58.0));
        assert_eq!(number("15:07"), Some(907.0));
        assert_eq!((number("many"), number("inf")), (None, None));
    }

    #[test]
    fn formulas_have_values_and_words() {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let part = |name: &str| match name {
            "a" => Some(22.41),
            "b" => Some(22.95),
            "zero" => Some(0.0),
            _ => None,
        };
        let mut formula = Formula {
            numerator: names("a"),
            minus: names("b"),
            denominator: names("a"),
            percent: true,
            ..Formula::default()
        };
        assert!((formula.value(&part).unwrap() + 2.4096).abs() < 1e-4);
        assert_eq!(formula.words(&str::to_owned), "(a - b) / a");
        formula.denominator = names("zero");
        assert_eq!(formula.value(&part), None, "a division by 0 has no value");
        formula.denominator = names("unknown");
        assert_eq!(formula.value(&part), None);
        let slower = Formula { slower: Some("b".into()), ..Formula::default() };
        assert!((slower.value(&part).unwrap() - 1.0 / 1.2295).abs() < 1e-12);
        let within = Formula { within: names("a b"), ..Formula::default() };
        assert_eq!(within.value(&part), Some(22.95));
    }
}
