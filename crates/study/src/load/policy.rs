//! Memory policies and service threads of treatments: the file's own, or else the command line's; and whether the
//! machine can apply them.

use std::cell::OnceCell;

use threadwise_machine::placement::{self, Service};
use threadwise_machine::{Draw, Memory, Pin, Placement, PlacementError, Topology, memory};
use toml::Spanned;

use super::error::LoadError;
use super::file::StudyFile;
use super::overrides::Overrides;
use super::values;

/// The draw decides where `remote` is. This many blocks are checked before a study starts: as many as `--until` looks
/// at before its budget's end. The plan checks later blocks.
const TRIED_BLOCKS: u32 = 64;

/// What determines the memory policies of a study on one machine.
pub(super) struct Policies<'a> {
    file: &'a StudyFile,
    pub(super) topology: &'a Topology,
    asked_for: Option<&'a Memory>,
    service: Option<&'a Service>,
    pub(super) seed: u64,
    draws: OnceCell<Vec<Draw>>,
}

impl<'a> Policies<'a> {
    pub(super) fn new(
        file: &'a StudyFile,
        topology: &'a Topology,
        overrides: &'a Overrides,
        seed: u64,
    ) -> Self {
        let (memory, service) = (overrides.memory.as_ref(), overrides.service.as_ref());
        Self { file, topology, asked_for: memory, service, seed, draws: OnceCell::new() }
    }

    /// Refuses a policy of the command line that no treatment would use, since all have their own.
    pub(super) fn refuse_unused(&self, overrides: &Overrides) -> Result<(), LoadError> {
        let raw = &self.file.raw;
        let has_section = raw.dop.is_some() || raw.jobs.is_some();
        // Treatments of --placement have no key; those of a section or sweep use the baseline's.
        if overrides.placements.is_some() && !has_section {
            return Ok(());
        }
        let is_section_asked = raw.dop.is_some() && overrides.dops.is_some()
            || raw.jobs.is_some() && overrides.jobs.is_some()
            || overrides.placements.is_some();
        let treatments = if is_section_asked { &[][..] } else { &raw.treatments[..] };
        let memory =
            raw.baseline.memory.is_some() && treatments.iter().all(|treatment| treatment.memory.is_some());
        let service =
            raw.baseline.service.is_some() && treatments.iter().all(|treatment| treatment.service.is_some());
        let unused = [
            self.asked_for.filter(|_| memory).map(|policy| format!("--memory {policy}")),
            self.service.filter(|_| service).map(|place| format!("--service {place}")),
        ];
        let Some(option) = unused.into_iter().flatten().next() else { return Ok(()) };
        let way = if has_section { "" } else { ", or name placements with --placement" };
        let why = format!("all treatments of this study set their own; change it there{way}");
        Err(LoadError::Override { option, why })
    }

    /// The policy of a treatment whose key `memory` is `text`. The command line's applies without the key: a treatment
    /// with the key is named after it, or compared by it.
    pub(super) fn of(&self, text: Option<&Spanned<String>>) -> Result<Memory, LoadError> {
        match (text, self.asked_for) {
            (None, Some(memory)) => Ok(memory.clone()),
            _ => values::memory(text, &self.file.source),
        }
    }

    /// Why this machine cannot apply a policy with a placement, if so.
    pub(super) fn lacks(&self, memory: &Memory, placement: &str) -> Option<String> {
        let identity = [Draw::identity(self.topology)];
        let draws = match memory {
            Memory::Local => return None,
            // Independent of the placement.
            Memory::Interleave | Memory::Nodes(_) => &identity[..],
            Memory::Remote => self.draws.get_or_init(|| {
                (0..TRIED_BLOCKS).map(|block| Draw::for_block(self.topology, self.seed, block)).collect()
            }),
        };
        // An impossible placement has its own error.
        let parsed: Placement = placement.parse().ok()?;
        draws.iter().find_map(|draw| {
            let placed = placement::resolve(&parsed, self.topology, draw, 1, Pin::Set).ok()?;
            match memory::resolve(memory, self.topology, &placed.set()) {
                Err(PlacementError::Lacking { lacks, .. }) => Some(lacks),
                Err(other) => Some(other.to_string()),
                Ok(_) => None,
            }
        })
    }

    /// The error for a missing feature: at the file's key, or for the command line's option.
    pub(super) fn refusal(&self, memory: &Memory, text: Option<&Spanned<String>>, why: &str) -> LoadError {
        match text {
            None => LoadError::Override { option: format!("--memory {memory}"), why: why.to_owned() },
            Some(text) => {
                self.file.source.at(text.span(), format!("memory = \"{memory}\" is not possible: {why}"))
            }
        }
    }

    /// Placement of service threads of a treatment whose key `service` is `text`; the command line's applies without
    /// the key.
    pub(super) fn service(&self, text: Option<&Spanned<String>>) -> Result<Option<Service>, LoadError> {
        match (text, self.service) {
            (None, Some(service)) => Ok(Some(service.clone())),
            _ => values::service(text, &self.file.source),
        }
    }

    /// Why this machine cannot place service threads with this placement, if so.
    pub(super) fn service_lacks(
        &self,
        service: &Option<Service>,
        placement: &str,
    ) -> Option<(Service, String)> {
        let service = service.as_ref()?;
        let parsed: Placement = placement.parse().ok()?;
        let draw = Draw::identity(self.topology);
        let placed = placement::resolve(&parsed, self.topology, &draw, 1, Pin::Set).ok()?;
        let lacks = match placement::resolve_service(service, self.topology, &draw, &placed) {
            Err(PlacementError::Lacking { lacks, .. }) => lacks,
            Err(other) => other.to_string(),
            Ok(_) => return None,
        };
        Some((service.clone(), lacks))
    }

    /// The error for impossible service threads: at the file's key, or for the command line's option.
    pub(super) fn service_refusal(
        &self,
        service: &Service,
        text: Option<&Spanned<String>>,
        why: &str,
    ) -> LoadError {
        match text {
            None => LoadError::Override { option: format!("--service {service}"), why: why.to_owned() },
            Some(text) => {
                self.file.source.at(text.span(), format!("service = \"{service}\" is not possible: {why}"))
            }
        }
    }
}
