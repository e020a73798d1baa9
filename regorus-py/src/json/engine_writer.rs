//! The engine's values to canonical JSON. Sets become sorted lists; keys that are no strings become their JSON.

use regorus::Value;

use super::python_reader::INTEGER_DIGITS_MAX;
use super::scanner::NESTING_MAX;
use super::text::{compare_keys, write_double, write_string};

/// Binary digits that are sure to fit into the decimal digits that readers accept.
const INTEGER_BITS_MAX: u64 = INTEGER_DIGITS_MAX as u64 * 3;

/// A value that holds another many times over (x := [y, y], z := [x, x] …) is small in memory and has no end
/// when written.
pub const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// Appends the JSON of `value`; the error says why it has none.
pub fn write(out: &mut Vec<u8>, value: &Value) -> Result<(), String> {
    write_value(out, value, 0)
}

fn write_value(out: &mut Vec<u8>, value: &Value, depth: usize) -> Result<(), String> {
    if out.len() > OUTPUT_BYTES_MAX {
        return Err(format!("a value of more than {OUTPUT_BYTES_MAX} bytes"));
    }
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::String(string) => write_string(out, string),
        Value::Number(_) => write_number(out, value)?,
        Value::Array(items) => write_items(out, items.iter(), deeper(depth)?)?,
        Value::Set(items) => write_items(out, items.iter_sorted(), deeper(depth)?)?,
        Value::Object(_) => write_object(out, value, deeper(depth)?)?,
        Value::Undefined => return Err(String::from("an undefined value has no JSON")),
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, String> {
    if depth >= NESTING_MAX {
        return Err(format!("a value nested more than {NESTING_MAX} deep"));
    }
    Ok(depth + 1)
}

fn write_number(out: &mut Vec<u8>, value: &Value) -> Result<(), String> {
    let Value::Number(number) = value else { return Ok(()) };
    if let Some(unsigned) = number.as_u64() {
        out.extend_from_slice(itoa::Buffer::new().format(unsigned).as_bytes());
    } else if let Some(signed) = number.as_i64() {
        out.extend_from_slice(itoa::Buffer::new().format(signed).as_bytes());
    } else if let Some(double) = number.as_f64() {
        write_double(out, double);
    } else {
        // Turning an integer into decimal digits takes the square of its length: not without a limit.
        match number.as_big() {
            Some(integer) if integer.bits() <= INTEGER_BITS_MAX => {
                out.extend_from_slice(number.format_decimal().as_bytes());
            }
            _ => return Err(String::from("a number that JSON cannot hold")),
        }
    }
    Ok(())
}

fn write_items<'a>(out: &mut Vec<u8>, items: impl Iterator<Item = &'a Value>, depth: usize) -> Result<(), String> {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(out, item, depth)?;
    }
    out.push(b']');
    Ok(())
}

fn write_object(out: &mut Vec<u8>, value: &Value, depth: usize) -> Result<(), String> {
    let Value::Object(object) = value else { return Ok(()) };
    let mut members = Vec::with_capacity(object.len());
    for (key, member) in object.iter_sorted() {
        members.push((key_text(key, depth)?, member));
    }
    members.sort_by(|(one, _), (other, _)| compare_keys(one, other));
    out.push(b'{');
    for (index, (key, member)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
            if members[index - 1].0 == *key {
                return Err(format!("an object in which two keys are {key:?} in JSON"));
            }
        }
        write_string(out, key);
        out.push(b':');
        write_value(out, member, depth)?;
    }
    out.push(b'}');
    Ok(())
}

fn key_text(key: &Value, depth: usize) -> Result<std::borrow::Cow<'_, str>, String> {
    if let Value::String(string) = key {
        return Ok(std::borrow::Cow::Borrowed(string));
    }
    let mut text = Vec::new();
    write_value(&mut text, key, depth)?;
    String::from_utf8(text).map(std::borrow::Cow::Owned).map_err(|_| String::from("a key that is no text"))
}
