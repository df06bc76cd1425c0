//! Bad input: one line that names the cause and a next step, a code that is not 0, nothing touched.

use crate::harness::{Lab, Said};

fn refused(lab: &Lab, args: &[&str], words: &[&str]) -> Said {
    let before = lab.files();
    let said = lab.run(args);
    assert!(
        matches!(said.code, Some(2 | 3)),
        "{args:?}: code {:?}\n{}\n{}",
        said.code,
        said.stdout,
        said.stderr
    );
    assert_eq!(said.stdout, "", "{args:?} printed results");
    let errors: Vec<&str> = said.stderr.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(errors.len(), 1, "{args:?} said more than one line:\n{}", said.stderr);
    for word in words {
        assert!(errors[0].contains(word), "{args:?}: '{word}' is not in: {}", errors[0]);
    }
    assert_eq!(lab.files(), before, "{args:?} left something behind");
    assert_eq!(lab.leftovers(), Vec::<String>::new(), "{args:?} left something in the temporary folder");
    said
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let lab = Lab::new();
    refused(&lab, &["run", "--all", "fastest"], &["fastest", "placement", "session-sweep"]);
    refused(&lab, &["run", "--engine", "oracle9", "--allow-busy"], &["oracle9", "sqlite"]);
    refused(&lab, &["run", "--placement", "moon", "--allow-busy"], &["moon", "same-core"]);
    refused(&lab, &["run", "--all", "placment"], &["did you mean placement?"]);
    refused(&lab, &["run", "--all", "postgresql"], &["threadwise run --engine postgres"]);
    for (typed, meant) in [("mysqld", "mysql"), ("pg", "postgres"), ("sqlite3", "sqlite"), ("duck", "duckdb")]
    {
        let words = format!("did you mean {meant}?");
        refused(&lab, &["run", "--engine", typed, "--allow-busy"], &[typed, &words]);
    }
    refused(&lab, &["run", "--all", "work-list", "--engine", "mariadbd"], &["did you mean mariadb?"]);
    refused(&lab, &["run", "pgbench", "-c", "4"], &["threadwise run command -- pgbench -c 4"]);
    refused(&lab, &["run", "--set", "wrk_unit=4", "--allow-busy"], &["wrk_unit", "work_unit"]);
    refused(&lab, &["run", "--set", "work_unit=lots", "--allow-busy"], &["work_unit", "lots"]);
}

/// The same answer whether these engines are installed here or not.
#[test]
fn bad_input_is_refused_before_an_engine_is_looked_for() {
    let lab = Lab::new();
    let bad = |args: &[&str], words: &[&str]| {
        let said = refused(&lab, &[&["run", "--all"], args, &["--allow-busy", "--no-probe"]].concat(), words);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
    };
    for engine in ["postgres", "mariadb", "firebird", "sqlserver", "oracle"] {
        bad(&["cached-reads", "--engine", engine, "--set", "colour=red"], &["colour"]);
    }
    for engine in ["postgres", "mariadb", "firebird"] {
        bad(
            &["cached-reads", "--engine", engine, "--engine-option", "bin=/proc/nowhere"],
            &["bin", "/proc/nowhere"],
        );
        bad(&["cached-reads", "--engine", engine, "--engine-option", "colour=red"], &["colour"]);
    }
    for engine in ["duckdb", "datafusion"] {
        bad(&["cached-reads", "--engine", engine], &[engine, "logical-io", "tpch"]);
    }
    for engine in ["mariadb", "firebird", "native", "worklist"] {
        bad(&["parallel-queries", "--engine", engine], &[engine, "tpch"]);
    }
    for engine in ["postgres", "sqlite", "duckdb"] {
        bad(&["parallel-queries", "--engine", engine, "--set", "scale=0"], &["scale"]);
    }
}

/// A server that needs a program of its own, without that program: every way to name one.
#[test]
fn an_engine_that_is_not_installed_is_exit_code_3_of_every_command() {
    let lab = Lab::new();
    // A copy, beside which nothing of the build is.
    let program = lab.path().join("threadwise");
    threadwise_process::programs::copy(crate::harness::program().as_ref(), &program).unwrap();
    for url in ["sqlserver://ada@127.0.0.1/shop", "oracle://ada@127.0.0.1/shop"] {
        for command in [
            &["run", "--all"][..],
            &["pool", "--all"],
            &["ab", "--all", "--a=work_unit=1", "--b=work_unit=2"],
            &["maxdop", "--all"],
            &["run", "--all", "concurrent-inserts"],
        ] {
            let mut child = std::process::Command::new(&program);
            child.args(command).args(["--engine", url, "--allow-busy", "--no-probe"]).current_dir(lab.path());
            child.env("PATH", lab.path()).env("HOME", lab.path()).env("TMPDIR", lab.tmp());
            child.env_remove("XDG_DATA_HOME").env("THREADWISE_STATE_DIR", lab.state());
            let said = crate::harness::said(child.output().unwrap());
            assert_eq!(said.code, Some(3), "{command:?} {url}: {}", said.stderr);
            assert!(said.stderr.contains("is not installed here"), "{command:?}: {}", said.stderr);
        }
    }
}

#[test]
fn what_the_machine_lacks_is_said() {
    let lab = Lab::new();
    refused(&lab, &["run", "--placement", "900s900c8t", "--allow-busy"], &["900s900c8t", "package"]);
    refused(&lab, &["run", "--placement", "60000", "--allow-busy"], &["60000"]);
    refused(&lab, &["run", "--memory", "900", "--allow-busy"], &["NUMA node 900"]);
}

#[test]
fn a_limit_of_open_files_is_found_before_anything_is_made() {
    let lab = Lab::new();
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(lab.path()).env("TMPDIR", lab.tmp()).stdin(std::process::Stdio::null());
    shell.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", &crate::harness::program()]);
    shell.args(["run", "--allow-busy", "--no-html"]);
    let refused = crate::harness::said(shell.output().unwrap());
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("ulimit -n") && refused.stderr.contains("64 open files"),
        "{}",
        refused.stderr
    );
    assert_eq!(refused.stdout, "");
    assert_eq!((lab.files(), lab.leftovers()), (Vec::<String>::new(), Vec::<String>::new()));
}

#[test]
fn impossible_numbers_are_refused() {
    let lab = Lab::new();
    refused(&lab, &["run", "--sessions", "0", "--allow-busy"], &["session"]);
    refused(&lab, &["run", "--budget", "2s", "--allow-busy"], &["budget", "8 blocks", "--budget"]);
    refused(&lab, &["run", "--rounds", "0", "--allow-busy"], &["round"]);
    refused(&lab, &["run", "--all", "--budget", "90"], &["90s", "--help"]);
    refused(
        &lab,
        &["run", "--all", "--sessions", "two"],
        &["--sessions", "'two' is not a whole number", "1,2,4"],
    );
    refused(
        &lab,
        &["run", "--all", "parallel-queries", "--dop", "1,x"],
        &["--dop", "'x' is not a whole number"],
    );
    refused(&lab, &["run", "--all", "--slice", "1ns"], &["--slice", "'1ns' is out of range", "1ms to 1h"]);
    refused(
        &lab,
        &["run", "--all", "--jobs", "3"],
        &["--jobs is for work lists", "threadwise run work-list --jobs 3", "--sessions 3"],
    );
    refused(&lab, &["run", "--all", "--until", "200%"], &["200%", "50%"]);
    refused(&lab, &["run", "--all", "--memory", "far"], &["far", "interleave"]);
    refused(&lab, &["run", "--all", "--speed", "9"], &["--speed"]);
    // Two names of one thing: neither may win silently.
    refused(
        &lab,
        &["run", "--all", "tpch-streams", "--streams", "1,2", "--sessions", "2"],
        &["--streams", "--sessions"],
    );
}

#[test]
fn study_files_are_refused_with_the_place() {
    let lab = Lab::new();
    let file = lab.path().join("s.toml");
    std::fs::write(&file, "version = 1\nname = \"x\"\nfactors = 3\n").unwrap();
    refused(&lab, &["run", "s.toml", "--allow-busy"], &["s.toml:3"]);
    std::fs::write(&file, "version = 1\nname = \"x\"\n[design]\nspeed = 9\n").unwrap();
    refused(&lab, &["run", "s.toml", "--allow-busy"], &["s.toml:4", "speed"]);
    let hot = "version = 1\nname = \"x\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n[options]\nhot_pct = 101\n\
               [baseline]\nplacement = \"1c1t\"\n[[treatment]]\nname = \"t\"\nplacement = \"one-cpu\"\nsessions = 2\n";
    std::fs::write(&file, hot).unwrap();
    refused(&lab, &["run", "s.toml", "--allow-busy"], &["s.toml:6", "hot_pct", "100"]);
    std::fs::write(&file, "version = 99\nname = \"x\"\n").unwrap();
    refused(&lab, &["run", "s.toml", "--allow-busy"], &["99"]);
    std::fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
    refused(&lab, &["run", "s.toml", "--allow-busy"], &["s.toml"]);
    refused(&lab, &["run", "absent.toml", "--allow-busy"], &["absent.toml"]);
}

#[test]
fn nothing_is_overwritten() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("mine.threadwise"), "precious").unwrap();
    std::fs::write(lab.path().join("mine.html"), "precious").unwrap();
    refused(&lab, &["run", "--output", "mine.threadwise", "--allow-busy"], &["mine.threadwise", "exists"]);
    refused(&lab, &["run", "--html", "mine.html", "--allow-busy"], &["mine.html", "exists"]);
    refused(&lab, &["run", "--output", "same.html", "--allow-busy"], &["same.html", "--html"]);
    refused(&lab, &["run", "--output", "nowhere/x.threadwise", "--allow-busy"], &["nowhere"]);
    refused(&lab, &["run", "--data-dir", "nowhere", "--allow-busy"], &["nowhere"]);
    assert_eq!(std::fs::read_to_string(lab.path().join("mine.threadwise")).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(lab.path().join("mine.html")).unwrap(), "precious");
}

#[test]
fn files_that_are_no_studies_are_refused() {
    let lab = Lab::new();
    let write = |name: &str, bytes: &[u8]| std::fs::write(lab.path().join(name), bytes).unwrap();
    write("empty", b"");
    write("text", b"hello\n");
    write("torn", b"SQLite format 3\0\x10\x00\x01\x01");
    std::fs::create_dir(lab.path().join("folder")).unwrap();
    for name in ["empty", "text", "torn", "folder", "absent"] {
        refused(&lab, &["report", "--all", name], &[name]);
        refused(&lab, &["export", name], &[name]);
        refused(&lab, &["run", "--all", "--resume", name], &[name]);
    }
}

#[test]
fn a_root_without_sys_is_no_machine() {
    let lab = Lab::new();
    refused(&lab, &["topology", "--root", "tmp"], &["tmp", "--root"]);
    refused(&lab, &["topology", "--root", "absent"], &["absent"]);
    refused(&lab, &["topology", "--placement", "3x"], &["--placement", "3x"]);
    let twice = ["topology", "--draw", "--placement", "all", "--placement", "one-cpu"];
    refused(&lab, &twice, &["one placement", "--placement once"]);
    refused(&lab, &["topology", "--draw", "--placement", "99s1c1t"], &["99s1c1t", "99 packages"]);
    refused(&lab, &["topology", "--draw", "--sessions", "4"], &["--placement"]);
    refused(&lab, &["topology", "--placement", "all", "--sessions", "4"], &["--draw"]);
}

#[test]
fn a_truncated_or_newer_study_is_refused() {
    let lab = Lab::new();
    let said = lab.simulated("s.threadwise", &["--no-html"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let whole = std::fs::read(lab.path().join("s.threadwise")).unwrap();
    std::fs::write(lab.path().join("half.threadwise"), &whole[..whole.len() / 2]).unwrap();
    refused(&lab, &["report", "--all", "half.threadwise"], &["half.threadwise"]);
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&77_u32.to_be_bytes()); // user_version, SQLite file format section 1.3
    std::fs::write(lab.path().join("newer.threadwise"), newer).unwrap();
    refused(&lab, &["report", "--all", "newer.threadwise"], &["77", "newer"]);
}
