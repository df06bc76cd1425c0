//! Generated databases of Firebird.

use crate::lab_servers::firebird::support::{options, place, reloaded};
use threadwise_reload::generate::{Engine, make};
use threadwise_reload::item::Outcome;

#[test]
#[ignore = "laboratory: servers"]
fn generated_databases_have_their_sizes_and_the_same_rows_again_and_can_be_reloaded() {
    let place = place();
    let sizes = [1, 3_000_000, 8_000_000];
    let made = |name: &str| {
        let folder = place.path(name);
        std::fs::create_dir(&folder).unwrap();
        make(Engine::Firebird, &folder, &sizes, 5).unwrap()
    };
    let (paths, again) = (made("one"), made("two"));
    let sums =
        |path| place.sql(path, "select count(*) || ' ' || max(note) || ' ' || sum(amount) from items;");
    for ((path, twin), size) in paths.iter().zip(&again).zip(sizes) {
        let made = path.metadata().unwrap().len();
        assert!(made >= size && made < size + size / 4 + 2_000_000, "{}: {made} for {size}", path.display());
        assert_eq!(sums(path).unwrap(), sums(twin).unwrap());
        assert_eq!(place.sql(path, "select mon$forced_writes from mon$database;").unwrap(), ["1"]);
    }
    assert_eq!(std::fs::read_dir(place.path("one")).unwrap().count(), 3, "nothing else is left");
    let report = reloaded(&paths[1], &options());
    assert_eq!(report.outcome, Outcome::Done);
    assert!(report.checked.unwrap().rows > 1000);
    assert_eq!(sums(&paths[1]).unwrap(), sums(&again[1]).unwrap());
}
