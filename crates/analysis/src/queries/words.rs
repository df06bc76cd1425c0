//! Texts of engines cut to a length that fits, and lists of names.

use crate::words::list;

/// A text cut with an ellipsis.
pub fn cut_short(text: &str, most: usize) -> String {
    match text.chars().count() {
        count if count <= most => text.to_owned(),
        _ => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The first sentence of an engine's message, cut to a number of characters: engines add advice over several lines. A
/// sentence ends at a line's end, or where a capital follows `. `. An open bracket is closed.
pub fn short_reason(text: &str, most: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let begins = |at: &usize| line[at + 2..].starts_with(char::is_uppercase);
    let end = line.match_indices(". ").map(|(at, _)| at).find(begins).unwrap_or(line.len());
    let sentence = line[..end].trim_end_matches('.');
    let short: String = sentence.chars().take(most).collect();
    let is_cut = short.len() < text.trim_end_matches('.').len();
    let is_open = short.matches('(').count() > short.matches(')').count();
    match (is_cut, is_open) {
        (false, _) => short,
        (true, true) => format!("{} …)", short.trim_end()),
        (true, false) => format!("{} …", short.trim_end()),
    }
}

/// A number between words, such as `; 3 more`; empty if it is 0.
pub fn if_any(before: &str, count: usize, after: &str) -> String {
    if count == 0 { String::new() } else { format!("{before}{count}{after}") }
}

/// `Q15`.
pub fn query_name(query: u8) -> String {
    format!("Q{query}")
}

/// `Q2, Q15`; three and more in a row as `Q2–Q5`.
pub fn query_names(queries: impl IntoIterator<Item = u8>) -> String {
    let queries: Vec<u8> = queries.into_iter().collect();
    let runs = queries.chunk_by(|one, next| one.checked_add(1) == Some(*next)).flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{}–{}", query_name(*first), query_name(*last))],
        few => few.iter().map(|query| query_name(*query)).collect(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// `Q2, Q11 and Q13`, up to a number of them.
pub fn query_list(numbers: impl IntoIterator<Item = u8>, most: usize) -> String {
    some_of(numbers.into_iter().map(query_name).collect(), most)
}

/// `a, b and 3 more`: a number of some names.
pub fn some_of(mut names: Vec<String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    names.extend((more > 0).then(|| format!("{more} more")));
    list(&names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row_are_folded() {
        assert_eq!(query_names([1, 2, 3, 4, 7, 9, 10, 22]), "Q1–Q4, Q7, Q9, Q10, Q22");
        assert_eq!(query_names([]), "");
    }

    #[test]
    fn reasons_are_their_first_sentence() {
        assert_eq!(short_reason("out of memory", 80), "out of memory");
        assert_eq!(short_reason("It ended.", 80), "It ended");
        let advice = "Out of Memory Error: 1.5 GiB (e.g. of one sort) is too much. Possible solutions:\n* fewer threads";
        assert_eq!(
            short_reason(advice, 200),
            "Out of Memory Error: 1.5 GiB (e.g. of one sort) is too much …"
        );
        assert_eq!(short_reason(advice, 40), "Out of Memory Error: 1.5 GiB (e.g. of on …)");
        assert_eq!(
            short_reason("block 0: failed (engine: no room\nfree some)", 80),
            "block 0: failed (engine: no room …)"
        );
        assert_eq!(short_reason("é. Ä", 80), "é …");
        assert_eq!(short_reason("", 80), "");
    }
}
