//! The export of executions; those of runs and slices are tested in tests/.

use super::*;
use threadwise_analysis::Analysis;
use threadwise_analysis::queries::plan_name;
use threadwise_machine::{Pin, Placement, Topology};
use threadwise_study::{Design, QueryExecution, Role, RunStatus, Stopping, Study, Treatment};

fn study() -> Study {
    let treatment = Treatment {
        name: "dop-2".to_owned(),
        group: String::new(),
        role: Role::Compared,
        placement: Placement { text: "=2c1t".to_owned(), .."2c1t".parse().unwrap() },
        sessions: 2,
        pin: Pin::Set,
        memory: Default::default(),
        service: None,
        arm: Default::default(),
        instance: Default::default(),
        options: Default::default(),
        factors: Default::default(),
    };
    Study {
        name: "tpch".to_owned(),
        title: "queries".to_owned(),
        seed: 1,
        engine: "duckdb".to_owned(),
        engine_properties: None,
        engine_options: Default::default(),
        workload: "tpch".into(),
        treatments: vec![treatment],
        comparisons: Vec::new(),
        design: Design {
            rounds: 1,
            slice_ns: 1,
            rewarm_ns: Some(0),
            stopping: Stopping::Blocks { blocks: 1 },
            level: 0.95,
            margin: 0.03,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: Vec::new(),
    }
}

/// Two streams, of which the second executed nothing.
fn run(queries: Vec<QueryExecution>) -> Run {
    let slice = Slice {
        looks: Vec::new(),
        sequence: 7,
        round: 3,
        start_ns: 1000,
        window_ns: 500,
        sessions: vec![SessionSlice { queries, ..Default::default() }, SessionSlice::default()],
        counters: Default::default(),
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
    };
    Run {
        id: 5,
        block: 2,
        attempt: 1,
        treatment: "dop-2".to_owned(),
        cpus: vec![0, 1],
        status: RunStatus::Superseded,
        slices: vec![slice],
        started_s: 0.5,
        prepare_ns: 1,
        other_cpu_times: Vec::new(),
        readings: Vec::new(),
    }
}

fn exported(runs: &[Run]) -> String {
    written(&study(), runs, queries_csv)
}

type Export = fn(&Facts<'_>, &mut dyn Write) -> Result<(), ReportError>;

fn written(study: &Study, runs: &[Run], export: Export) -> String {
    let topology = Topology::default();
    let analysis = Analysis::default();
    let facts = Facts {
        study,
        topology: &topology,
        analysis: &analysis,
        runs,
        long_runs: &[],
        notes: &[],
        source: "s",
        program_version: "0",
        engine_version: "0",
        created_utc: "",
        is_stopped: false,
        probe: None,
        hardware: None,
        asked: Default::default(),
    };
    let mut text = Vec::new();
    export(&facts, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The last line's cell below a column.
fn cell(csv: &str, column: &str) -> String {
    let names = csv.lines().next().unwrap().split(',');
    let cells = csv.lines().last().unwrap().split(',');
    names.zip(cells).find(|(name, _)| *name == column).unwrap().1.to_owned()
}

#[test]
fn sessions_of_short_queries_have_columns_of_their_own_and_are_in_no_other() {
    let mut study = study();
    study.treatments[0].options.insert("short".to_owned(), threadwise_study::OptionValue::Integer(1));
    let mut run = run(vec![QueryExecution { query: 6, elapsed_ns: 8, ..QueryExecution::default() }]);
    let sessions = &mut run.slices[0].sessions;
    (sessions[0].steps, sessions[0].rows) = (1, 1);
    (sessions[1].steps, sessions[1].rows) = (40, 40);
    let runs = [run];
    for export in [runs_csv as Export, slices_csv] {
        let csv = written(&study, &runs, export);
        let got = ["steps", "rows", "short_queries", "short_latency_ns_p99"].map(|column| cell(&csv, column));
        assert_eq!(got, ["1", "1", "40", ""], "{csv}");
    }
    study.treatments[0].options.clear();
    assert!(!written(&study, &runs, slices_csv).contains("short_"));
}

#[test]
fn one_line_is_one_execution() {
    let whole = QueryExecution {
        query: 6,
        started_ns: 12,
        elapsed_ns: 345,
        planning_ns: Some(4),
        cpu_ns: Some(690),
        dop: Some(2),
        rows: 1,
        plan: Some("a".to_owned()),
        counters: [("=major_faults".to_owned(), 9), ("spill_bytes".to_owned(), 0)].into(),
        answer: None,
    };
    let bare = QueryExecution { query: 22, elapsed_ns: 8, ..QueryExecution::default() };
    let fixed = "run_id,block,attempt,treatment,group,status,placement,sequence,round,stream,query,\
                 window_start_ns,started_ns,elapsed_ns,planning_ns,cpu_ns,dop,rows,plan,read_bytes,spill_bytes";
    assert_eq!(
        exported(&[run(vec![whole, bare])]),
        format!(
            "{fixed},'=major_faults\n\
             5,2,1,dop-2,,superseded,'=2c1t,7,3,0,6,1000,12,345,4,690,2,1,e40c292c,,0,9\n\
             5,2,1,dop-2,,superseded,'=2c1t,7,3,0,22,1000,0,8,,,,0,,,,\n"
        )
    );
    assert_eq!(exported(&[run(Vec::new())]), format!("{fixed}\n"), "no queries, no lines");
}

/// Test vectors of the hash's authors (isthe.com/chongo/tech/comp/fnv).
#[test]
fn plans_have_lasting_names() {
    let name = |text| plan_name(text).unwrap();
    assert_eq!([name("a"), name("foobar"), name("\nfoobar \n")], ["e40c292c", "bf9cf968", "bf9cf968"]);
    assert_eq!([plan_name(""), plan_name("\n")], [None, None]);
}
