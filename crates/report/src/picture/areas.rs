//! The machine as boxes in boxes: the one model of both pictures, in the terminal and as SVG. Pure.
//!
//! A box lies in another if all of its logical CPUs do, whatever the levels are: an L3 may hold nodes, and a node
//! packages. Larger boxes come first. A level with the same logical CPUs as the box around it is a part of that box's
//! caption. What lies across boxes is not drawn but said in a note.

use super::groups::{Group, Label, Level, groups, private_caches};
use super::sessions::Sessions;
use crate::layout::{Bare, CpuState};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::numbers::{counted, cpu_list};
use threadwise_machine::{CpuSet, Topology};

/// Most boxes in one another. Declared machines have six levels; a damaged file could have thousands.
pub const MAX_DEPTH: usize = 8;
/// Most notes on what lies across boxes.
const MAX_ACROSS: usize = 3;
/// Fewest logical CPUs that a fold takes the place of: fewer need no more room than its text.
const MIN_FOLDED: usize = 4;
/// Most characters of a list of logical CPUs.
const MAX_LIST: usize = 120;

/// A picture: boxes, and what they cannot show.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The area around all boxes, which has no frame.
    pub root: Area,
    /// Lines below it.
    pub notes: Vec<String>,
}

/// A box: its logical CPUs come before the boxes inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Area {
    /// How it is drawn.
    pub kind: AreaKind,
    /// Levels that have exactly these logical CPUs, outermost first.
    pub caption: Vec<Label>,
    /// All logical CPUs inside, drawn or folded.
    pub cpus: CpuSet,
    /// Logical CPUs that no box inside holds.
    pub cells: Vec<Cell>,
    /// Boxes inside.
    pub areas: Vec<Area>,
}

/// What a box stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AreaKind {
    /// A package, a node, a cache, or several of them.
    Group,
    /// A core.
    Core,
    /// Several boxes or logical CPUs like the one before.
    Fold,
    /// Outside of the machine's order: memory without CPUs, CPUs of unknown place.
    Apart,
}

/// A logical CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// OS number.
    pub cpu: u32,
    /// Whether it may be used.
    pub state: CpuState,
    /// The sessions on it, counted from 1: `s1`, `s1-s4`, `s1+3`; empty without any.
    pub sessions: String,
    /// Whether it is a sibling of a session's logical CPU on which no session runs.
    pub is_left_over: bool,
}

/// What the drawing of a logical CPU says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It may be used.
    Allowed,
    /// Sessions run on it.
    Session,
    /// It is a sibling of a session's logical CPU, and no session runs on it.
    LeftOver,
    /// It is online, and excluded by a cpuset or an affinity mask.
    NotAllowed,
    /// It is offline.
    Offline,
}

impl Mark {
    /// Its meaning.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Session => "s1: session 1",
            Self::LeftOver => "sibling left over, without a session",
            Self::NotAllowed => "not allowed",
            Self::Offline => "offline",
        }
    }
}

impl Picture {
    /// The picture of a machine with all logical CPUs, and with sessions if there are any.
    pub fn new(topology: &Topology, sessions: Option<&Sessions<'_>>) -> Self {
        let present: CpuSet = topology.logical_cpus.iter().map(|cpu| cpu.os_id).collect();
        let mut nest = Nest::new(&present);
        let mut all = groups(topology, &present);
        all.sort_by_key(|group| (std::cmp::Reverse(group.cpus.len()), group.level, group.cpus.first()));
        all.into_iter().for_each(|group| nest.put(group));
        let mut cells: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
        let on = sessions.map(Sessions::by_cpu).unwrap_or_default();
        for (&cpu, &owner) in &nest.owner {
            cells.entry(owner).or_default().push(Cell {
                cpu,
                state: CpuState::of(topology, cpu),
                sessions: on.get(&cpu).cloned().unwrap_or_default(),
                is_left_over: sessions.is_some_and(|sessions| sessions.resolved.left_over.contains(cpu)),
            });
        }
        let has_more = cells.values().flatten().any(|cell| cell.sessions.contains('+'));
        let mut notes = Vec::new();
        notes.extend(has_more.then(|| "s1+3: session 1 and 3 more".to_owned()));
        notes.extend(private_caches(topology));
        notes.extend(nest.across_notes());
        let mut root = nest.close(&mut cells);
        apart(&mut root, topology);
        Self { root, notes }
    }

    /// The same picture with runs of equal neighbours folded in the outermost `depth` levels, and beyond
    /// [`MAX_DEPTH`] also logical CPUs without a box of their core.
    pub fn folded(&self, depth: usize) -> Self {
        Self { root: self.root.folded(depth, depth > MAX_DEPTH), notes: self.notes.clone() }
    }
}

impl Area {
    fn group(kind: AreaKind, caption: Vec<Label>, cpus: CpuSet) -> Self {
        Self { kind, caption, cpus, cells: vec![], areas: vec![] }
    }

    /// The marks of the logical CPUs that are drawn in it.
    pub fn marks(&self) -> BTreeSet<Mark> {
        self.all_cells().into_iter().map(Cell::mark).collect()
    }

    /// Every logical CPU that is drawn in it.
    pub fn all_cells(&self) -> Vec<&Cell> {
        let inside = self.areas.iter().flat_map(Self::all_cells);
        self.cells.iter().chain(inside).collect()
    }

    /// How many boxes in it are in one another.
    pub fn depth(&self) -> usize {
        self.areas.iter().map(|area| 1 + area.depth()).max().unwrap_or(0)
    }

    /// Whether no session and no left-over sibling is in it.
    fn is_plain(&self) -> bool {
        self.cells.iter().all(Cell::is_plain) && self.areas.iter().all(Self::is_plain)
    }

    /// Whether it looks the same but for numbers and sessions.
    fn is_like(&self, other: &Self) -> bool {
        let same_states = self.cells.iter().map(|cell| cell.state).eq(other.cells.iter().map(|c| c.state));
        self.kind == other.kind
            && same_states
            && (self.caption.len(), self.areas.len()) == (other.caption.len(), other.areas.len())
            && self.caption.iter().zip(&other.caption).all(|(one, two)| one.is_like(two))
            && self.areas.iter().zip(&other.areas).all(|(one, two)| one.is_like(two))
    }

    fn folded(&self, depth: usize, with_cells: bool) -> Self {
        if depth == 0 {
            return self.clone();
        }
        let mut folded = Self { cells: vec![], areas: vec![], ..self.clone() };
        let mut drawn: Option<&Self> = None;
        let mut alike: Vec<&Self> = Vec::new();
        for area in &self.areas {
            if drawn.is_some_and(|drawn| area.is_plain() && area.is_like(drawn)) {
                alike.push(area);
                continue;
            }
            folded.add_run(&alike, depth, with_cells);
            alike.clear();
            folded.areas.push(area.folded(depth - 1, with_cells));
            drawn = Some(area);
        }
        folded.add_run(&alike, depth, with_cells);
        folded.add_cells(&self.cells, with_cells);
        folded
    }

    /// A run of areas like the one before: a fold if that is shorter.
    fn add_run(&mut self, alike: &[&Self], depth: usize, with_cells: bool) {
        let cpus: CpuSet = alike.iter().flat_map(|area| area.cpus.iter()).collect();
        let is_short = cpus.len() < MIN_FOLDED && !(cpus.is_empty() && alike.len() >= MIN_FOLDED);
        match is_short {
            true => self.areas.extend(alike.iter().map(|area| area.folded(depth - 1, with_cells))),
            false => self.areas.push(fold(alike.len(), cpus)),
        }
    }

    /// Logical CPUs: all, or those with sessions, the first without, and a fold.
    fn add_cells(&mut self, cells: &[Cell], with_cells: bool) {
        let is_foldable = |cell: &&Cell| cell.is_plain() && cell.state == CpuState::Allowed;
        let rest: CpuSet = cells.iter().filter(is_foldable).skip(1).map(|cell| cell.cpu).collect();
        if !with_cells || rest.len() < MIN_FOLDED {
            self.cells = cells.to_vec();
            return;
        }
        self.cells = cells.iter().filter(|cell| !rest.contains(cell.cpu)).cloned().collect();
        self.areas.insert(0, fold(rest.len(), rest));
    }
}

impl Cell {
    /// What its drawing says.
    pub fn mark(&self) -> Mark {
        match self.state {
            _ if !self.sessions.is_empty() => Mark::Session,
            CpuState::NotAllowed => Mark::NotAllowed,
            CpuState::Offline => Mark::Offline,
            CpuState::Allowed if self.is_left_over => Mark::LeftOver,
            CpuState::Allowed => Mark::Allowed,
        }
    }

    /// Whether it has neither a session nor the mark of a left-over sibling.
    fn is_plain(&self) -> bool {
        self.sessions.is_empty() && !self.is_left_over
    }
}

fn fold(count: usize, cpus: CpuSet) -> Area {
    let mut caption = vec![Label::words(format!("{count} more like this"))];
    if !cpus.is_empty() {
        caption.push(Label::words(cpu_words(&cpus)));
    }
    Area::group(AreaKind::Fold, caption, cpus)
}

/// `CPUs 12-23,36-47`, cut if it is long.
fn cpu_words(cpus: &CpuSet) -> String {
    let list = cpu_list(cpus);
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    // A list is ASCII.
    match list.get(..MAX_LIST).and_then(|head| head.rfind(',')) {
        Some(end) if list.len() > MAX_LIST => format!("{noun} {},... ({} in all)", &list[..end], cpus.len()),
        _ => format!("{noun} {list}"),
    }
}

/// What no box holds: logical CPUs whose place is unknown, by state, and nodes without CPUs.
fn apart(root: &mut Area, topology: &Topology) {
    let loose = std::mem::take(&mut root.cells);
    let reasons = [
        (CpuState::Allowed, "package, node and cache unknown"),
        (CpuState::NotAllowed, "not allowed, place unknown"),
        (CpuState::Offline, "offline, place unknown"),
    ];
    for (state, words) in reasons {
        let cells: Vec<Cell> = loose.iter().filter(|cell| cell.state == state).cloned().collect();
        if !cells.is_empty() {
            let cpus = cells.iter().map(|cell| cell.cpu).collect();
            let caption = vec![Label::words(words)];
            root.areas.push(Area { cells, ..Area::group(AreaKind::Apart, caption, cpus) });
        }
    }
    let with_cpus: CpuSet = topology.logical_cpus.iter().filter_map(|cpu| cpu.numa_node).collect();
    for (id, node) in (0..).zip(&topology.numa_nodes) {
        if node.cpus.is_empty() && !with_cpus.contains(id) {
            let caption = vec![Label::node(id, node), Label::words(Bare::of(topology, id).words())];
            root.areas.push(Area::group(AreaKind::Apart, caption, CpuSet::new()));
        }
    }
}

/// Boxes while groups are put into them, the larger ones first.
struct Nest {
    boxes: Vec<Open>,
    /// The innermost box of each logical CPU.
    owner: BTreeMap<u32, usize>,
    /// Groups that lie across boxes.
    across: Vec<Group>,
}

struct Open {
    parent: usize,
    depth: usize,
    area: Area,
}

impl Nest {
    fn new(present: &CpuSet) -> Self {
        let root = Area::group(AreaKind::Group, vec![], present.clone());
        Self {
            boxes: vec![Open { parent: 0, depth: 0, area: root }],
            owner: present.iter().map(|cpu| (cpu, 0)).collect(),
            across: vec![],
        }
    }

    /// Puts a group into the box that holds it. Boxes that are there already are at least as large, so logical CPUs in
    /// several boxes show that it lies across them.
    fn put(&mut self, group: Group) {
        let mut parts: BTreeMap<usize, CpuSet> = BTreeMap::new();
        for cpu in group.cpus.iter() {
            if let Some(&owner) = self.owner.get(&cpu) {
                parts.entry(owner).or_default().insert(cpu);
            }
        }
        let is_whole = parts.len() == 1;
        match group.level {
            Level::Core if !is_whole => {
                let label = Label::words(format!("part of {}", group.label));
                for (owner, cpus) in parts {
                    self.open(owner, Group { label: label.clone(), cpus, ..group });
                }
            }
            _ if is_whole => {
                let owner = parts.into_keys().next().unwrap_or(0);
                match self.boxes[owner].area.cpus == group.cpus && owner > 0 {
                    true if group.level.is_silent() => {}
                    true => self.boxes[owner].area.caption.push(group.label),
                    false => self.open(owner, group),
                }
            }
            _ if parts.is_empty() || group.level.is_silent() || group.level == Level::Machine => {}
            _ => self.across.push(group),
        }
    }

    fn open(&mut self, parent: usize, group: Group) {
        let depth = self.boxes[parent].depth + 1;
        if depth > MAX_DEPTH {
            self.across.push(group);
            return;
        }
        let kind = if group.level == Level::Core { AreaKind::Core } else { AreaKind::Group };
        self.owner.extend(group.cpus.iter().map(|cpu| (cpu, self.boxes.len())));
        self.boxes.push(Open { parent, depth, area: Area::group(kind, vec![group.label], group.cpus) });
    }

    fn across_notes(&self) -> Vec<String> {
        let words = |group: &Group| {
            let list = cpu_words(&group.cpus);
            format!("not drawn, since it lies across these boxes: {} ({list})", group.label)
        };
        let mut notes: Vec<String> = self.across.iter().take(MAX_ACROSS).map(words).collect();
        let more = self.across.len().saturating_sub(MAX_ACROSS);
        notes.extend((more > 0).then(|| format!("{} across these boxes", counted(more, "more group"))));
        notes
    }

    /// The boxes in one another, with their logical CPUs. A box comes after the one that it lies in.
    fn close(mut self, cells: &mut BTreeMap<usize, Vec<Cell>>) -> Area {
        let mut inner: BTreeMap<usize, Vec<Area>> = BTreeMap::new();
        while let Some(Open { parent, mut area, .. }) = self.boxes.pop() {
            let at = self.boxes.len();
            area.cells = cells.remove(&at).unwrap_or_default();
            area.areas = inner.remove(&at).unwrap_or_default();
            area.areas.sort_by_key(|area| area.cpus.first());
            if at == 0 {
                return area;
            }
            inner.entry(parent).or_default().push(area);
        }
        Area::group(AreaKind::Group, vec![], CpuSet::new())
    }
}
