//! `run command` with pgbench and sysbench.

use crate::command_tools::{Place, printed, run, study};
use crate::harness::metric_of;
use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Starts, fills and stops a private PostgreSQL, as the recipe does; root's runs as `postgres`.
const SERVER: &str = r#"#!/bin/sh
set -eu
bin=@BIN@
own() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
case $1 in
make)
  mkdir -p "$2"
  if [ "$(id -u)" = 0 ]; then chown postgres "$2"; fi
  own "$bin/initdb" -D "$2/data" -U bench -A trust -N --no-instructions ;;
start)
  own "$bin/pg_ctl" -D "$2/data" -w -l "$2/log" -o "-F -k $2 -c listen_addresses= -c shared_buffers=32MB @MORE@" start ;;
copy)
  cp -a "$2" "$3"
  rm -f "$3/log" ;;
stop)
  own "$bin/pg_ctl" -D "$2/data" -m immediate stop ;;
esac
"#;

/// A folder with a PostgreSQL of its own that `pgbench -i` has filled; stopped when dropped.
pub struct Cluster<'a> {
    lab: &'a Lab,
    bin: PathBuf,
}

impl<'a> Cluster<'a> {
    /// Made, filled and running.
    fn start(lab: &'a Lab, bin: PathBuf) -> Self {
        Self::start_with(lab, bin, "")
    }

    /// The same with more options of the server.
    pub fn start_with(lab: &'a Lab, bin: PathBuf, more: &str) -> Self {
        // Another user has to reach the socket and the data.
        for folder in [lab.path(), &lab.tmp()] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711)).unwrap();
        }
        std::fs::write(
            lab.path().join("server.sh"),
            SERVER.replace("@BIN@", bin.to_str().unwrap()).replace("@MORE@", more),
        )
        .unwrap();
        std::fs::create_dir(lab.path().join("said")).unwrap();
        let cluster = Self { lab, bin };
        cluster.server(&["make", &cluster.folder()]);
        cluster.server(&["start", &cluster.folder()]);
        let mut fill = Command::new(cluster.bin.join("pgbench"));
        fill.args(["-h", &cluster.folder(), "-U", "bench", "-i", "-q", "-s", "1", "postgres"]);
        let filled = said(fill.output().unwrap());
        assert_eq!(filled.code, Some(0), "{}", filled.stderr);
        cluster
    }

    pub fn folder(&self) -> String {
        self.lab.path().join("pg").to_str().unwrap().to_owned()
    }

    pub fn server(&self, args: &[&str]) {
        let mut command = Command::new("sh");
        // pg_ctl's server keeps what it is given: pipes would never end.
        let log = std::fs::File::create(self.lab.path().join("server.log")).unwrap();
        command.arg(self.lab.path().join("server.sh")).args(args);
        let done = command.stdout(log.try_clone().unwrap()).stderr(log).status().unwrap();
        let log = std::fs::read_to_string(self.lab.path().join("server.log")).unwrap();
        assert!(done.success(), "{args:?}: {log}");
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        let script = self.lab.path().join("server.sh");
        let _ = Command::new("sh").arg(script).args(["stop", &self.folder()]).output();
    }
}

/// The folder of PostgreSQL's programs: Debian's newest, or that of `postgres` on PATH.
pub fn postgres() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.extend(on_path());
    let found = folders.into_iter().find(|bin| bin.join("postgres").exists() && bin.join("pgbench").exists());
    found.expect("PostgreSQL's programs: cargo xtask lab servers")
}

fn on_path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

/// Metrics of every run by treatment and block, as the study has them.
fn stored(lab: &Lab) -> BTreeMap<(String, u64), BTreeMap<String, f64>> {
    let runs = lab.ok(&["export", "s.threadwise", "--format", "jsonl"]).stdout;
    let mut all = BTreeMap::new();
    for run in runs.lines() {
        let run: Value = serde_json::from_str(run).unwrap();
        assert_eq!(run["status"], "valid", "{} {}: {}", run["treatment"], run["kind"], run["message"]);
        let readings = run["readings"].as_array().unwrap().iter().filter(|one| one["sampler"] == "command");
        let value = |one: &Value| Some((one["metric"].as_str()?.to_owned(), one["value"].as_f64()?));
        let key = (run["treatment"].as_str().unwrap().to_owned(), run["block"].as_u64().unwrap());
        all.insert(key, readings.filter_map(value).collect());
    }
    assert_eq!(all.len(), 6, "three treatments in two blocks");
    all
}

/// What the tool of a run printed; `{treatment}` is the treatment's name with `-` for odd characters.
fn said_by(lab: &Lab, treatment: &str, block: &str) -> String {
    let plain: String = treatment
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .collect();
    std::fs::read_to_string(lab.path().join("said").join(format!("{plain}.{block}"))).unwrap()
}

/// Every run's metrics are what its tool printed, and the report's means lie between those of the runs.
fn same_as_printed(lab: &Lab, places: &[Place]) {
    let runs = stored(lab);
    let report = lab.ok(&["report", "s.threadwise", "--json"]).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    for &place in places {
        let name = place.0;
        let metric = format!("metric/{name}");
        for ((treatment, block), run) in &runs {
            let said = said_by(lab, treatment, &block.to_string());
            let (stored, printed) = (run[name], printed(&said, place));
            assert!(same(stored, printed), "{treatment} {block}: {stored} instead of {printed}: {said}");
        }
        for treatment in report["treatments"].as_array().unwrap() {
            let treatment_name = treatment["treatment"].as_str().unwrap();
            let values: Vec<f64> =
                runs.iter().filter(|(key, _)| key.0 == treatment_name).map(|(_, run)| run[name]).collect();
            let mean = metric_of(&report, treatment_name, &metric).unwrap();
            let (low, high) = (values[0].min(values[1]), values[0].max(values[1]));
            let slack = high * 1e-9;
            assert!(
                low - slack <= mean && mean <= high + slack,
                "{treatment_name} {name}: {mean} of {values:?}"
            );
        }
    }
}

/// Equal but for the last bits: JSON's way to a number and back does not keep them.
fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= other.abs() * 1e-12
}

fn succeeded(said: &Said) {
    assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
}

#[test]
#[ignore = "laboratory: servers"]
fn pgbench_on_one_logical_cpu_and_on_all_has_its_own_rate_in_the_report() {
    let bin = postgres();
    let lab = Lab::new();
    let cluster = Cluster::start(&lab, bin);
    let command = format!(
        "{}/pgbench -h {} -U bench -n -S -c {{sessions}} -j {{sessions}} -T 2 -P 1 postgres 2>&1",
        cluster.bin.display(),
        cluster.folder()
    );
    let said = run(&lab, &study(&lab, "", &command), "pgbench-progress");
    succeeded(&said);
    assert!(said.stdout.contains("tps"), "{}", said.stdout);
    same_as_printed(
        &lab,
        &[
            ("tps", "tps = ", "= "),
            ("latency_ms_avg", "latency average = ", "= "),
            ("latency_ms_stddev", "latency stddev = ", "= "),
            ("failed", "number of failed transactions: ", ": "),
        ],
    );
    assert_eq!(lab.leftovers(), Vec::<String>::new());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_of_each_treatment_is_placed_with_it_and_gone_at_the_end() {
    let bin = postgres();
    let lab = Lab::new();
    let cluster = Cluster::start(&lab, bin);
    cluster.server(&["stop", &cluster.folder()]);
    let script = lab.path().join("server.sh");
    let (script, folder) = (script.to_str().unwrap(), cluster.folder());
    let suffix = "{block}-{treatment}";
    let setup = format!(
        "setup = '''sh -c 'sh {script} copy {folder} \"{folder}-{suffix}\" && sh {script} start \"{folder}-{suffix}\"' '''\n\
         teardown = '''sh {script} stop \"{folder}-{suffix}\"'''\n"
    );
    // The server's own mask, from its process; pgbench as well.
    let command = format!(
        "pid=$(head -n 1 \"{folder}-{suffix}/data/postmaster.pid\") && \
         grep Cpus_allowed_list: /proc/$pid/status && echo placed: {{cpus}} && \
         {}/pgbench -h \"{folder}-{suffix}\" -U bench -n -S -c {{sessions}} -T 1 postgres",
        cluster.bin.display()
    );
    let command = format!("{{{{ {command}; }}}}");
    let said = run(&lab, &study(&lab, &setup, &command), "pgbench");
    succeeded(&said);
    same_as_printed(&lab, &[("tps", "tps = ", "= ")]);
    for ((treatment, block), _) in stored(&lab) {
        let said = said_by(&lab, &treatment, &block.to_string());
        let after = |before: &str| said.lines().find_map(|line| line.strip_prefix(before)).unwrap().trim();
        assert_eq!(after("Cpus_allowed_list:"), after("placed:"), "{treatment} {block}");
    }
    assert_eq!((lab.leftovers(), servers_in(lab.path())), (Vec::new(), Vec::new()));
}

/// Processes whose current folder lies below: PostgreSQL's is its data directory.
fn servers_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let current = entries.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    current.filter(|current| current.starts_with(folder)).collect()
}

#[test]
#[ignore = "laboratory: servers"]
fn sysbench_has_its_own_rates_in_the_report() {
    let cpu = "sysbench cpu --threads={sessions} --time=1 --report-interval=1 run";
    let memory = "sysbench memory --threads={sessions} --time=1 --memory-total-size=100T run";
    let of_cpu: &[Place] = &[
        ("events", "events per second:", ":"),
        ("latency_ms_avg", "avg:", ":"),
        ("latency_ms_p95", "95th percentile:", ":"),
    ];
    let of_memory: &[Place] =
        &[("operations", "Total operations:", "("), ("transfer", "MiB transferred", "(")];
    for (parser, command, places) in [("sysbench", cpu, of_cpu), ("sysbench-memory", memory, of_memory)] {
        let lab = Lab::new();
        std::fs::create_dir(lab.path().join("said")).unwrap();
        let said = run(&lab, &study(&lab, "", command), parser);
        succeeded(&said);
        same_as_printed(&lab, places);
        assert_eq!(lab.leftovers(), Vec::<String>::new());
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn rates_of_a_sysbench_for_each_session_are_added_up_and_latencies_are_not() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("said")).unwrap();
    let command = format!(
        "sysbench cpu --threads=1 --time=1 run | tee \"{}/said/{{treatment}}.{{block}}.{{session}}\"",
        lab.path().display()
    );
    succeeded(&run(&lab, &study(&lab, "each = \"session\"\n", &command), "sysbench"));
    for ((treatment, block), run) in stored(&lab) {
        let said = [0, 1].map(|session| said_by(&lab, &treatment, &format!("{block}.{session}")));
        let both = |place: Place| said.each_ref().map(|said| printed(said, place));
        let events = both(("events", "events per second:", ":"));
        assert!(same(run["events"], events[0] + events[1]), "{treatment} {block}: {run:?}");
        let latencies = both(("latency_ms_p95", "95th percentile:", ":"));
        assert!(
            same(run["latency_ms_p95"], (latencies[0] + latencies[1]) / 2.0),
            "{treatment} {block}: {run:?}"
        );
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn sysbench_oltp_on_a_private_server_has_its_own_rates_in_the_report() {
    let bin = postgres();
    let lab = Lab::new();
    let cluster = Cluster::start(&lab, bin);
    let sysbench = format!(
        "sysbench oltp_read_only --db-driver=pgsql --pgsql-host={} --pgsql-user=bench --pgsql-db=postgres \
         --tables=1 --table-size=1000",
        cluster.folder()
    );
    let prepared = said(Command::new("sh").args(["-c", &format!("{sysbench} prepare")]).output().unwrap());
    succeeded(&prepared);
    let command = format!("{sysbench} --threads={{sessions}} --time=1 --report-interval=1 run");
    succeeded(&run(&lab, &study(&lab, "", &command), "sysbench-oltp"));
    same_as_printed(
        &lab,
        &[
            ("tps", " transactions: ", "("),
            ("qps", " queries: ", "("),
            ("latency_ms_avg", " avg: ", ":"),
            ("latency_ms_p95", "95th percentile:", ":"),
            ("ignored_errors", "ignored errors:", ":"),
        ],
    );
    assert_eq!(lab.leftovers(), Vec::<String>::new());
}
