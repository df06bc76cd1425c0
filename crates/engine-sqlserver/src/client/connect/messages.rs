//! What the server says on the side (INFO tokens), such as the times of SET STATISTICS TIME.
//!
//! The client library gives them to nobody; it writes each to its trace (tiberius 0.13,
//! `tds/stream/token.rs`, `get_info`: an event of level DEBUG whose message is the text). A connection's tokens
//! are read on the thread that asks, so each thread keeps what it heard, and only while it listens.

use std::cell::RefCell;
use std::fmt::Debug;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// Where the library writes its tokens from.
const TARGET: &str = "tiberius::tds::stream::token";

thread_local! {
    /// What this thread heard; `None` while it does not listen.
    static HEARD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

struct Ear;

/// Has threads of this process hear messages. Once, before anything else; a second time changes nothing.
pub fn hear() {
    // Somebody else's subscriber hears nothing for us, and times are then not known.
    let _ = set_global_default(Ear);
}

/// What `ask` gives, and the messages that came meanwhile on this thread.
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
