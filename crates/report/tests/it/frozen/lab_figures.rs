//! The figures of all frozen studies as one flat list, `figures.tsv`: what a redesign of the analysis, which may change
//! the form of JSON, has to find again. `THREADWISE_WRITE_FIGURES=1` writes the file again.
//!
//! A figure is an estimate with its interval, or a number or word that is an answer. It is read from the JSON report;
//! its name is built of what the report itself calls things: treatments, queries, metrics, states.

use crate::frozen::{Opened, STUDIES};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use threadwise_analysis::document;
use threadwise_machine::text::is_deceptive;
use threadwise_report::json;

/// Relative difference up to which figures are the same: another order of additions, not another method.
const TOLERANCE: f64 = 1e-12;
/// Differences that a message lists.
const SHOWN: usize = 20;
const HEAD: &str = "study\tfigure\tvalue\tlow\thigh";

/// Lists by the end of their path: the word for one of them, none where its names say it, and the fields that tell it from the others.
const LISTS: &[(&str, &str, &[&str])] = &[
    ("/estimates", "ratio", &["metric", "name"]),
    ("/noise_floors", "noise-floor", &["metric", "group"]),
    ("/choices", "choice", &["axis", "group", "place"]),
    ("/candidates", "", &["treatment"]),
    ("/core_time", "core-time", &["treatment"]),
    ("/warmups", "warmup", &["treatment"]),
    ("/diagnostics", "", &["question"]),
    ("/diagnostics/estimates", "", &["name"]),
    ("/drift", "drift", &["group"]),
    ("/levels", "from", &["first_block"]),
    ("/changed_with/comparisons", "", &["comparison"]),
    ("/quantities", "", &["metric"]),
    ("/by_state/comparisons", "treatment", &["treatment"]),
    ("/checks", "check", &["check"]),
    ("/looks/study", "", &["state"]),
    ("/states", "", &["state"]),
    ("/stretches", "stretch", &["state"]),
    ("/transitions", "transition", &["from", "to"]),
    ("/by_cpu", "", &["cpu"]),
    ("/distances", "distance", &["line_ns_p50"]),
    ("/treatments/logical_cpus", "", &["cpu", "use"]),
    ("/packages", "", &["package"]),
    ("/external/boots", "boot", &["number"]),
    ("/rates", "", &["treatment"]),
    ("/external/ratios", "", &["arm", "treatment", "baseline_arm", "baseline_treatment"]),
    ("/treatments/arms", "", &["arm"]),
    ("/commands/baselines", "baseline", &["group"]),
    ("/queries/baselines", "baseline", &["group"]),
    ("/fastest", "fastest", &["group"]),
    ("/heat_maps", "heat-map", &["placement", "variant"]),
    ("/cells", "", &["dop", "streams"]),
    ("/plateaus", "plateau", &["streams"]),
    ("/queries/steps", "step", &["from", "to", "query"]),
    ("/outliers", "outlier", &["treatment", "query", "block"]),
    ("/queries", "", &["query"]),
    ("/treatments", "treatment", &["name", "treatment"]),
    ("/counters", "counter", &["name"]),
    ("/shares", "", &["name"]),
    ("/series", "", &["label"]),
    ("/points", "", &["jobs"]),
    ("/computed", "computed", &["schedule"]),
    ("/series/steps", "step", &["from_jobs", "to_jobs"]),
    ("/worklist/pairs", "pair", &["treatment", "baseline"]),
    ("/scaling_laws", "scaling-law", &["series"]),
];

/// Parts of the report without figures, and those that say once more what others say.
const PARTS_LEFT_OUT: &str = "/program /study /machine /screen /failures /notes /findings /advice /published /excluded_blocks \
    /noise_floor /probe /treatments/options /treatments/factors /treatments/counters/per_s \
    /changed_with/comparisons/quantities/treatment_value /covariates/blocks /covariates/flagged_blocks /drift/blocks \
    /commands/quantities /commands/gaps /commands/command /logical_cpus/gaps /choices/lost /choices/candidates/lost \
    /worklist/timelines /queries/data /queries/plans /queries/plan_changes /queries/numbers /queries/heat_maps/dops \
    /queries/heat_maps/streams /queries/treatments/queries/counters /queries/baselines/both/queries/counters \
    /looks/cpus /looks/taken /looks/coverage /diagnostics/numbers/pairs /diagnostics/numbers/least /diagnostics/numbers/most /external/order /external/arms /external/differing \
    /scaling_laws/left_out /long_windows/left_out";

/// Numbers that name things, that count what went in, that an interval says too, or that were set.
const NUMBERS_LEFT_OUT: &str = "version cpu core package number query block first_block last_block start_s dop from_dop \
    to_dop streams jobs from_jobs to_jobs blocks boots baseline_boots runs failed excluded sessions cpus cores looked_at \
    rounds rounds_used samples windows windows_ns family level checks_level margin online_cpus planned planned_boots \
    window_ns items candidates tested dop_min dop_max plans_seen outliers_left_out blocks_of_unknown_boots ratio_blocks \
    scans unsampled_scans p floor";

/// Fields whose words are answers.
const ANSWERS: &str = "answer shown claim passed chosen gap not_tested alarm too_short within_margin fastest among \
    among_best plans_changed reason is_chosen is_extrapolated step_mark";

/// What stands in the middle of an interval.
const CENTRES: [&str; 4] = ["mean", "value", "median", "share"];

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|word| word == name)
}

/// A figure's value, low and high end; empty where there is none.
type Figure = [String; 3];
/// Figures by study and name.
type Figures = BTreeMap<(String, String), Figure>;

/// Reads the figures of one study.
struct Reader<'a> {
    study: &'a str,
    figures: &'a mut Figures,
}

impl Reader<'_> {
    fn keep(&mut self, name: &str, figure: Figure) {
        let key = (self.study.to_owned(), plain(name));
        if figure.iter().all(String::is_empty) {
            return;
        }
        let shown = format!("{key:?}");
        let known = self.figures.insert(key, figure.map(|text| plain(&text)));
        assert!(known.is_none(), "two figures have one name, so that LISTS needs another field: {shown}");
    }

    fn value(&mut self, path: &str, name: &str, value: &Value) {
        let field = path.rsplit('/').next().unwrap();
        match value {
            Value::Object(fields) => self.object(path, name, fields),
            Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
                let texts: Vec<String> = items.iter().map(text).collect();
                match is_in(ANSWERS, field) {
                    true => self.keep(name, [texts.join(", "), String::new(), String::new()]),
                    false => texts.into_iter().enumerate().for_each(|(at, text)| {
                        self.keep(&format!("{name}/{}", at + 1), [text, String::new(), String::new()]);
                    }),
                }
            }
            Value::Array(items) => {
                // The longest end is the most special.
                let known = LISTS.iter().filter(|(end, ..)| path.ends_with(end));
                let (_, word, fields) =
                    known.max_by_key(|(end, ..)| end.len()).unwrap_or_else(|| panic!("LISTS lacks {path}"));
                let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
                let list = joined(parent, word);
                for item in items {
                    let names: Vec<String> = fields.iter().map(|field| label(field, &item[*field])).collect();
                    let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
                    self.value(path, &joined(&list, &names.join("/")), item);
                }
            }
            Value::Null => {}
            Value::Number(_) => self.keep(name, [text(value), String::new(), String::new()]),
            Value::String(_) | Value::Bool(_)
                if is_in(ANSWERS, field) || path.ends_with("guess/treatment") =>
            {
                self.keep(name, [text(value), String::new(), String::new()]);
            }
            Value::String(_) | Value::Bool(_) => {}
        }
    }

    fn object(&mut self, path: &str, name: &str, fields: &Map<String, Value>) {
        let mut used: Vec<&str> = Vec::new();
        let number = |field: &str| fields.get(field).map(text).unwrap_or_default();
        for low in fields.keys().filter(|field| field.split('_').any(|word| word == "low")) {
            let words = |other: &'static str| {
                low.split('_').filter_map(move |word| match word {
                    "low" if other.is_empty() => None,
                    "low" => Some(other),
                    word => Some(word),
                })
            };
            let high = words("high").collect::<Vec<_>>().join("_");
            let Some((high, _)) = fields.get_key_value(&high) else { continue };
            let of = words("").collect::<Vec<_>>().join("_");
            let centre = CENTRES.iter().find(|centre| of.is_empty() && fields.contains_key(**centre));
            let value = centre.map(|centre| number(centre)).unwrap_or_default();
            self.keep(&joined(name, &of), [value, number(low), number(high)]);
            used.extend([low.as_str(), high.as_str()].into_iter().chain(centre.copied()));
        }
        for (field, value) in fields {
            let path = format!("{path}/{field}");
            let is_left_out = value.is_number() && is_in(NUMBERS_LEFT_OUT, field);
            if used.contains(&field.as_str()) || is_left_out || is_in(PARTS_LEFT_OUT, &path) {
                continue;
            }
            let name = if field == "metrics" { name.to_owned() } else { joined(name, field) };
            self.value(&path, &name, value);
        }
    }
}

/// Names one after the other.
fn joined(name: &str, part: &str) -> String {
    match (name, part) {
        ("", one) | (one, "") => one.to_owned(),
        (name, part) => format!("{name}/{part}"),
    }
}

/// The text of a field that tells elements apart; a number with what it counts.
fn label(field: &str, value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{field} {number}"),
        value => text(value),
    }
}

/// A number in the shortest form that reads back as the same, a word without quotes; nothing of what is not known.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Without what would end a field or a line, or act on a terminal.
fn plain(text: &str) -> String {
    let seen = |c: char| match c {
        c if c.is_control() || is_deceptive(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(seen).collect()
}

/// The figures of every study, as the program finds them now.
fn found() -> Figures {
    let mut figures = Figures::new();
    for study in STUDIES {
        let opened = Opened::open(study);
        let facts = opened.facts();
        let report: Value = serde_json::from_str(&json::report(&facts, &document(&facts))).unwrap();
        Reader { study, figures: &mut figures }.value("", "", &report);
    }
    figures
}

fn written(figures: &Figures) -> String {
    let line = |((study, name), [value, low, high]): (&(String, String), &Figure)| {
        format!("{study}\t{name}\t{value}\t{low}\t{high}\n")
    };
    format!("{HEAD}\n{}", figures.iter().map(line).collect::<String>())
}

fn read(text: &str) -> Figures {
    let (head, lines) = text.split_once('\n').unwrap();
    assert_eq!(head, HEAD);
    let figure = |line: &str| {
        let [study, name, value, low, high] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not five fields: {line}")
        };
        ((study.to_owned(), name.to_owned()), [value, low, high].map(str::to_owned))
    };
    lines.lines().map(figure).collect()
}

/// Whether two figures are the same. An end of an interval that is 0 but for rounding is as exact as the interval.
fn is_same(one: &Figure, other: &Figure) -> bool {
    let numbers = |figure: &Figure| figure.each_ref().map(|text| text.parse::<f64>().ok());
    let (left, right) = (numbers(one), numbers(other));
    let largest = left.iter().chain(&right).flatten().fold(0.0, |most: f64, number| most.max(number.abs()));
    (0..3).all(|at| match (left[at], right[at]) {
        (Some(left), Some(right)) => (left - right).abs() <= TOLERANCE * largest,
        _ => one[at] == other[at],
    })
}

/// What differs, a line each.
fn differences(kept: &Figures, found: &Figures) -> Vec<String> {
    let shown = |figure: &Figure| match figure {
        [value, low, high] if low.is_empty() && high.is_empty() => value.clone(),
        [value, low, high] => format!("{value} [{low}, {high}]"),
    };
    let mut lines = Vec::new();
    for (key, figure) in kept {
        match found.get(key) {
            None => lines.push(format!("{}: {}: missing: {}", key.0, key.1, shown(figure))),
            Some(other) if is_same(figure, other) => {}
            Some(other) => {
                lines.push(format!("{}: {}: {} instead of {}", key.0, key.1, shown(other), shown(figure)));
            }
        }
    }
    let new = found.iter().filter(|(key, _)| !kept.contains_key(*key));
    lines.extend(new.map(|(key, figure)| format!("{}: {}: new: {}", key.0, key.1, shown(figure))));
    lines
}

#[test]
#[ignore = "laboratory: figures"]
fn smoke_figures_of_all_studies_are_those_that_were_kept() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/frozen/figures.tsv");
    let found = found();
    if std::env::var_os("THREADWISE_WRITE_FIGURES").is_some() {
        std::fs::write(&file, written(&found)).unwrap();
    }
    let differences = differences(&read(&std::fs::read_to_string(&file).unwrap()), &found);
    assert!(
        differences.is_empty(),
        "{} figures differ from {}:\n{}",
        differences.len(),
        file.display(),
        differences.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}

#[test]
#[ignore = "laboratory: figures"]
fn a_figure_that_moved_went_or_came_is_a_difference() {
    let figures = |lines: &str| read(&format!("{HEAD}\n{lines}"));
    let kept = figures("a\trate\t100\t90\t1e-15\na\tanswer\tlarger\t\t\na\tp\t0.5\t\t\n");
    assert_eq!(read(&written(&kept)), kept);
    let same = "a\trate\t100.00000000001\t90\t-1e-15\na\tanswer\tlarger\t\t\na\tp\t0.5\t\t\n";
    assert_eq!(differences(&kept, &figures(same)), Vec::<String>::new());
    let other = "a\trate\t100.001\t90\t0\na\tanswer\tsmaller\t\t\na\tq\t0.5\t\t\n";
    let wanted = [
        "a: answer: smaller instead of larger",
        "a: p: missing: 0.5",
        "a: rate: 100.001 [90, 0] instead of 100 [90, 1e-15]",
        "a: q: new: 0.5",
    ];
    assert_eq!(differences(&kept, &figures(other)), wanted);
    let open = figures("a\trate\t100\t90\t\na\tanswer\tlarger\t\t\na\tp\t0.5000000001\t\t\n");
    assert_eq!(differences(&kept, &open).len(), 2);
}
