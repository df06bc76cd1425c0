//! What the checks are given, and questions that several of them ask.

use crate::live::Live;
use crate::tree::Tree;
use std::path::Path;
use threadwise_machine::{CpuSet, Topology};

/// What is known about a machine.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// `/`, or the folder of a recorded machine; nothing outside of it is read.
    pub root: &'a Path,
    /// The machine's topology.
    pub topology: &'a Topology,
    /// What was measured of the running system; `None` for a recorded machine.
    pub live: Option<&'a Live>,
}

/// The facts, made ready for the checks.
pub(crate) struct Case<'a> {
    pub(crate) tree: Tree,
    pub(crate) topology: &'a Topology,
    pub(crate) live: Option<&'a Live>,
    /// Online logical CPUs that may be used.
    pub(crate) allowed: CpuSet,
}

impl<'a> Case<'a> {
    pub(crate) fn new(facts: &Facts<'a>) -> Self {
        Self {
            tree: Tree::new(facts.root),
            topology: facts.topology,
            live: facts.live,
            allowed: facts.topology.allowed(),
        }
    }

    /// A command that needs root, with a word about it where the user is not root.
    pub(crate) fn as_root(&self, command: &str) -> String {
        match self.live.is_some_and(|live| live.is_root) {
            true => command.to_owned(),
            false => format!("as root: {command}"),
        }
    }

    /// A command that needs root, and the one that puts back what was there; `back` is `None` where
    /// the old value is not fit for a command.
    pub(crate) fn changed(&self, command: &str, back: Option<String>) -> String {
        let command = self.as_root(command);
        match back {
            Some(back) => format!("{command}; to put it back: {back}"),
            None => command,
        }
    }

    /// The hypervisor, by the processor or by what the system declares.
    pub(crate) fn hypervisor(&self) -> Option<&str> {
        let asked = self.live.and_then(|live| live.hypervisor.as_deref());
        asked.or(self.topology.identity.hypervisor.as_deref())
    }

    /// Whether the processes of the whole system show: the kernel's own ones do so in its first
    /// name space of processes only (`pid_namespaces(7)`), where the second is always kthreadd.
    pub(crate) fn sees_all_processes(&self) -> bool {
        self.tree.line("proc/2/comm").is_ok_and(|name| name == "kthreadd")
    }

    /// What shows that we are in a container, with the file; `None` where nothing does.
    ///
    /// Sources: Docker and Podman leave `/.dockerenv` and `/run/.containerenv`, systemd-nspawn and LXC
    /// `/run/systemd/container` (systemd's "Container Interface"); names of control groups come from
    /// the container managers.
    pub(crate) fn container(&self) -> Option<(String, &'static str)> {
        const GROUPS: [(&str, &str); 6] = [
            ("kubepods", "Kubernetes"),
            ("libpod", "Podman"),
            ("docker", "Docker"),
            ("containerd", "containerd"),
            ("machine.slice/", "systemd-nspawn or libvirt"),
            ("lxc", "LXC"),
        ];
        if let Ok(name) = self.tree.line("run/systemd/container") {
            return Some((name, "/run/systemd/container"));
        }
        for (file, source, name) in [
            (".dockerenv", "/.dockerenv", "Docker or alike"),
            ("run/.containerenv", "/run/.containerenv", "Podman or alike"),
        ] {
            if self.tree.has(file) {
                return Some((name.to_owned(), source));
            }
        }
        let groups = self.tree.text("proc/self/cgroup").ok()?;
        let known = GROUPS.iter().find(|(word, _)| groups.contains(word));
        known.map(|(_, name)| ((*name).to_owned(), "/proc/self/cgroup"))
    }
}
