//! TPC-H where no engine is installed: bad input is refused as such, and what is missing is named.

use crate::harness::Lab;

#[test]
fn what_cannot_be_is_refused_whatever_is_installed() {
    let lab = Lab::new();
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let all = ["run", "parallel-queries", "--allow-busy", "--no-probe", "-o", "x.threadwise"];
        let mut command = lab.command(&[&all[..], args].concat());
        let said =
            crate::harness::said(command.env("XDG_DATA_HOME", lab.path().join("empty")).output().unwrap());
        assert_eq!(said.code, Some(code), "{args:?}\n{}\n{}", said.stdout, said.stderr);
        let last = said.stderr.trim_end().lines().last().unwrap_or_default().to_owned();
        for word in words {
            assert!(last.contains(word), "{args:?}: '{word}' is not in: {last}");
        }
        assert_eq!(lab.files(), [] as [String; 0], "{args:?}");
    };
    refused(&["--set", "scale=0"], 2, &["scale", "0.01"]);
    refused(&["--set", "scale=1e9"], 2, &["scale", "100000"]);
    refused(&["--set", "queries=23"], 2, &["1 to 22"]);
    refused(&["--set", "storage=tape"], 2, &["parquet"]);
    refused(&["--set", "colour=red"], 2, &["colour"]);
    refused(&["--set", "short=2"], 2, &["short", "test=throughput"]);
    refused(&["--dop", "0"], 2, &["1 to 4096"]);
    refused(&["--engine", "mariadb"], 2, &["tpch"]);
    refused(&["--engine", "native"], 2, &["tpch"]);
    refused(&["--engine", "sqlite", "--dop", "2", "--set", "scale=0.01"], 2, &["one thread"]);
    // Nothing is wrong but what is not there, also where only another engine's answers are needed.
    refused(&[], 3, &["threadwise engine add duckdb"]);
    let sqlite = ["--engine", "sqlite", "--set", "scale=0.01", "--dop", "1"];
    refused(&sqlite, 3, &["threadwise engine add duckdb"]);
}
