//! Study definitions that are wrong: one line each, with the place, the cause and what is allowed.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::file;
use threadwise_study::load::{LoadError, StudyFile};

fn refusal(text: &str) -> String {
    let error = StudyFile::parse(text, "mine.toml").unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_level_is_no_longer_than_a_path() {
    let level = "x".repeat(5000);
    let text = format!(
        "version = 1\nname = \"x\"\nengine = \"native\"\nworkload = \"index\"\n[factors]\nlock = [\"spin\", \"{level}\"]\n\
         [[treatment]]\nplacement = \"2c1t\"\n"
    );
    let wanted = "mine.toml:6:17: level of factor 'lock' has 5000 characters; 4096 are allowed";
    assert_eq!(refusal(&text), wanted);
}

#[test]
fn heads() {
    for (text, message) in [
        ("", "mine.toml:1:1: the key 'version' is missing; add version = 1"),
        ("version = 2\nnew = 1\n", "mine.toml:1:11: version is 2, but this program reads version 1"),
        ("version = \"1\"\n", "mine.toml:1:11: invalid type: string \"1\", expected a whole number"),
        ("version = 1\nname = \"x\"\n", "mine.toml:1:1: missing key 'engine'"),
        ("version = 1\nname = \"x", "mine.toml:2:10: invalid basic string, expected '\"'"),
    ] {
        assert_eq!(refusal(text), message, "{text}");
    }
}

/// What follows a good head, and what is said about it.
const BODIES: &[(&str, &str)] = &[
    (
        "colour = 1\n",
        "mine.toml:5:1: unknown key 'colour', expected one of 'version', 'name', 'title', 'engine', 'engine_options', 'workload', 'seed', 'options', 'factors', 'design', 'baseline', 'treatment', 'sweep', 'dop', 'jobs', 'external', 'comparison'",
    ),
    ("design = 3\n", "mine.toml:5:10: invalid type: integer '3', expected a table"),
    ("[sweep]\npast = 12472881330052737681\n", "mine.toml:6:8: the number is too large"),
    ("[sweep]\nsessions = [99999999999999999999]\n", "mine.toml:6:13: the number is too large"),
    (
        "sweep = [\"packed\"]\n",
        "mine.toml:5:9: sweep is one table: write [sweep], once in brackets, and its keys below",
    ),
    (
        "[treatment]\nplacement = \"2c1t\"\n",
        "mine.toml:5:1: invalid type: a table, expected a list ([[NAME]], twice in brackets)",
    ),
    (
        "",
        "mine.toml:1:1: the baseline has nothing to be compared with: add a [[treatment]] with a placement, or a [sweep]",
    ),
    (
        "seed = -1\n[sweep]\n",
        "mine.toml:5:8: invalid value: integer '-1', expected a whole number of at least 0",
    ),
    (
        "[options]\nwork_unt = 64\n[sweep]\n",
        "mine.toml:6:12: logical-io has no option 'work_unt'; its options are data, blocks, scale, data_mib, work_unit, update_pct, think_time_us, hot_pct, hot_blocks, shared, loop, rate_per_s, arrivals, vcpus",
    ),
    (
        "[options]\nwork_unit = [1]\n[sweep]\n",
        "mine.toml:6:13: 'work_unit' is neither text nor a number nor true or false",
    ),
    (
        "[options]\nwork_unit = 0\n[sweep]\n",
        "mine.toml:6:13: work_unit is '0', not a whole number from 1 to 268435456",
    ),
    (
        "[options]\ndata_mib = \"big\"\n[sweep]\n",
        "mine.toml:6:12: data_mib is 'big', not a number of MiB above 0",
    ),
    (
        "[options]\nvcpus = \"two\"\n[sweep]\n",
        "mine.toml:6:9: vcpus is 'two', not a number of vCPUs from 1 to 4096",
    ),
    (
        "[factors]\ndata = [\"l2\", \"l9\"]\n[sweep]\n",
        "mine.toml:6:15: data is 'l9'; its levels are l2, llc, memory",
    ),
    (
        "[factors]\ndata = [\"l2\", \"l2\"]\n[sweep]\n",
        "mine.toml:6:15: level 'l2' of factor 'data' appears twice",
    ),
    ("[factors]\ndata = []\n[sweep]\n", "mine.toml:6:8: factor 'data' has no levels"),
    ("[factors]\ndata = \"l2\"\n[sweep]\n", "mine.toml:6:8: invalid type: string \"l2\", expected a list"),
    (
        "[factors]\ncolour = [1]\n[sweep]\n",
        "mine.toml:6:11: logical-io has no option 'colour'; its options are data, blocks, scale, data_mib, work_unit, update_pct, think_time_us, hot_pct, hot_blocks, shared, loop, rate_per_s, arrivals, vcpus",
    ),
    (
        "[options]\ndata = \"l2\"\n[factors]\ndata = [\"l2\"]\n[sweep]\n",
        "mine.toml:8:8: 'data' is both a factor and an option; keep one of them",
    ),
    ("[design]\nrounds = 0\n[sweep]\n", "mine.toml:6:10: rounds is 0, and 1 to 100000 is allowed"),
    ("[design]\nlevel = 95\n[sweep]\n", "mine.toml:6:9: level is 95, and 0.5 to 0.9999 is allowed"),
    (
        "[design]\nblocks = 8\nbudget_s = 9\n[sweep]\n",
        "mine.toml:6:10: blocks is given together with budget_s or until; keep one of them",
    ),
    (
        "[design]\nslice_ms = \"50\"\n[sweep]\n",
        "mine.toml:6:12: invalid type: string \"50\", expected a number",
    ),
    (
        "[design]\nround = 3\n[sweep]\n",
        "mine.toml:6:1: unknown key 'round', expected one of 'rounds', 'slice_ms', 'rewarm_ms', 'level', 'margin', 'budget_s', 'until', 'blocks', 'long_windows', 'long_window_s'",
    ),
    (
        "[baseline]\nplacement = \"0c1t\"\n[sweep]\n",
        "mine.toml:6:13: '0c1t' is not a placement: the number of cores in '0c1t' is 0; at least 1 is needed; examples: same-core, 2s8c2t, 3c1t+1c2t, 6c1t@n0, 0-3,8, package:0.core:1-3.pu:0",
    ),
    ("[baseline]\nsessions = 0\n[sweep]\n", "mine.toml:6:12: sessions is 0, and 1 to 4096 is allowed"),
    (
        "[[treatment]]\nplacement = \"2c1t\"\npin = \"loose\"\n",
        "mine.toml:7:7: unknown word 'loose', expected 'each' (a session on its own logical CPU) or 'set' (sessions float inside the placement)",
    ),
    (
        "[[treatment]]\nplacement = \"2c1t\"\nmemory = \"near\"\n",
        "mine.toml:7:10: memory is 'near': there is no such policy; allowed are local, remote, interleave, and NUMA nodes such as 0 or 0-1,3",
    ),
    (
        "[baseline]\nmemory = \"0,0\"\n[sweep]\n",
        "mine.toml:6:10: memory is '0,0': NUMA node 0 appears twice; allowed are local, remote, interleave, and NUMA nodes such as 0 or 0-1,3",
    ),
    (
        "[[treatment]]\nplacement = \"2c1t\"\nmemory = 1\n",
        "mine.toml:7:10: invalid type: integer '1', expected a string",
    ),
    (
        "[baseline]\nservice = \"3c1t+\"\n[sweep]\n",
        "mine.toml:6:11: service is '3c1t+': '' is not of the form NcNt or NsNcNt; allowed are near, far, and a placement such as 0-3 or 1c1t",
    ),
    (
        "[[treatment]]\nplacement = \"2c1t\"\nsessions = 9999\n",
        "mine.toml:7:12: sessions is 9999, and 1 to 4096 is allowed",
    ),
    (
        "[[treatment]]\nplacement = \"2c1t\"\n[[treatment]]\nplacement = \"2c1t\"\n",
        "mine.toml:8:13: treatment '2c1t' appears twice",
    ),
    (
        "[[treatment]]\nname = \"a/b\"\nplacement = \"2c1t\"\n",
        "mine.toml:6:8: name 'a/b' is empty, over 60 characters, or contains / or '",
    ),
    (
        "[[treatment]]\nname = \"a\\u0007b\"\nplacement = \"2c1t\"\n",
        "mine.toml:6:8: name 'a\\u{7}b' has a control or format character",
    ),
    ("[[treatment]]\nname = \"x\"\n", "mine.toml:5:1: missing key 'placement'"),
    (
        "[sweep]\norder = \"random\"\n",
        "mine.toml:6:9: order is 'random'; spread (far apart first), packed (siblings first) and packed-cores are allowed",
    ),
    ("[sweep]\npast = 0.5\n", "mine.toml:6:8: past is 0.5, and 1 to 16 is allowed"),
    ("[sweep]\npast = inf\n", "mine.toml:6:8: past is inf, and 1 to 16 is allowed"),
    ("[design]\nlevel = nan\n[sweep]\n", "mine.toml:6:9: level is NaN, and 0.5 to 0.9999 is allowed"),
    ("[sweep]\npin = [1]\n", "mine.toml:6:7: expected a word"),
    (
        "[sweep]\n[[treatment]]\nplacement = \"2c1t\"\n[[treatment]]\nplacement = \"3c1t\"\nsessions = 0\n",
        "mine.toml:10:12: sessions is 0, and 1 to 4096 is allowed",
    ),
    (
        "[options]\nmetric.tps = [1]\n[sweep]\n",
        "mine.toml:6:1: 'metric.tps' is neither text nor a number nor true or false",
    ),
    (
        "[factors]\ndata = [\"l2\",\n[1]]\n[sweep]\n",
        "mine.toml:7:1: invalid type: a list, expected a text, a number, true or false",
    ),
    (
        "[sweep]\nsessions = 4\n",
        "mine.toml:6:12: 4 is neither \"auto\" nor a list of numbers from 1 to 4096 such as [1, 2, 4]",
    ),
    (
        "[sweep]\nsessions = [1, 0]\n",
        "mine.toml:6:12: [1, 0] is neither \"auto\" nor a list of numbers from 1 to 4096 such as [1, 2, 4]",
    ),
    (
        "[sweep]\nsessions = [-1]\n",
        "mine.toml:6:12: [-1] is neither \"auto\" nor a list of numbers from 1 to 4096 such as [1, 2, 4]",
    ),
    (
        "[sweep]\nonly = { data = \"l2\" }\n",
        "mine.toml:6:17: there is no factor 'data' in [factors]; it has none",
    ),
    (
        "[factors]\ndata = [\"l2\"]\n[sweep]\nonly = { data = \"llc\" }\n",
        "mine.toml:8:17: factor 'data' has no level 'llc'; its levels are l2",
    ),
    (
        "[[treatment]]\nplacement = \"2c1t\"\n[[comparison]]\nname = \"x\"\ntreatment = \"2c2t\"\nbaseline = \"2c1t\"\n",
        "mine.toml:9:13: there is no treatment '2c2t'; treatments are alone, 2c1t",
    ),
    (
        "[[treatment]]\nplacement = \"2c1t\"\n[[comparison]]\nname = \"x\"\ntreatment = \"2c1t\"\nbaseline = \"2c1t\"\n",
        "mine.toml:10:12: treatment and baseline are the same",
    ),
];

#[test]
fn bodies() {
    for (lines, message) in BODIES {
        let error = file(lines).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        assert_eq!(error, *message, "{lines}");
    }
}

#[test]
fn names_and_words() {
    let with_name =
        |name: &str| format!("version = 1\nname = \"{name}\"\nengine = \"e\"\nworkload = \"w\"\n[sweep]\n");
    assert_eq!(
        refusal(&with_name("a b")),
        "mine.toml:2:8: name 'a b' has characters other than letters, digits, - and _"
    );
    assert_eq!(refusal(&with_name("")), "mine.toml:2:8: 'name' is empty");
    assert!(StudyFile::parse(&with_name("x"), "mine.toml").is_ok(), "engines check their own workloads");
}

#[test]
fn columns_are_counted_in_characters() {
    let error = file("[options] # é\n'é' = 1\n[sweep]\n").unwrap_err();
    let LoadError::At { line, column, .. } = error else { panic!("{error}") };
    assert_eq!((line, column), (6, 7));
}

#[test]
fn an_unknown_preset_lists_the_known_ones() {
    assert_eq!(
        StudyFile::preset("placment").unwrap_err().to_string(),
        "there is no preset 'placment': presets are placement, session-sweep, cached-reads, concurrent-inserts, smt-boots, locks, kernels, smt-off, load, vcpus, log-buffer, log-buffer-memory, parallel-queries, parallel-workers, tpch-streams, mixed-load, pool, transaction, maxdop, bind, command, work-list, reload-schedule; a study definition's name ends in .toml"
    );
}
