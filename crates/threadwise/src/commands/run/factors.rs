//! Factors on the command line, and checks of the folders that they name.

use super::{arms, rate};
use crate::cli::RunArgs;
use crate::error::AppError;
use std::collections::BTreeMap;
use std::path::Path;
use threadwise_study::arm::FACTORS;
use threadwise_study::load::option_value;
use threadwise_study::{OptionValue, Study, Workload};

/// Levels of factors on the command line.
///
/// # Errors
/// A factor that is given twice.
pub fn levels(args: &RunArgs) -> Result<BTreeMap<String, Vec<OptionValue>>, AppError> {
    let mut factors = arms::levels(args);
    for (factor, levels) in &args.factor {
        if FACTORS.contains(&factor.as_str()) {
            return Err(AppError::Input(format!("--factor {factor}: use --{factor} {levels}")));
        }
        let levels = levels.split(',').map(|level| option_value(level.trim())).collect();
        if factors.insert(factor.clone(), levels).is_some() {
            return Err(AppError::Input(format!(
                "--factor {factor} is given twice: give all levels in one list"
            )));
        }
    }
    factors.extend(rate::levels(args));
    Ok(factors)
}

/// Refuses device folders that do not exist or are not writable, and instances of the user's server.
///
/// # Errors
/// One line for the first of these.
pub fn check_instances(study: &Study) -> Result<(), AppError> {
    let instances = || study.treatments.iter().map(|treatment| &treatment.instance);
    if (study.is_users_server() || study.workload == Workload::Command)
        && instances().any(|one| !one.is_default())
    {
        let why = "device and engine.NAME are factors of engines that threadwise starts: give the engine's name, such as \
                   --engine postgres, instead of an address, or remove the factor";
        return Err(AppError::Input(why.to_owned()));
    }
    for device in instances().filter_map(|instance| instance.device.as_ref()) {
        let folder = Path::new(device);
        let refuse = |why: &str| Err(AppError::Input(format!("device {device} {why}")));
        if !folder.is_dir() {
            return refuse("is not a folder: create it, or give another one");
        }
        if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
            return refuse("is not writable: give your own folder on that device");
        }
    }
    Ok(())
}
