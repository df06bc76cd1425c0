//! The number of rows of each table.
//!
//! Source: TPC-H specification, clause 4.2.5.1, with its table of `lineitem` for the scale factors of
//! clause 4.1.3.1; the counts at scale factors below 1 are those of the generator (`dbgen` and
//! `tpchgen` agree on them).

use crate::dataset::TABLES;

/// Rows of `lineitem` at scale factors with a known number.
const LINEITEM: [(f64, u64); 11] = [
    (0.01, 60_175),
    (0.1, 600_572),
    (1.0, 6_001_215),
    (10.0, 59_986_052),
    (30.0, 179_998_372),
    (100.0, 600_037_902),
    (300.0, 1_799_989_091),
    (1_000.0, 5_999_989_709),
    (3_000.0, 18_000_048_306),
    (10_000.0, 59_999_994_267),
    (100_000.0, 599_999_969_200),
];

/// Rows of a table at a scale factor; `None` for `lineitem` if only an estimate is known.
pub fn expected(table: &str, scale: f64) -> Option<u64> {
    // The generator multiplies as doubles and truncates: at 0.57 it makes 5699 suppliers.
    let scaled = |base: f64| Some((base * scale) as u64);
    match table {
        "region" => Some(5),
        "nation" => Some(25),
        "supplier" => scaled(10_000.0),
        "customer" => scaled(150_000.0),
        "part" => scaled(200_000.0),
        // Four suppliers for each part.
        "partsupp" => scaled(200_000.0).map(|parts| parts * 4),
        "orders" => scaled(1_500_000.0),
        _ => LINEITEM.iter().find(|(known, _)| *known == scale).map(|(_, rows)| *rows),
    }
}

/// Range of the rows of `lineitem` if its number is unknown: one to seven for each
/// order, equally likely, so 4 a row and a standard deviation of 2; ten of those of the sum.
fn lineitem_range(orders: u64) -> (u64, u64) {
    let spread = (20.0 * (orders as f64).sqrt()).ceil() as u64;
    ((4 * orders).saturating_sub(spread), 4 * orders + spread)
}

/// The first table with a wrong number of rows: its name, its rows, what is expected.
pub fn wrong(rows: &[(String, u64)], scale: f64) -> Option<(&'static str, String, String)> {
    TABLES.into_iter().find_map(|table| {
        let found = rows.iter().find(|(name, _)| name == table).map(|(_, rows)| *rows);
        let (least, most) = match expected(table, scale) {
            Some(rows) => (rows, rows),
            None => lineitem_range(expected("orders", scale).unwrap_or(0)),
        };
        match found {
            Some(rows) if (least..=most).contains(&rows) => None,
            found => {
                let found = found.map_or_else(|| "no count of its".to_owned(), |rows| rows.to_string());
                let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                Some((table, found, range))
            }
        }
    })
}

/// Whether the four suppliers of each part differ, so that part and supplier are a key of `partsupp`:
/// supplier `i` of part `p` is `(p + i * (S / 4 + (p - 1) / S)) mod S + 1`, clause 4.2.3. With fewer
/// than about 240 suppliers, the step can be a half or a third of them.
pub fn has_distinct_suppliers(scale: f64) -> bool {
    let suppliers = expected("supplier", scale).unwrap_or(0);
    let parts = expected("part", scale).unwrap_or(0);
    if suppliers == 0 || parts == 0 {
        return false;
    }
    let mut steps = (0..=(parts - 1) / suppliers).map(|turn| suppliers / 4 + turn);
    steps.all(|step| (1..4).all(|i| i * step % suppliers != 0))
}

/// Reads lines `table rows`; ignores others.
pub fn parse(text: &str) -> Vec<(String, u64)> {
    let line = |line: &str| {
        let (table, rows) = line.trim().split_once(' ')?;
        Some((table.to_owned(), rows.trim().parse().ok()?))
    };
    text.lines().filter_map(line).filter(|(table, _)| TABLES.contains(&table.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lineitem: u64) -> Vec<(String, u64)> {
        let text = "region 5\nnation 25\nsupplier 70\ncustomer 1050\npart 1400\npartsupp 5600\norders 10500";
        parse(&format!("noise\n{text}\nlineitem {lineitem}\n"))
    }

    #[test]
    fn counts_are_those_of_the_generator() {
        // Seen with tpchgen-cli 4.0.0 at scale factor 0.007.
        assert_eq!(wrong(&counts(42_265), 0.007), None);
        assert_eq!(expected("supplier", 0.007), Some(70));
        assert_eq!(expected("orders", 0.3), Some(450_000));
        assert_eq!(expected("lineitem", 1.0), Some(6_001_215));
        assert_eq!(expected("lineitem", 0.007), None);
        assert_eq!((expected("supplier", 0.57), expected("part", 0.57)), (Some(5_699), Some(113_999)));
    }

    #[test]
    fn scales_with_a_supplier_twice_are_known() {
        // Counted in the data of tpchgen-cli 4.0.0: 3900 keys of 4000 rows at 0.005, all distinct at 0.0047;
        // 16590 of 16800 at 0.021, all of 16000 at 0.02.
        for (scale, distinct) in [
            (0.001, false),
            (0.0047, true),
            (0.005, false),
            (0.01, true),
            (0.02, true),
            (0.0204, false),
            (0.021, false),
            (0.0211, true),
            (0.0237, true),
            (0.02405, false),
        ] {
            assert_eq!(has_distinct_suppliers(scale), distinct, "{scale}");
        }
        assert!((250..20_000).all(|suppliers| has_distinct_suppliers(f64::from(suppliers) / 1e4)));
        assert!(!has_distinct_suppliers(0.0));
    }

    #[test]
    fn a_table_that_is_too_short_or_missing_is_named() {
        let mut rows = counts(42_265);
        rows[3].1 = 1_049;
        assert_eq!(wrong(&rows, 0.007), Some(("customer", "1049".to_owned(), "1050".to_owned())));
        rows.remove(3);
        let (table, found, _) = wrong(&rows, 0.007).unwrap();
        assert_eq!((table, found.as_str()), ("customer", "no count of its"));
        let (table, _, range) = wrong(&counts(39_000), 0.007).unwrap();
        assert_eq!((table, range.as_str()), ("lineitem", "39950 to 44050"));
    }

    #[test]
    fn known_counts_of_lineitem_lie_in_the_range_that_is_taken_for_others() {
        for (scale, rows) in LINEITEM {
            let (least, most) = lineitem_range(expected("orders", scale).unwrap());
            assert!((least..=most).contains(&rows), "{scale}");
        }
    }
}
