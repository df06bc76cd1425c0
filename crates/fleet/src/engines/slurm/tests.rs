//! Scripts and lists of Slurm. What Slurm makes of them is tried on a cluster, in the tests of the program.

use super::*;
use crate::plan::tests::plan;

fn slurm(more: &str, repeats: u32) -> Plan {
    plan(&format!("engine = \"slurm\"\n{more}"), repeats)
}

const TWO: &str = "[[kind]]\nname = \"a\"\nnodes = [\"n1\", \"n2\"]\n";

fn location() -> FleetLocation {
    FleetLocation { dir: "/shared/a fleet".to_owned() }
}

fn script_of(plan: &Plan) -> String {
    Slurm.files(plan, &location()).unwrap().remove(0).text
}

fn missing(plan: &Plan, cells: &[&str], attempt: u32) -> Vec<Batch> {
    let cells: Vec<CellId> = cells.iter().map(|cell| cell.parse().unwrap()).collect();
    Slurm.batches(plan, &location(), &cells, attempt).unwrap()
}

#[test]
fn a_script_asks_for_the_whole_node_and_for_all_threads() {
    let script = script_of(&slurm(
        &format!(
            "[engine_options]\nlicenses = \"host:1\"\naccount = \"a b\"\nreboot = true\nk = false\n{TWO}"
        ),
        3,
    ));
    for line in [
        "#SBATCH --nodelist=n1",
        "#SBATCH --array=1-3%1",
        "#SBATCH --exclusive",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        "#SBATCH --signal=B:TERM@60",
        // One minute and a half, and five beside.
        "#SBATCH --time=7",
        "#SBATCH --output=\"/shared/a fleet/logs/n1.%a.log\"",
        "#SBATCH --licenses=host:1",
        "#SBATCH --account=\"a b\"",
        "#SBATCH --reboot",
        "'/shared/a fleet/threadwise' fleet cell --dir '/shared/a fleet' --cell \"n1.$SLURM_ARRAY_TASK_ID\" &",
    ] {
        assert!(script.lines().any(|found| found == line), "{line}\n{script}");
    }
    assert!(!script.contains("threads-per-core") && !script.contains("hint") && !script.contains("--k"));
}

#[test]
fn a_pool_is_selected_by_features_and_a_share_is_not_exclusive() {
    let pool = "[[kind]]\nname = \"a\"\nmachines = 2\nselector = { constraint = \"c7i&ssd\" }\n";
    let script = script_of(&slurm(pool, 1));
    assert!(script.contains("#SBATCH --constraint=c7i&ssd\n") && !script.contains("nodelist"), "{script}");
    let share =
        script_of(&slurm(&format!("measures = \"share\"\n[engine_options]\ncpus-per-task = 4\n{TWO}"), 1));
    assert!(share.contains("#SBATCH --cpus-per-task=4\n") && !share.contains("exclusive"), "{share}");
}

#[test]
fn what_a_script_cannot_hold_is_refused_with_its_name() {
    for (more, why) in [
        (format!("[engine_options]\nhint = \"nomultithread\"\n{TWO}"), "'hint'"),
        (format!("[engine_options]\nlicenses = \"a\\\"b\"\n{TWO}"), "licenses"),
        (format!("[engine_options]\nlicenses = \"\"\n{TWO}"), "licenses"),
        (format!("[engine_options]\n\"a b\" = 1\n{TWO}"), "'a b'"),
        (format!("[engine_options]\nx = {{ y = 1 }}\n{TWO}"), "'x'"),
        ("[[kind]]\nname = \"a\"\nmachines = 2\n".to_owned(), "a pool without a selector"),
        ("[[kind]]\nname = \"a\"\nmachines = 2\nselector = { zone = \"b\" }\n".to_owned(), "'zone'"),
    ] {
        let error = Slurm.check(&slurm(&more, 1), &location()).unwrap_err().to_string();
        assert!(error.starts_with("slurm: ") && error.contains(why), "{error}");
    }
    let odd = FleetLocation { dir: "/shared/it's".to_owned() };
    assert!(Slurm.check(&slurm(TWO, 1), &odd).unwrap_err().to_string().contains("the fleet's folder"));
    let percent = FleetLocation { dir: "/shared/50%".to_owned() };
    let script = Slurm.files(&slurm(TWO, 1), &percent).unwrap().remove(0).text;
    assert!(script.contains("--output=/shared/50%%/logs/n1.%a.log\n"), "{script}");
}

#[test]
fn a_batch_is_a_machine_with_its_missing_repeats() {
    let plan = slurm(TWO, 3);
    let batches = missing(&plan, &["n2.3", "n1.2", "n2.1"], 2);
    let shown: Vec<String> = batches.iter().map(|batch| batch.start.shown()).collect();
    let of = |label: &str| batches.iter().find(|batch| batch.label == label).unwrap();
    assert_eq!(batches.len(), 2, "{shown:?}");
    assert_eq!(
        of("n2").start.shown(),
        "sbatch --parsable '--array=1,3%1' '/shared/a fleet/slurm/n2.sh'"
            .replace("'--array=1,3%1'", "--array=1,3%1")
    );
    assert_eq!(
        of("n1").check.as_ref().unwrap().args,
        ["--test-only", "--array=2%1", "/shared/a fleet/slurm/n1.sh"]
    );
    assert!(missing(&plan, &[], 1).is_empty());
    let apart = slurm(&format!("apart = \"90m\"\n{TWO}"), 3);
    let chain = missing(&apart, &["n1.1", "n1.3"], 1);
    assert_eq!(chain.len(), 2);
    assert!(
        chain.iter().all(|batch| batch.start.args[2] == "--dependency=after:{previous-job}+90"),
        "{chain:?}"
    );
}

#[test]
fn ids_and_lists_are_read_and_what_is_odd_is_not_believed() {
    assert_eq!(Slurm.job_id("12\n").as_deref(), Some("12"));
    assert_eq!(Slurm.job_id("sbatch: note\n12;cluster\n").as_deref(), Some("12"));
    assert_eq!(Slurm.job_id("Submitted batch job"), None);
    let plan = slurm(TWO, 2);
    let name = script::job_name(&script::prefix(&plan), "n1");
    let list = format!(
        "{name}|1|12|RUNNING|None\n{name}|2|12|PENDING|JobArrayTaskLimit\n{name}|9|12|RUNNING|None\n\
         {name}|1|11|COMPLETED|None\n{name}|N/A|13|RUNNING|None\ntw-0000000000-n1|1|14|RUNNING|None\nother|1|15|RUNNING|x\n"
    );
    let seen = Slurm.read_running(&plan, &list).unwrap();
    let shown: Vec<(String, bool, &str)> =
        seen.iter().map(|seen| (seen.cell.to_string(), seen.is_running, seen.job.as_str())).collect();
    assert_eq!(shown, [("n1.1".to_owned(), true, "12_1"), ("n1.2".to_owned(), false, "12_2")]);
    assert_eq!(seen[1].remark, "pending, JobArrayTaskLimit");
    assert!(Slurm.read_running(&plan, "slurm is down\n").is_err());
    let call = Slurm.running(&plan, &location()).unwrap();
    assert!(
        call.shown().contains(&format!("--name={name},{}", script::job_name(&script::prefix(&plan), "n2"))),
        "{}",
        call.shown()
    );
}
