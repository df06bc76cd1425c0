//! CPU lists and masks, the kernel's two forms of a set.

use super::{Target, hold};
use crate::mutate;
use crate::random::Random;
use threadwise_machine::CpuSet;

struct CpuLists;

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(CpuLists))
}

fn list(random: &mut Random) -> String {
    let part = |random: &mut Random| {
        let limit = *random.pick(&[4, 64, 1024, 65536]);
        let low = random.below(limit);
        match random.below(4) {
            0 => format!("{low}-{}", low + random.below(limit - low)),
            1 => format!("{low}-{}:{}", low + random.below(limit - low), 1 + random.below(9)),
            _ => low.to_string(),
        }
    };
    let parts: Vec<String> = (0..1 + random.below(6)).map(|_| part(random)).collect();
    parts.join(",")
}

fn mask(random: &mut Random) -> String {
    let groups: Vec<String> =
        (0..1 + random.below(6)).map(|_| format!("{:08x}", random.next() as u32)).collect();
    groups.join(",")
}

impl Target for CpuLists {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let valid = if random.percent(70) { list(random) } else { mask(random) };
        let mut bytes = valid.into_bytes();
        if random.percent(80) {
            let (times, donor) = (random.times(4), list(random).into_bytes());
            mutate::text(random, &mut bytes, times, &[donor]);
        }
        bytes
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
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
            let shown = set.to_string();
            hold(CpuSet::parse_list(&shown).as_ref() == Ok(&set), || {
                format!("{shown} reads as another set")
            })?;
            hold(set.len() == set.iter().count(), || format!("{shown} counts itself wrongly"))?;
        }
        Ok(past)
    }
}
