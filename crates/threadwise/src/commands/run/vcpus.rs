//! `threadwise run vcpus`: the numbers of sessions of a study of a server's vCPUs, and how much of it the study may use.

use crate::cli::RunArgs;
use crate::engines;
use crate::error::AppError;
use std::fmt::Write as _;
use threadwise_engine::Engine;
use threadwise_machine::Topology;
use threadwise_machine::text::shell_word;
use threadwise_study::load::StudyFile;
use threadwise_study::{Options, vcpus};

/// The preset.
const PRESET: &str = "vcpus";

/// Share of a private server that is used.
const ALL_AND_MORE: f64 = 1.5;

/// The preset with its treatments for this server; `None` for another study.
///
/// # Errors
/// The number of vCPUs is not known, a server of the user's is to be loaded without a share, or the share is too small.
pub fn file(args: &RunArgs, name: &str, topology: &Topology) -> Result<Option<StudyFile>, AppError> {
    if name != PRESET {
        return match args.vcpus.vcpus.map(|_| "--vcpus").or(args.vcpus.share.map(|_| "--share")) {
            Some(option) => Err(AppError::Input(format!(
                "{option} is for the preset {PRESET}: threadwise run {PRESET} --engine URL {option} ..."
            ))),
            None => Ok(None),
        };
    }
    let url = args.engine.as_deref().filter(|engine| engine.contains("://"));
    let count = match (args.vcpus.vcpus, url) {
        (Some(count), _) => count,
        (None, Some(url)) => of_server(url)?,
        (None, None) => u32::try_from(topology.allowed().len()).unwrap_or(1),
    };
    let share = match (args.vcpus.share, url) {
        (Some(share), _) => share,
        (None, None) => ALL_AND_MORE,
        (None, Some(url)) => {
            return Err(AppError::Input(format!(
                "this keeps vCPUs of your server busy with computing: say how much of its {count} vCPUs it may use: \
                 threadwise run {PRESET} --engine {} --share 100% (50% leaves half of them alone, and does not show what \
                 they add)",
                shell_word(url)
            )));
        }
    };
    let most = (f64::from(count) * share).floor().max(1.0) as u32;
    let sessions = match &args.sessions {
        Some(asked) => asked.clone(),
        None => vcpus::sessions(count, most),
    };
    if let Some(beyond) = sessions.iter().find(|one| **one > most) {
        return Err(AppError::Input(format!(
            "{beyond} sessions are more than the share allows, {most} of {count} vCPUs: leave them out of --sessions, or \
             give a larger --share"
        )));
    }
    let more: Vec<u32> = sessions.into_iter().filter(|one| *one > 2).collect();
    if most < 2 && count > 1 {
        return Err(AppError::Input(format!(
            "{most} session is all that the share allows of {count} vCPUs: nothing can be compared; give a larger --share"
        )));
    }
    let mut text = String::new();
    for sessions in more {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "[[treatment]]\nname = \"sessions-{sessions}\"\nplacement = \"all\"\nsessions = {sessions}\npin = \"set\"\n\n"
        );
    }
    let _ = write!(text, "[options]\n{} = {count}\n", vcpus::VCPUS);
    StudyFile::preset_with(PRESET, &text).map(Some).map_err(AppError::input)
}

/// What a server of the user's says of its vCPUs.
fn of_server(url: &str) -> Result<u32, AppError> {
    let (name, options): (String, Options) = engines::named(url)?;
    let engine: Option<&'static dyn Engine> = engines::find(&name);
    let said = match engine {
        Some(engine) => engine.vcpus(&options).map_err(|error| AppError::engine(&error))?,
        None => None,
    };
    said.ok_or_else(|| {
        AppError::Input(format!(
            "{name} does not say how many vCPUs its server has: give the number, such as --vcpus 8"
        ))
    })
}
