//! `card` and `gallery`: studies for sharing.

use crate::harness::{Lab, Said};
use serde_json::{Value, json};
use std::path::Path;

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn refused(lab: &Lab, args: &[&str]) -> String {
    let Said { code, stdout, stderr } = lab.run(args);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn a_study_becomes_a_kilobyte_that_names_nothing() {
    let lab = Lab::new();
    let ran = lab.simulated("a.threadwise", &["--no-probe", "--no-html"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = lab.ok(&["card", "a.threadwise", "a.threadwise"]).stdout;
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(!lines.contains(&lab.path().display().to_string()) && !lines.contains("a.threadwise"), "{lines}");
    for line in lines.lines() {
        assert!(line.len() <= 1024, "{} bytes: {line}", line.len());
        let card = json_of(line);
        assert_eq!(
            (&card["card"], &card["engine"], &card["simulated"]),
            (&json!(1), &json!("simulated"), &json!(true))
        );
        assert_eq!(card["command"], json!("threadwise run placement --engine simulated"));
        let figures = card["figures"].as_array().unwrap();
        assert!(figures.iter().any(|figure| figure["what"] == "second-cpu"), "{card}");
    }
    let explained = lab.ok(&["card", "a.threadwise", "--explain"]).stdout;
    let fields = json_of(lines.lines().next().unwrap());
    for name in fields.as_object().unwrap().keys() {
        assert!(explained.lines().any(|line| line.split(' ').next() == Some(name)), "{name}: {explained}");
    }
    // What a model gave is not for a gallery.
    std::fs::create_dir(lab.path().join("cards")).unwrap();
    std::fs::write(lab.path().join("cards/a.json"), lines.lines().next().unwrap()).unwrap();
    assert!(refused(&lab, &["gallery", "cards"]).contains("cards/a.json: its figures are from a model"));
}

#[test]
fn a_card_shows_figures_as_its_readers_take_them() {
    let lab = Lab::new();
    let definition = "version = 1\nname = \"wide\"\nengine = \"simulated\"\nworkload = \"logical-io\"\n\
                      design = { blocks = 3, level = 0.5 }\n[[treatment]]\nplacement = \"2c1t\"\n";
    std::fs::write(lab.path().join("wide.toml"), definition).unwrap();
    lab.ok(&["run", "wide.toml", "--allow-busy", "--no-probe", "--no-html", "--output", "wide.threadwise"]);
    assert!(refused(&lab, &["card", "wide.threadwise"]).contains("wide.threadwise has intervals at 50%"));
    // The words of trust have an order.
    std::fs::create_dir(lab.path().join("cards")).unwrap();
    for (at, trust) in ["LOW", "GOOD", "FAIR", "NONE"].into_iter().enumerate() {
        let mut card = card("AMD EPYC", 1.0 + at as f64);
        card["trust"] = json!(trust);
        std::fs::write(lab.path().join(format!("cards/{at}.json")), card.to_string()).unwrap();
    }
    lab.ok(&["gallery", "cards", "-o", "site"]);
    let page = std::fs::read_to_string(lab.path().join("site/index.html")).unwrap();
    for cell in
        ["data-sort=\"0\">GOOD", "data-sort=\"1\">FAIR", "data-sort=\"2\">LOW", "data-sort=\"3\">NONE"]
    {
        assert!(page.contains(cell), "{cell}");
    }
}

fn card(cpu: &str, value: f64) -> Value {
    json!({
        "card": 1, "threadwise": "0.1.0", "date": "2026-11-28", "cpu": cpu, "hypervisor": "KVM", "instance": null,
        "packages": 1, "numa_nodes": 1, "cores": 2, "threads_per_core": 1, "engine": "sqlite", "engine_version": "3.54.1",
        "workload": "logical-io", "simulated": false, "blocks": 44, "trust": "FAIR", "a_a": [0.99, 1.01],
        "figures": [
            {"what": "second-cpu", "data": "inside L2", "value": value, "interval": [value - 0.1, value + 0.1]},
            {"what": "knee", "data": "", "value": 2.0, "interval": null},
        ],
        "command": "threadwise run placement",
    })
}

#[test]
fn a_folder_of_cards_becomes_a_page_or_is_refused_as_a_whole() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("cards")).unwrap();
    let write = |name: &str, card: &Value| {
        std::fs::write(lab.path().join("cards").join(name), card.to_string()).unwrap()
    };
    assert!(refused(&lab, &["gallery", "cards"]).contains("cards has 0 cards"));
    write("a.json", &card("AMD EPYC", 1.8));
    write("b.json", &card("Intel <script>alert(1)</script>", 1.3));
    std::fs::write(lab.path().join("cards/README.md"), "no card").unwrap();
    assert_eq!(lab.ok(&["gallery", "cards"]).stdout, "2 cards in cards: all can be shown\n");
    // Made and made again.
    for _ in 0..2 {
        assert_eq!(lab.ok(&["gallery", "cards", "-o", "site"]).stdout, "2 cards: site/index.html\n");
    }
    let page = std::fs::read_to_string(lab.path().join("site/index.html")).unwrap();
    for part in [
        "AMD EPYC",
        "1.80x",
        "[1.70, 1.90]",
        "virtual (KVM), 2 logical CPUs, siblings hidden",
        "2 sessions",
        "threadwise run placement",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(!page.contains("<script>alert") && page.contains("Intel &lt;script"), "{page}");
    // One that is wrong, and nothing is written.
    let mut twice = card("another name", 1.8);
    write("c.json", &twice);
    assert!(
        refused(&lab, &["gallery", "cards", "-o", "site"])
            .contains("c.json: it has the figures of cards/a.json")
    );
    twice["host"] = json!("db1");
    write("c.json", &twice);
    assert!(refused(&lab, &["gallery", "cards"]).contains("c.json: it is not a card: unknown field `host`"));
    write("c.json", &card("one", 99.0));
    assert!(
        refused(&lab, &["gallery", "cards", "-o", "other"]).contains("second-cpu is 99, not from 0.05 to 20")
    );
    assert!(!lab.path().join("other").exists());
    std::fs::write(lab.path().join("cards/c.json"), vec![b' '; 9000]).unwrap();
    assert!(refused(&lab, &["gallery", "cards"]).contains("c.json"));
    // A page that is not ours stays.
    std::fs::remove_file(lab.path().join("cards/c.json")).unwrap();
    std::fs::create_dir(lab.path().join("mine")).unwrap();
    lab.ok(&["published", "cached-reads", "--html", "report.html"]);
    let report = std::fs::read_to_string(lab.path().join("report.html")).unwrap();
    for text in ["mine", report.as_str()] {
        std::fs::write(lab.path().join("mine/index.html"), text).unwrap();
        assert!(refused(&lab, &["gallery", "cards", "-o", "mine"]).contains("exists and is not overwritten"));
        assert_eq!(std::fs::read_to_string(lab.path().join("mine/index.html")).unwrap(), text);
    }
}

#[test]
fn the_cards_of_the_repository_can_be_shown() {
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let lab = Lab::new();
    lab.ok(&["gallery", repository.join("gallery").to_str().unwrap()]);
}
