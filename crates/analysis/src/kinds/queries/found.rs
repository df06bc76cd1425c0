//! A study of queries with what was found of it, and the questions that its sections ask of both.

use crate::Facts;
use crate::queries::{Baseline, Change, Queries, TreatmentQueries};
use threadwise_document::numbers::{self, counted};
use threadwise_document::{Cell, Ratio};
use threadwise_study::Role;

/// Sign of a query whose plan is another one than the baseline's.
pub const PLAN_SIGN: &str = "P";

/// Treatments that a sentence names.
const MAX_NAMES: usize = 4;

/// A study of queries.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The study.
    pub facts: Facts<'a>,
    /// Its estimates.
    pub queries: &'a Queries,
}

impl<'a> Found<'a> {
    /// Treatments by group, groups in study order. In the baseline's place stand its two runs of every block
    /// together, which is what ratios are over; its twin follows, as noise.
    pub fn by_group(self) -> Vec<(&'a str, Vec<&'a TreatmentQueries>)> {
        let mut groups: Vec<(&'a str, Vec<&'a TreatmentQueries>)> = Vec::new();
        for measured in &self.queries.treatments {
            let group = self.facts.group_of(&measured.treatment);
            let both = self.queries.baseline(group).map(|baseline| &baseline.both);
            let measured = both.filter(|both| both.treatment == measured.treatment).unwrap_or(measured);
            match groups.iter_mut().find(|(name, _)| *name == group) {
                Some((_, members)) => members.push(measured),
                None => groups.push((group, vec![measured])),
            }
        }
        groups
    }

    /// The same without twins: treatments that have figures of their own to show.
    pub fn measured(self) -> Vec<&'a TreatmentQueries> {
        let all = self.by_group().into_iter().flat_map(|(_, members)| members);
        all.filter(|measured| self.role(measured) != Role::BaselineTwin).collect()
    }

    /// A treatment's role.
    pub fn role(self, measured: &TreatmentQueries) -> Role {
        self.facts.study.treatment(&measured.treatment).map_or(Role::Compared, |(_, planned)| planned.role)
    }

    /// A treatment's name inside its group.
    pub fn label(self, treatment: &'a str) -> &'a str {
        self.facts.label(treatment, self.facts.group_of(treatment))
    }

    /// The same as a text of its own.
    pub fn label_of(self, treatment: &str) -> String {
        self.facts.label(treatment, self.facts.group_of(treatment)).to_owned()
    }

    /// A few treatments' names inside their groups; of many the first ones.
    pub fn some_names(self, names: &'a [String]) -> String {
        let names: Vec<&str> = names.iter().map(|name| self.label(name)).collect();
        match names.len().checked_sub(MAX_NAMES) {
            Some(more) if more > 1 => format!("{} and {more} more", names[..MAX_NAMES].join(", ")),
            _ => names.join(", "),
        }
    }

    /// The baseline whose second run in every block a treatment is.
    pub fn baseline_of_twin(self, measured: &TreatmentQueries) -> Option<&'a Baseline> {
        let is_twin = self.role(measured) == Role::BaselineTwin;
        self.queries.baseline(self.facts.group_of(&measured.treatment)).filter(|_| is_twin)
    }

    /// Whether any treatment has something.
    pub fn any(self, has: impl Fn(&TreatmentQueries) -> bool) -> bool {
        self.queries.treatments.iter().any(has)
    }

    /// `, 2 streams` where treatments differ in their number of streams.
    pub fn streams_words(self, streams: u32) -> String {
        match self.any(|measured| measured.streams != streams) {
            true => format!(", {}", counted(streams as usize, "stream")),
            false => String::new(),
        }
    }
}

/// Treatments that have a ratio of any kind.
pub fn compared<'a>(members: &[&'a TreatmentQueries]) -> Vec<&'a TreatmentQueries> {
    let has = |measured: &&&TreatmentQueries| {
        measured.total.speed.is_some() || measured.queries.values().any(|query| query.speed.is_some())
    };
    members.iter().filter(has).copied().collect()
}

/// Placement, DOP and streams of a treatment.
pub fn about(measured: &TreatmentQueries) -> String {
    let dop = measured.dop.map(|dop| format!("DOP {dop}"));
    let streams = (measured.streams != 1).then(|| counted(measured.streams as usize, "stream"));
    [Some(measured.placement.clone()), dop, streams].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `Q15`.
pub fn query_name(query: u8) -> String {
    format!("Q{query}")
}

/// `Q2, Q15`; three and more in a row as `Q2–Q5`.
pub fn query_names(queries: impl IntoIterator<Item = u8>) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for query in queries {
        match runs.last_mut().filter(|(_, last)| last.checked_add(1) == Some(query)) {
            Some((_, last)) => *last = query,
            None => runs.push((query, query)),
        }
    }
    let words = runs.into_iter().map(|(first, last)| match last - first {
        0 => query_name(first),
        1 => format!("{}, {}", query_name(first), query_name(last)),
        _ => format!("{}–{}", query_name(first), query_name(last)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// How large the data is, over memory and over the LLC; `None` where no scale is known.
pub fn data_words(queries: &Queries) -> Option<String> {
    let size = |bytes: f64, whole: Option<u64>, name: &str| match whole.filter(|whole| *whole > 0) {
        Some(whole) => {
            format!("{} x {name} ({})", numbers::significant(bytes / whole as f64, 2), numbers::bytes(whole))
        }
        None => format!("{name} of unknown size"),
    };
    let words = queries.data.iter().map(|data| {
        let bytes = data.logical_bytes;
        let gigabytes = numbers::set_number(bytes / 1e9);
        let [memory, llc] =
            [size(bytes, data.memory_bytes, "memory"), size(bytes, data.llc_bytes, "the LLC")];
        format!("scale {}: {gigabytes} GB of data, {memory}, {llc}", data.scale)
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// A ratio without a judgement; a dash without one.
pub fn bare(ratio: Option<&Ratio>) -> Cell {
    ratio.map_or_else(Cell::none, |ratio| Cell::BareRatio(ratio.clone()))
}

/// A cell with the sign of another plan behind it, where there is one.
pub fn with_sign(cell: Cell, change: Change) -> Cell {
    match change {
        Change::Different => Cell::Both(Box::new(cell), Box::new(Cell::text(PLAN_SIGN))),
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row_are_folded() {
        assert_eq!(query_names([1, 2, 3, 4, 7, 9, 10, 22]), "Q1–Q4, Q7, Q9, Q10, Q22");
        assert_eq!(query_names([]), "");
    }
}
