//! Names of what is in a fleet's folder.

/// Name of the plan.
pub const PLAN_FILE: &str = "plan.json";
/// Name of the study definition.
pub const STUDY_DEFINITION: &str = "study.toml";
/// Name of the program that measures.
pub const BINARY: &str = "threadwise";
/// Folder of results.
pub const CELLS: &str = "cells";
/// Folder of what jobs print.
pub const LOGS: &str = "logs";
/// Name of the summary for people.
pub const SUMMARY: &str = "README.txt";
/// To where the engine's commands went when cells were submitted first, where that depends on settings.
pub const TARGET: &str = "target";
