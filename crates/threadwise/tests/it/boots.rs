//! Studies over boots: what goes on after another boot, and external arms from the first boot to the report.

use crate::harness::estimates_of;
use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::path::Path;
use threadwise_store::Store;

/// What a boot says of itself, below a folder that stands for the system's root.
fn root(lab: &Lab, boot: u32, smt: &str, kernel: &str) {
    let write = |path: &str, text: &str| {
        let path = lab.path().join("tmp/root").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/sys/kernel/random/boot_id", &format!("6c1ea6c2-3f5d-4a39-9c53-{boot:012}\n"));
    write("proc/sys/kernel/osrelease", kernel);
    write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    write("sys/devices/system/cpu/smt/active", if smt == "on" { "1\n" } else { "0\n" });
    write("sys/devices/system/cpu/smt/control", smt);
    write("sys/devices/system/cpu/online", "0-1\n");
}

/// Runs on that boot.
fn on_boot(lab: &Lab, args: &[&str]) -> Said {
    said(lab.command(args).env("THREADWISE_TEST_ROOT", lab.path().join("tmp/root")).output().unwrap())
}

fn ok(lab: &Lab, args: &[&str]) -> Said {
    let said = on_boot(lab, args);
    assert_eq!(said.code, Some(0), "{args:?}\n{}\n{}", said.stdout, said.stderr);
    said
}

fn bytes(lab: &Lab, name: &str) -> Vec<u8> {
    std::fs::read(lab.path().join(name)).unwrap()
}

fn open(lab: &Lab, name: &str) -> Store {
    Store::open(&lab.path().join(name)).unwrap()
}

/// A study that was stopped on boot 1, in the file `s.threadwise`.
fn stopped(lab: &Lab) {
    root(lab, 1, "on", "6.1.0-28");
    let args = [
        "run",
        "--all",
        "--engine",
        "simulated",
        "--seed",
        "7",
        "--blocks=8",
        "--no-html",
        "-o",
        "s.threadwise",
    ];
    ok(lab, &args);
    let plain = rusqlite::Connection::open(lab.path().join("s.threadwise")).unwrap();
    plain.execute_batch("UPDATE meta SET value = 'stopped' WHERE key = 'state'").unwrap();
}

const RESUME: [&str; 5] = ["run", "--all", "--resume", "s.threadwise", "--no-html"];

#[test]
fn after_another_boot_a_study_begins_a_new_file_and_leaves_the_old_one() {
    let lab = Lab::new();
    stopped(&lab);
    assert_eq!(open(&lab, "s.threadwise").boots().unwrap().len(), 1);
    let before = bytes(&lab, "s.threadwise");
    root(&lab, 2, "on", "6.1.0-28");
    std::fs::write(lab.path().join("s-boot2.threadwise"), "a file of its user's").unwrap();
    let said = ok(&lab, &RESUME);
    assert!(
        said.stdout.contains(
            "s.threadwise was measured on an earlier boot of this machine: it stays unchanged, and the same study, with \
             the same seed, starts in s-boot3.threadwise"
        ),
        "{}",
        said.stdout
    );
    assert_eq!(bytes(&lab, "s.threadwise"), before);
    assert_eq!(bytes(&lab, "s-boot2.threadwise"), b"a file of its user's");
    let (old, new) = (open(&lab, "s.threadwise"), open(&lab, "s-boot3.threadwise"));
    assert_eq!(new.study(), old.study());
    assert_eq!((new.complete_blocks().unwrap().len(), new.boots().unwrap().len()), (8, 1));
    let note = "the same study as s.threadwise, which was measured on an earlier boot of this machine";
    assert!(new.notes().unwrap().iter().any(|one| one.text == note), "{:?}", new.notes());
    assert_eq!(lab.leftovers(), ["root"]);
}

#[test]
fn on_the_same_boot_and_where_boots_are_not_known_a_study_goes_on() {
    let lab = Lab::new();
    stopped(&lab);
    let said = ok(&lab, &RESUME);
    assert!(!said.stdout.contains("stays unchanged"), "{}", said.stdout);
    assert_eq!(
        (open(&lab, "s.threadwise").boots().unwrap().len(), lab.files()),
        (1, vec!["s.threadwise".to_owned()])
    );
    let plain = rusqlite::Connection::open(lab.path().join("s.threadwise")).unwrap();
    plain.execute_batch("UPDATE meta SET value = 'stopped' WHERE key = 'state'").unwrap();
    drop(plain);
    std::fs::remove_dir_all(lab.path().join("tmp/root")).unwrap();
    std::fs::create_dir(lab.path().join("tmp/root")).unwrap();
    let said = ok(&lab, &RESUME);
    assert!(
        said.stdout.contains(
            "It is unknown whether the machine was booted since: the id of this boot cannot be read"
        ),
        "{}",
        said.stdout
    );
    assert_eq!(lab.files(), ["s.threadwise"]);
}

/// A result file whose writer lost its power in the midst of a transaction, and its journal.
fn cut_off(folder: &Path) {
    let file = folder.join("s.threadwise");
    let plain = rusqlite::Connection::open(&file).unwrap();
    plain.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
    for _ in 0..50 {
        plain.execute("INSERT INTO notes (code, text) VALUES ('other', ?)", ["x".repeat(5000)]).unwrap();
    }
    let copies = [("s.threadwise", "cut"), ("s.threadwise-journal", "cut-journal")];
    for (from, to) in copies {
        std::fs::copy(folder.join(from), folder.join(to)).unwrap();
    }
    plain.execute_batch("ROLLBACK").unwrap();
    drop(plain);
    for (to, from) in copies {
        std::fs::rename(folder.join(from), folder.join(to)).unwrap();
    }
}

#[test]
fn a_power_cut_within_a_transaction_leaves_the_old_file_and_its_journal() {
    let lab = Lab::new();
    stopped(&lab);
    cut_off(lab.path());
    assert!(Store::open(&lab.path().join("s.threadwise")).is_err(), "there is something to undo");
    let names = ["s.threadwise", "s.threadwise-journal"];
    let before = names.map(|name| bytes(&lab, name));
    root(&lab, 2, "on", "6.1.0-28");
    ok(&lab, &RESUME);
    assert_eq!(names.map(|name| bytes(&lab, name)), before);
    assert_eq!(open(&lab, "s-boot2.threadwise").complete_blocks().unwrap().len(), 8);
    root(&lab, 1, "on", "6.1.0-28");
    ok(&lab, &RESUME);
    assert_eq!(
        open(&lab, "s.threadwise").notes().unwrap(),
        open(&lab, "s-boot2.threadwise").notes().unwrap()[1..]
    );
    assert_eq!(lab.leftovers(), ["root"]);
}

const ARMS: &str = "version = 1\nname = \"arms\"\nengine = \"simulated\"\nworkload = \"logical-io\"\nseed = 1\n\n\
    [options]\nblocks = 500\n\n[design]\nrounds = 4\nslice_ms = 10\nrewarm_ms = 1\n\n[[treatment]]\n\
    name = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n\n[[treatment]]\nname = \"all\"\nplacement = \"all\"\n\n\
    [[treatment]]\nname = \"never\"\nplacement = \"900c1t\"\n\n\
    [external]\narms = [\"smt-on\", \"smt-off\"]\nboots = 4\nblocks = 2\n\n[external.expect]\n\
    smt-on = { smt = \"on\" }\nsmt-off = { smt = \"off\", kernel = \"6.1\" }\n\n[external.switch]\n\
    smt-on = [\"touch\", \"switched on\"]\nsmt-off = [\"touch\", \"switched off\"]\n";

/// `on` and `off` in the order of the boots.
fn order(lab: &Lab) -> Vec<String> {
    let plan = ok(lab, &["run", "arms.toml", "--plan"]).stdout;
    let (_, rest) = plan.split_once("External arms: ").unwrap();
    let (arms, _) = rest.split_once(';').unwrap();
    arms.split(", ").map(|arm| arm.strip_prefix("smt-").unwrap().to_owned()).collect()
}

/// Is refused with exit code 3, and changes nothing.
fn refused(lab: &Lab, args: &[&str], why: &str) {
    let before = lab.path().join("a.threadwise").exists().then(|| bytes(lab, "a.threadwise"));
    let said = on_boot(lab, args);
    assert_eq!(said.code, Some(3), "{args:?}: {}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
    let after = lab.path().join("a.threadwise").exists().then(|| bytes(lab, "a.threadwise"));
    assert!(before == after, "{args:?}");
}

#[test]
fn four_boots_of_two_arms_come_to_a_report() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("arms.toml"), ARMS).unwrap();
    root(&lab, 1, "on", "6.1.0-28");
    let order = order(&lab);
    assert!([["on", "off", "off", "on"], ["off", "on", "on", "off"]].iter().any(|wanted| order == *wanted));
    let other = |smt: &str| if smt == "on" { "off" } else { "on" };
    for (at, smt) in order.iter().enumerate() {
        let number = at as u32 + 1;
        let (right, wrong) = (format!("smt-{smt}"), format!("smt-{}", other(smt)));
        let first = ["run", "--all", "arms.toml", "-o", "a.threadwise", "--arm"];
        let next = ["run", "--all", "--resume", "a.threadwise", "--arm"];
        let with = |arm: &str, more: &[&str]| -> Vec<String> {
            let begin = if at == 0 { &first[..] } else { &next[..] };
            begin.iter().chain(&[arm]).chain(more).map(|word| (*word).to_owned()).collect()
        };
        let refused_with = |arm: &str, why: &str| {
            let args = with(arm, &[]);
            refused(&lab, &args.iter().map(String::as_str).collect::<Vec<_>>(), why);
        };
        if at > 0 {
            refused_with(&right, "every part needs its own boot");
        }
        root(&lab, number, other(smt), "6.1.0-28");
        refused_with(&right, &format!("SMT is {} and must be {smt}", other(smt)));
        root(&lab, number, smt, if at == 2 { "6.1.0-29" } else { "6.1.0-28" });
        refused_with(&wrong, &format!("arm {right} is due (boot {number} of 4), not {wrong}"));
        let args = with(&right, if at == 0 { &["--allow-commands"] } else { &[] });
        let said = ok(&lab, &args.iter().map(String::as_str).collect::<Vec<_>>());
        if at == 2 {
            assert!(
                said.stdout.contains("Since the first boot: kernel was 6.1.0-28 and is 6.1.0-29"),
                "{}",
                said.stdout
            );
        }
        match order.get(at + 1) {
            Some(then) => {
                let words = format!("threadwise run --resume a.threadwise --arm smt-{then}");
                assert!(said.stdout.contains(&words), "{}", said.stdout);
                assert_eq!(
                    said.stdout.contains(&format!("touch 'switched {then}'")),
                    then != smt,
                    "{}",
                    said.stdout
                );
            }
            None => assert!(!said.stdout.contains("--resume"), "{}", said.stdout),
        }
        let switched: Vec<String> =
            lab.files().into_iter().filter(|name| name.starts_with("switched")).collect();
        assert_eq!(switched, [format!("switched {}", order[1])], "only --allow-commands runs it");
        let store = open(&lab, "a.threadwise");
        assert_eq!(store.complete_blocks().unwrap().len(), 2 * (at + 1));
        assert_eq!(store.boots().unwrap().len(), at + 1);
    }
    reported(&lab);
    let said = ok(&lab, &["run", "--all", "--resume", "a.threadwise", "--arm", "smt-on", "--no-html"]);
    assert!(said.stderr.contains("this study is already complete"), "{}", said.stderr);
}

/// What the report of all four boots has.
fn reported(lab: &Lab) {
    let said = ok(lab, &["report", "a.threadwise", "--json"]);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    let external = &json["details"]["external"];
    assert_eq!(external["boots"].as_array().unwrap().len(), 4);
    for (at, boot) in external["boots"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&boot["number"], &boot["blocks"]), (&Value::from(at + 1), &Value::from(2)), "{boot}");
        assert_eq!(boot["rates"].as_array().unwrap().len(), 4);
    }
    // Which treatment is the fastest, the model's noise decides.
    let ratios = external["ratios"].as_array().unwrap();
    let (_, each): (Vec<&Value>, Vec<&Value>) = ratios.iter().partition(|ratio| ratio["fastest"] == true);
    let names: Vec<&str> = each.iter().map(|ratio| ratio["treatment"].as_str().unwrap()).collect();
    assert_eq!(names, ["alone", "two", "all"]);
    for ratio in ratios {
        assert_eq!((&ratio["boots"], &ratio["baseline_boots"]), (&Value::from(2), &Value::from(2)));
    }
    let all = estimates_of(&json, "external");
    let all: Vec<&&Value> = all.iter().filter(|one| one["figure"] == "ratios.ratio").collect();
    assert_eq!(all.len(), ratios.len());
    for ratio in all {
        let value = |name: &str| ratio[name].as_f64().unwrap();
        assert!(value("low") <= value("value") && value("value") <= value("high"), "{ratio}");
        // The model knows nothing of arms.
        assert!((0.7..1.4).contains(&value("value")), "{ratio}");
    }
    assert_eq!(
        external["differing"],
        serde_json::json!(["kernel: 6.1.0-28 (boots 1, 2, 4), 6.1.0-29 (boot 3)"])
    );
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == "arms"), "{findings:?}");
    let page = String::from_utf8(bytes(lab, "a.html")).unwrap();
    assert!(page.contains("Arms over boots") && page.contains("6.1.0-29"));
}

#[test]
fn one_boot_of_each_arm_is_said_to_be_confounded() {
    let lab = Lab::new();
    let text = ARMS.replace("boots = 4", "boots = 2");
    std::fs::write(lab.path().join("arms.toml"), text).unwrap();
    root(&lab, 1, "on", "6.1.0-28");
    let order = order(&lab);
    for (at, smt) in order.iter().enumerate() {
        root(&lab, at as u32 + 1, smt, "6.1.0-28");
        let arm = format!("smt-{smt}");
        match at {
            0 => ok(&lab, &["run", "--all", "arms.toml", "-o", "a.threadwise", "--no-html", "--arm", &arm]),
            _ => {
                let said =
                    ok(&lab, &["run", "--all", "--resume", "a.threadwise", "--no-html", "--arm", &arm]);
                let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    words.contains(
                        "one boot each, so the arm is confounded with everything else that a boot changes"
                    ),
                    "{}",
                    said.stdout
                );
                said
            }
        };
    }
}

#[test]
fn an_arm_has_to_be_named_and_to_be_one() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("arms.toml"), ARMS).unwrap();
    root(&lab, 1, "on", "6.1.0-28");
    let bad = |args: &[&str], why: &str| {
        let said = on_boot(&lab, args);
        assert_eq!(said.code, Some(2), "{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    };
    bad(&["run", "--all", "arms.toml"], "give the machine's current one with --arm");
    bad(&["run", "--all", "arms.toml", "--arm", "smt"], "there is no arm 'smt': arms are smt-on, smt-off");
    bad(&["run", "--all", "--engine", "simulated", "--arm", "x"], "--arm x: this study has no external arms");
    assert_eq!(lab.files(), ["arms.toml"]);
    // Where the study gives no seed, one is chosen under which the named arm begins.
    let text = ARMS.replace("seed = 1\n", "");
    std::fs::write(lab.path().join("arms.toml"), text).unwrap();
    for smt in ["on", "off"] {
        root(&lab, 1, smt, "6.1.0-28");
        let (file, arm) = (format!("{smt}.threadwise"), format!("smt-{smt}"));
        ok(&lab, &["run", "--all", "arms.toml", "--arm", &arm, "-o", &file, "--no-html"]);
    }
}
