//! The project's own tasks, run as `cargo xtask NAME`: one file for each, and this list of them.
//!
//! Exit codes: 0 done, 1 something failed, 2 the command line is wrong.

// A program for contributors: it prints to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod ci;
mod command;
mod dist;
mod files;
mod lab;
mod licences;
mod lines;
mod package;
mod site;
mod steps;
mod test;
mod tidy;

use clap::Parser;
use lab::{emulated, machines};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The project's own tasks.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Words {
    /// The suite: every test that needs no other program and no quiet machine
    Test,
    /// The laboratory: real servers, browsers, schedulers, emulated machines, kills, long simulations, mutated inputs
    Lab(lab::Options),
    /// Crate arrows, circles of files, module headers, unsafe, serde, names, words, paths
    Tidy,
    /// Lines of code without tests, comments and blank lines, by crate
    Lines,
    /// Licences and duplicate versions of the dependencies
    Licences,
    /// Static binaries for Linux in target/dist
    Dist(Triple),
    /// What users install, from the binaries of dist, in target/packages: archive, .deb, .rpm, OCI image, Python wheel,
    /// list of components, sums
    Package(Triple),
    /// The documents as a site in target/site, with links that lead somewhere
    Site,
    /// Mutated inputs for all that reads what others wrote; options: see fuzz --help
    #[command(disable_help_flag = true)]
    Fuzz {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// What looks say in an emulated guest, whose two logical CPUs are put on one of this machine's and on two in turns,
    /// against what was done; needs what dist makes
    Emulated(emulated::Options),
    /// Topology and placements on emulated machines with siblings, L3s, packages and NUMA nodes that this one does not
    /// have; needs what dist makes
    Machines(machines::Options),
    /// Fmt, tidy, licences, clippy, doc, test, package, the smoke of the laboratory and its part python: all that has
    /// to pass
    Ci,
}

#[derive(clap::Args)]
struct Triple {
    /// Another kind of processor than this one's: x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu
    #[arg(long)]
    target: Option<String>,
}

fn main() -> ExitCode {
    let words = Words::parse();
    if let Err(cause) = std::env::set_current_dir(workspace_root()) {
        eprintln!("xtask: cannot enter the workspace folder: {cause}");
        return ExitCode::FAILURE;
    }
    let outcome = match words {
        Words::Test => test::run(),
        Words::Lab(options) => lab::run(&options),
        Words::Tidy => tidy::run(),
        Words::Lines => lines::run(),
        Words::Licences => licences::run(),
        Words::Dist(Triple { target }) => dist::run(target.as_deref()),
        Words::Package(Triple { target }) => package::run(target.as_deref()),
        Words::Site => site::run(),
        Words::Fuzz { words } => lab::fuzz(&words),
        Words::Emulated(options) => emulated::run(options),
        Words::Machines(options) => machines::run(&options),
        Words::Ci => ci::run(),
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
