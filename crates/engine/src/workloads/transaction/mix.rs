//! A text with one or several transactions, each with its weight.
//!
//! ```sql
//! -- :transaction pay weight 3
//! -- :id 1..1000 zipf 1.2
//! UPDATE accounts SET n = n + 1 WHERE id = :id;
//! -- :transaction look weight 7
//! -- :city from SELECT name FROM cities
//! SELECT count(*) FROM customers WHERE city = :city;
//! ```
//!
//! Several files become one text, in which a line `-- :file NAME` stands before each ([`join`]).

use std::path::Path;
use std::sync::Arc;

use super::column::{Column, CsvColumn, List, Pinned};
use super::declaration::{self, Declaration, FILE, MOST_WEIGHT};
use super::expression::Expression;
use super::lexer::{Kind, Quoting, Token};
use super::pgbench::{self, Body};
use super::script::{MOST, MOST_BYTES, Parameter, Script, Source, Step, Think};
use super::sql::{SourceText, trimmed};
use super::statement::{SourceLine, Statement};

/// Name of a transaction that has none.
const UNNAMED: &str = "transaction";

/// Transactions, and the lists that their parameters are drawn from.
#[derive(Debug, Default)]
pub(super) struct Mix {
    pub scripts: Vec<Script>,
    pub lists: Vec<List>,
}

/// A file of a mix.
#[derive(Debug, Clone, Copy)]
pub struct MixFile<'a> {
    /// Its name, which messages begin with.
    pub name: &'a str,
    /// Its weight, if it has one transaction.
    pub weight: Option<u32>,
    /// Its text.
    pub text: &'a str,
}

/// One text of several files, and of variables of pgbench with their numbers. A single file without either stays as it
/// is.
///
/// # Errors
/// A weight, a variable or a file that cannot be written so.
pub fn join(files: &[MixFile<'_>], defines: &[(String, String)]) -> Result<String, String> {
    if let ([MixFile { weight: None, text, .. }], []) = (files, defines) {
        return Ok((*text).to_owned());
    }
    let mut joined = String::new();
    for (name, number) in defines {
        let line = format!("-- :define {name} {number}");
        match declaration::read(&line) {
            Some(Ok(Declaration::Define { .. })) if !line.contains('\n') => joined += &format!("{line}\n"),
            _ => {
                return Err(format!("--define {name}={number} is not a name and a number, such as scale=10"));
            }
        }
    }
    for file in files {
        let name: String = file.name.chars().map(|next| if next.is_control() { '?' } else { next }).collect();
        if file.text.lines().any(|line| line.starts_with(FILE)) {
            return Err(format!(
                "{name}: it is a text of several files already: give it alone, without a weight"
            ));
        }
        if file.weight.is_some_and(|weight| !(1..=MOST_WEIGHT).contains(&weight)) {
            return Err(format!("{name}: a weight is a whole number from 1 to {MOST_WEIGHT}"));
        }
        let weight = file.weight.map_or_else(String::new, |weight| format!(" weight {weight}"));
        joined += &format!("{FILE}{name}{weight}\n{}\n", file.text.trim_end());
    }
    Ok(joined)
}

/// The same text with absolute paths of CSV files, their numbers of values and hashes, so that the text alone says
/// whether a file has changed. Relative paths begin at `folder`.
///
/// # Errors
/// A file that cannot be read, has no such column, or has changed since it was pinned.
pub fn pin_files(text: &str, folder: &Path) -> Result<String, String> {
    let mut pinned = String::with_capacity(text.len());
    // Below a head, a line that looks like a declaration is part of a statement: it goes to the server as it is.
    let mut is_head = true;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let declared = declaration::read(line);
        let begins = line.starts_with(FILE) || matches!(declared, Some(Ok(Declaration::Transaction { .. })));
        is_head = begins || (is_head && may_be_head(line));
        let Some(Ok(Declaration::Csv { name, path, column, as_text, zipf, pinned: before })) =
            declared.filter(|_| is_head)
        else {
            pinned.push_str(line);
            continue;
        };
        let place = SourceLine { file: None, line: number + 1 };
        let path = folder.join(path);
        let csv = CsvColumn { place, path: path.clone(), column, as_text, pinned: before };
        let Pinned { values, sha256 } = csv.pin(&path).map_err(|why| format!("{}: {why}", csv.place))?;
        let shown = path.to_str().filter(|path| !path.contains(char::is_control));
        let shown = shown.ok_or_else(|| format!("{}: the path is not text in UTF-8", csv.place))?;
        let column = match &csv.column {
            Column::Number(number) => number.to_string(),
            Column::Name(name) => format!("\"{name}\""),
        };
        let as_text = if as_text { " as text" } else { "" };
        let zipf = zipf.map_or_else(String::new, |exponent| format!(" zipf {exponent}"));
        pinned += &format!(
            "-- :{name} in {shown} column {column}{as_text}{zipf} ({values} values, sha256 {sha256})\n"
        );
    }
    Ok(pinned)
}

/// Whether a head goes on in this line.
fn may_be_head(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with("--")
}

/// Reads a text.
///
/// # Errors
/// The fault, with its place.
pub(super) fn parse(text: &str, quoting: Quoting, outlive_rollback: &str) -> Result<Mix, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("{} bytes are more than the allowed {MOST_BYTES}", text.len()));
    }
    if text.contains('\0') {
        return Err("it has a zero byte: is it a file of SQL?".into());
    }
    let mut reader = Reader { mix: Mix::default(), defines: Vec::new(), has_pgbench: false };
    let files = files(text)?;
    let is_one = files.len() == 1;
    for (at, file) in files.into_iter().enumerate() {
        let part = SourceText {
            text: file.text,
            file: file.name.map(Arc::from),
            first_line: file.first_line,
            quoting,
            outlive_rollback,
        };
        reader.part(&part, file.weight, at == 0 && !is_one)?;
    }
    let Reader { mix, defines, has_pgbench } = reader;
    match defines.first() {
        Some(define) if !has_pgbench => Err(format!(
            "no pgbench script uses --define {}: a parameter has its values in the head, such as -- :{0} 1..1000",
            define.name
        )),
        _ => Ok(mix),
    }
}

/// A file in a text.
struct FileText<'a> {
    name: Option<&'a str>,
    weight: Option<u32>,
    first_line: usize,
    text: &'a str,
}

/// The files of a text: what stands before the first, and each file. Lines of a file are counted from 1.
fn files(text: &str) -> Result<Vec<FileText<'_>>, String> {
    let mut files = vec![FileText { name: None, weight: None, first_line: 1, text }];
    let (mut begin, mut at) = (0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if let Some(named) = line.strip_prefix(FILE) {
            let (name, weight) =
                declaration::named(named).filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    format!("line {}: write -- :file NAME, or -- :file NAME weight 1", number + 1)
                })?;
            if let Some(last) = files.last_mut() {
                last.text = &text[begin..at];
            }
            begin = at + line.len();
            files.push(FileText { name: Some(name), weight, first_line: 1, text: &text[begin..] });
        }
        at += line.len();
    }
    Ok(files)
}

/// A transaction in a part.
struct Section<'a, 'b> {
    name: Option<&'a str>,
    weight: Option<u32>,
    tokens: &'b [Token<'a>],
}

struct Reader {
    mix: Mix,
    /// Variables of scripts of pgbench.
    defines: Vec<Parameter>,
    has_pgbench: bool,
}

impl Reader {
    fn part(
        &mut self,
        part: &SourceText<'_>,
        weight: Option<u32>,
        is_before_files: bool,
    ) -> Result<(), String> {
        let tokens = part.tokens()?;
        let sections = sections(part, &tokens)?;
        let has_names = sections.iter().any(|section| section.name.is_some());
        if weight.is_some() && has_names {
            return Err(part.fault(0, "its transactions have weights of their own: give it without one"));
        }
        for section in &sections {
            // What stands before the first transaction or file declares variables only.
            let is_before = is_before_files || (has_names && section.name.is_none());
            let head = self.head(part, section.tokens)?;
            if is_before {
                let first = trimmed(section.tokens).first();
                let why = "statements stand before the first line -- :transaction: write one before them";
                first.map_or(Ok(()), |first| Err(part.fault(first.at, why)))?;
                let why = "it stands before the first line -- :transaction: write it below that line";
                head.parameters.first().map_or(Ok(()), |first| Err(format!("{}: {why}", first.place)))?;
                head.fault.map_or(Ok(()), Err)?;
                continue;
            }
            self.script(part, section, head, weight)?;
        }
        Ok(())
    }

    fn script(
        &mut self,
        part: &SourceText<'_>,
        section: &Section<'_, '_>,
        head: Head,
        weight: Option<u32>,
    ) -> Result<(), String> {
        let at = section.tokens.first().map_or(0, |token| token.at);
        let Head { parameters, think, fault, .. } = head;
        let body = match pgbench::is_script(part, section.tokens) {
            true => {
                self.has_pgbench = true;
                let client = Parameter {
                    name: "client_id".to_owned(),
                    place: part.place(at),
                    source: Source::Session,
                };
                let known = [client].into_iter().chain(self.defines.iter().cloned()).chain(parameters);
                pgbench::parse(part, section.tokens, known.collect())?
            }
            false => match fault {
                Some(fault) => return Err(fault),
                None => plain(part, section.tokens, parameters)?,
            },
        };
        let name = match (section.name, &part.file) {
            (Some(name), _) => name.to_owned(),
            (None, Some(file)) => self
                .free_name(Path::new(&**file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(UNNAMED)),
            (None, None) => UNNAMED.to_owned(),
        };
        if self.mix.scripts.iter().any(|script| script.name == name) {
            return Err(
                part.fault(at, format_args!("two transactions are called {name}: give each its own name"))
            );
        }
        if self.mix.scripts.len() >= MOST {
            return Err(part.fault(at, format_args!("more than {MOST} transactions")));
        }
        let weight = section.weight.or(weight).unwrap_or(1);
        let Body { parameters, statements, steps } = body;
        self.mix.scripts.push(Script { name, weight, parameters, statements, steps, think });
        Ok(())
    }

    /// A name that no other file has.
    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &str| self.mix.scripts.iter().all(|script| script.name != name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
    }

    /// The declarations of the head, which ends at the first line that is neither empty nor a comment.
    fn head(&mut self, part: &SourceText<'_>, tokens: &[Token<'_>]) -> Result<Head, String> {
        let mut head = Head::default();
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Ok(head) };
        let mut at = first.at;
        for line in part.text[first.at..last.at + last.text.len()].split_inclusive('\n') {
            let begin = at;
            at += line.len();
            if !may_be_head(line) {
                break;
            }
            match declaration::read(line) {
                None => {}
                Some(Err(why)) => head.fault = head.fault.or_else(|| Some(part.fault(begin, why))),
                Some(Ok(declared)) => self.declare(part, begin, declared, &mut head)?,
            }
        }
        Ok(head)
    }

    fn declare(
        &mut self,
        part: &SourceText<'_>,
        at: usize,
        declared: Declaration<'_>,
        head: &mut Head,
    ) -> Result<(), String> {
        let place = part.place(at);
        let (name, source) = match declared {
            // Where it begins a section it was read before.
            Declaration::Transaction { .. } => return Ok(()),
            Declaration::Think(think) if head.think.is_none() => {
                head.think = Some(think);
                return Ok(());
            }
            Declaration::Think(_) => return Err(format!("{place}: a second think time: leave one out")),
            Declaration::Define { name, number } => {
                let parameter = |source| Parameter { name: name.to_owned(), place: place.clone(), source };
                let number = Expression::parse(number, &|name| Err(name.to_owned()));
                let number = number.map_err(|why| format!("{place}: {why}"))?;
                self.defines.push(parameter(Source::Expression(number)));
                return Ok(());
            }
            Declaration::FillIn { name, kind } => {
                return Err(format!(
                    "{place}: the values of :{name} ({kind}) are not filled in yet: write a range, such as -- :{name} \
                     1..1000, or -- :{name} from SELECT …"
                ));
            }
            Declaration::Range { name, low, high, zipf } => (name, Source::Range { low, high, zipf }),
            Declaration::Query { name, query } => {
                let list = self.list(List::Query(query_of(part, &place, query)?));
                (name, Source::List { list, zipf: None })
            }
            Declaration::Csv { name, path, column, as_text, zipf, pinned } => {
                let csv = CsvColumn { place: place.clone(), path, column, as_text, pinned };
                (name, Source::List { list: self.list(List::Csv(csv)), zipf })
            }
        };
        if head.parameters.iter().any(|earlier| earlier.name == name) {
            return Err(format!("{place}: the parameter :{name} is declared twice: give each its own name"));
        }
        head.parameters.push(Parameter { name: name.to_owned(), place, source });
        match head.parameters.len() > MOST {
            true => Err(format!("{} parameters are more than the allowed {MOST}", head.parameters.len())),
            false => Ok(()),
        }
    }

    fn list(&mut self, list: List) -> usize {
        let same = |known: &List| match (known, &list) {
            (List::Query(one), List::Query(other)) => {
                one.text(|_| String::new()) == other.text(|_| String::new())
            }
            (List::Csv(one), List::Csv(other)) => {
                (&one.path, &one.column, one.as_text) == (&other.path, &other.column, other.as_text)
            }
            _ => false,
        };
        self.mix.lists.iter().position(same).unwrap_or_else(|| {
            self.mix.lists.push(list);
            self.mix.lists.len() - 1
        })
    }
}

/// What the head of a section declares.
#[derive(Default)]
struct Head {
    parameters: Vec<Parameter>,
    think: Option<Think>,
    /// The first line that looks like a declaration and is not one; a comment in a script of pgbench.
    fault: Option<String>,
}

/// The sections of a part: what stands before the first line of a transaction, and each transaction.
fn sections<'a, 'b>(part: &SourceText<'a>, tokens: &'b [Token<'a>]) -> Result<Vec<Section<'a, 'b>>, String> {
    let mut sections = vec![Section { name: None, weight: None, tokens }];
    let mut from = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Space || !token.text.starts_with("--") || !part.begins_line(token.at) {
            continue;
        }
        match declaration::read(token.text) {
            Some(Ok(Declaration::Transaction { name, weight })) => {
                if let Some(last) = sections.last_mut() {
                    last.tokens = &tokens[from..at];
                }
                from = at;
                sections.push(Section { name: Some(name), weight, tokens: &tokens[at..] });
            }
            Some(Err(why)) if token.text[2..].trim_start().starts_with(":transaction") => {
                return Err(part.fault(token.at, why));
            }
            _ => {}
        }
    }
    Ok(sections)
}

/// The query of a list, which may only read.
fn query_of(part: &SourceText<'_>, place: &SourceLine, query: &str) -> Result<Statement, String> {
    let line = SourceText { text: query, file: place.file.clone(), first_line: place.line, ..*part };
    let tokens = line.tokens()?;
    let end = tokens.iter().rposition(|token| !matches!(token.kind, Kind::Space | Kind::Semicolon));
    let tokens = &tokens[..end.map_or(0, |end| end + 1)];
    if let Some(more) = tokens.iter().find(|token| token.kind == Kind::Semicolon) {
        return Err(line.fault(more.at, "one query gives a column: leave the second out"));
    }
    let missing = |name: &str| format!("a query of values has no parameters, and :{name} is one");
    let statement = line.statement(trimmed(tokens), &[], &missing)?;
    match statement.writes() {
        Some(why) => Err(format!("{place}: {why}, and a query of values only reads")),
        None => Ok(statement),
    }
}

/// One transaction of plain statements.
fn plain(part: &SourceText<'_>, tokens: &[Token<'_>], parameters: Vec<Parameter>) -> Result<Body, String> {
    let parts: Vec<&[Token<'_>]> = tokens
        .split(|token| token.kind == Kind::Semicolon)
        .map(trimmed)
        .filter(|tokens| !tokens.is_empty())
        .collect();
    if parts.is_empty() {
        let at = tokens.first().map_or(0, |token| token.at);
        return Err(part.fault(at, "it has no statement: write one, such as SELECT 1"));
    }
    if parts.len() > MOST {
        return Err(format!("{} statements are more than the allowed {MOST}", parts.len()));
    }
    let missing = |name: &str| {
        format!("the head has no values for :{name}: write a line such as -- :{name} 1..1000 there")
    };
    let statement = |tokens| part.statement(tokens, &parameters, &missing);
    let statements: Vec<Statement> = parts.into_iter().map(statement).collect::<Result<_, _>>()?;
    let is_used = |at: usize| statements.iter().any(|statement| statement.parameters().contains(&at));
    if let Some((_, unused)) = parameters.iter().enumerate().find(|(at, _)| !is_used(*at)) {
        return Err(format!(
            "{}: no statement uses the parameter :{}: leave its line out",
            unused.place, unused.name
        ));
    }
    let all = (0..statements.len()).map(Step::Statement);
    let steps = [Step::Begin].into_iter().chain(all).chain([Step::End]).collect();
    Ok(Body { parameters, statements, steps })
}
