//! Calls of procedures.
//!
//! Source: \[MS-TDS\] 2.2.6.6 (`RPCRequest`: names and numbers of procedures, options, parameters).

use crate::fault::{Fault, unknown};
use crate::headers;
use crate::read_value;
use crate::reader::Reader;
use crate::type_info;
use crate::types::Type;
use crate::value::Value;

/// A call of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct Rpc {
    /// The procedure's name, also if the client gave its number.
    pub procedure: String,
    /// Its number, if the client gave it.
    pub number: Option<u16>,
    /// Whether it must be recompiled.
    pub recompile: bool,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, such as `@P1`; empty if it is identified by its place.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Its value.
    pub value: Value,
    /// Whether it is an output parameter.
    pub output: bool,
    /// Whether the procedure's default is requested.
    pub default: bool,
}

/// Procedures that have numbers, from 1 on.
const NUMBERED: [&str; 15] = [
    "sp_cursor",
    "sp_cursoropen",
    "sp_cursorprepare",
    "sp_cursorexecute",
    "sp_cursorprepexec",
    "sp_cursorunprepare",
    "sp_cursorfetch",
    "sp_cursoroption",
    "sp_cursorclose",
    "sp_executesql",
    "sp_prepare",
    "sp_execute",
    "sp_prepexec",
    "sp_prepexecrpc",
    "sp_unprepare",
];

/// Marks a number instead of a name.
const BY_NUMBER: u16 = 0xffff;

impl Rpc {
    /// The parameter with this name, ignoring case, or at this place.
    pub fn parameter(&self, name: &str, place: usize) -> Option<&Parameter> {
        let named = self.parameters.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name));
        named.or_else(|| self.parameters.get(place).filter(|parameter| parameter.name.is_empty()))
    }

    /// The statement of `sp_executesql`, `sp_prepare` and `sp_prepexec`.
    pub fn statement(&self) -> Option<&str> {
        let place = match self.procedure.as_str() {
            "sp_executesql" => 0,
            "sp_prepare" | "sp_prepexec" => 2,
            _ => return None,
        };
        match &self.parameters.get(place)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Values of the parameters from a place on: those of the statement of `sp_executesql` from 2 on.
    pub fn values(&self, from: usize) -> Vec<Value> {
        self.parameters.iter().skip(from).map(|parameter| parameter.value.clone()).collect()
    }
}

/// Parses a call, to the last byte. `transaction` is the open one, 0 for none.
pub fn read(payload: &[u8], transaction: u64) -> Result<Rpc, Fault> {
    let mut reader = Reader::new("RPC request", payload);
    headers::read(&mut reader, transaction)?;
    let (procedure, number) = match reader.u16()? {
        BY_NUMBER => {
            let number = reader.u16()?;
            let place = usize::from(number).checked_sub(1);
            match place.and_then(|place| NUMBERED.get(place)) {
                Some(name) => ((*name).to_owned(), Some(number)),
                None => return Err(unknown(format!("procedure {number}"))),
            }
        }
        0 => return Err(reader.fault("a procedure without a name")),
        units => (reader.utf16(usize::from(units) * 2)?, None),
    };
    let options = reader.u16()?;
    // fWithRecomp is bit 0; fNoMetaData and fReuseMetaData are not supported.
    if options > 1 {
        return Err(unknown(format!("OptionFlags {options:#06x} of a call")));
    }
    let mut parameters = Vec::new();
    while !reader.is_empty() {
        // A name has at most 128 characters: these bytes begin another call.
        if matches!(reader.peek(), Some(0xfe | 0xff)) {
            return Err(unknown("several calls in one message"));
        }
        parameters.push(parameter(&mut reader)?);
    }
    Ok(Rpc { procedure, number, recompile: options == 1, parameters })
}

fn parameter(reader: &mut Reader<'_>) -> Result<Parameter, Fault> {
    let name = reader.b_varchar()?;
    let status = reader.u8()?;
    // fByRefValue and fDefaultValue; encrypted columns are not supported.
    if status & !0b11 != 0 {
        return Err(unknown(format!("StatusFlags {status:#04x} of parameter {name}")));
    }
    let info = type_info::read(reader)?;
    let value = read_value::read(reader, info)?;
    Ok(Parameter { name, kind: info.kind, value, output: status & 1 != 0, default: status & 2 != 0 })
}
