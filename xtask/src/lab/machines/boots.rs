//! A study over four real boots of one machine: SMT on, off (`nosmt` on the kernel's command line), off, on.
//!
//! A guest keeps nothing: its result file is sent over the serial console in base64, and returns with the next
//! boot's commands.

use super::console::{Output, outputs};
use super::machine::{Machine, differences};
use crate::lab::guest::Guest;
use crate::lab::guest::parts::Parts;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The preset, reduced by [`definition`].
const PRESET: &str = include_str!("../../../../crates/study/studies/smt-boots.toml");
/// The reductions: an emulator is slow, and its times mean nothing.
const SMALLER: [(&str, &str); 4] = [
    ("data = [\"l2\", \"memory\"]", "data = [\"l2\"]"),
    ("rounds = 10", "rounds = 2"),
    ("slice_ms = 50", "slice_ms = 200"),
    ("\nblocks = 8", "\nblocks = 2"),
];
/// Arms in the order of their boots: the first is one with SMT and there was no seed.
const ORDER: [&str; 4] = ["on", "off", "off", "on"];
/// A machine that is booted again is the same one.
const IDENTITY: &str = "mkdir -p /etc; echo 0123456789abcdef0123456789abcdef > /etc/machine-id";
const FIRST: &str = "threadwise run study.toml --output s.threadwise";
const NEXT: &str = "threadwise run --resume s.threadwise";
const OPTIONS: &str = "--no-probe --allow-busy --no-html";
/// Exit status of a part that is refused (docs/EXIT-CODES.md).
const REFUSED: i32 = 3;
const LIMIT: Duration = Duration::from_secs(300);

/// A command of a boot and its expected result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Step {
    name: &'static str,
    command: String,
    status: i32,
    /// A word of its output.
    says: &'static str,
}

/// Boots the machine for each part, and once more with the wrong arm; returns the faults.
///
/// # Errors
/// QEMU cannot be started.
pub fn run(machine: &Machine, parts: &Parts) -> Result<Vec<String>, String> {
    let mut file = String::new();
    let mut report = String::new();
    for number in 1..=ORDER.len() {
        if number == 2 {
            let says = "SMT is on and must be off";
            let wrong = Step { name: "wrong", command: part(2), status: REFUSED, says };
            if let Err(why) = boot(machine, parts, "on", &file, &[wrong])? {
                return Ok(vec![format!("boot 2 with the arm of boot 1: {why}")]);
            }
        }
        match boot(machine, parts, ORDER[number - 1], &file, &steps(number))? {
            Ok(texts) => {
                [file, report] = [texts[texts.len() - 2].clone(), texts[texts.len() - 1].clone()];
            }
            Err(why) => return Ok(vec![format!("boot {number}: {why}")]),
        }
    }
    Ok(judged(machine, &report))
}

/// Measures the part of a boot.
fn part(number: usize) -> String {
    let begun = if number == 1 { FIRST } else { NEXT };
    format!("{begun} --arm smt-{} {OPTIONS}", ORDER[number - 1])
}

/// Steps of a boot; the last two are the file and the report.
fn steps(number: usize) -> Vec<Step> {
    let step = |name, command: &str| Step { name, command: command.to_owned(), ..Step::default() };
    let measured = format!("{} > log 2>&1 || {{ tail -n 3 log; false; }}", part(number));
    let mut steps = vec![step("part", &measured)];
    if number == 2 {
        // The next part has the same arm but still needs a boot.
        let says = "every part needs its own boot";
        steps.push(Step { name: "twice", command: part(3), status: REFUSED, says });
    }
    steps.push(step("file", "gzip -9 < s.threadwise | base64"));
    steps.push(step("report", "threadwise report s.threadwise --json"));
    steps
}

/// Boots with an arm and does the steps; returns the output of each, or the fault.
fn boot(
    machine: &Machine,
    parts: &Parts,
    smt: &str,
    file: &str,
    steps: &[Step],
) -> Result<Result<Vec<String>, String>, String> {
    let kernel = if smt == "off" { "nosmt".to_owned() } else { String::new() };
    let machine = Machine { guest: Guest { kernel, ..machine.guest.clone() }, ..machine.clone() };
    let files = files(file);
    let mut commands = vec![("files", files.as_str())];
    commands.extend(steps.iter().map(|step| (step.name, step.command.as_str())));
    let said = outputs(&machine, parts, &commands, LIMIT)?;
    let judged = |(step, output): (&Step, Result<Output, String>)| {
        let output = output.map_err(|why| format!("{}: {why}", step.name))?;
        match output.status == step.status && output.text.contains(step.says) {
            true => Ok(output.text),
            false => Err(format!(
                "{}: exit status {} instead of {} with '{}': {}",
                step.name,
                output.status,
                step.status,
                step.says,
                output.text.trim()
            )),
        }
    };
    Ok(steps.iter().zip(said.into_iter().skip(1)).map(judged).collect())
}

/// Commands that write the definition and, after the first boot, the result file.
fn files(file: &str) -> String {
    let definition = definition();
    let mut text = format!("{IDENTITY}\ncat > study.toml <<'END'\n{definition}END\n");
    if !file.is_empty() {
        text.push_str(&format!("base64 -d <<'END' | gunzip > s.threadwise\n{file}END\n"));
    }
    text
}

fn definition() -> String {
    SMALLER.iter().fold(PRESET.to_owned(), |text, (from, to)| text.replacen(from, to, 1))
}

/// Faults of the last report.
fn judged(machine: &Machine, report: &str) -> Vec<String> {
    let Ok(report) = serde_json::from_str::<Value>(report) else {
        return vec![format!("the report is not JSON: {}", report.trim())];
    };
    let external = &report["details"]["external"];
    let [packages, cores, threads] = machine.guest.smp;
    let wanted = ORDER.map(|smt| {
        let threads = if smt == "on" { threads } else { 1 };
        json!({"arm": format!("smt-{smt}"), "online_cpus": packages * cores * threads, "blocks": 2})
    });
    let mut found = Vec::new();
    differences("boot", &external["boots"], &json!(wanted), &mut found);
    let different = |key: &str| {
        let boots = external["boots"].as_array().into_iter().flatten();
        boots.filter_map(|boot| boot[key].as_str()).collect::<BTreeSet<&str>>().len()
    };
    let (ids, machines) = (different("boot_id"), different("machine_hash"));
    if (ids, machines) != (ORDER.len(), 1) {
        found.push(format!("{ids} boots of {machines} machines, not {} of 1", ORDER.len()));
    }
    let all = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let mut ratios = all(&report["estimates"]);
    ratios.retain(|one| one["family"] == "external" && one["figure"] == "ratios.ratio");
    let is_of_two = all(&external["ratios"]).iter().all(|ratio| ratio["boots"] == 2);
    if ratios.is_empty() || !is_of_two || !ratios.iter().all(|ratio| ratio["high"].is_number()) {
        found.push(format!("ratios of arms lack intervals over 2 boots each: {ratios:?}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::machine::tables;
    use super::*;

    #[test]
    fn the_preset_is_made_smaller() {
        let definition = definition();
        for (from, to) in SMALLER {
            assert!(!definition.contains(from) && definition.contains(to), "{from}");
        }
        assert!(definition.contains("boots = 4"));
    }

    #[test]
    fn files_come_back_and_the_second_boot_refuses_a_third_part() {
        assert!(!files("").contains("base64"));
        assert!(files("QQ==\n").contains("<<'END' | gunzip > s.threadwise\nQQ==\nEND\n"));
        let [first, second] = [1, 2].map(steps);
        assert!(first[0].command.starts_with(FIRST) && second[0].command.contains("--resume"));
        assert_eq!((first.len(), second.len(), second[1].status), (3, 4, REFUSED));
        assert!(second[1].command.contains("--arm smt-off"));
    }

    fn report(arms: [(&str, u64); 4], high: Value) -> String {
        let boots: Vec<Value> = arms
            .iter()
            .enumerate()
            .map(|(at, (arm, online))| {
                json!({"arm": arm, "online_cpus": online, "blocks": 2, "boot_id": at.to_string(), "machine_hash": "a"})
            })
            .collect();
        let estimates = json!([{"family": "external", "figure": "ratios.ratio", "high": high}]);
        let external = json!({"boots": boots, "ratios": [{"boots": 2}]});
        json!({"details": {"external": external}, "estimates": estimates}).to_string()
    }

    #[test]
    fn boots_have_their_arms_and_ratios_their_intervals() {
        let (on, off) = (("smt-on", 8), ("smt-off", 4));
        let judged = |arms, high| judged(&tables().unwrap().machines[0], &report(arms, high));
        assert_eq!(judged([on, off, off, on], json!(1.2)), Vec::<String>::new());
        assert_eq!(judged([on, off, off, ("smt-on", 7)], json!(1.2)).len(), 1);
        assert_eq!(judged([off, on, on, off], json!(null)).len(), 9);
        assert!(super::judged(&tables().unwrap().machines[0], "threadwise: no")[0].contains("not JSON"));
    }
}
