//! A database's SQL and facts, as data.

/// How statements mark their parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// By a question mark, in the order of the text.
    Positional,
    /// By this sign and a number from 1.
    Numbered(&'static str),
}

/// A database's SQL and facts. Places, flags and repetitions of the texts are those of [`crate::Template`]; `{table}` and
/// `{procedure}` are full names.
///
/// Loops inside the server get and give whole numbers alone, times as microseconds of [`Self::now`].
#[derive(Debug)]
pub struct Dialect {
    /// Name of the engine.
    pub engine: &'static str,
    /// Opening and closing quote of a name.
    pub quotes: [&'static str; 2],
    /// Marks of parameters.
    pub marks: Marks,
    /// How a procedure is called: `{procedure}` with `{arguments}`, and with `{answers}` where it gives its numbers in
    /// parameters, whose marks follow those of the arguments.
    pub call: &'static str,
    /// A note about where loops of the server run.
    pub loops: &'static str,
    /// Bytes of a page.
    pub block_bytes: u64,
    /// Bytes of an inserted row in a page that random inserts have filled, about.
    pub row_bytes: u64,
    /// The server's clock, microseconds since an origin of its choice; empty for CLOCK_REALTIME of this machine.
    pub now: &'static str,
    /// Length of a call in which a session's statements are compiled before the first slice, nanoseconds; 0 if they are
    /// compiled when they are prepared.
    pub compile_ns: u64,

    /// Makes a table of `logical-io`: a key k, and two numbers whose sum never changes.
    pub blocks: &'static str,
    /// Copies a table of `logical-io` from `{from}`.
    pub blocks_copy: &'static str,
    /// Makes its index, after the load.
    pub blocks_index: &'static str,
    /// What follows the index, such as statistics for the planner; empty for nothing.
    pub blocks_settle: &'static str,
    /// The loop inside the server. Arguments: start and end of the window, and a seed from 1 to 2^31 - 2. Answer: steps
    /// in the window, all steps, wrong ones; then [`Self::blocks_counted`].
    pub blocks_loop: &'static str,
    /// A step of the client's loop that reads. Parameters: first and last key. Answer: rows and sum.
    pub blocks_read: &'static str,
    /// A step of the client's loop that updates.
    pub blocks_update: &'static str,
    /// Statements before the client's loop, after each of its updates, and after it; empty for none.
    pub blocks_around: [&'static str; 3],
    /// Counters that the loop gives of all its steps.
    pub blocks_counted: &'static [&'static str],

    /// Makes the table of `insert`.
    pub rows: &'static str,
    /// The loop inside the server. Arguments: owner, next key, two random numbers x and y of 31 bits, start and end of
    /// the window, and rows wanted (0 for a fixed time). Answer: steps in the window, all steps, sum of checks of keys, x
    /// and y for the next call, and when it ended, NULL for when the client had the answer; then [`Self::rows_counted`].
    pub rows_loop: &'static str,
    /// A transaction of the client's loop, with `{owner}` and `{key}` as parameters.
    pub rows_step: &'static str,
    /// Rows of the table, and sum of the checks of their keys.
    pub rows_held: &'static str,
    /// Removes inserted rows.
    pub rows_put_back: &'static str,
    /// Counters that the loop gives of all its steps.
    pub rows_counted: &'static [&'static str],

    /// Begins a transaction of the user's statements, read-only and not.
    pub begin: [&'static str; 2],
    /// What follows the word COMMIT or ROLLBACK.
    pub end: &'static str,
    /// Names of all databases that a statement can name before a dot; empty if a connection reaches its own alone.
    pub databases: &'static str,

    /// Threadwise's schema in a user's server.
    pub schema: SchemaSql,
}

impl Dialect {
    /// The mark of the parameter with this number, from 1.
    pub fn mark(&self, number: usize) -> String {
        match self.marks {
            Marks::Positional => "?".to_owned(),
            Marks::Numbered(sign) => format!("{sign}{number}"),
        }
    }
}

/// Threadwise's schema in a user's server, with the places `{schema}`, `{kind}` and `{name}`; its own tables are
/// `threadwise_mark (says)`, `threadwise_objects (kind, name)` and `threadwise_loads (suffix, bytes, counted, notes)`.
#[derive(Debug)]
pub struct SchemaSql {
    /// What messages call it: schema or database.
    pub noun: &'static str,
    /// The engine's option with its name.
    pub option: &'static str,
    /// Takes the lock of the connection's study: 1 if it is taken. Waits for a connection that was closed a moment ago.
    pub lock: &'static str,
    /// Whether the schema is there: a positive number if it is.
    pub is_there: &'static str,
    /// Whether a table of it is there: a positive number if it is.
    pub has_table: &'static str,
    /// Makes it with its own tables, one statement a part, parts separated by lines `GO`.
    pub make: &'static str,
    /// Kind and name of every object in it except its own tables.
    pub objects: &'static str,
    /// Lists an object that is going to be made, once.
    pub announce: &'static str,
    /// Drops an object if it is there.
    pub drop: &'static str,
    /// Drops the schema, which holds nothing else; of a database also what is in it.
    pub drop_schema: &'static str,
    /// Begins a transaction in which all of that is done or nothing, ends it, and rolls it back; empty where a server
    /// commits each of these statements.
    pub transaction: [&'static str; 3],
}

impl SchemaSql {
    /// Of a database that is never the user's.
    pub const NONE: Self = Self {
        noun: "",
        option: "",
        lock: "",
        is_there: "",
        has_table: "",
        make: "",
        objects: "",
        announce: "",
        drop: "",
        drop_schema: "",
        transaction: ["", "", ""],
    };
}
