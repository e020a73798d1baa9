//! `urlquery.*` and `glob.quote_meta`, whose own versions in the engine differ from OPA's: they take `%zz` for text,
//! leave `*` as it is, and leave braces in a pattern that was to be none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, text, weigh};

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "urlquery.encode" => Guard::Instead(encode),
        "urlquery.decode" => Guard::Instead(decode),
        "urlquery.encode_object" => Guard::Instead(encode_object),
        "urlquery.decode_object" => Guard::Instead(decode_object),
        "glob.quote_meta" => Guard::Instead(quote_meta),
        _ => return None,
    })
}

fn string(values: &[Value]) -> Result<&str, String> {
    weigh(values, WEIGHT_MAX)?;
    text(values, 0).ok_or_else(|| String::from("the argument must be a string"))
}

/// As Go's `url.QueryEscape`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// As Go's `url.QueryUnescape`; what is no text afterwards is refused.
fn unescaped(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
                let code = digit(0).zip(digit(1)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                bytes.push(code.ok_or_else(|| format!("invalid URL escape in {text:?}"))?);
                rest = &after[2..];
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("{text:?} is no text"))
}

fn encode(values: &[Value]) -> Result<Value, String> {
    Ok(Value::from(escaped(string(values)?)))
}

fn decode(values: &[Value]) -> Result<Value, String> {
    unescaped(string(values)?).map(Value::from)
}

fn encode_object(values: &[Value]) -> Result<Value, String> {
    weigh(values, WEIGHT_MAX)?;
    let Some(Value::Object(members)) = values.first() else {
        return Err(String::from("the argument must be an object"));
    };
    let mut pairs = Vec::new();
    for (name, member) in members.iter_sorted() {
        let Value::String(name) = name else { return Err(String::from("keys must be strings")) };
        let items: Vec<&Value> = match member {
            Value::Array(items) => items.iter().collect(),
            Value::Set(items) => items.iter_sorted().collect(),
            one => vec![one],
        };
        for item in items {
            let Value::String(item) = item else { return Err(String::from("values must be strings")) };
            pairs.push(format!("{}={}", escaped(name), escaped(item)));
        }
    }
    Ok(Value::from(pairs.join("&")))
}

fn decode_object(values: &[Value]) -> Result<Value, String> {
    let mut members: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for pair in string(values)?.split('&').filter(|pair| !pair.is_empty()) {
        if pair.contains(';') {
            return Err(String::from("invalid semicolon separator in query"));
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        members.entry(unescaped(name)?).or_default().push(Value::from(unescaped(value)?));
    }
    let members = members.into_iter().map(|(name, values)| (Value::from(name), Value::from(values)));
    Ok(Value::from(members.collect::<BTreeMap<_, _>>()))
}

/// A pattern of a glob that matches the text itself.
fn quote_meta(values: &[Value]) -> Result<Value, String> {
    let mut quoted = String::new();
    for character in string(values)?.chars() {
        if matches!(character, '*' | '?' | '\\' | '[' | ']' | '{' | '}') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    Ok(Value::from(quoted))
}
