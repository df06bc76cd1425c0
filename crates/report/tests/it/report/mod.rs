//! Reports of made-up documents, checked as a reader, a program and a browser would.

mod accessibility;
mod activity;
mod chromium;
mod commands;
mod compare;
mod exports;
mod logical_cpus;
mod looks;
mod page;
mod probe_screen;
mod probes;
mod queries;
mod scaling_law;
mod terminal;
mod worklist;
