//! Folders of cells: taken, left, taken again, and whole at the end.

use super::*;
use crate::cell::{Outcome, VERSION};

fn cell() -> CellId {
    "n1.2".parse().unwrap()
}

fn record(outcome: Outcome) -> CellRecord {
    let reason = (outcome != Outcome::Measured).then(|| "it was busy".to_owned());
    CellRecord {
        version: VERSION,
        plan: "p".into(),
        cell: cell(),
        kind: "k".into(),
        program: "0".into(),
        machine_hash: None,
        boot_id: None,
        node: Some("n1".into()),
        machine_type: None,
        kernel: None,
        microcode: None,
        job: Some("7".into()),
        started_utc: "T1".into(),
        ended_utc: "T2".into(),
        online_cpus: None,
        allowed_cpus: None,
        exclusivity: Vec::new(),
        outcome,
        reason,
        notes: Vec::new(),
        earlier: Vec::new(),
    }
}

fn taken(cells: &Path) -> WorkFolder {
    match WorkFolder::take(cells, &cell(), "p").unwrap() {
        Taken::Ours(folder) => *folder,
        Taken::Whole(..) => panic!("it is not measured"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_outlives_its_process_and_is_whole_after_a_rename() {
    let cells = tempfile::tempdir().unwrap();
    let mut first = taken(cells.path());
    first.begin("T0", Some("n1"), Some("6")).unwrap();
    std::fs::write(first.new_study(), "part").unwrap();
    let path = first.path.clone();
    let other = WorkFolder::take(cells.path(), &cell(), "p").unwrap_err();
    assert!(matches!(&other, FleetError::Refused(why) if why.contains("another process")), "{other}");
    // As a kill leaves it.
    drop(first);
    let mut second = taken(cells.path());
    assert_eq!((&second.path, second.study().unwrap()), (&path, Some(path.join(STUDY_FILE))));
    assert_eq!(second.earlier.iter().map(|one| one.how.as_str()).collect::<Vec<_>>(), [NO_END]);
    second.begin("T1", Some("n1"), Some("7")).unwrap();
    second.stopped("stopped after 2 blocks").unwrap();
    drop(second);
    let third = taken(cells.path());
    assert_eq!(third.earlier[1].how, "stopped after 2 blocks");
    let whole = third.finish(record(Outcome::Measured), 0).unwrap();
    assert_eq!(names(cells.path()), ["n1.2"]);
    assert_eq!(names(&whole), [RECORD_FILE, EXIT_FILE, STUDY_FILE]);
    let Taken::Whole(found, exit) = WorkFolder::take(cells.path(), &cell(), "p").unwrap() else { panic!() };
    assert_eq!((found.earlier.len(), exit), (2, 0));
    let other_plan = WorkFolder::take(cells.path(), &cell(), "q").unwrap_err();
    assert!(other_plan.to_string().contains("another plan"), "{other_plan}");
}

#[test]
fn a_refused_cell_is_begun_again_from_what_it_left() {
    let cells = tempfile::tempdir().unwrap();
    let first = taken(cells.path());
    std::fs::write(first.new_study(), "part").unwrap();
    first.finish(record(Outcome::Refused), 3).unwrap();
    assert_eq!(names(cells.path()), ["n1.2"]);
    let second = taken(cells.path());
    assert_eq!(second.earlier.iter().map(|one| one.how.as_str()).collect::<Vec<_>>(), ["it was busy"]);
    assert_eq!(std::fs::read_to_string(second.study().unwrap().unwrap()).unwrap(), "part");
    assert!(!second.path.join(EXIT_FILE).exists() && !second.path.join(RECORD_FILE).exists());
}

#[test]
fn files_of_earlier_boots_are_kept_and_named() {
    let cells = tempfile::tempdir().unwrap();
    let folder = taken(cells.path());
    for (name, text) in
        [(STUDY_FILE, "one"), ("study-boot2.threadwise", "two"), ("study-boot10.threadwise", "ten")]
    {
        std::fs::write(folder.path.join(name), text).unwrap();
    }
    assert!(folder.study().unwrap().unwrap().ends_with("study-boot10.threadwise"));
    let whole = folder.finish(record(Outcome::Measured), 0).unwrap();
    assert_eq!(std::fs::read_to_string(whole.join(STUDY_FILE)).unwrap(), "ten");
    assert_eq!(std::fs::read_to_string(whole.join("before-boot10-1.threadwise")).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(whole.join("before-boot10-2.threadwise")).unwrap(), "two");
    let notes = read_record(&whole.join(RECORD_FILE)).unwrap().notes;
    assert!(notes.len() == 2 && notes[1].contains("before-boot10-2.threadwise"), "{notes:?}");
}

#[test]
fn a_file_that_cannot_be_read_makes_room_with_its_journal() {
    let cells = tempfile::tempdir().unwrap();
    let mut folder = taken(cells.path());
    std::fs::write(folder.new_study(), "").unwrap();
    std::fs::write(folder.path.join("study.threadwise-journal"), "j").unwrap();
    folder.put_aside(&folder.new_study(), "it is empty").unwrap();
    assert_eq!(folder.study().unwrap(), None);
    assert!(folder.path.join("unreadable-1.threadwise-journal").exists());
    std::fs::write(folder.new_study(), "").unwrap();
    folder.put_aside(&folder.new_study(), "it is empty").unwrap();
    assert!(folder.path.join("unreadable-2.threadwise").exists());
    assert_eq!(folder.notes.len(), 2);
}

#[test]
fn a_damaged_cell_is_not_touched() {
    let cells = tempfile::tempdir().unwrap();
    let whole = taken(cells.path()).finish(record(Outcome::Measured), 0);
    // Measured, and no result file.
    let whole = whole.unwrap();
    let error = WorkFolder::take(cells.path(), &cell(), "p").unwrap_err().to_string();
    assert!(error.contains("it does not exist, though the cell was measured"), "{error}");
    std::fs::write(whole.join(STUDY_FILE), "x").unwrap();
    std::fs::write(whole.join(EXIT_FILE), "").unwrap();
    assert!(
        WorkFolder::take(cells.path(), &cell(), "p").unwrap_err().to_string().contains("not an exit code")
    );
    std::fs::write(whole.join(RECORD_FILE), "{").unwrap();
    assert!(WorkFolder::take(cells.path(), &cell(), "p").unwrap_err().to_string().contains("not the record"));
    assert_eq!(names(cells.path()), ["n1.2"]);
}
