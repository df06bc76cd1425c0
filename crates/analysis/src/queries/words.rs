//! Texts of engines, cut to a length that fits.

/// A text cut with an ellipsis.
pub fn short(text: &str, most: usize) -> String {
    match text.chars().count() {
        count if count <= most => text.to_owned(),
        _ => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The first sentence of what an engine said, at most so many characters of it: engines add advice over
/// several lines. A sentence ends at a line's end, or where a capital follows `. `. A bracket that was
/// opened is closed.
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

#[cfg(test)]
mod tests {
    use super::*;

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
