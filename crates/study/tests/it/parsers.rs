//! The parsers that come with the program: each is whole, and what it says is what `run command` takes.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use threadwise_study::command::{self, Better, Combine, CommandOptions, METRIC_PREFIX, Source, parsers};
use threadwise_study::{OptionValue, worklist};

#[test]
fn every_parser_is_whole() {
    let all = parsers::all().unwrap();
    assert_eq!(all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), parsers::names());
    for parser in &all {
        assert_eq!(&parsers::find(&parser.name).unwrap(), parser);
        assert!(parser.about.chars().count() <= 150 && !parser.about.ends_with('.'), "{}", parser.about);
        assert!(parser.tested.starts_with("with ") || parser.tested == "with sample text only");
        if parser.name == worklist::PARSER {
            // Work lists have their own study, which reads it unasked.
            assert_eq!(parser.example, "threadwise run work-list");
            continue;
        }
        assert!(parser.example.contains(&format!("--parse {} ", parser.name)), "{}", parser.example);
        assert!(parser.example.contains(" -- "), "{}", parser.example);
    }
}

#[test]
fn names_are_reported_where_one_is_unknown() {
    let why = parsers::find("oracle").unwrap_err().to_string();
    assert!(why.contains("'oracle'") && why.contains("pgbench, ") && why.contains("--metric"), "{why}");
    assert_eq!(why.lines().count(), 1);
}

#[test]
fn every_metric_and_example_is_of_the_form_that_commands_take() {
    for parser in parsers::all().unwrap() {
        let words = command::split(&parser.example).unwrap();
        let at = match parser.name == worklist::PARSER {
            true => words.len() - 2,
            false => words.iter().position(|word| word == "--").unwrap(),
        };
        let study = if parser.name == worklist::PARSER { "work-list" } else { "command" };
        assert_eq!(&words[..3], ["threadwise", "run", study]);
        let mut options = parser.options();
        options.insert("command".to_owned(), OptionValue::Text(command::quote(&words[at + 1..])));
        if words.contains(&"--each".to_owned()) {
            options.insert("each".to_owned(), OptionValue::Text("session".to_owned()));
        }
        let read = CommandOptions::read(&options).unwrap_or_else(|why| panic!("{}: {why}", parser.name));
        let asked = parser.options().keys().filter(|key| key.starts_with(METRIC_PREFIX)).count();
        assert_eq!(read.metrics.len(), asked, "{}", parser.name);
        assert!(read.metrics.iter().all(|metric| metric.source == Source::Stdout), "{}", parser.name);
        let has_headline = read.headline.is_some() || parser.name == "ostress";
        assert!(has_headline, "{}: wall time says nothing of a tool with a fixed time", parser.name);
    }
}

#[test]
fn counts_of_failures_are_added_up_over_sessions() {
    for parser in parsers::all().unwrap() {
        for metric in command::metrics(&parser.options()) {
            let is_count = ["failed", "ignored_errors", "io_waits"].contains(&metric.name.as_str());
            let adds = metric.combine == Combine::Sum;
            let expected = is_count || metric.better == Better::Higher || metric.name == "io_wait_ms";
            assert_eq!(adds, expected, "{} {}", parser.name, metric.name);
        }
    }
}
