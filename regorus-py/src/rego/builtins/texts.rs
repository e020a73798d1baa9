//! Guards of builtins on strings.

use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, length, text, weigh};
use crate::go_format;

const COMPARED_BYTES_MAX: usize = 1 << 28;
const REPLACED_BYTES_MAX: usize = 16 << 20;
const SPLIT_BYTES_MAX: usize = 1 << 20;
const CUTSET_BYTES_MAX: usize = 256;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "sprintf" => Guard::Instead(sprintf),
        "replace" => Guard::Check(replace),
        "strings.replace_n" => Guard::Instead(replace_n),
        "strings.count" => Guard::Instead(count),
        "concat" => Guard::Check(concat),
        "split" => Guard::Check(split),
        "indexof" | "indexof_n" => Guard::Check(indexof),
        "strings.any_prefix_match" | "strings.any_suffix_match" => Guard::Check(any_match),
        "substring" => Guard::Check(whole_numbers),
        "trim" | "trim_left" | "trim_right" => Guard::Check(trim),
        _ => return None,
    })
}

fn too_large() -> String {
    String::from("the result could be too large")
}

/// As Go's `fmt` writes it; widths and precisions can make much of little.
fn sprintf(values: &[Value]) -> Result<Value, String> {
    weigh(values, WEIGHT_MAX)?;
    let (Some(format), Some(Value::Array(arguments))) = (text(values, 0), values.get(1)) else {
        return Err(String::from("the arguments must be a string and an array"));
    };
    let arguments: Vec<Value> = arguments.iter().cloned().collect();
    go_format::sprintf(format, &arguments, WEIGHT_MAX).map(Value::from)
}

/// Doubling a string thirty times makes a gigabyte: the result is measured before it is made.
fn replace(values: &[Value]) -> Result<(), String> {
    let (Some(string), Some(old), Some(new)) = (text(values, 0), text(values, 1), text(values, 2)) else {
        return Ok(());
    };
    measured(string, old, new)
}

fn measured(string: &str, old: &str, new: &str) -> Result<(), String> {
    if string.len() + old.len() > WEIGHT_MAX {
        return Err(too_large());
    }
    let matches = if old.is_empty() { string.chars().count() + 1 } else { string.matches(old).count() };
    match matches.checked_mul(new.len()).map(|added| added + string.len()) {
        Some(size) if size <= WEIGHT_MAX => Ok(()),
        _ => Err(too_large()),
    }
}

/// All patterns at once, as Go's `strings.Replacer`: at each place the first of them, in their order, that is there.
fn replace_n(values: &[Value]) -> Result<Value, String> {
    let (Some(Value::Object(patterns)), Some(string)) = (values.first(), text(values, 1)) else {
        return Err(String::from("the arguments must be an object of strings and a string"));
    };
    let mut pairs = Vec::new();
    for (old, new) in patterns.iter_sorted() {
        let (Value::String(old), Value::String(new)) = (old, new) else {
            return Err(String::from("the patterns and their replacements must be strings"));
        };
        if old.is_empty() {
            return Err(String::from("an empty pattern"));
        }
        pairs.push((old.to_string(), new.to_string()));
    }
    if string.len().saturating_mul(pairs.len()) > REPLACED_BYTES_MAX {
        return Err(String::from("the arguments are too large"));
    }
    let (mut replaced, mut rest) = (String::new(), string);
    while let Some(next) = rest.chars().next() {
        match pairs.iter().find(|(old, _)| rest.starts_with(old.as_str())) {
            Some((old, new)) => {
                replaced.push_str(new);
                rest = &rest[old.len()..];
            }
            None => {
                replaced.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        if replaced.len() > WEIGHT_MAX {
            return Err(too_large());
        }
    }
    Ok(Value::from(replaced))
}

/// Of matches that do not overlap, and with an empty one between all characters, as OPA counts; the engine's
/// own counts others, and panics on an empty string.
fn count(values: &[Value]) -> Result<Value, String> {
    let (Some(string), Some(part)) = (text(values, 0), text(values, 1)) else {
        return Err(String::from("the arguments must be strings"));
    };
    let found = if part.is_empty() { string.chars().count() + 1 } else { string.matches(part).count() };
    Ok(Value::from(found))
}

fn concat(values: &[Value]) -> Result<(), String> {
    let parts = match values.get(1) {
        Some(Value::Array(items)) => items.iter().count(),
        Some(Value::Set(items)) => items.len(),
        _ => 0,
    };
    let between = length(values, 0).saturating_mul(parts);
    if between > WEIGHT_MAX {
        return Err(too_large());
    }
    weigh(values, WEIGHT_MAX - between).map(|_| ())
}

fn split(values: &[Value]) -> Result<(), String> {
    if length(values, 0) > SPLIT_BYTES_MAX {
        return Err(format!("a text of more than {SPLIT_BYTES_MAX} bytes"));
    }
    Ok(())
}

/// The part is compared at every character.
fn indexof(values: &[Value]) -> Result<(), String> {
    if text(values, 1).is_some_and(str::is_empty) {
        return Err(String::from("empty search character"));
    }
    split(values)?;
    if length(values, 0).saturating_mul(length(values, 1)) > COMPARED_BYTES_MAX {
        return Err(String::from("the arguments are too large"));
    }
    Ok(())
}

/// Each of the first is compared with each of the second.
fn any_match(values: &[Value]) -> Result<(), String> {
    let size = |value: &Value| match value {
        Value::Array(items) => items.iter().count(),
        Value::Set(items) => items.len(),
        _ => 1,
    };
    let searched = weigh(values.get(..1).unwrap_or_default(), WEIGHT_MAX)?;
    if searched.saturating_mul(values.get(1).map_or(1, size)) > COMPARED_BYTES_MAX {
        return Err(String::from("the arguments are too large"));
    }
    Ok(())
}

/// Every character is looked up in the set.
fn trim(values: &[Value]) -> Result<(), String> {
    if length(values, 1) > CUTSET_BYTES_MAX {
        return Err(format!("a set of more than {CUTSET_BYTES_MAX} bytes"));
    }
    Ok(())
}

/// The engine takes 0 for a number that is not whole.
fn whole_numbers(values: &[Value]) -> Result<(), String> {
    let is_whole = |value: &Value| !matches!(value, Value::Number(number) if number.as_i64().is_none());
    match values.iter().skip(1).position(|value| !is_whole(value)) {
        Some(index) => Err(format!("operand {} must be integer number but got floating-point number", index + 2)),
        None => Ok(()),
    }
}
