//! Cards of other people, up to the page of a gallery.

use super::results::is_page;
use crate::mutate;
use crate::random::Random;
use crate::target::{Target, hold};
use serde_json::Value;
use threadwise_report::{html, json};

/// A measured one.
const CARD: &str = include_str!("../../../../gallery/amd-epyc-kvm-2-cpus-sqlite.json");
/// Fields whose texts its maker chooses.
const TEXTS: [&str; 6] = ["cpu", "hypervisor", "instance", "engine", "engine_version", "workload"];
/// A day after that of the card.
const TODAY: &str = "2027-01-01";

/// The target.
pub fn make() -> Result<Target, String> {
    hold(judge(CARD.as_bytes())?, || "the card of this target is refused".to_owned())?;
    let whole: Value = serde_json::from_str(CARD).map_err(|error| error.to_string())?;
    let input = move |random: &mut Random| {
        let times = random.times(3);
        let mut card = whole.clone();
        if random.percent(70) {
            let name = *random.pick(&TEXTS);
            let mut text = CARD.as_bytes()[..random.below(60)].to_vec();
            mutate::text(random, &mut text, 1, &[]);
            let text = String::from_utf8_lossy(&text).replace('"', "");
            card[name] = text.replace(['{', '}', '\n'], " ").into();
            return card.to_string().into_bytes();
        }
        if random.percent(70) {
            mutate::json(random, &mut card, times, &[]);
            return card.to_string().into_bytes();
        }
        let mut bytes = CARD.as_bytes().to_vec();
        mutate::text(random, &mut bytes, times, &[]);
        bytes
    };
    Ok(Target::new(input, judge))
}

/// A card that has no fault makes a page, and is written and read as the same one.
fn judge(input: &[u8]) -> Result<bool, String> {
    let Some(card) = std::str::from_utf8(input).ok().and_then(|text| json::read_card(text).ok()) else {
        return Ok(false);
    };
    if card.fault(TODAY).is_some() {
        return Ok(false);
    }
    is_page(&html::gallery(std::slice::from_ref(&card)).map_err(|error| format!("HTML: {error}"))?)?;
    hold(json::read_card(&json::card_line(&card)).as_ref() == Ok(&card), || {
        "it is read as another card".to_owned()
    })?;
    Ok(true)
}
