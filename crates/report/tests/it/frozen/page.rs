//! The page of a document by its structure: it has every section, sentence, figure and number of the document, in order,
//! every chart has its data and its table, and no text of a study has become an element, an attribute or a script.

use serde_json::Value;
use threadwise_document::{Block, Cell, Document, Figure, Prose, Row, Shown, Sides, Table, numbers};
use threadwise_machine::text::{is_deceptive, marked_lines};
use threadwise_report::html;

/// Elements of the template.
const ELEMENTS: [&str; 45] = [
    "a",
    "aside",
    "body",
    "caption",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "g",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "html",
    "li",
    "main",
    "meta",
    "nav",
    "noscript",
    "ol",
    "p",
    "pre",
    "rect",
    "script",
    "section",
    "span",
    "strong",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
];
/// Their attributes.
const ATTRIBUTES: [&str; 25] = [
    "aria-label",
    "charset",
    "class",
    "colspan",
    "content",
    "data-chart",
    "data-description",
    "data-index",
    "data-title",
    "height",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "role",
    "rx",
    "scope",
    "tabindex",
    "title",
    "type",
    "viewBox",
    "width",
    "x",
    "y",
];
/// Elements within a line.
const INLINE: [&str; 4] = ["a", "code", "span", "strong"];

/// A begun element: name, attributes, and where its text is.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    from: usize,
    to: usize,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A page, read as a browser would: a fault in its markup fails.
#[derive(Default)]
struct Page {
    elements: Vec<Element>,
    /// Its text, a line for each element that is none within a line; blanks as one.
    text: String,
    /// What the charts are drawn from.
    data: Value,
    scripts: usize,
}

impl Page {
    fn read(html: &str) -> Self {
        let mut page = Self::default();
        let mut open: Vec<usize> = Vec::new();
        let mut rest = html.strip_prefix("<!doctype html>").unwrap();
        while let Some((before, after)) = rest.split_once('<') {
            page.add(&decoded(before));
            let (tag, behind) = after.split_once('>').unwrap();
            rest = behind;
            let name = tag.trim_start_matches('/').split(['/', ' ']).next().unwrap().to_owned();
            assert!(ELEMENTS.contains(&&*name), "an element that the template does not have: <{tag}>");
            if !INLINE.contains(&&*name) {
                page.text.push('\n');
            }
            if tag.starts_with('/') {
                let at = open.pop().unwrap();
                assert_eq!(page.elements[at].name, name, "an element that is not closed, before </{name}>");
                page.elements[at].to = page.text.len();
                continue;
            }
            let from = page.text.len();
            let element = Element { attributes: attributes(tag), name, from, to: from };
            if matches!(element.name.as_str(), "script" | "style") {
                let (inside, behind) = rest.split_once(&format!("</{}>", element.name)).unwrap();
                rest = behind;
                page.scripts += usize::from(element.name == "script");
                if element.attribute("id") == Some("data") {
                    assert!(!inside.contains(['<', '>', '&']), "a text in the data could end its element");
                    assert!(!inside.contains(is_deceptive), "a character that acts or deceives in the data");
                    page.data = serde_json::from_str(inside).unwrap();
                }
            } else if element.name != "meta" && !tag.ends_with('/') {
                open.push(page.elements.len());
            }
            page.elements.push(element);
        }
        assert!(open.is_empty(), "elements that are not closed: {}", open.len());
        page
    }

    fn add(&mut self, text: &str) {
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            if at > 0 && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
    }

    /// The text of an element.
    fn within(&self, element: &Element) -> &str {
        &self.text[element.from..element.to]
    }

    fn named<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p Element> {
        self.elements.iter().filter(move |element| element.name == name)
    }
}

/// The attributes of a tag, which the template always writes in double quotes.
fn attributes(tag: &str) -> Vec<(String, String)> {
    let (_, mut rest) = tag.split_once(' ').unwrap_or_default();
    let mut found = Vec::new();
    while let Some((name, behind)) = rest.split_once("=\"") {
        let (value, behind) = behind.split_once('"').unwrap();
        let name = name.trim();
        assert!(ATTRIBUTES.contains(&name), "an attribute that the template does not have: <{tag}>");
        assert!(name != "href" || value.starts_with('#'), "a link that leaves the page: <{tag}>");
        found.push((name.to_owned(), decoded(value)));
        rest = behind;
    }
    assert!(matches!(rest.trim(), "" | "/"), "left of a tag: <{tag}>");
    found
}

fn decoded(text: &str) -> String {
    let signs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    // Most texts have none.
    let signs = signs.into_iter().filter(|_| text.contains('&'));
    signs.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Looks for texts one after the other.
struct Search<'t> {
    what: &'t str,
    text: &'t str,
}

impl Search<'_> {
    fn find(&mut self, wanted: &str) {
        let marked = marked_lines(wanted);
        let words = marked.split_whitespace().collect::<Vec<_>>().join(" ");
        // Blanks at the ends of a line are as good as none.
        let Some(at) = self.text.find(&words) else {
            let after: String = self.text.chars().take(600).collect();
            panic!("{}: the page lacks {words:?} in its place. There it has\n{after}", self.what)
        };
        self.text = &self.text[at + words.len()..];
    }

    fn prose(&mut self, prose: &Prose) {
        self.find(&prose.spans().iter().map(|span| span.text.as_str()).collect::<String>());
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(line, shown) if shown.on_page() => self.prose(line),
            Block::List(lines, shown) | Block::Legend(lines, shown) if shown.on_page() => {
                lines.iter().for_each(|line| self.prose(line));
            }
            Block::Table(table) if table.shown.on_page() => self.table(table),
            Block::Figure(figure) => self.figure(figure),
            Block::Fold(fold) => {
                self.find(&fold.title);
                fold.tables.iter().for_each(|table| self.table(table));
                fold.sides.iter().for_each(|sides| self.sides(sides));
            }
            Block::Sides(sides) => self.sides(sides),
            Block::Verbatim(title, text) => {
                self.find(title);
                text.lines().for_each(|line| self.find(line));
            }
            Block::Machine(topology) => {
                // Others may be folded, and are in an order of their own.
                if let Some(cpu) = topology.allowed().first() {
                    self.find(&format!("logical CPU {cpu}: allowed"));
                }
                self.find("CPU quota: ");
            }
            Block::Cores(_) => self.find("dotted: undecided"),
            Block::Text(..) | Block::List(..) | Block::Legend(..) | Block::Table(_) => {}
        }
    }

    fn figure(&mut self, figure: &Figure) {
        self.find(&figure.title);
        self.find(&figure.description);
        self.find("The same figures as a table");
        self.table(&figure.table);
    }

    fn sides(&mut self, sides: &Sides) {
        self.find(&sides.left);
        self.find(&sides.right);
        sides.rows.iter().flatten().for_each(|line| self.find(&line.text));
    }

    fn table(&mut self, table: &Table) {
        let shown = table.places(Shown::on_page);
        self.prose(&table.caption);
        shown.iter().for_each(|at| self.find(&table.columns[*at].name));
        for row in &table.rows {
            match row {
                Row::Group(words) => self.find(words),
                Row::Cells(cells) => {
                    shown.iter().filter_map(|at| cells.get(*at)).for_each(|cell| self.cell(cell));
                }
            }
        }
    }

    fn cell(&mut self, cell: &Cell) {
        match cell {
            Cell::Text(text) | Cell::Named { name: text, .. } => self.find(text),
            Cell::Count(count) => self.find(&numbers::grouped(*count)),
            Cell::Value { value, unit } => self.find(&numbers::value(*value, unit)),
            Cell::Mean(interval) => self.find(&numbers::value(interval.mean, &interval.unit)),
            Cell::Interval(interval) | Cell::Share(interval) => {
                let (figure, ends) = numbers::interval(interval);
                self.find(&figure);
                ends.iter().for_each(|ends| self.find(ends));
            }
            Cell::Ratio(ratio, _) | Cell::BareRatio(ratio) => {
                self.find(&format!("{}x", numbers::ratio(ratio.value)));
                if ratio.has_ends() {
                    let [low, high] = [ratio.low, ratio.high].map(numbers::ratio);
                    self.find(&format!("[{low}, {high}]"));
                }
            }
            Cell::Bounds { unit, low, .. } => {
                let least = numbers::value(*low, unit);
                self.find(least.split(' ').next().unwrap());
            }
            Cell::Both(first, second) => [first, second].into_iter().for_each(|cell| self.cell(cell)),
            Cell::Gap(_) => self.find("-"),
            Cell::Bar { .. } => {}
        }
    }
}

/// Checks the page of a document.
pub fn check(what: &str, document: &Document) {
    let html = html::render(document).unwrap();
    let page = Page::read(&html);
    let acts = |text: &str| text.chars().find(|c| *c != '\n' && is_deceptive(*c));
    assert_eq!(acts(&page.text), None, "{what}: a character that acts or deceives");
    let mut ids: Vec<&str> = page.elements.iter().filter_map(|element| element.attribute("id")).collect();
    let sections: Vec<&Element> = page.named("section").collect();
    assert_eq!(page.scripts, html.matches("<script").count(), "{what}");

    // What stands above: the title, and each line of verdict and facts once.
    let mut head = Search { what, text: page.text.split_once("\n\n# ").map_or(&page.text, |(head, _)| head) };
    head.find(&document.title);
    let lines = document
        .verdict
        .iter()
        .map(|finding| finding.line.spans().iter().map(|span| span.text.as_str()).collect::<String>());
    let facts =
        document.facts.iter().flat_map(|fact| [&fact.name, &fact.value, &fact.note].map(Clone::clone));
    // What may be set stands there whole; of what may not be trusted at least what it would be.
    let is_trusted = document.screen.trust.level.allows_setting();
    let advised = document.advice.iter().filter(|_| is_trusted).flat_map(|advice| &advice.paste);
    let pasted = advised.flat_map(|paste| [paste.place.clone(), paste.text.clone()]);
    let not_yet: Option<String> = document
        .screen
        .set
        .first()
        .filter(|_| !is_trusted)
        .map(|line| line.spans().iter().map(|span| span.text.as_str()).collect());
    let pasted = pasted.chain(not_yet);
    for text in lines.chain(facts).chain(pasted).chain([document.about.join(" · "), document.footer.clone()])
    {
        Search { what, text: head.text }.find(&text);
    }
    assert_eq!(document.simulated, page.named("aside").count() == 1, "{what}: SIMULATED");

    // Sections in order, with all that is in them.
    let mut shown = sections.iter().filter(|section| section.attribute("aria-label").is_none());
    for section in &document.sections {
        let is_empty = section.blocks.iter().all(|block| match block {
            Block::Text(_, shown) | Block::List(_, shown) | Block::Legend(_, shown) => !shown.on_page(),
            Block::Table(table) => !table.shown.on_page(),
            _ => false,
        });
        if is_empty {
            continue;
        }
        let element = shown.next().unwrap_or_else(|| panic!("{what}: no section {}", section.id));
        assert_eq!(element.attribute("id"), Some(section.id), "{what}: sections in order");
        let mut search = Search { what, text: page.within(element) };
        search.find(&section.title);
        section.blocks.iter().for_each(|block| search.block(block));
    }
    assert_eq!(shown.count(), 0, "{what}: sections that the document does not have");
    let links: Vec<&str> = page.named("a").filter_map(|link| link.attribute("href")).collect();
    assert!(links.iter().all(|link| ids.contains(&&link[1..])), "{what}: {links:?} in {ids:?}");
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{what}: an id twice");

    charts(what, document, &page);
}

/// Ends of the intervals in a table.
fn ends_of(table: &Table) -> Vec<(f64, f64)> {
    fn of(cell: &Cell) -> Vec<(f64, f64)> {
        match cell {
            Cell::Interval(interval) | Cell::Share(interval) => vec![(interval.low, interval.high)],
            Cell::Ratio(ratio, _) | Cell::BareRatio(ratio) => vec![(ratio.low, ratio.high)],
            Cell::Bounds { low, high, .. } => vec![(*low, *high)],
            Cell::Both(first, second) => [of(first), of(second)].concat(),
            _ => Vec::new(),
        }
    }
    table.cells().flatten().flat_map(of).collect()
}

/// Ends of the intervals that a chart draws.
fn drawn_ends(data: &Value, into: &mut Vec<(f64, f64)>) {
    match data {
        Value::Object(fields) => {
            let end = |name: &str| fields.get(name).and_then(Value::as_f64);
            into.extend(end("low").zip(end("high")));
            fields.values().for_each(|value| drawn_ends(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| drawn_ends(item, into)),
        _ => {}
    }
}

/// Every figure of the document has a chart with a title and data of its own, and the same figures as a table.
fn charts(what: &str, document: &Document, page: &Page) {
    let is_front = page.elements.iter().any(|element| element.attribute("id") == Some("answer"));
    assert_eq!(is_front, !document.screen.subject.is_empty(), "{what}: its answer");
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let of_sections = blocks.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    let figures: Vec<_> = document.picture.iter().filter(|_| is_front).chain(of_sections).collect();
    let charts: Vec<&Element> =
        page.elements.iter().filter(|element| element.attribute("data-chart").is_some()).collect();
    assert_eq!(charts.len(), figures.len(), "{what}: charts");
    let mut drawn: Vec<(&str, usize)> = Vec::new();
    for (chart, figure) in charts.iter().zip(figures) {
        let attribute = |name: &str| chart.attribute(name).unwrap();
        let place = (attribute("data-chart"), attribute("data-index").parse().unwrap());
        let data = page.data[place.0].get(place.1);
        // Some are drawn from what all charts share.
        let is_shared = ["usage", "pairs"].iter().any(|name| page.data.get(*name).is_some());
        assert!(data.is_some_and(|data| !data.is_null() || is_shared), "{what}: no data for {place:?}");
        assert_eq!(attribute("data-title"), marked_lines(&figure.title), "{what}: {place:?}");
        // The charts of a probe are measured, whatever the study is.
        assert!(document.simulated || !figure.title.starts_with("SIMULATED"), "{what}: {place:?}");
        let (mut ends, known) = (Vec::new(), ends_of(&figure.table));
        data.iter().for_each(|data| drawn_ends(data, &mut ends));
        for (low, high) in ends {
            let is_near = |one: f64, other: f64| (one - other).abs() <= 1e-3 * one.abs().max(other.abs());
            // The chart's unit may be another one.
            let is_known = known.iter().any(|(one, other)| is_near(one * high, other * low));
            assert!(is_known, "{what}: {place:?} draws {low} to {high}, which its table does not have");
        }
        drawn.push(place);
    }
    drawn.sort_unstable();
    let all = drawn.len();
    drawn.dedup();
    assert_eq!(drawn.len(), all, "{what}: two charts from the same data");
    let tables = page.text.matches("The same figures as a table").count();
    assert_eq!(tables, all, "{what}: charts without a table");
}
