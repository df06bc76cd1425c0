//! Studies that come with the program, as data in `studies/*.toml`.

/// Name, title and text of each preset; the first is the default.
const PRESETS: [(&str, &str, &str); 2] = [
    (
        "placement",
        "Cached reads of two sessions: one logical CPU, one core, two cores, two packages",
        include_str!("../../../studies/placement.toml"),
    ),
    (
        "session-sweep",
        "Cached reads against sessions: 1, 2, 4, ... up to the allowed logical CPUs and past them",
        include_str!("../../../studies/session-sweep.toml"),
    ),
];

/// Names and titles, the first is the default.
const NAMES: [(&str, &str); 2] = [(PRESETS[0].0, PRESETS[0].1), (PRESETS[1].0, PRESETS[1].1)];

/// Name of the study that `threadwise run` takes when none is named.
pub const DEFAULT: &str = PRESETS[0].0;

/// Name and title of each preset, the default first.
pub fn names() -> &'static [(&'static str, &'static str)] {
    &NAMES
}

/// The TOML text of a preset.
pub fn get(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::StudyFile;

    #[test]
    fn every_preset_reads_and_carries_its_own_name_and_title() {
        for (name, title) in names() {
            let file = StudyFile::preset(name).unwrap();
            assert_eq!((file.name(), file.title()), (*name, *title));
        }
        assert_eq!(DEFAULT, "placement");
        assert_eq!(get("nothing"), None);
    }
}
