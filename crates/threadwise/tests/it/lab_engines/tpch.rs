//! TPC-H on real engines at the smallest scale: answers, plans, faults, and what is left behind.
//!
//! The environment of the analytics engines is that of THREADWISE_TEST_ENGINES, which `cargo xtask lab
//! engines` makes: see `lab_engines::engine_command::real`.

use crate::harness::{Lab, Said, said};
use crate::lab_engines::engine_command::real;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A lab with a cache of its own and the engines of the test environment.
pub struct Bench {
    lab: Lab,
    /// `$XDG_DATA_HOME` of the engines.
    engines: PathBuf,
}

impl Bench {
    pub fn new() -> Self {
        let engines = real();
        let lab = Lab::new();
        use std::os::unix::fs::PermissionsExt;
        // A server that root starts runs as another user, who has to reach its data by name.
        for folder in [lab.path(), &lab.tmp()] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711)).unwrap();
        }
        Self { lab, engines }
    }

    fn cache(&self) -> PathBuf {
        self.lab.path().join("cache/threadwise/tpch")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.lab.command(args);
        command.env("XDG_DATA_HOME", &self.engines).env("XDG_CACHE_HOME", self.lab.path().join("cache"));
        command
    }

    /// A study definition of two blocks at scale 0.01.
    pub fn write(&self, engine: &str, options: &str, treatments: &str) {
        let text = format!(
            "version = 1\nname = \"short\"\nengine = \"{engine}\"\nworkload = \"tpch\"\n\n[options]\nscale = 0.01\n\
             {options}\n\n[design]\nblocks = 2\n\n[baseline]\nname = \"base\"\nplacement = \"all\"\nset = {{ dop = 1 }}\n\n\
             {treatments}\n"
        );
        std::fs::write(self.lab.path().join("short.toml"), text).unwrap();
    }

    fn run(&self) -> Said {
        said(self.command(&RUN).output().unwrap())
    }

    pub fn measured(&self) -> Value {
        let said = self.run();
        assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
        self.report()
    }

    fn report(&self) -> Value {
        serde_json::from_str(&self.lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap()
    }

    /// Raw lines of `export --what runs|queries`.
    fn lines(&self, what: &str) -> Vec<Value> {
        let lines = self.lab.ok(&["export", "s.threadwise", "--what", what, "--format", "jsonl"]).stdout;
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn start(&self) -> Child {
        let mut command = self.command(&RUN);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Python workers that work in the lab.
    fn workers(&self) -> Vec<u32> {
        let inside = |pid: &u32| {
            let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            folder.starts_with(self.lab.tmp()) && String::from_utf8_lossy(&words).contains("_worker.py")
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(inside).collect()
    }
}

const RUN: [&str; 10] = [
    "run",
    "short.toml",
    "--allow-busy",
    "--no-probe",
    "--no-html",
    "--seed",
    "5",
    "-o",
    "s.threadwise",
    "--json",
];

pub const TWO: &str = "[[treatment]]\nname = \"two\"\nplacement = \"all\"\nset = { dop = 2 }\n";

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kinds(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "laboratory: engines"]
fn all_22_answers_are_right_on_every_engine() {
    for engine in ["duckdb", "datafusion", "postgres", "sqlite"] {
        let bench = Bench::new();
        let is_serial = engine == "sqlite";
        let one = "[[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nset = { dop = 1 }\n";
        bench.write(engine, "", if is_serial { one } else { TWO });
        let report = bench.measured();
        for run in bench.lines("runs") {
            assert_eq!(run["status"], "valid", "{engine} {}: {}", run["treatment"], run["message"]);
        }
        let queries = bench.lines("queries");
        assert_eq!(queries.len(), 22 * 3 * 2, "{engine}: 22 queries, three treatments, two blocks");
        assert!(queries.iter().all(|query| query["elapsed_ns"].as_u64().unwrap() > 0));
        assert!(queries.iter().all(|query| query["plan_text"].as_str().is_some_and(|text| !text.is_empty())));
        let numbers = report["details"]["queries"]["numbers"].as_array().unwrap();
        assert_eq!(numbers.len(), 22, "{engine}");
        assert_eq!(bench.lab.leftovers(), [] as [String; 0], "{engine}");
    }
}

#[test]
#[ignore = "laboratory: engines"]
fn streams_execute_parameters_of_their_own() {
    let bench = Bench::new();
    bench.write(
        "duckdb",
        "test = \"throughput\"\nqueries = \"1,6,14\"",
        "[[treatment]]\nname = \"three\"\nplacement = \"all\"\nsessions = 3\nset = { dop = 1 }\n",
    );
    let report = bench.measured();
    assert_eq!(report["details"]["queries"]["test"], "throughput");
    let queries = bench.lines("queries");
    let three: Vec<&Value> = queries.iter().filter(|query| query["treatment"] == "three").collect();
    assert_eq!(three.len(), 3 * 3 * 2);
    assert!(three.iter().any(|query| query["stream"] == 2));
    let texts = |stream: u32| {
        let folder = std::fs::read_dir(bench.cache().join("sf0.01/answers/datafusion")).unwrap();
        assert!(stream < 3);
        folder.count()
    };
    assert_eq!(texts(0), 9, "an answer for each stream and query is kept");
}

#[test]
#[ignore = "laboratory: engines"]
fn short_queries_beside_a_stream_are_counted_apart_from_it() {
    for engine in ["duckdb", "postgres"] {
        let bench = Bench::new();
        bench.write(engine, "test = \"throughput\"\nqueries = \"1,6\"\nshort = 2", TWO);
        let report = bench.measured();
        let rows = report["details"]["queries"]["short"].as_array().unwrap();
        assert_eq!(rows.len(), 2, "{engine}: the baseline and the other DOP");
        for row in rows {
            assert_eq!((&row["sessions"], &row["streams"]), (&2.into(), &1.into()), "{engine}");
            assert!(row["fewest_in_a_block"].as_u64().unwrap() > 0, "{engine}: {row}");
        }
        let limit = &report["details"]["queries"]["short_limits"][0];
        assert_eq!((&limit["lowest"], &limit["lowest_dop"]), (&"base".into(), &1.into()), "{engine}");
        let csv = bench.lab.ok(&["export", "s.threadwise", "--what", "slices"]).stdout;
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let at = |name: &str| names.iter().position(|column| *column == name).unwrap();
        for line in lines {
            assert_eq!((line[at("rows")], line[at("sessions")]), ("2", "1"), "{engine}: the stream's alone");
            assert!(line[at("short_queries")].parse::<u64>().unwrap() > 0, "{engine}");
        }
        assert_eq!(bench.lab.leftovers(), [] as [String; 0], "{engine}");
    }
}

/// The optimiser of one treatment is reported not to reorder joins, which changes the plans of some queries.
#[test]
#[ignore = "laboratory: engines"]
fn another_plan_is_found_and_an_equal_one_is_not() {
    let bench = Bench::new();
    let treatments = "[[treatment]]\nname = \"as written\"\nplacement = \"all\"\nset = { dop = 1, \
        \"settings.disabled_optimizers\" = \"join_order,build_side_probe_side\" }\n";
    bench.write("duckdb", "queries = \"1,5,6,9\"", &format!("{treatments}{TWO}"));
    let report = bench.measured();
    assert!(kinds(&report).contains(&"plan-change"), "{:?}", kinds(&report));
    let changes = report["details"]["queries"]["plan_changes"].as_array().unwrap();
    let queries: Vec<u64> = changes.iter().map(|change| change["query"].as_u64().unwrap()).collect();
    assert!(queries.contains(&5) && !queries.contains(&1) && !queries.contains(&6), "{queries:?}");
    for change in changes {
        assert_eq!(change["treatments"], serde_json::json!(["as written"]), "DOP 2 has the same plans");
    }

    let equal = Bench::new();
    equal.write("duckdb", "queries = \"1,5,6,9\"", TWO);
    let report = equal.measured();
    assert!(!kinds(&report).contains(&"plan-change"), "{:?}", kinds(&report));
    assert_eq!(report["details"]["queries"]["plan_changes"], Value::Null);
}

#[test]
#[ignore = "laboratory: engines"]
fn a_treatment_out_of_memory_or_disk_is_a_failed_run_and_others_go_on() {
    let bench = Bench::new();
    let tight = "[[treatment]]\nname = \"tight\"\nplacement = \"all\"\n\
        set = { dop = 1, memory_limit_mb = 10, spill_limit_mb = 0 }\n";
    bench.write("duckdb", "queries = \"6,18,21\"", &format!("{TWO}{tight}"));
    let said = bench.run();
    assert_eq!(said.code, Some(1), "{}\n{}", said.stdout, said.stderr);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["findings"][0]["kind"], "validity", "{}", report["findings"]);
    assert!(said.stderr.contains("no data for tight"), "{}", said.stderr);
    let runs = bench.lines("runs");
    let runs_of = |name: &str| runs.iter().filter(|run| run["treatment"] == name).collect::<Vec<_>>();
    assert!(runs_of("two").iter().all(|run| run["status"] == "valid"));
    for run in runs_of("tight") {
        assert_eq!(run["status"], "failed", "{}", run["message"]);
        let message = run["message"].as_str().unwrap();
        assert!(message.contains("duckdb") && message.to_lowercase().contains("mem"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    assert_eq!(bench.lab.leftovers(), [] as [String; 0]);
}

#[test]
#[ignore = "laboratory: engines"]
fn a_worker_that_is_killed_is_a_failed_run_and_the_study_goes_on() {
    let bench = Bench::new();
    bench.write("duckdb", "", TWO);
    let mut child = bench.start();
    wait_until("three workers of a block", || bench.workers().len() >= 3);
    let victim = bench.workers()[0];
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-9", &victim.to_string()])
            .status()
            .unwrap()
            .success()
    );
    // One run of six is more than a tenth.
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let statuses: Vec<Value> = bench.lines("runs").into_iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "failed").count(), 1, "{statuses:?}");
    assert_eq!((bench.workers(), bench.lab.leftovers()), (vec![], vec![]));
}

#[test]
#[ignore = "laboratory: engines"]
fn a_study_that_is_stopped_in_a_query_leaves_nothing_and_goes_on_later() {
    let bench = Bench::new();
    bench.write("duckdb", "", TWO);
    let mut child = bench.start();
    wait_until("three workers of a block", || bench.workers().len() >= 3);
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((bench.workers(), bench.lab.leftovers()), (vec![], vec![]));
    let again = ["run", "--resume", "s.threadwise", "--allow-busy", "--no-probe", "--no-html"];
    let said = said(bench.command(&again).output().unwrap());
    assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
    let valid = bench.lines("runs").iter().filter(|run| run["status"] == "valid").count();
    assert!(valid >= 6, "two blocks of three treatments: {valid}");
}

#[test]
#[ignore = "laboratory: engines"]
fn a_data_set_that_was_damaged_is_made_anew() {
    let bench = Bench::new();
    bench.write("duckdb", "queries = \"1,6\"", TWO);
    bench.measured();
    let file = bench.cache().join("sf0.01/lineitem.parquet");
    let whole = std::fs::read(&file).unwrap();
    let damages: [&dyn Fn(&Path); 3] = [
        &|file| std::fs::write(file, &whole[..whole.len() / 2]).unwrap(),
        &|file| {
            let mut bytes = whole.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(file, bytes).unwrap();
        },
        &|file| std::fs::remove_file(file).unwrap(),
    ];
    for damage in damages {
        damage(&file);
        std::fs::remove_file(bench.lab.path().join("s.threadwise")).unwrap();
        let said = bench.run();
        assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
        assert!(bench.lines("runs").iter().all(|run| run["status"] == "valid"));
        assert!(std::fs::read(&file).unwrap() == whole, "the generator makes the same data");
    }
    let names = std::fs::read_dir(bench.cache()).unwrap().map(|entry| entry.unwrap().file_name());
    let folders: Vec<String> =
        names.map(|name| name.into_string().unwrap()).filter(|name| !name.starts_with(".lock")).collect();
    assert_eq!(folders, ["sf0.01"], "nothing half-made is left");
}

#[test]
#[ignore = "laboratory: engines"]
fn what_cannot_be_is_refused_in_one_line() {
    let bench = Bench::new();
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let all: Vec<&str> = ["run", "parallel-queries", "--allow-busy", "--no-probe", "-o", "x.threadwise"]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let said = said(bench.command(&all).output().unwrap());
        assert_eq!(said.code, Some(code), "{args:?}\n{}\n{}", said.stdout, said.stderr);
        let last = said.stderr.trim_end().lines().last().unwrap_or_default().to_owned();
        for word in words {
            assert!(last.contains(word), "{args:?}: '{word}' is not in: {last}");
        }
        assert!(!bench.lab.path().join("x.threadwise").exists(), "{args:?}");
    };
    refused(&["--set", "scale=0"], 2, &["scale", "0.01"]);
    refused(&["--set", "scale=-1"], 2, &["scale"]);
    refused(&["--set", "scale=1e9"], 2, &["scale", "100000"]);
    refused(&["--set", "queries=23"], 2, &["1 to 22"]);
    refused(&["--set", "storage=tape"], 2, &["parquet"]);
    refused(&["--set", "colour=red"], 2, &["colour"]);
    refused(&["--set", "short=2"], 2, &["short", "test=throughput"]);
    for engine in ["datafusion", "sqlite"] {
        let args = ["--set", "short=2", "--set", "test=throughput", "--set", "scale=0.01", "--dop", "1"];
        refused(&[args.as_slice(), &["--engine", engine]].concat(), 2, &["short", "duckdb"]);
    }
    refused(&["--dop", "0"], 2, &["1 to 4096"]);
    refused(&["--engine", "mariadb"], 2, &["tpch"]);
    refused(&["--engine", "native"], 2, &["tpch"]);
    refused(&["--engine", "sqlite", "--dop", "2", "--set", "scale=0.01"], 2, &["one thread"]);
    refused(&["--set", "batch_rows=1024", "--set", "scale=0.01"], 2, &["batch_rows", "duckdb"]);
    refused(
        &["--set", "settings.no_such_setting=1", "--set", "scale=0.01"],
        2,
        &["treatment 'no-smt d1'", "no_such_setting", "DuckDB"],
    );
    assert!(!bench.cache().exists(), "the engine is asked before its data is made");
    refused(&["--engine-option", "python=/proc/nowhere/python"], 2, &["/proc/nowhere/python"]);
    let nowhere = bench.lab.path().join("empty");
    let args = ["run", "parallel-queries", "--allow-busy"];
    let said = said(bench.command(&args).env("XDG_DATA_HOME", &nowhere).output().unwrap());
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("threadwise engine add duckdb"), "{}", said.stderr);
    // The same for an engine that only needs the other's answers.
    let args = [
        "run",
        "parallel-queries",
        "--allow-busy",
        "--engine",
        "sqlite",
        "--set",
        "scale=0.01",
        "--dop",
        "1",
    ];
    let said = self::said(bench.command(&args).env("XDG_DATA_HOME", &nowhere).output().unwrap());
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("threadwise engine add duckdb"), "{}", said.stderr);
    assert!(!nowhere.exists());
}

#[test]
#[ignore = "laboratory: engines"]
fn a_plan_asks_the_disk_and_the_engine() {
    let bench = Bench::new();
    let plan = |args: &[&str]| {
        let all: Vec<&str> =
            ["run", "parallel-queries", "--plan"].into_iter().chain(args.iter().copied()).collect();
        said(bench.command(&all).output().unwrap())
    };
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let said = plan(args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(code), ""), "{args:?}\n{}", said.stderr);
        assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
        for word in words {
            assert!(said.stderr.contains(word), "{args:?}: '{word}' is not in: {}", said.stderr);
        }
    };
    // 36 TB, and 183 TB loaded: more than any machine that runs tests has.
    refused(&["--set", "scale=100000"], 3, &["sf100000", "XDG_CACHE_HOME"]);
    refused(&["--set", "scale=0.01", "--set", "settings.no_such=1"], 2, &["settings.no_such"]);
    refused(
        &["--engine", "datafusion", "--set", "scale=0.01", "--set", "settings.no.such=1"],
        2,
        &["settings.no.such", "DataFusion"],
    );
    refused(&["--set", "scale=0.021"], 2, &["0.0211"]);
    let good = plan(&["--set", "scale=0.01", "--set", "settings.disabled_optimizers=join_order"]);
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    assert!(good.stdout.contains("Data set sf0.01: created first in"), "{}", good.stdout);
    assert!(!bench.lab.path().join("cache").exists(), "a plan makes nothing");
    assert_eq!(bench.lab.leftovers(), [] as [String; 0]);

    let server = plan(&["--engine", "postgres", "--set", "scale=0.01", "--set", "settings.no_such=1"]);
    assert_eq!(server.code, Some(0), "{}", server.stderr);
    for part in ["loading it takes", "Settings: postgres checks them when it starts"] {
        assert!(server.stdout.contains(part), "{}", server.stdout);
    }
    std::fs::write(bench.lab.path().join("cache"), "a file").unwrap();
    refused(&["--set", "scale=0.01"], 3, &["Not a directory", "set XDG_CACHE_HOME to a folder"]);
}

#[test]
#[ignore = "laboratory: engines"]
fn damage_that_cannot_be_made_good_is_reported_with_what_is_in_the_way() {
    let bench = Bench::new();
    bench.write("duckdb", "queries = \"6\"", TWO);
    bench.measured();
    let file = bench.cache().join("sf0.01/part.parquet");
    std::fs::write(&file, "cut").unwrap();
    // No user can open a folder for writing, not even root.
    let lock = bench.cache().join(".lock-sf0.01");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    std::fs::remove_file(bench.lab.path().join("s.threadwise")).unwrap();
    let said = bench.run();
    assert_eq!(said.code, Some(1), "{}\n{}", said.stdout, said.stderr);
    let last = said.stderr.trim_end().lines().last().unwrap_or_default();
    for part in ["sf0.01 was found damaged (part.parquet has 3 bytes", "cannot be made again", ".lock-sf0.01"]
    {
        assert!(last.contains(part), "'{part}' is not in: {last}");
    }
    assert!(!bench.lab.path().join("s.threadwise").exists());
}
