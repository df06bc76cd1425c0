//! The state of every cell: from the disk, the engine's list, and the journal. Pure.

use crate::cell::{CellId, CellRecord, Outcome};
use crate::engine::ListedCell;
use crate::folder::CellFolder;
use crate::journal::{Entry, Event, last_of};
use crate::plan::Plan;
use std::collections::BTreeMap;

/// The state of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellState {
    /// Measured, refused or failed.
    Ended(Box<CellRecord>, i32),
    /// In the engine's list.
    Listed(ListedCell),
    /// An attempt was stopped; the next one continues it.
    Stopped,
    /// Submitted, without any result, and no longer in the engine's list. When, and as which job.
    Lost(String),
    /// The engine rejected it, and why.
    NotSubmitted(String),
    /// Submitted and not ended; the engine could not be queried.
    Unknown,
    /// Never submitted.
    Missing,
    /// Its folder cannot be used, and why.
    Broken(String),
}

impl CellState {
    /// Whether `submit` submits it.
    pub fn is_due(&self) -> bool {
        match self {
            Self::Ended(record, _) => record.outcome.may_pass(),
            Self::Stopped | Self::Lost(_) | Self::NotSubmitted(_) | Self::Missing => true,
            Self::Listed(_) | Self::Unknown | Self::Broken(_) => false,
        }
    }

    /// The display word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ended(record, _) => match record.outcome {
                Outcome::Measured => "measured",
                Outcome::Invalid => "not valid as a whole",
                Outcome::Refused => "refused",
                Outcome::Failed => "failed",
            },
            Self::Listed(seen) if seen.is_running => "running",
            Self::Listed(_) => "waiting",
            Self::Stopped => "stopped",
            Self::Lost(_) => "lost",
            Self::NotSubmitted(_) => "not submitted",
            Self::Unknown => "submitted",
            Self::Missing => "not yet submitted",
            Self::Broken(_) => "not usable",
        }
    }

    /// The cell's record, if it ended.
    pub fn record(&self) -> Option<&CellRecord> {
        match self {
            Self::Ended(record, _) => Some(record),
            _ => None,
        }
    }

    /// The engine's job id, if any.
    pub fn job(&self) -> Option<&str> {
        match self {
            Self::Listed(seen) => Some(&seen.job),
            _ => self.record()?.job.as_deref(),
        }
    }

    /// The node that it was measured on.
    pub fn node(&self) -> Option<&str> {
        self.record()?.node.as_deref()
    }

    /// A remark, one line, if any.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Ended(record, _) => record.reason.clone(),
            Self::Listed(seen) => Some(format!("job {}, {}", seen.job, seen.remark)),
            Self::Stopped => {
                Some("its results so far are kept, and the next submit continues from them".to_owned())
            }
            Self::Lost(what) | Self::NotSubmitted(what) | Self::Broken(what) => Some(what.clone()),
            Self::Unknown => Some("it is unknown whether it runs, waits or is lost".to_owned()),
            Self::Missing => None,
        }
    }
}

/// The states of a plan's cells, in its order. `seen` is `None` if the engine's list is unknown.
pub fn states(
    plan: &Plan,
    found: &BTreeMap<CellId, CellFolder>,
    seen: Option<&[ListedCell]>,
    entries: &[Entry],
) -> Vec<(CellId, CellState)> {
    let last = last_of(entries);
    let one = |cell: &CellId| {
        let known = seen.unwrap_or_default().iter().find(|seen| seen.cell == *cell);
        let state = match (found.get(cell), known) {
            // An ended cell's job may stay in the list for some seconds.
            (Some(CellFolder::Whole(record, exit)), known)
                if known.is_none() || !record.outcome.may_pass() =>
            {
                CellState::Ended(record.clone(), *exit)
            }
            (_, Some(seen)) => CellState::Listed(seen.clone()),
            (Some(CellFolder::Broken(why)), None) => CellState::Broken(why.clone()),
            (Some(CellFolder::Aside(_)), None) if seen.is_none() => CellState::Unknown,
            (Some(CellFolder::Aside(_)), None) => CellState::Stopped,
            (_, None) => match submitted(last.get(cell).copied()) {
                CellState::Lost(_) if seen.is_none() => CellState::Unknown,
                state => state,
            },
        };
        (cell.clone(), state)
    };
    plan.order.iter().map(one).collect()
}

/// A cell that only the journal knows.
fn submitted(entry: Option<&Entry>) -> CellState {
    let Some(entry) = entry else { return CellState::Missing };
    let at = &entry.utc;
    match &entry.event {
        Event::Submitting => CellState::Lost(format!("it was being submitted at {at}, and left nothing")),
        Event::Submitted { job: Some(job) } => CellState::Lost(format!(
            "it was submitted at {at} as job {job}, and left nothing: logs/ may say why"
        )),
        Event::Submitted { job: None } => {
            CellState::Lost(format!("it was submitted at {at}, and left nothing"))
        }
        Event::EndedBadly { why } => CellState::Lost(format!("{why}, at {at}, and the cell left nothing")),
        Event::NotSubmitted { why } => CellState::NotSubmitted(why.clone()),
    }
}

/// Remarks on machines with the same id and different nodes: copies of one image, or one machine under several names,
/// which the boot distinguishes.
pub fn clones(records: &[&CellRecord]) -> Vec<String> {
    let mut by_hash: BTreeMap<&str, Vec<&CellRecord>> = BTreeMap::new();
    for record in records {
        if let Some(hash) = record.machine_hash.as_deref() {
            by_hash.entry(hash).or_default().push(record);
        }
    }
    by_hash.values().filter_map(|same| cloned(same)).collect()
}

fn cloned(same: &[&CellRecord]) -> Option<String> {
    let mut nodes: Vec<&str> = same.iter().filter_map(|record| record.node.as_deref()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() < 2 {
        return None;
    }
    let names = nodes.join(", ");
    let on =
        |record: &CellRecord, node: &str| record.node.as_deref() == Some(node) && record.boot_id.is_some();
    let boots = |node: &str| -> Vec<&String> {
        same.iter().filter(|record| on(record, node)).filter_map(|record| record.boot_id.as_ref()).collect()
    };
    let first = boots(nodes[0]);
    let is_one = nodes[1..].iter().any(|node| boots(node).iter().any(|boot| first.contains(boot)));
    Some(match is_one {
        true => format!(
            "{names} measured on one boot, so they are one machine under several names: they count as different machines, \
             and intervals over machines are then meaningless"
        ),
        false => format!(
            "{names} have the same machine id, as copies of one image do: they count as different machines by their names; \
             give each its own id (systemd-machine-id-setup)"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::VERSION;

    fn record(cell: &str, outcome: Outcome) -> CellRecord {
        let some = |text: &str| Some(text.to_owned());
        CellRecord {
            version: VERSION,
            plan: String::new(),
            cell: cell.parse().unwrap(),
            kind: "a".into(),
            program: String::new(),
            machine_hash: some("m"),
            boot_id: some("b"),
            node: some("n1"),
            machine_type: None,
            kernel: None,
            microcode: None,
            job: None,
            started_utc: String::new(),
            ended_utc: String::new(),
            online_cpus: None,
            allowed_cpus: None,
            exclusivity: Vec::new(),
            outcome,
            reason: some("why"),
            notes: Vec::new(),
            earlier: Vec::new(),
        }
    }

    fn seen(cell: &str, is_running: bool) -> ListedCell {
        ListedCell {
            cell: cell.parse().unwrap(),
            is_running,
            job: "7_1".into(),
            remark: "pending, Licenses".into(),
        }
    }

    fn entry(event: Event) -> Entry {
        Entry { attempt: 1, utc: "T".into(), cells: vec!["a.1".parse().unwrap()], event }
    }

    fn state(found: CellFolder, seen: &[ListedCell], entries: &[Entry]) -> CellState {
        let cell: CellId = "a.1".parse().unwrap();
        let plan =
            crate::plan::tests::plan("engine = \"slurm\"\n[[kind]]\nname = \"k\"\nnodes = [\"a\"]\n", 1);
        let all = states(&plan, &BTreeMap::from([(cell, found)]), Some(seen), entries);
        assert_eq!(all.len(), 1);
        all.into_iter().next().unwrap().1
    }

    #[test]
    fn every_state_has_its_word_and_only_what_may_pass_is_due() {
        let whole = |outcome| CellFolder::Whole(Box::new(record("a.1", outcome)), 0);
        let aside = || CellFolder::Aside("x".into());
        let submitted = [entry(Event::Submitted { job: Some("7".into()) })];
        let refused = [entry(Event::NotSubmitted { why: "no such node".into() })];
        let ended = [entry(Event::EndedBadly { why: "ansible-playbook ended with exit status: 4".into() })];
        let running = [seen("a.1", true)];
        for (state, word, is_due) in [
            (state(whole(Outcome::Measured), &[], &[]), "measured", false),
            (state(whole(Outcome::Invalid), &[], &[]), "not valid as a whole", false),
            (state(whole(Outcome::Refused), &[], &[]), "refused", true),
            (state(whole(Outcome::Failed), &[], &[]), "failed", true),
            // Done, and still in the list for a moment.
            (state(whole(Outcome::Measured), &running, &submitted), "measured", false),
            // Failed before, and tried again now.
            (state(whole(Outcome::Failed), &running, &submitted), "running", false),
            (state(aside(), &running, &submitted), "running", false),
            (state(CellFolder::Nothing, &[seen("a.1", false)], &submitted), "waiting", false),
            (state(aside(), &[], &submitted), "stopped", true),
            (state(CellFolder::Nothing, &[], &submitted), "lost", true),
            (state(CellFolder::Nothing, &[], &[entry(Event::Submitting)]), "lost", true),
            (state(CellFolder::Nothing, &[], &ended), "lost", true),
            (state(CellFolder::Nothing, &[], &refused), "not submitted", true),
            (state(CellFolder::Nothing, &[], &[]), "not yet submitted", true),
            (state(CellFolder::Broken("x".into()), &[], &submitted), "not usable", false),
        ] {
            assert_eq!((state.word(), state.is_due()), (word, is_due), "{state:?}");
        }
    }

    #[test]
    fn where_the_engine_cannot_be_asked_nothing_is_called_lost() {
        let cell: CellId = "a.1".parse().unwrap();
        let plan =
            crate::plan::tests::plan("engine = \"slurm\"\n[[kind]]\nname = \"k\"\nnodes = [\"a\"]\n", 1);
        let submitted = [entry(Event::Submitted { job: None })];
        let state = |found: CellFolder, entries: &[Entry]| {
            states(&plan, &BTreeMap::from([(cell.clone(), found)]), None, entries).remove(0).1
        };
        for found in [CellFolder::Aside("x".into()), CellFolder::Nothing] {
            let state = state(found, &submitted);
            assert_eq!((&state, state.is_due()), (&CellState::Unknown, false));
        }
        let whole = CellFolder::Whole(Box::new(record("a.1", Outcome::Measured)), 0);
        assert_eq!(state(whole, &submitted).word(), "measured");
        assert_eq!(state(CellFolder::Nothing, &[]), CellState::Missing);
    }

    #[test]
    fn copies_of_an_image_and_one_machine_under_two_names_are_told_apart() {
        let with = |node: &str, boot: &str| CellRecord {
            node: Some(node.into()),
            boot_id: Some(boot.into()),
            ..record("a.1", Outcome::Measured)
        };
        let said = |records: &[CellRecord]| clones(&records.iter().collect::<Vec<_>>());
        assert_eq!(said(&[with("n1", "b1"), with("n1", "b2")]), Vec::<String>::new());
        assert!(
            said(&[with("n1", "b1"), with("n2", "b2")])[0].starts_with("n1, n2 have the same machine id")
        );
        assert!(said(&[with("n1", "b1"), with("n2", "b1")])[0].contains("one machine under several names"));
        let other = CellRecord { machine_hash: Some("o".into()), ..with("n2", "b2") };
        assert_eq!(said(&[with("n1", "b1"), other]), Vec::<String>::new());
    }
}
