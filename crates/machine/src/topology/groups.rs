//! Control groups: the folder of the process's group of a controller below the root.
//!
//! Sources: `cgroups(7)`, `cpuset(7)`, kernel `Documentation/admin-guide/cgroup-v2.rst`,
//! `Documentation/admin-guide/cgroup-v1/`. /proc/self/cgroup names the group, /proc/self/mountinfo
//! (proc_pid_mountinfo(5)) the folders where groups are mounted, and for each the group that is its
//! root; a hierarchy may be mounted several times: the host's, the container's own, an inner one.

use super::TopologyError;
use super::tree::{Dir, LARGE_BYTES, Tree};

/// Deeper nesting than this is damage.
const MAX_DEPTH: usize = 64;

/// A mount line of a control group file system.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mount {
    pub(super) point: String,
    /// `cgroup`, `cgroup2`, `cpuset` (the file system before control groups) or `fuse.lxcfs`, which imitates `cgroup`.
    pub(super) kind: String,
    /// Mount options, among which version 1 lists its controllers; lxcfs has them in the name of the mount point.
    pub(super) options: Vec<String>,
    /// The group at the mount point; `None` if there is only /proc/mounts, which does not show it.
    root: Option<String>,
}

/// The control groups of a process, as files show them.
pub(super) struct Membership {
    mounts: Vec<Mount>,
    /// Controllers and path of each line of /proc/self/cgroup.
    groups: Vec<(Vec<String>, String)>,
    /// /proc/self/cpuset, the only file of older kernels.
    cpuset: Option<String>,
}

/// The process's group for a controller.
pub(super) struct ControlGroup<'t> {
    pub(super) mount: Mount,
    /// The folders from the mount point down to the group.
    pub(super) levels: Vec<Dir<'t>>,
    /// The names below the mount point.
    pub(super) names: Vec<String>,
}

impl Membership {
    pub(super) fn read(tree: &Tree) -> Result<Self, TopologyError> {
        let (mut groups, mut cpuset, mut with_roots) = (String::new(), None, String::new());
        if let Some(process) = tree.dir("proc/self") {
            groups = process.text("cgroup")?.unwrap_or_default();
            cpuset = process.text("cpuset")?;
            with_roots = process.text_within("mountinfo", LARGE_BYTES)?.unwrap_or_default();
        }
        let mut mounts: Vec<Mount> = with_roots.lines().filter_map(mountinfo_line).collect();
        if mounts.is_empty() {
            let text = match tree.dir("proc") {
                Some(proc) => proc.text_within("mounts", LARGE_BYTES)?.unwrap_or_default(),
                None => String::new(),
            };
            mounts = text.lines().filter_map(mount_line).collect();
        }
        // A root nearer to the hierarchy's own shows more parent groups, whose limits count too.
        mounts.sort_by_key(|mount| mount.root.as_deref().map_or(0, |root| steps(root).len()));
        Ok(Self {
            mounts,
            groups: groups.lines().filter_map(group_line).collect(),
            cpuset: cpuset.map(|path| super::tree::trimmed(&path).to_owned()),
        })
    }

    /// The process's group for `cpuset`, `cpu` or `memory`. A controller with its own hierarchy (version 1) is not in
    /// the unified one. `None` if no known mount shows the group.
    pub(super) fn group<'t>(&self, tree: &'t Tree, controller: &str) -> Option<ControlGroup<'t>> {
        let is_wanted = |mount: &&Mount| match mount.kind.as_str() {
            "cgroup" | "fuse.lxcfs" => mount.options.iter().any(|option| option == controller),
            "cpuset" => controller == "cpuset",
            _ => false,
        };
        let of_its_own = self.groups.iter().any(|(names, _)| names.iter().any(|name| name == controller));
        let unified = |mount: &&Mount| mount.kind == "cgroup2" && !of_its_own;
        let (old, new) = (self.mounts.iter().filter(is_wanted), self.mounts.iter().filter(unified));
        old.chain(new).find_map(|mount| {
            let base = tree.dir(mount.point.trim_start_matches('/'))?;
            let path = self.path(mount, controller).unwrap_or("/");
            let (levels, names) = match &mount.root {
                None => descend(base, path),
                Some(root) => {
                    let below = steps(path).strip_prefix(steps(root).as_slice())?.to_vec();
                    // A group that was moved out of the visible part.
                    if below.contains(&"..") || below.len() > MAX_DEPTH {
                        return None;
                    }
                    let levels = walk(&base, &below);
                    let names = below.iter().take(levels.len() - 1).map(|step| (*step).to_owned()).collect();
                    (levels, names)
                }
            };
            Some(ControlGroup { mount: mount.clone(), levels, names })
        })
    }

    /// Whether the process is in a group for a controller, and no known mount shows it.
    pub(super) fn is_hidden(&self, tree: &Tree, controller: &str) -> bool {
        let is_its = |names: &[String]| names.is_empty() || names.iter().any(|name| name == controller);
        self.groups.iter().any(|(names, _)| is_its(names)) && self.group(tree, controller).is_none()
    }

    fn path(&self, mount: &Mount, controller: &str) -> Option<&str> {
        let line = self.groups.iter().find(|(controllers, _)| match mount.kind.as_str() {
            "cgroup2" => controllers.is_empty(),
            _ => controllers.iter().any(|name| name == controller),
        });
        // Kernels that have only /proc/self/cpuset need all of the unified hierarchy.
        let unified = mount.kind == "cgroup2" && self.groups.is_empty();
        let only_cpuset = || self.cpuset.as_deref().filter(|_| controller == "cpuset" || unified);
        line.map(|(_, path)| path.as_str()).or_else(only_cpuset)
    }
}

/// The names of a path.
fn steps(path: &str) -> Vec<&str> {
    path.split('/').filter(|step| !step.is_empty() && *step != ".").collect()
}

/// The existing folders on a path, from its start.
fn walk<'t>(base: &Dir<'t>, steps: &[&str]) -> Vec<Dir<'t>> {
    let mut levels = vec![base.clone()];
    for step in steps {
        let Some(next) = levels.last().and_then(|dir| dir.sub(step)) else { break };
        levels.push(next);
    }
    levels
}

/// The folders of a group's path below a mount point whose own group is unknown. In a container without its own
/// name space the path counts from the host's root while the mount point is already the container's group; then
/// the longest tail of the path that exists is taken. If no tail exists, it is as much of the path as exists,
/// and at least the mount point.
fn descend<'t>(base: Dir<'t>, path: &str) -> (Vec<Dir<'t>>, Vec<String>) {
    let steps = steps(path);
    // `..` means that the group is outside of what is mounted here.
    if steps.contains(&"..") || steps.len() > MAX_DEPTH {
        return (vec![base], Vec::new());
    }
    let tails = (0..steps.len()).map(|skip| &steps[skip..]);
    let found =
        tails.map(|tail| (walk(&base, tail), tail)).find(|(levels, tail)| levels.len() == tail.len() + 1);
    let (levels, steps) = found.unwrap_or_else(|| (walk(&base, &steps), &steps));
    let names = steps.iter().take(levels.len() - 1).map(|step| (*step).to_owned()).collect();
    (levels, names)
}

/// `cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0`
fn mount_line(line: &str) -> Option<Mount> {
    let mut fields = line.split_whitespace().skip(1);
    let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
    Mount::new(point, kind, options, None)
}

/// `35 30 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup rw`: the root and the point are fields four and
/// five; after the hyphen come the kind, the source and the file system's own options.
fn mountinfo_line(line: &str) -> Option<Mount> {
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split_whitespace().skip(3);
    let (root, point) = (mount.next()?, mount.next()?);
    let mut system = system.split_whitespace();
    let (kind, options) = (system.next()?, system.nth(1).unwrap_or_default());
    Mount::new(point, kind, options, Some(root))
}

impl Mount {
    fn new(point: &str, kind: &str, options: &str, root: Option<&str>) -> Option<Self> {
        if !matches!(kind, "cgroup" | "cgroup2" | "cpuset" | "fuse.lxcfs") {
            return None;
        }
        let point = unescaped(point);
        let controllers = match kind {
            // Other files of lxcfs are mounted one by one, such as /proc/cpuinfo.
            "fuse.lxcfs" => point.rsplit_once("/cgroup/")?.1,
            _ => options,
        };
        let options = controllers.split(',').map(str::to_owned).collect();
        Some(Self { kind: kind.to_owned(), options, root: root.map(unescaped), point })
    }
}

/// `4:cpu,cpuacct:/path`; version 2 is `0::/path`.
fn group_line(line: &str) -> Option<(Vec<String>, String)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some((controllers, path.to_owned()))
}

/// Space, tab, newline and backslash are written as `\040`, `\011`, `\012` and `\134` (`getmntent(3)`).
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let mount = mount_line("none /a\\040b cgroup rw,cpu,cpuacct 0 0").unwrap();
        assert_eq!(mount.point, "/a b");
        assert_eq!(mount.options, ["rw", "cpu", "cpuacct"]);
        assert_eq!(mount_line("proc /proc proc rw 0 0"), None);
        assert_eq!(mount_line("lxcfs /proc/cpuinfo fuse.lxcfs rw 0 0"), None);
        let of_lxcfs = mount_line("lxcfs /sys/fs/cgroup/cpu,cpuacct fuse.lxcfs rw 0 0").unwrap();
        assert_eq!(of_lxcfs.options, ["cpu", "cpuacct"]);
        let line = "22 20 0:26 /../x /a\\040b ro,relatime master:5 - cgroup cgroup rw,cpuset";
        let mount = mountinfo_line(line).unwrap();
        assert_eq!((mount.root.as_deref(), mount.point.as_str()), (Some("/../x"), "/a b"));
        assert_eq!(mount.options, ["rw", "cpuset"]);
        assert_eq!(mountinfo_line("22 20 0:26 / / rw - ext4 /dev/sda rw"), None);
        assert_eq!(group_line("0::/a:b"), Some((Vec::new(), "/a:b".to_owned())));
        assert_eq!(group_line("garbage"), None);
    }
}
