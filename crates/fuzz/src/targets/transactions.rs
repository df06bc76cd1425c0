//! Files of statements for the workload `transaction`, as each engine quotes.

use super::{Target, hold};
use crate::mutate;
use crate::random::Random;
use threadwise_engine::workloads::transaction::{Draws, Quoting, Transaction};
use threadwise_study::transaction::{MAY_WRITE, SQL};
use threadwise_study::{OptionValue, Options};

struct Transactions;

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(Transactions))
}

const QUOTINGS: [Quoting; 5] = [
    Quoting {
        backslashes: false,
        dollars: false,
        nested_comments: false,
        hash_comments: false,
        brackets: false,
        packages: false,
    },
    Quoting {
        backslashes: false,
        dollars: true,
        nested_comments: true,
        hash_comments: false,
        brackets: false,
        packages: false,
    },
    Quoting {
        backslashes: true,
        dollars: false,
        nested_comments: false,
        hash_comments: true,
        brackets: false,
        packages: false,
    },
    Quoting {
        backslashes: false,
        dollars: false,
        nested_comments: false,
        hash_comments: false,
        brackets: true,
        packages: false,
    },
    Quoting {
        backslashes: false,
        dollars: false,
        nested_comments: false,
        hash_comments: false,
        brackets: false,
        packages: true,
    },
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

fn look(text: &str, quoting: Quoting) -> Result<bool, String> {
    let (reads, writes) = (parsed(text, false, quoting), parsed(text, true, quoting));
    hold(writes.is_ok() || reads.is_err(), || "permission to write makes a file invalid".to_owned())?;
    let transaction = match writes {
        Ok(transaction) => transaction,
        Err(why) => {
            hold(!why.is_empty(), || "an empty error".to_owned())?;
            return Ok(false);
        }
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

impl Target for Transactions {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = valid(random).into_bytes();
        if random.percent(45) {
            let (times, donor) = (random.times(1), valid(random).into_bytes());
            mutate::text(random, &mut bytes, times, &[donor]);
        }
        bytes
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
        let mut past = false;
        for quoting in QUOTINGS {
            past |= look(text, quoting)?;
        }
        Ok(past)
    }
}
