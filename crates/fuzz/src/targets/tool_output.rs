//! Output of known tools, through the metrics of `studies/parsers/*.toml`, and users' own metrics.
//!
//! An input is a line with the parser's name, or `= SPEC` for a user's metric, and the output.

use crate::mutate;
use crate::target::{Target, first_line, one_line, parts};
use threadwise_engine::engines::command::extract;
use threadwise_study::command::{self, MetricSpec, parsers};

/// Outputs by their parser. Written after the tools' documentation.
const OUTPUTS: &str = include_str!("../../corpus/tool_outputs.txt");
const SPECS: [&str; 5] = [
    "tx/s higher regex:^tps = ([0-9.]+)",
    "ms lower regex+sum:latency.*?([0-9.]+)",
    "1 none json:/a/0/b",
    "B/s higher regex+max:(?<value>[0-9,]+) MiB",
    "s lower json:/total",
];

/// The target.
pub fn make() -> Target {
    let outputs: Vec<(&str, &str)> = parts(OUTPUTS).collect();
    let texts: Vec<Vec<u8>> = outputs.iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    for (name, text) in &outputs {
        let is_read = judge(format!("{name}\n{text}").as_bytes());
        assert!(is_read, "nothing is read from the sample of {name}");
    }
    Target::new(
        move |random| {
            let (name, text) = random.pick(&outputs);
            let mut head = (*name).to_owned();
            if random.percent(20) {
                head = format!("= {}", random.pick(&SPECS));
                if random.percent(60) {
                    head = mutate::changed_text(random, &head).replace('\n', "");
                }
            }
            let (mut bytes, times) = (text.as_bytes().to_vec(), random.times(6));
            mutate::text(random, &mut bytes, times, &texts);
            [head.as_bytes(), &bytes].join(&b'\n')
        },
        judge,
    )
}

fn judge(input: &[u8]) -> bool {
    // As the program does with a file: invalid UTF-8 is replaced.
    let (head, output) = first_line(input);
    let (head, output) = (String::from_utf8_lossy(head), String::from_utf8_lossy(output));
    let specs = match head.strip_prefix("= ") {
        Some(spec) => MetricSpec::parse("own", spec).into_iter().collect(),
        None => parsers::find(&head).map(|parser| command::metrics(&parser.options())).unwrap_or_default(),
    };
    let mut past = false;
    for spec in specs {
        match extract(&spec, &output) {
            Ok(value) => {
                past = true;
                assert!(value.is_finite(), "{} is {value}", spec.name);
            }
            Err(why) => one_line(&why),
        }
    }
    past
}
