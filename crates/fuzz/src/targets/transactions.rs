//! Files of statements for the workload `transaction`, as each engine quotes.

use crate::random::Grammar;
use crate::target::Target;
use threadwise_engine::workloads::transaction::{BindValue, Draws, Lists, Quoting, Script, Transaction};
use threadwise_study::transaction::{MAY_WRITE, SQL};
use threadwise_study::{OptionValue, Options};

/// Standard SQL's.
const STANDARD: Quoting = Quoting {
    backslashes: false,
    dollars: false,
    nested_comments: false,
    hash_comments: false,
    brackets: false,
    packages: false,
};
const QUOTINGS: [Quoting; 5] = [
    STANDARD,
    Quoting { dollars: true, nested_comments: true, ..STANDARD },
    Quoting { backslashes: true, hash_comments: true, ..STANDARD },
    Quoting { brackets: true, ..STANDARD },
    Quoting { packages: true, ..STANDARD },
];

/// A text that is written again may become too long.
const MOST_BYTES: usize = 60 << 10;

const STATEMENTS: [&str; 12] = [
    "SELECT \"LO_put\" /* x */ (:id, 0, '')",
    "SELECT name FROM c WHERE id = :id",
    "SELECT ':id', \":id\", `:id`, [:id], :id::text",
    "WITH d AS (SELECT 1) SELECT * FROM d WHERE x > :low",
    "SELECT $a$; :id $a$, E'\\'; :id', $1",
    "/*+ hint */ SELECT 1 /* a /* ; */ b */",
    "SELECT 1 -- ; :low\n + :low # x",
    "UPDATE c SET n = n + 1 WHERE id = :id",
    "WITH d AS (DELETE FROM c RETURNING id) SELECT * FROM d",
    "SELECT * FROM c FOR UPDATE",
    "VALUES (:id, :low)",
    "SELECT s.nextval, q'[it's; :id]', nQ'!:id!', p.f@far FROM dual",
];

/// Lines of a head, which declare the same two parameters.
const HEADS: [&str; 5] = [
    "-- a page\n-- :id 1..150000\n-- :low -5..5\n",
    "-- :id 1..150000 zipf 1.2\n-- :low -5..5 zipf 0.99\n-- :think 5..20 ms\n",
    "-- :id from SELECT id FROM c WHERE n > 5\n-- :low 1..2\n-- :think mean 3 s\n",
    "-- :id in /nowhere/c.csv column 2 as text zipf 2\n-- :low in /nowhere/c.csv column \"city\"\n",
    "-- :low 0..0\n-- the id FILL IN (integer)\n-- :id 3..4\n",
];

/// Scripts of pgbench.
const SCRIPTS: [&str; 4] = [
    "\\set id random(1, 100000 * :scale)\n\\set low random(-5000, 5000)\nBEGIN;\n",
    "\\set id random_zipfian(1, 9, 1.5) % 7 + abs(-:client_id)\n\\sleep :id us\n\\set low \\\n 2\nBEGIN;\n",
    "\\set low least(1, 2.5, pi()) / 3\n\\set id int(:low) - mod(7, 4)\nSELECT :id;\n\\sleep 1 ms\nBEGIN;\n",
    "\\set id random_gaussian(1, 9, 2.0)\n\\set low random_exponential(1, 9, 5)\nBEGIN;\n",
];

/// The target.
pub fn make() -> Target {
    let grammar = Grammar::new(&format!("{}|{}", mixes("$a$"), mixes("q'[")));
    Target::texts(
        45,
        1,
        move |random| random.matching(&grammar),
        |text| QUOTINGS.map(|quoting| judge(text, quoting)).contains(&true),
    )
}

/// The grammar of one transaction, or a mix of several, of files too. Texts that only one engine reads do not stand in one
/// file with those of another, which have `other`.
fn mixes(other: &str) -> String {
    let any = |texts: &[&str]| {
        let texts = texts.iter().filter(|text| !text.contains(other));
        format!("({})", texts.map(|text| regex::escape(text)).collect::<Vec<_>>().join("|"))
    };
    // Each parameter must be used.
    let statements = format!(r"({};\n){{1,4}}VALUES \(:low, :id\);\n", any(&STATEMENTS));
    let (heads, scripts) = (any(&HEADS), any(&SCRIPTS));
    let [first, second, third] = [0, 1, 2].map(|number| {
        let kinds = format!(
            "( weight 3\n{heads}{statements}|\n-- :define scale 10\n{scripts}{statements}END;\n|\n-- :transaction \
             t{number} weight [1-9]\n{heads}{statements})"
        );
        format!(r"-- :file {number}\.sql{kinds}")
    });
    format!("{heads}{statements}|{first}({second}({third})?)?")
}

fn parsed(text: &str, may_write: bool, quoting: Quoting) -> Result<Transaction, String> {
    let option = |name: &str, text: &str| (name.to_owned(), OptionValue::Text(text.to_owned()));
    let leave = may_write.then(|| option(MAY_WRITE, "shop"));
    let options: Options = std::iter::once(option(SQL, text)).chain(leave).collect();
    Transaction::parse(&options, quoting, "[without --may-write]\nlo_* writes")
        .map_err(|error| error.to_string())
}

/// A script's statements with their parameters by name.
fn texts(script: &Script) -> Vec<String> {
    let name = |at: usize| script.parameters.get(at).map_or("", |one| one.name.as_str());
    script.statements.iter().map(|one| one.text(|at| format!(":{}", name(at)))).collect()
}

fn judge(text: &str, quoting: Quoting) -> bool {
    let (reads, writes) = (parsed(text, false, quoting), parsed(text, true, quoting));
    assert!(writes.is_ok() || reads.is_err(), "permission to write makes a file invalid");
    let transaction = match writes {
        Ok(transaction) => transaction,
        Err(why) => {
            assert!(!why.is_empty(), "an empty error");
            return false;
        }
    };
    let mut draws = Draws::new(&transaction, &Lists::default(), 7, 3);
    for (at, script) in transaction.scripts.iter().enumerate() {
        assert!(!script.statements.is_empty() && script.weight > 0, "{} does nothing", script.name);
        // An expression may have no value.
        let Ok(drawn) = draws.draw_script(at) else { continue };
        let are_inside = script.parameters.iter().zip(&drawn.values).all(|(one, value)| match one.range() {
            Some([low, high]) => matches!(value, BindValue::Whole(number) if (low..=high).contains(number)),
            None => true,
        });
        let is_whole = drawn.values.len() == script.parameters.len();
        assert!(are_inside && is_whole, "{:?} is out of range", drawn.values);
    }
    written_again(&transaction, quoting);
    true
}

/// Written again, the same statements mean the same; where all parameters have ranges.
fn written_again(transaction: &Transaction, quoting: Quoting) {
    let mut text = String::new();
    for (at, script) in transaction.scripts.iter().enumerate() {
        text += &format!("-- :transaction t{at} weight {}\n", script.weight);
        for parameter in &script.parameters {
            let Some([low, high]) = parameter.range() else { return };
            text += &format!("-- :{} {low}..{high}\n", parameter.name);
        }
        text += &format!("{};\n", texts(script).join(";\n"));
    }
    if text.len() <= MOST_BYTES {
        let again = parsed(&text, true, quoting).expect("what was written again is read");
        let all = |transaction: &Transaction| transaction.scripts.iter().map(texts).collect::<Vec<_>>();
        assert_eq!(all(&again), all(transaction), "written again it is another one");
    }
}
