//! Names of the databases of a server.

use crate::plan::Item;

/// Prefix of the databases that a recipe restores, before the item's place.
pub(crate) const RESTORED: &str = "restored_";

/// Name of the database of an item.
pub(super) fn database(index: usize, count: usize) -> String {
    let width = count.to_string().len();
    format!("base_{index:0width$}")
}

/// Items for databases with these sizes.
pub(super) fn items(sizes: Vec<u64>) -> Vec<Item> {
    let count = sizes.len();
    let item = |(index, size_bytes): (usize, u64)| {
        let name = database(index, count);
        Item { name: name.clone(), text: name, size_bytes, earlier: 0 }
    };
    sizes.into_iter().enumerate().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_named_by_their_place() {
        let made = items(vec![5; 12]);
        assert_eq!((made[3].text.as_str(), made[11].name.as_str()), ("base_03", "base_11"));
    }
}
