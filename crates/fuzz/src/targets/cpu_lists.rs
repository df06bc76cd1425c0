//! CPU lists and masks, the kernel's two forms of a set.

use crate::random::Grammar;
use crate::target::{Target, same};
use threadwise_machine::CpuSet;

/// A logical CPU, a range, and every few of a range: of a small machine, and rarely of a large one.
const SMALL: &str = "([0-9]|[1-9][0-9]{1,2}|[0-3]-[4-9]|[1-9][0-9]-[1-9][0-9]{2}|[0-9]-[1-9][0-9]:[1-9])";
const LARGE: &str = "([1-5][0-9]{4}|[0-9]{1,2}-[1-5][0-9]{4}|[1-9][0-9]{2}-[1-5][0-9]{4}:[1-9])";
const MASK: &str = "[0-9a-f]{8}(,[0-9a-f]{8}){0,5}";

/// The target.
pub fn make() -> Target {
    let part = format!("({SMALL}|{SMALL}|{SMALL}|{SMALL}|{SMALL}|{LARGE})");
    let list = format!("{part}(,{part}){{0,5}}");
    let grammar = Grammar::new(&format!("{list}|{list}|{list}|{MASK}"));
    Target::texts(65, 4, move |random| random.matching(&grammar), judge)
}

fn judge(text: &str) -> bool {
    let (list, ordered) = (CpuSet::parse_list(text), CpuSet::parse_ordered(text));
    let mask = CpuSet::parse_mask(text);
    assert_eq!(list.is_ok(), ordered.is_ok(), "one reading of a list accepts what the other refuses");
    for error in [list.as_ref().err(), mask.as_ref().err()].into_iter().flatten() {
        assert!(!error.why.is_empty(), "an error without a reason");
    }
    if let (Ok(list), Ok(ordered)) = (&list, ordered) {
        assert_eq!(*list, ordered.into_iter().collect(), "the orders differ in their set");
    }
    let sets = [list.ok(), mask.ok()];
    for set in sets.iter().flatten() {
        same(&CpuSet::parse_list(&set.to_string()), set);
        assert_eq!(set.len(), set.iter().count(), "{set} counts itself wrongly");
    }
    sets.iter().any(Option::is_some)
}
