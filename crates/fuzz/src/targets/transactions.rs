//! Files of statements for the workload `transaction`, as each engine quotes.

use crate::random::Random;
use crate::target::{Judged, Target, hold};
use threadwise_engine::workloads::transaction::{Draws, Quoting, Transaction};
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

/// The target.
pub fn make() -> Result<Target, String> {
    Ok(Target::texts(45, 1, valid, |text| {
        QUOTINGS.into_iter().try_fold(false, |past, quoting| Ok(judge(text, quoting)? || past))
    }))
}

fn valid(random: &mut Random) -> String {
    let head = "-- a page\n-- :id 1..150000\n-- :low -5..5\n".to_owned();
    let statements = (0..1 + random.below(4)).map(|_| *random.pick(&STATEMENTS));
    // Each parameter must be used.
    let both = std::iter::once("VALUES (:low, :id)");
    statements.chain(both).fold(head, |text, statement| format!("{text}{statement};\n"))
}

fn parsed(text: &str, may_write: bool, quoting: Quoting) -> Result<Transaction, String> {
    let option = |name: &str, text: &str| (name.to_owned(), OptionValue::Text(text.to_owned()));
    let leave = may_write.then(|| option(MAY_WRITE, "shop"));
    let options: Options = std::iter::once(option(SQL, text)).chain(leave).collect();
    Transaction::parse(&options, quoting, "[without --may-write]\nlo_* writes")
        .map_err(|error| error.to_string())
}

/// A file's statements with their parameters by name.
fn texts(transaction: &Transaction) -> Vec<String> {
    let name = |at: usize| transaction.parameters.get(at).map_or("", |one| one.name.as_str());
    transaction.statements.iter().map(|one| one.text(|at| format!(":{}", name(at)))).collect()
}

fn judge(text: &str, quoting: Quoting) -> Judged {
    let (reads, writes) = (parsed(text, false, quoting), parsed(text, true, quoting));
    hold(writes.is_ok() || reads.is_err(), || "permission to write makes a file invalid".to_owned())?;
    let transaction = match writes {
        Ok(transaction) => transaction,
        Err(why) => return hold(!why.is_empty(), || "an empty error".to_owned()).map(|()| false),
    };
    let values = Draws::new(&transaction, 7, 3).draw();
    let are_inside = transaction.parameters.iter().zip(&values);
    let mut inside = are_inside.map(|(one, value)| (one.low..=one.high).contains(value));
    hold(inside.all(|is| is), || format!("{values:?} is out of range"))?;
    // Written again, the same statements mean the same.
    let head: String = transaction
        .parameters
        .iter()
        .map(|one| format!("-- :{} {}..{}\n", one.name, one.low, one.high))
        .collect();
    let again = parsed(&format!("{head}{};", texts(&transaction).join(";\n")), true, quoting);
    let again = again.map_err(|why| format!("written again it is refused: {why}"))?;
    hold(texts(&again) == texts(&transaction), || {
        format!("{:?} becomes {:?}", texts(&transaction), texts(&again))
    })?;
    Ok(true)
}
