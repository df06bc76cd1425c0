//! One run, as pure functions: the order of its items, the item that is compared, and the results in its spans.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use threadwise_engine::EngineError;
use threadwise_study::ItemSpan;
use threadwise_study::worklist::Order;

use crate::plan::{Item, Span};

/// Streams of a block's seed.
const ORDER: u64 = 1;
const KEEP: u64 = 2;

/// Most failed items that an error names.
const NAMED: usize = 3;

/// Places of the items in the order in which they are started.
pub(super) fn order(items: &[Item], order: Order, seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..items.len()).collect();
    match order {
        Order::Given => {}
        // Stable: equal sizes stay as given.
        Order::Largest => places.sort_by_key(|&place| Reverse(items[place].size_bytes)),
        Order::Shuffled => places.shuffle(&mut random(seed, ORDER)),
    }
    places
}

/// The item that is compared with its source after a run; each run has another.
pub(super) fn kept(count: usize, seed: u64, run: u64) -> usize {
    random(seed.wrapping_add(run), KEEP).random_range(0..count.max(1))
}

fn random(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// Why a run's items are not all done, if so.
pub(super) fn fault(items: &[Item], spans: &[Span]) -> Option<EngineError> {
    let name = |span: &Span| items.get(span.index).map_or("an unknown item".into(), Item::label);
    let failed: Vec<String> =
        spans.iter().filter_map(|span| Some(format!("{}: {}", name(span), span.fault.as_deref()?))).collect();
    let what = match failed.len() {
        0 if spans.len() == items.len() => return None,
        0 => format!("{} of {} items were finished", spans.len(), items.len()),
        many => {
            let more = if many > NAMED { format!("; and {} more", many - NAMED) } else { String::new() };
            format!(
                "{many} of {} items failed: {}{more}",
                items.len(),
                failed.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ")
            )
        }
    };
    Some(EngineError::Command { kind: "item", what })
}

/// The spans of a run for its slice, in the order of the list.
pub(super) fn item_spans(items: &[Item], spans: &[Span], began_ns: u64) -> Vec<ItemSpan> {
    let mut item_spans: Vec<ItemSpan> = spans
        .iter()
        .map(|span| ItemSpan {
            index: span.index as u32,
            name: items.get(span.index).map(|item| item.label().into_owned()).unwrap_or_default(),
            job: span.job,
            started_ns: span.start_ns.saturating_sub(began_ns),
            elapsed_ns: span.end_ns.saturating_sub(span.start_ns),
        })
        .collect();
    item_spans.sort_by_key(|item| item.index);
    item_spans
}
