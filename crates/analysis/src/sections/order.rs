//! The order of slices in the method section: how balanced it was, and whether slices change the next ones.

use crate::Facts;
use crate::findings::order::{LEAST_SHIFT, name};
use crate::order::{After, Order, Pairs};
use crate::words::{changed, share};
use threadwise_document::{Prose, numbers, prose};

/// The paragraph; `None` without slices.
pub fn paragraph(facts: &Facts<'_>) -> Option<Prose> {
    let order = facts.analysis.order.as_ref().filter(|order| order.pairs.pairs > 0)?;
    let mut text = neighbours(&order.pairs);
    text.push(" ");
    text.push(match (order.largest(), &order.gap) {
        (Some(largest), _) => tested(facts, order, largest),
        (None, gap) => prose!(
            "Whether a slice changes the speed of the next one is not tested: {}.",
            gap.as_deref().unwrap_or("no contrast is known")
        ),
    });
    Some(text)
}

fn neighbours(pairs: &Pairs) -> Prose {
    let times = match pairs.least == pairs.most {
        true => numbers::counted(pairs.most as usize, "time"),
        false => format!("{} to {} times", pairs.least, pairs.most),
    };
    prose!(
        "Each treatment came right after each, itself included, {} ({}).",
        times,
        numbers::counted(pairs.pairs as usize, "ordered pair")
    )
}

fn tested(facts: &Facts<'_>, order: &Order, largest: &After) -> Prose {
    let shown = order.after.iter().filter(|after| after.change.shown).count();
    let is_shown = match shown {
        0 => "no carry-over is shown".to_owned(),
        1 => "carry-over is shown for it alone".to_owned(),
        more => format!("carry-over is shown for {more}"),
    };
    let mut text = prose!(
        "Carry-over: the rate of slices after {}, over that of slices after the others and adjusted for round and \
         treatment, is {}, the largest change of {}; by Holm's method {}.",
        name(facts, &largest.treatment),
        changed(&largest.change),
        order.after.len(),
        is_shown
    );
    if let Some(shift) = &order.shift {
        text.push(prose!(
            " Within such intervals it shifts no throughput ratio by more than {}.",
            share(shift.share.max(LEAST_SHIFT))
        ));
    }
    text
}
