//! `threadwise pool`, `maxdop`, `bind` and `ab`: questions that a preset of `run` answers, with the options that matter
//! for them.

mod args;

use super::run::{CommandArgs, MeasureArgs, run, transaction};
use super::topology;
use crate::cli::RunArgs;
use crate::engines;
use crate::error::AppError;
pub use args::{AbArgs, BindArgs, MaxdopArgs, PoolArgs};
use threadwise_machine::Topology;
use threadwise_study::command::quote;

/// The run of a preset.
fn of_preset(preset: &str, measure: &MeasureArgs) -> RunArgs {
    RunArgs { study: Some(preset.to_owned()), measure: measure.clone(), ..RunArgs::default() }
}

/// How many connections a pool should have.
pub fn pool(args: &PoolArgs) -> Result<(), AppError> {
    if args.transactions.transactions_from.is_some() {
        let (engine, transactions) = (args.engine.clone(), args.transactions.clone());
        let engine_option = args.engine_option.clone();
        return run(&RunArgs { engine, engine_option, transactions, ..RunArgs::default() });
    }
    let mut set = args.set.clone();
    let is_server = args.engine.as_deref().is_some_and(engines::is_server);
    let is_transaction = !args.transactions.transaction.is_empty();
    if is_server && !is_transaction && !set.iter().any(|(name, _)| name == "loop") {
        // Latency is what a client waits.
        set.push(("loop".to_owned(), "client".to_owned()));
    }
    run(&RunArgs {
        engine: args.engine.clone(),
        engine_option: args.engine_option.clone(),
        set,
        sessions: Some(connections(args)?),
        slices: args.slices.clone(),
        rates: args.rates.clone(),
        transactions: args.transactions.clone(),
        ..of_preset(if is_transaction { transaction::PRESET } else { "pool" }, &args.measure)
    })
}

/// The numbers of connections to measure: the requested ones, or 1, 2, 4, ... with the numbers of cores and of logical
/// CPUs, up to a limit.
fn connections(args: &PoolArgs) -> Result<Vec<u32>, AppError> {
    if let Some(sessions) = &args.sessions {
        return Ok(sessions.clone());
    }
    let topology = topology::live()?;
    let cpus = topology.allowed().len() as u32;
    let cores =
        topology.cores.iter().filter(|core| core.cpus.iter().any(|cpu| topology.allowed().contains(cpu)));
    let cores = cores.count() as u32;
    Ok(points(args.connections_at_most.unwrap_or_else(|| default_bound(cpus)), [cores, cpus]))
}

/// Default limit of connections. All treatments of a block keep theirs open, so a server needs about twice as many
/// free.
fn default_bound(cpus: u32) -> u32 {
    (4 * cpus).clamp(16, 64).max(2 * cpus)
}

fn points(most: u32, machine: [u32; 2]) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power);
    let mut all: Vec<u32> = powers.chain(machine).filter(|point| (1..most).contains(point)).collect();
    all.push(most);
    all.sort_unstable();
    all.dedup();
    all
}

/// Which degree of parallelism to set.
pub fn maxdop(args: &MaxdopArgs) -> Result<(), AppError> {
    let (preset, streams) = match args.streams {
        1 => ("maxdop", None),
        several => ("tpch-streams", Some(vec![several])),
    };
    let scale = args.scale.iter().map(|scale| ("scale".to_owned(), scale.clone()));
    run(&RunArgs {
        engine: args.engine.clone(),
        engine_option: args.engine_option.clone(),
        set: scale.chain(args.set.iter().cloned()).collect(),
        placement: streams.as_ref().map(|_| vec!["all".to_owned()]),
        streams,
        dop: args.dop.clone(),
        ..of_preset(preset, &args.measure)
    })
}

/// What binding a running server to fewer logical CPUs costs.
pub fn bind(args: &BindArgs) -> Result<(), AppError> {
    let topology = topology::live()?;
    run(&RunArgs {
        placement: args.placement.clone().or_else(|| halves(&topology)),
        commands: CommandArgs {
            command: args.command.clone(),
            metric: args.metric.clone(),
            parse: args.parse.clone(),
            headline: args.headline.clone(),
            pin_server: Some(args.server.clone()),
            ..CommandArgs::default()
        },
        ..of_preset("bind", &args.measure)
    })
}

/// Half of the logical CPUs, if the preset has no half: no core has two allowed ones.
fn halves(topology: &Topology) -> Option<Vec<String>> {
    let free = topology.allowed().len() / 2;
    (topology.max_threads_per_core() < 2 && free > 0).then(|| vec![format!("all-but:{free}")])
}

/// Separator of the commands of two versions.
const BETWEEN: &str = "---";

/// Which of two versions is faster.
pub fn ab(args: &AbArgs) -> Result<(), AppError> {
    let mut versions = [args.a.clone(), args.b.clone()];
    let mut commands = args.commands.clone();
    let mut parts = args.commands.command.split(|word| word == BETWEEN);
    match [parts.next(), parts.next(), parts.next()] {
        [Some(first), Some(second), None] if !first.is_empty() && !second.is_empty() => {
            for (settings, command) in versions.iter_mut().zip([first, second]) {
                settings.push(("command".to_owned(), quote(command)));
            }
            commands.command = Vec::new();
        }
        // One command or engine, with settings that make two versions.
        [Some(_), None, _] if !args.a.is_empty() || !args.b.is_empty() => {}
        _ => {
            let how = "threadwise ab -- CMD_A --- CMD_B, or settings by --a KEY=VALUE and --b KEY=VALUE";
            return Err(AppError::Input(format!("give two versions: {how}")));
        }
    }
    let has_command = !args.commands.command.is_empty();
    if let Some(engine) = args.engine.as_ref().filter(|_| has_command) {
        let why = "ab runs either a command or an engine: remove one of them";
        return Err(AppError::Input(format!(
            "--engine {engine} and {} are both given: {why}",
            commands_words(args)
        )));
    }
    let default = if args.engine.is_some() { "cached-reads" } else { "command" };
    run(&RunArgs {
        engine: args.engine.clone(),
        engine_option: args.engine_option.clone(),
        set: args.set.clone(),
        sessions: args.sessions.clone(),
        placement: Some(args.placement.clone().unwrap_or_else(|| vec!["all".to_owned()])),
        until: args.until,
        slices: args.slices.clone(),
        versions: Some(versions),
        commands,
        ..of_preset(args.study.as_deref().unwrap_or(default), &args.measure)
    })
}

fn commands_words(args: &AbArgs) -> String {
    threadwise_machine::text::escaped(&quote(&args.commands.command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Questions {
        #[command(subcommand)]
        command: Question,
    }

    #[derive(clap::Subcommand)]
    enum Question {
        Pool(Box<PoolArgs>),
        Bind(Box<BindArgs>),
    }

    #[test]
    fn a_bound_for_latency_is_a_time() {
        let read = |slo: &str| Questions::try_parse_from(["x", "pool", "--slo", slo]);
        let Ok(Questions { command: Question::Pool(args) }) = read("p99=10ms") else { panic!("refused") };
        assert_eq!(args.rates.slo, Some(0.01));
        for bad in ["10ms", "p99", "p99=", "p99=0s", "p95=10ms", "p99=10"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_server_and_a_load_are_needed() {
        let read = |words: &[&str]| Questions::try_parse_from(["x", "bind"].iter().chain(words));
        assert!(read(&["port:5432"]).is_err() && read(&["--", "load"]).is_err());
        let Ok(Questions { command: Question::Bind(args) }) = read(&["port:5432", "--", "load", "-c", "8"])
        else {
            panic!("refused")
        };
        assert_eq!((args.server.as_str(), args.command.len()), ("port:5432", 3));
    }

    #[test]
    fn connections_go_on_past_the_logical_cpus() {
        assert_eq!([1, 2, 8, 16, 64].map(default_bound), [16, 16, 32, 64, 128]);
        assert_eq!(points(16, [2, 2]), [1, 2, 4, 8, 16]);
        assert_eq!(points(48, [12, 24]), [1, 2, 4, 8, 12, 16, 24, 32, 48]);
        assert_eq!(points(2, [12, 24]), [1, 2]);
    }
}
