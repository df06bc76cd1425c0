//! What is the same and what differs, as a section: what differs first, marked, and the rest in one line.

use super::aspects::Aspect;
use crate::groups::distinct;
use threadwise_document::{Block, Cell, Column, Prose, Section, Shown, Table, prose};

/// Stands before the name of what differs.
const MARK: &str = "≠";
/// Longest value that a cell holds, in characters; JSON has them whole.
const MOST: usize = 60;

/// The section; each column has its heading and the numbers of its studies, from 0.
pub fn section(aspects: &[Aspect], columns: &[(String, Vec<usize>)]) -> Section {
    let differing: Vec<&Aspect> = aspects.iter().filter(|aspect| aspect.differs()).collect();
    let same: Vec<&Aspect> = aspects.iter().filter(|aspect| !aspect.differs()).collect();
    let mut blocks = Vec::new();
    if !differing.is_empty() {
        let row = |aspect: &&Aspect| {
            let name = Cell::text(format!("{MARK} {}", aspect.name));
            let values = columns.iter().map(|(_, studies)| Cell::text(value(aspect, studies)));
            std::iter::once(name).chain(values).collect()
        };
        let headings = columns.iter().map(|(heading, _)| Column::text(heading));
        let columns = std::iter::once(Column::text("what differs")).chain(headings).collect();
        blocks.push(Block::Table(Table::new("", columns, differing.iter().map(row))));
    }
    if !same.is_empty() {
        let one = |aspect: &&Aspect| {
            let value = aspect.values.first().map_or("", String::as_str);
            Prose::from(format!("{} {}", aspect.name, shortened(value)))
        };
        let line = Prose::join(same.iter().map(one), "; ");
        blocks.push(Block::Text(prose!("The same: {}.", line), Shown::Everywhere));
    }
    Section::new("differs", "What differs and what is the same", blocks)
}

/// The value that some studies have, or each of several with the numbers of its studies.
fn value(aspect: &Aspect, studies: &[usize]) -> String {
    let value = |at: &usize| aspect.values.get(*at).map_or("", String::as_str);
    let values = distinct(studies.iter().map(value));
    if let [one] = values.as_slice() {
        return shortened(one);
    }
    let with_numbers = values.iter().map(|one| {
        let numbers = studies.iter().filter(|at| value(at) == *one).map(|at| (at + 1).to_string());
        format!("{} ({})", shortened(one), numbers.collect::<Vec<_>>().join(", "))
    });
    with_numbers.collect::<Vec<_>>().join(", ")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 1).chain(['…']).collect()
}
