//! Displayed names of treatments and groups.

use threadwise_study::{OptionValue, Study};

/// A treatment's name without its group's suffix: `same-core` of `same-core/l2`. Names in study files have no `/`.
pub fn bare(name: &str) -> &str {
    name.split_once('/').map_or(name, |(bare, _)| bare)
}

/// Each of these once, in order of appearance.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Classes of things that are alike, in order of first appearance; each is compared with the first of a class.
pub fn classes<T>(all: impl IntoIterator<Item = T>, is_like: impl Fn(&T, &T) -> bool) -> Vec<Vec<T>> {
    let mut classes: Vec<Vec<T>> = Vec::new();
    for one in all {
        match classes.iter_mut().find(|class| is_like(&class[0], &one)) {
            Some(class) => class.push(one),
            None => classes.push(vec![one]),
        }
    }
    classes
}

/// Groups by a key of each, in order of first appearance.
pub fn grouped_by<T, K: PartialEq>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    grouped(all.into_iter().map(|one| (key(&one), one)))
}

/// Values by their key, keys in order of appearance.
pub fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The most frequent of these; of several, the first.
pub fn most_frequent<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Option<T> {
    let counted = grouped(all.into_iter().map(|one| (one, ())));
    Some(counted.into_iter().rev().max_by_key(|(_, each)| each.len())?.0)
}

/// Where the data of a group fits (`inside L2`), or its levels as they are (`(shared=true)`).
pub fn group_words(study: &Study, group: &str) -> String {
    levels(group)
        .map(|level| data_words(study, group, level).unwrap_or_else(|| format!("({level})")))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The levels of a group, such as `data=l2`.
pub fn levels(group: &str) -> impl Iterator<Item = &str> {
    group.split(',').map(str::trim).filter(|level| !level.is_empty())
}

/// Where data fits by a level of `data`; `None` for levels of other factors.
pub fn data_words(study: &Study, group: &str, level: &str) -> Option<String> {
    Some(match level.strip_prefix("data=")? {
        "l2" => "inside L2".to_owned(),
        "llc" => "inside the LLC".to_owned(),
        "memory" => "beyond the LLC".to_owned(),
        "large" => format!("with {} per session", data_size(study, group)),
        other => format!("({other})"),
    })
}

/// Data of one session of a group: its blocks of 4,096 bytes.
fn data_size(study: &Study, group: &str) -> String {
    let treatment = study.treatments.iter().find(|treatment| treatment.group == group);
    match treatment.and_then(|treatment| treatment.options.get("blocks")) {
        Some(OptionValue::Integer(blocks)) if *blocks >= 256 => format!("{} MiB", blocks / 256),
        Some(OptionValue::Integer(blocks)) => format!("{} KiB", blocks * 4),
        _ => "data of unknown size".to_owned(),
    }
}
