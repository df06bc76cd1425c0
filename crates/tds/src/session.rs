//! A connection from its first message to its end.
//!
//! Source: \[MS-TDS\] 3.3 (the server's states), 2.2.6.4 (size of packets), 2.2.1.7 and 2.2.2.9 (attention and its
//! acknowledgement).

use crate::answer::{Step, answer};
use crate::fault::{Fault, malformed};
use crate::login;
use crate::packet::{self, Kind};
use crate::prelogin::{self, Encryption, Reach};
use crate::script::{self, Reply, Request, Session};
use crate::wire::{Incoming, Wire};
use std::time::Instant;

/// Options of a responder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Its TLS policy.
    pub encryption: Encryption,
    /// The largest packet size that it accepts, from 512 to 32767 bytes.
    pub packet_size: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { encryption: Encryption::default(), packet_size: packet::LARGEST }
    }
}

/// The connection's interface to the script: a request is recorded and answered.
pub trait Script {
    fn replies(&self, session: &Session, request: &Request, reset: bool) -> Vec<Reply>;
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was sent.
    Sent,
    /// The script or the client closed the connection.
    Closed,
}

/// Answers a client until one side closes the connection, which has this number.
pub fn run(wire: &mut Wire, options: &Options, number: u64, script: &dyn Script) -> Result<(), Fault> {
    let mut conversation = Conversation {
        wire,
        script,
        session: Session { connection: number, packet_size: packet::FIRST, ..Session::default() },
        bulk: false,
    };
    if conversation.log_in(options)? {
        conversation.requests()?;
    }
    Ok(())
}

struct Conversation<'a> {
    wire: &'a mut Wire,
    script: &'a dyn Script,
    session: Session,
    /// Whether the last request was `INSERT BULK`, after which rows may come.
    bulk: bool,
}

impl Conversation<'_> {
    /// Everything up to the login; gives whether it was granted.
    fn log_in(&mut self, options: &Options) -> Result<bool, Fault> {
        if options.encryption == Encryption::Strict && !self.wire.handshake_first()? {
            return Ok(false);
        }
        let Some(payload) = self.first(Kind::Prelogin)? else { return Ok(false) };
        let asked = prelogin::read(&payload)?.asked;
        let (byte, reach) = prelogin::agree(options.encryption, asked);
        self.wire.send(Kind::Response, true, &prelogin::answer(byte))?;
        let encrypted = match reach {
            Reach::Disagreed => return Ok(false),
            Reach::Nothing => false,
            Reach::Login | Reach::Everything => true,
        };
        if encrypted && options.encryption != Encryption::Strict && !self.wire.handshake()? {
            return Ok(false);
        }
        let Some(payload) = self.first(Kind::Login)? else { return Ok(false) };
        if reach == Reach::Login {
            self.wire.end_tls();
        }
        let login = login::read(&payload, asked, encrypted)?;
        let wanted = usize::try_from(login.packet_size).unwrap_or(usize::MAX);
        let wanted = if wanted == 0 { packet::FIRST } else { wanted };
        let size = wanted.min(options.packet_size).clamp(packet::SMALLEST, packet::LARGEST);
        self.session.packet_size = size;
        self.session.encrypted = reach == Reach::Everything;
        let user = login.user.clone();
        let end = self.answer(&Request::Login(Box::new(login)), false)?;
        self.session.user = user;
        self.wire.set_packet_size(size);
        Ok(end == End::Sent)
    }

    /// The payload of a message that must be of this kind.
    fn first(&mut self, kind: Kind) -> Result<Option<Vec<u8>>, Fault> {
        match self.wire.message(None)? {
            Incoming::Message(message) if message.kind == kind => Ok(Some(message.payload)),
            Incoming::Message(message) => Err(malformed(format!(
                "a message of type {} where one of type {} comes first",
                message.kind.byte(),
                kind.byte()
            ))),
            Incoming::Ended | Incoming::TimedOut => Ok(None),
        }
    }

    /// All requests after the login.
    fn requests(&mut self) -> Result<(), Fault> {
        while let Incoming::Message(message) = self.wire.message(None)? {
            if message.reset {
                self.session.transaction = 0;
            }
            let request = script::read(&message, self.session.transaction)?;
            if matches!(request, Request::Bulk(_)) && !self.bulk {
                return Err(malformed("rows of a bulk load without INSERT BULK before them"));
            }
            self.bulk = matches!(&request, Request::Batch { sql } if is_insert_bulk(sql));
            if self.answer(&request, message.reset)? == End::Closed {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Answers a request with the script.
    fn answer(&mut self, request: &Request, reset: bool) -> Result<End, Fault> {
        let replies = self.script.replies(&self.session, request, reset);
        let steps = answer(request, &self.session, reset, replies)?;
        let mut bytes = Vec::new();
        for step in steps {
            match step {
                Step::Bytes(more) => {
                    bytes.extend(more);
                    self.wire.send_packets(&mut bytes, false)?;
                }
                Step::Wait(time) => {
                    self.wire.send_packets(&mut bytes, true)?;
                    if let Some(end) = self.pause(Some(Instant::now() + time))? {
                        return Ok(end);
                    }
                }
                Step::Silence => {
                    self.wire.send_packets(&mut bytes, true)?;
                    return Ok(self.pause(None)?.unwrap_or(End::Sent));
                }
                Step::Close => {
                    self.wire.send_packets(&mut bytes, true)?;
                    self.wire.close();
                    return Ok(End::Closed);
                }
                Step::Transaction(descriptor) => self.session.transaction = descriptor,
                Step::Database(name) => self.session.database = name,
            }
        }
        self.wire.send(Kind::Response, true, &bytes)?;
        Ok(End::Sent)
    }

    /// Waits; gives how the answer ended if it did.
    fn pause(&mut self, until: Option<Instant>) -> Result<Option<End>, Fault> {
        let message = match self.wire.message(until)? {
            Incoming::TimedOut => return Ok(None),
            Incoming::Ended => return Ok(Some(End::Closed)),
            Incoming::Message(message) => message,
        };
        match script::read(&message, self.session.transaction)? {
            Request::Attention => self.answer(&Request::Attention, false).map(Some),
            request => Err(malformed(format!("before the last request was answered: {request:?}"))),
        }
    }
}

/// Whether a batch announces rows.
fn is_insert_bulk(sql: &str) -> bool {
    let mut words = sql.split_whitespace();
    let mut next_is = |word: &str| words.next().is_some_and(|next| next.eq_ignore_ascii_case(word));
    next_is("INSERT") && next_is("BULK")
}
