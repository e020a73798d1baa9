//! `uuid.parse`: what an identifier of RFC 4122 says about itself.

use std::collections::BTreeMap;

use regorus::Value;

use super::Added;
use super::operands::string;

/// Of 100 nanoseconds, from 15 October 1582 to 1970 (RFC 4122 section 4.1.4).
const TICKS_TO_1970: i64 = 122_192_928_000_000_000;
const TICKS_PER_SECOND: i64 = 10_000_000;

pub const TABLE: &[Added] = &[Added::new("uuid.parse", 1, parse)];

fn parse(values: &[Value]) -> Result<Value, String> {
    // As in OPA, what is no identifier is undefined, and no error.
    Ok(bytes(string(values, 1)?).map_or(Value::Undefined, describe))
}

/// With hyphens, with `urn:uuid:`, in braces, or as 32 digits.
fn bytes(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    let text = match text.len() {
        36 => text,
        45 => text.get(..9).filter(|prefix| prefix.eq_ignore_ascii_case(b"urn:uuid:")).and(text.get(9..))?,
        38 => text.get(1..37)?,
        32 => return hexadecimal(text.iter().copied()),
        _ => return None,
    };
    let has_hyphens = [8, 13, 18, 23].into_iter().all(|at| text[at] == b'-');
    let digits = text.iter().enumerate().filter(|(at, _)| ![8, 13, 18, 23].contains(at)).map(|(_, byte)| *byte);
    has_hyphens.then(|| hexadecimal(digits))?
}

fn hexadecimal(digits: impl Iterator<Item = u8>) -> Option<[u8; 16]> {
    let digits = digits.map(|digit| char::from(digit).to_digit(16)).collect::<Option<Vec<_>>>()?;
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::try_from(pair[0] * 16 + pair[1]).ok()?;
    }
    Some(bytes)
}

fn describe(bytes: [u8; 16]) -> Value {
    let version = bytes[6] >> 4;
    let variant = match bytes[8] {
        byte if byte & 0xc0 == 0x80 => "RFC4122",
        byte if byte & 0xe0 == 0xc0 => "Microsoft",
        byte if byte & 0xe0 == 0xe0 => "Future",
        _ => "Reserved",
    };
    let mut members = BTreeMap::from([
        (Value::from("version"), Value::from(u64::from(version))),
        (Value::from("variant"), Value::from(variant)),
    ]);
    if matches!(version, 1 | 2) {
        members.extend(of_a_computer(&bytes));
    }
    if version == 2 {
        let domain = match bytes[9] {
            0 => String::from("Person"),
            1 => String::from("Group"),
            2 => String::from("Org"),
            other => format!("Domain{other}"),
        };
        let id = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        members.insert(Value::from("id"), Value::from(u64::from(id)));
        members.insert(Value::from("domain"), Value::from(domain));
    }
    Value::from(members)
}

/// Time and place of versions 1 and 2.
fn of_a_computer(bytes: &[u8; 16]) -> [(Value, Value); 4] {
    let low = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let middle = u16::from_be_bytes([bytes[4], bytes[5]]);
    let high = u16::from_be_bytes([bytes[6], bytes[7]]) & 0xfff;
    let ticks = (i64::from(high) << 48 | i64::from(middle) << 32 | i64::from(low)) - TICKS_TO_1970;
    // Go's arithmetic wraps.
    let nanoseconds = (ticks / TICKS_PER_SECOND)
        .wrapping_mul(1_000_000_000)
        .wrapping_add((ticks % TICKS_PER_SECOND).wrapping_mul(100));
    let node: Vec<_> = bytes[10..].iter().map(|byte| format!("{byte:02x}")).collect();
    let kind = match bytes[10] & 3 {
        3 => "local:multicast",
        1 => "global:multicast",
        2 => "local:unicast",
        _ => "global:unicast",
    };
    let sequence = u16::from_be_bytes([bytes[8], bytes[9]]) & 0x3fff;
    [
        (Value::from("time"), Value::from(nanoseconds)),
        (Value::from("nodeid"), Value::from(node.join("-"))),
        (Value::from("macvariables"), Value::from(kind)),
        (Value::from("clocksequence"), Value::from(u64::from(sequence))),
    ]
}
