//! The table of queries by treatments: speed of each query against the baseline.

use super::super::lines::{Aligned, columns};
use super::super::{Style, flow, wrap};
use crate::Document;
use crate::queries::{
    PLAN_SIGN, by_group, changed, compared, half_width, label, mark, query_name, role_words,
};
use crate::text::{nanoseconds, plain, ratio, share};
use threadwise_analysis::Ratio;
use threadwise_analysis::queries::{Change, Queries, QueryEstimates, TreatmentQueries};

/// A longer name of a treatment gets a letter, explained above the table.
const MAX_HEADER: usize = 14;

/// One table a group; empty where nothing is compared.
pub fn ratios(document: &Document, queries: &Queries, style: Style) -> String {
    let mut text = String::new();
    for (group, members) in by_group(document, queries) {
        let others = compared(&members);
        if others.is_empty() {
            continue;
        }
        let words = document.group_words(group);
        let head = format!("query by query, speed against {} {words}", document.baseline_label(group));
        wrap(&plain(&head, style.unicode), style.width)
            .iter()
            .for_each(|line| text.push_str(&format!("{line}\n")));
        text.push_str(&group_table(document, queries, &members, &others, style));
    }
    text
}

/// A treatment's column: header first.
type Cells = Vec<String>;

fn group_table(
    document: &Document,
    queries: &Queries,
    members: &[&TreatmentQueries],
    others: &[&TreatmentQueries],
    style: Style,
) -> String {
    let shown: Vec<u8> = queries.numbers.clone();
    let baseline = members.iter().find(|own| role_words(document, &own.treatment) == Some("baseline"));
    let mut first: Vec<Cells> = vec![
        std::iter::once("query".to_owned()).chain(shown.iter().map(|query| query_name(*query))).collect(),
    ];
    if let Some(baseline) = baseline {
        let elapsed = shown.iter().map(|query| elapsed(baseline.queries.get(query)));
        first.push(std::iter::once("baseline".to_owned()).chain(elapsed).collect());
    }
    let column = |own: &TreatmentQueries| -> Cells {
        let signs = !changed(own).is_empty();
        shown.iter().map(|query| cell(document, own.queries.get(query), signs, style)).collect()
    };
    let mut kept = fitting(others, &first, &column, document, style);
    kept.sort_unstable();
    let mut keys = Vec::new();
    let mut table = first;
    for &at in &kept {
        let name = plain(label(document, &others[at].treatment), style.unicode);
        let header = match columns(&name) <= MAX_HEADER {
            true => name,
            false => {
                let letter = letter(keys.len());
                keys.push(format!("{letter}: {name}"));
                letter
            }
        };
        table.push(std::iter::once(header).chain(column(others[at])).collect());
    }
    let mut text = String::new();
    flow(&keys, style.width.saturating_sub(2)).iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    let rows = (0..=shown.len()).map(|row| table.iter().map(|cells| cells[row].clone()).collect());
    let aligned = Aligned::new(rows.collect(), &[0], style.width);
    for row in &aligned.rows {
        text.push_str(&format!("  {}\n", row.join(aligned.gap).trim_end()));
    }
    if kept.len() < others.len() {
        let line = format!(
            "{} of {} treatments, those of the highest DOP first; all of them: HTML report, --json",
            kept.len(),
            others.len()
        );
        wrap(&line, style.width.saturating_sub(2))
            .iter()
            .for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    text
}

/// Indices of the treatments that fit beside the first columns: the highest DOP times streams first,
/// one at least.
fn fitting(
    others: &[&TreatmentQueries],
    first: &[Cells],
    column: &dyn Fn(&TreatmentQueries) -> Cells,
    document: &Document,
    style: Style,
) -> Vec<usize> {
    let widest = |cells: &[String]| cells.iter().map(|cell| columns(cell)).max().unwrap_or(0);
    let mut order: Vec<usize> = (0..others.len()).collect();
    order.sort_by_key(|&at| {
        let own = others[at];
        std::cmp::Reverse(u64::from(own.dop.unwrap_or(u32::MAX)) * u64::from(own.streams))
    });
    let mut used = first.iter().map(|cells| widest(cells) + 2).sum::<usize>();
    let mut kept = Vec::new();
    for at in order {
        let name = columns(label(document, &others[at].treatment));
        let header = if name <= MAX_HEADER { name } else { 1 };
        used += widest(&column(others[at])).max(header) + 2;
        // The indentation takes what the last gap gives.
        if used > style.width && !kept.is_empty() {
            break;
        }
        kept.push(at);
    }
    kept
}

fn elapsed(query: Option<&QueryEstimates>) -> String {
    query.map_or_else(|| "-".to_owned(), |query| nanoseconds(query.elapsed_ms.mean * 1e6))
}

/// `▲ 1.27 ±3.0% P`; with `signs` there is room for the sign in every cell of the column.
fn cell(document: &Document, query: Option<&QueryEstimates>, signs: bool, style: Style) -> String {
    let Some((query, speed)) = query.and_then(|query| Some((query, query.speed.as_ref()?))) else {
        return "-".to_owned();
    };
    let sign = match query.plan_change {
        Change::Different => format!(" {PLAN_SIGN}"),
        _ if signs => "  ".to_owned(),
        _ => String::new(),
    };
    let text = format!("{} {}{}{sign}", style.sign(mark(document, speed)), ratio(speed.value), side(speed));
    plain(&text, style.unicode)
}

/// Half of the interval in percent; nothing where there is no interval.
fn side(speed: &Ratio) -> String {
    match half_width(speed) {
        half if !half.is_finite() => String::new(),
        half if half < 0.0995 => format!(" ±{}", share(half)),
        half => format!(" ±{:.0}%", half * 100.0),
    }
}

/// `a`, `b`, … `z`, then `a1`, `b1`, …: more than fit on a terminal.
fn letter(at: usize) -> String {
    let letter = char::from(b'a' + (at % 26) as u8);
    if at < 26 { letter.to_string() } else { format!("{letter}{}", at / 26) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_intervals_are_short() {
        let ratio = Ratio {
            value: 1.0,
            low: 1.0,
            high: 1.0,
            holm_low: 1.0,
            holm_high: 1.0,
            blocks: 8,
            level: 0.95,
            floor: None,
            effect: false,
            conclusive: false,
            direction: threadwise_analysis::Direction::HigherIsBetter,
        };
        let of = |low: f64, high: f64| side(&Ratio { low, high, ..ratio.clone() });
        assert_eq!([of(0.97, 1.03), of(0.5, 2.0), of(0.0, f64::INFINITY)], [" ±3.0%", " ±100%", ""]);
        assert_eq!([letter(0), letter(25), letter(27)], ["a", "z", "b1"]);
    }
}
