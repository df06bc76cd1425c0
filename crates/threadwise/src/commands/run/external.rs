//! Studies with external arms: the next arm, whether the machine is in it, and the steps after a part.

use crate::cli::RunArgs;
use crate::error::AppError;
use crate::output;
use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_machine::text::escaped;
use threadwise_machine::{BootFacts, Topology};
use threadwise_study::Study;
use threadwise_study::arm_study::on_machine;
use threadwise_study::boot::{Boot, changes};
use threadwise_study::command::quote;
use threadwise_study::external::{BootPart, External};
use threadwise_study::load::StudyFile;

/// Maximum seeds drawn until one begins with the machine's current arm.
const DRAWS: u32 = 100;

/// What is stored of a study before a part.
#[derive(Default)]
pub struct Before {
    /// Number of complete blocks.
    pub blocks: u32,
    /// Boots that were started.
    pub boots: Vec<Boot>,
    /// Number and boot of complete blocks.
    pub block_boots: Vec<(u32, u32)>,
}

/// The next part, on this machine.
pub struct Due {
    pub part: BootPart,
    /// The study as this machine runs it.
    pub study: Study,
    /// What this machine leaves out, one line each.
    pub left_out: Vec<String>,
}

/// A drawn seed for a new study: one under which the machine's current arm comes first, if there is one.
///
/// # Errors
/// No seed can be drawn.
pub fn seed(
    file: &StudyFile,
    arm: Option<&str>,
    draw: fn() -> Result<u64, AppError>,
) -> Result<u64, AppError> {
    let mut seed = draw()?;
    for _ in 0..DRAWS {
        if file.first_arm(seed).is_none() || arm.is_none() || file.first_arm(seed) == arm {
            break;
        }
        seed = draw()?;
    }
    Ok(seed)
}

/// The next part; `None` in a study without external arms, and when it is complete. Refuses if the machine is not in
/// the next arm, or the boot was used. `file` is the result file, if it exists. Changes nothing.
///
/// # Errors
/// No arm is given, or it is not the next one; this boot has measured another part; the machine does not meet the arm's
/// requirements, or cannot run a baseline.
pub fn due(
    study: &Study,
    before: &Before,
    (topology, facts): (&Topology, &BootFacts),
    args: &RunArgs,
    file: Option<&Path>,
) -> Result<Option<Due>, AppError> {
    let Some(external) = &study.external else {
        return match &args.arm {
            Some(arm) => Err(AppError::Input(format!(
                "--arm {arm}: this study has no external arms; its definition names them in [external]"
            ))),
            None => Ok(None),
        };
    };
    let Some(part) = external.due(study.seed, before.blocks) else { return Ok(None) };
    if !args.measure.plan {
        check_arm(external, &part, is_going_on(before, external, &part, facts), args, file)?;
        check_boot(external, before, &part, facts, file)?;
        let unmet = external.unmet(&part.arm, facts);
        if !unmet.is_empty() {
            let way = way(external, &part, file);
            return Err(AppError::Refused(format!(
                "this machine is not in the arm {}: {}; {way}",
                part.arm,
                unmet.join("; ")
            )));
        }
    }
    let found = on_machine(study, topology, &part).map_err(AppError::refused)?;
    Ok(Some(Due { part, study: found.study, left_out: found.left_out }))
}

/// Whether the next part was started on this boot.
fn is_going_on(before: &Before, external: &External, part: &BootPart, facts: &BootFacts) -> bool {
    before.boots.last().is_some_and(|last| {
        let mut measured = before.block_boots.iter().filter(|(_, boot)| *boot == last.number);
        facts.boot_id.is_some()
            && last.boot_id == facts.boot_id
            && last.arm.as_ref() == Some(&part.arm)
            && measured.all(|(block, _)| block / external.blocks == part.number)
    })
}

fn check_arm(
    external: &External,
    part: &BootPart,
    is_going_on: bool,
    args: &RunArgs,
    file: Option<&Path>,
) -> Result<(), AppError> {
    let due = format!("arm {} is due (boot {} of {})", part.arm, part.number + 1, external.boots);
    match &args.arm {
        Some(arm) if *arm == part.arm => Ok(()),
        None if is_going_on => Ok(()),
        None => Err(AppError::Input(format!(
            "this study has external arms, so give the machine's current one with --arm: {due}; {}",
            way(external, part, file)
        ))),
        Some(arm) if !external.arms.contains(arm) => Err(AppError::Input(format!(
            "there is no arm '{arm}': arms are {}, and {due}",
            external.arms.join(", ")
        ))),
        Some(arm) => Err(AppError::Refused(format!("{due}, not {arm}: {}", way(external, part, file)))),
    }
}

/// Refuses a boot that has measured another part, and one with an unknown id.
fn check_boot(
    external: &External,
    before: &Before,
    part: &BootPart,
    facts: &BootFacts,
    file: Option<&Path>,
) -> Result<(), AppError> {
    let Some(id) = &facts.boot_id else {
        return Err(AppError::Refused(
            "/proc/sys/kernel/random/boot_id cannot be read, so boots cannot be distinguished: run it where the file is readable, \
             outside this container"
                .to_owned(),
        ));
    };
    let used = before.boots.iter().find(|boot| boot.boot_id.as_ref() == Some(id));
    match used.filter(|_| !is_going_on(before, external, part, facts)) {
        Some(boot) => Err(AppError::Refused(format!(
            "this boot has already measured the arm {}, and every part needs its own boot: arm {} is due; {}",
            boot.arm.as_deref().unwrap_or("unknown"),
            part.arm,
            way(external, part, file)
        ))),
        None => Ok(()),
    }
}

/// How to start a part, in one line.
fn way(external: &External, part: &BootPart, file: Option<&Path>) -> String {
    let command = shown(external, &part.arm).map_or_else(String::new, |text| format!(" ({text})"));
    let again = match file {
        Some(file) => next_command(file, &part.arm),
        None => format!("the same command with --arm {}", part.arm),
    };
    format!("switch the machine to {}{command}, boot it, then: {again}", part.arm)
}

/// The command that switches to an arm, as text.
fn shown(external: &External, arm: &str) -> Option<String> {
    external.switch.get(arm).map(|words| escaped(&quote(words)))
}

fn next_command(file: &Path, arm: &str) -> String {
    format!("threadwise run --resume {} --arm {arm}", output::shell_word(file))
}

/// The plan's lines about the arms: the order, and what changed since the first boot.
pub fn remarks(study: &Study, due: &Due, before: &Before, now: Option<&Boot>) -> Vec<String> {
    let Some(external) = &study.external else { return Vec::new() };
    let order: Vec<&str> =
        external.order(study.seed).iter().map(|arm| external.arms[*arm].as_str()).collect();
    let mut lines = vec![format!(
        "External arms: {}; now boot {} of {}, arm {}, {} of {} blocks left",
        order.join(", "),
        due.part.number + 1,
        external.boots,
        due.part.arm,
        due.part.blocks_left,
        external.blocks
    )];
    if let (Some(first), Some(now)) = (before.boots.first(), now) {
        let changed = changes(first, now);
        lines.extend((!changed.is_empty()).then(|| format!("Since the first boot: {}", changed.join("; "))));
    }
    lines
}

/// After a part: prints how to switch and continue, and switches if allowed. Nothing after the last part.
///
/// # Errors
/// The switching command fails.
pub fn next(study: &Study, blocks_done: u32, file: &Path, args: &RunArgs) -> Result<(), AppError> {
    let Some(external) = &study.external else { return Ok(()) };
    let Some(part) = external.due(study.seed, blocks_done) else { return Ok(()) };
    if part.blocks_left < external.blocks {
        return Ok(());
    }
    say(&words(study, external, &part, file), args)?;
    let is_switched =
        part.number > 0 && external.due(study.seed, blocks_done - 1).is_some_and(|last| last.arm != part.arm);
    match external.switch.get(&part.arm).filter(|_| is_switched) {
        Some(command) if args.commands.allow_commands => switch(command, args),
        _ => Ok(()),
    }
}

/// The steps before the next part.
fn words(study: &Study, external: &External, part: &BootPart, file: &Path) -> String {
    let last = external.due(study.seed, (part.number * external.blocks).saturating_sub(1));
    let mut text = format!("\nBoot {} of {} is measured", part.number, external.boots);
    let stays = last.is_some_and(|last| last.arm == part.arm);
    text.push_str(&match (stays, shown(external, &part.arm)) {
        (true, _) => format!(". Next: arm {} again, on a new boot\n", part.arm),
        (false, None) => format!(". Next: arm {}\n  1. switch the machine to it\n", part.arm),
        (false, Some(command)) => {
            format!(". Next: arm {}\n  1. switch the machine to it: {command}\n", part.arm)
        }
    });
    let number = if stays { 1 } else { 2 };
    text.push_str(&format!("  {number}. boot it\n  {}. {}\n", number + 1, next_command(file, &part.arm)));
    text
}

fn say(text: &str, args: &RunArgs) -> Result<(), AppError> {
    match args.measure.json {
        true => {
            output::tell(text.trim_end());
            Ok(())
        }
        false => output::print(text),
    }
}

/// Runs the switching command, without a shell.
fn switch(words: &[String], args: &RunArgs) -> Result<(), AppError> {
    let shown = escaped(&quote(words));
    say(&format!("Running (--allow-commands): {shown}\n"), args)?;
    let Some((program, rest)) = words.split_first() else { return Ok(()) };
    let stdout = if args.measure.json { Stdio::null() } else { Stdio::inherit() };
    let status = Command::new(program).args(rest).stdin(Stdio::null()).stdout(stdout).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(AppError::Failed(format!(
            "{shown}: {status}; the part is stored, so switch the machine by hand"
        ))),
        Err(error) => Err(AppError::Failed(format!(
            "cannot run {shown}: {error}; the part is stored, so switch the machine by hand"
        ))),
    }
}
