//! Connection limits of a user's server, and the connections in use.

use threadwise_engine::connections::Limit;

use crate::driver::Value;

/// The limits in the rows of a database's statement, without those that are not set. Columns: the setting and what it
/// applies to; the most connections, NULL or below 0 without a limit; those reserved for superusers; those in use
/// without the one that asks.
pub fn limits(rows: &[Vec<Value>]) -> Vec<Limit> {
    let count = |value: &Value| u32::try_from(value.whole().unwrap_or(0)).unwrap_or(0);
    let limit = |row: &Vec<Value>| {
        let [name, most, set_aside, in_use] = row.as_slice() else { return None };
        let name = name.text()?.to_owned();
        let most = u32::try_from(most.whole()?).ok()?;
        Some(Limit { name, most, set_aside: count(set_aside), in_use: count(in_use) })
    };
    rows.iter().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_not_set_are_left_out() {
        let row = |name: &str, numbers: [&str; 3]| {
            let numbers = numbers.map(|number| Value::Text(number.to_owned()));
            [Value::Text(name.to_owned())].into_iter().chain(numbers).collect::<Vec<_>>()
        };
        let mut rows = vec![row("server", ["100", "3", "7"]), row("role", ["-1", "0", "2"])];
        rows.push(vec![Value::Text("account".to_owned()), Value::Null, Value::Whole(0), Value::Whole(1)]);
        // It lets no user in.
        rows.push(row("database", ["0", "0", "0"]));
        let limit =
            |name: &str, most, set_aside, in_use| Limit { name: name.to_owned(), most, set_aside, in_use };
        assert_eq!(limits(&rows), [limit("server", 100, 3, 7), limit("database", 0, 0, 0)]);
    }
}
