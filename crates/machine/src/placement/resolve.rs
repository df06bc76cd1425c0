//! Resolving placements: a pure function of placement, topology, draw and sessions.
//!
//! Only online, allowed logical CPUs are used. If the machine cannot do it, the error says what it lacks.

use super::draw::package_of;
use super::view::{Machine, PartCore, absent_group, plural};
use super::{
    Draw, Expression, Level, MachinePart, Name, Order, Pin, Placement, PlacementError, Resolved, Shape,
    Within, fill, locality, paths,
};
use crate::{CpuSet, Topology};

/// Binds a placement to a machine and a block's draw.
///
/// # Errors
/// What the machine lacks, or zero sessions.
pub fn resolve(
    placement: &Placement,
    topology: &Topology,
    draw: &Draw,
    sessions: u32,
    pin: Pin,
) -> Result<Resolved, PlacementError> {
    if sessions == 0 {
        return Err(PlacementError::NoSessions { text: placement.text.clone() });
    }
    let machine = Machine { topology, draw };
    let lacking = |lacks: String| PlacementError::Lacking { text: placement.text.clone(), lacks };
    let cpus = logical_cpus(&placement.expression, &machine).map_err(lacking)?;
    if cpus.is_empty() {
        return Err(lacking("no logical CPU is online and allowed".to_owned()));
    }
    let set: CpuSet = cpus.iter().copied().collect();
    let sessions: Vec<CpuSet> = (0..sessions as usize)
        .map(|session| match pin {
            Pin::Each => [cpus[session % cpus.len()]].into_iter().collect(),
            Pin::Set => set.clone(),
        })
        .collect();
    let left_over = left_over(topology, &sessions);
    Ok(Resolved { cpus, sessions, left_over })
}

/// A core and its logical CPUs that a term may use, in the draw's order.
struct CandidateCore<'a> {
    core: u32,
    package: u32,
    cpus: Vec<&'a u32>,
}

fn logical_cpus(expression: &Expression, machine: &Machine) -> Result<Vec<u32>, String> {
    match expression {
        Expression::Shapes(terms) => sum(terms, machine),
        Expression::Named(name, within) => named(*name, *within, machine),
        Expression::Fill(fill, part) => fill::logical_cpus(*fill, *part, machine),
        Expression::AllBut(free) => fill::all_but(*free, machine),
        Expression::First(order, count) => prefix(ordered(*order, machine), *count),
        Expression::List(listed) => {
            listed.iter().try_for_each(|&cpu| usable(cpu, machine.topology))?;
            Ok(listed.clone())
        }
        Expression::Path(levels) => paths::logical_cpus(levels, machine.topology),
    }
}

fn named(name: Name, within: Option<Within>, machine: &Machine) -> Result<Vec<u32>, String> {
    let part = within.map_or(MachinePart::Machine, MachinePart::Of);
    let cores = fill::cores(part, machine)?;
    let found = match name {
        Name::OneCpu => cores.first().map(|one| vec![one.cpus[0]]),
        Name::OneCore => cores.first().map(|one| one.cpus.clone()),
        Name::SameCore => cores.iter().find(|one| one.cpus.len() > 1).map(|one| one.cpus[..2].to_vec()),
        _ => locality::pair(name, &cores, machine).map(|pair| pair.map(|one| one.cpus[0]).to_vec()),
    };
    found.ok_or_else(|| match within {
        Some(within) => format!("{} (inside {within} alone)", locality::lacks(name, machine)),
        None => locality::lacks(name, machine),
    })
}

/// All allowed logical CPUs in an order.
fn ordered(order: Order, machine: &Machine) -> Vec<u32> {
    let mut cores = machine.cores();
    if order != Order::Spread {
        locality::packed(&mut cores, machine);
    }
    match order {
        Order::Packed => cores.into_iter().flat_map(|one: PartCore| one.cpus).collect(),
        Order::Spread | Order::PackedCores => fill::spread(&cores),
    }
}

fn prefix(mut cpus: Vec<u32>, count: u32) -> Result<Vec<u32>, String> {
    if cpus.len() < count as usize {
        return Err(format!("it needs {count} logical CPUs; {} are allowed", cpus.len()));
    }
    cpus.truncate(count as usize);
    Ok(cpus)
}

fn usable(cpu: u32, topology: &Topology) -> Result<(), String> {
    match topology.cpu(cpu) {
        None => Err(format!("there is no logical CPU {cpu}")),
        Some(found) if !found.online => Err(format!("logical CPU {cpu} is offline")),
        Some(found) if !found.allowed => {
            Err(format!("logical CPU {cpu} is not allowed; this process may use {}", topology.allowed()))
        }
        Some(_) => Ok(()),
    }
}

/// All terms on one core kind, the fastest that can supply them all, unless a term names one.
fn sum(terms: &[Shape], machine: &Machine) -> Result<Vec<u32>, String> {
    let restrictions = terms.iter().filter_map(|term| term.within);
    restrictions.map(|within| fill::numbered(within, machine.topology)).collect::<Result<Vec<_>, _>>()?;
    let kinds = machine.topology.kinds.len().max(1) as u32;
    let mut first_failure = None;
    for kind in 0..kinds {
        match on_kind(terms, kind, machine) {
            Ok(cpus) => return Ok(cpus),
            Err(failed) => first_failure = first_failure.or(Some(failed)),
        }
    }
    let failed = first_failure.and_then(|index: usize| terms.get(index));
    Err(failed.map_or_else(|| "it has no terms".to_owned(), |shape| lacks(shape, terms.len(), machine)))
}

/// The terms' logical CPUs in the order written, or the index of the term that found no cores.
fn on_kind(terms: &[Shape], kind: u32, machine: &Machine) -> Result<Vec<u32>, usize> {
    // Demanding terms choose first, so that `1c1t+2c2t` does not waste a core that has two siblings.
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by_key(|&index| {
        let term = &terms[index];
        std::cmp::Reverse((term.within.is_some(), term.threads, term.packages, term.cores))
    });
    let mut taken: Vec<u32> = Vec::new();
    let mut found = vec![Vec::new(); terms.len()];
    for index in order {
        let candidates = candidates(&terms[index], kind, &taken, machine);
        let (cpus, cores) = take(&terms[index], &candidates, &machine.draw.packages).ok_or(index)?;
        taken.extend(cores);
        found[index] = cpus;
    }
    Ok(found.concat())
}

/// Cores that a shape may use, in the draw's order.
fn candidates<'a>(shape: &Shape, kind: u32, taken: &[u32], machine: &Machine<'a>) -> Vec<CandidateCore<'a>> {
    let topology = machine.topology;
    let within = shape.within.and_then(|within| fill::numbered(within, topology).ok());
    let kind = match within {
        Some((Level::Kind, wanted)) => wanted,
        _ => kind,
    };
    let inside = |cpu: &u32| match within {
        Some((Level::Node, index)) => {
            in_group(topology.numa_nodes.get(index as usize).map(|node| &node.cpus), *cpu)
        }
        Some((Level::Llc, index)) => {
            in_group(topology.llc_domains.get(index as usize).map(|llc| &llc.cpus), *cpu)
        }
        _ => true,
    };
    let to_seat = |&core: &u32| {
        let package = package_of(topology, core);
        let cpus: Vec<&u32> = machine.draw.siblings[core as usize].iter().filter(|cpu| inside(cpu)).collect();
        let free = !taken.contains(&core)
            && topology.cores[core as usize].kind == kind
            && cpus.len() >= shape.threads as usize
            && !matches!(within, Some((Level::Package, wanted)) if wanted != package);
        free.then_some(CandidateCore { core, package, cpus })
    };
    machine.draw.cores.iter().filter_map(to_seat).collect()
}

fn in_group(group: Option<&CpuSet>, cpu: u32) -> bool {
    group.is_some_and(|cpus| cpus.contains(cpu))
}

/// The first packages that have enough cores; logical CPUs come cores first, packages by turns, so that a smaller
/// shape is a prefix of a larger one and few sessions do not share a core.
fn take(shape: &Shape, candidates: &[CandidateCore], packages: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
    let (cores, threads) = (shape.cores as usize, shape.threads as usize);
    let columns: Vec<Vec<&CandidateCore>> = packages
        .iter()
        .map(|&package| candidates.iter().filter(|core| core.package == package).take(cores).collect())
        .filter(|column: &Vec<&CandidateCore>| column.len() == cores)
        .take(shape.packages as usize)
        .collect();
    if columns.len() < shape.packages as usize {
        return None;
    }
    let mut cpus = Vec::with_capacity(columns.len() * cores * threads);
    for thread in 0..threads {
        for row in 0..cores {
            cpus.extend(columns.iter().map(|column| *column[row].cpus[thread]));
        }
    }
    Some((cpus, columns.concat().iter().map(|core| core.core).collect()))
}

/// Why a shape is not possible, as text.
fn lacks(shape: &Shape, terms: usize, machine: &Machine) -> String {
    let within = shape.within.and_then(|within| fill::numbered(within, machine.topology).ok());
    let absent = within.and_then(|(level, index)| absent_group(level, index, machine.topology));
    if let Some(absent) = absent {
        return absent;
    }
    let kinds = machine.topology.kinds.len().max(1) as u32;
    let mut most_cores = 0;
    let mut packages_with_enough = 0;
    for kind in 0..kinds {
        let candidates = candidates(shape, kind, &[], machine);
        let on_package = |package: &u32| candidates.iter().filter(|core| core.package == *package).count();
        let counts: Vec<usize> = machine.draw.packages.iter().map(on_package).collect();
        most_cores = most_cores.max(counts.iter().copied().max().unwrap_or(0));
        let enough = counts.iter().filter(|&&count| count >= shape.cores as usize).count();
        packages_with_enough = packages_with_enough.max(enough);
    }
    let of_kind = if kinds > 1 { " of one kind" } else { "" };
    let have = if shape.threads == 1 {
        "an allowed logical CPU".to_owned()
    } else {
        format!("{} allowed logical CPUs", shape.threads)
    };
    let cores = plural(shape.cores as usize, "core");
    if packages_with_enough >= shape.packages as usize {
        return format!("the {terms} terms together need more cores{of_kind} than are allowed");
    }
    if shape.packages == 1 {
        format!("'{shape}' needs {cores}{of_kind} with {have} each on one package; the most is {most_cores}")
    } else {
        format!(
            "'{shape}' needs {} packages with {cores}{of_kind} with {have} each; there are {packages_with_enough}",
            shape.packages
        )
    }
}

/// Online siblings of the sessions' cores, without the sessions' logical CPUs.
fn left_over(topology: &Topology, sessions: &[CpuSet]) -> CpuSet {
    let mut used = CpuSet::new();
    for cpus in sessions {
        cpus.iter().for_each(|cpu| used.insert(cpu));
    }
    let siblings = used.iter().filter_map(|cpu| topology.cpu(cpu)).flat_map(|cpu| cpu.siblings.iter());
    let online = |cpu: &u32| topology.cpu(*cpu).is_none_or(|sibling| sibling.online);
    siblings.filter(online).filter(|&cpu| !used.contains(cpu)).collect()
}
