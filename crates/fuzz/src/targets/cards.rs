//! Cards of other people, up to the page of a gallery.

use super::results::is_page;
use crate::mutate;
use crate::random::Random;
use crate::target::Target;
use serde_json::Value;
use threadwise_report::{html, json};

/// A measured one.
const CARD: &str = include_str!("../../../../gallery/amd-epyc-kvm-2-cpus-sqlite.json");
/// Fields whose texts its maker chooses.
const TEXTS: [&str; 6] = ["cpu", "hypervisor", "instance", "engine", "engine_version", "workload"];
/// A day after that of the card.
const TODAY: &str = "2027-01-01";

/// The target.
pub fn make() -> Target {
    assert!(judge(CARD.as_bytes()), "the card of this target is refused");
    let corpus = vec![CARD.to_owned()];
    let whole: Value = serde_json::from_str(CARD).expect("the card of this target");
    let input = move |random: &mut Random| {
        if random.percent(15) {
            return mutate::document(random, &corpus);
        }
        let (mut card, name) = (whole.clone(), *random.pick(&TEXTS));
        let length = random.below(60);
        let text = mutate::changed_text(random, &CARD[..length]).replace('"', "");
        card[name] = text.replace(['{', '}', '\n'], " ").into();
        card.to_string().into_bytes()
    };
    Target::new(input, judge)
}

/// A card that has no fault makes a page, and is written and read as the same one.
fn judge(input: &[u8]) -> bool {
    let card = std::str::from_utf8(input).ok().and_then(|text| json::read_card(text).ok());
    let Some(card) = card.filter(|card| card.fault(TODAY).is_none()) else { return false };
    is_page(&html::gallery(std::slice::from_ref(&card)).expect("HTML of a card"));
    assert_eq!(json::read_card(&json::card_line(&card)).as_ref(), Ok(&card), "it is read as another card");
    true
}
