//! `array.flatten` and `strings.split_n`, which later versions of OPA have.

use regorus::Value;

use super::Added;
use super::operands::{string, wrong_type};

const SPLIT_BYTES_MAX: usize = 1 << 20;

pub const TABLE: &[Added] =
    &[Added::new("array.flatten", 1, flatten), Added::new("strings.split_n", 3, split_n).weighing(SPLIT_BYTES_MAX)];

fn flatten(values: &[Value]) -> Result<Value, String> {
    let items = match values.first() {
        Some(Value::Array(items)) => items,
        Some(other) => return Err(wrong_type(1, "array", other)),
        None => return Err(String::from("operand 1 is missing")),
    };
    let mut flat = Vec::new();
    for item in items.iter() {
        match item {
            Value::Array(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    Ok(Value::from(flat))
}

/// The first `n` parts, or where `n` is negative the last.
fn split_n(values: &[Value]) -> Result<Value, String> {
    let (text, between) = (string(values, 1)?, string(values, 2)?);
    let count = match values.get(2) {
        Some(Value::Number(number)) => {
            number.as_i64().ok_or("operand 3 must be integer number but got floating-point number")?
        }
        Some(other) => return Err(wrong_type(3, "number", other)),
        None => return Err(String::from("operand 3 is missing")),
    };
    let parts: Vec<&str> = if between.is_empty() {
        text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()]).collect()
    } else {
        text.split(between).collect()
    };
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX).min(parts.len());
    let chosen = if count >= 0 { &parts[..wanted] } else { &parts[parts.len() - wanted..] };
    Ok(Value::from(chosen.iter().map(|part| Value::from(*part)).collect::<Vec<_>>()))
}
