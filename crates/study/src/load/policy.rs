//! Memory policies of treatments: the file's or the command line's, and whether they can be had.

use std::cell::OnceCell;
use std::ops::Range;

use threadwise_machine::placement::{self, Service};
use threadwise_machine::{Draw, Memory, Pin, Placement, PlacementError, Topology, memory};
use toml::Spanned;

use super::{LoadError, Overrides, StudyFile, check};

/// Where `remote` is depends on the draw. So many blocks are tried before a study starts: as many
/// as `--until` looks at before its budget's end. The plan of a later block says it for itself.
const TRIED_BLOCKS: u32 = 64;

/// What says which memory policies a study has on one machine.
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

    /// The policy of a treatment whose key `memory` is `text`: the command line's comes first.
    pub(super) fn of(&self, text: Option<&Spanned<String>>) -> Result<Memory, LoadError> {
        match self.asked_for {
            Some(memory) => Ok(memory.clone()),
            None => check::memory(text, &self.file.source),
        }
    }

    /// What this machine lacks for a policy beside a placement, if anything.
    pub(super) fn lacks(&self, memory: &Memory, placement: &str) -> Option<String> {
        let identity = [Draw::identity(self.topology)];
        let draws = match memory {
            Memory::Local => return None,
            // These do not depend on the placement.
            Memory::Interleave | Memory::Nodes(_) => &identity[..],
            Memory::Remote => self.draws.get_or_init(|| {
                (0..TRIED_BLOCKS).map(|block| Draw::for_block(self.topology, self.seed, block)).collect()
            }),
        };
        // A placement that cannot be had is an error of its own.
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

    /// The error for what is lacked: the command line's, or the file's at `span`.
    pub(super) fn refusal(&self, memory: &Memory, span: Range<usize>, why: &str) -> LoadError {
        match self.asked_for {
            Some(_) => LoadError::Override { option: format!("--memory {memory}"), why: why.to_owned() },
            None => self.file.source.at(span, format!("memory = \"{memory}\" cannot be had: {why}")),
        }
    }

    /// Where a treatment's service threads run.
    pub(super) fn service(&self, text: Option<&Spanned<String>>) -> Result<Option<Service>, LoadError> {
        match self.service {
            Some(service) => Ok(Some(service.clone())),
            None => check::service(text, &self.file.source),
        }
    }

    /// What the machine lacks for service threads beside this placement, if anything.
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

    /// The error for service threads that cannot be had.
    pub(super) fn service_refusal(&self, service: &Service, span: Range<usize>, why: &str) -> LoadError {
        match self.service {
            Some(_) => LoadError::Override { option: format!("--service {service}"), why: why.to_owned() },
            None => self.file.source.at(span, format!("service = \"{service}\" cannot be had: {why}")),
        }
    }
}
