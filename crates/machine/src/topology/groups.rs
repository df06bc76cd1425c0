//! Control groups: where the process's group of a controller lies below the root.
//!
//! Sources: `cgroups(7)`, `cpuset(7)`, kernel `Documentation/admin-guide/cgroup-v2.rst`,
//! `Documentation/admin-guide/cgroup-v1/`. /proc/self/cgroup names the group, /proc/mounts the
//! folder from which that name counts.

use super::TopologyError;
use super::tree::{Dir, LARGE_BYTES, Tree};

/// Deeper nesting than this is damage.
const MAX_DEPTH: usize = 64;

/// What a mount line says about a control group file system.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mount {
    pub(super) point: String,
    /// `cgroup`, `cgroup2` or `cpuset` (the file system before control groups).
    pub(super) kind: String,
    pub(super) options: Vec<String>,
}

/// A process's place in control groups, as far as files say it.
pub(super) struct Membership {
    mounts: Vec<Mount>,
    /// Controllers and path of each line of /proc/self/cgroup.
    groups: Vec<(Vec<String>, String)>,
    /// /proc/self/cpuset, which older kernels have alone.
    cpuset: Option<String>,
}

/// The process's group for a controller.
pub(super) struct Place<'t> {
    pub(super) mount: Mount,
    /// The folders from the mount point down to the group, the mount point's first.
    pub(super) levels: Vec<Dir<'t>>,
    /// The names of those below the mount point.
    pub(super) names: Vec<String>,
}

impl Membership {
    pub(super) fn read(tree: &Tree) -> Result<Self, TopologyError> {
        let mounts = match tree.dir("proc") {
            Some(proc) => proc.text_within("mounts", LARGE_BYTES)?.unwrap_or_default(),
            None => String::new(),
        };
        let (mut groups, mut cpuset) = (String::new(), None);
        if let Some(process) = tree.dir("proc/self") {
            groups = process.text("cgroup")?.unwrap_or_default();
            cpuset = process.text("cpuset")?;
        }
        Ok(Self {
            mounts: mounts.lines().filter_map(mount_line).collect(),
            groups: groups.lines().filter_map(group_line).collect(),
            cpuset: cpuset.map(|path| super::tree::trimmed(&path).to_owned()),
        })
    }

    /// Where the process is for `cpuset`, `cpu` or `memory`. A controller that has a hierarchy of
    /// its own (version 1) is not in the unified one.
    pub(super) fn place<'t>(&self, tree: &'t Tree, controller: &str) -> Option<Place<'t>> {
        let is_wanted = |mount: &&Mount| match mount.kind.as_str() {
            "cgroup" => mount.options.iter().any(|option| option == controller),
            "cpuset" => controller == "cpuset",
            _ => false,
        };
        let unified = |mount: &&Mount| mount.kind == "cgroup2";
        let (old, new) = (self.mounts.iter().filter(is_wanted), self.mounts.iter().filter(unified));
        old.chain(new).find_map(|mount| {
            let base = tree.dir(mount.point.trim_start_matches('/'))?;
            let path = self.path(mount, controller).unwrap_or("/");
            let (levels, names) = descend(base, path);
            Some(Place { mount: mount.clone(), levels, names })
        })
    }

    fn path(&self, mount: &Mount, controller: &str) -> Option<&str> {
        let line = self.groups.iter().find(|(controllers, _)| match mount.kind.as_str() {
            "cgroup2" => controllers.is_empty(),
            _ => controllers.iter().any(|name| name == controller),
        });
        // Kernels that have /proc/self/cpuset alone are asked for all of the unified hierarchy.
        let unified = mount.kind == "cgroup2" && self.groups.is_empty();
        let only_cpuset = || self.cpuset.as_deref().filter(|_| controller == "cpuset" || unified);
        line.map(|(_, path)| path.as_str()).or_else(only_cpuset)
    }
}

/// The folders of a group's path below a mount point. In a container without a name space of its
/// own the path counts from the host's root while the mount point is already the container's
/// group; then the longest tail of the path that exists is taken. Where no tail exists, it is as
/// much of the path as there is, and at least the mount point.
fn descend<'t>(base: Dir<'t>, path: &str) -> (Vec<Dir<'t>>, Vec<String>) {
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    // `..` means that the group lies outside of what is mounted here.
    if steps.contains(&"..") || steps.len() > MAX_DEPTH {
        return (vec![base], Vec::new());
    }
    let walk = |steps: &[&str]| {
        let mut levels = vec![base.clone()];
        for step in steps {
            let Some(next) = levels.last().and_then(|dir| dir.sub(step)) else { break };
            levels.push(next);
        }
        levels
    };
    let tails = (0..steps.len()).map(|skip| &steps[skip..]);
    let found = tails.map(|tail| (walk(tail), tail)).find(|(levels, tail)| levels.len() == tail.len() + 1);
    let (levels, steps) = found.unwrap_or_else(|| (walk(&steps), &steps));
    let names = steps.iter().take(levels.len() - 1).map(|step| (*step).to_owned()).collect();
    (levels, names)
}

/// `cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0`
fn mount_line(line: &str) -> Option<Mount> {
    let mut fields = line.split_whitespace().skip(1);
    let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
    matches!(kind, "cgroup" | "cgroup2" | "cpuset").then(|| Mount {
        point: unescaped(point),
        kind: kind.to_owned(),
        options: options.split(',').map(str::to_owned).collect(),
    })
}

/// `4:cpu,cpuacct:/path`; version 2 is `0::/path`.
fn group_line(line: &str) -> Option<(Vec<String>, String)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some((controllers, path.to_owned()))
}

/// Space, tab, newline and backslash stand as `\040`, `\011`, `\012` and `\134` (`getmntent(3)`).
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
        assert_eq!(group_line("0::/a:b"), Some((Vec::new(), "/a:b".to_owned())));
        assert_eq!(group_line("garbage"), None);
    }
}
