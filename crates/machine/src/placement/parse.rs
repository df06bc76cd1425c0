//! Parsing placements. The grammar: docs/PLACEMENTS.md.

use std::fmt;
use std::str::FromStr;

use super::{
    Expression, Fill, KIND_WORDS, Level, MachinePart, Name, Order, Placement, PlacementError, Shape, Within,
};
use crate::CpuSet;
use crate::cpuset::MAX_CPUS;

/// The names of the grammar and what they mean.
const NAMES: [(&str, Expression); 20] = [
    ("one-cpu", Expression::Named(Name::OneCpu, None)),
    ("one-core", Expression::Named(Name::OneCore, None)),
    ("same-core", Expression::Named(Name::SameCore, None)),
    ("same-l2", Expression::Named(Name::SameL2, None)),
    ("same-l3", Expression::Named(Name::SameL3, None)),
    ("cross-l3", Expression::Named(Name::CrossL3, None)),
    ("same-node", Expression::Named(Name::SameNode, None)),
    ("cross-node", Expression::Named(Name::CrossNode, None)),
    ("same-package", Expression::Named(Name::SamePackage, None)),
    ("cross-package", Expression::Named(Name::CrossPackage, None)),
    ("all", Expression::Fill(Fill::All, MachinePart::Machine)),
    ("no-smt", Expression::Fill(Fill::NoSmt, MachinePart::Machine)),
    ("half-cores", Expression::Fill(Fill::HalfCores, MachinePart::Machine)),
    ("package", Expression::Fill(Fill::All, MachinePart::Package)),
    ("package-no-smt", Expression::Fill(Fill::NoSmt, MachinePart::Package)),
    ("package-half-cores", Expression::Fill(Fill::HalfCores, MachinePart::Package)),
    ("package-but-one", Expression::Fill(Fill::ButOneCore, MachinePart::Package)),
    ("node", Expression::Fill(Fill::All, MachinePart::Node)),
    ("node-no-smt", Expression::Fill(Fill::NoSmt, MachinePart::Node)),
    ("node-half-cores", Expression::Fill(Fill::HalfCores, MachinePart::Node)),
];

/// The name that leaves as many logical CPUs free as the number after it says.
const ALL_BUT: &str = "all-but:";

/// Letters of groups after `@`.
const GROUPS: [(Level, &str); 4] =
    [(Level::Llc, "llc"), (Level::Node, "n"), (Level::Package, "p"), (Level::Kind, "k")];

/// Level names in a path; hwloc's own come first.
const PATH_LEVELS: [(&str, Level); 8] = [
    ("package", Level::Package),
    ("socket", Level::Package),
    ("numanode", Level::Node),
    ("l3", Level::Llc),
    ("llc", Level::Llc),
    ("l2", Level::L2),
    ("core", Level::Core),
    ("pu", Level::Pu),
];

impl FromStr for Placement {
    type Err = PlacementError;

    /// Reads a shape, a sum of shapes, a name, `spread:N`, `packed:N`, a list or a path.
    ///
    /// # Errors
    /// [`PlacementError::Grammar`] with the part that is wrong.
    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let text = text.trim();
        let expression = parse(text).map_err(|why| PlacementError::Grammar { text: text.to_owned(), why })?;
        Ok(Self { text: text.to_owned(), expression })
    }
}

impl fmt::Display for Placement {
    /// As the user writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl serde::Serialize for Placement {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Placement {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::parsed(deserializer)
    }
}

fn parse(text: &str) -> Result<Expression, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if let Some((_, meaning)) = NAMES.iter().find(|(word, _)| *word == text) {
        return Ok(meaning.clone());
    }
    if let Some(expression) = counted(text)? {
        return Ok(expression);
    }
    if text.contains(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '-' | ':' | ' ')) {
        return if text.starts_with(|c: char| c.is_ascii_digit()) {
            text.split('+').map(|term| shape(term.trim())).collect::<Result<_, _>>().map(Expression::Shapes)
        } else if let Some((word, restriction)) = text.split_once('@') {
            restricted(word, restriction, text)
        } else if text.contains(':') {
            path(text).map(Expression::Path)
        } else {
            Err(no_such_name())
        };
    }
    indices(text, "logical CPU").map(Expression::List)
}

/// `spread:4`: a name with a number of logical CPUs after it.
fn counted(text: &str) -> Result<Option<Expression>, String> {
    let number =
        |word: &str, count: &str| positive(count, &format!("the number of logical CPUs after '{word}'"));
    if let Some(count) = text.strip_prefix(ALL_BUT) {
        return number(ALL_BUT, count).map(|free| Some(Expression::AllBut(free)));
    }
    let of_order = |(order, word): (Order, &'static str)| {
        let count = text.strip_prefix(word)?.strip_prefix(':')?;
        Some(number(&format!("{word}:"), count).map(|count| Expression::First(order, count)))
    };
    Order::ALL.into_iter().find_map(of_order).transpose()
}

fn no_such_name() -> String {
    let names: Vec<&str> = NAMES.iter().map(|(word, _)| *word).collect();
    let orders: Vec<String> = Order::ALL.iter().map(|(_, word)| format!("{word}:N")).collect();
    format!("no such name; names are {}, {ALL_BUT}N, {}", names.join(", "), orders.join(", "))
}

/// `all@p0`, `same-core@efficient`: a name, restricted to one group.
fn restricted(word: &str, restriction: &str, text: &str) -> Result<Expression, String> {
    let named = NAMES.iter().find(|(name, _)| *name == word).map(|(_, meaning)| meaning);
    match named {
        Some(Expression::Fill(fill, MachinePart::Machine)) => {
            Ok(Expression::Fill(*fill, MachinePart::Of(within(restriction, text)?)))
        }
        Some(Expression::Named(name, _)) => Ok(Expression::Named(*name, Some(within(restriction, text)?))),
        Some(_) => Err(format!(
            "'{word}' takes no '@'; all, no-smt, half-cores and the names of pairs do, and shapes"
        )),
        None => Err(no_such_name()),
    }
}

/// `[Ns]NcNt[@xN]`.
fn shape(term: &str) -> Result<Shape, String> {
    let (counts, restriction) = match term.split_once('@') {
        Some((counts, restriction)) => (counts, Some(restriction)),
        None => (term, None),
    };
    let wrong = || format!("'{term}' is not of the form NcNt or NsNcNt");
    let (packages, rest) = match counts.split_once('s') {
        Some((packages, rest)) => (Some(packages), rest),
        None => (None, counts),
    };
    let (cores, rest) = rest.split_once('c').ok_or_else(wrong)?;
    let threads = rest.strip_suffix('t').ok_or_else(wrong)?;
    let count = |digits: &str, what: &str| {
        if digits.is_empty() || digits.contains(|c: char| !c.is_ascii_digit()) {
            return Err(wrong());
        }
        positive(digits, &format!("the number of {what} in '{term}'"))
    };
    Ok(Shape {
        packages: packages.map_or(Ok(1), |digits| count(digits, "packages"))?,
        cores: count(cores, "cores")?,
        threads: count(threads, "logical CPUs a core")?,
        within: restriction.map(|restriction| within(restriction, term)).transpose()?,
    })
}

fn within(restriction: &str, term: &str) -> Result<Within, String> {
    if let Some(kind) = KIND_WORDS.iter().position(|(word, _)| *word == restriction) {
        return Ok(Within::Kind(kind));
    }
    let found = GROUPS.iter().find_map(|(level, letter)| Some((level, restriction.strip_prefix(letter)?)));
    let Some((level, digits)) = found else {
        if let Some(number) = restriction.strip_prefix('l').filter(|rest| rest.parse::<u32>().is_ok()) {
            return Err(format!(
                "'@l{number}' in '{term}' may be an L2 or an L3; '@llc{number}' is last-level cache {number}"
            ));
        }
        let kinds = KIND_WORDS.map(|(word, _)| format!("@{word}")).join(", ");
        return Err(format!(
            "'@{restriction}' in '{term}' is not one of @nN (NUMA node), @pN (package), @llcN (LLC domain), @kN (core kind), {kinds}"
        ));
    };
    let what = format!("the number after '@' in '{term}'");
    Ok(Within::Group(*level, number(digits, &what)?))
}

/// `package:0.core:1-3.pu:0`, outermost level first.
fn path(text: &str) -> Result<Vec<(Level, Vec<u32>)>, String> {
    let mut levels: Vec<(Level, Vec<u32>)> = Vec::new();
    for part in text.split('.') {
        let (word, list) =
            part.split_once(':').ok_or_else(|| format!("'{part}' is not of the form LEVEL:INDEX"))?;
        let Some((_, level)) = PATH_LEVELS.iter().find(|(name, _)| *name == word) else {
            return Err(format!(
                "there is no level '{word}'; levels are package, numanode, l3, l2, core, pu"
            ));
        };
        if levels.iter().any(|(earlier, _)| earlier == level) {
            return Err(format!("level '{word}' appears twice"));
        }
        if levels.last().is_some_and(|(earlier, _)| depth(*earlier) > depth(*level)) {
            return Err(format!("'{word}' follows a smaller level; write the outermost first"));
        }
        levels.push((*level, indices(list, word)?));
    }
    Ok(levels)
}

/// Packages, nodes and LLC domains nest differently from machine to machine, so they may come in any order.
fn depth(level: Level) -> u32 {
    match level {
        Level::Package | Level::Node | Level::Llc | Level::Kind => 0,
        Level::L2 => 1,
        Level::Core => 2,
        Level::Pu => 3,
    }
}

/// `0-3,8`, `0-30:2` in the order given, without duplicates.
pub(crate) fn indices(list: &str, what: &str) -> Result<Vec<u32>, String> {
    for part in list.split(',').map(str::trim) {
        if part.is_empty() {
            return Err(format!("there is no number where a {what} is expected"));
        }
        match part.split_once(':') {
            Some((range, _)) if !range.contains('-') => {
                return Err(format!("'{part}' has a step but no range; write 0-6:2"));
            }
            Some((_, step)) if step.trim_matches('0').is_empty() => {
                return Err(format!("the step of '{part}' is not a number above 0"));
            }
            _ => {}
        }
    }
    let listed = CpuSet::parse_ordered(list).map_err(|error| error.why)?;
    let mut seen = CpuSet::new();
    for &index in &listed {
        if seen.contains(index) {
            return Err(format!("{what} {index} appears twice"));
        }
        seen.insert(index);
    }
    Ok(listed)
}

fn positive(digits: &str, what: &str) -> Result<u32, String> {
    match number(digits, what)? {
        0 => Err(format!("{what} is 0; at least 1 is needed")),
        value => Ok(value),
    }
}

fn number(digits: &str, what: &str) -> Result<u32, String> {
    if digits.is_empty() || digits.contains(|c: char| !c.is_ascii_digit()) {
        return Err(format!("{what} is '{digits}', not a number"));
    }
    match digits.parse() {
        Ok(value) if value < MAX_CPUS => Ok(value),
        _ => Err(format!("{what} is {digits}, above {}", MAX_CPUS - 1)),
    }
}

/// As the user writes it: `2s8c2t@n0`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.packages > 1 {
            write!(f, "{}s", self.packages)?;
        }
        write!(f, "{}c{}t", self.cores, self.threads)?;
        self.within.map_or(Ok(()), |within| write!(f, "{within}"))
    }
}

/// As the user writes it: `@n0`, `@efficient`.
impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "@{}", KIND_WORDS[*kind].0),
            Self::Group(level, index) => {
                let letter = GROUPS.iter().find(|(other, _)| other == level).map_or("", |(_, letter)| letter);
                write!(f, "@{letter}{index}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(text: &str) -> Expression {
        text.parse::<Placement>().unwrap().expression
    }

    fn shape_of(packages: u32, cores: u32, threads: u32, within: Option<(Level, u32)>) -> Shape {
        let within = within.map(|(level, index)| Within::Group(level, index));
        Shape { packages, cores, threads, within }
    }

    #[test]
    fn shapes_and_sums() {
        assert_eq!(meaning("6c1t"), Expression::Shapes(vec![shape_of(1, 6, 1, None)]));
        assert_eq!(meaning(" 2s8c2t "), Expression::Shapes(vec![shape_of(2, 8, 2, None)]));
        assert_eq!(
            meaning("3c1t@k1 + 1c2t@n0"),
            Expression::Shapes(vec![
                shape_of(1, 3, 1, Some((Level::Kind, 1))),
                shape_of(1, 1, 2, Some((Level::Node, 0)))
            ])
        );
        assert_eq!(
            meaning("1c1t@llc12"),
            Expression::Shapes(vec![shape_of(1, 1, 1, Some((Level::Llc, 12)))])
        );
        for text in ["6c1t", "2s8c2t", "3c1t@k1", "1c2t@n0", "1c1t@llc12", "1c1t@p3", "2c2t@efficient"] {
            assert_eq!(shape(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_sweeps_lists_and_paths() {
        assert_eq!(meaning("same-core"), Expression::Named(Name::SameCore, None));
        assert_eq!(meaning("no-smt"), Expression::Fill(Fill::NoSmt, MachinePart::Machine));
        assert_eq!(meaning("package"), Expression::Fill(Fill::All, MachinePart::Package));
        assert_eq!(
            meaning("half-cores@p1"),
            Expression::Fill(Fill::HalfCores, MachinePart::Of(Within::Group(Level::Package, 1)))
        );
        assert_eq!(meaning("all-but:2"), Expression::AllBut(2));
        assert_eq!(meaning("spread:5"), Expression::First(Order::Spread, 5));
        assert_eq!(meaning("packed:1"), Expression::First(Order::Packed, 1));
        assert_eq!(meaning("8,0-3"), Expression::List(vec![8, 0, 1, 2, 3]));
        assert_eq!(meaning("0-6:2"), Expression::List(vec![0, 2, 4, 6]));
        assert_eq!(meaning("7"), Expression::List(vec![7]));
        assert_eq!(
            meaning("package:0.core:1-3.pu:0"),
            Expression::Path(vec![
                (Level::Package, vec![0]),
                (Level::Core, vec![1, 2, 3]),
                (Level::Pu, vec![0])
            ])
        );
        assert_eq!(
            meaning("numanode:1.l3:0,2"),
            Expression::Path(vec![(Level::Node, vec![1]), (Level::Llc, vec![0, 2])])
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("", "it is empty"),
            ("0c1t", "the number of cores in '0c1t' is 0; at least 1 is needed"),
            ("1c0t", "the number of logical CPUs a core in '1c0t' is 0; at least 1 is needed"),
            ("0s1c1t", "the number of packages in '0s1c1t' is 0; at least 1 is needed"),
            ("spread:0", "the number of logical CPUs after 'spread:' is 0; at least 1 is needed"),
            ("packed:x", "the number of logical CPUs after 'packed:' is 'x', not a number"),
            ("3c1t+2c", "'2c' is not of the form NcNt or NsNcNt"),
            ("3c1t+", "'' is not of the form NcNt or NsNcNt"),
            (
                "c1t",
                "no such name; names are one-cpu, one-core, same-core, same-l2, same-l3, cross-l3, same-node, cross-node, same-package, cross-package, all, no-smt, half-cores, package, package-no-smt, package-half-cores, package-but-one, node, node-no-smt, node-half-cores, all-but:N, spread:N, packed:N, packed-cores:N",
            ),
            (
                "same_core",
                "no such name; names are one-cpu, one-core, same-core, same-l2, same-l3, cross-l3, same-node, cross-node, same-package, cross-package, all, no-smt, half-cores, package, package-no-smt, package-half-cores, package-but-one, node, node-no-smt, node-half-cores, all-but:N, spread:N, packed:N, packed-cores:N",
            ),
            ("2c1tx", "'2c1tx' is not of the form NcNt or NsNcNt"),
            (
                "2c1t@x3",
                "'@x3' in '2c1t@x3' is not one of @nN (NUMA node), @pN (package), @llcN (LLC domain), @kN (core kind), @performance, @middle, @efficient, @low-power",
            ),
            ("all-but:0", "the number of logical CPUs after 'all-but:' is 0; at least 1 is needed"),
            (
                "package@p1",
                "'package' takes no '@'; all, no-smt, half-cores and the names of pairs do, and shapes",
            ),
            (
                "all@x0",
                "'@x0' in 'all@x0' is not one of @nN (NUMA node), @pN (package), @llcN (LLC domain), @kN (core kind), @performance, @middle, @efficient, @low-power",
            ),
            ("2c1t@n", "the number after '@' in '2c1t@n' is '', not a number"),
            ("99999c1t", "the number of cores in '99999c1t' is 99999, above 65535"),
            ("99999999999c1t", "the number of cores in '99999999999c1t' is 99999999999, above 65535"),
            ("0-3,2", "logical CPU 2 appears twice"),
            ("3-1", "range 3-1 is descending"),
            ("0,,1", "there is no number where a logical CPU is expected"),
            ("4:2", "'4:2' has a step but no range; write 0-6:2"),
            ("0-6:0", "the step of '0-6:0' is not a number above 0"),
            ("70000", "70000 is above 65536"),
            ("package:0.chip:1", "there is no level 'chip'; levels are package, numanode, l3, l2, core, pu"),
            ("core:0.package:0", "'package' follows a smaller level; write the outermost first"),
            ("core:0.core:1", "level 'core' appears twice"),
            ("core:1,1", "core 1 appears twice"),
            ("core:", "there is no number where a core is expected"),
            ("core:0.1", "'1' is not of the form LEVEL:INDEX"),
        ] {
            let error = text.parse::<Placement>().unwrap_err();
            assert_eq!(
                error,
                PlacementError::Grammar { text: text.to_owned(), why: why.to_owned() },
                "{text}"
            );
        }
    }
}
