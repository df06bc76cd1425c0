//! Informational messages of the server (INFO tokens), such as the times of SET STATISTICS TIME.
//!
//! The client library only writes them to its trace (tiberius 0.13, `tds/stream/token.rs`, `get_info`: an event of
//! level DEBUG whose message is the text). A connection's tokens are read on the calling thread, so each thread
//! collects them while it listens.

use std::cell::RefCell;
use std::fmt::Debug;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// The library's module that traces tokens.
const TARGET: &str = "tiberius::tds::stream::token";

thread_local! {
    /// Messages of this thread; `None` while it does not listen.
    static HEARD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

struct Ear;

/// Subscribes this process to messages. Call it first of all; further calls change nothing.
pub fn hear() {
    // With another subscriber there are no messages, and times are unknown.
    let _ = set_global_default(Ear);
}

/// The result of `ask`, and the messages on this thread meanwhile.
pub(crate) fn heard<T>(ask: impl FnOnce() -> T) -> (T, Vec<String>) {
    HEARD.with(|heard| *heard.borrow_mut() = Some(Vec::new()));
    let done = ask();
    (done, HEARD.with(RefCell::take).unwrap_or_default())
}

fn is_token(metadata: &Metadata<'_>) -> bool {
    metadata.target() == TARGET && *metadata.level() == Level::DEBUG
}

impl Subscriber for Ear {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_token(metadata) { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_token(metadata) && HEARD.with(|heard| heard.borrow().is_some())
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Message);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            HEARD.with(|heard| {
                if let Some(heard) = heard.borrow_mut().as_mut() {
                    heard.push(format!("{value:?}"));
                }
            });
        }
    }
}
