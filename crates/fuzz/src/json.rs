//! Mutations of JSON values, also for TOML tables: the syntax stays valid, so that every
//! mutant reaches the checks of keys and types.

use crate::mutate::{HOSTILE, NUMBERS};
use crate::random::Random;
use serde_json::{Map, Value};

/// Mutates a value in place, `times` times; `donors` give parts.
pub fn mutate(random: &mut Random, value: &mut Value, times: usize, donors: &[Value]) {
    for _ in 0..times {
        let places = count(value);
        let mut at = random.below(places);
        if let Some(place) = place(value, &mut at) {
            change(random, place, donors);
        }
    }
}

/// Number of values in it, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

/// The value number `at`, in depth-first order.
fn place<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| place(item, at)),
        Value::Object(entries) => entries.values_mut().find_map(|item| place(item, at)),
        _ => None,
    }
}

fn change(random: &mut Random, value: &mut Value, donors: &[Value]) {
    match value {
        Value::Object(entries) if random.percent(85) => change_entries(random, entries, donors),
        Value::Array(items) if random.percent(85) => change_items(random, items, donors),
        Value::String(text) if random.percent(70) => change_text(random, text),
        Value::Number(_) if random.percent(70) => *value = number(random),
        _ => *value = any(random, donors),
    }
}

fn change_entries(random: &mut Random, entries: &mut Map<String, Value>, donors: &[Value]) {
    let keys: Vec<String> = entries.keys().cloned().collect();
    let key = if keys.is_empty() { String::new() } else { random.pick(&keys).clone() };
    match random.below(4) {
        0 => drop(entries.remove(&key)),
        1 => {
            let other = if keys.is_empty() { "x".to_owned() } else { random.pick(&keys).clone() };
            if let Some(moved) = entries.get(&key).cloned() {
                entries.insert(other, moved);
            }
        }
        2 => {
            let mut name = key;
            change_text(random, &mut name);
            entries.insert(name, any(random, donors));
        }
        _ => drop(entries.insert(key, any(random, donors))),
    }
}

fn change_items(random: &mut Random, items: &mut Vec<Value>, donors: &[Value]) {
    let at = random.below(items.len());
    match (items.get(at).cloned(), random.below(5)) {
        (Some(_), 0) => drop(items.remove(at)),
        (Some(item), 1) => items.insert(at, item),
        (Some(item), 2) => {
            let times = [3, 30, 300][random.below(3)];
            items.splice(at..at, std::iter::repeat_n(item, times));
        }
        (Some(_), 3) => {
            let other = random.below(items.len());
            items.swap(at, other);
        }
        _ => items.insert(at, any(random, donors)),
    }
}

fn one_of<'a>(random: &mut Random, texts: &[&'a str]) -> &'a str {
    texts[random.below(texts.len())]
}

fn change_text(random: &mut Random, text: &mut String) {
    let at =
        (0..=text.len()).filter(|at| text.is_char_boundary(*at)).nth(random.below(text.chars().count() + 1));
    let at = at.unwrap_or(0);
    match random.below(7) {
        0 => text.truncate(at),
        1 => text.insert_str(at, one_of(random, &NUMBERS)),
        2 => text.clear(),
        3 => *text = text.repeat([2, 40, 2000][random.below(3)].min((64 << 10) / text.len().max(1))),
        4 => *text = (*random.pick(&NUMBERS)).to_owned(),
        _ => text.insert_str(at, one_of(random, &HOSTILE)),
    }
}

fn number(random: &mut Random) -> Value {
    let text = *random.pick(&NUMBERS);
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(random.next()))
}

/// A value of any type, or a part of a donor.
fn any(random: &mut Random, donors: &[Value]) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => Value::Bool(random.percent(50)),
        2..4 => number(random),
        4 => Value::String((*random.pick(&HOSTILE)).to_owned()),
        5 => Value::Array(vec![number(random)]),
        6 => Value::Object(Map::new()),
        7 => (0..[1, 20, 120][random.below(3)]).fold(Value::Null, |inner, _| Value::Array(vec![inner])),
        _ if !donors.is_empty() => {
            let mut donor = random.pick(donors).clone();
            let mut at = random.below(count(&donor));
            place(&mut donor, &mut at).map_or(Value::Null, |found| found.take())
        }
        _ => Value::String("x".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_reached_and_mutants_differ() {
        let whole: Value = serde_json::from_str(r#"{"a": [1, {"b": "c"}], "d": null}"#).unwrap_or_default();
        assert_eq!(count(&whole), 6);
        for at in 0..6 {
            assert!(place(&mut whole.clone(), &mut { at }).is_some(), "{at}");
        }
        let mutants = (0..500).map(|number| {
            let mut mutant = whole.clone();
            mutate(&mut Random::of(1, number), &mut mutant, 1, &[]);
            mutant
        });
        assert!(mutants.filter(|mutant| *mutant != whole).count() > 400);
    }
}
