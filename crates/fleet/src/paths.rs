//! Names of files in a fleet's folder.

/// Name of the plan.
pub const PLAN_FILE: &str = "plan.json";
/// Name of the study definition.
pub const STUDY_DEFINITION: &str = "study.toml";
/// Name of the program that measures.
pub const BINARY: &str = "threadwise";
/// Folder of results.
pub const CELLS: &str = "cells";
/// Folder of the jobs' output.
pub const LOGS: &str = "logs";
/// Name of the summary.
pub const SUMMARY: &str = "README.txt";
/// Name of the file with the cluster of the first submit, if that depends on settings.
pub const TARGET: &str = "target";
