//! Reports of made-up documents, checked as a reader, a program and (in the laboratory) a browser would.

mod activity;
mod commands;
mod compare;
pub mod documents;
pub mod exports;
mod lab_browser;
mod levels;
mod logical_cpus;
mod looks;
mod page;
mod probe_screen;
mod probes;
mod queries;
mod scaling_law;
mod terminal;
mod worklist;
