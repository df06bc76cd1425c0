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

use crate::lab::guest::parts::{self, Parts};
use checks::Outcome;
use machine::{Machine, tables};
use std::time::Instant;

/// The command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// All machines and checks, not only the quick ones.
    is_all: bool,
    /// Only these machines; if empty, all requested ones.
    names: Vec<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let machines = &tables()?.machines;
        for word in words {
            match *word {
                "--all" => options.is_all = true,
                name if machines.iter().any(|machine| machine.name == name) => {
                    options.names.push(name.to_owned())
                }
                other => {
                    let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
                    return Err(format!(
                        "machines [--all] [NAME…], not '{other}'; names: {}",
                        names.join(", ")
                    ));
                }
            }
        }
        Ok(options)
    }

    fn has(&self, machine: &Machine) -> bool {
        match self.names.is_empty() {
            true => self.is_all || !machine.by_all,
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
pub fn run(words: &[&str]) -> Result<(), String> {
    let options = Options::read(words)?;
    let begun = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    let are_all = options.is_all && options.names.is_empty();
    for machine in tables()?.machines.iter().filter(|machine| options.has(machine)) {
        let parts = parts::ready(machine.guest.arch)?;
        rows.push((machine, tried(machine, &options, &parts)?));
    }
    println!("\n{}", table::of(&rows)?);
    println!("{:.1} minutes", begun.elapsed().as_secs_f64() / 60.0);
    if are_all && std::env::var_os(WRITE_DOCS).is_some() {
        std::fs::write(DOCUMENT, table::document(&rows)?)
            .map_err(|cause| format!("cannot write {DOCUMENT}: {cause}"))?;
    }
    let failed = |(machine, outcomes): &Row| {
        outcomes.iter().any(|outcome| !outcome.faults().is_empty()).then_some(machine.name.as_str())
    };
    let failed: Vec<&str> = rows.iter().filter_map(failed).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("machines with a failed check: {}", failed.join(", "))),
    }
}

fn tried(machine: &Machine, options: &Options, parts: &Parts) -> Result<Vec<Outcome>, String> {
    let begun = Instant::now();
    println!("=== {}: {}", machine.name, machine.about);
    let outcomes = checks::run(machine, options.is_all, parts)?;
    for outcome in &outcomes {
        outcome.faults().iter().for_each(|fault| println!("  {}: {fault}", outcome.check.name()));
    }
    println!("  {:.0} s", begun.elapsed().as_secs_f64());
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_quick_ones_are_the_default() {
        let all = Options::read(&["--all"]).unwrap();
        let quick = Options::read(&[]).unwrap();
        let one = Options::read(&["64-cpus"]).unwrap();
        let machines = &tables().unwrap().machines;
        let having = |options: &Options| machines.iter().filter(|machine| options.has(machine)).count();
        assert_eq!(having(&all), machines.len());
        assert!(having(&quick) < machines.len() && having(&quick) > 5);
        assert_eq!(having(&one), 1);
        assert!(Options::read(&["65-cpus"]).is_err_and(|why| why.contains("64-cpus")));
    }
}
