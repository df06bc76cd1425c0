//! Reads the built-in files of `published/`.

use crate::types::Published;
use std::collections::BTreeSet;

/// Version of the file format.
const VERSION: u32 = 1;

/// Name and text of each study, in display order.
const STUDIES: [(&str, &str); 5] = [
    ("parallel-queries", include_str!("../../../published/parallel-queries.toml")),
    ("log-buffer", include_str!("../../../published/log-buffer.toml")),
    ("concurrent-inserts", include_str!("../../../published/concurrent-inserts.toml")),
    ("work-list", include_str!("../../../published/work-list.toml")),
    ("cached-reads", include_str!("../../../published/cached-reads.toml")),
];

/// An unknown, ambiguous or broken published study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishedError {
    /// No study has this name.
    #[error("there is no published study '{name}': there are {known}; `threadwise published` lists them")]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A plain name matches several.
    #[error("'{name}' matches several published studies: {fitting}; give one of them")]
    Several {
        /// The name.
        name: String,
        /// The matching studies.
        fitting: String,
    },
    /// Its built-in file is invalid.
    #[error(
        "the built-in published study '{name}' is broken: {message}; this is a bug in \
         the program, please report it"
    )]
    Broken {
        /// The name.
        name: String,
        /// What is wrong.
        message: String,
    },
}

/// Names of all published studies, in display order.
pub fn names() -> Vec<&'static str> {
    STUDIES.iter().map(|(name, _)| *name).collect()
}

/// All published studies, in display order.
///
/// # Errors
/// [`PublishedError::Broken`].
pub fn all() -> Result<Vec<Published>, PublishedError> {
    STUDIES.iter().map(|(name, text)| read(name, text)).collect()
}

/// The published study of this name.
///
/// # Errors
/// [`PublishedError`]: it does not exist, or is broken.
pub fn find(name: &str) -> Result<Published, PublishedError> {
    let known = STUDIES.iter().find(|(known, _)| *known == name);
    let unknown = || PublishedError::Unknown { name: name.to_owned(), known: names().join(", ") };
    let (name, text) = known.ok_or_else(unknown)?;
    read(name, text)
}

/// The published study that a plain name matches: its name or a part of it, an alias, or a word of its title.
///
/// # Errors
/// [`PublishedError`]: none matches, several do, or one is broken.
pub fn find_plain(typed: &str) -> Result<Published, PublishedError> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(typed);
    if word.is_empty() || names().contains(&typed) {
        return find(typed);
    }
    let all = all()?;
    let named = |study: &&Published| {
        plain(&study.name).contains(&word) || study.also.iter().any(|also| plain(also) == word)
    };
    let about =
        |study: &&Published| [&study.short, &study.about].iter().any(|text| plain(text).contains(&word));
    let first: Vec<&Published> = all.iter().filter(named).collect();
    let fitting = if first.is_empty() { all.iter().filter(about).collect() } else { first };
    match fitting[..] {
        [] => find(typed),
        [one] => Ok(one.clone()),
        _ => Err(PublishedError::Several {
            name: typed.to_owned(),
            fitting: fitting.iter().map(|study| study.name.as_str()).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// SMT yields of all published studies: name of the study and ratio.
///
/// # Errors
/// [`PublishedError::Broken`].
pub fn smt_yields() -> Result<Vec<(String, f64)>, PublishedError> {
    const YIELD: &str = "SMT yield";
    let mut yields = Vec::new();
    for published in all()? {
        let figures = published.figures.iter().filter(|figure| {
            let texts = [Some(figure.what.as_str()), figure.note.as_deref()];
            texts.into_iter().flatten().any(|text| text.starts_with(YIELD))
        });
        yields.extend(figures.filter_map(|figure| Some((published.name.clone(), figure.number()?))));
    }
    Ok(yields)
}

fn read(name: &str, text: &str) -> Result<Published, PublishedError> {
    let broken = |message: String| PublishedError::Broken { name: name.to_owned(), message };
    let published: Published = toml::from_str(text).map_err(|error| broken(error.message().to_owned()))?;
    match fault(&published, name) {
        Some(message) => Err(broken(message)),
        None => Ok(published),
    }
}

/// The first error in a file's content, if any.
fn fault(published: &Published, name: &str) -> Option<String> {
    if (published.version, published.name.as_str()) != (VERSION, name) {
        return Some(format!("its version is {} and its name '{}'", published.version, published.name));
    }
    let ids: Vec<&str> = published.figures.iter().map(|figure| figure.id.as_str()).collect();
    if ids.iter().collect::<BTreeSet<_>>().len() != ids.len() {
        return Some("two figures have the same name".to_owned());
    }
    let arms: BTreeSet<&str> = published.arms.iter().map(|arm| arm.id.as_str()).collect();
    if arms.len() != published.arms.len() {
        return Some("two arms have the same name".to_owned());
    }
    if let Some(lost) =
        published.figures.iter().filter_map(|figure| figure.arm.as_deref()).find(|arm| !arms.contains(arm))
    {
        return Some(format!("a figure names the unknown arm '{lost}'"));
    }
    let named = published.slips.iter().map(|slip| &slip.figure);
    let named = named.chain(published.comparisons.iter().map(|comparison| &comparison.figure));
    let mut named = named.chain(published.charts.iter().flat_map(|chart| &chart.figures));
    if let Some(lost) = named.find(|id| !ids.contains(&id.as_str())) {
        return Some(format!("it names the unknown figure '{lost}'"));
    }
    let without = ids.iter().find(|id| published.computed(id).is_none());
    without.map(|id| format!("the figure '{id}' has no number, or does not follow from the other figures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with something exchanged, and what is said of it.
    fn said(from: &str, to: &str) -> String {
        let (name, text) = STUDIES[4];
        assert!(text.contains(from), "{from}");
        read(name, &text.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn the_smt_yields_are_found() {
        let yields = smt_yields().unwrap();
        let values: Vec<f64> = yields.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [1.25, 1.22, 1.316], "{yields:?}");
    }

    #[test]
    fn broken_files_are_refused_with_what_is_wrong() {
        assert!(said("version = 1", "version = 2").contains("version is 2"));
        assert!(said("section = 5", "chapter = 5").contains("unknown field `chapter`"));
        assert!(said("id = \"two-cores\"", "id = \"two-sockets\"").contains("two arms"));
        assert!(said("arm = \"two-cores\"", "arm = \"three\"").contains("the unknown arm 'three'"));
        assert!(said("figure = \"smt-yield\"", "figure = \"x\"").contains("the unknown figure 'x'"));
        assert!(
            said("value = \"955,750\"", "value = \"many\"").contains("'reads-two-sockets' has no number")
        );
        assert!(
            said("denominator = [\"reads-one-cpu\"]", "denominator = [\"smt-yield\"]")
                .contains("'smt-yield'")
        );
        assert!(matches!(find("x"), Err(PublishedError::Unknown { .. })));
    }
}
