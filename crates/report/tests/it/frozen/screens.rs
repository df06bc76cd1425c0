//! The screen of every frozen study: within its limits, the answer first, and each ratio with one interval, the one that decides.

use crate::frozen::STUDIES;
use crate::frozen::opened::Opened;
use std::collections::BTreeSet;
use threadwise_analysis::document;
use threadwise_document::Prose;
use threadwise_document::screen::{LINES, Screen, WIDTH};
use threadwise_report::terminal::{self, Style};

/// Most words of a screen: half a printed page.
const WORDS: usize = 200;

fn shown(screen: &Screen) -> String {
    terminal::screen(screen, Style { color: false, unicode: true, width: 120 })
}

/// Every ratio with an interval: its text, such as `1.27x [1.24, 1.30]`.
fn ratios(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_start_matches('(')).collect();
    let triples = words
        .windows(3)
        .filter(|words| words[0].ends_with('x') && words[1].starts_with('[') && words[2].contains(']'));
    triples
        .map(|words| format!("{} {} {}", words[0], words[1], &words[2][..=words[2].find(']').unwrap()]))
        .collect()
}

#[test]
fn the_screen_of_every_study_is_within_its_limits() {
    for study in STUDIES {
        let opened = Opened::open(study);
        let screen = document(&opened.facts()).screen;
        let text = shown(&screen);
        println!("######## {study}\n{text}\n");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= LINES, "{study}: {} lines\n{text}", lines.len());
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= WIDTH, "{study}: {widest} columns\n{text}");
        let words = text.split_whitespace().count();
        assert!(words <= WORDS, "{study}: {words} words\n{text}");
        let answer = lines.iter().position(|line| line.starts_with("ANSWER")).unwrap();
        assert!(answer < 4, "{study}: the answer is on line {}", answer + 1);
        assert!(!screen.answer.is_empty(), "{study}: no answer\n{text}");
        assert!(!screen.trust.reasons.is_empty(), "{study}\n{text}");
        assert!(lines.iter().any(|line| line.starts_with("TRUST")), "{study}: no word of trust\n{text}");
        assert!(lines.iter().any(|line| line.starts_with("NEXT")), "{study}: no next command\n{text}");
        let all = ratios(&text);
        let estimates = opened.analysis.estimates.iter();
        let decisives: BTreeSet<String> =
            estimates.map(|estimate| Prose::from(&estimate.ratio).decisive().to_string()).collect();
        let distinct: BTreeSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len(), "{study}: an interval stands twice\n{text}");
        for estimate in &opened.analysis.estimates {
            let own = Prose::from(&estimate.ratio);
            let decisive = own.clone().decisive().to_string();
            let is_own = all.contains(&own.to_string()) && !decisives.contains(&own.to_string());
            assert!(!is_own, "{study}: {own} is not adjusted, {decisive} is\n{text}");
        }
    }
}
