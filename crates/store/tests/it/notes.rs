//! Notes and their codes, in files of this version and of earlier ones.

use crate::boots::resume;
use crate::made;
use threadwise_store::Store;
use threadwise_study::{Note, NoteCode};

#[test]
fn codes_are_kept_and_older_files_are_known_by_their_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut store = Store::create(&path, &made::study(), &made::topology(), &made::versions()).unwrap();
    let notes = [
        Note::new(NoteCode::NotPlaced, "server not pinned: it runs on another machine"),
        Note::from("loaded 200000 rows"),
        Note::new(NoteCode::MemoryPlacedEarlier, "memory placed earlier: the server was running before"),
        Note::new(NoteCode::NoLooks, "no looks at where slices ran: the clock is too coarse"),
        Note::new(NoteCode::NotProbed, "the hardware was not probed (--no-probe)"),
        Note::new(NoteCode::NoReadings("clock".to_owned()), "no readings of clock: hidden: by root"),
    ];
    for note in &notes {
        store.note(note.clone()).unwrap();
    }
    store.note(Note::new(NoteCode::NoLooks, "in other words")).unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    let found = store.notes().unwrap();
    assert_eq!((&found[..6], &found[6].code), (&notes[..], &NoteCode::NoLooks));
    drop(store);
    let plain = rusqlite::Connection::open(&path).unwrap();
    plain.execute_batch("DROP TABLE note_codes; PRAGMA user_version = 6").unwrap();
    drop(plain);
    let found = Store::open(&path).unwrap().notes().unwrap();
    assert_eq!((&found[..6], &found[6].code), (&notes[..], &NoteCode::Other));
    let mut store = resume(&path).unwrap();
    store.note(Note::new(NoteCode::NotPlaced, "somewhere")).unwrap();
    assert_eq!(store.notes().unwrap()[7].code, NoteCode::NotPlaced);
}
