//! Study definitions to treatments, comparisons, data sizes and budgets on machines made by hand.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{KIB, MIB, default_study, file, machine, names, server, small_guest, treatment};
use threadwise_machine::{Pin, Topology};
use threadwise_study::engine::Properties;
use threadwise_study::load::{LoadError, Overrides, StudyFile, option_value};
use threadwise_study::{OptionValue, Options, Role, Stopping, Study};

fn resolved(lines: &str, topology: &Topology, overrides: &Overrides) -> Study {
    file(lines).unwrap().resolve(topology, overrides).unwrap()
}

fn refused(lines: &str, topology: &Topology, overrides: &Overrides) -> String {
    file(lines).unwrap().resolve(topology, overrides).unwrap_err().to_string()
}

fn preset(topology: &Topology, overrides: &Overrides) -> Result<Study, LoadError> {
    StudyFile::preset("placement").unwrap().resolve(topology, overrides)
}

fn set(pairs: &[(&str, &str)]) -> Overrides {
    let options = pairs.iter().map(|(key, value)| ((*key).to_owned(), option_value(value)));
    Overrides { options: options.collect(), ..Overrides::default() }
}

fn blocks(study: &Study, name: &str) -> i64 {
    match treatment(study, name).options.get("blocks") {
        Some(OptionValue::Integer(blocks)) => *blocks,
        other => panic!("{name}: {other:?}"),
    }
}

fn comparisons(study: &Study) -> Vec<String> {
    let line = |one: &threadwise_study::Comparison| {
        format!("{}: {} / {} [{}]", one.name, one.treatment, one.baseline.join(" & "), one.kind)
    };
    study.comparisons.iter().map(line).collect()
}

#[test]
fn the_default_study_on_a_guest_with_two_logical_cpus() {
    let study = default_study(&small_guest());
    assert_eq!(
        names(&study),
        [
            "alone/l2",
            "alone'/l2",
            "one-cpu/l2",
            "same-package/l2",
            "alone/large",
            "alone'/large",
            "one-cpu/large",
            "same-package/large",
            "sessions-3/large"
        ]
    );
    assert_eq!(study.groups(), ["data=l2", "data=large"]);
    assert_eq!(
        comparisons(&study),
        [
            "one-cpu/l2 : alone: one-cpu/l2 / alone/l2 & alone'/l2 [baseline]",
            "same-package/l2 : alone: same-package/l2 / alone/l2 & alone'/l2 [baseline]",
            "one-cpu/large : alone: one-cpu/large / alone/large & alone'/large [baseline]",
            "same-package/large : alone: same-package/large / alone/large & alone'/large [baseline]",
            "sessions-3/large : alone: sessions-3/large / alone/large & alone'/large [baseline]",
            "sweep-step 2-3/large: sessions-3/large / same-package/large [sweep-step]",
        ]
    );
    assert_eq!(
        study.left_out,
        [
            "same-core: no core here has 2 allowed SMT siblings",
            "same-l2: no 2 allowed cores share an L2 cache here",
            "same-l3: no 2 allowed cores share a last-level cache here",
            "same-node: the same as same-package on this machine",
            "cross-node: no package here has allowed cores in 2 NUMA nodes; this machine has 1 node",
            "cross-package: this machine has 1 package with allowed logical CPUs",
            "one-core@efficient, one-core@low-power: all cores here are of one kind",
            "data beyond the LLC: it is reported as 480 MiB, so 'large' has 128 MiB a session instead, of which reads touch about 14 MiB, 7.3 x the L2 and 0.03 x the LLC (--set data_mib=N for more)",
        ]
    );
    assert_eq!((blocks(&study, "alone/l2"), blocks(&study, "sessions-3/large")), (1115, 32_768));
    let past = treatment(&study, "sessions-3/large");
    assert_eq!((past.placement.text.as_str(), past.sessions, past.pin), ("spread:2", 3, Pin::Each));
    assert_eq!(past.factors["data"], "large");
    assert_eq!(past.options["data"], OptionValue::Text("memory".into()));
    // 9 treatments of 10 slices of 54 ms.
    assert!((study.block_floor_s() * 8.0 - 38.88).abs() < 1e-6);
    assert_eq!(study.design.stopping, Stopping::Budget { budget_s: 60.0 });
}

#[test]
fn the_default_study_on_a_server_offers_the_sweep_with_its_price() {
    let study = default_study(&server());
    assert_eq!(
        names(&study)[6..],
        [
            "alone/memory",
            "alone'/memory",
            "one-cpu/memory",
            "same-core/memory",
            "same-package/memory",
            "cross-package/memory"
        ]
    );
    let found = comparisons(&study);
    assert_eq!(
        found[8..11],
        [
            "smt-yield/l2: same-core/l2 / one-cpu/l2 [smt-yield]",
            "cores/l2: same-package/l2 / same-core/l2 [cores]",
            "packages/l2: cross-package/l2 / same-package/l2 [packages]",
        ]
    );
    assert_eq!(found.len(), 14);
    // 2 levels x (A, A' and 2, 4, 8, 16, 32, 48 sessions) x 20 x 54 ms x 8 = 138.2 s.
    assert_eq!(
        study.left_out,
        [
            "same-l2: no 2 allowed cores share an L2 cache here",
            "same-l3: no 2 allowed cores share a last-level cache here",
            "same-node: the same as same-package on this machine",
            "cross-node: no package here has allowed cores in 2 NUMA nodes; this machine has 2 nodes",
            "one-core@efficient, one-core@low-power: all cores here are of one kind",
            "session sweep: left out for time, on 32 logical CPUs; `threadwise run session-sweep` takes about 139 s"
        ]
    );
    assert_eq!(
        (blocks(&study, "alone/l2"), blocks(&study, "alone/memory")),
        (557, 142_848),
        "558 MiB, of which 64 MiB are touched"
    );
    // 12 treatments of 10 rounds need 51.8 s of slices and 2.4 s of warm-ups: with x 1.1 + 2 more than a minute.
    assert_eq!((study.design.stopping, study.design.rounds), (Stopping::Budget { budget_s: 60.0 }, 9));
}

#[test]
fn a_sweep_point_that_is_there_already_is_not_run_twice() {
    // On 2 packages two spread sessions are cross-package, on 1 they are same-package.
    let study = default_study(&machine(2, 2, 1, Some(MIB), Some(MIB)));
    let steps: Vec<String> =
        comparisons(&study).into_iter().filter(|line| line.contains("sweep-step")).collect();
    assert_eq!(
        steps,
        [
            "sweep-step 2-4/memory: sessions-4/memory / cross-package/memory [sweep-step]",
            "sweep-step 4-6/memory: sessions-6/memory / sessions-4/memory [sweep-step]",
        ]
    );
    assert_eq!(treatment(&study, "sessions-6/memory").placement.text, "spread:4");
    assert!(!names(&study).contains(&"sessions-4/l2"), "the sweep is for one level");
}

#[test]
fn one_logical_cpu_is_enough() {
    let study = default_study(&machine(1, 1, 1, Some(MIB), Some(MIB)));
    assert_eq!(names(&study)[3..], ["alone/memory", "alone'/memory", "one-cpu/memory"]);
    assert_eq!(study.comparisons.len(), 2);
}

#[test]
fn one_group_has_no_suffix() {
    let study = preset(&small_guest(), &set(&[("data", "l2")])).unwrap();
    assert_eq!(names(&study), ["alone", "alone'", "one-cpu", "same-package"]);
    assert_eq!(study.groups(), [""]);
    assert_eq!(study.treatments[0].factors["data"], "l2");
    assert!(study.left_out.contains(&"session sweep: it runs with data=memory alone".to_owned()));
}

#[test]
fn factors_are_crossed_and_named() {
    let lines = "[factors]\ndata = [\"l2\", \"llc\"]\nupdate_pct = [0, 20]\nwork_unit = [8]\n[[treatment]]\nplacement = \"2c1t\"\n";
    let study = resolved(lines, &small_guest(), &Overrides { budget_s: Some(600.0), ..Overrides::default() });
    assert_eq!(
        study.groups(),
        ["data=l2,update_pct=0", "data=l2,update_pct=20", "data=llc,update_pct=0", "data=llc,update_pct=20"]
    );
    let last = treatment(&study, "2c1t/llc,update_pct=20");
    assert_eq!((last.sessions, last.role), (2, Role::Compared));
    let level = |key: &str| last.factors[key].as_str();
    assert_eq!((level("data"), level("update_pct"), level("work_unit")), ("llc", "20", "8"));
    assert_eq!(last.options["update_pct"], OptionValue::Integer(20));
    let name = &study.comparisons.last().unwrap().name;
    assert_eq!(name, "2c1t/llc,update_pct=20 : alone");
}

#[test]
fn own_comparisons_need_both_sides() {
    let lines = "[[treatment]]\nname = \"two\"\nplacement = \"same-package\"\n[[treatment]]\nname = \"smt\"\nplacement = \"same-core\"\noptional = true\n[[treatment]]\nname = \"float\"\nplacement = \"same-package\"\npin = \"set\"\n[[comparison]]\nname = \"floating\"\ntreatment = \"float\"\nbaseline = \"two\"\n[[comparison]]\nname = \"halves\"\ntreatment = \"smt\"\nbaseline = \"two\"\nkind = \"cores\"\n";
    let study = resolved(lines, &small_guest(), &Overrides::default());
    assert_eq!(
        comparisons(&study),
        [
            "two : alone: two / alone & alone' [baseline]",
            "float : alone: float / alone & alone' [baseline]",
            "floating: float / two [named]",
        ]
    );
    assert_eq!(treatment(&study, "float").pin, Pin::Set);
    assert_eq!(study.left_out, ["smt: no core here has 2 allowed SMT siblings"]);
}

#[test]
fn what_is_not_optional_must_be_there() {
    assert_eq!(
        refused("[[treatment]]\nplacement = \"same-core\"\n", &small_guest(), &Overrides::default()),
        "mine.toml:6:13: placement 'same-core' is not possible here: no core here has 2 allowed SMT siblings; `optional = true` would leave the treatment out"
    );
    assert_eq!(
        refused("[baseline]\nplacement = \"9\"\n[sweep]\n", &small_guest(), &Overrides::default()),
        "mine.toml:6:13: the baseline: placement '9' is not possible here: there is no logical CPU 9"
    );
}

#[test]
fn placements_and_sessions_of_the_command_line() {
    let asked = |placements: &[&str], sessions: Option<Vec<u32>>| Overrides {
        placements: Some(placements.iter().map(|&text| text.to_owned()).collect()),
        sessions,
        ..set(&[("data", "l2")])
    };
    let study = preset(&server(), &asked(&["one-cpu", "4c2t"], None)).unwrap();
    assert_eq!(names(&study), ["alone", "alone'", "one-cpu", "4c2t"]);
    assert_eq!((treatment(&study, "one-cpu").sessions, treatment(&study, "4c2t").sessions), (2, 8));
    assert_eq!(study.left_out, Vec::<String>::new());
    let study = preset(&server(), &asked(&["4c1t"], Some(vec![8, 4, 4]))).unwrap();
    assert_eq!(names(&study), ["alone", "alone'", "4c1t s4", "4c1t s8"]);
    assert_eq!(
        preset(&server(), &asked(&["9c1t"], None)).unwrap_err().to_string(),
        "--placement: placement '9c1t' is not possible here: '9c1t' needs 9 cores with an allowed logical CPU each on one package; the most is 8"
    );
    assert_eq!(
        preset(&server(), &asked(&["4c1t", "4c1t"], None)).unwrap_err().to_string(),
        "--placement: '4c1t' appears twice"
    );
    let sweep = Overrides { sessions: Some(vec![5, 3]), ..Overrides::default() };
    let study = preset(&server(), &sweep).unwrap();
    assert_eq!(
        names(&study)[12..],
        ["sessions-3/memory", "sessions-5/memory"],
        "asked for, so not too large"
    );
    let none = Overrides { sessions: Some(vec![2, 0]), ..Overrides::default() };
    assert_eq!(
        preset(&server(), &none).unwrap_err().to_string(),
        "--sessions: 0 sessions; at least 1 is needed"
    );
}

#[test]
fn data_is_sized_by_the_caches() {
    // The smallest L2 counts; the LLC is shared by the most sessions of the study (6 here).
    let topology = machine(1, 4, 1, Some(4 * MIB), Some(96 * MIB));
    let lines = "[factors]\ndata = [\"l2\", \"llc\", \"memory\"]\n[sweep]\n";
    let study = resolved(lines, &topology, &Overrides { budget_s: Some(600.0), ..Overrides::default() });
    assert_eq!(blocks(&study, "alone/l2"), 2231, "a quarter of the L2 is touched");
    assert_eq!(blocks(&study, "alone/llc"), 8924, "a quarter of the LLC by all sessions");
    assert_eq!(blocks(&study, "alone/large"), 32_768, "128 MiB");
    let of_data = study.left_out.iter().filter(|line| line.starts_with("data beyond the LLC"));
    assert_eq!((of_data.count(), study.left_out.len()), (1, 2), "and long windows: {:?}", study.left_out);
}

#[test]
fn the_memory_limit_bounds_what_lies_beyond_the_llc() {
    let topology = machine(1, 2, 1, Some(MIB), Some(32 * MIB));
    let limited = |mib: u64| Overrides { memory_limit_bytes: Some(mib * MIB), ..Overrides::default() };
    // 6 sessions of 557 blocks and 9 of the rest in half of 2 GiB.
    let study = preset(&topology, &limited(2048)).unwrap();
    assert_eq!(blocks(&study, "alone/large"), 70 * 256, "eight times the L2 are touched");
    assert_eq!(
        study.left_out.last().unwrap(),
        "data beyond the LLC: it is reported as 32 MiB, so 'large' has 70 MiB a session instead, of which reads touch about 8 MiB, 8.0 x the L2 and 0.25 x the LLC (--set data_mib=N for more)"
    );
    let study = preset(&topology, &limited(1024)).unwrap();
    assert_eq!(blocks(&study, "alone/large"), 55 * 256, "its share of half of 1 GiB");
    let study = preset(&topology, &limited(12_288)).unwrap();
    assert_eq!(blocks(&study, "alone/memory"), 142_848, "64 MiB are touched, and no more than it takes");
    let asked = Overrides {
        memory_limit_bytes: Some(2048 * MIB),
        memory_rule: "a quarter of the 8 GiB of memory that are available".to_owned(),
        ..set(&[("data_mib", "300")])
    };
    assert_eq!(
        preset(&topology, &asked).unwrap_err().to_string(),
        "the data of 15 sessions is 2714 MiB, over 1024 MiB, half of a quarter of the 8 GiB of memory that are available (files take the other half): give a smaller data_mib or blocks, fewer treatments, or fewer sessions"
    );
}

#[test]
fn a_preset_has_smaller_data_where_memory_is_small_and_a_user_is_refused() {
    let topology = machine(1, 2, 1, Some(MIB), Some(32 * MIB));
    let limited = |overrides: Overrides| Overrides {
        memory_limit_bytes: Some(512 * MIB),
        memory_rule: "a quarter of this control group's memory limit of 2 GiB".to_owned(),
        ..overrides
    };
    let published = StudyFile::preset("cached-reads").unwrap();
    // Baseline, its twin, one-cpu and same-package: 6 sessions in 256 MiB.
    let study = published.resolve(&topology, &limited(Overrides::default())).unwrap();
    assert_eq!(blocks(&study, "alone"), 42 * 256);
    assert_eq!(
        study.left_out.last().unwrap(),
        "data of 80 MiB a session: 42 MiB instead, since all sessions together may take 256 MiB, half of a quarter \
         of this control group's memory limit of 2 GiB (files take the other half)"
    );
    let roomy = published.resolve(&topology, &Overrides::default()).unwrap();
    assert_eq!(blocks(&roomy, "alone"), 80 * 256);
    let asked = published.resolve(&topology, &limited(set(&[("data_mib", "80")]))).unwrap_err().to_string();
    assert!(
        asked.starts_with("the data of 6 sessions is 480 MiB, over 256 MiB, half of a quarter"),
        "{asked}"
    );
}

#[test]
fn the_size_of_the_data_is_given_once() {
    let asked = set(&[("data_mib", "300"), ("blocks", "5000")]);
    let error = preset(&small_guest(), &asked).unwrap_err().to_string();
    assert_eq!(error, "blocks: blocks and data_mib set the size of the data: keep one of them");
}

#[test]
fn explicit_sizes_are_for_the_level_beyond_the_llc() {
    let study = preset(&small_guest(), &set(&[("data_mib", "9000")])).unwrap();
    assert_eq!((blocks(&study, "alone/l2"), blocks(&study, "alone/memory")), (1115, 2_304_000));
    assert!(!treatment(&study, "alone/memory").options.contains_key("data_mib"));
    let study = preset(&small_guest(), &set(&[("blocks", "50000")])).unwrap();
    assert_eq!(blocks(&study, "alone/large"), 50_000);
    assert_eq!(
        study.left_out.last().unwrap(),
        "data beyond the LLC: it is reported as 480 MiB, so 'large' has 195 MiB a session instead, of which reads touch about 22 MiB, 11.2 x the L2 and 0.05 x the LLC"
    );
    let study = resolved("[options]\nscale = 1000\n[sweep]\n", &small_guest(), &Overrides::default());
    assert_eq!(blocks(&study, "alone"), 1000);
    let study = resolved("[sweep]\n", &small_guest(), &Overrides::default());
    assert_eq!(study.treatments[0].options, Options::new(), "nothing asked, nothing set");
    let study = resolved("[factors]\nblocks = [500, 900]\n[sweep]\n", &small_guest(), &Overrides::default());
    assert_eq!(blocks(&study, "alone/blocks=900"), 900);
}

#[test]
fn small_and_unknown_caches_are_reported() {
    let topology = machine(1, 2, 1, Some(256 * KIB), None);
    let study = preset(&topology, &set(&[("work_unit", "100")])).unwrap();
    assert_eq!(blocks(&study, "alone/l2"), 139);
    assert_eq!(treatment(&study, "alone/l2").options["work_unit"], OptionValue::Integer(69));
    assert_eq!(treatment(&study, "alone/memory").options["work_unit"], OptionValue::Integer(100));
    assert_eq!(
        study.left_out[7..],
        [
            "the system does not report the size of the LLC: 32 MiB is assumed",
            "data=l2: 139 blocks, so a step reads 69 and not 100 (work_unit)",
        ]
    );
}

#[test]
fn budgets_are_raised_or_refused() {
    let topology = small_guest();
    let with = |budget_s: f64| Overrides { budget_s: Some(budget_s), ..Overrides::default() };
    assert_eq!(
        preset(&topology, &with(5.0)).unwrap_err().to_string(),
        "a budget of 5s cannot hold 8 blocks of this study, which take at least 22 s: give --budget 40s or more, fewer treatments, or fewer --rounds"
    );
    assert_eq!(preset(&topology, &with(22.0)).unwrap().design.stopping, Stopping::Budget { budget_s: 22.0 });
    assert!(preset(&topology, &with(21.9)).unwrap_err().to_string().contains("--budget 40s"));
    assert!(preset(&topology, &with(40.0)).is_ok(), "what is said is enough");
    assert_eq!(
        refused("[design]\nbudget_s = 5\n[sweep]\n", &topology, &Overrides::default()),
        "mine.toml:6:12: a budget of 5s cannot hold 8 blocks of this study, which take at least 11 s: give --budget 25s or more, fewer treatments, or fewer --rounds"
    );
    let longer = Overrides { slice_ms: Some(100.0), rounds: Some(30), ..Overrides::default() };
    let study = preset(&topology, &longer).unwrap();
    assert_eq!((study.design.slice_ns, study.design.rounds), (100_000_000, 30));
    assert_eq!(study.design.stopping, Stopping::Budget { budget_s: 252.0 }, "226.4 s x 1.1 + 2 s");
}

#[test]
fn a_budget_cuts_rounds_that_nobody_asked_for() {
    let topology = small_guest();
    let rounds = |budget_s: f64, rounds: Option<u32>| {
        let overrides = Overrides { budget_s: Some(budget_s), rounds, ..Overrides::default() };
        preset(&topology, &overrides).map(|study| study.design.rounds)
    };
    let held: Vec<u32> =
        [22.0, 30.0, 40.0, 50.0, 60.0, 600.0].map(|budget_s| rounds(budget_s, None).unwrap()).to_vec();
    assert_eq!(held, [4, 4, 6, 8, 10, 10]);
    assert_eq!(rounds(60.0, Some(9)).unwrap(), 9);
    let error = rounds(30.0, Some(9)).unwrap_err().to_string();
    assert!(error.contains("or fewer --rounds"), "{error}");
    // Without a budget of their user's they are as they are.
    assert_eq!(preset(&topology, &Overrides::default()).unwrap().design.rounds, 10);
    let mine = "[design]\nbudget_s = 30\nrounds = 20\n[sweep]\n";
    assert!(refused(mine, &topology, &Overrides::default()).contains("or fewer --rounds"));
}

#[test]
fn until_has_time_for_its_looks() {
    let until = Overrides { until: Some(0.02), ..Overrides::default() };
    let study = preset(&small_guest(), &until).unwrap();
    assert_eq!(study.design.stopping, Stopping::Until { half_width: 0.02, budget_s: 370.0 }, "64 blocks");
    let both = Overrides { budget_s: Some(120.0), ..until };
    let study = preset(&small_guest(), &both).unwrap();
    assert_eq!(study.design.stopping, Stopping::Until { half_width: 0.02, budget_s: 120.0 });
    let blocks = Overrides { blocks: Some(9), ..Overrides::default() };
    assert_eq!(preset(&small_guest(), &blocks).unwrap().design.stopping, Stopping::Blocks { blocks: 9 });
    let study = resolved("[design]\nblocks = 3\n[sweep]\n", &small_guest(), &Overrides::default());
    assert_eq!(study.design.stopping, Stopping::Blocks { blocks: 3 });
}

#[test]
fn slices_are_short_where_treatments_take_turns() {
    let topology = small_guest();
    let slice =
        |ms: f64, rounds: Option<u32>| Overrides { slice_ms: Some(ms), rounds, ..Overrides::default() };
    assert_eq!(
        preset(&topology, &slice(3_600_000.0, None)).unwrap_err().to_string(),
        "--slice: a slice of 3600 s; at most 10 s are allowed in a study of 10 rounds (1 round for whole runs)"
    );
    assert_eq!(preset(&topology, &slice(10_000.0, None)).unwrap().design.slice_ns, 10_000_000_000);
    assert_eq!(preset(&topology, &slice(60_000.0, Some(1))).unwrap().design.slice_ns, 60_000_000_000);
    for (line, what, column) in
        [("slice_ms = 10001", "a slice of 10.001 s", 12), ("rewarm_ms = 20000", "a re-warm of 20 s", 13)]
    {
        let error = refused(&format!("[design]\n{line}\n[sweep]\n"), &topology, &Overrides::default());
        assert!(error.starts_with(&format!("mine.toml:6:{column}: {what}; at most 10 s")), "{error}");
    }
}

#[test]
fn a_baseline_alone_is_no_study() {
    assert_eq!(
        refused("[sweep]\nsessions = [1]\n", &small_guest(), &Overrides::default()),
        "mine.toml:1:1: nothing to compare: no treatment and no sweep point differs from the baseline; add a placement or more sessions"
    );
    let lacking = "[[treatment]]\nplacement = \"cross-package\"\noptional = true\n";
    let error = refused(lacking, &small_guest(), &Overrides::default());
    assert!(
        error.contains("nothing to compare") && error.contains("left out here: cross-package"),
        "{error}"
    );
}

#[test]
fn the_rest_of_the_command_line() {
    let model = Properties { simulated: true, ..Properties::default() };
    let overrides = Overrides {
        engine: Some("model".into()),
        engine_properties: model.clone(),
        seed: Some(77),
        ..Overrides::default()
    };
    let study = preset(&small_guest(), &overrides).unwrap();
    assert_eq!((study.engine.as_str(), &study.engine_properties), ("model", &Some(model)));
    assert!(study.is_simulated());
    assert_eq!(study.seed, 77);
    for (overrides, message) in [
        (
            set(&[("wrk_unit", "3")]),
            "--set wrk_unit=3: logical-io has no option 'wrk_unit'; its options are data, blocks, scale, data_mib, work_unit, update_pct, think_time_us, hot_pct, hot_blocks, shared, loop, rate_per_s, arrivals, vcpus",
        ),
        (set(&[("data", "l1")]), "--set data=l1: data is 'l1'; its levels are l2, llc, memory"),
        (set(&[("blocks", "0")]), "--set blocks=0: blocks is '0', not a whole number from 1 to 268435456"),
        (
            Overrides { rounds: Some(0), ..Overrides::default() },
            "--rounds: 0 rounds; 1 to 100000 are allowed",
        ),
        (Overrides { slice_ms: Some(0.0), ..Overrides::default() }, "--slice: 0 ms; 1 ms to 1 h is allowed"),
        (
            Overrides { budget_s: Some(f64::NAN), ..Overrides::default() },
            "--budget: NaN s; 0.1 s to a year is allowed",
        ),
        (Overrides { until: Some(2.0), ..Overrides::default() }, "--until: 200%; 0.01% to 90% is allowed"),
        (
            Overrides { sessions: Some(vec![5000]), ..Overrides::default() },
            "--sessions: 5000 sessions; at most 4096 are allowed",
        ),
    ] {
        assert_eq!(preset(&small_guest(), &overrides).unwrap_err().to_string(), message);
    }
}

#[test]
fn service_threads_are_placed_where_the_engine_has_any() {
    let body = "[[treatment]]\nplacement = \"2c1t\"\nservice = \"far\"\n";
    let none = Properties { service_threads: false, ..Properties::default() };
    let overrides = |engine: Option<&str>| Overrides {
        engine: engine.map(str::to_owned),
        engine_properties: none.clone(),
        ..Overrides::default()
    };
    assert_eq!(
        refused(body, &server(), &overrides(None)),
        "mine.toml:7:11: engine sqlite has no service threads to place; leave out service"
    );
    assert_eq!(
        refused(body, &server(), &overrides(Some("other"))),
        "service: engine other has no service threads to place; leave out service"
    );
    let study = file(body).unwrap().resolve(&server(), &Overrides::default()).unwrap();
    assert!(study.treatments.iter().any(|treatment| treatment.service.is_some()));
}

#[test]
fn data_is_as_many_blocks_as_the_engines_own_make() {
    let blocks = |block_bytes: u64| {
        let engine_properties = Properties { block_bytes, ..Properties::default() };
        let overrides = Overrides { engine_properties, ..set(&[("data_mib", "64")]) };
        // The first levels have sizes of their own.
        preset(&server(), &overrides).unwrap().treatments.last().unwrap().options["blocks"].clone()
    };
    assert_eq!(blocks(4096), OptionValue::Integer(64 << 8));
    assert_eq!(blocks(16384), OptionValue::Integer(64 << 6));
}

#[test]
fn values_of_set() {
    assert_eq!(option_value("true"), OptionValue::Flag(true));
    assert_eq!(option_value("-3"), OptionValue::Integer(-3));
    assert_eq!(option_value("0.5"), OptionValue::Number(0.5));
    assert_eq!(option_value("inf"), OptionValue::Text("inf".into()));
    assert_eq!(option_value("l2"), OptionValue::Text("l2".into()));
}
