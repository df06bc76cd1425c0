//! The page of several studies side by side: the table of `compare`, with nothing left out for its width.

use super::data::{Page, Section, TableView};
use super::page::parts;
use super::{ReportError, data, filled};

/// What the page shows, as texts.
pub struct ComparePage {
    /// Heading.
    pub title: String,
    /// Number, engine, workload, file, blocks and noise floor of each study.
    pub studies: Vec<Vec<String>>,
    /// Name of each comparison and its cell for each study.
    pub rows: Vec<Vec<String>>,
    /// Why cells are empty, what signs mean.
    pub notes: Vec<String>,
    /// What keeps the studies from being alike.
    pub cautions: Vec<String>,
    /// What may be compared.
    pub foot: &'static str,
    /// Whether any figure comes from a model.
    pub simulated: bool,
    /// Version of this program.
    pub program_version: &'static str,
}

/// The page as one HTML file.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn render(of: ComparePage) -> Result<String, ReportError> {
    let headers = ["study", "engine", "workload", "result file", "blocks", "noise floor"];
    let studies = TableView {
        headers: headers.map(str::to_owned).to_vec(),
        text_columns: headers.len(),
        rows: of.studies,
        ..TableView::default()
    };
    let columns = (1..=studies.rows.len()).map(|number| number.to_string());
    let headers: Vec<String> = std::iter::once("comparison".to_owned()).chain(columns).collect();
    let text_columns = headers.len();
    let ratios = TableView { headers, text_columns, rows: of.rows, ..TableView::default() };
    let section = |id, title, table, paragraphs| Section {
        id,
        title,
        tables: vec![table],
        paragraphs,
        ..Section::default()
    };
    let page = Page {
        title: of.title,
        subtitle: String::new(),
        simulated: of.simulated,
        verdict: of.cautions.iter().map(|line| parts(&format!("Mind: {line}."))).collect(),
        no_verdict: of.foot,
        facts: Vec::new(),
        sections: vec![
            section("studies", "Studies", studies, Vec::new()),
            section("ratios", "Ratios", ratios, [of.notes, vec![of.foot.to_owned()]].concat()),
        ],
        machine: data::Machine::default(),
        footer: format!("threadwise {}", of.program_version),
    };
    filled(&page, &data::Charts::default())
}
