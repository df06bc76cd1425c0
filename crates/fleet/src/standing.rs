//! The state of a fleet's cells, from the disk, the journal and the engine's list.

use crate::FleetError;
use crate::cell::{CellId, CellRecord};
use crate::drive;
use crate::folder::FleetFolder;
use crate::journal::{self, Journal};
use crate::plan::Plan;
use crate::state::{CellState, clones, states};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use threadwise_machine::text::escaped_json;

/// Version of [`Standing::json`].
const VERSION: u32 = 1;

/// The state of a fleet's cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The states of cells, in the plan's order.
    pub states: Vec<(CellId, CellState)>,
    /// Why the engine's list is unknown, if that matters.
    pub unknown: Option<String>,
}

impl Standing {
    /// Reads the disk and the journal, and queries the engine; if that fails, [`Standing::unknown`] says why.
    ///
    /// # Errors
    /// The folder or its journal cannot be read.
    pub fn read(folder: &FleetFolder) -> Result<Self, FleetError> {
        let engine = folder.engine()?;
        let seen = drive::seen(folder, engine);
        let entries = journal::read(&folder.dir)?;
        let found = folder.found()?;
        // Cells that run inside a submit are in no list.
        let is_hidden =
            engine.running(&folder.plan, &folder.location).is_none() && Journal::is_taken(&folder.dir);
        let known = seen.as_deref().ok().filter(|_| !is_hidden);
        let states = states(&folder.plan, &found, known, &entries);
        // No query is needed if all cells have ended.
        let is_unknown = states.iter().any(|(_, state)| *state == CellState::Unknown);
        let unknown = seen.err().filter(|_| is_unknown).map(|error| error.to_string());
        Ok(Self { states, unknown })
    }

    /// The records of ended cells.
    pub fn records(&self) -> Vec<&CellRecord> {
        self.states.iter().filter_map(|(_, state)| state.record()).collect()
    }

    /// Remarks on machines with the same id.
    pub fn clones(&self) -> Vec<String> {
        clones(&self.records())
    }

    /// Number of cells by state, the most frequent first.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, state) in &self.states {
            *counts.entry(state.word()).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
        counts
    }

    /// The next step.
    pub fn next(&self) -> Next {
        let has = |is: fn(&CellState) -> bool| self.states.iter().any(|(_, state)| is(state));
        match (
            has(CellState::is_due),
            has(|state| matches!(state, CellState::Listed(_) | CellState::Unknown)),
        ) {
            (true, _) => Next::Submit,
            (false, true) => Next::Wait,
            (false, false) => Next::Collect,
        }
    }

    /// All states as JSON (docs/JSON.md).
    pub fn json(&self, plan: &Plan) -> String {
        let kind = |cell: &CellId| {
            plan.machines.iter().find(|machine| machine.name == cell.machine).map(|machine| &machine.kind)
        };
        let cells: Value = self
            .states
            .iter()
            .map(|(cell, state)| {
                json!({
                    "cell": cell, "machine": cell.machine, "kind": kind(cell), "repeat": cell.repeat,
                    "state": state.word(), "is_due": state.is_due(), "job": state.job(), "node": state.node(),
                    "remark": state.remark(),
                })
            })
            .collect();
        let value = json!({
            "version": VERSION,
            "title": plan.title,
            "counts": self.counts().into_iter().collect::<BTreeMap<_, _>>(),
            "cells": cells,
            "unknown": self.unknown,
            "same_machine_ids": self.clones(),
            "next": self.next().word(),
        });
        escaped_json(&format!("{value:#}")).into_owned()
    }
}

/// The next step of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Submit missing cells.
    Submit,
    /// Wait for running or waiting cells.
    Wait,
    /// Collect and report: nothing is missing.
    Collect,
}

impl Next {
    fn word(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Wait => "wait",
            Self::Collect => "collect",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ListedCell;

    fn standing(states: &[(&str, CellState)]) -> Standing {
        let states = states.iter().map(|(cell, state)| (cell.parse().unwrap(), state.clone())).collect();
        Standing { states, unknown: None }
    }

    fn seen(cell: &str) -> CellState {
        let remark = "pending, \u{202e}Licenses".to_owned();
        CellState::Listed(ListedCell {
            cell: cell.parse().unwrap(),
            is_running: false,
            job: "7_1".into(),
            remark,
        })
    }

    #[test]
    fn what_is_due_comes_before_what_waits() {
        for (states, next) in [
            (vec![("a.1", seen("a.1")), ("a.2", CellState::Missing)], Next::Submit),
            (vec![("a.1", seen("a.1"))], Next::Wait),
            (vec![("a.1", CellState::Unknown)], Next::Wait),
            (vec![("a.1", CellState::Broken("x".into()))], Next::Collect),
        ] {
            assert_eq!(standing(&states).next(), next);
        }
    }

    #[test]
    fn json_has_every_cell_with_its_job_and_no_character_that_deceives() {
        let plan =
            crate::plan::tests::plan("engine = \"slurm\"\n[[kind]]\nname = \"k\"\nnodes = [\"a\"]\n", 2);
        let text = standing(&[("a.1", seen("a.1")), ("a.2", CellState::Missing)]).json(&plan);
        assert!(text.contains("\\u202e") && !text.contains('\u{202e}'), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["counts"], json!({"waiting": 1, "not yet submitted": 1}));
        assert_eq!(value["next"], "submit");
        let first = &value["cells"][0];
        assert_eq!(
            (&first["cell"], &first["kind"], &first["job"], &first["is_due"]),
            (&json!("a.1"), &json!("k"), &json!("7_1"), &json!(false))
        );
        assert_eq!(value["cells"][1]["job"], Value::Null);
    }
}
