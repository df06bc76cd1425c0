//! The project's own tasks, run as `cargo xtask NAME`: one file for each, and this list of them.
//!
//! Exit codes: 0 done, 1 something failed, 2 the command line is wrong.

// A program for contributors: it prints to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod ci;
mod command;
mod dist;
mod elf;
mod lab;
mod licences;
mod lines;
mod package;
mod site;
mod steps;
mod test;
mod tidy;

use lab::{emulated, fuzz, machines};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  test              the suite: every test that needs no other program and no quiet machine
  lab [NAME…] [--smoke] [--hours N] [--install] [--env] [--list]
                    the laboratory: real servers, browsers, schedulers, emulated machines, kills, long
                    simulations, mutated inputs; --list says which parts there are, --smoke runs the
                    least of each, --hours N more of it, --install (or CI=true) brings missing
                    Debian packages when root, --env fetches the rest and names it to `cargo test`
  tidy              module headers, crate arrows, unsafe, serde, names, paths
  lines             lines of code without tests, comments and blank lines, by crate
  licences          licences and duplicate versions of the dependencies
  dist [--target TRIPLE]
                    static binaries for Linux in target/dist, for this kind of processor or that of
                    the triple: x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu
  package [--target TRIPLE]
                    what users install, from the binaries of dist, in target/packages: archive, .deb, .rpm,
                    OCI image, Python wheel, list of components, sums
  site              the documents as a site in target/site, with links that lead somewhere
  fuzz [OPTIONS]    mutated inputs for all that reads what others wrote; options: see fuzz --help
  emulated [--seed N] [--seconds S]
                    what looks say in an emulated guest, whose two logical CPUs are put on one of this
                    machine's and on two in turns, against what was done; needs what dist makes
  machines [--all] [NAME…]
                    topology and placements on emulated machines with siblings, L3s, packages and NUMA nodes
                    that this one does not have; needs what dist makes
  ci                fmt, tidy, licences, clippy, doc, test, package, the smoke of the laboratory and its
                    part python: all that has to pass";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(cause) = std::env::set_current_dir(workspace_root()) {
        eprintln!("xtask: cannot enter the workspace folder: {cause}");
        return ExitCode::FAILURE;
    }
    let outcome = match words.as_slice() {
        ["test"] => test::run(),
        ["lab", more @ ..] => lab::run(more),
        ["tidy"] => tidy::run(),
        ["lines"] => lines::run(),
        ["licences"] => licences::run(),
        ["dist"] => dist::run(None),
        ["dist", "--target", triple] => dist::run(Some(triple)),
        ["package"] => package::run(None),
        ["package", "--target", triple] => package::run(Some(triple)),
        ["site"] => site::run(),
        ["ci"] => ci::run(),
        ["emulated", more @ ..] => emulated::run(more),
        ["machines", more @ ..] => machines::run(more),
        ["fuzz", more @ ..] => fuzz::run(more),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The folder above this package, from cargo now or when it built this program.
fn workspace_root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map(Path::to_path_buf).unwrap_or(package)
}
