//! A scripted SQL Server.

use threadwise_tds::{Column, Length, Message, Options, Reply, Request, Responder, Type, Value};

/// The password that it takes.
pub const PASSWORD: &str = "hush-Pass1";

/// A server that reports its version and answers all else by the script.
pub fn server(answer: impl Fn(&str) -> Vec<Reply> + Send + Sync + 'static) -> Responder {
    let text = Type::NVarChar(Length::Limit(300));
    let version = move || {
        let columns = ["version", "all", "database"].map(|name| Column::new(name, text)).to_vec();
        let row = ["16.0.4135.4", "Microsoft SQL Server 2022", "shop"].map(Value::text).to_vec();
        vec![Reply::Rows { columns, rows: vec![row] }]
    };
    Responder::start(Options::default(), move |_, request| match request {
        Request::Login(login) if login.password == PASSWORD => Vec::new(),
        Request::Login(_) => vec![Reply::Error(Message::new(18456, "Login failed for user 'me'.").class(14))],
        Request::Batch { sql } if sql.contains("@@VERSION") => version(),
        Request::Batch { sql } if sql.starts_with("SET ") => Vec::new(),
        Request::Batch { sql } => answer(sql),
        _ => Vec::new(),
    })
    .unwrap()
}

/// The answer of a server whose login may not look at it.
pub fn no_right() -> Vec<Reply> {
    vec![Reply::Error(Message::new(300, "VIEW SERVER PERFORMANCE STATE permission was denied."))]
}
