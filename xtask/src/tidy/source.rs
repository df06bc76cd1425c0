//! A Rust file as tokens (`proc-macro2`), and its text with only some of them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::Range;

/// A file as written, and what of it is code.
pub struct SourceFile<'a> {
    /// Path relative to the workspace.
    pub path: &'a str,
    /// As written.
    pub text: &'a str,
    /// The outermost tokens, without items that exist only under `cfg(test)`; none for a file of tests.
    pub shipped: Vec<TokenTree>,
    tokens: Vec<Token>,
}

/// A token of one character or more, or a bracket.
struct Token {
    range: Range<usize>,
    /// Whether it is a string or a character.
    is_literal: bool,
    is_test: bool,
}

impl<'a> SourceFile<'a> {
    /// Reads the text; a file in another language, or one that the compiler refuses, has no tokens.
    pub fn new(path: &'a str, text: &'a str) -> Self {
        let stream: TokenStream =
            if path.ends_with(".rs") { text.parse().unwrap_or_default() } else { TokenStream::new() };
        let is_test = is_test_file(path);
        let mut tokens = Vec::new();
        flatten(text, stream.clone(), is_test, &mut tokens);
        let shipped = if is_test { Vec::new() } else { split(stream).0 };
        Self { path, text, shipped, tokens }
    }

    /// All code without strings and characters. As in the texts of the other parts, spaces stand for what is left
    /// out, so that lines and places are those of the file.
    pub fn code(&self) -> String {
        self.only(|token| !token.is_literal)
    }

    /// Its code without tests, strings and characters.
    pub fn shipped_code(&self) -> String {
        self.only(|token| !token.is_literal && !token.is_test)
    }

    /// Its code without tests.
    pub fn shipped_text(&self) -> String {
        self.only(|token| !token.is_test)
    }

    /// The text without comments.
    pub fn without_comments(&self) -> String {
        self.only(|_| true)
    }

    /// Comments and strings; of a file in another language all of it.
    pub fn prose(&self) -> String {
        let kept =
            |(written, code): (u8, u8)| if written == code && written != b'\n' { b' ' } else { written };
        let prose = self.text.bytes().zip(self.code().into_bytes()).map(kept).collect();
        String::from_utf8(prose).unwrap_or_default()
    }

    fn only(&self, is_kept: impl Fn(&Token) -> bool) -> String {
        let text = self.text.as_bytes();
        let mut bytes: Vec<u8> = text.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }).collect();
        for Token { range, .. } in self.tokens.iter().filter(|token| is_kept(token)) {
            bytes[range.clone()].copy_from_slice(&text[range.clone()]);
        }
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// Line of a position, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Files that are built for tests and benchmarks only.
fn is_test_file(path: &str) -> bool {
    let folders_of_tests = path.split('/').any(|part| part == "tests" || part == "benches");
    let of_tests = ["/tests.rs", "_tests.rs", "/fixtures.rs"];
    folders_of_tests || of_tests.iter().any(|end| path.ends_with(end))
}

/// Adds the tokens of a stream; comments of documentation, which are attributes there, are none.
fn flatten(text: &str, stream: TokenStream, is_test: bool, tokens: &mut Vec<Token>) {
    let (shipped, tests) = split(stream);
    let shipped = shipped.into_iter().map(|tree| (tree, is_test));
    for (tree, is_test) in shipped.chain(tests.into_iter().map(|tree| (tree, true))) {
        let range = tree.span().byte_range();
        let written = &text[range.clone()];
        if written.starts_with("//") || written.starts_with("/*") {
            continue;
        }
        if let TokenTree::Group(group) = tree {
            let brackets = [group.span_open(), group.span_close()];
            let brackets =
                brackets.map(|span| Token { range: span.byte_range(), is_literal: false, is_test });
            tokens.extend(brackets);
            flatten(text, group.stream(), is_test, tokens);
        } else {
            let is_literal = matches!(tree, TokenTree::Literal(_)) && written.contains(['"', '\'']);
            tokens.push(Token { range, is_literal, is_test });
        }
    }
}

/// Separates items under `cfg(test)`, which end with their first pair of braces or a semicolon, from the others.
fn split(stream: TokenStream) -> (Vec<TokenTree>, Vec<TokenTree>) {
    let (mut shipped, mut tests, mut is_test) = (Vec::new(), Vec::new(), false);
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        is_test |= is_punct(&tree, '#') && trees.peek().is_some_and(is_cfg_test);
        let is_end = is_punct(&tree, ';')
            || matches!(&tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if is_test { &mut tests } else { &mut shipped }.push(tree);
        is_test &= !is_end;
    }
    (shipped, tests)
}

/// Whether a token is this mark.
pub fn is_punct(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_cfg_test(tree: &TokenTree) -> bool {
    let text = match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => tree.to_string(),
        _ => return false,
    };
    let text = text.replace(' ', "");
    text == "[cfg(test)]" || text.starts_with("[cfg(all(test")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code with runs of spaces made one.
    fn squeezed(text: &str) -> String {
        SourceFile::new("a.rs", text).code().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_strings_and_characters_are_no_code() {
        assert_eq!(squeezed("/// x\n//! y\na // b {\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(squeezed(r#"a("{ \" }", '\'', b"}", 'x', 1.5)"#), "a( , , , , 1.5)");
        assert_eq!(squeezed(r####"a(r"\"); b(r#"x"y}"#); c(br##""#"##);"####), "a( ); b( ); c( );");
    }

    #[test]
    fn lifetimes_are_code() {
        let text = "fn f<'a>(x: &'a str) -> X<'_> { 'outer: loop {} }";
        assert_eq!(squeezed(text), text);
    }

    #[test]
    fn lines_and_lengths_stay() {
        let text = "a \"é\n\\\"\" /* \n\n */ b";
        let code = SourceFile::new("a.rs", text).code();
        assert_eq!(code.len(), text.len());
        assert_eq!(line_of(&code, code.find('b').expect("b is code")), 4);
        assert_eq!(SourceFile::new("a.rs", text).prose().trim(), "\"é\n\\\"\" /* \n\n */");
    }

    #[test]
    fn items_under_cfg_test_are_not_shipped() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { if x {} }\n}\n#[cfg(test)]\nmod other;\n\
                    #[cfg(not(test))]\nimpl c { #[cfg(test)] fn d() {} fn e() {} }";
        let shipped = SourceFile::new("crates/x/src/a.rs", text).shipped_code();
        assert!(["fn a", "impl c", "fn e"].iter().all(|kept| shipped.contains(kept)), "{shipped}");
        assert!(["fn b", "mod other", "fn d"].iter().all(|left| !shipped.contains(left)), "{shipped}");
        for path in ["crates/x/tests/a.rs", "crates/x/src/tests.rs"] {
            assert!(SourceFile::new(path, text).shipped_code().trim().is_empty());
        }
    }
}
