//! The scripts of pods, of submitting and of collecting, run by this machine's shell.

use crate::engines::kubernetes::manifest::POD_SCRIPT;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder that stands for a pod, a volume and the fleet's folder, and a program that stands for `fleet cell`.
struct Stage {
    lab: tempfile::TempDir,
}

impl Stage {
    fn new(program: &str) -> Self {
        let lab = tempfile::tempdir().unwrap();
        for folder in ["plan", "volume", "f/cells", "f/kubernetes", "bin"] {
            std::fs::create_dir_all(lab.path().join(folder)).unwrap();
        }
        let stage = Self { lab };
        for (name, text) in [("plan/plan.json", "{}"), ("plan/study.toml", "s"), ("plan/pod.sh", POD_SCRIPT)]
        {
            stage.write(name, text);
        }
        stage.write("f/kubernetes/collect.sh", include_str!("../collect.sh"));
        stage.write("f/kubernetes/place.sh", include_str!("../../place.sh"));
        threadwise_process::programs::write(&stage.path("bin/threadwise"), program).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.lab.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The script of pods for an index of the repeats 2 and 5, with a limit of the log.
    fn pod(&self, index: &str, log_bytes: &str, more: &[(&str, &str)]) -> Output {
        let mut command = Command::new("sh");
        command
            .arg(self.path("plan/pod.sh"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("JOB_COMPLETION_INDEX", index)
            .env("THREADWISE_REPEATS", "2 5")
            .env("THREADWISE_MACHINE", "n1.x");
        command.env("THREADWISE_FOLDER", self.path("volume")).env("THREADWISE_PLAN", self.path("plan"));
        command
            .env("THREADWISE_PROGRAM", self.path("bin/threadwise"))
            .env("THREADWISE_END_FILE", self.path("end"));
        command.envs([("THREADWISE_NODE", "node"), ("THREADWISE_POD", "pod"), ("THREADWISE_APART_S", "0")]);
        command.env("THREADWISE_POD_EXIT", "cell").env("THREADWISE_LOG_BYTES", log_bytes);
        command.envs(more.iter().copied()).output().unwrap()
    }

    /// Collecting these cells out of a log.
    fn collect(&self, log: &str, cells: &[&str]) -> (bool, String) {
        self.write("log", log);
        let mut command = Command::new("sh");
        command.arg(self.path("f/kubernetes/collect.sh")).arg(self.path("f")).args(cells);
        let output = command.args(["--", "cat"]).arg(self.path("log")).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }
}

/// `fleet cell --dir DIR --cell CELL …`: leaves what a cell leaves, with the outcome and exit code of two variables.
const PROGRAM: &str = "#!/bin/sh\n\
    to=$4/cells/$6\nmkdir -p \"$to\"\necho \"$@\" >\"$4/words\"\n\
    printf '{\\n  \"outcome\": \"%s\",\\n  \"version\": 1\\n}\\n' \"${OUTCOME:-measured}\" >\"$to/cell.json\"\n\
    echo \"${CODE:-0}\" >\"$to/exit\"\ntest -n \"${CODE:-}\" || head -c 50000 /dev/urandom >\"$to/study.threadwise\"\n\
    echo some words of a study; exit \"${CODE:-0}\"\n";

#[test]
fn a_cell_goes_through_a_pods_log_unchanged() {
    let stage = Stage::new(PROGRAM);
    let pod = stage.pod("1", "3000000", &[]);
    let log = String::from_utf8(pod.stdout).unwrap();
    assert!(pod.status.success(), "{log}{}", String::from_utf8_lossy(&pod.stderr));
    assert_eq!(stage.read("end"), "measured\n");
    let words = stage.read("volume/words");
    assert!(words.ends_with(" --cell n1.x.5 --node node --job pod\n"), "{words}");
    assert_eq!(stage.collect(&log, &["n1.x.5"]), (true, String::new()));
    for file in ["cell.json", "exit", "study.threadwise"] {
        let bytes = |folder: &str| std::fs::read(stage.path(folder).join("cells/n1.x.5").join(file)).unwrap();
        assert!(bytes("volume") == bytes("f"), "{file}");
    }
    // Nothing of the work is left.
    let left = std::fs::read_dir(stage.path("f/kubernetes")).unwrap().count();
    assert_eq!(left, 2);
}

#[test]
fn a_measured_attempt_counts_over_a_later_one_and_a_failed_one_over_none() {
    let stage = Stage::new(PROGRAM);
    let log = |more: &[(&str, &str)]| String::from_utf8(stage.pod("0", "3000000", more).stdout).unwrap();
    let (measured, failed) = (log(&[]), log(&[("OUTCOME", "failed"), ("CODE", "1")]));
    assert_eq!(stage.pod("0", "3000000", &[("OUTCOME", "failed"), ("CODE", "1")]).status.code(), Some(1));
    let outside = [("OUTCOME", "failed"), ("CODE", "1"), ("THREADWISE_POD_EXIT", "0")];
    assert_eq!(stage.pod("0", "3000000", &outside).status.code(), Some(0));
    assert_eq!(stage.read("end"), "failed\n");
    assert!(stage.collect(&failed, &["n1.x.2"]).0);
    assert!(stage.read("f/cells/n1.x.2/cell.json").contains("failed"));
    assert!(stage.collect(&format!("{failed}{measured}{failed}"), &["n1.x.2"]).0);
    assert!(stage.read("f/cells/n1.x.2/cell.json").contains("measured"));
    assert!(stage.read("f/replaced/n1.x.2.1/cell.json").contains("failed"));
}

#[test]
fn a_log_that_is_cut_damaged_too_large_or_false_brings_nothing() {
    let stage = Stage::new(PROGRAM);
    let log = String::from_utf8(stage.pod("0", "3000000", &[]).stdout).unwrap();
    let too_large = stage.pod("1", "20000", &[]);
    assert_eq!(too_large.status.code(), Some(1));
    let too_large = String::from_utf8(too_large.stdout).unwrap();
    let half: String = log.lines().take(log.lines().count() / 2).map(|line| format!("{line}\n")).collect();
    let line = log.lines().nth(20).unwrap();
    for (text, cell, why) in [
        (String::new(), "n1.x.2", "have no result"),
        (half, "n1.x.2", "have no result"),
        (log.replace(&format!("{line}\n"), ""), "n1.x.2", "damaged"),
        (log.replace(line, &line.chars().rev().collect::<String>()), "n1.x.2", "damaged"),
        (log.clone(), "n1.x.5", "have no result"),
        (too_large, "n1.x.5", "a log takes 20000 at most: give the fleet a volume"),
    ] {
        let (is_good, said) = stage.collect(&text, &[cell]);
        assert!(!is_good && said.starts_with(&format!("{cell}: ")) && said.contains(why), "{why}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!stage.path("f/cells").join(cell).exists());
    }
    // One that is not there keeps no other from coming.
    let (is_good, said) = stage.collect(&log, &["n1.x.5", "n1.x.2"]);
    assert!(!is_good && said.contains("n1.x.5") && stage.path("f/cells/n1.x.2").exists(), "{said}");
}

#[test]
fn an_archive_with_paths_or_links_is_no_result() {
    let stage = Stage::new(PROGRAM);
    let packed = |script: &str| {
        let script = format!(
            "cd \"$1\" && rm -rf a && mkdir a && cd a && echo x >cell.json && echo 0 >exit && {script} | gzip >../p && \
             s=$(sha256sum <../p) && echo \"-----BEGIN threadwise-cell n1.2 measured 1 ${{s%% *}}\" && base64 ../p && \
             echo \"-----END threadwise-cell n1.2\""
        );
        let output = Command::new("sh").args(["-c", &script, "sh"]).arg(stage.path("bin")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for script in [
        "ln -s /etc/passwd study.threadwise && tar -cf - cell.json exit study.threadwise",
        "echo x >../out && tar -cPf - cell.json exit ../out",
        "mkdir d && echo x >d/y && tar -cf - cell.json exit d",
        "echo x >other && tar -cf - cell.json exit other",
        "echo no archive",
    ] {
        let (is_good, said) = stage.collect(&packed(script), &["n1.2"]);
        assert!(!is_good && said.contains("no result of a cell"), "{script}: {said}");
        assert!(!stage.path("f/cells/n1.2").exists() && !stage.path("f/out").exists());
    }
    assert!(stage.collect(&packed("tar -cf - cell.json exit"), &["n1.2"]).0);
}

#[test]
fn a_volume_with_another_plan_is_refused_and_one_with_this_plan_is_used() {
    let stage = Stage::new(PROGRAM);
    let pod = stage.pod("0", "0", &[]);
    assert!(pod.status.success() && !String::from_utf8_lossy(&pod.stdout).contains("BEGIN"));
    assert_eq!(
        (stage.read("volume/plan.json"), stage.read("volume/study.toml")),
        ("{}".to_owned(), "s".to_owned())
    );
    stage.write("volume/plan.json", "{ }");
    let pod = stage.pod("1", "0", &[]);
    let said = String::from_utf8(pod.stderr).unwrap();
    assert_eq!(
        (pod.status.code(), said.contains("the volume has another plan.json")),
        (Some(1), true),
        "{said}"
    );
    assert_eq!(stage.read("end"), "failed\n");
    assert!(!stage.path("volume/cells/n1.x.5").exists());
}

#[test]
fn a_signal_reaches_the_cell_and_repeats_apart_hold_the_pod() {
    let program = "#!/bin/sh\ntrap 'echo got it; exit 130' TERM\necho begun >\"$4/begun\"\nwhile :; do sleep 0.05; done\n";
    let stage = Stage::new(program);
    let script = "sh \"$1\" & pid=$!; until test -s \"$2\"; do sleep 0.05; done; kill -TERM $pid; wait $pid; \
        while kill -0 $pid 2>/dev/null; do wait $pid; done; wait $pid; echo code $?";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(stage.path("plan/pod.sh")).arg(stage.path("volume/begun"));
    command.env("JOB_COMPLETION_INDEX", "0").env("THREADWISE_REPEATS", "1").env("THREADWISE_MACHINE", "n1");
    command.env("THREADWISE_FOLDER", stage.path("volume")).env("THREADWISE_PLAN", stage.path("plan"));
    command
        .env("THREADWISE_PROGRAM", stage.path("bin/threadwise"))
        .env("THREADWISE_END_FILE", stage.path("end"));
    command.envs([("THREADWISE_NODE", "n"), ("THREADWISE_POD", "p"), ("THREADWISE_APART_S", "600")]);
    command.env("THREADWISE_POD_EXIT", "cell").env("THREADWISE_LOG_BYTES", "1000");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    // The ten minutes that repeats are apart end with the signal as well.
    assert!(said.contains("got it") && said.ends_with("code 130\n"), "{said}");
    assert_eq!(stage.read("end"), "none\n");
}

#[test]
fn submitting_makes_the_config_map_once() {
    let stage = Stage::new(PROGRAM);
    stage.write("f/submit.sh", include_str!("../submit.sh"));
    let kubectl = "#!/bin/sh\necho \"$@\" >>calls\ncase $1 in\n--namespace=b) shift;; esac\ncase $1 in\n\
        get) test -e made ;;\ncreate) : >made; echo configmap/x created ;;\napply) echo job.batch/j ;;\nesac\n";
    threadwise_process::programs::write(&stage.path("bin/kubectl"), kubectl).unwrap();
    let submit = || {
        let mut command = Command::new("sh");
        command.args(["submit.sh", "x", "m.json"]).arg(stage.path("bin/kubectl")).arg("--namespace=b");
        let output = command.current_dir(stage.path("f")).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(
        (submit(), submit()),
        ((true, "job.batch/j\n".to_owned()), (true, "job.batch/j\n".to_owned()))
    );
    let calls = stage.read("f/calls");
    assert_eq!(
        calls.matches("create configmap x --from-file=plan.json --from-file=study.toml").count(),
        1,
        "{calls}"
    );
    assert_eq!(calls.matches("--namespace=b apply --filename=m.json --output=name").count(), 2, "{calls}");
}
