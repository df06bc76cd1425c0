//! Answers that are right in another form, and wrong ones that come close.

use super::*;

fn answer(text: &str) -> Answer {
    let cell = |value: &str| (value != "NULL").then(|| value.to_owned());
    text.lines().map(|line| line.trim().split('|').map(cell).collect()).collect()
}

fn reference(text: &str) -> Reference {
    Reference { engine: "duckdb".to_owned(), version: "1.2".to_owned(), answer: answer(text) }
}

fn check(query: u8, expected: &str, given: &str) -> Result<(), String> {
    compare(query, &reference(expected), &answer(given)).map_err(|mismatch| mismatch.to_string())
}

/// Query 1's validation answer at scale factor 1, clause 2.4.1.5, with the digits of an exact engine.
const ONE: &str = "A|F|37734107.00|56586554400.73|53758257134.8700|55909065222.827692|25.522005853257337|38273.129734621674|0.04998529583839761|1478493
N|F|991417.00|1487504710.38|1413082168.0541|1469649223.194375|25.516471920522985|38284.4677608483|0.05009342667421629|38854";

#[test]
fn an_answer_in_doubles_or_with_cut_averages_is_right() {
    let doubles = "A|F|37734107.0|56586554400.72997|53758257134.87008|55909065222.82763|25.522005|38273.129734|0.049985|1478493
N|F|991417.0|1487504710.3799996|1413082168.0541|1469649223.1943746|25.516471|38284.467760|0.050093|38854";
    assert_eq!(check(1, ONE, doubles), Ok(()));
    assert_eq!(check(1, doubles, ONE), Ok(()));
    let blanks = ONE.replace("A|F|", "A |F|");
    assert_eq!(check(1, ONE, &blanks), Ok(()), "char(n)");
}

#[test]
fn one_row_too_few_is_seen_in_every_column_that_it_touches() {
    // Taken away: quantity 1, price 901.00, no discount, no tax: among the smallest rows that there are.
    for (value, changed, column) in [
        ("37734107.00", "37734106.00", "sum_qty"),
        ("56586554400.73", "56586553499.73", "sum_base_price"),
        ("53758257134.8700", "53758256233.8700", "sum_disc_price"),
        ("55909065222.827692", "55909064321.827692", "sum_charge"),
        ("25.522005853257337", "25.522022438", "avg_qty"),
        ("38273.129734621674", "38273.155011", "avg_price"),
        ("1478493", "1478492", "count_order"),
    ] {
        let wrong = check(1, ONE, &ONE.replace(value, changed)).unwrap_err();
        assert!(wrong.contains(&format!("row 1, column {column}")), "{wrong}");
        assert!(wrong.contains(changed) && wrong.contains(value) && wrong.contains("duckdb 1.2"), "{wrong}");
        assert!(!wrong.contains('\n'));
    }
}

#[test]
fn a_known_answer_of_the_specification_is_taken_and_its_neighbours_are_not() {
    // Clause 2.4.6.5: 123141078.23.
    assert_eq!(check(6, "123141078.2283", "123141078.22829998"), Ok(()));
    assert!(check(6, "123141078.2283", "123141079.23").is_err());
    assert!(check(6, "123141078.2283", "NULL").unwrap_err().contains("NULL, while duckdb 1.2 gives"));
    assert_eq!(check(17, "NULL", "NULL"), Ok(()));
    assert_eq!(check(14, "16.38077862639554", "16.380778626395557"), Ok(()));
    assert!(check(14, "16.38077862639554", "16.380779").is_err());
    assert_eq!(
        check(8, "1995|0.03443589\n1996|0.04148552", "1995|0.034435890665479\n1996|0.041485521293530"),
        Ok(())
    );
}

#[test]
fn years_and_counts_are_the_same_in_any_form() {
    assert_eq!(check(8, "1995|0.5", "1995.0|0.50"), Ok(()));
    assert!(check(8, "1995|0.5", "1996|0.5").unwrap_err().contains("column o_year: 1996, while"));
    assert!(check(8, "1995|0.5", "MCMXCV|0.5").unwrap_err().contains("'MCMXCV' is not a number"));
    assert!(check(8, "1995|0.5", "1995|nan").unwrap_err().contains("'nan' is not a number"));
}

#[test]
fn rows_and_columns_are_counted() {
    assert!(
        check(4, "1-URGENT|5\n2-HIGH|6", "1-URGENT|5")
            .unwrap_err()
            .contains("has 1 rows, that of duckdb 1.2 has 2")
    );
    assert!(check(4, "1-URGENT|5", "").unwrap_err().contains("has 0 rows"));
    assert!(check(4, "1-URGENT|5", "1-URGENT|5|6").unwrap_err().contains("3 columns, the query has 2"));
    assert_eq!(compare(4, &Reference { answer: Vec::new(), ..reference("a|1") }, &Vec::new()), Ok(()));
    assert_eq!(compare(0, &reference("a"), &answer("a")), Err(Mismatch::Unknown(0)));
}

#[test]
fn the_order_by_is_checked() {
    let right = "FRANCE|GERMANY|1995|1.0\nFRANCE|GERMANY|1996|2.0\nGERMANY|FRANCE|1995|3.0";
    assert_eq!(check(7, right, right), Ok(()));
    let wrong = "FRANCE|GERMANY|1996|2.0\nFRANCE|GERMANY|1995|1.0\nGERMANY|FRANCE|1995|3.0";
    let error = check(7, right, wrong).unwrap_err();
    assert!(error.contains("row 1 stands before row 2") && error.contains("l_year"), "{error}");
    // Descending by a sum: 100.0 before 99.0 is right as numbers and wrong as texts.
    assert_eq!(check(5, "CHINA|100.0\nINDIA|99.0", "CHINA|100.0\nINDIA|99.0"), Ok(()));
    assert!(check(5, "CHINA|100.0\nINDIA|99.0", "INDIA|99.0\nCHINA|100.0").unwrap_err().contains("revenue"));
}

#[test]
fn equal_keys_may_stand_in_any_order() {
    assert_eq!(check(11, "1|50.5\n2|7.0\n3|7.0", "1|50.5\n3|7.0\n2|7.0"), Ok(()));
    // Sums in doubles may swap what is equal but for the last digit.
    assert_eq!(check(11, "2|7000000.12\n3|7000000.12", "3|7000000.120000001\n2|7000000.119999999"), Ok(()));
    assert!(check(11, "1|50.5\n2|7.0\n3|7.0", "1|50.5\n3|7.0\n4|7.0").is_err());
}

#[test]
fn a_collation_that_skips_blanks_is_an_order_too() {
    // By bytes "MEDIUM X" comes before "MEDIUMA"; by letters it comes after.
    let by_bytes = "Brand#11|LARGE B TIN|1|4\nBrand#11|LARGEA TIN|1|4";
    let by_letters = "Brand#11|LARGEA TIN|1|4\nBrand#11|LARGE B TIN|1|4";
    assert_eq!(check(16, by_bytes, by_letters), Ok(()));
    let by_nothing = "Brand#11|SMALL TIN|1|4\nBrand#11|LARGE TIN|1|4";
    assert!(check(16, "Brand#11|LARGE TIN|1|4\nBrand#11|SMALL TIN|1|4", by_nothing).is_err());
}

fn top_ten(last: &str) -> String {
    let row = |key: usize| format!("{key}|{}.25|1995-02-01|0\n", 1000 - key);
    (1..10).map(row).collect::<String>() + last
}

#[test]
fn where_limit_cuts_among_equals_any_of_them_may_be_returned() {
    let one = top_ten("10|900.5|1995-02-01|0");
    assert_eq!(check(3, &one, &top_ten("77|900.5|1995-02-01|0")), Ok(()));
    let error = check(3, &one, &top_ten("77|900.6|1995-02-01|0")).unwrap_err();
    assert!(error.contains("row 10, column revenue: 900.6, while duckdb 1.2 gives 900.5"), "{error}");
    let error = check(3, &one, &top_ten("77|900.5|1995-02-02|0")).unwrap_err();
    assert!(error.contains("o_orderdate"), "{error}");
    let error = check(3, &one, &top_ten("10|900.5|1995-02-01|1")).unwrap_err();
    assert!(error.contains("o_shippriority"), "a row that both have must agree: {error}");
}

#[test]
fn above_the_cut_and_without_one_rows_are_fixed() {
    let one = top_ten("10|900.5|1995-02-01|0");
    let changed = one.replacen("4|996.25", "99|996.25", 1);
    assert!(check(3, &one, &changed).is_err());
    // Nine rows: nothing was cut.
    let nine = top_ten("");
    let changed = nine.replacen("9|991.25", "99|991.25", 1);
    assert!(check(3, &nine, &changed).unwrap_err().contains("l_orderkey"));
}

#[test]
fn several_rows_at_the_cut_are_distinguished_by_their_key() {
    let tie = |keys: [usize; 3]| {
        let row = |key: usize| format!("{key}|{}.25|1995-02-01|0\n", 1000 - key);
        let tied = |key: &usize| format!("{key}|5.5|1995-02-01|0\n");
        (1..8).map(row).collect::<String>() + &keys.iter().map(tied).collect::<String>()
    };
    assert_eq!(check(3, &tie([20, 21, 22]), &tie([22, 23, 20])), Ok(()));
    let wrong = tie([22, 23, 20]).replace("20|5.5|1995-02-01|0", "20|5.5|1995-02-01|7");
    assert!(check(3, &tie([20, 21, 22]), &wrong).unwrap_err().contains("o_shippriority"));
}
