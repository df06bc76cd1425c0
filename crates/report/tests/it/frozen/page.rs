//! A page as lines of text: headings, paragraphs, items, tables, and what charts and drawings are called.
//! Scripts, styles and coordinates are left out. It reads the markup of our own template, which is regular.

/// Elements that begin and end a line, and how the line begins.
const BLOCKS: [(&str, &str); 30] = [
    ("caption", "table: "),
    ("dd", "    "),
    ("details", ""),
    ("div", ""),
    ("dl", ""),
    ("dt", "* "),
    ("figcaption", ""),
    ("figure", ""),
    ("footer", ""),
    ("g", "+ "),
    ("h1", "# "),
    ("h2", "## "),
    ("h3", "### "),
    ("h4", "#### "),
    ("h5", "##### "),
    ("header", ""),
    ("html", ""),
    ("li", "- "),
    ("main", ""),
    ("nav", ""),
    ("ol", ""),
    ("p", ""),
    ("pre", ""),
    ("section", ""),
    ("summary", "> "),
    ("svg", ""),
    ("table", ""),
    ("thead", ""),
    ("tr", ""),
    ("ul", ""),
];
/// Attributes that are read out or shown by a pointer, or that tell scripts and styles what an element is.
const ATTRIBUTES: [&str; 8] =
    ["id", "class", "aria-label", "title", "data-chart", "data-index", "data-title", "data-description"];

/// The page's text.
pub fn text(page: &str) -> String {
    let mut reader = Reader::default();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, behind) = after.split_once('>').unwrap();
        let name = tag.split_whitespace().next().unwrap_or_default();
        reader.text(before);
        rest = behind;
        if matches!(name, "script" | "style") {
            rest = rest.split_once(&format!("</{name}>")).unwrap().1;
            continue;
        }
        match tag.strip_prefix('/') {
            Some(name) => reader.close(name),
            None => reader.open(name, tag),
        }
    }
    reader.end_line();
    reader.lines.join("\n") + "\n"
}

#[derive(Default)]
struct Reader {
    lines: Vec<String>,
    line: String,
    prefix: &'static str,
    /// What spans end with, innermost last.
    ends: Vec<&'static str>,
    is_verbatim: bool,
    /// What stands below the head of a table: how its columns are aligned.
    rule: String,
}

impl Reader {
    fn text(&mut self, text: &str) {
        let text = decoded(text);
        if self.is_verbatim {
            self.line.push_str(&text);
            return;
        }
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            if at > 0 && !self.line.is_empty() && !self.line.ends_with(' ') {
                self.line.push(' ');
            }
            self.line.push_str(word);
        }
    }

    fn open(&mut self, name: &str, tag: &str) {
        if let Some((_, prefix)) = BLOCKS.iter().find(|(block, _)| *block == name) {
            self.end_line();
            self.prefix = prefix;
        }
        match name {
            "section" | "figure" | "table" | "details" => self.lines.push(String::new()),
            "pre" => self.is_verbatim = true,
            "thead" => self.rule.push('|'),
            "th" | "td" => self.line.push_str("| "),
            _ => {}
        }
        if name == "th" && !self.rule.is_empty() {
            self.rule.push_str(if tag.contains("class=\"n\"") { "--:|" } else { "---|" });
        }
        let class = attribute(tag, "class").unwrap_or_default();
        let mark = match class.as_str() {
            "figure" | "interval" => "_",
            "command" => "`",
            _ => "",
        };
        if matches!(name, "span" | "i") {
            self.ends.push(mark);
        }
        self.line.push_str(mark);
        if mark.is_empty()
            && !matches!(class.as_str(), "n" | "scroll")
            && !matches!(name, "meta" | "rect" | "text")
        {
            self.attributes(name, tag);
        }
    }

    /// `(class: wide; id: machine)`.
    fn attributes(&mut self, name: &str, tag: &str) {
        let known = |key: &&str| Some(format!("{key}: {}", attribute(tag, key)?));
        let said: Vec<String> = ATTRIBUTES.iter().filter_map(known).collect();
        match BLOCKS.iter().any(|(block, _)| *block == name) {
            _ if said.is_empty() => {}
            true => self.lines.push(format!("<{name}> {}", said.join("; "))),
            false => self.line.push_str(&format!("({}) ", said.join("; "))),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "span" | "i" => self.line.push_str(self.ends.pop().unwrap()),
            "th" | "td" | "title" => self.line.push(' '),
            "tr" => self.line.push('|'),
            _ => {}
        }
        if BLOCKS.iter().any(|(block, _)| *block == name) {
            self.end_line();
        }
        match name {
            "pre" => self.is_verbatim = false,
            "thead" => self.lines.push(std::mem::take(&mut self.rule)),
            _ => {}
        }
    }

    fn end_line(&mut self) {
        let (line, prefix) = (std::mem::take(&mut self.line), std::mem::take(&mut self.prefix));
        if !line.trim().is_empty() {
            self.lines.push(format!("{prefix}{}", line.trim_end()));
        }
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(decoded(rest.split_once('"')?.0))
}

fn decoded(text: &str) -> String {
    let signs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    signs.into_iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
