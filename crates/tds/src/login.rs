//! `LOGIN7`: user, password, database and options.
//!
//! Source: \[MS-TDS\] 2.2.6.4 (layout, flags, obfuscation of the password, features).

use crate::fault::{Fault, malformed, unknown};
use crate::prelogin::Asked;
use crate::reader::{Reader, utf16};

/// Bytes before the data.
const FIXED: usize = 94;

/// Supported versions of the protocol: 7.2, 7.3.A, 7.3.B and 7.4.
const VERSIONS: [u32; 4] = [0x7209_0002, 0x730a_0003, 0x730b_0003, 0x7400_0004];

/// Numbers of the specification's features.
const FEATURES: [u8; 10] = [0x01, 0x04, 0x05, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0d, 0x0e];

/// A login, as the client sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The version of the protocol, such as 0x74000004.
    pub version: u32,
    /// The packet size that the client requests, in bytes; 0 leaves it to the server.
    pub packet_size: u32,
    /// The name of the client's machine.
    pub host: String,
    /// The user.
    pub user: String,
    /// The password, decoded.
    pub password: String,
    /// The name of the program.
    pub application: String,
    /// The name of the server, as the client gave it.
    pub server: String,
    /// The name of the client's library.
    pub library: String,
    /// The language; empty for the user's default.
    pub language: String,
    /// The database; empty for the user's default.
    pub database: String,
    /// Whether the client declares itself read-only.
    pub read_only: bool,
    /// Features that the client requests: number and data. The server grants none.
    pub features: Vec<(u8, Vec<u8>)>,
    /// The client's TLS request from `PRELOGIN`.
    pub asked: Asked,
    /// Whether this message came encrypted.
    pub encrypted: bool,
}

/// Part of the data: from, to.
type ByteRange = (usize, usize);

/// Parses `LOGIN7`, to the last byte.
pub fn read(payload: &[u8], asked: Asked, encrypted: bool) -> Result<Login, Fault> {
    let mut reader = Reader::new("LOGIN7", payload);
    let length = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
    if length != payload.len() {
        return Err(reader.fault(format!("a length of {length} in a message of {}", payload.len())));
    }
    let version = reader.u32()?;
    if !VERSIONS.contains(&version) {
        return Err(unknown(format!("version {version:#010x} of TDS")));
    }
    let packet_size = reader.u32()?;
    reader.take(12)?;
    let flags = Flags::new(reader.array()?)?;
    reader.take(8)?;
    let mut fields = Fields { payload, parts: Vec::new() };
    let mut login = Login {
        version,
        packet_size,
        host: fields.text(&mut reader, "host", 128)?,
        user: fields.text(&mut reader, "user", 128)?,
        password: fields.password(&mut reader)?,
        application: fields.text(&mut reader, "application", 128)?,
        server: fields.text(&mut reader, "server", 128)?,
        library: String::new(),
        language: String::new(),
        database: String::new(),
        read_only: flags.read_only,
        features: fields.features(&mut reader, flags.extension)?,
        asked,
        encrypted,
    };
    login.library = fields.text(&mut reader, "library", 128)?;
    login.language = fields.text(&mut reader, "language", 128)?;
    login.database = fields.text(&mut reader, "database", 128)?;
    reader.take(6)?;
    fields.empty(&mut reader, "SSPI")?;
    fields.empty(&mut reader, "database file")?;
    fields.empty(&mut reader, "new password")?;
    if reader.u32()? != 0 {
        return Err(unknown("a login by SSPI"));
    }
    fields.cover()?;
    Ok(login)
}

/// Checks and parses the four bytes of flags.
struct Flags {
    read_only: bool,
    extension: bool,
}

impl Flags {
    fn new([first, second, kind, third]: [u8; 4]) -> Result<Self, Fault> {
        // Byte order, character set and floating-point format: only those of x86.
        if first & 0b0000_1111 != 0 {
            return Err(unknown(format!("OptionFlags1 {first:#04x}")));
        }
        if second & 0x80 != 0 {
            return Err(unknown("a login by SSPI"));
        }
        // fTransBoundary and fCacheConnect are no longer used; users are normal ones.
        if second & 0b0111_1100 != 0 {
            return Err(unknown(format!("OptionFlags2 {second:#04x}")));
        }
        // SQL_DFLT or SQL_TSQL, fOLEDB, fReadOnlyIntent.
        if kind & !0b0011_0001 != 0 {
            return Err(unknown(format!("TypeFlags {kind:#04x}")));
        }
        // fSendYukonBinaryXML, fUnknownCollationHandling, fExtension.
        if third & !0b0001_1010 != 0 {
            return Err(unknown(format!("OptionFlags3 {third:#04x}")));
        }
        Ok(Self { read_only: kind & 0x20 != 0, extension: third & 0x10 != 0 })
    }
}

/// The data, and which parts of it fields refer to.
struct Fields<'a> {
    payload: &'a [u8],
    parts: Vec<ByteRange>,
}

impl<'a> Fields<'a> {
    /// The next offset and length, and the bytes there; the length counts in units of `unit` bytes.
    fn bytes(
        &mut self,
        reader: &mut Reader<'_>,
        name: &str,
        most: u16,
        unit: usize,
    ) -> Result<&'a [u8], Fault> {
        let (offset, count) = (usize::from(reader.u16()?), reader.u16()?);
        if count > most {
            return Err(reader.fault(format!("{name} has {count} characters, and may have {most}")));
        }
        self.part(name, offset, usize::from(count) * unit)
    }

    /// A part of the data.
    fn part(&mut self, name: &str, offset: usize, bytes: usize) -> Result<&'a [u8], Fault> {
        let end = offset + bytes;
        let Some(part) = self.payload.get(offset..end).filter(|_| bytes == 0 || offset >= FIXED) else {
            let length = self.payload.len();
            return Err(malformed(format!("LOGIN7: {name} from {offset} to {end} of {length} bytes")));
        };
        if bytes > 0 {
            self.parts.push((offset, end));
        }
        Ok(part)
    }

    fn text(&mut self, reader: &mut Reader<'_>, name: &str, most: u16) -> Result<String, Fault> {
        let bytes = self.bytes(reader, name, most, 2)?;
        utf16(bytes).map_err(|what| malformed(format!("LOGIN7: {name}: {what}")))
    }

    /// Decodes the password: each byte has its halves swapped, and then is XORed with 0xa5.
    fn password(&mut self, reader: &mut Reader<'_>) -> Result<String, Fault> {
        let bytes = self.bytes(reader, "password", 128, 2)?;
        let plain: Vec<u8> = bytes.iter().map(|byte| (byte ^ 0xa5).rotate_left(4)).collect();
        utf16(&plain).map_err(|what| malformed(format!("LOGIN7: password: {what}")))
    }

    /// A field that must be empty.
    fn empty(&mut self, reader: &mut Reader<'_>, name: &str) -> Result<(), Fault> {
        match self.bytes(reader, name, u16::MAX, 1)? {
            [] => Ok(()),
            _ => Err(unknown(format!("LOGIN7 with {name}"))),
        }
    }

    /// The features: the field has the offset of their list.
    fn features(&mut self, reader: &mut Reader<'_>, extension: bool) -> Result<Vec<(u8, Vec<u8>)>, Fault> {
        let field = self.bytes(reader, "extension", u16::MAX, 1)?;
        let offset = match (extension, <[u8; 4]>::try_from(field)) {
            (false, _) if field.is_empty() => return Ok(Vec::new()),
            (true, Ok(offset)) => usize::try_from(u32::from_le_bytes(offset)).unwrap_or(usize::MAX),
            _ => return Err(reader.fault(format!("extension {extension} of {} bytes", field.len()))),
        };
        let Some(list) = self.payload.get(offset..).filter(|_| offset >= FIXED) else {
            return Err(malformed(format!("LOGIN7: features at {offset} of {} bytes", self.payload.len())));
        };
        let mut reader = Reader::new("features of LOGIN7", list);
        let mut features = Vec::new();
        loop {
            let feature = reader.u8()?;
            if feature == 0xff {
                break;
            }
            if !FEATURES.contains(&feature) {
                return Err(unknown(format!("feature {feature:#04x} of LOGIN7")));
            }
            let length = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
            features.push((feature, reader.take(length)?.to_vec()));
        }
        self.parts.push((offset, offset + reader.at()));
        Ok(features)
    }

    /// Checks that the parts follow each other without gaps, from the fixed bytes to the end.
    fn cover(mut self) -> Result<(), Fault> {
        self.parts.sort_unstable();
        let mut end = FIXED;
        for (from, to) in self.parts {
            if from != end {
                return Err(malformed(format!("LOGIN7: a field from {from} where {end} is next")));
            }
            end = to;
        }
        match self.payload.len() - end {
            0 => Ok(()),
            left => Err(malformed(format!("LOGIN7: {left} bytes of no field, from {end}"))),
        }
    }
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
