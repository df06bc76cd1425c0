//! A treatment's options, its recipe, and the recipe's programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::OptionValue;
use threadwise_study::Workload;
use threadwise_study::worklist::{OWN_RECIPE, WorklistOptions};

use crate::error::{ENGINE, refuse};
use crate::plan::Step;
use crate::programs::{self, Programs};
use crate::recipe::{self, Kind, OF_CHECKS, OF_ITEMS, Recipe};

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub options: WorklistOptions,
    pub recipe: Recipe,
    pub programs: Programs,
    /// Folder of programs that the user named.
    pub bin: Option<PathBuf>,
}

impl Asked {
    /// Reads a treatment's options, and finds the programs; changes nothing.
    ///
    /// # Errors
    /// The first option that is unknown or impossible, or a program that is missing.
    pub fn read(request: &LoadRequest) -> Result<Self, EngineError> {
        if request.workload != Workload::WorkList {
            let why = format!("{ENGINE} cannot do '{}'; it can do: {}", request.workload, Workload::WorkList);
            return Err(refuse("workload", why));
        }
        let bin = bin(request)?;
        let options =
            WorklistOptions::read(&request.options).map_err(|fault| refuse(&fault.option, fault.why))?;
        let recipe = recipe(&options)?;
        if options.page_size_bytes.is_some() && recipe.items != Kind::Firebird {
            let why = format!("the recipe '{}' has none, only Firebird's has: leave it out", recipe.name);
            return Err(refuse("page_size", why));
        }
        if options.salvage && recipe.salvage.is_empty() {
            let why = format!(
                "the recipe '{}' has no such options, only Firebird's has: leave it out",
                recipe.name
            );
            return Err(refuse("salvage", why));
        }
        if let Some(words) = options.check() {
            recipe::filled(words, &OF_CHECKS.map(|name| (name, ""))).map_err(|why| refuse("check", why))?;
            programs::expect_own(words, options.run.folder.as_deref())?;
        }
        if let Some(folder) = options.run.folder.as_deref().filter(|folder| !folder.is_dir()) {
            return Err(refuse("folder", format!("{} is not a folder", folder.display())));
        }
        let programs = programs::find(&recipe, bin.as_deref())?;
        Ok(Self { options, recipe, programs, bin })
    }

    /// The recipe's commands with everything filled in except the item's placeholders.
    ///
    /// # Errors
    /// A path of a program is not UTF-8.
    pub fn steps(&self, defaults: Option<&Path>) -> Result<(Vec<Step>, Option<String>), EngineError> {
        let text = |path: &Path| {
            let why = || refuse("recipe", format!("the path {} is not UTF-8", path.display()));
            path.to_str().map(str::to_owned).ok_or_else(why)
        };
        let program =
            std::env::current_exe().map_err(|error| crate::error::failed("find its own program", error))?;
        let mut values = vec![("threadwise".to_owned(), text(&program)?)];
        values.extend(self.options.page_size_bytes.map(|size| ("page_size".to_owned(), size.to_string())));
        for (name, path) in &self.programs {
            values.push((name.clone(), text(path)?));
        }
        if let Some(path) = defaults {
            values.push(("defaults".to_owned(), text(path)?));
        }
        let values: Vec<(&str, &str)> =
            values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let fill = |text: &String| recipe::prepared(text, &values).map_err(|why| refuse("recipe", why));
        let step = |step: &Step| {
            let mut words = without_page_size(&step.command, self.options.page_size_bytes.is_some());
            let salvage = self.recipe.salvage.get(&step.name).filter(|_| self.options.salvage);
            words.splice(1..1, salvage.into_iter().flatten().cloned());
            Ok(Step {
                name: step.name.clone(),
                command: words.iter().map(fill).collect::<Result<_, EngineError>>()?,
                stdin: step.stdin.as_ref().map(fill).transpose()?,
            })
        };
        let steps = self.recipe.steps.iter().map(step).collect::<Result<_, EngineError>>()?;
        Ok((steps, self.recipe.result.as_ref().map(fill).transpose()?))
    }
}

/// A command without its option for the page size, if none is given.
fn without_page_size(words: &[String], is_asked: bool) -> Vec<String> {
    match words.iter().position(|word| word == "{page_size}") {
        Some(at) if !is_asked && at > 0 => [&words[..at - 1], &words[at + 1..]].concat(),
        _ => words.to_vec(),
    }
}

/// The recipe of this name, or one of the user's command.
fn recipe(options: &WorklistOptions) -> Result<Recipe, EngineError> {
    let Some(command) = options.command() else {
        return recipe::find(&options.recipe).map_err(|error| refuse("recipe", error.to_string()));
    };
    let values = OF_ITEMS.map(|name| (name, ""));
    recipe::filled(command, &values).map_err(|why| refuse("command", why))?;
    programs::expect_own(command, options.run.folder.as_deref())?;
    let step = Step { name: OWN_RECIPE.to_owned(), command: command.to_vec(), stdin: None };
    Ok(Recipe {
        name: OWN_RECIPE.to_owned(),
        about: "your own command".to_owned(),
        items: Kind::Text,
        programs: Vec::new(),
        steps: vec![step],
        result: None,
        salvage: BTreeMap::new(),
    })
}

fn bin(request: &LoadRequest) -> Result<Option<PathBuf>, EngineError> {
    if let Some(name) = request.engine_options.keys().find(|name| *name != "bin") {
        return Err(refuse(name, format!("unknown to engine {ENGINE}; allowed: bin=FOLDER")));
    }
    match request.engine_options.get("bin") {
        None => Ok(None),
        Some(OptionValue::Text(folder)) if folder.starts_with('/') && Path::new(folder).is_dir() => {
            Ok(Some(PathBuf::from(folder)))
        }
        Some(other) => Err(refuse("bin", format!("'{other}' is not the absolute path of a folder"))),
    }
}
