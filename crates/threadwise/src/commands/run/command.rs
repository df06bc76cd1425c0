//! `threadwise run command`: options from the command line, which commands may run, and how they are shown first.

use super::args::{CommandArgs, EachArg};
use crate::cli::RunArgs;
use crate::error::AppError;
use crate::output;
use std::collections::BTreeMap;
use std::time::Duration;
use threadwise_machine::text::escaped;
use threadwise_runner::Deadlines;
use threadwise_study::command::{
    self, Better, COMMAND, CommandOptions, Each, HEADLINE, MAX_TIMEOUT_S, METRIC_PREFIX, Source, parsers,
    quote,
};
use threadwise_study::load::LoadError;
use threadwise_study::{OptionValue, Options, Study, Workload, presets};

/// The preset for a command.
pub const PRESET: &str = "command";

/// Workload options that the command line gives by these options.
///
/// # Errors
/// There is no such parser, or two metrics have one name.
pub fn options(args: &CommandArgs) -> Result<Options, AppError> {
    let mut options = Options::new();
    if let Some(parser) = &args.parse {
        options.extend(parsers::find(parser).map_err(AppError::input)?.options());
        let both = |(name, _): &&(String, String)| options.contains_key(&format!("{METRIC_PREFIX}{name}"));
        if let Some((name, _)) = args.metric.iter().find(both) {
            return Err(AppError::Input(format!(
                "--metric {name} and --parse {parser} both have a metric '{name}': rename yours, or \
                 remove one of them"
            )));
        }
    }
    let again = |(at, (name, _)): (usize, &(String, String))| {
        args.metric[..at].iter().any(|(earlier, _)| earlier == name).then(|| name.clone())
    };
    if let Some(name) = args.metric.iter().enumerate().find_map(again) {
        return Err(AppError::Input(format!("--metric {name} is given twice: use different names")));
    }
    let mut put = |key: &str, text: Option<String>| {
        options.extend(text.map(|text| (key.to_owned(), OptionValue::Text(text))));
    };
    for (name, spec) in &args.metric {
        put(&format!("{METRIC_PREFIX}{name}"), Some(spec.clone()));
    }
    put(HEADLINE, args.headline.clone());
    put(COMMAND, (!args.command.is_empty()).then(|| quote(&args.command)));
    let each = args.each.map(|each| match each {
        EachArg::Treatment => "treatment",
        EachArg::Session => "session",
    });
    put("each", each.map(str::to_owned));
    put(command::PIN_SERVER, args.pin_server.clone());
    let sides = [&args.setup, &args.warmup, &args.before, &args.after, &args.check, &args.teardown];
    for (key, text) in ["setup", "warmup", "before", "after", "check", "teardown"].into_iter().zip(sides) {
        put(key, text.clone());
    }
    Ok(options)
}

/// The default headline of a command: the first metric of the command line, since the duration of a tool that runs for
/// a fixed time says nothing. A study definition has its own headline, and a work list always does the same work.
///
/// # Errors
/// As of [`options`].
pub fn first_metric(args: &RunArgs, workload: &Workload) -> Result<Options, AppError> {
    let is_named = options(&args.commands)?.contains_key(HEADLINE);
    let is_preset = args.study.as_deref().is_none_or(|name| presets::get(name).is_some());
    let first =
        args.commands.metric.first().filter(|_| !is_named && is_preset && *workload == Workload::Command);
    Ok(first.map(|(name, _)| (HEADLINE.to_owned(), OptionValue::Text(name.clone()))).into_iter().collect())
}

/// Refuses the headline as a workload option: only study definitions have it.
///
/// # Errors
/// It is given.
pub fn headline_is_an_option(args: &RunArgs) -> Result<(), AppError> {
    match args.set.iter().find(|(key, _)| key == HEADLINE) {
        Some((_, name)) => Err(AppError::Input(format!("--set {HEADLINE}={name}: use --{HEADLINE} {name}"))),
        None => Ok(()),
    }
}

/// Rewrites an error about an option with the name that the user typed: options of their own become options of the
/// workload, as `--set` gives them.
pub fn as_typed(error: LoadError, args: &RunArgs) -> LoadError {
    let LoadError::Override { option, why } = error else { return error };
    let key = option.strip_prefix("--set ").and_then(|set| set.split_once('=')).map(|(key, _)| key);
    let is_own = |key: &&str| {
        !args.set.iter().any(|(set, _)| set == key)
            && options(&args.commands).is_ok_and(|given| given.contains_key(*key))
    };
    let Some(key) = key.filter(is_own) else { return LoadError::Override { option, why } };
    let why = why.strip_prefix(&format!("{key}: ")).unwrap_or(&why).to_owned();
    let option = match key.strip_prefix(METRIC_PREFIX) {
        Some(name) => format!("--metric {name}"),
        None if key == COMMAND => "the command after --".to_owned(),
        None => format!("--{key}"),
    };
    LoadError::Override { option, why }
}

/// Refuses options of commands for another workload.
///
/// # Errors
/// Some are given.
pub fn only_for_commands(args: &CommandArgs, workload: &Workload) -> Result<(), AppError> {
    // A work list may have its own command for each item and for the check of one, and metrics of its final output.
    let of_lists = |key: &str| [COMMAND, "check", HEADLINE].contains(&key) || key.starts_with(METRIC_PREFIX);
    let is_own = |key: &str| match workload {
        Workload::Command => true,
        Workload::WorkList => of_lists(key),
        _ => false,
    };
    match options(args)?.keys().find(|key| !is_own(key)) {
        Some(key) => Err(AppError::Input(format!(
            "'{key}' is for studies of commands, and this study's workload is {workload}: \
             threadwise run command -- CMD ARGS"
        ))),
        _ => Ok(()),
    }
}

/// Maximum characters of a command in a title.
const TITLE: usize = 90;

/// Completes a resolved study: two versions or the command give its title, and commands run in the current folder.
///
/// # Errors
/// The current folder does not exist, or its name is not UTF-8.
pub fn complete(study: &mut Study, args: &RunArgs) -> Result<(), AppError> {
    let command = &args.commands.command;
    if let Some(versions) = &args.versions {
        let [first, second] = versions.each_ref().map(|settings| version_words(settings, command));
        study.title = format!("Two versions, A: {first}; B: {second}");
    }
    if study.workload != Workload::Command && !has_commands(study) {
        return Ok(());
    }
    if presets::get(&study.name).is_some() && !command.is_empty() && args.versions.is_none() {
        let what = if study.workload == Workload::Command { "Command" } else { "Work list" };
        study.title = format!("{what}: {}", shortened(&quote(command)));
    }
    let current_dir =
        std::env::current_dir().map_err(|error| AppError::Input(format!("the current folder: {error}")))?;
    let current_dir = current_dir.to_str().ok_or_else(|| {
        AppError::Input(format!("the current folder's name is not UTF-8: {}", current_dir.display()))
    })?;
    for treatment in &mut study.treatments {
        let folder = || OptionValue::Text(current_dir.to_owned());
        treatment.options.entry("folder".to_owned()).or_insert_with(folder);
    }
    Ok(())
}

/// What distinguishes a version: its command, or its settings.
fn version_words(settings: &[(String, String)], common: &[String]) -> String {
    let words: Vec<String> = match settings {
        [] if common.is_empty() => vec!["the study's own settings".to_owned()],
        [] => vec![quote(common)],
        [(key, command)] if key == COMMAND => vec![command.clone()],
        _ => settings.iter().map(|(key, value)| format!("{key}={value}")).collect(),
    };
    shortened(&words.join(", "))
}

/// Shortens a text for a title.
fn shortened(text: &str) -> String {
    let text = escaped(text);
    let dots = if text.chars().count() > TITLE { "…" } else { "" };
    format!("{}{dots}", text.chars().take(TITLE).collect::<String>())
}

/// Whether a study runs commands.
pub(super) fn has_commands(study: &Study) -> bool {
    let has = |options: &Options| !command::command_texts(options).is_empty();
    study.runs_whole() && study.treatments.iter().any(|treatment| has(&treatment.options))
}

/// Refuses commands that the user did not type for this start, unless they are allowed; the refusal shows them.
///
/// # Errors
/// There are such commands.
pub fn allowed(study: &Study, args: &RunArgs) -> Result<(), AppError> {
    if !has_commands(study) || args.commands.allow_commands || args.measure.plan {
        return Ok(());
    }
    let given = options(&args.commands)?;
    let of_versions = || args.versions.iter().flatten().flatten();
    let is_given = |key: &str| {
        given.contains_key(key) || args.set.iter().chain(of_versions()).any(|(set, _)| set == key)
    };
    let is_foreign = |key: &str| args.resume.is_some() || !is_given(key);
    let texts = study.treatments.iter().flat_map(|treatment| command::command_texts(&treatment.options));
    if !texts.into_iter().any(|(key, _)| is_foreign(key)) {
        return Ok(());
    }
    let source = if args.resume.is_some() { "result file" } else { "study definition" };
    // An error is one line; the list has a line for each command.
    output::tell(&format!("threadwise: this {source} would run as you:\n{}", listed(study).trim_end()));
    Err(AppError::Refused(format!(
        "the commands of a {source} do not run without permission: read them, and allow them with --allow-commands"
    )))
}

/// The commands and metrics of a study as text; empty without commands.
pub fn shown(study: &Study) -> String {
    if !has_commands(study) {
        return String::new();
    }
    let mut text = format!("Commands:\n{}", listed(study));
    for folder in
        distinct(study, |options| options.get("folder").map(ToString::to_string).into_iter().collect())
    {
        text.push_str(&format!("  in the folder {}\n", escaped(&folder.0)));
    }
    let metrics = distinct(study, |options| command::metrics(options).iter().map(described).collect());
    for (metric, _) in metrics {
        text.push_str(&format!("  metric {}\n", escaped(&metric)));
    }
    for (terms, names) in distinct(study, |options| terms(options).into_iter().collect()) {
        text.push_str(&format!("  {}{}\n", escaped(&terms), escaped(&whose(study, &names))));
    }
    for warning in warnings(study) {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    text.push('\n');
    text
}

/// Other settings of a run: `one process per treatment; headline elapsed; at most 3600 s each; exit code 0 is a success`.
/// `None` for invalid options.
fn terms(options: &Options) -> Option<String> {
    let read = CommandOptions::read(options).ok()?;
    let each = match read.each {
        Each::Treatment => "one process per treatment",
        Each::Session => "one process per session",
    };
    let codes: Vec<String> = read.success.iter().map(ToString::to_string).collect();
    let success = match codes.as_slice() {
        [one] => format!("exit code {one} is a success"),
        several => format!("exit codes {} are a success", several.join(", ")),
    };
    let headline = read.headline.as_deref().unwrap_or("elapsed");
    Some(format!("{each}; headline {headline}; at most {} s a command; {success}", read.timeout_s))
}

fn described(metric: &command::MetricSpec) -> String {
    let better = match metric.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::None => "neither direction is better",
    };
    let place = match &metric.source {
        Source::Stdout => "standard output".to_owned(),
        Source::Stderr => "standard error".to_owned(),
        Source::File(name) => format!("{{out}}/{name}"),
    };
    format!("{} in {}, {better}, from {place}", metric.name, metric.unit)
}

/// Each command once, with its treatments if it is not for all.
fn listed(study: &Study) -> String {
    let texts = |options: &Options| {
        let all = command::command_texts(options).into_iter();
        all.map(|(key, text)| format!("{key:<9}{text}")).collect()
    };
    let line = |(text, names): (String, Vec<&str>)| {
        format!("  {}{}\n", escaped(&text), escaped(&whose(study, &names)))
    };
    distinct(study, texts).into_iter().map(line).collect()
}

/// The treatments that something is for, if not for all.
pub(super) fn whose(study: &Study, names: &[&str]) -> String {
    if names.len() == study.treatments.len() { String::new() } else { format!("   ({})", names.join(", ")) }
}

/// Every text of the treatments once, in order, with its treatments.
pub(super) fn distinct(study: &Study, texts: impl Fn(&Options) -> Vec<String>) -> Vec<(String, Vec<&str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for treatment in &study.treatments {
        for text in texts(&treatment.options) {
            let place = *places.entry(text.clone()).or_insert(found.len());
            match found.get_mut(place) {
                Some((_, names)) => names.push(&treatment.name),
                None => found.push((text, vec![&treatment.name])),
            }
        }
    }
    found
}

/// Passwords that a reader of a result file would see.
fn warnings(study: &Study) -> Vec<String> {
    let mut found = Vec::new();
    for treatment in &study.treatments {
        for (name, text) in command::command_texts(&treatment.options) {
            let Ok(words) = command::split(&text) else { continue };
            let warning = command::password_word(&words).map(|word| {
                format!(
                    "{name}: {} looks like a password; the result file and the report hold the command, so \
                     put it into the environment instead",
                    escaped(&word)
                )
            });
            found.extend(warning.filter(|warning| !found.contains(warning)));
        }
    }
    found
}

/// Time limit of workers of commands: as long as their commands may take.
pub fn deadlines(study: &Study, deadlines: &mut Deadlines) {
    if study.workload != Workload::Command {
        return;
    }
    let read = |options| CommandOptions::read(options).map_or(MAX_TIMEOUT_S, |read| read.timeout_s);
    let longest_s = study.treatments.iter().map(|treatment| read(&treatment.options)).max();
    let timeout = Duration::from_secs(longest_s.unwrap_or(MAX_TIMEOUT_S));
    let spare = Duration::from_secs(60);
    // setup and warmup; before, check and after, and on a failure teardown; teardown.
    deadlines.prepare = timeout * 2 + spare;
    deadlines.slice = timeout * 4 + spare;
    deadlines.stop = timeout + spare;
    deadlines.interrupt = Deadlines::CLEAN_UP;
}

#[cfg(test)]
mod tests {
    use super::super::args::{metric, server};
    use super::*;

    #[test]
    fn the_command_line_becomes_options() {
        let args = CommandArgs {
            command: ["sh", "-c", "echo it's"].map(str::to_owned).to_vec(),
            each: Some(EachArg::Session),
            metric: vec![metric("tps=tx/s higher regex:tps = ").unwrap()],
            setup: Some("true".to_owned()),
            pin_server: Some("port:5432".to_owned()),
            ..CommandArgs::default()
        };
        let found = options(&args).unwrap();
        let text = |text: &str| OptionValue::Text(text.to_owned());
        assert_eq!(found["command"], text(r"sh -c 'echo it'\''s'"));
        assert_eq!(found["metric.tps"], text("tx/s higher regex:tps = "));
        assert_eq!((&found["each"], &found["setup"]), (&text("session"), &text("true")));
        assert_eq!(found["pin_server"], text("port:5432"));
        assert!(server("812").is_ok() && server("db.example:5432").is_err());
        assert!(
            only_for_commands(&args, &Workload::Insert).is_err()
                && only_for_commands(&args, &Workload::Command).is_ok()
        );
        assert!(only_for_commands(&args, &Workload::WorkList).unwrap_err().to_string().contains("'each'"));
        let args = CommandArgs { command: vec!["true".to_owned()], ..CommandArgs::default() };
        assert!(only_for_commands(&args, &Workload::WorkList).is_ok());
        assert!(metric("tps").is_err() && metric("Tps=x").is_err());
        let twice = ["x=s lower regex:a", "x=s lower regex:b"].map(|text| metric(text).unwrap()).to_vec();
        let twice = CommandArgs { metric: twice, ..CommandArgs::default() };
        assert!(options(&twice).unwrap_err().to_string().contains("--metric x is given twice"));
        let both = vec![metric("tps=tx/s higher regex:tps = ").unwrap()];
        let both = CommandArgs { metric: both, parse: Some("pgbench".to_owned()), ..CommandArgs::default() };
        let refusal = options(&both).unwrap_err().to_string();
        assert!(refusal.contains("--metric tps and --parse pgbench both have"), "{refusal}");
        let unknown = CommandArgs { parse: Some("slobb".to_owned()), ..CommandArgs::default() };
        assert!(options(&unknown).unwrap_err().to_string().contains("pgbench"));
    }
}
