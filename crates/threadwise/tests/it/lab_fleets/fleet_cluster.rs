//! A Slurm of three nodes on this host, without root's rights, munge or systemd: slurm.conf(5), `NodeHostname`.

use crate::fleet_harness::wait_for;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The cluster; it ends with its value.
pub struct Cluster {
    folder: tempfile::TempDir,
    controller: Child,
    nodes: Vec<(String, Option<Child>)>,
}

/// A cluster whose nodes are tw1 to tw3, of which a job for each takes turns by the license `host`.
pub fn cluster() -> Cluster {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("slurm.conf"), conf(folder.path())).unwrap();
    let controller = daemon(folder.path(), "slurmctld", &["-D", "-c"]);
    let nodes = ["tw1", "tw2", "tw3"].map(|name| (name.to_owned(), None));
    let mut cluster = Cluster { folder, controller, nodes: nodes.into() };
    for name in ["tw1", "tw2", "tw3"] {
        cluster.start_node(name);
    }
    wait_for("three idle nodes", || {
        cluster.slurm("sinfo", &["-h", "-N", "-o", "%t"]).matches("idle").count() == 3
    });
    cluster
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn conf(folder: &Path) -> String {
    // Ports that were free a moment ago; all are held until the last is known.
    let held: Vec<TcpListener> = (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> = held.iter().map(|port| port.local_addr().unwrap().port()).collect();
    let word = |command: &str, args: &[&str]| {
        let output = Command::new(command).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (host, user) = (word("hostname", &["-s"]), word("id", &["-un"]));
    let cpus = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let cpus = threadwise_machine::CpuSet::parse_list(cpus.trim()).unwrap().len();
    let dir = folder.display();
    let nodes: String = (1..=3)
        .map(|number| {
            format!(
                "NodeName=tw{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs={cpus} CoresPerSocket={cpus} \
                 RealMemory=500 Feature=kind_a\n",
                ports[number]
            )
        })
        .collect();
    format!(
        "ClusterName=tw\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/none\nCredType=cred/none\nCommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\n\
         AccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/none\nReturnToService=2\n\
         SlurmctldPidFile={dir}/ctld.pid\nSlurmdPidFile={dir}/%n.pid\nStateSaveLocation={dir}/state\n\
         SlurmdSpoolDir={dir}/spool-%n\nSlurmctldLogFile={dir}/ctld.log\nSlurmdLogFile={dir}/%n.log\n\
         SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0\n\
         Licenses=host:1\nSwitchType=switch/none\nMpiDefault=none\nKillWait=3\nSlurmdTimeout=5\nMinJobAge=2\nMessageTimeout=2\n\
         {nodes}PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
        ports[0]
    )
}

fn daemon(folder: &Path, name: &str, args: &[&str]) -> Child {
    let log = std::fs::File::create(folder.join(format!("{name}-{}.out", args.last().unwrap()))).unwrap();
    let mut command = Command::new(program(name).unwrap());
    command.args(args).arg("-f").arg(folder.join("slurm.conf")).stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

impl Cluster {
    pub fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// Starts a node's slurmd.
    pub fn start_node(&mut self, name: &str) {
        let child = daemon(self.folder.path(), "slurmd", &["-D", "-N", name]);
        let node = self.nodes.iter_mut().find(|(known, _)| known == name).unwrap();
        node.1 = Some(child);
    }

    /// Kills a node's slurmd and everything that it runs, as the loss of the node would.
    pub fn lose_node(&mut self, name: &str) {
        let node = self.nodes.iter_mut().find(|(known, _)| known == name).unwrap();
        let mut child = node.1.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        for pid in self.processes_of(Some(name)) {
            let _ = Command::new("sh").args(["-c", "kill \"$@\"", "kill"]).args(["-KILL", &pid]).output();
        }
    }

    /// Processes of this cluster's jobs, by the environment that Slurm gives them: those on a node, or all, with the
    /// daemons that watch over jobs and outlive the node's.
    fn processes_of(&self, node: Option<&str>) -> Vec<String> {
        let wanted: Vec<String> = [Some(format!("SLURM_CONF={}", self.conf().display()))]
            .into_iter()
            .chain([node.map(|node| format!("SLURMD_NODENAME={node}"))])
            .flatten()
            .collect();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
            let environment = String::from_utf8_lossy(&environment).into_owned();
            let has = |wanted: &String| environment.split('\0').any(|variable| variable == wanted);
            if wanted.iter().all(has) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        found
    }

    /// What a command of Slurm prints.
    pub fn slurm(&self, command: &str, args: &[&str]) -> String {
        let output = Command::new(command).args(args).env("SLURM_CONF", self.conf()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Lets a job begin that Slurm holds back for two minutes after a requeue, or until its administrator has looked at it.
    pub fn begin(&self, job: &str) {
        self.slurm("scontrol", &["release", job]);
        self.slurm("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
    }

    /// Waits until no job is left.
    pub fn wait_until_idle(&self) {
        wait_for("an empty queue", || self.slurm("squeue", &["-h"]).trim().is_empty());
    }
}

impl Cluster {
    /// Ends it as a loss of all its machines would; its configuration stays, so that clients know whom to ask.
    pub fn stop(&mut self) {
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        let _ = self.slurm("scancel", &["-u", user.trim()]);
        let children = self.nodes.iter_mut().filter_map(|(_, child)| child.as_mut());
        for child in children.chain([&mut self.controller]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        for pid in self.processes_of(None) {
            let _ = Command::new("sh").args(["-c", "kill \"$@\"", "kill"]).args(["-KILL", &pid]).output();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}
