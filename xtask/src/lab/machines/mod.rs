//! `cargo xtask machines [--all] [NAME…]`: the program on emulated machines.
//!
//! Each is a guest that QEMU emulates in software, with Debian's kernel, busybox and the program of `cargo xtask
//! dist`. Its topology, and each placement, is compared with what was built ([`machine`]). Timings in an emulator
//! mean nothing and are ignored.

mod boots;
mod checks;
mod console;
mod kills;
mod machine;
mod studies;
mod switching;
mod table;

use crate::files;
use crate::lab::guest::parts::{self, Parts};
use checks::Outcome;
use machine::{Machine, tables};
use std::time::Instant;

/// The command line.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// All machines and checks, not only the quick ones
    #[arg(long)]
    pub all: bool,
    /// Only these machines
    #[arg(value_parser = machine_name)]
    pub names: Vec<String>,
}

fn machine_name(name: &str) -> Result<String, String> {
    let names: Vec<&str> = tables()?.machines.iter().map(|machine| machine.name.as_str()).collect();
    match names.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("names: {}", names.join(", "))),
    }
}

impl Options {
    fn has(&self, machine: &Machine) -> bool {
        match self.names.is_empty() {
            true => self.all || !machine.by_all,
            false => self.names.contains(&machine.name),
        }
    }
}

/// With this variable the document of the machines is written after a run of all.
const WRITE_DOCS: &str = "THREADWISE_WRITE_DOCS";
const DOCUMENT: &str = "evidence/machines.md";

/// A machine and how its checks ended.
type Row = (&'static Machine, Vec<Outcome>);

/// Boots the machines one after the other and prints the table.
pub fn run(options: &Options) -> Result<(), String> {
    let begun = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    for machine in tables()?.machines.iter().filter(|machine| options.has(machine)) {
        let parts = parts::ready(machine.guest.arch)?;
        rows.push((machine, tried(machine, options, &parts)?));
    }
    println!("\n{}", table::of(&rows)?);
    println!("{:.1} minutes", begun.elapsed().as_secs_f64() / 60.0);
    if options.all && options.names.is_empty() && std::env::var_os(WRITE_DOCS).is_some() {
        files::write(DOCUMENT, table::document(&rows)?)?;
    }
    let has_failed = |(_, outcomes): &&Row| outcomes.iter().any(|outcome| !outcome.faults().is_empty());
    let failed: Vec<&str> =
        rows.iter().filter(has_failed).map(|(machine, _)| machine.name.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("machines with a failed check: {}", failed.join(", "))),
    }
}

fn tried(machine: &Machine, options: &Options, parts: &Parts) -> Result<Vec<Outcome>, String> {
    let begun = Instant::now();
    println!("=== {}: {}", machine.name, machine.about);
    let outcomes = checks::run(machine, options.all, parts)?;
    for outcome in &outcomes {
        outcome.faults().iter().for_each(|fault| println!("  {}: {fault}", outcome.name));
    }
    println!("  {:.0} s", begun.elapsed().as_secs_f64());
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_quick_ones_are_the_default() {
        let machines = &tables().unwrap().machines;
        let having = |all, names: &[&str]| {
            let options = Options { all, names: names.iter().map(|name| (*name).to_owned()).collect() };
            machines.iter().filter(|machine| options.has(machine)).count()
        };
        assert_eq!(having(true, &[]), machines.len());
        assert!(having(false, &[]) < machines.len() && having(false, &[]) > 5);
        assert_eq!(having(false, &["64-cpus"]), 1);
        assert!(machine_name("64-cpus").is_ok());
        assert!(machine_name("65-cpus").is_err_and(|why| why.contains("64-cpus")));
    }
}
