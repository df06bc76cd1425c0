//! Boxes of machines made by hand and of random ones, many of which contradict themselves.

use super::areas::{Area, AreaKind, MAX_DEPTH, Picture};
use super::place::{Lengths, Placed, Rect, place_root};
use super::{Sessions, boxes};
use crate::html;
use crate::terminal::{Style, columns};
use threadwise_machine::topology::{Cache, Core, CoreKind, Group, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Resolved, Topology};

const STYLE: Style = Style { color: false, unicode: true, width: 100 };

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// A machine of cores that are given as lists, on no package.
fn cores(lists: &[&str]) -> Topology {
    let mut topology = Topology::default();
    let kind = |name: &str| CoreKind { name: name.to_owned(), ..CoreKind::default() };
    topology.kinds = vec![kind("core")];
    for (core, list) in (0..).zip(lists) {
        let cpus = set(list);
        topology.logical_cpus.extend(cpus.iter().map(|os_id| LogicalCpu {
            os_id,
            core: Some(core),
            siblings: cpus.clone(),
            kind: Some(0),
            allowed: true,
            online: true,
            ..LogicalCpu::default()
        }));
        topology.cores.push(Core { cpus, ..Core::default() });
    }
    topology.logical_cpus.sort_by_key(|cpu| cpu.os_id);
    topology
}

fn group(list: &str) -> Group {
    Group { os_id: None, cpus: set(list) }
}

fn node(list: &str, gib: u64) -> NumaNode {
    NumaNode { os_id: None, cpus: set(list), memory_bytes: Some(gib << 30) }
}

fn cache(level: u32, list: &str, mib: u64) -> Cache {
    Cache { level, kind: "Unified".to_owned(), size_bytes: Some(mib << 20), cpus: set(list) }
}

/// 2 packages, 4 LLC domains of 4 cores with 2 siblings each.
fn server() -> Topology {
    let lists: Vec<String> = (0..16).map(|core| format!("{core},{}", core + 16)).collect();
    let mut topology = cores(&lists.iter().map(String::as_str).collect::<Vec<_>>());
    topology.packages = vec![group("0-7,16-23"), group("8-15,24-31")];
    topology.numa_nodes = vec![node("0-7,16-23", 64), node("8-15,24-31", 63)];
    for domain in 0..4 {
        let list = format!("{}-{},{}-{}", 4 * domain, 4 * domain + 3, 4 * domain + 16, 4 * domain + 19);
        topology.llc_domains.push(group(&list));
        topology.caches.push(cache(3, &list, 32));
    }
    topology.caches.extend(lists.iter().map(|list| cache(2, list, 1)));
    topology
}

/// Captions of boxes, indented, with the logical CPUs that lie directly in them.
fn outline(area: &Area, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for inner in &area.areas {
        let caption: Vec<String> = inner.caption.iter().map(ToString::to_string).collect();
        let cpus: Vec<String> =
            inner.cells.iter().map(|cell| format!(" {}{}", cell.cpu, cell.sessions)).collect();
        lines.push(format!("{:indent$}{}:{}", "", caption.join(" | "), cpus.concat()));
        lines.extend(outline(inner, indent + 1));
    }
    lines
}

fn outlined(topology: &Topology) -> Vec<String> {
    outline(&Picture::new(topology, None).root, 0)
}

#[test]
fn levels_of_the_same_cpus_share_a_box() {
    let picture = Picture::new(&server(), None);
    let lines = outline(&picture.root, 0);
    assert_eq!(lines[0], "package 0 | node 0, 64 GiB:");
    assert_eq!(lines[1..3], [" LLC 0, L3 32 MiB:", "  core 0: 0 16"]);
    assert_eq!(lines.len(), 2 * (1 + 2 * (1 + 4)));
    assert_eq!(picture.notes, ["each core: L2 1 MiB"]);
}

#[test]
fn boxes_nest_by_their_cpus_whatever_their_levels_are() {
    let mut topology = cores(&["0", "1", "2", "3"]);
    topology.packages = vec![group("0-1"), group("2-3")];
    topology.numa_nodes = vec![node("0", 8), node("1", 8), node("2-3", 16)];
    topology.llc_domains = vec![group("0-3")];
    topology.caches = vec![cache(3, "0-3", 8)];
    let expected = [
        "L3 8 MiB:",
        " package 0:",
        "  node 0, 8 GiB: 0",
        "  node 1, 8 GiB: 1",
        " package 1 | node 2, 16 GiB: 2 3",
    ];
    assert_eq!(outlined(&topology), expected);
    topology.packages = vec![group("0"), group("1"), group("2"), group("3")];
    topology.numa_nodes = vec![node("0-1", 8), node("2-3", 8)];
    let expected = ["L3 8 MiB:", " node 0, 8 GiB:", "  package 0: 0", "  package 1: 1"];
    assert_eq!(outlined(&topology)[..4], expected);
}

#[test]
fn what_lies_across_boxes_is_said_and_not_drawn() {
    let mut topology = cores(&["0,4", "1,5", "2,6", "3,7"]);
    topology.packages = vec![group("0-1,4-5"), group("2-3,6-7")];
    // One domain across the packages, and a node that separates siblings.
    topology.llc_domains = vec![group("0,4"), group("1-2,5-6"), group("3,7")];
    topology.caches = vec![cache(3, "0,4", 4), cache(3, "1-2,5-6", 8), cache(3, "3,7", 4)];
    topology.numa_nodes = vec![node("0-1,4", 4)];
    let picture = Picture::new(&topology, None);
    let expected = [
        "package 0:",
        " node 0, 4 GiB:",
        "  LLC 0, L3 4 MiB | core 0: 0 4",
        "  part of core 1: 1",
        " part of core 1: 5",
        "package 1:",
        " core 2: 2 6",
        " LLC 2, L3 4 MiB | core 3: 3 7",
    ];
    assert_eq!(outline(&picture.root, 0), expected);
    let across = "not drawn, since it lies across these boxes: LLC 1, L3 8 MiB (CPUs 1-2,5-6)";
    assert!(picture.notes.iter().any(|note| note == across), "{:?}", picture.notes);
}

#[test]
fn kinds_are_named_and_clusters_only_where_nothing_else_shows_them() {
    let mut topology = cores(&["0-1", "2", "3"]);
    topology.packages = vec![group("0-3")];
    topology.kinds =
        ["P-core", "E-core"].map(|name| CoreKind { name: name.to_owned(), ..CoreKind::default() }).to_vec();
    topology.cores[1].kind = 1;
    topology.cores[2].kind = 1;
    topology.caches = vec![cache(2, "0-1", 1), cache(2, "2-3", 2)];
    topology.clusters = vec![group("0-1"), group("2-3")];
    let picture = Picture::new(&topology, None);
    let expected = ["package 0:", " P-core 0: 0 1", " L2 2 MiB:", "  E-core 1: 2", "  E-core 2: 3"];
    assert_eq!(outline(&picture.root, 0), expected);
    assert_eq!(picture.notes, ["each P-core: L2 1 MiB"]);
    topology.caches.clear();
    assert_eq!(outlined(&topology)[2], " cluster 1:");
}

#[test]
fn cpus_that_may_not_be_used_and_memory_without_cpus_are_drawn() {
    let mut topology = cores(&["0,2", "1,3"]);
    topology.packages = vec![group("0,2")];
    topology.numa_nodes = vec![node("0-3", 4), node("", 16)];
    for cpu in &mut topology.logical_cpus {
        (cpu.numa_node, cpu.package) = (Some(0), Some(0));
    }
    // CPU 2 is not allowed, nor is the core of 1 and 3; 4 is offline.
    let not_allowed = |cpu: &mut LogicalCpu| (cpu.core, cpu.allowed) = (None, false);
    topology.logical_cpus[1..4].iter_mut().for_each(not_allowed);
    topology.logical_cpus.push(LogicalCpu { os_id: 4, ..LogicalCpu::default() });
    topology.cores = vec![Core { cpus: set("0"), ..Core::default() }];
    let text = boxes(&topology, None, STYLE);
    let expected = "\
no hypervisor seen, 1 package, 1 core x 1 thread, 2 NUMA nodes, LLC not declared, 1 of 5 logical
CPUs allowed, no CPU quota

┌ package 0 ────────────┐ ┌ offline, place unknown ┐ ┌ node 1, 16 GiB ──────┐
│ node 0, 4 GiB         │ │ 4-                     │ │ without allowed CPUs │
│ ┌ core 0 ┐ ┌ core ──┐ │ │                        │ │                      │
│ │  0 2x  │ │ 1x 3x  │ │ │                        │ │                      │
│ └────────┘ └────────┘ │ │                        │ │                      │
└───────────────────────┘ └────────────────────────┘ └──────────────────────┘
x not allowed  - offline";
    assert_eq!(text, expected, "{text}");
    let svg = html::picture(&topology, None).unwrap();
    for class in ["cpu allowed", "cpu barred", "cpu offline"] {
        let count = svg.matches(&format!("class=\"{class}\"")).count();
        let cpus = if class == "cpu barred" { 3 } else { 1 };
        assert_eq!(count, cpus + 1, "{class}: {cpus} and a swatch in the legend");
    }
}

/// A placement with one session on each of these logical CPUs, in turn.
fn resolved(cpus: &[u32], sessions: usize, left_over: CpuSet) -> Resolved {
    let sessions = (0..sessions).map(|session| [cpus[session % cpus.len()]].into_iter().collect());
    Resolved { cpus: cpus.to_vec(), sessions: sessions.collect(), left_over }
}

#[test]
fn sessions_and_left_over_siblings_are_in_their_cells() {
    let topology = server();
    let place = resolved(&[0, 9], 5, set("16,25"));
    let sessions = Sessions { placement: "2s1c1t", resolved: &place };
    let picture = Picture::new(&topology, Some(&sessions));
    let cells = picture.root.all_cells();
    let with = |cpu: u32| cells.iter().find(|cell| cell.cpu == cpu).unwrap();
    assert_eq!((with(0).sessions.as_str(), with(9).sessions.as_str()), ("s1+2", "s2,s4"));
    assert!(with(16).is_left_over && with(25).is_left_over && !with(0).is_left_over);
    assert_eq!(
        sessions.to_string(),
        "placement 2s1c1t: 5 sessions on logical CPUs 0,9, unless a block draws other cores"
    );
    let one = resolved(&[3], 4, set("19"));
    let svg = html::picture(&topology, Some(&Sessions { placement: "one-cpu", resolved: &one })).unwrap();
    assert!(svg.contains(">s1-s4<") && svg.contains("4 sessions on logical CPU 3, unless"), "{svg}");
    let text = boxes(&topology, Some(&sessions), STYLE);
    assert!(text.contains("s1+3: session 1 and 3 more") && text.contains("s2,s4"), "{text}");
}

#[test]
fn like_neighbours_fold_but_none_with_a_session() {
    let topology = server();
    let folded = Picture::new(&topology, None).folded(2);
    let expected = [
        "package 0 | node 0, 64 GiB:",
        " LLC 0, L3 32 MiB:",
        "  core 0: 0 16",
        "  core 1: 1 17",
        "  core 2: 2 18",
        "  core 3: 3 19",
        " 1 more like this | CPUs 4-7,20-23:",
        "1 more like this | CPUs 8-15,24-31:",
    ];
    assert_eq!(outline(&folded.root, 0), expected);
    let place = resolved(&[14], 1, set("30"));
    let picture =
        Picture::new(&topology, Some(&Sessions { placement: "14", resolved: &place })).folded(MAX_DEPTH + 1);
    let expected = [
        "package 0 | node 0, 64 GiB:",
        " LLC 0, L3 32 MiB:",
        "  core 0: 0 16",
        "  3 more like this | CPUs 1-3,17-19:",
        " 1 more like this | CPUs 4-7,20-23:",
        "package 1 | node 1, 63 GiB:",
        " LLC 2, L3 32 MiB:",
        "  core 8: 8 24",
        "  3 more like this | CPUs 9-11,25-27:",
        " LLC 3, L3 32 MiB:",
        "  core 12: 12 28",
        "  core 13: 13 29",
        "  core 14: 14s1 30",
        "  core 15: 15 31",
    ];
    assert_eq!(outline(&picture.root, 0), expected);
}

#[test]
fn names_from_elsewhere_are_filtered_and_escaped() {
    let mut topology = cores(&["0-1", "2"]);
    topology.kinds = ["<b>&\u{1b}[31m\u{202e}", "E\u{4e00}-core"]
        .map(|name| CoreKind { name: name.to_owned(), ..CoreKind::default() })
        .to_vec();
    topology.cores[1].kind = 1;
    topology.identity.cpu_model = Some("</text><script>\u{1b}]0;\u{7}".to_owned());
    let text = boxes(&topology, None, STYLE);
    assert!(text.contains(" <b>& [31m 0 ") && text.contains(" E?-core 1 "), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    let place = resolved(&[0], 1, CpuSet::new());
    let svg = html::picture(&topology, Some(&Sessions { placement: "\"><i>", resolved: &place })).unwrap();
    assert!(svg.contains("&lt;b&gt;&amp; [31m 0"), "{svg}");
    assert!(!svg.contains("<b>") && !svg.contains("<i>") && !svg.contains("<script"), "{svg}");
    assert!(!svg.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{svg}");
}

/// A generator with a period of 2^64 (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % end.max(1)
    }

    fn some(&mut self, count: u32) -> CpuSet {
        let (from, len, step) = (self.below(count), self.below(count) + 1, self.below(3) + 1);
        (from..from + len * step).step_by(step as usize).filter(|cpu| *cpu < count).collect()
    }
}

/// A machine whose groups are in order, or any sets, also some that name CPUs that are not there.
fn any_machine(random: &mut Random) -> Topology {
    let (threads, count) = (random.below(4) + 1, random.below(70) + 1);
    let lists: Vec<String> = (0..count)
        .map(|core| {
            (0..threads).map(|thread| (core * threads + thread).to_string()).collect::<Vec<_>>().join(",")
        })
        .collect();
    let mut topology = cores(&lists.iter().map(String::as_str).collect::<Vec<_>>());
    let (kinds, cpus) = (random.below(3) + 1, count * threads);
    let kind = |kind: u32| CoreKind { name: format!("kind {kind}"), ..CoreKind::default() };
    topology.kinds = (0..kinds).map(kind).collect();
    topology.cores.iter_mut().for_each(|core| core.kind = random.below(kinds));
    let is_in_order = random.below(3) > 0;
    let sets = |random: &mut Random| -> Vec<CpuSet> {
        let parts = random.below(9);
        let size = cpus.div_ceil(parts.max(1));
        let cut = |part: u32| (part * size..((part + 1) * size).min(cpus)).collect();
        match is_in_order {
            true => (0..parts).map(cut).collect(),
            false => (0..parts).map(|_| random.some(cpus + 9)).collect(),
        }
    };
    let groups =
        |sets: Vec<CpuSet>| sets.into_iter().map(|cpus| Group { os_id: None, cpus }).collect::<Vec<_>>();
    topology.packages = groups(sets(random));
    topology.dies = groups(sets(random));
    topology.clusters = groups(sets(random));
    topology.llc_domains = groups(sets(random));
    let memory = |cpus| NumaNode { os_id: Some(7), cpus, memory_bytes: Some(3 << 30) };
    topology.numa_nodes = sets(random).into_iter().map(memory).collect();
    for level in 1..4 {
        let unified = |cpus| Cache { level, kind: "Unified".to_owned(), size_bytes: None, cpus };
        topology.caches.extend(sets(random).into_iter().map(unified));
    }
    for cpu in &mut topology.logical_cpus {
        cpu.allowed = random.below(8) > 0;
        cpu.online = random.below(8) > 0;
    }
    topology
}

fn disjoint(a: Rect, b: Rect) -> bool {
    a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
}

fn inside(inner: Rect, outer: Rect, least: u32) -> bool {
    inner.x >= outer.x + least
        && inner.y >= outer.y
        && inner.x + inner.width + least <= outer.x + outer.width
        && inner.y + inner.height <= outer.y + outer.height
}

/// Nothing overlaps, everything is inside, and captions fit.
fn check_places(placed: &Placed<'_>, side: u32, lengths: &Lengths) {
    let boxes = placed.inner.iter().map(|inner| inner.place);
    let all: Vec<Rect> = placed.cells.iter().map(|cell| cell.place).chain(boxes).collect();
    for (at, one) in all.iter().enumerate() {
        assert!(inside(*one, placed.place, side), "{one:?} is not inside {:?}", placed.place);
        assert!(all[..at].iter().all(|other| disjoint(*one, *other)), "{one:?} overlaps");
    }
    for inner in &placed.inner {
        let room = (inner.place.width - 2 * lengths.side) / lengths.column;
        let head = lengths.above + lengths.line * inner.lines.len() as u32;
        assert!(head <= inner.place.height, "{:?} in {:?}", inner.lines, inner.place);
        for line in &inner.lines {
            assert!(columns(line) <= room as usize, "{line:?} in {room} columns");
        }
        let content =
            inner.cells.iter().map(|cell| cell.place.y).chain(inner.inner.iter().map(|i| i.place.y));
        assert!(content.into_iter().all(|y| y >= inner.place.y + head), "a caption is covered");
        check_places(inner, lengths.side, lengths);
    }
}

/// Every logical CPU of the machine once: drawn, or in a fold.
fn check_cpus(area: &Area, seen: &mut Vec<u32>) {
    seen.extend(area.cells.iter().map(|cell| cell.cpu));
    if area.kind == AreaKind::Fold {
        assert!(area.cells.is_empty() && area.areas.is_empty());
        seen.extend(area.cpus.iter());
    }
    area.areas.iter().for_each(|inner| check_cpus(inner, seen));
}

#[test]
fn random_machines_are_drawn_whole_and_in_order() {
    let mut random = Random(20);
    for case in 0..40 {
        let topology = any_machine(&mut random);
        let allowed: Vec<u32> = topology.allowed().iter().collect();
        let used: Vec<u32> = (0..random.below(5))
            .filter_map(|_| allowed.get(random.below(999) as usize % allowed.len().max(1)))
            .copied()
            .collect();
        let place = if used.is_empty() { Resolved::default() } else { resolved(&used, 9, random.some(40)) };
        let sessions = Sessions { placement: "any", resolved: &place };
        let sessions = Some(&sessions).filter(|_| !used.is_empty());
        let picture = Picture::new(&topology, sessions);
        let present: Vec<u32> = topology.logical_cpus.iter().map(|cpu| cpu.os_id).collect();
        for width in [60, 100, 1000] {
            let lengths = match width {
                1000 => Lengths { cell_width: 50, cell_height: 34, ..PAGE },
                _ => Lengths { cell_width: 7, cell_height: 2, ..TERMINAL },
            };
            for depth in [0, 1, 2, MAX_DEPTH + 1] {
                let folded = picture.folded(depth);
                let mut seen = Vec::new();
                check_cpus(&folded.root, &mut seen);
                seen.sort_unstable();
                assert_eq!(seen, present, "case {case}, depth {depth}");
                let cells = folded.root.all_cells();
                for cpu in &used {
                    let cell = cells.iter().find(|cell| cell.cpu == *cpu);
                    assert!(cell.is_some_and(|cell| cell.sessions.starts_with('s')), "case {case}: {cpu}");
                }
                let placed = place_root(&folded.root, width, &lengths);
                assert!(placed.place.width <= width, "case {case}: {} of {width}", placed.place.width);
                check_places(&placed, 0, &lengths);
            }
        }
        for (unicode, width) in [(true, 60), (false, 60), (true, 132)] {
            let text = boxes(&topology, sessions, Style { color: false, unicode, width });
            assert!(text.lines().all(|line| columns(line) <= width), "case {case}: {text}");
            assert!(unicode || text.is_ascii(), "case {case}: {text}");
        }
        html::picture(&topology, sessions).unwrap();
    }
}

const TERMINAL: Lengths = Lengths {
    column: 1,
    line: 1,
    side: 2,
    above: 0,
    below: 1,
    gap: 1,
    row_gap: 0,
    cell_gap: 1,
    cell_row_gap: 0,
    cell_width: 4,
    cell_height: 1,
    separator: " - ",
};

const PAGE: Lengths = Lengths {
    column: 7,
    line: 15,
    side: 8,
    above: 4,
    below: 8,
    gap: 8,
    row_gap: 8,
    cell_gap: 4,
    cell_row_gap: 4,
    cell_width: 30,
    cell_height: 19,
    separator: " - ",
};
