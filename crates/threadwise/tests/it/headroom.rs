//! `headroom`: its lines, objects, metrics and file, on this machine and on a recorded one, and what is refused.

use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two cores of two threads, 0 with 2 and 1 with 3, as `threadwise topology --capture` records them.
fn write_machine(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for name in ["online", "present", "possible"] {
        write(&format!("sys/devices/system/cpu/{name}"), "0-3\n");
    }
    for cpu in 0..4 {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        let core = cpu % 2;
        write(&format!("{topology}/physical_package_id"), "0\n");
        write(&format!("{topology}/core_id"), &format!("{core}\n"));
        write(&format!("{topology}/thread_siblings_list"), &format!("{core},{}\n", core + 2));
        write(&format!("{topology}/core_cpus_list"), &format!("{core},{}\n", core + 2));
        write(&format!("{topology}/package_cpus_list"), "0-3\n");
    }
}

/// A /proc/stat in which so many ticks of 100 a second were busy, for each logical CPU, after so many seconds.
fn stat(busy: [u64; 4], seconds: u64) -> String {
    let mut text = "cpu  1 0 0 1\n".to_owned();
    for (cpu, busy) in busy.into_iter().enumerate() {
        text.push_str(&format!("cpu{cpu} {busy} 0 0 {} 0 0 0 0 0 0\n", seconds * 100 - busy));
    }
    text + "intr 1 2 3\n"
}

/// Of the recorded machine: one thread of each core busy for a second, then all of them.
fn recorded(lab: &Lab, more: &[&str]) -> Said {
    write_machine(&lab.path().join("machine"));
    for (name, busy, seconds) in
        [("a", [0; 4], 0), ("b", [100, 100, 0, 0], 1), ("c", [200, 200, 100, 100], 2)]
    {
        fs::write(lab.path().join(name), stat(busy, seconds)).unwrap();
    }
    let mut args = vec!["headroom", "--root", "machine", "--recorded", "a", "b", "c"];
    args.extend(more);
    lab.ok(&args)
}

#[test]
fn half_busy_is_eighty_percent_at_a_yield_of_one_and_a_quarter() {
    let lab = Lab::new();
    let said = recorded(&lab, &["--yield", "1.25", "--json"]);
    let windows: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(windows.len(), 2);
    let share = |window: usize, name: &str| {
        windows[window]["rows"][0].pointer(&format!("/{name}")).unwrap().as_f64().unwrap()
    };
    let close = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
    close(share(0, "busy_share"), 0.5);
    close(share(0, "core_busy_share/low"), 1.0);
    close(share(0, "capacity_used_share/low"), 0.8);
    close(share(0, "capacity_used_share/high"), 0.8);
    close(share(0, "headroom_share/low"), 0.2);
    close(share(0, "core_seconds/high"), 2.0);
    close(share(1, "capacity_used_share/high"), 1.0);
    assert_eq!(windows[0]["yield_source"], "given");
    assert_eq!((&windows[0]["utc"], &windows[0]["window_ns"]), (&Value::Null, &Value::from(1_000_000_000)));
    let lines = recorded(&lab, &[]);
    assert_eq!(lines.stdout.lines().count(), 3, "{}", lines.stdout);
    assert!(lines.stdout.lines().nth(1).unwrap().contains("50.0%"), "{}", lines.stdout);
    assert!(lines.stderr.contains("1.22 to 1.32, the range of published ones"), "{}", lines.stderr);
    assert!(lines.stderr.contains("\"50% busy\" is 76% to 82% of the capacity"), "{}", lines.stderr);
}

#[test]
fn what_went_offline_or_ran_backwards_is_left_out() {
    let lab = Lab::new();
    write_machine(&lab.path().join("machine"));
    fs::write(lab.path().join("a"), stat([0, 0, 50, 0], 1)).unwrap();
    // 2 ran backwards, 3 is gone, 9 is new, and a line is damaged.
    let late = "cpu0 100 0 0 100\ncpu1 0 0 0 200 0 0 0 0\ncpu2 10 0 0 190\ncpu9 1 0 0 1\ncpu3 x 0 0 0\n";
    fs::write(lab.path().join("b"), late).unwrap();
    let said =
        lab.ok(&["headroom", "--root", "machine", "--recorded", "a", "b", "--yield", "1.25", "--json"]);
    let window: Value = serde_json::from_str(&said.stdout).unwrap();
    let row = &window["rows"][0];
    assert_eq!((&row["logical_cpus"], &row["cores"]), (&Value::from(2), &Value::from(2)), "{row}");
    assert_eq!(row["capacity_used_share"]["high"], 0.5, "two cores of one thread each: {row}");
}

#[test]
fn each_window_of_this_machine_is_an_object_on_a_line() {
    let lab = Lab::new();
    let said = lab.ok(&["headroom", "--json", "--interval", "100ms", "--count", "2"]);
    let windows: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(windows.len(), 2);
    for window in windows {
        assert!(window["utc"].is_string() && window["window_ns"].as_u64().unwrap() > 0);
        assert_eq!(window["yield_source"], "published");
        for row in window["rows"].as_array().unwrap() {
            let share = |name: &str| row.pointer(&format!("/{name}")).unwrap().as_f64().unwrap();
            assert!((0.0..=1.0).contains(&share("busy_share")), "{row}");
            assert!(share("capacity_used_share/low") <= share("capacity_used_share/high") + 1e-9, "{row}");
            assert!((0.0..=1.0).contains(&share("headroom_share/high")), "{row}");
            assert!(["exact", "bounds"].contains(&row["method"].as_str().unwrap()));
        }
    }
    assert!(lab.files().is_empty());
}

#[test]
fn an_interrupt_ends_it() {
    let lab = Lab::new();
    let mut headroom = lab
        .command(&["headroom", "--interval", "100ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(headroom.stdout.take().unwrap());
    let mut lines = [String::new(), String::new()];
    lines.iter_mut().for_each(|line| assert!(stdout.read_line(line).unwrap() > 0));
    assert!(lines[0].starts_with("time") && lines[1].contains("machine"), "{lines:?}");
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-INT", &headroom.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let ended = said(headroom.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

fn asked(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn prometheus_is_answered() {
    let lab = Lab::new();
    let mut headroom = lab
        .command(&["headroom", "--interval", "100ms", "--prometheus", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(headroom.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let metrics = loop {
        let text = asked(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        if !text.starts_with("HTTP/1.1 503 ") {
            break text;
        }
    };
    let (head, body) = metrics.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(body.contains("# TYPE threadwise_headroom_ratio gauge\n"), "{body}");
    assert!(body.contains("\nthreadwise_cpu_busy_ratio{scope=\"machine\"} "), "{body}");
    assert!(asked(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(asked(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    headroom.kill().unwrap();
    headroom.wait().unwrap();
}

#[test]
fn a_file_of_metrics_is_replaced_if_it_is_its_own() {
    let lab = Lab::new();
    let args = ["headroom", "--interval", "100ms", "--count", "1", "--textfile", "t.prom"];
    let text = |lab: &Lab| fs::read_to_string(lab.path().join("t.prom")).unwrap();
    lab.ok(&args);
    assert!(text(&lab).contains("threadwise_windows_total 1"), "{}", text(&lab));
    lab.ok(&args);
    assert_eq!(lab.files(), ["t.prom"]);
    fs::write(lab.path().join("t.prom"), "node_x 1\n").unwrap();
    let said = lab.run(&args);
    assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 1), "{}", said.stderr);
    assert!(said.stderr.contains("t.prom exists, was not written by"), "{}", said.stderr);
    assert_eq!(text(&lab), "node_x 1\n");
}

#[test]
fn a_study_without_a_yield_says_what_to_run() {
    let lab = Lab::new();
    let made = lab.simulated(
        "s.threadwise",
        &["--no-html", "--no-probe", "--placement", "one-cpu", "--sessions", "1,2"],
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let said = lab.run(&["headroom", "--from", "s.threadwise", "--count", "1"]);
    assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 1), "{}", said.stderr);
    assert!(said.stderr.contains("s.threadwise has no SMT yield"), "{}", said.stderr);
    assert!(said.stderr.contains("threadwise run") && said.stderr.contains("--yield"), "{}", said.stderr);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let lab = Lab::new();
    fs::write(lab.path().join("empty"), "").unwrap();
    for (args, part) in [
        (&["--yield", "27%"][..], "'27%' is not an SMT yield"),
        (&["--yield", "3"], "3 is not an SMT yield"),
        (&["--yield", "1.3-1.2"], "write the lower end first"),
        (&["--interval", "10ms"], "100ms to 1h"),
        (&["--count", "0"], "'0' for '--count"),
        (&["--prometheus", "localhost"], "is not an address with a port"),
        (&["--live"], "--live needs a terminal"),
        (&["--from", "empty"], "empty"),
        (&["--recorded", "empty", "empty"], "empty: it has no line of a logical CPU"),
        (&["--textfile", "absent/t.prom"], "absent is not a folder"),
    ] {
        let mut all = vec!["headroom"];
        all.extend(args);
        let said = lab.run(&all);
        assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 1), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(part), "{args:?}: {}", said.stderr);
        assert!(said.stdout.is_empty(), "{args:?}: {}", said.stdout);
    }
}
