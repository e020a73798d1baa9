//! Guards of builtins that read or write whole values.

use regorus::Value;

use super::added::jwt::as_go_writes;
use super::guard::Guard;
use super::weight::{WEIGHT_MAX, length, text, weigh};
use crate::json::engine_reader;

const YAML_BYTES_MAX: usize = 64 << 10;
/// What surely fits into 64 bits.
const YAML_DIGITS_MAX: usize = 18;
const WALKED_WEIGHT_MAX: usize = 2 << 20;
const PATCHES_MAX: usize = 100;
const PAIRS_MAX: usize = 1 << 30;
const UNITED_WEIGHT_MAX: usize = 1 << 26;
const TIME_TEXT_BYTES_MAX: usize = 256;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "json.marshal" => Guard::Instead(marshal),
        "json.unmarshal" => Guard::Instead(unmarshal),
        "json.is_valid" => Guard::Instead(is_valid),
        "object.union" | "graph.reachable" => Guard::Check(weighed),
        "object.subset" => Guard::Unless(subset),
        "array.slice" => Guard::Check(slice),
        "object.union_n" => Guard::Check(union_n),
        "json.patch" => Guard::Check(patch),
        "yaml.unmarshal" | "yaml.is_valid" => Guard::Check(yaml),
        "walk" => Guard::Check(|values| weigh(values, WALKED_WEIGHT_MAX).map(|_| ())),
        "time.format" | "time.parse_ns" | "time.parse_duration_ns" | "time.parse_rfc3339_ns" => Guard::Check(time),
        _ => return None,
    })
}

fn weighed(values: &[Value]) -> Result<(), String> {
    weigh(values, WEIGHT_MAX).map(|_| ())
}

/// Each part of the first is compared with each of the second.
fn pairwise(values: &[Value]) -> Result<(), String> {
    weighed(values)?;
    let pairs = values.iter().try_fold(1_usize, |product, value| {
        weigh(std::slice::from_ref(value), WEIGHT_MAX).map(|weight| product.saturating_mul(weight))
    })?;
    if pairs > PAIRS_MAX { Err(String::from("the arguments are too large")) } else { Ok(()) }
}

/// The engine says no where OPA refuses to compare, and fails at an empty list, which is a part of every other. OPA
/// counts a repeated item of the list each time, and returns false for an empty list.
fn subset(values: &[Value]) -> Result<Option<Value>, String> {
    pairwise(values)?;
    match values {
        [Value::Array(_), Value::Array(part)] if part.is_empty() => Ok(Some(Value::Bool(true))),
        [Value::Array(items), Value::Set(part)] => {
            let found = items.iter().filter(|item| part.contains(item)).count();
            Ok(Some(Value::Bool(!items.is_empty() && found >= part.len())))
        }
        [Value::Object(_), Value::Object(_)] | [Value::Set(_), Value::Set(_)] | [Value::Array(_), Value::Array(_)] => {
            Ok(None)
        }
        _ => Err(String::from("both arguments object.subset must be of the same type or array and set")),
    }
}

/// The engine takes the end for a number beyond it.
fn slice(values: &[Value]) -> Result<(), String> {
    let is_index = |value: &Value| !matches!(value, Value::Number(number) if number.as_i64().is_none());
    if values.iter().skip(1).all(is_index) { Ok(()) } else { Err(String::from("an index that is no whole number")) }
}

/// The union so far is copied for each object.
fn union_n(values: &[Value]) -> Result<(), String> {
    let weight = weigh(values, WEIGHT_MAX)?;
    let objects = match values.first() {
        Some(Value::Array(items)) => items.iter().count(),
        _ => 1,
    };
    if weight.saturating_mul(objects) > UNITED_WEIGHT_MAX {
        return Err(String::from("the arguments are too large"));
    }
    Ok(())
}

fn marshal(values: &[Value]) -> Result<Value, String> {
    weighed(values)?;
    as_go_writes(values.first().unwrap_or(&Value::Null)).map(Value::from)
}

/// The engine's own rounds integers above 64 bits, and takes the last of two equal keys.
fn unmarshal(values: &[Value]) -> Result<Value, String> {
    let string = text(values, 0).ok_or_else(|| String::from("the argument must be a string"))?;
    engine_reader::read(string.as_bytes()).map_err(|refusal| refusal.describe(string.as_bytes()))
}

fn is_valid(values: &[Value]) -> Result<Value, String> {
    let Some(string) = text(values, 0) else { return Ok(Value::Bool(false)) };
    match engine_reader::read(string.as_bytes()) {
        Ok(_) => Ok(Value::Bool(true)),
        // Go takes two equal keys, lone surrogates and any number.
        Err(_)
            if string.contains(r"\u")
                || string.bytes().filter(|byte| *byte == b':').count() > 1
                || has_long_number(string) =>
        {
            Err(String::from("a text that is JSON for some readers only"))
        }
        Err(_) => Ok(Value::Bool(false)),
    }
}

fn has_long_number(string: &str) -> bool {
    let is_number = |character: char| character.is_ascii_digit() || matches!(character, '.' | 'e' | 'E' | '+' | '-');
    string.split(|character| !is_number(character)).any(|number| number.len() > 18 || number.contains(['e', 'E']))
}

fn patch(values: &[Value]) -> Result<(), String> {
    weighed(values)?;
    match values.get(1) {
        Some(Value::Array(patches)) if patches.iter().count() > PATCHES_MAX => {
            Err(format!("more than {PATCHES_MAX} patches"))
        }
        _ => Ok(()),
    }
}

/// Aliases can make a value of any size from a small text; the engine's reader limits how often they repeat.
fn yaml(values: &[Value]) -> Result<(), String> {
    if length(values, 0) > YAML_BYTES_MAX {
        return Err(format!("a text of more than {YAML_BYTES_MAX} bytes"));
    }
    if text(values, 0).is_some_and(|string| string.contains('*')) {
        return Err(String::from("a text with aliases"));
    }
    let is_digit = |character: char| character.is_ascii_digit() || character == '_';
    if text(values, 0).is_some_and(|string| string.split(|c| !is_digit(c)).any(|digits| digits.len() > YAML_DIGITS_MAX))
    {
        return Err(format!("a number of more than {YAML_DIGITS_MAX} digits would be rounded"));
    }
    Ok(())
}

fn time(values: &[Value]) -> Result<(), String> {
    weigh(values, 2 * TIME_TEXT_BYTES_MAX)?;
    // The engine cuts layouts between bytes, and panics within a character.
    if [0, 1].into_iter().any(|index| text(values, index).is_some_and(|text| !text.is_ascii())) {
        return Err(String::from("a text beyond ASCII"));
    }
    Ok(())
}
