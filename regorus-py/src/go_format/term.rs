//! A value as OPA writes it: what `String()` of its term gives.

use std::fmt::Write as _;

use regorus::Value;

use super::quote;
use crate::json::engine_writer;
use crate::rego::builtins::order::in_order;

/// Digits of the first number that has an exponent in JSON, and those that a double has at most.
const EXPONENT_DIGITS: usize = 22;
const DOUBLE_DIGITS: usize = 17;

/// Why it is not written.
pub const AMBIGUOUS: &str = "an integer that OPA may write with an exponent";

/// From 10^21 on, JSON spells a double with an exponent, and OPA keeps the spelling: of an integer that is one, nobody
/// knows it.
pub fn has_one_spelling(number: &num_bigint::BigInt) -> bool {
    let digits = number.to_string();
    let digits = digits.trim_start_matches('-');
    digits.len() < EXPONENT_DIGITS || digits.trim_end_matches('0').len() > DOUBLE_DIGITS
}

fn number(out: &mut String, value: &Value) -> Result<(), String> {
    if let Value::Number(number) = value
        && number.as_i64().is_none()
        && number.as_big().is_some_and(|long| !has_one_spelling(&long))
    {
        return Err(String::from(AMBIGUOUS));
    }
    let mut json = Vec::new();
    engine_writer::write(&mut json, value)?;
    out.push_str(&String::from_utf8(json).map_err(|_| String::from("a number that is no text"))?);
    Ok(())
}

fn items<'v>(out: &mut String, items: impl Iterator<Item = &'v Value>, bytes_max: usize) -> Result<(), String> {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, item, bytes_max)?;
    }
    Ok(())
}

pub fn write(out: &mut String, value: &Value, bytes_max: usize) -> Result<(), String> {
    if out.len() > bytes_max {
        return Err(format!("a text of more than {bytes_max} bytes"));
    }
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(is_true) => write!(out, "{is_true}").map_err(|error| error.to_string())?,
        Value::Number(_) => number(out, value)?,
        Value::String(text) => out.push_str(&quote::text(text, false)),
        Value::Array(found) => {
            out.push('[');
            items(out, found.iter(), bytes_max)?;
            out.push(']');
        }
        Value::Set(found) if found.is_empty() => out.push_str("set()"),
        Value::Set(found) => {
            out.push('{');
            items(out, in_order(found.iter_sorted()).into_iter(), bytes_max)?;
            out.push('}');
        }
        Value::Object(members) => {
            out.push('{');
            let members: Vec<_> = members.iter_sorted().collect();
            for (index, key) in in_order(members.iter().map(|(key, _)| *key)).into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(out, key, bytes_max)?;
                out.push_str(": ");
                let member = members.iter().find(|(other, _)| *other == key).map(|(_, member)| *member);
                write(out, member.unwrap_or(&Value::Undefined), bytes_max)?;
            }
            out.push('}');
        }
    }
    Ok(())
}
