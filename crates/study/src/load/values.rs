//! Meaning of single values of a study definition.

use threadwise_machine::placement::Service;
use threadwise_machine::{Memory, Pin, PlacementError};
use toml::{Spanned, Value};

use super::error::{LoadError, Source};
use super::raw::RawSweep;
use crate::Workload;

/// Orders in which a sweep takes logical CPUs.
const ORDERS: [&str; 2] = ["spread", "packed"];

/// More sessions in one treatment are taken for a typing error.
pub const MAX_SESSIONS: u32 = 4096;

/// The error of a number of sessions, if any.
pub(super) fn session_fault(count: u32) -> Option<String> {
    match count {
        0 => Some("0 sessions; at least 1 is needed".to_owned()),
        1..=MAX_SESSIONS => None,
        _ => Some(format!("{count} sessions; at most {MAX_SESSIONS} are allowed")),
    }
}

/// The numbers of `--sessions`, ascending, each once.
pub(super) fn session_list(counts: &[u32]) -> Result<Vec<u32>, LoadError> {
    let refused = |why: String| LoadError::Override { option: "--sessions".to_owned(), why };
    if let Some(fault) = counts.iter().find_map(|&count| session_fault(count)) {
        return Err(refused(fault));
    }
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    counts.dedup();
    if counts.is_empty() { Err(refused("no number is given".to_owned())) } else { Ok(counts) }
}

/// The meaning of `pin` in a study of this workload. Threads of a parallel query float in their set.
pub(super) fn pin(
    word: Option<&Spanned<String>>,
    workload: &Workload,
    source: &Source,
) -> Result<Pin, LoadError> {
    let is_parallel = workload.has_dop() || *workload == Workload::WorkList;
    match word.map(|word| (word.get_ref().as_str(), word.span())) {
        None if is_parallel => Ok(Pin::Set),
        Some(("each", span)) if is_parallel => {
            let who = if workload.has_dop() { "threads of a query" } else { "jobs of a work list" };
            Err(source.at(span, format!("pin is 'each', but the {who} share the placement; set is allowed")))
        }
        None | Some(("each", _)) => Ok(Pin::Each),
        Some(("set", _)) => Ok(Pin::Set),
        Some((other, span)) => Err(source.at(
            span,
            format!("pin is '{other}'; each (a session on its own logical CPU) and set (sessions float inside the placement) are allowed"),
        )),
    }
}

/// The meaning of `memory`.
pub(super) fn memory(text: Option<&Spanned<String>>, source: &Source) -> Result<Memory, LoadError> {
    let Some(text) = text else { return Ok(Memory::Local) };
    text.get_ref().parse().map_err(|error: PlacementError| source.at(text.span(), error.to_string()))
}

/// The meaning of `service`.
pub(super) fn service(text: Option<&Spanned<String>>, source: &Source) -> Result<Option<Service>, LoadError> {
    let read = |text: &Spanned<String>| {
        text.get_ref().parse().map_err(|error: PlacementError| source.at(text.span(), error.to_string()))
    };
    text.map(read).transpose()
}

/// The orders of a list, each once.
///
/// # Errors
/// An unknown or duplicate order, or an empty list.
pub(super) fn orders<'a>(asked: impl Iterator<Item = &'a str>) -> Result<Vec<&'static str>, String> {
    let mut found: Vec<&'static str> = Vec::new();
    for word in asked {
        match ORDERS.into_iter().find(|order| *order == word) {
            None => {
                return Err(format!(
                    "order is '{word}'; spread (cores first) and packed (siblings first) are allowed"
                ));
            }
            Some(order) if found.contains(&order) => return Err(format!("order '{word}' appears twice")),
            Some(order) => found.push(order),
        }
    }
    if found.is_empty() {
        Err("no order is given; spread and packed are allowed".to_owned())
    } else {
        Ok(found)
    }
}

/// The orders of a sweep: one word, or a list of them.
pub(super) fn sweep_orders(sweep: &RawSweep, source: &Source) -> Result<Vec<&'static str>, LoadError> {
    let Some(value) = &sweep.order else { return Ok(vec!["spread"]) };
    let wrong = |why: String| source.at(value.span(), why);
    let words = match value.get_ref() {
        Value::String(word) => vec![word.as_str()],
        Value::Array(words) => words
            .iter()
            .map(|word| word.as_str().ok_or_else(|| wrong(format!("order is {word}; a word is needed"))))
            .collect::<Result<_, _>>()?,
        other => return Err(wrong(format!("order is {other}; spread, packed or a list of both is allowed"))),
    };
    orders(words.into_iter()).map_err(wrong)
}

/// The listed points of a sweep; `None` for `auto`.
pub(super) fn sweep_points(sweep: &RawSweep, source: &Source) -> Result<Option<Vec<u32>>, LoadError> {
    let Some(value) = &sweep.sessions else { return Ok(None) };
    let wrong = |why: &str| {
        Err(source.at(
            value.span(),
            format!("sessions of a sweep: {why}; \"auto\" or a list such as [1, 2, 4] is allowed"),
        ))
    };
    let points = match value.get_ref() {
        Value::String(word) if word == "auto" => return Ok(None),
        Value::Array(points) => points,
        other => return wrong(&format!("{other} is neither")),
    };
    let mut counts = Vec::with_capacity(points.len());
    for point in points {
        let count = point.as_integer().and_then(|count| u32::try_from(count).ok());
        match count.map(|count| (count, session_fault(count))) {
            Some((count, None)) => counts.push(count),
            Some((_, Some(fault))) => return wrong(&fault),
            None => return wrong(&format!("{point} is not a number of sessions")),
        }
    }
    if counts.is_empty() { wrong("the list is empty") } else { Ok(Some(counts)) }
}
