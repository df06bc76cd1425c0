//! CPU lists and masks, the kernel's two forms of a set.

use crate::target::{Judged, Target, hold, same};
use threadwise_machine::CpuSet;

/// A logical CPU, a range, and every few of a range.
const PART: &str = "([0-9]|[1-9][0-9]{1,2}|[1-5][0-9]{4}|[0-3]-[4-9]|[1-9][0-9]-[1-9][0-9]{2}|[0-9]{1,2}-[1-5][0-9]{4}|\
    [0-3]-[4-9]:[1-9]|[0-9]-[1-9][0-9]:[1-9]|[1-9][0-9]{2}-[1-5][0-9]{4}:[1-9])";
const MASK: &str = "[0-9a-f]{8}(,[0-9a-f]{8}){0,5}";

/// The target.
pub fn make() -> Result<Target, String> {
    let list = format!("{PART}(,{PART}){{0,5}}");
    Ok(Target::texts(
        65,
        4,
        move |random| {
            let is_list = random.percent(75);
            random.matching(if is_list { &list } else { MASK })
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
