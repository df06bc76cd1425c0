//! Output of known tools, through the metrics of `studies/parsers/*.toml`, and users' own metrics.
//!
//! An input is a line with the parser's name, or `= SPEC` for a user's metric, and the output.

use super::{Target, hold};
use crate::mutate;
use crate::random::Random;
use threadwise_engine::engines::command::extract;
use threadwise_study::command::{self, MetricSpec, parsers};

/// Outputs by their parser: `### NAME` before each. Written after the tools' documentation.
const OUTPUTS: &str = include_str!("../../corpus/tool_outputs.txt");
const SPECS: [&str; 5] = [
    "tx/s higher regex:^tps = ([0-9.]+)",
    "ms lower regex+sum:latency.*?([0-9.]+)",
    "1 none json:/a/0/b",
    "B/s higher regex+max:(?<value>[0-9,]+) MiB",
    "s lower json:/total",
];

struct ToolOutput {
    outputs: Vec<(String, Vec<u8>)>,
    texts: Vec<Vec<u8>>,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let parts = OUTPUTS.split("### ").filter_map(|part| part.split_once('\n'));
    let outputs: Vec<(String, Vec<u8>)> =
        parts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect();
    let texts = outputs.iter().map(|(_, text)| text.clone()).collect();
    let mut target = ToolOutput { outputs: outputs.clone(), texts };
    for (name, text) in &outputs {
        let whole = [name.as_bytes(), b"\n", text].concat();
        hold(target.judge(&whole)?, || format!("nothing is read from the sample of {name}"))?;
    }
    Ok(Box::new(target))
}

impl Target for ToolOutput {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let (name, text) = random.pick(&self.outputs);
        let mut head = name.clone().into_bytes();
        if random.percent(20) {
            head = format!("= {}", random.pick(&SPECS)).into_bytes();
            if random.percent(60) {
                mutate::text(random, &mut head, 1, &[]);
            }
            head.retain(|byte| *byte != b'\n');
        }
        let (mut bytes, times) = (text.clone(), random.times(6));
        mutate::text(random, &mut bytes, times, &self.texts);
        [head, bytes].join(&b'\n')
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        // As the program does with a file: invalid UTF-8 is replaced.
        let text = String::from_utf8_lossy(input);
        let (head, output) = text.split_once('\n').unwrap_or((&text, ""));
        let specs = match head.strip_prefix("= ") {
            Some(spec) => MetricSpec::parse("own", spec).into_iter().collect(),
            None => parsers::find(head).map(|parser| command::metrics(&parser.options)).unwrap_or_default(),
        };
        let mut past = false;
        for spec in specs {
            match extract(&spec, output) {
                Ok(value) => {
                    past = true;
                    hold(value.is_finite(), || format!("{} is {value}", spec.name))?;
                }
                Err(why) => hold(!why.contains('\n'), || format!("an error of two lines: {why:?}"))?,
            }
        }
        Ok(past)
    }
}
