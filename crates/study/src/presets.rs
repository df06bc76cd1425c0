//! Built-in studies, as data in `studies/*.toml`.

/// Name and text of each preset, from its file.
macro_rules! presets {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../studies/", $name, ".toml")))),*]
    };
}

/// Name and text of each preset; the first is the default.
const PRESETS: [(&str, &str); 23] = presets! {
    "placement" "session-sweep" "cached-reads" "concurrent-inserts" "smt-boots" "locks" "kernels" "smt-off" "load" "vcpus"
    "log-buffer" "log-buffer-memory" "parallel-queries" "parallel-workers" "tpch-streams" "mixed-load"
    "pool" "transaction" "maxdop" "bind" "command" "work-list" "reload-schedule"
};

/// Name of the default study of `threadwise run`.
pub const DEFAULT: &str = PRESETS[0].0;

/// Name and title of each preset, the default first.
pub fn names() -> Vec<(&'static str, &'static str)> {
    let title = |text: &'static str| {
        text.lines().find_map(|line| line.strip_prefix("title = \"")?.strip_suffix('"')).unwrap_or_default()
    };
    PRESETS.iter().map(|(name, text)| (*name, title(text))).collect()
}

/// The TOML text of a preset.
pub fn get(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::StudyFile;

    #[test]
    fn every_preset_reads_and_carries_its_own_name_and_title() {
        for (name, title) in names() {
            let file = StudyFile::preset(name).unwrap();
            assert_eq!((file.name(), file.title()), (name, title));
        }
        assert_eq!(DEFAULT, "placement");
        assert_eq!(get("nothing"), None);
    }
}
