//! Made-up scaling laws.

use crate::report::page::HOSTILE;
use threadwise_analysis::scaling_law::{Draws, SeriesLaw, laws, table};
use threadwise_analysis::{LawWords, UNNAMED, law_document};
use threadwise_document::Document;
use threadwise_report::json;

/// Three series: a machine of 8 cores of 2 threads, one whose name deceives, and one point alone.
fn fitted() -> Vec<SeriesLaw> {
    let mut text = "sessions,throughput,cores,threads_per_core,clock,series\n".to_owned();
    for series in ["one", HOSTILE] {
        for n in [1, 2, 4, 8, 10, 12, 16, 20] {
            let cores = f64::from(n).min(8.0) + 0.3 * (f64::from(n).max(8.0) - 8.0);
            let rate = 1000.0 * cores / (1.0 + 0.02 * (f64::from(n) - 1.0));
            let series = series.replace(['\0', '"'], "");
            text.push_str(&format!("{n},{rate:.3},8,2,{},\"{series}\"\n", 4000 - 20 * n.min(8)));
        }
    }
    text.push_str("4,5,8,2,4000,three\n");
    let shapes = ["2s16c2t".parse().unwrap(), "4c4t".parse().unwrap()];
    laws(&table::read(&text).unwrap(), &shapes, Draws { count: 200, ..Draws::usual(1) })
}

/// `fit --json`.
pub fn fitted_json() -> String {
    json::fitted("sweep.csv", false, &fitted())
}

pub fn document() -> Document {
    let words = LawWords { rate: UNNAMED, sessions: "sessions" };
    let about = Document { title: "Scaling law".to_owned(), ..Document::default() };
    law_document(&fitted(), words, &str::to_owned, about)
}
