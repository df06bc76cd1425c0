//! Slurm's facts on the node: the job id, and whether other jobs may run beside it (`OverSubscribe` of `scontrol
//! show job`, which is `NO` under `--exclusive`; slurm_protocol_defs.c, `job_share_string`).

use crate::engine::{Ask, Call, OnNode};

/// Reads the job's variables and, if available, `scontrol`.
pub(super) fn on_node(ask: &Ask<'_>) -> OnNode {
    let Some(id) = (ask.variable)("SLURM_JOB_ID").filter(|id| id.chars().all(|c| c.is_ascii_digit())) else {
        let evidence = vec!["SLURM_JOB_ID is not set: the cell was not started by Slurm".to_owned()];
        return OnNode { evidence, ..OnNode::default() };
    };
    let array = (ask.variable)("SLURM_ARRAY_JOB_ID").zip((ask.variable)("SLURM_ARRAY_TASK_ID"));
    let job = array.map_or_else(|| id.clone(), |(array, task)| format!("{array}_{task}"));
    let shown = (ask.printed)(&Call::new("scontrol", ["show", "job", "-o", &id]));
    let word = shown.as_deref().and_then(over_subscribe);
    let (evidence, against) = match word {
        Some("NO") => ("scontrol: OverSubscribe=NO, no other job may run on this node".to_owned(), None),
        Some(word) => (
            format!("scontrol: OverSubscribe={word}"),
            Some(format!(
                "Slurm may run other jobs on this node beside job {id} (OverSubscribe={word}): submit with --exclusive, as \
                 the script of threadwise fleet plan does"
            )),
        ),
        None => by_cpus(ask, &id),
    };
    OnNode { job: Some(job), node: (ask.variable)("SLURMD_NODENAME"), evidence: vec![evidence], against }
}

/// Without `scontrol`: a job with all CPUs of its node leaves none to others.
fn by_cpus(ask: &Ask<'_>, id: &str) -> (String, Option<String>) {
    let count = (ask.variable)("SLURM_CPUS_ON_NODE").and_then(|text| text.trim().parse::<usize>().ok());
    let evidence = match count {
        Some(count) => format!("scontrol failed; SLURM_CPUS_ON_NODE={count}"),
        None => "scontrol failed, and SLURM_CPUS_ON_NODE is not set".to_owned(),
    };
    let too_few = count.zip(ask.online_cpus).filter(|(count, online)| count < online);
    let against = too_few.map(|(count, online)| {
        format!(
            "Slurm gave job {id} {count} of {online} logical CPUs, and scontrol does not show that it has the node to itself: \
             submit with --exclusive"
        )
    });
    (evidence, against)
}

fn over_subscribe(shown: &str) -> Option<&str> {
    shown.split_whitespace().find_map(|word| word.strip_prefix("OverSubscribe="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(variables: &[(&str, &str)], shown: Option<&str>, online: usize) -> OnNode {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let printed = |call: &Call| {
            assert_eq!(call.shown(), "scontrol show job -o 12");
            shown.map(str::to_owned)
        };
        on_node(&Ask { variable: &variable, printed: &printed, online_cpus: Some(online) })
    }

    const JOB: [(&str, &str); 3] =
        [("SLURM_JOB_ID", "12"), ("SLURM_ARRAY_JOB_ID", "11"), ("SLURM_ARRAY_TASK_ID", "2")];

    #[test]
    fn an_exclusive_job_is_known_by_its_word() {
        let alone = said(&JOB, Some("JobId=12 NumCPUs=2 OverSubscribe=NO Contiguous=0"), 2);
        assert_eq!((alone.job.as_deref(), alone.against), (Some("11_2"), None));
        for word in ["OK", "YES", "USER", "MCS"] {
            let shared = said(&JOB, Some(&format!("JobId=12 OverSubscribe={word} X=1")), 2);
            assert!(shared.against.unwrap().contains("--exclusive"), "{word}");
        }
    }

    #[test]
    fn without_scontrol_all_cpus_have_to_be_the_jobs() {
        let with = |count: &'static str| [("SLURM_JOB_ID", "12"), ("SLURM_CPUS_ON_NODE", count)];
        assert_eq!(said(&with("4"), None, 4).against, None);
        assert!(said(&with("1"), None, 4).against.unwrap().contains("1 of 4"));
        assert_eq!(said(&with("4"), None, 4).job.as_deref(), Some("12"));
        assert_eq!(said(&JOB, None, 4).against, None);
    }

    #[test]
    fn outside_of_a_job_nothing_is_asked() {
        let outside = said(&[], Some("OverSubscribe=OK"), 2);
        assert_eq!((outside.job, outside.against), (None, None));
        assert_eq!(said(&[("SLURM_JOB_ID", "1;x")], None, 2).job, None);
    }
}
