//! CPU lists and masks, the kernel's two forms of a set.

use crate::random::Grammar;
use crate::target::{Judged, Target, hold, same};
use threadwise_machine::CpuSet;

/// A logical CPU, a range, and every few of a range: of a small machine, and rarely of a large one.
const SMALL: &str = "([0-9]|[1-9][0-9]{1,2}|[0-3]-[4-9]|[1-9][0-9]-[1-9][0-9]{2}|[0-9]-[1-9][0-9]:[1-9])";
const LARGE: &str = "([1-5][0-9]{4}|[0-9]{1,2}-[1-5][0-9]{4}|[1-9][0-9]{2}-[1-5][0-9]{4}:[1-9])";
const MASK: &str = "[0-9a-f]{8}(,[0-9a-f]{8}){0,5}";

/// The target.
pub fn make() -> Result<Target, String> {
    let part = format!("({SMALL}|{SMALL}|{SMALL}|{SMALL}|{SMALL}|{LARGE})");
    let (list, mask) = (Grammar::new(&format!("{part}(,{part}){{0,5}}"))?, Grammar::new(MASK)?);
    Ok(Target::texts(
        65,
        4,
        move |random| {
            let is_list = random.percent(75);
            random.matching(if is_list { &list } else { &mask })
        },
        judge,
    ))
}

fn judge(text: &str) -> Judged {
    let (list, ordered, mask) =
        (CpuSet::parse_list(text), CpuSet::parse_ordered(text), CpuSet::parse_mask(text));
    hold(list.is_ok() == ordered.is_ok(), || {
        "one reading of a list accepts what the other refuses".to_owned()
    })?;
    for error in [list.as_ref().err(), mask.as_ref().err()].into_iter().flatten() {
        hold(!error.why.is_empty(), || "an error without a reason".to_owned())?;
    }
    let past = list.is_ok() || mask.is_ok();
    if let (Ok(list), Ok(ordered)) = (&list, ordered) {
        hold(*list == ordered.into_iter().collect(), || "the orders differ in their set".to_owned())?;
    }
    for set in [list, mask].into_iter().flatten() {
        same(&CpuSet::parse_list(&set.to_string()), &set)?;
        hold(set.len() == set.iter().count(), || format!("{set} counts itself wrongly"))?;
    }
    Ok(past)
}
