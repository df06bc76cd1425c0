//! Rust text with everything but code blanked out: a lexer for comments and literals only.
//!
//! Source: The Rust Reference, chapters "Comments" and "Tokens".

/// A Rust file, as written and as code. All three texts have equal length and equal lines.
pub struct SourceFile<'a> {
    /// Path relative to the workspace.
    pub path: &'a str,
    /// As written.
    pub text: &'a str,
    /// Comments, strings and characters replaced by spaces.
    pub code: String,
    /// `code` without items that exist only under `cfg(test)`; empty for a file of tests.
    pub shipped: String,
}

impl<'a> SourceFile<'a> {
    /// Reads the text.
    pub fn new(path: &'a str, text: &'a str) -> Self {
        let code = code_only(text);
        let shipped = if is_test_file(path) { String::new() } else { without_tests(&code, &code) };
        Self { path, text, code, shipped }
    }

    /// The text without comments and without items of tests; empty for a file of tests.
    pub fn shipped_strings(&self) -> String {
        if is_test_file(self.path) {
            return String::new();
        }
        without_tests(&self.code, &self.without_comments())
    }

    /// Comments and strings, with the code replaced by spaces.
    pub fn prose(&self) -> String {
        let kept =
            |(written, code): (u8, u8)| if written == code && written != b'\n' { b' ' } else { written };
        let prose = self.text.bytes().zip(self.code.bytes()).map(kept).collect();
        String::from_utf8(prose).unwrap_or_default()
    }

    /// The text without comments.
    pub fn without_comments(&self) -> String {
        blanked(self.text, &|start| start.first() == Some(&b'/'))
    }
}

/// Whether a path matches an entry of a list: the file itself, or in the folder, which ends in a slash.
pub fn is_place(path: &str, place: &str) -> bool {
    path == place || (place.ends_with('/') && path.starts_with(place))
}

/// Files that are built for tests and benchmarks only.
fn is_test_file(path: &str) -> bool {
    let folders_of_tests = path.split('/').any(|part| part == "tests" || part == "benches");
    let of_tests = ["/tests.rs", "_tests.rs", "/fixtures.rs"];
    folders_of_tests || of_tests.iter().any(|end| path.ends_with(end))
}

/// Whether a byte belongs to a name (bytes of non-ASCII letters too).
pub fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Places where `word` stands as a whole word.
pub fn words<'t>(code: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after = bytes.get(at + word.len());
        !before.is_some_and(|&byte| in_word(byte)) && !after.is_some_and(|&byte| in_word(byte))
    })
}

/// Line of a position, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() + 1
}

/// Position of the brace that closes the one at `open`, or the end of the text.
pub fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Where the item that starts at or after `from` has its body: `{` outside of all brackets, or
/// nothing when a `;` comes first.
pub fn body(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_i64;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// `text` without what the code of the same length has under `cfg(test)`.
fn without_tests(code: &str, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let marks = ["#[cfg(test)]", "#[cfg(all(test"];
    for (at, _) in marks.iter().flat_map(|mark| code.match_indices(mark)) {
        // The attribute's brackets are balanced, so that the search starts at its first byte.
        let end = match body(code, at) {
            Some(open) => closing_brace(code, open) + 1,
            None => code[at..].find(';').map_or(code.len(), |end| at + end + 1),
        };
        blank(&mut bytes, at, end);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text with comments and literals blanked; quotes go too.
fn code_only(text: &str) -> String {
    blanked(text, &|_| true)
}

/// The text with those comments and literals blanked that have such first bytes.
fn blanked(text: &str, is_so: &dyn Fn(&[u8]) -> bool) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        at = match end_of_non_code(text, at) {
            Some(end) => {
                if is_so(&bytes[at..end]) {
                    blank(&mut out, at, end);
                }
                end
            }
            None if in_word(bytes[at]) => end_of_word(bytes, at),
            None => at + 1,
        };
    }
    // Blanks start and end between characters, so this is still UTF-8.
    String::from_utf8_lossy(&out).into_owned()
}

fn blank(bytes: &mut [u8], from: usize, to: usize) {
    let to = to.min(bytes.len());
    for byte in bytes[from..to].iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

fn end_of_word(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&byte| in_word(byte)).count()
}

/// End of the comment or literal that starts here, if one does.
fn end_of_non_code(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    let length = match rest {
        [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        [b'\'', ..] => character(&text[at..])?,
        [b'r' | b'b' | b'c', ..] => raw_string(rest)?,
        _ => return None,
    };
    Some(at + length)
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

/// Up to the closing quote; a backslash takes the next byte with it.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `'x'`; nothing for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut characters = rest.char_indices().skip(2);
    let (at, quote) = characters.next()?;
    (quote == '\'').then_some(at + 1)
}

/// `r"…"`, `br##"…"##`, `cr"…"`; nothing for a name or a string with escapes.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = end_of_word(rest, 0);
    if !matches!(&rest[..prefix], b"r" | b"br" | b"cr") {
        return None;
    }
    let hashes = rest[prefix..].iter().take_while(|&&byte| byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let closing: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let found = rest[open + 1..].windows(closing.len()).position(|window| window == closing);
    Some(found.map_or(rest.len(), |at| open + 1 + at + closing.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code with runs of spaces made one.
    fn squeezed(text: &str) -> String {
        code_only(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_no_code() {
        assert_eq!(squeezed("a // b {\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(squeezed("a /* never closed"), "a");
    }

    #[test]
    fn strings_and_characters_are_no_code() {
        assert_eq!(
            squeezed(r#"a("{ \" }"); b('{'); c('\''); d('"'); e(b"}", b'}')"#),
            "a( ); b( ); c( ); d( ); e(b , b )"
        );
        assert_eq!(squeezed("f('é', '\\u{e9}', 'x')"), "f( , , )");
    }

    #[test]
    fn raw_strings_end_at_their_own_mark() {
        assert_eq!(squeezed(r####"a(r"\"); b(r#"x"y}"#); c(br##""#"##);"####), "a( ); b( ); c( );");
        assert_eq!(squeezed("r#fn rest bird"), "r#fn rest bird");
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(
            squeezed("fn f<'a>(x: &'a str) -> X<'_> { 'outer: loop {} }"),
            "fn f<'a>(x: &'a str) -> X<'_> { 'outer: loop {} }"
        );
    }

    #[test]
    fn lines_and_lengths_stay() {
        let text = "a \"é\n\\\"\" /* \n\n */ b";
        let code = code_only(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(line_of(&code, code.find('b').expect("b is code")), 4);
    }

    #[test]
    fn items_under_cfg_test_are_not_shipped() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { if x {} }\n}\n#[cfg(test)]\nmod other;\n#[cfg(not(test))]\nfn c() {}";
        let file = SourceFile::new("crates/x/src/a.rs", text);
        assert!(file.shipped.contains("fn a") && file.shipped.contains("fn c"));
        assert!(!file.shipped.contains("fn b") && !file.shipped.contains("mod other"));
        assert!(SourceFile::new("crates/x/tests/a.rs", text).shipped.is_empty());
        assert!(SourceFile::new("crates/x/src/tests.rs", text).shipped.is_empty());
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("unsafe_code unsafe notunsafe", "unsafe").collect::<Vec<_>>(), [12]);
    }
}
