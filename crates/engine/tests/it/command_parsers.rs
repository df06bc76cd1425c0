//! What comes with the program to read known tools, on text of the form that each tool prints.
//!
//! The texts were written for these tests after the tools' own documentation; their numbers are made up.
//! pgbench and sysbench are run for real in crates/threadwise/tests/it/command_tools.rs.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use std::collections::BTreeMap;
use threadwise_engine::engines::command::{extract, mark};
use threadwise_study::command::{self, parsers};

/// What the parser reads, or the metric that it misses and why.
fn read(parser: &str, text: &str) -> Result<BTreeMap<String, f64>, String> {
    let parser = parsers::find(parser).unwrap();
    let value = |spec: &command::MetricSpec| match extract(spec, text) {
        Ok(value) => Ok((spec.name.clone(), value)),
        Err(why) => Err(format!("{}: {why}", spec.name)),
    };
    command::metrics(&parser.options()).iter().map(value).collect()
}

fn metrics(parser: &str, text: &str) -> Vec<(String, f64)> {
    read(parser, text).unwrap().into_iter().collect()
}

fn named(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// The name of the metric that is missed in a text without its line.
fn missing(parser: &str, text: &str, line: &str) -> String {
    let without: Vec<&str> = text.lines().filter(|one| !one.contains(line)).collect();
    assert!(without.len() < text.lines().count(), "'{line}' is in no line");
    read(parser, &without.join("\n")).unwrap_err()
}

const PGBENCH: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: multiple scripts
scaling factor: 4
query mode: simple
number of clients: 2
number of threads: 2
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 4242
number of failed transactions: 7 (0.165%)
latency average = 1.414 ms
latency stddev = 0.577 ms
initial connection time = 5.123 ms
tps = 1414.213562 (without initial connection time)
SQL script 1: <builtin: select only>
 - weight: 1 (targets 50.0% of total)
 - 2121 transactions (50.0% of total, tps = 707.106781)
 - number of failed transactions: 1 (0.047%)
 - latency average = 0.999 ms
 - latency stddev = 0.111 ms
";

/// `--progress` goes to stderr; who sends both to one file has them in one text.
const PROGRESS: &str = "\
starting vacuum...end.
progress: 1.0 s, 1400.0 tps, lat 1.428 ms stddev 0.600, 0 failed
progress: 2.0 s, 1428.0 tps, lat 1.400 ms stddev 0.550, 0 failed
";

/// The marks of failure that a parser finds in a text.
fn marks(parser: &str, text: &str) -> Vec<String> {
    let options = parsers::find(parser).unwrap().options();
    let fails =
        options.iter().filter_map(|(key, value)| Some((key.strip_prefix("fails.")?, value.to_string())));
    fails
        .filter(|(_, pattern)| mark(pattern, text).unwrap().is_some())
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn what_says_that_users_failed_is_found_and_a_good_run_has_no_mark() {
    let good = [
        ("pgbench", PGBENCH),
        ("pgbench-progress", PGBENCH),
        ("pgbench-14", PGBENCH),
        ("sysbench", SYSBENCH),
        ("slob", AWR_11),
        ("slob", AWR_12),
        ("slob", STATSPACK),
    ];
    for (parser, text) in good {
        assert_eq!(marks(parser, text), Vec::<String>::new(), "{parser}");
    }
    let aborted = [
        // PostgreSQL 10 and 11, 12 to 14, and from 15 on.
        "client 3 aborted in command 4 (SQL) of script 0; ERROR:  deadlock detected\n",
        "pgbench: error: client 5 script 0 aborted in command 2 query 0: FATAL:  terminating connection\n",
        "pgbench: error: client 0 aborted while establishing connection\n",
        "pgbench: error: Run was aborted; the above results are incomplete.\n",
    ];
    for parser in ["pgbench", "pgbench-progress", "pgbench-14"] {
        for line in aborted {
            assert_eq!(marks(parser, &format!("{line}{PGBENCH}")), ["aborted_client"], "{parser}: {line}");
        }
        let none = PGBENCH.replace("processed: 4242", "processed: 0");
        assert_eq!(marks(parser, &none), ["nothing_done"], "{parser}");
        assert_eq!(marks(parser, &none.replace("processed: 0", "processed: 0/100")), ["nothing_done"]);
    }
    let hammerdb = "Vuser 1:TEST RESULT : System achieved 10546 NOPM from 24310 MariaDB TPM\n";
    assert_eq!(marks("hammerdb", hammerdb), Vec::<String>::new());
    for line in ["Vuser 3:FINISHED FAILED\n", "Vuser 3:Error in Virtual User 3: Deadlock found\n"] {
        assert_eq!(marks("hammerdb", &format!("{line}{hammerdb}")), ["failed_user"]);
    }
    assert_eq!(marks("hammerdb", &hammerdb.replace("10546", "0")), ["nothing_done"]);
    let older = "Vuser 1:TEST RESULT : System achieved 24310 SQL Server TPM at 0 NOPM\n";
    assert_eq!(marks("hammerdb", older), ["nothing_done"]);
    for parser in ["sysbench", "sysbench-oltp", "sysbench-memory"] {
        let text = "FATAL: mysql_stmt_execute() returned error 1213 (Deadlock found)\n";
        assert_eq!(marks(parser, text), ["fatal"], "{parser}");
    }
    assert_eq!(
        marks("sysbench-oltp", "    transactions:                        0      (0.00 per sec.)\n"),
        ["nothing_done"]
    );
    assert_eq!(marks("slob", "ORA-01017: invalid username/password; logon denied\n"), ["oracle_error"]);
    assert_eq!(marks("sqlcmd", "Msg 1205, Level 13, State 51, Server db, Line 1\n"), ["error_message"]);
    assert_eq!(marks("sqlcmd", "Msg 5701, Level 0, State 2, Server db\n"), Vec::<String>::new());
}

#[test]
fn pgbench_is_read_by_its_summary_only() {
    let expected = [("failed", 7.0), ("latency_ms_avg", 1.414), ("tps", 1414.213562)];
    assert_eq!(metrics("pgbench", PGBENCH), named(&expected));
    assert_eq!(metrics("pgbench", &format!("{PROGRESS}{PGBENCH}")), named(&expected));
    // A late progress line may come last where both streams go to one file.
    assert_eq!(metrics("pgbench", &format!("{PGBENCH}{PROGRESS}")), named(&expected));
    let lines = [("tps = 1414", "tps"), ("latency average = 1", "latency_ms_avg"), (": 7", "failed")];
    for (line, name) in lines {
        assert!(missing("pgbench", PGBENCH, line).starts_with(&format!("{name}: ")), "{line}");
    }
    let aborted = PROGRESS.to_owned() + "pgbench: error: client 0 aborted\n";
    assert!(read("pgbench", &aborted).is_err());
}

#[test]
fn pgbench_with_progress_has_the_standard_deviation_too() {
    let text = format!("{PROGRESS}{PGBENCH}");
    assert_eq!(metrics("pgbench-progress", &text)[2], ("latency_ms_stddev".to_owned(), 0.577));
    assert!(missing("pgbench-progress", &text, "latency stddev").contains("latency_ms_stddev"));
}

#[test]
fn older_pgbench_gives_the_rate_without_the_time_to_connect() {
    let of_14 = PGBENCH.replace("number of failed transactions: 7 (0.165%)\n", "");
    assert_eq!(metrics("pgbench-14", &of_14), named(&[("latency_ms_avg", 1.414), ("tps", 1414.213562)]));
    let of_13 = of_14.replace("initial connection time = 5.123 ms\n", "").replace(
        "tps = 1414.213562 (without initial connection time)",
        "tps = 1300.000001 (including connections establishing)\n\
         tps = 1414.213562 (excluding connections establishing)",
    );
    assert_eq!(metrics("pgbench-14", &of_13), metrics("pgbench-14", &of_14));
    let reconnecting = PGBENCH.replace("(without initial connection time)", "(including reconnection times)");
    assert_eq!(metrics("pgbench", &reconnecting), metrics("pgbench", PGBENCH));
}

#[test]
fn a_decimal_comma_is_refused_rather_than_misread() {
    let german = PGBENCH.replace("= 1.414 ms", "= 1,414 ms").replace("1414.213562", "1414,213562");
    let why = read("pgbench", &german).unwrap_err();
    assert!(why.contains("latency_ms_avg") || why.contains("tps"), "{why}");
    let german = AWR_11.replace("1.9", "1,9").replace("917,504.3", "917.504,3");
    assert!(read("slob", &german).is_err());
}

/// sysbench 1.0's `cpu` test.
const SYSBENCH: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2
Prime numbers limit: 10000

[ 1s ] thds: 2 eps: 2345.00 lat (ms,95%): 0.97
CPU speed:
    events per second:  2333.33

General statistics:
    total time:                          3.0002s
    total number of events:              7001

Latency (ms):
         min:                                    0.80
         avg:                                    0.85
         max:                                    4.20
         95th percentile:                        0.99
         sum:                                 5999.00

Threads fairness:
    events (avg/stddev):           3500.5000/12.50
    execution time (avg/stddev):   2.9995/0.00
";

#[test]
fn both_releases_of_sysbench_are_read() {
    let expected = |events| named(&[("events", events), ("latency_ms_avg", 0.85), ("latency_ms_p95", 0.99)]);
    assert_eq!(metrics("sysbench", SYSBENCH), expected(2333.33));
    let newer = SYSBENCH.replace(
        "General statistics:\n    total time:                          3.0002s\n",
        "Throughput:\n    events/s (eps):                      2333.3271\n    time elapsed:                        3.0002s\n",
    );
    assert_ne!(newer, SYSBENCH);
    assert_eq!(metrics("sysbench", &newer), expected(2333.3271));
    let another = SYSBENCH.replace("95th percentile", "99th percentile");
    assert!(read("sysbench", &another).unwrap_err().contains("latency_ms_p95"));
}

#[test]
fn sysbench_memory_is_read() {
    let text = "Running memory speed test with the following options:\n  block size: 1KiB\n\n\
                Total operations: 23456789 (7818929.51 per second)\n\n\
                22907.02 MiB transferred (7635.67 MiB/sec)\n\n\nGeneral statistics:\n";
    assert_eq!(metrics("sysbench-memory", text), named(&[("operations", 7818929.51), ("transfer", 7635.67)]));
    let short = text.replace("(7818929.51", "(  518.25");
    assert_eq!(metrics("sysbench-memory", &short)[0].1, 518.25);
}

#[test]
fn sysbench_oltp_is_read_by_its_summary_only() {
    let text = "\
[ 1s ] thds: 2 tps: 410.12 qps: 6561.90 (r/w/o: 5741.66/0.00/820.24) lat (ms,95%): 6.55 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            17220
        write:                           0
        other:                           2460
        total:                           19680
    transactions:                        1230   (409.87 per sec.)
    queries:                             19680  (6557.91 per sec.)
    ignored errors:                      3      (1.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0007s
    total number of events:              1230

Latency (ms):
         min:                                    3.90
         avg:                                    4.87
         max:                                   31.30
         95th percentile:                        6.67
         sum:                                 5990.11
";
    let expected = [
        ("ignored_errors", 3.0),
        ("latency_ms_avg", 4.87),
        ("latency_ms_p95", 6.67),
        ("qps", 6557.91),
        ("tps", 409.87),
    ];
    assert_eq!(metrics("sysbench-oltp", text), named(&expected));
    assert!(missing("sysbench-oltp", text, "transactions:").contains("tps"));
}

#[test]
fn both_forms_of_hammerdb_s_result_are_read() {
    for database in ["Oracle", "PostgreSQL", "SQL Server", "MySQL", "MariaDB", "Db2"] {
        let before = "Vuser 1:5 Active Virtual Users configured\nVuser 1:";
        let after = "\nVuser 1:FINISHED SUCCESS\nALL VIRTUAL USERS COMPLETE\n";
        let new =
            format!("{before}TEST RESULT : System achieved 21034 NOPM from 48417 {database} TPM{after}");
        let old = format!("{before}TEST RESULT : System achieved 48417 {database} TPM at 21034 NOPM{after}");
        for text in [new, old] {
            assert_eq!(metrics("hammerdb", &text), named(&[("nopm", 21034.0), ("tpm", 48417.0)]), "{text}");
        }
    }
    let lost = "Vuser 1:Error in Virtual User 1: connection refused\nVuser 1:FINISHED FAILED\n";
    assert!(read("hammerdb", lost).unwrap_err().contains("nopm"));
}

/// An AWR report of 11.2: labels at the right, the rate in the first column.
const AWR_11: &str = "\
WORKLOAD REPOSITORY report for

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap:        10 01-Jan-24 10:00:00        40       1.0
  End Snap:        11 01-Jan-24 10:01:02        41       1.0
   Elapsed:                1.03 (mins)
   DB Time:                2.05 (mins)

Load Profile              Per Second    Per Transaction   Per Exec   Per Call
~~~~~~~~~~~~         ---------------    --------------- ---------- ----------
      DB Time(s):                2.0               62.0       0.00      15.50
       DB CPU(s):                1.9               60.0       0.00      15.00
       Redo size:            9,876.5          306,171.5
   Logical reads:          917,504.3       28,442,633.3
   Block changes:               50.1            1,553.1
  Physical reads:                0.2                6.2
        Executes:           14,336.7          444,437.7
Instance Efficiency Percentages (Target 100%)
";

const AWR_12: &str = "\
Load Profile                    Per Second   Per Transaction  Per Exec  Per Call
~~~~~~~~~~~~~~~            ---------------   --------------- --------- ---------
             DB Time(s):               2.0              62.0      0.00     15.50
              DB CPU(s):               1.9              60.0      0.00     15.00
      Background CPU(s):               0.1               3.1      0.00      0.00
      Redo size (bytes):           9,876.5         306,171.5
  Logical read (blocks):       1,917,504.3      59,442,633.3
          Block changes:              50.1           1,553.1
 Physical read (blocks):               0.2               6.2
         Executes (SQL):          14,336.7         444,437.7
              Rollbacks:               0.0               0.0
";

const STATSPACK: &str = "\
STATSPACK report for
Load Profile              Per Second    Per Transaction    Per Exec    Per Call
~~~~~~~~~~~~      ------------------  ----------------- ----------- -----------
      DB time(s):                2.0               62.0        0.00       15.50
       DB CPU(s):                1.9               60.0        0.00       15.00
       Redo size:              876.5           27,171.5
   Logical reads:          917,504.3       28,442,633.3
        Executes:              336.7           10,437.7
";

#[test]
fn load_profiles_of_awr_and_statspack_are_read() {
    let expected = |reads, redo, executes| {
        named(&[
            ("db_cpu", 1.9),
            ("db_time", 2.0),
            ("executes", executes),
            ("logical_reads", reads),
            ("redo", redo),
        ])
    };
    assert_eq!(metrics("slob", AWR_11), expected(917_504.3, 9876.5, 14_336.7));
    assert_eq!(metrics("slob", AWR_12), expected(1_917_504.3, 9876.5, 14_336.7));
    assert_eq!(metrics("slob", STATSPACK), expected(917_504.3, 876.5, 336.7));
    // Written on Windows, or looked at through ssh -t.
    let crlf = STATSPACK.replace('\n', "\r\n");
    assert_eq!(metrics("slob", &crlf), metrics("slob", STATSPACK));
}

#[test]
fn a_load_profile_with_a_column_too_narrow_is_a_missing_metric() {
    let overflow = STATSPACK.replace("917,504.3 ", "######### ");
    assert!(read("slob", &overflow).unwrap_err().contains("logical_reads"));
    assert!(missing("slob", AWR_12, "DB CPU(s)").contains("db_cpu"));
}

#[test]
fn ostress_counts_only_where_it_exits_normally() {
    let text = "01/01/24 10:00:00.000 [0x00000A10] Worker threads created, beginning execution...\r\n\
                01/01/24 10:01:02.500 [0x00000A10] Total IO waits: 12, Total IO wait time: 340 (ms)\r\n\
                01/01/24 10:01:02.510 [0x00000A10] OSTRESS exiting normally, elapsed time: 00:01:02.510\r\n";
    let expected = named(&[("io_wait_ms", 340.0), ("io_waits", 12.0)]);
    assert_eq!(metrics("ostress", text), expected);
    assert_eq!(metrics("ostress", &text.replace('\r', "")), expected);
    assert!(missing("ostress", text, "exiting normally").contains("io_wait"));
}

#[test]
fn sqlcmd_s_last_execution_counts_and_no_compilation() {
    let text = "SQL Server parse and compile time: \n   CPU time = 93 ms, elapsed time = 101 ms.\n\n \
                SQL Server Execution Times:\n   CPU time = 16 ms,  elapsed time = 21 ms.\n\
                (5 rows affected)\n\n SQL Server Execution Times:\n   CPU time = 1234 ms,  elapsed time = 1500 ms.\n\
                SQL Server parse and compile time: \n   CPU time = 0 ms, elapsed time = 0 ms.\n";
    let expected = named(&[("cpu_ms", 1234.0), ("elapsed_ms", 1500.0)]);
    assert_eq!(metrics("sqlcmd", text), expected);
    assert_eq!(metrics("sqlcmd", &text.replace('\n', "\r\n")), expected);
    let (compiled, _) = text.split_once(" SQL Server Execution").unwrap();
    assert!(read("sqlcmd", compiled).unwrap_err().contains("_ms"));
}
