//! Instances of an engine as factors: found where they are in a model, on two folders, and nothing left behind.

use crate::harness::Lab;
use crate::harness::estimates_of;
use crate::harness::{living, wait_until_clean};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Two treatments on tables of 400 KiB.
const STUDY: &str = "version = 1\nname = \"devices\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n\n\
                     [options]\nblocks = 100\n\n[[treatment]]\nplacement = \"one-cpu\"\n";

fn devices(lab: &Lab) -> [PathBuf; 2] {
    ["a", "b"].map(|name| {
        let folder = lab.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    })
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn report(lab: &Lab, file: &str) -> Value {
    serde_json::from_str(&lab.ok(&["report", file, "--json"]).stdout).unwrap()
}

fn of_instances(report: &Value) -> Vec<&Value> {
    let mut estimates = estimates_of(report, "comparisons");
    estimates.retain(|one| one["place"]["kind"] == "instance" && one["metric"] == "rows_per_s");
    estimates
}

#[test]
fn an_engine_that_is_a_fifth_faster_is_found_to_be() {
    let lab = Lab::new();
    let factor = ["--factor", "engine.base_rows_per_s=1000000,1200000", "--factor", "data=l2", "--no-html"];
    let said = lab.simulated("s.threadwise", &factor);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("The same treatments under another level: "), "{}", said.stdout);
    let report = report(&lab, "s.threadwise");
    let found = of_instances(&report);
    assert!(found.len() >= 2, "{found:?}");
    for one in found {
        let [low, high] = ["low", "high"].map(|end| one[end].as_f64().unwrap());
        // Of several intervals of 95% one may miss; none is far off.
        assert!(low < 1.23 && high > 1.17, "{one}");
    }
}

#[test]
fn data_lies_on_the_devices_while_a_study_runs_and_on_none_afterwards() {
    let lab = Lab::new();
    let devices = devices(&lab);
    std::fs::write(lab.path().join("devices.toml"), STUDY).unwrap();
    let factor = format!("device={},{}", devices[0].display(), devices[1].display());
    let usual = ["run", "devices.toml", "--factor", &factor, "--no-probe", "--allow-busy", "--no-html"];
    // A slice is longer than what else runs on this machine may keep it from its logical CPU.
    let few = ["--blocks", "2", "--rounds", "2", "--slice", "250ms", "--rewarm", "1ms"];
    lab.ok(&[&usual[..], &few, &["--output", "s.threadwise"]].concat());
    let report = report(&lab, "s.threadwise");
    assert_eq!(of_instances(&report).len(), 2, "the baseline and one-cpu");
    assert!(report["runs"]["failed"].as_u64().unwrap_or(0) == 0, "{}", report["runs"]);
    assert_eq!((devices.each_ref().map(|device| entries(device)), lab.leftovers()), ([0, 0], Vec::new()));

    let long = [&usual[..], &["--blocks", "500", "--output", "killed.threadwise"]].concat();
    let mut study = lab.command(&long).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while devices.iter().any(|device| entries(device) == 0) {
        assert!(Instant::now() < end && study.try_wait().unwrap().is_none(), "no data on a device");
        std::thread::sleep(Duration::from_millis(5));
    }
    study.kill().unwrap();
    study.wait().unwrap();
    wait_until_clean(&lab);
    while devices.iter().any(|device| entries(device) > 0) || !living(&lab).is_empty() {
        assert!(Instant::now() < end, "left behind: {:?}", living(&lab));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn factors_that_cannot_be_are_refused_before_anything_is_made() {
    let lab = Lab::new();
    let refusals = [
        (vec!["--factor", "device=/proc/nowhere/at/all,/tmp"], "device /proc/nowhere/at/all is not a folder"),
        (vec!["--factor", "smt=mask,system"], "use --smt mask,system"),
        (vec!["--factor", "data=l1,l2", "--factor", "data=l3,l2"], "--factor data is given twice"),
        (vec!["--factor", "data=l2,l2"], "--factor data: level 'l2' of factor 'data' appears twice"),
        (vec!["--factor", "engine.bin=/a,/b"], "bin"),
        (vec!["--factor", "nothing"], "nothing"),
        (
            vec!["--engine", "postgres://127.0.0.1:1/x", "--factor", "device=/tmp,/var/tmp"],
            "are factors of engines that threadwise starts",
        ),
    ];
    for (factor, words) in refusals {
        let said = lab.run(&[&["run", "placement", "--plan"], &factor[..]].concat());
        assert_eq!(said.code, Some(2), "{factor:?} {}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(words), "{factor:?} {}", said.stderr);
    }
    assert_eq!((lab.files(), lab.leftovers()), (Vec::<String>::new(), Vec::new()));
}
