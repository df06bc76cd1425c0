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
    let short: Vec<String> = aspect.values.iter().map(|value| apart(value, &aspect.values)).collect();
    let value = |at: &usize| short.get(*at).map_or("", String::as_str);
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

/// A value; of a list that is too long for a cell only what not all values have.
fn apart(value: &str, all: &[String]) -> String {
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    let is_in_all = |item: &&str| all.iter().all(|other| other.split(", ").any(|one| one == *item));
    let (same, others): (Vec<&str>, Vec<&str>) = value.split(", ").partition(is_in_all);
    match (same.is_empty(), others.is_empty()) {
        (true, _) => value.to_owned(),
        (false, true) => "only those of all".to_owned(),
        (false, false) => format!("also {}", others.join(", ")),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::aspects::Part;

    #[test]
    fn long_lists_are_shown_by_what_differs() {
        let common: Vec<String> = (0..20).map(|at| format!("treatment-{at}")).collect();
        let common = common.join(", ");
        let values = vec![format!("{common}, x"), common.clone(), "y".to_owned() + ", " + &common];
        let aspect = Aspect { part: Part::Study, name: "treatments".to_owned(), values };
        assert_eq!(value(&aspect, &[0]), "also x");
        assert_eq!(value(&aspect, &[1]), "only those of all");
        assert_eq!(value(&aspect, &[0, 2]), "also x (1), also y (3)");
        assert_eq!(shortened(&common).chars().count(), MOST);
        let short = Aspect { values: vec!["6.1".to_owned(), "6.2".to_owned()], ..aspect };
        assert_eq!((value(&short, &[0]), value(&short, &[1])), ("6.1".to_owned(), "6.2".to_owned()));
    }
}
