//! The plan of a fleet: which machine measures when. A pure function of fleet.toml, the study's text, the program's
//! SHA-256 and a seed (ChaCha8); its text is `plan.json`, and every cell records the SHA-256 of that text.

mod order;
mod types;

use crate::FleetError;
use crate::cell::CellId;
use crate::file::{EngineOptions, FleetFile, MOST_MACHINES, MOST_REPEATS, Machines};
use crate::names;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;
use threadwise_machine::text::is_deceptive;

/// Maximum time in a plan, seconds: beyond what fleet.toml allows, and within what engines support.
const MOST_TIME_S: u64 = 1 << 30;

pub use types::{Plan, PlannedKind, PlannedMachine, PlannedStudy, VERSION};

/// SHA-256 of bytes, hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

impl Plan {
    /// Plans a fleet. The default title is its study's.
    pub fn new(file: &FleetFile, study: PlannedStudy, binary_sha256: &str, program: &str, seed: u64) -> Self {
        let mut machines = Vec::new();
        for kind in &file.kinds {
            for name in kind.machines.names(&kind.name) {
                let mut study_engine_options = kind.study_engine_options.clone();
                let over = kind.machine_study_engine_options.get(&name);
                study_engine_options.extend(over.cloned().unwrap_or_default());
                let node = matches!(kind.machines, Machines::Named(_)).then(|| name.clone());
                machines.push(PlannedMachine { name, kind: kind.name.clone(), node, study_engine_options });
            }
        }
        let kinds = file.kinds.iter().map(|kind| PlannedKind {
            name: kind.name.clone(),
            selector: kind.selector.clone(),
            price: kind.price.clone(),
            engine_options: kind.engine_options.clone(),
        });
        Self {
            version: VERSION,
            program: program.to_owned(),
            binary_sha256: binary_sha256.to_owned(),
            title: file.title.clone().unwrap_or_else(|| study.title.clone()),
            study,
            engine: file.engine.clone(),
            engine_options: file.engine_options.clone(),
            measures: file.measures,
            repeats: file.repeats,
            apart_s: file.apart_s,
            boots: file.boots,
            budget_s: file.budget_s,
            time_limit_s: file.time_limit_s,
            seed,
            run: file.run.clone(),
            kinds: kinds.collect(),
            order: order::drawn(&machines, file.repeats, seed),
            machines,
        }
    }

    /// The canonical text, which is plan.json.
    ///
    /// # Errors
    /// A value that JSON does not have, such as an infinite number.
    pub fn text(&self) -> Result<String, FleetError> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| FleetError::Failed(format!("cannot write the plan as JSON: {error}")))
    }

    /// Reads a plan.json, with its hash. It is checked like fleet.toml: names are used in paths and scripts.
    ///
    /// # Errors
    /// [`FleetError::Broken`]: it is not a plan, of another version, or has invalid values.
    pub fn parse(text: &str, path: &Path) -> Result<(Self, String), FleetError> {
        let broken = |why: String| FleetError::broken(path, why);
        let plan: Self = serde_json::from_str(text).map_err(|error| {
            broken(format!("it is not a plan of a fleet: {error}; create it with threadwise fleet plan"))
        })?;
        if plan.version != VERSION {
            return Err(broken(format!("its version is {}, but this program reads {VERSION}", plan.version)));
        }
        plan.fault()
            .map_or(Ok(()), |why| Err(broken(format!("{why}; create it with threadwise fleet plan"))))?;
        Ok((plan, sha256(text.as_bytes())))
    }

    /// The error in a readable plan, if any.
    fn fault(&self) -> Option<String> {
        if !(1..=MOST_REPEATS).contains(&self.repeats) || self.machines.len() > MOST_MACHINES {
            return Some(format!(
                "it may have 1 to {MOST_REPEATS} repeats and up to {MOST_MACHINES} machines"
            ));
        }
        if self.time_limit_s.max(self.apart_s) > MOST_TIME_S {
            return Some(format!("a time is longer than {MOST_TIME_S} s"));
        }
        // Texts in scripts and arguments; titles are only displayed, and escaped then.
        if deceives(&json!([self.engine_options, self.kinds, self.machines, self.run])) {
            return Some("an option has line breaks, control or format characters".to_owned());
        }
        let kinds: BTreeSet<&str> = self.kinds.iter().map(|kind| kind.name.as_str()).collect();
        let machines: BTreeSet<&str> = self.machines.iter().map(|machine| machine.name.as_str()).collect();
        let nodes = self.machines.iter().filter_map(|machine| machine.node.as_deref());
        let mut names = kinds.iter().chain(&machines).copied().chain(nodes);
        if let Some(why) = names.find_map(names::fault) {
            return Some(why);
        }
        if kinds.len() != self.kinds.len() || machines.len() != self.machines.len() {
            return Some("a kind or machine appears twice".to_owned());
        }
        if let Some(machine) = self.machines.iter().find(|machine| !kinds.contains(machine.kind.as_str())) {
            return Some(format!("the machine {} has an unknown kind", machine.name));
        }
        let is_digest = |text: &str| text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit());
        if !is_digest(&self.binary_sha256) || !is_digest(&self.study.sha256) {
            return Some("a SHA-256 is not 64 hexadecimal digits".to_owned());
        }
        let planned: BTreeSet<CellId> = order::cells(&self.machines, self.repeats).collect();
        let ordered: BTreeSet<CellId> = self.order.iter().cloned().collect();
        (planned != ordered || ordered.len() != self.order.len())
            .then(|| "its order does not have every cell once".to_owned())
    }

    /// The machine of this name.
    pub fn machine(&self, name: &str) -> Option<&PlannedMachine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    /// The kind of this name.
    pub fn kind(&self, name: &str) -> Option<&PlannedKind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// Machines in the order in which they come first.
    pub fn machines_in_order(&self) -> Vec<&PlannedMachine> {
        let first = self.order.iter().filter(|cell| cell.repeat == 1);
        first.filter_map(|cell| self.machine(&cell.machine)).collect()
    }

    /// Options of the engine for a machine: those of its kind override those for all.
    pub fn engine_options_of(&self, machine: &PlannedMachine) -> EngineOptions {
        let mut options = self.engine_options.clone();
        options.extend(self.kind(&machine.kind).map(|kind| kind.engine_options.clone()).unwrap_or_default());
        options
    }

    /// Seed of a cell's study: drawn from the plan's seed and the cell's name, so that studies of a fleet have
    /// different orders, and a cell always has the same one. Below 2^53, so that it is exact in JSON.
    pub fn seed_of(&self, cell: &CellId) -> u64 {
        let digest = Sha256::digest(format!("{} {cell}", self.seed));
        u64::from_le_bytes([
            digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
        ]) >> 11
    }

    /// Maximum machine time of all cells, seconds.
    pub fn machine_time_s(&self) -> f64 {
        let each_s = self.budget_s.unwrap_or(self.time_limit_s as f64);
        each_s * self.order.len() as f64
    }
}

/// Whether a text or a key has characters that fleet.toml may not have.
fn deceives(value: &Value) -> bool {
    let bad = |text: &str| text.chars().any(is_deceptive);
    match value {
        Value::String(text) => bad(text),
        Value::Array(values) => values.iter().any(deceives),
        Value::Object(fields) => fields.iter().any(|(key, value)| bad(key) || deceives(value)),
        _ => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The plan of a fleet whose text has neither version nor study nor budget.
    pub(crate) fn plan(text: &str, repeats: u32) -> Plan {
        let text =
            format!("version = 1\nstudy = \"placement\"\nbudget = \"1m\"\nrepeats = {repeats}\n{text}");
        let file = FleetFile::parse(&text, "fleet.toml", &crate::engines::names()).unwrap();
        let study = PlannedStudy { name: "placement".into(), title: "T".into(), sha256: sha256(b"") };
        Plan::new(&file, study, &sha256(b"binary"), "0.1.0", 7)
    }

    const TWO_KINDS: &str = "engine = \"slurm\"\n\
        [[kind]]\nname = \"a\"\nnodes = [\"a1\", \"a2\", \"a3\", \"a4\"]\nstudy_engine_options = { \"ratio.x\" = 1.5 }\n\
        machine_study_engine_options = { a2 = { \"ratio.x\" = 2.0, noise_sd = 0.1 } }\n\
        [[kind]]\nname = \"b\"\nmachines = 4\nselector = { constraint = \"b\" }\n";

    #[test]
    fn a_plan_comes_back_and_is_a_function_of_its_seed() {
        let plan = plan(TWO_KINDS, 3);
        let text = plan.text().unwrap();
        let (again, hash) = Plan::parse(&text, Path::new("plan.json")).unwrap();
        assert_eq!((&again, again.text().unwrap()), (&plan, text.clone()));
        assert_eq!(hash, sha256(text.as_bytes()));
        assert_eq!(self::plan(TWO_KINDS, 3), plan);
        assert_eq!(plan.machine("b-4").unwrap().node, None);
        let options = &plan.machine("a2").unwrap().study_engine_options;
        assert_eq!((options["ratio.x"].as_str(), options["noise_sd"].as_str()), ("2", "0.1"));
        assert_eq!(plan.machine("a1").unwrap().study_engine_options["ratio.x"], "1.5");
        let seeds: BTreeSet<u64> = plan.order.iter().map(|cell| plan.seed_of(cell)).collect();
        assert_eq!(seeds.len(), 24);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    }

    #[test]
    fn a_title_may_have_any_character() {
        let mut plan = plan(TWO_KINDS, 1);
        plan.study.title = "\u{1f469}\u{200d}\u{1f52c} at work".to_owned();
        assert_eq!(Plan::parse(&plan.text().unwrap(), Path::new("plan.json")).unwrap().0, plan);
    }

    #[test]
    fn repeats_are_rounds_and_kinds_are_spread_over_each() {
        let plan = plan(TWO_KINDS, 2);
        assert_eq!(plan.order.len(), 16);
        for (round, cells) in plan.order.chunks(8).enumerate() {
            assert!(cells.iter().all(|cell| cell.repeat == round as u32 + 1));
            // Four of a kind in four equal parts of a round: of the first half, two of each.
            let of_a = cells[..4].iter().filter(|cell| cell.machine.starts_with("a")).count();
            assert!((1..=3).contains(&of_a), "{cells:?}");
        }
        let other = Plan { order: order::drawn(&plan.machines, 2, 8), ..plan.clone() };
        assert_ne!(other.order, plan.order);
        // Over many seeds every machine is first about as often.
        let mut first = BTreeMap::new();
        for seed in 0..4000 {
            *first.entry(order::drawn(&plan.machines, 1, seed)[0].machine.clone()).or_insert(0) += 1;
        }
        // 500 each; the standard deviation of a count is 21.
        assert!(first.len() == 8 && first.values().all(|count| (400..600).contains(count)), "{first:?}");
    }

    #[test]
    fn a_plan_that_was_changed_by_hand_cannot_lead_out_of_its_folder() {
        let text = plan(TWO_KINDS, 1).text().unwrap();
        for (from, to) in [
            ("\"a1\"", "\"../a1\""),
            ("\"a1.1\"", "\"a1/../../x.1\""),
            ("\"a1.1\"", "\"a2.1\""),
            ("\"version\": 1", "\"version\": 2"),
            ("\"repeats\": 1", "\"repeats\": 2"),
            ("\"repeats\": 1", "\"repeats\": 0"),
            ("\"repeats\": 1", "\"repeats\": 4294967295"),
            ("\"constraint\": \"b\"", "\"constraint\": \"b\\n#SBATCH --time=0\""),
            ("\"constraint\": \"b\"", "\"constraint\": \"b\\u0000\""),
            ("\"title\"", "\"titel\""),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Plan::parse(&text.replace(from, to), Path::new("plan.json")).unwrap_err().to_string();
            assert!(error.starts_with("plan.json: ") && !error.contains('\n'), "{error}");
        }
    }
}
