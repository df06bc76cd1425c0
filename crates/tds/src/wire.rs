//! A connection: messages in, packets out, plain or encrypted.
//!
//! Source: \[MS-TDS\] 2.2.3 (packets), 2.2.6.5 (the TLS handshake in packets), 2.2.1.2 (encryption of the login
//! alone).

use crate::fault::{Fault, malformed};
use crate::packet::{self, Assembly, HEADER, Header, Kind, Message};
use crate::tls;
use rustls::ServerConnection;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A connection to a client.
pub struct Wire {
    socket: TcpStream,
    tls: Option<ServerConnection>,
    /// Received bytes, decrypted, that belong to no message yet.
    received: Vec<u8>,
    /// Whether the client has ended its side.
    ended: bool,
    assembly: Option<Assembly>,
    /// The negotiated packet size, bytes.
    packet_size: usize,
    number: u8,
}

/// Result of waiting for a message.
#[derive(Debug)]
pub enum Incoming {
    /// A whole message.
    Message(Message),
    /// The client has closed the connection between two messages.
    Ended,
    /// The time was up.
    TimedOut,
}

impl Wire {
    /// Wraps a socket.
    pub fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            tls: None,
            received: Vec::new(),
            ended: false,
            assembly: None,
            packet_size: packet::FIRST,
            number: 0,
        }
    }

    /// Sets the packet size.
    pub fn set_packet_size(&mut self, bytes: usize) {
        self.packet_size = bytes;
    }

    /// Waits for a message, with an optional deadline.
    pub fn message(&mut self, until: Option<Instant>) -> Result<Incoming, Fault> {
        loop {
            if let Some(message) = self.take_packet()? {
                return Ok(Incoming::Message(message));
            }
            if self.ended {
                return match self.received.is_empty() && self.assembly.is_none() {
                    true => Ok(Incoming::Ended),
                    false => Err(malformed("the connection ended in the middle of a message")),
                };
            }
            if !self.receive(until)? {
                return Ok(Incoming::TimedOut);
            }
        }
    }

    /// Takes complete packets; gives the message that the last of them ends.
    fn take_packet(&mut self) -> Result<Option<Message>, Fault> {
        while let Some(bytes) = self.received.first_chunk::<HEADER>() {
            let header = Header::new(*bytes)?;
            if header.length > self.packet_size {
                let size = self.packet_size;
                return Err(malformed(format!(
                    "a packet of {} bytes where {size} were negotiated",
                    header.length
                )));
            }
            if self.received.len() < header.length {
                return Ok(None);
            }
            let packet: Vec<u8> = self.received.drain(..header.length).collect();
            // TLS determines the length of its messages.
            let size = if self.tls_in_packets() { header.length } else { self.packet_size };
            let (assembly, last) = packet::add(self.assembly.take(), header, &packet[HEADER..], size)?;
            match last {
                true => return Ok(Some(assembly.message())),
                false => self.assembly = Some(assembly),
            }
        }
        Ok(None)
    }

    fn tls_in_packets(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Waits for bytes; false if the time was up.
    fn receive(&mut self, until: Option<Instant>) -> Result<bool, Fault> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        self.socket.set_read_timeout(left)?;
        let mut buffer = [0; 16 * 1024];
        let count = match self.socket.read(&mut buffer) {
            Ok(count) => count,
            Err(cause) if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(false);
            }
            Err(cause) if cause.kind() == ErrorKind::Interrupted => return Ok(true),
            // A client that was killed resets the connection.
            Err(cause) if cause.kind() == ErrorKind::ConnectionReset => 0,
            Err(cause) => return Err(cause.into()),
        };
        self.ended |= count == 0;
        match &mut self.tls {
            Some(tls) if !tls.is_handshaking() => {
                self.ended |= tls::receive(tls, &buffer[..count], &mut self.received)?;
            }
            _ => self.received.extend(&buffer[..count]),
        }
        Ok(true)
    }

    /// Sends a packet.
    pub fn send(&mut self, kind: Kind, last: bool, payload: &[u8]) -> Result<(), Fault> {
        self.number = self.number.wrapping_add(1);
        let packet = packet::packet(kind, last, self.number, payload);
        let bytes = match &mut self.tls {
            Some(tls) if !tls.is_handshaking() => tls::encrypt(tls, &packet)?,
            _ => packet,
        };
        self.socket.write_all(&bytes)?;
        if last {
            self.number = 0;
        }
        Ok(())
    }

    /// Largest payload of a packet.
    pub fn room(&self) -> usize {
        self.packet_size - HEADER
    }

    /// Sends full packets of `bytes`, or everything if `all`; the rest stays in `bytes`.
    pub fn send_packets(&mut self, bytes: &mut Vec<u8>, all: bool) -> Result<(), Fault> {
        let room = self.room();
        let mut sent = 0;
        while bytes.len() - sent > room {
            self.send(Kind::Response, false, &bytes[sent..sent + room])?;
            sent += room;
        }
        if all && sent < bytes.len() {
            self.send(Kind::Response, false, &bytes[sent..])?;
            sent = bytes.len();
        }
        bytes.drain(..sent);
        Ok(())
    }

    /// The TLS handshake in packets. False if the client goes away instead.
    pub fn handshake(&mut self) -> Result<bool, Fault> {
        self.tls = Some(tls::server(false)?);
        loop {
            let message = match self.message(None)? {
                Incoming::Message(message)
                    if message.kind == Kind::Prelogin && !message.payload.is_empty() =>
                {
                    message
                }
                Incoming::Message(message) => {
                    return Err(malformed(format!(
                        "a message of type {} instead of TLS",
                        message.kind.byte()
                    )));
                }
                Incoming::Ended | Incoming::TimedOut => return Ok(false),
            };
            let Some(tls) = &mut self.tls else { return Ok(false) };
            // All output of TLS, alerts too, goes back in a packet.
            let result = tls::receive(tls, &message.payload, &mut self.received);
            let bytes = tls::to_send(tls)?;
            for (place, part) in bytes.chunks(self.packet_size - HEADER).enumerate() {
                let last = (place + 1) * (self.packet_size - HEADER) >= bytes.len();
                self.number = self.number.wrapping_add(1);
                let packet = packet::packet(Kind::Prelogin, last, self.number, part);
                self.socket.write_all(&packet)?;
            }
            self.number = 0;
            result?;
            if self.tls.as_ref().is_some_and(|tls| !tls.is_handshaking()) {
                return Ok(true);
            }
        }
    }

    /// The TLS handshake before the first message, as in TDS 8.0. False if the client goes away instead.
    pub fn handshake_first(&mut self) -> Result<bool, Fault> {
        let mut tls = tls::server(true)?;
        let mut buffer = [0; 16 * 1024];
        while tls.is_handshaking() {
            let count = self.socket.read(&mut buffer)?;
            if count == 0 {
                return Ok(false);
            }
            let result = tls::receive(&mut tls, &buffer[..count], &mut self.received);
            self.socket.write_all(&tls::to_send(&mut tls)?)?;
            result?;
        }
        self.tls = Some(tls);
        Ok(true)
    }

    /// Continues without encryption, after a login that alone was encrypted.
    pub fn end_tls(&mut self) {
        self.tls = None;
    }

    /// Closes the connection for both sides.
    pub fn close(&self) {
        // It may be closed already, which is fine.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}
