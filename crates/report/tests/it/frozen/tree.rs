//! JSON for eyes: keys in their order, an array or object on one line where it fits, fractions rounded so that
//! the last bits of a mathematical library do not show, long arrays cut.

/// Columns of a line.
const WIDTH: usize = 160;
/// Significant digits of fractions; all of them are in `figures.tsv`.
const DIGITS: usize = 6;
/// Elements of an array up to which it is shown whole.
const WHOLE: usize = 8;
/// Elements of an array that is cut.
const FIRST: usize = 4;

enum Tree {
    /// A number, a string with its quotes and escapes, or a word.
    Leaf(String),
    /// Brackets, and what is inside.
    Branch(char, char, Vec<Tree>),
    Pair(String, Box<Tree>),
}

/// The text of one JSON value, as shown. Long arrays are cut to the first elements, their number and a sum of the whole.
pub fn pretty(json: &str) -> String {
    shown(json, DIGITS, WHOLE)
}

fn shown(json: &str, digits: usize, most: usize) -> String {
    let mut reader = Reader { rest: json.trim(), digits };
    let tree = reader.value();
    assert!(reader.rest.is_empty(), "left of the JSON text: {}", reader.rest);
    let mut out = String::new();
    show(&cut(tree, most), 0, &mut out);
    out + "\n"
}

struct Reader<'a> {
    rest: &'a str,
    digits: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Tree {
        match self.rest.chars().next() {
            Some('[') => self.branch('[', ']'),
            Some('{') => self.branch('{', '}'),
            Some('"') => {
                let mut escaped = true;
                let closes = |c: char| {
                    let closes = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    closes
                };
                let end = self.rest.find(closes).unwrap() + 1;
                let text = self.take(end);
                match self.rest.strip_prefix(':') {
                    Some(rest) => {
                        self.rest = rest.trim_start();
                        Tree::Pair(text, Box::new(self.value()))
                    }
                    None => Tree::Leaf(text),
                }
            }
            _ => {
                let end = self.rest.find([',', ']', '}']).unwrap_or(self.rest.len());
                let text = self.take(end);
                Tree::Leaf(rounded(text.trim(), self.digits))
            }
        }
    }

    fn branch(&mut self, open: char, close: char) -> Tree {
        self.take(1);
        let mut inside = Vec::new();
        while !self.rest.starts_with(close) {
            inside.push(self.value());
            self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest).trim_start();
        }
        self.take(1);
        Tree::Branch(open, close, inside)
    }

    fn take(&mut self, end: usize) -> String {
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        taken.to_owned()
    }
}

/// A fraction with so many significant digits; whole numbers and words as they are.
fn rounded(text: &str, digits: usize) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.contains(['.', 'e', 'E']) => {
            let rounded: f64 = format!("{number:.*e}", digits - 1).parse().unwrap();
            // `1.0` stays a fraction.
            format!("{rounded:?}")
        }
        _ => text.to_owned(),
    }
}

fn cut(tree: Tree, most: usize) -> Tree {
    match tree {
        Tree::Branch('[', close, inside) if inside.len() > most => {
            let (count, sum) = (inside.len(), checksum(&inside));
            let mut first: Vec<Tree> = inside.into_iter().take(FIRST).map(|tree| cut(tree, most)).collect();
            first.push(Tree::Leaf(format!("… {count} in all, sum {sum:016x}")));
            Tree::Branch('[', close, first)
        }
        Tree::Branch(open, close, inside) => {
            Tree::Branch(open, close, inside.into_iter().map(|tree| cut(tree, most)).collect())
        }
        Tree::Pair(name, value) => Tree::Pair(name, Box::new(cut(*value, most))),
        Tree::Leaf(_) => tree,
    }
}

/// FNV-1a of the elements as they would be shown on one line.
fn checksum(trees: &[Tree]) -> u64 {
    let text: String = trees.iter().map(flat).collect();
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

fn flat(tree: &Tree) -> String {
    match tree {
        Tree::Leaf(text) => text.clone(),
        Tree::Pair(name, value) => format!("{name}: {}", flat(value)),
        Tree::Branch(open, close, inside) => {
            format!("{open}{}{close}", inside.iter().map(flat).collect::<Vec<_>>().join(", "))
        }
    }
}

fn show(tree: &Tree, depth: usize, out: &mut String) {
    let line = flat(tree);
    let (name, branch) = match tree {
        Tree::Pair(name, value) => (format!("{name}: "), &**value),
        _ => (String::new(), tree),
    };
    match branch {
        Tree::Branch(open, close, inside) if line.chars().count() + 2 * depth > WIDTH => {
            out.push_str(&format!("{name}{open}\n"));
            for one in inside {
                out.push_str(&"  ".repeat(depth + 1));
                show(one, depth + 1, out);
                out.push('\n');
            }
            out.push_str(&format!("{}{close}", "  ".repeat(depth)));
        }
        _ => out.push_str(&line),
    }
}

#[test]
fn json_is_shown_in_order_rounded_and_cut() {
    let json = r#"{"b": [1.23456789, 7, -1e-7, 3.0], "a\"]": {"c": null, "d": "x, }"}}"#;
    assert_eq!(
        shown(json, 3, 9),
        "{\"b\": [1.23, 7, -1e-7, 3.0], \"a\\\"]\": {\"c\": null, \"d\": \"x, }\"}}\n"
    );
    let long = format!("[{}1]", "12345678901234567890123456789012345678901, ".repeat(9));
    let text = shown(&long, 3, 9);
    let other = shown(&long.replace("1]", "2]"), 3, 9);
    assert!(
        text.starts_with("[\n  12345678901234567890123456789012345678901\n")
            && text.contains("… 10 in all, sum "),
        "{text}"
    );
    assert_ne!(text, other);
}
