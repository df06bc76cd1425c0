#![allow(clippy::unwrap_used, dead_code)]
#[path = "frozen/opened.rs"]
mod opened;
use opened::Opened;
use threadwise_report::terminal::{Style, document as screen};
#[test]
fn show() {
    let out = std::path::PathBuf::from(std::env::var("OUT").unwrap());
    for name in std::env::var("NAMES").unwrap().split(',') {
        let o = Opened::open(name);
        let facts = threadwise_analysis::Facts {
            study: &o.study,
            topology: &o.topology,
            analysis: &o.analysis,
            runs: &o.runs,
            notes: &o.notes,
            source: &o.source,
            program_version: &o.versions.program,
            engine_version: &o.versions.engine_version,
            created_utc: &o.versions.created_utc,
            probe: o.probe.as_ref(),
            hardware: o.hardware.as_ref(),
        };
        let doc = threadwise_analysis::document(&facts);
        let mut text = String::new();
        for width in [40, 80, 120, 200] {
            let style = Style { color: false, unicode: true, width };
            text += &format!(
                "==== {width} columns, Unicode\n{}\n\n{}\n\n",
                screen::verdict(&doc, style),
                screen::sections(&doc, style)
            );
        }
        std::fs::write(out.join(format!("{name}.txt")), text).unwrap();
        std::fs::write(
            out.join(format!("{name}.html")),
            threadwise_report::html::render_document(&doc).unwrap(),
        )
        .unwrap();
    }
}
