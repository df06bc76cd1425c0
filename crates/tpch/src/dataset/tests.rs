//! Data sets made by stand-ins of the shell: whole, damaged, failed, killed, stopped, contended.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Programs of the shell that stand in for the generator and for Python, so that no wheel is needed.
struct Stage {
    folder: TempDir,
}

const KEY: Key = Key { scale: 0.01, cluster: Cluster::OrderKey };
const SORTED: Key = Key { scale: 0.01, cluster: Cluster::ShipDate };

const COUNTS: &str = "region 5\nnation 25\nsupplier 100\ncustomer 1500\npart 2000\npartsupp 8000\norders 15000\nlineitem 60175";

/// `parquet --quiet --no-progress --scale-factor S --output-dir D`, or `--version`.
const GENERATOR: &str = "[ \"$1\" = --version ] && { echo 'tpchgen-cli 9.9'; exit 0; }
for table in region nation supplier customer part partsupp orders lineitem; do
    printf 'rows of %s at %s' $table \"$5\" > \"$7/$table.parquet\"
done
";

/// `-I -B SCRIPT …`: counting prints what a file beside the script says, sorting writes a file.
const PYTHON: &str = "case \"$3\" in */count.py) cat \"${3%/*}/counts\";; *) mkdir \"$5/spill\"; printf sorted > \"$5/lineitem.parquet\";; esac\n";

impl Stage {
    fn new() -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap() };
        stage.program("generator", GENERATOR);
        stage.program("python", PYTHON);
        fs::write(stage.path("counts"), COUNTS).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("cache/tpch")
    }

    /// Written under another name: a program that is open for writing cannot be started, and a child
    /// that another test forks at this moment would hold it open.
    fn program(&self, name: &str, text: &str) {
        let (fresh, own) = (self.path("fresh"), self.path(name));
        let script = format!("#!/bin/sh\n{text}");
        let status = std::process::Command::new("/bin/sh")
            .args(["-c", "printf '%s' \"$1\" > \"$0\""])
            .args([fresh.as_os_str(), OsStr::new(&script)])
            .status()
            .unwrap();
        assert!(status.success());
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(fresh, own).unwrap();
    }

    fn make_seen(
        &self,
        key: Key,
        progress: &mut dyn FnMut(f64, &str),
        stop: &AtomicBool,
    ) -> Result<Dataset, DatasetError> {
        let (root, generator, python) = (self.root(), self.path("generator"), self.path("python"));
        let (cluster_script, count_script) = (self.path("cluster.py"), self.path("count.py"));
        let request = Make {
            cache_root: &root,
            key,
            generator: &generator,
            python: &python,
            cluster_script: &cluster_script,
            count_script: &count_script,
        };
        make(&request, progress, stop)
    }

    fn make(&self, key: Key) -> Result<Dataset, DatasetError> {
        self.make_seen(key, &mut |_, _| {}, &AtomicBool::new(false))
    }

    /// Names under the cache that are neither locks nor `keep`.
    fn left(&self, keep: &[&str]) -> Vec<String> {
        let entries = fs::read_dir(self.root()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.starts_with(".lock-") && !keep.contains(&name.as_str())).collect()
    }
}

fn is_whole(dataset: &Dataset) -> Result<(), DatasetError> {
    verify(dataset, &mut |_| {}, &AtomicBool::new(false))
}

#[test]
fn a_data_set_is_made_once_and_found_again() {
    let stage = Stage::new();
    assert_eq!(find(&stage.root(), KEY).unwrap(), None);
    let mut shares = Vec::new();
    let made = stage
        .make_seen(KEY, &mut |share, what| shares.push((share, what.to_owned())), &AtomicBool::new(false))
        .unwrap();
    assert_eq!(made.generator, "tpchgen-cli 9.9");
    assert_eq!(made.folder, stage.root().join("sf0.01"));
    assert_eq!(made.tables.iter().map(|table| table.name).collect::<Vec<_>>(), TABLES);
    assert_eq!(made.tables[7].rows, 60_175);
    assert_eq!(made.bytes(), made.files().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>());
    assert_eq!(fs::read_to_string(made.folder.join("orders.parquet")).unwrap(), "rows of orders at 0.01");
    is_whole(&made).unwrap();
    assert!(shares.is_sorted_by(|one, two| one.0 <= two.0) && shares.last().unwrap().0 == 1.0, "{shares:?}");
    assert!(shares.iter().any(|(_, what)| what == "generating the tables"));
    assert_eq!(stage.left(&["sf0.01"]), [""; 0]);
    // Not made again: the generator would fail now.
    stage.program("generator", "exit 1\n");
    assert_eq!(stage.make(KEY).unwrap(), made);
    assert_eq!(find(&stage.root(), KEY).unwrap(), Some(made));
}

#[test]
fn a_sorted_one_is_made_from_the_plain_one_and_shares_its_files() {
    use std::os::unix::fs::MetadataExt;
    let stage = Stage::new();
    let sorted = stage.make(SORTED).unwrap();
    let plain = find(&stage.root(), KEY).unwrap().unwrap();
    assert_eq!(sorted.folder.file_name().unwrap(), "sf0.01-shipdate");
    assert_eq!(fs::read_to_string(sorted.folder.join("lineitem.parquet")).unwrap(), "sorted");
    let inode = |dataset: &Dataset| fs::metadata(dataset.folder.join("orders.parquet")).unwrap().ino();
    assert_eq!(inode(&sorted), inode(&plain));
    assert!(!sorted.folder.join("spill").exists());
    assert_eq!(sorted.tables[..7], plain.tables[..7]);
    assert_ne!(sorted.tables[7], plain.tables[7]);
    is_whole(&sorted).unwrap();
    assert_eq!(stage.left(&["sf0.01", "sf0.01-shipdate"]), [""; 0]);
}

#[test]
fn damage_is_reported_and_made_good() {
    let stage = Stage::new();
    let made = stage.make(KEY).unwrap();
    let part = made.folder.join("part.parquet");
    let refusal = |stage: &Stage| find(&stage.root(), KEY).unwrap_err().to_string();

    fs::write(&part, "cut").unwrap();
    assert!(refusal(&stage).contains("part.parquet has 3 bytes instead of"), "{}", refusal(&stage));
    assert_eq!(stage.make(KEY).unwrap(), made);

    fs::remove_file(&part).unwrap();
    assert!(refusal(&stage).contains("part.parquet: No such file"), "{}", refusal(&stage));
    stage.make(KEY).unwrap();

    let manifest = fs::read_to_string(made.folder.join(manifest::FILE)).unwrap();
    fs::write(made.folder.join(manifest::FILE), manifest.replace("rows 5 ", "rows 6 ")).unwrap();
    assert!(refusal(&stage).contains("no complete manifest.txt"), "{}", refusal(&stage));
    stage.make(KEY).unwrap();

    fs::rename(&made.folder, stage.root().join("sf0.1")).unwrap();
    let other = find(&stage.root(), Key { scale: 0.1, ..KEY }).unwrap_err().to_string();
    assert!(other.contains("its manifest is that of sf0.01"), "{other}");
    assert_eq!(stage.left(&["sf0.1"]), [""; 0]);
}

#[test]
fn contents_that_changed_without_their_size_are_found_by_verifying() {
    let stage = Stage::new();
    let made = stage.make(KEY).unwrap();
    fs::write(made.folder.join("nation.parquet"), "rows of NATION at 0.01").unwrap();
    assert!(find(&stage.root(), KEY).unwrap().is_some());
    let refusal = is_whole(&made).unwrap_err().to_string();
    assert!(refusal.contains("the contents of nation.parquet do not match"), "{refusal}");
    let stopped = verify(&made, &mut |_| {}, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(stopped, DatasetError::Stopped));
}

#[test]
fn a_generator_that_fails_is_reported_in_one_line_and_leaves_nothing() {
    let stage = Stage::new();
    stage.program("generator", "echo begun > \"$7/part.parquet\"; echo 'Error: disk full' >&2; exit 3\n");
    let refusal = stage.make(KEY).unwrap_err().to_string();
    assert!(refusal.contains("exit status: 3: Error: disk full") && !refusal.contains('\n'), "{refusal}");
    assert_eq!(stage.left(&[]), [""; 0]);

    fs::remove_file(stage.path("generator")).unwrap();
    let refusal = stage.make(KEY).unwrap_err().to_string();
    assert!(refusal.contains("cannot start") && refusal.contains("generator"), "{refusal}");
    assert_eq!(stage.left(&[]), [""; 0]);
}

#[test]
fn a_disk_that_fills_up_is_reported_with_the_folder_and_the_way_out() {
    let stage = Stage::new();
    // As tpchgen-cli 4.0.0 says it.
    let said = "Error: External: No space left on device (os error 28)";
    stage.program("generator", &format!("echo begun > \"$7/part.parquet\"; echo '{said}' >&2; exit 1\n"));
    let error = stage.make(KEY).unwrap_err();
    assert!(matches!(error, DatasetError::Full { .. }), "{error}");
    let refusal = error.to_string();
    let root = stage.root().display().to_string();
    for part in ["filled up", "sf0.01", root.as_str(), "XDG_CACHE_HOME", "smaller scale", said] {
        assert!(refusal.contains(part), "'{part}' is not in: {refusal}");
    }
    assert!(!refusal.contains('\n'), "{refusal}");
    assert_eq!(stage.left(&[]), [""; 0]);
}

#[test]
fn room_is_asked_for_before_anything_is_made() {
    let stage = Stage::new();
    let ask = |key| space(&stage.root(), key);
    let (plain, sorted) = (ask(KEY).unwrap(), ask(SORTED).unwrap());
    assert_eq!(plain.folder, stage.root().join("sf0.01"));
    assert_eq!(plain.existing_parent, stage.folder.path());
    assert!(plain.needed_bytes > expected_bytes(KEY) && plain.free_bytes > plain.needed_bytes);
    assert!(sorted.needed_bytes > plain.needed_bytes * 2, "the plain one is made first: {sorted:?}");
    assert!(!stage.root().exists());
    stage.make(KEY).unwrap();
    assert_eq!(ask(KEY).unwrap().needed_bytes, 0);
    let rest = sorted.needed_bytes - plain.needed_bytes;
    assert_eq!(ask(SORTED).unwrap().needed_bytes, rest, "the plain one is there");
    condemn(&stage.root().join("sf0.01")).unwrap();
    assert_eq!(ask(KEY).unwrap().needed_bytes, plain.needed_bytes);
    assert!(matches!(find(&stage.root(), KEY), Err(DatasetError::Damaged { .. })));
    let full = ask(Key { scale: 100_000.0, ..KEY }).unwrap_err();
    assert!(matches!(full, DatasetError::NoSpace { .. }), "{full}");
    assert!(matches!(ask(Key { scale: 0.021, ..KEY }), Err(DatasetError::Scale(_))));
}

/// In the place of a cache folder that this user may not write (tests may run as root, who may write
/// everywhere): one below a file, and one in a file system that takes no new files from any user.
#[test]
fn a_cache_that_cannot_be_written_is_reported_with_the_way_out() {
    let stage = Stage::new();
    fs::write(stage.path("cache"), "a file").unwrap();
    let refusals = [space(&stage.root(), KEY).map(drop), stage.make(KEY).map(drop)];
    for error in refusals.map(|result| result.unwrap_err().to_string()) {
        assert!(error.contains("Not a directory") && error.contains("XDG_CACHE_HOME"), "{error}");
    }
    assert_eq!(fs::read_to_string(stage.path("cache")).unwrap(), "a file");
    let error = space(Path::new("/proc/threadwise/tpch"), KEY).unwrap_err().to_string();
    assert!(error.contains("/proc") && error.contains("XDG_CACHE_HOME"), "{error}");
}

#[test]
fn what_may_not_be_looked_at_is_neither_called_damaged_nor_replaced() {
    let stage = Stage::new();
    let made = stage.make(KEY).unwrap();
    // A link that leads to itself cannot be looked at, not even by root.
    let (part, kept) = (made.folder.join("part.parquet"), stage.path("kept"));
    fs::rename(&part, &kept).unwrap();
    std::os::unix::fs::symlink("part.parquet", &part).unwrap();
    for error in [find(&stage.root(), KEY).unwrap_err(), stage.make(KEY).unwrap_err()] {
        assert!(matches!(error, DatasetError::File { .. }), "{error}");
        assert!(error.to_string().contains("cannot inspect") && error.to_string().contains("part.parquet"));
    }
    fs::rename(&kept, &part).unwrap();
    is_whole(&find(&stage.root(), KEY).unwrap().unwrap()).unwrap();
}

#[test]
fn a_sort_that_fails_leaves_the_plain_one() {
    let stage = Stage::new();
    stage.program("python", &PYTHON.replace("printf sorted >", "echo no duckdb >&2; exit 1; printf x >"));
    let refusal = stage.make(SORTED).unwrap_err().to_string();
    assert!(refusal.contains("no duckdb"), "{refusal}");
    is_whole(&find(&stage.root(), KEY).unwrap().unwrap()).unwrap();
    assert_eq!(stage.left(&["sf0.01"]), [""; 0]);
}

#[test]
fn tables_with_other_rows_than_the_specification_are_not_taken() {
    let stage = Stage::new();
    for (counts, said) in [
        (COUNTS.replace("orders 15000", "orders 14999"), "orders of sf0.01 has 14999 rows instead of 15000"),
        (COUNTS.replace("lineitem 60175", "lineitem 60174"), "60174 rows instead of 60175"),
        (COUNTS.replace("part 2000\n", ""), "part of sf0.01"),
    ] {
        fs::write(stage.path("counts"), counts).unwrap();
        let refusal = stage.make(KEY).unwrap_err().to_string();
        assert!(refusal.contains(said), "{refusal}");
        assert_eq!(stage.left(&[]), [""; 0]);
        assert_eq!(find(&stage.root(), KEY).unwrap(), None);
    }
}

#[test]
fn impossible_scales_and_full_disks_are_reported_before_anything_is_made() {
    let stage = Stage::new();
    for scale in [0.0, -1.0, f64::NAN, 1e9, 0.001, 0.021] {
        let refusal = stage.make(Key { scale, ..KEY }).unwrap_err();
        assert!(matches!(refusal, DatasetError::Scale(_)), "{refusal}");
    }
    assert!(!stage.root().exists());
    // 36 TB: more than any machine that runs tests has.
    let refusal = stage.make(Key { scale: 100_000.0, ..KEY }).unwrap_err();
    assert!(
        matches!(refusal, DatasetError::NoSpace { needed_bytes, .. } if needed_bytes > 36_000_000_000_000)
    );
    assert!(refusal.to_string().contains("free some space"), "{refusal}");
    assert_eq!(stage.left(&[]), [""; 0]);
}

#[test]
fn a_stop_kills_the_generator_and_leaves_nothing() {
    let stage = Stage::new();
    stage.program("generator", "echo $$ > \"${0%/*}/pid\"; sleep 600 & wait\n");
    let stop = AtomicBool::new(false);
    let pid = stage.path("pid");
    let mut stop_when_begun = |_: f64, _: &str| {
        stop.store(fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')), Ordering::Relaxed);
    };
    let stopped = stage.make_seen(KEY, &mut stop_when_begun, &stop).unwrap_err();
    assert!(matches!(stopped, DatasetError::Stopped), "{stopped}");
    assert_eq!(stage.left(&[]), [""; 0]);
    // The whole process group, with the sleep that the shell had begun.
    let group: i32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let group = rustix::process::Pid::from_raw(group).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while rustix::process::test_kill_process_group(group).is_ok() {
        assert!(Instant::now() < until, "a process of the generator's group lives");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_a_killed_run_left_is_removed_and_nothing_else() {
    let stage = Stage::new();
    let making = stage.root().join(".making-sf0.01");
    fs::create_dir_all(making.join("sub")).unwrap();
    fs::write(making.join("lineitem.parquet.inprogress"), "half").unwrap();
    fs::create_dir_all(stage.root().join(".making-sf7")).unwrap();
    fs::create_dir_all(stage.root().join("mine")).unwrap();
    fs::create_dir_all(stage.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(stage.path("elsewhere"), stage.root().join(".old-sf9")).unwrap();
    stage.make(KEY).unwrap();
    assert!(!making.exists());

    // A living maker of sf7 holds its lock.
    let lock = File::create(stage.root().join(".lock-sf7")).unwrap();
    lock.lock().unwrap();
    assert_eq!(remove_leftovers(&stage.root()).unwrap(), [stage.root().join(".old-sf9")]);
    assert!(stage.root().join(".making-sf7").exists() && stage.path("elsewhere").exists());
    lock.unlock().unwrap();
    assert_eq!(remove_leftovers(&stage.root()).unwrap(), [stage.root().join(".making-sf7")]);
    assert_eq!(stage.left(&["sf0.01", "mine"]), [""; 0]);
    assert!(remove_leftovers(&stage.path("nowhere")).unwrap().is_empty());
}

#[test]
fn the_second_of_two_makers_waits_and_finds_what_the_first_made() {
    let stage = Stage::new();
    // Fails where a table is made for the second time.
    stage.program(
        "generator",
        &GENERATOR.replace("printf", "mkdir \"${0%/*}/made-$table\" || exit 9; sleep 0.05; printf"),
    );
    let made: Vec<Dataset> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..3).map(|_| scope.spawn(|| stage.make(KEY))).collect();
        makers.into_iter().map(|maker| maker.join().unwrap().unwrap()).collect()
    });
    assert!(made.iter().all(|dataset| *dataset == made[0]));
}

#[test]
fn waiting_for_another_maker_can_be_stopped() {
    let stage = Stage::new();
    fs::create_dir_all(stage.root()).unwrap();
    let lock = File::create(stage.root().join(".lock-sf0.01")).unwrap();
    lock.lock().unwrap();
    let stop = AtomicBool::new(false);
    let mut said = String::new();
    let mut stop_when_waiting = |_: f64, what: &str| {
        said = what.to_owned();
        stop.store(true, Ordering::Relaxed);
    };
    let stopped = stage.make_seen(KEY, &mut stop_when_waiting, &stop).unwrap_err();
    assert!(matches!(stopped, DatasetError::Stopped));
    assert!(said.contains("another"), "{said}");
}

#[test]
fn names_and_sizes_follow_the_scale() {
    let key = |scale, cluster| Key { scale, cluster };
    assert_eq!(key(1.0, Cluster::OrderKey).folder_name(), "sf1");
    assert_eq!(key(0.1, Cluster::OrderKey).to_string(), "sf0.1");
    assert_eq!(key(1000.0, Cluster::ShipDate).folder_name(), "sf1000-shipdate");
    assert_eq!(logical_bytes(key(0.1, Cluster::OrderKey)), 100_000_000);
    assert_eq!(expected_bytes(key(1.0, Cluster::OrderKey)) / 1_000_000, 361);
}

#[test]
fn the_cache_is_where_the_user_keeps_it() {
    let root = |xdg: Option<&str>, home: Option<&str>| cache_root(xdg.map(OsStr::new), home.map(OsStr::new));
    assert_eq!(root(Some("/x"), Some("/home/alice")), Some("/x/threadwise/tpch".into()));
    assert_eq!(root(None, Some("/home/alice")), Some("/home/alice/.cache/threadwise/tpch".into()));
    assert_eq!(root(Some("x"), Some("/home/alice")), Some("/home/alice/.cache/threadwise/tpch".into()));
    assert_eq!(root(Some(""), None), None);
}
