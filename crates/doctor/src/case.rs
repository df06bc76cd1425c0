//! Inputs of the checks, and facts that several of them need.

use crate::live::Live;
use crate::tree::Tree;
use std::path::Path;
use threadwise_machine::{CpuSet, Topology};

/// Facts about a machine.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// `/`, or the folder of a recorded machine; nothing outside it is read.
    pub root: &'a Path,
    /// The machine's topology.
    pub topology: &'a Topology,
    /// What was measured of the running system; `None` for a recorded machine.
    pub live: Option<&'a Live>,
}

/// The facts, prepared for the checks.
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

    /// A command that needs root; says so if the user is not root.
    pub(crate) fn as_root(&self, command: &str) -> String {
        match self.live.is_some_and(|live| live.is_root) {
            true => command.to_owned(),
            false => format!("as root: {command}"),
        }
    }

    /// A command that needs root, and the one that restores the old value; `back` is `None` if that is not safe in a
    /// command.
    pub(crate) fn changed(&self, command: &str, back: Option<String>) -> String {
        let command = self.as_root(command);
        match back {
            Some(back) => format!("{command}; to restore it: {back}"),
            None => command,
        }
    }

    /// The hypervisor, by the processor or the system.
    pub(crate) fn hypervisor(&self) -> Option<&str> {
        let asked = self.live.and_then(|live| live.hypervisor.as_deref());
        asked.or(self.topology.identity.hypervisor.as_deref())
    }

    /// Whether all processes of the system are visible: the kernel's own ones are only in its first PID namespace
    /// (`pid_namespaces(7)`), where process 2 is always kthreadd.
    pub(crate) fn sees_all_processes(&self) -> bool {
        self.tree.line("proc/2/comm").is_ok_and(|name| name == "kthreadd")
    }

    /// Evidence of a container, with the file; `None` if there is none.
    pub(crate) fn container(&self) -> Option<(String, &'static str)> {
        self.declared_container().or_else(|| self.shown_container())
    }

    /// A container with a name.
    ///
    /// Sources: Docker and Podman create `/.dockerenv` and `/run/.containerenv`, systemd-nspawn and LXC
    /// `/run/systemd/container` (systemd's "Container Interface"); container managers name control groups; Kubernetes
    /// tells every container its service (its documentation,
    /// "Accessing the Kubernetes API from a Pod").
    fn declared_container(&self) -> Option<(String, &'static str)> {
        if let Ok(name) = self.tree.line("run/systemd/container") {
            return Some((name, "/run/systemd/container"));
        }
        for (file, source, name) in [
            (".dockerenv", "/.dockerenv", "Docker or similar"),
            ("run/.containerenv", "/run/.containerenv", "Podman or similar"),
        ] {
            if self.tree.has(file) {
                return Some((name.to_owned(), source));
            }
        }
        let groups = self.tree.text("proc/self/cgroup").unwrap_or_default();
        if let Some(name) = manager(&groups) {
            return Some((name.to_owned(), "/proc/self/cgroup"));
        }
        let environment = self.tree.text("proc/self/environ").unwrap_or_default();
        let in_pod = environment.split('\0').any(|variable| variable.starts_with("KUBERNETES_SERVICE_HOST="));
        in_pod.then(|| ("Kubernetes".to_owned(), "KUBERNETES_SERVICE_HOST in /proc/self/environ"))
    }

    /// Evidence that containers without a name (runc, crun and others) cannot hide: the sources of their root and
    /// control group mounts (`proc_pid_mountinfo(5)`), and a PID namespace (`pid_namespaces(7)`).
    fn shown_container(&self) -> Option<(String, &'static str)> {
        const MOUNTS: &str = "/proc/self/mountinfo";
        let mounts = self.tree.text("proc/self/mountinfo").unwrap_or_default();
        let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::read).collect();
        let named = |text: &str, what: &str| manager(text).map_or(what.to_owned(), str::to_owned);
        if let Some(root) = mounts.iter().find(|mount| mount.kind.starts_with("cgroup") && mount.root != "/")
        {
            return Some((named(root.root, "its control groups have a root of their own"), MOUNTS));
        }
        // A system that runs from a read-only medium has an overlay as its root, too.
        let overlay = mounts.iter().rfind(|mount| mount.point == "/" && mount.kind == "overlay");
        if let Some(name) = overlay.and_then(|mount| manager(mount.options)) {
            return Some((name.to_owned(), MOUNTS));
        }
        // If /proc hides processes of others (`hidepid`), it hides process 1 too.
        let first = self.tree.line("proc/1/comm").ok().filter(|_| !self.sees_all_processes())?;
        Some((
            format!("process 1 is {first}, and the kernel's own processes are missing"),
            "/proc/1 and /proc/2",
        ))
    }
}

/// The container manager named in a path or in mount options.
fn manager(text: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 7] = [
        ("kubepods", "Kubernetes"),
        ("libpod", "Podman"),
        ("containers/storage", "Podman or similar"),
        ("docker", "Docker"),
        ("containerd", "containerd"),
        ("machine.slice/", "systemd-nspawn or libvirt"),
        ("lxc", "LXC"),
    ];
    NAMES.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| *name)
}

/// A line of mountinfo.
struct Mount<'a> {
    /// The mounted part of its file system.
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (place, what) = line.split_once(" - ")?;
        let (mut place, mut what) = (place.split(' ').skip(3), what.split(' '));
        let (root, point) = (place.next()?, place.next()?);
        Some(Self { root, point, kind: what.next()?, options: what.nth(1)? })
    }
}
