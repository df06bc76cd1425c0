//! An interval as a line, or as a whole screen: top statements, headroom, state.

use std::collections::HashMap;
use threadwise_document::numbers;
use threadwise_headroom::screen::Size;
use threadwise_machine::text::marked;
use threadwise_observed::{Count, Host, Interval, Neighbours, StatementText, States};

/// Width of the columns before a statement's text.
const FIGURES: usize = 40;

/// `12:25:01  1,234 calls/s  0.81 ms a call  12 statements  headroom 38 to 45%  SMT on`.
pub fn line(time: &str, interval: &Interval) -> String {
    if let Some(gap) = interval.gap {
        return format!("{time}  no figures: {}\n", gap.words());
    }
    let mut parts = vec![load(interval)];
    let named = interval.counts.len() + interval.rest.statement as usize;
    parts.push(numbers::counted(named, "statement"));
    parts.extend(interval.host.as_ref().map(headroom));
    let neighbours = interval.neighbours.and_then(Neighbours::share);
    parts.extend(neighbours.map(|share| format!("neighbours {}", numbers::percent(share))));
    parts.extend(states(&interval.states));
    let lost = interval.lost;
    parts.extend((lost.evicted > 0).then(|| format!("{} evicted by the server", lost.evicted)));
    parts.extend((lost.restarted > 0).then(|| format!("{} counted again from 0", lost.restarted)));
    format!("{time}  {}\n", parts.join("  "))
}

fn load(interval: &Interval) -> String {
    let (calls, seconds) = (interval.calls(), interval.length_ns as f64 / 1e9);
    let rate = numbers::value(calls as f64 / seconds.max(1e-9), "1/s");
    match calls {
        0 => "no calls".to_owned(),
        calls => {
            let mean_ns = interval.time_ns() as f64 / calls as f64;
            format!("{rate} calls/s  {} a call", numbers::nanoseconds(mean_ns))
        }
    }
}

fn headroom(host: &Host) -> String {
    let [low, high] =
        [host.used_high_share, host.used_low_share].map(|used| numbers::percent((1.0 - used).max(0.0)));
    let span = if low == high { high } else { format!("{} to {high}", low.trim_end_matches('%')) };
    let stolen = match numbers::percent(host.stolen_share) {
        share if host.stolen_share >= 0.01 => format!("  stolen {share}"),
        _ => String::new(),
    };
    format!("headroom {span}{stolen}")
}

fn states(states: &States) -> Vec<String> {
    let smt = states.smt.as_ref().map(|word| format!("SMT {word}"));
    let state = states.state.as_ref().map(|word| format!("state {word}"));
    smt.into_iter().chain(state).collect()
}

/// A whole screen: title, load, statements as far as they fit, and the notes of the start.
pub fn frame(
    title: &str,
    interval: &Interval,
    names: &HashMap<String, StatementText>,
    notes: &[String],
    size: Size,
) -> String {
    let mut lines = vec![title.to_owned(), String::new()];
    match interval.gap {
        Some(gap) => lines.push(format!("no figures of this interval: {}", gap.words())),
        None => {
            lines.push(line("", interval).trim().to_owned());
            lines.extend(table(interval, names, size, size.lines.saturating_sub(notes.len() + 6)));
        }
    }
    lines.push(String::new());
    lines.extend(notes.iter().cloned());
    let mut text = "\u{1b}[H".to_owned();
    for line in lines.iter().take(size.lines.max(2) - 1) {
        let shown: String = marked(line).chars().take(size.columns).collect();
        text.push_str(&shown);
        text.push_str("\u{1b}[K\r\n");
    }
    text.push_str("\u{1b}[J");
    text
}

fn table(
    interval: &Interval,
    names: &HashMap<String, StatementText>,
    size: Size,
    most: usize,
) -> Vec<String> {
    let all_ns = interval.time_ns().max(1) as f64;
    let seconds = (interval.length_ns as f64 / 1e9).max(1e-9);
    let row = |count: &Count| {
        let calls = count.calls as f64;
        format!(
            "{:>8}  {:>10}  {:>10}    {}",
            numbers::percent(count.time_ns as f64 / all_ns),
            numbers::value(calls / seconds, "1/s"),
            numbers::nanoseconds(count.time_ns as f64 / calls.max(1.0)),
            words(count, names, size.columns.saturating_sub(FIGURES)),
        )
    };
    let heading = format!("{:>8}  {:>10}  {:>10}    statement", "time", "calls/s", "a call");
    [String::new(), heading].into_iter().chain(interval.counts.iter().take(most).map(row)).collect()
}

/// A statement's text in one line, or its key.
fn words(count: &Count, names: &HashMap<String, StatementText>, columns: usize) -> String {
    let known = names.get(&count.statement);
    let text = known.and_then(|known| known.text.as_deref()).unwrap_or(&count.statement);
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().take(columns.max(10)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_observed::{Gap, Lost, Unseen};

    fn interval() -> Interval {
        let count = |key: &str, calls, time_ns| Count { statement: key.to_owned(), calls, time_ns, rows: 0 };
        Interval {
            length_ns: 10_000_000_000,
            counts: vec![count("a", 100, 3_000_000_000), count("b", 900, 1_000_000_000)],
            states: States {
                smt: Some("on".to_owned()),
                state: Some("blue".to_owned()),
                ..States::default()
            },
            host: Some(Host {
                busy_share: 0.5,
                used_low_share: 0.6,
                used_high_share: 0.7,
                ..Host::default()
            }),
            lost: Lost { evicted: 2, restarted: 0 },
            ..Interval::default()
        }
    }

    #[test]
    fn a_line_has_load_headroom_and_states() {
        let text = line("12:00:00", &interval());
        assert_eq!(
            text,
            "12:00:00  100 calls/s  4.00 ms a call  2 statements  headroom 30 to 40%  SMT on  state blue  2 evicted by \
             the server\n"
        );
        for (neighbours, words) in [
            (Neighbours::Seen { looks: 40, share: 0.25 }, Some("headroom 30 to 40%  neighbours 25%  SMT on")),
            (Neighbours::Unknown(Unseen::NoLook), None),
        ] {
            let shown = line("", &Interval { neighbours: Some(neighbours), ..interval() });
            assert_eq!(shown.contains("neighbours"), words.is_some(), "{shown}");
            assert!(words.is_none_or(|words| shown.contains(words)), "{shown}");
        }
        let gap = Interval { gap: Some(Gap::Restart), ..interval() };
        assert_eq!(line("12:00:00", &gap), "12:00:00  no figures: the server was restarted\n");
        assert!(line("", &Interval { counts: Vec::new(), ..interval() }).contains("no calls"));
    }

    #[test]
    fn a_screen_fits_its_terminal_and_has_no_control_characters_of_others() {
        let text =
            StatementText { text: Some("SELECT\n \u{1b}[2J 1".to_owned()), ..StatementText::default() };
        let names = HashMap::from([("a".to_owned(), text)]);
        for (columns, lines) in [(80, 24), (20, 5), (1, 1)] {
            let size = Size { columns, lines, unicode: true };
            let frame = frame("title", &interval(), &names, &["note".to_owned()], size);
            assert!(frame.matches("\r\n").count() < lines.max(2), "{frame:?}");
            assert!(!frame.contains("[2J 1") || !frame.contains("\u{1b}[2J"), "{frame:?}");
        }
        let size = Size { columns: 80, lines: 24, unicode: true };
        let shown = frame("title", &interval(), &names, &[], size);
        assert!(shown.contains("75.0%") || shown.contains("75%"), "{shown}");
        assert!(shown.contains("SELECT"), "{shown}");
    }
}
