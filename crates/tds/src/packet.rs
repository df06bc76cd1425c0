//! Packets: the header of eight bytes, and messages cut into packets.
//!
//! Source: \[MS-TDS\] 2.2.3.1 (header), 2.2.3.1.1 (types), 2.2.3.1.2 (status), 2.2.3.1.3 (length), 2.2.3.1.5
//! (packet number), 2.2.3.1.6 (window).

use crate::fault::{Fault, malformed, unknown};

/// Bytes of a header.
pub const HEADER: usize = 8;

/// The smallest packet size that can be negotiated, in bytes with the header.
pub const SMALLEST: usize = 512;

/// The largest packet size that can be negotiated.
pub const LARGEST: usize = 32_767;

/// The packet size before the negotiation.
pub const FIRST: usize = 4096;

/// The last packet of a message.
const END: u8 = 0x01;

/// The session must be reset before the request.
const RESET: u8 = 0x08;

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text of SQL.
    Batch,
    /// A call of a procedure.
    Rpc,
    /// An answer, which only servers send.
    Response,
    /// Cancels the request before it.
    Attention,
    /// Rows for `INSERT BULK`.
    Bulk,
    /// Begin, commit, roll back.
    Transaction,
    /// `LOGIN7`.
    Login,
    /// The negotiation before the login, and the TLS handshake.
    Prelogin,
}

impl Kind {
    /// Parses the byte in the header.
    pub fn known(byte: u8) -> Result<Self, Fault> {
        match byte {
            1 => Ok(Self::Batch),
            3 => Ok(Self::Rpc),
            4 => Ok(Self::Response),
            6 => Ok(Self::Attention),
            7 => Ok(Self::Bulk),
            14 => Ok(Self::Transaction),
            16 => Ok(Self::Login),
            18 => Ok(Self::Prelogin),
            _ => Err(unknown(format!("packets of type {byte}"))),
        }
    }

    /// The byte in the header.
    pub fn byte(self) -> u8 {
        match self {
            Self::Batch => 1,
            Self::Rpc => 3,
            Self::Response => 4,
            Self::Attention => 6,
            Self::Bulk => 7,
            Self::Transaction => 14,
            Self::Login => 16,
            Self::Prelogin => 18,
        }
    }
}

/// The header of a packet from a client.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// Kind of the message.
    pub kind: Kind,
    /// Whether the message ends with this packet.
    pub last: bool,
    /// Whether the session must be reset first.
    pub reset: bool,
    /// Bytes of the packet, with the header.
    pub length: usize,
    /// The packet's number.
    pub number: u8,
}

impl Header {
    /// Parses the eight bytes.
    pub fn new(bytes: [u8; HEADER]) -> Result<Self, Fault> {
        let [kind, status, high, low, session_high, session_low, number, window] = bytes;
        let kind = Kind::known(kind)?;
        // Ignored messages, and resets that keep a distributed transaction, are not supported.
        if status & !(END | RESET) != 0 {
            return Err(unknown(format!("status 0x{status:02x} of a packet")));
        }
        let reset = status & RESET != 0;
        if reset && !matches!(kind, Kind::Batch | Kind::Rpc | Kind::Transaction) {
            return Err(malformed(format!("a packet of type {} that resets the session", kind.byte())));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < HEADER {
            return Err(malformed(format!("a packet of {length} bytes")));
        }
        if session_high != 0 || session_low != 0 || window != 0 {
            return Err(malformed("a packet of a client with a session or a window"));
        }
        Ok(Self { kind, last: status & END != 0, reset, length, number })
    }
}

/// A message, joined from its packets.
#[derive(Debug)]
pub struct Message {
    /// Its kind.
    pub kind: Kind,
    /// Whether the session must be reset first.
    pub reset: bool,
    /// The contents of the packets, without their headers.
    pub payload: Vec<u8>,
}

/// Packets of a message that has not ended yet.
#[derive(Debug)]
pub struct Assembly {
    message: Message,
    number: u8,
}

/// Adds a packet to the earlier ones of its message. `size` is the negotiated packet size.
///
/// Servers ignore packet numbers (2.2.3.1.5): here they must count up by one within a message, or be the same in all of
/// its packets, as the client tiberius sends them.
pub fn add(
    before: Option<Assembly>,
    header: Header,
    payload: &[u8],
    size: usize,
) -> Result<(Assembly, bool), Fault> {
    if header.length > size || (!header.last && header.length != size) {
        let place = if header.last { "last" } else { "inner" };
        return Err(malformed(format!(
            "the {place} packet of {} bytes where {size} were negotiated",
            header.length
        )));
    }
    let mut assembly = match before {
        Some(assembly) if assembly.message.kind != header.kind || header.reset => {
            return Err(malformed("a packet of another message before the last one had ended"));
        }
        Some(assembly) if ![assembly.number, assembly.number.wrapping_add(1)].contains(&header.number) => {
            return Err(malformed(format!("packet {} after packet {}", header.number, assembly.number)));
        }
        Some(assembly) => assembly,
        None => Assembly {
            message: Message { kind: header.kind, reset: header.reset, payload: Vec::new() },
            number: header.number,
        },
    };
    assembly.number = header.number;
    assembly.message.payload.extend(payload);
    Ok((assembly, header.last))
}

impl Assembly {
    /// The message, once its last packet was added.
    pub fn message(self) -> Message {
        self.message
    }
}

/// A packet of this server. `payload` has at most 32,759 bytes.
pub fn packet(kind: Kind, last: bool, number: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + HEADER).unwrap_or(u16::MAX).to_be_bytes();
    let status = if last { END } else { 0 };
    let mut out = vec![kind.byte(), status, length[0], length[1], 0, 0, number, 0];
    out.extend(payload);
    out
}

#[cfg(test)]
mod tests {
    use super::{Header, Kind, add, packet};

    fn header(kind: u8, status: u8, length: u16, number: u8) -> Header {
        let length = length.to_be_bytes();
        Header::new([kind, status, length[0], length[1], 0, 0, number, 0]).unwrap()
    }

    #[test]
    fn only_known_types_and_bits_pass() {
        for byte in 0..=255u8 {
            assert_eq!(Kind::known(byte).is_ok(), [1, 3, 4, 6, 7, 14, 16, 18].contains(&byte));
            let known = [0, 1, 8, 9].contains(&byte);
            assert_eq!(Header::new([1, byte, 0, 8, 0, 0, 0, 0]).is_ok(), known, "status {byte}");
        }
        assert!(Header::new([1, 1, 0, 7, 0, 0, 0, 0]).is_err());
        assert!(Header::new([1, 1, 0, 8, 0, 1, 0, 0]).is_err());
        assert!(Header::new([1, 1, 0, 8, 0, 0, 0, 1]).is_err());
        assert!(Header::new([16, 9, 0, 8, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn packets_make_a_message_only_in_order() {
        let (first, last) = add(None, header(1, 0, 512, 255), &[1; 504], 512).unwrap();
        assert!(!last);
        let (both, last) = add(Some(first), header(1, 1, 9, 0), &[2], 512).unwrap();
        assert!(last);
        assert_eq!(both.message().payload.len(), 505);
        let first = || Some(add(None, header(1, 0, 512, 1), &[1; 504], 512).unwrap().0);
        assert!(add(first(), header(1, 1, 9, 3), &[2], 512).is_err());
        assert!(add(first(), header(3, 1, 9, 2), &[2], 512).is_err());
        assert!(add(first(), header(1, 9, 9, 2), &[2], 512).is_err());
        assert!(add(None, header(1, 0, 511, 1), &[1; 503], 512).is_err());
        assert!(add(None, header(1, 1, 513, 1), &[1; 505], 512).is_err());
    }

    #[test]
    fn a_packet_has_its_length_with_the_header() {
        assert_eq!(packet(Kind::Response, true, 3, &[9, 9]), [4, 1, 0, 10, 0, 0, 3, 0, 9, 9]);
    }
}
