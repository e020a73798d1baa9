//! How much a builtin would have to read.

use regorus::Value;

use crate::json::scanner::NESTING_MAX;

/// What builtins that read or write everything in their arguments may be given: bytes, and 16 for each value.
pub const WEIGHT_MAX: usize = 4 << 20;
/// Beyond it a number's decimal digits take too long to find (their square).
const NUMBER_BITS_MAX: u64 = 8_192;

/// The weight of all values. A value that holds another many times over (x := [y, y], z := [x, x] …) weighs
/// what it is when written, which can be more than any memory: counting ends at `limit`.
pub fn weigh(values: &[Value], limit: usize) -> Result<usize, String> {
    let mut scale = Scale { left: limit };
    for value in values {
        scale.add(value, 0)?;
    }
    Ok(limit - scale.left)
}

struct Scale {
    left: usize,
}

impl Scale {
    fn take(&mut self, weight: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(weight).ok_or_else(|| String::from("the arguments are too large"))?;
        Ok(())
    }

    fn add(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        if depth > NESTING_MAX {
            return Err(format!("an argument is nested more than {NESTING_MAX} deep"));
        }
        self.take(16)?;
        match value {
            Value::String(string) => self.take(string.len()),
            Value::Number(number) => match number.as_big() {
                Some(integer) if integer.bits() > NUMBER_BITS_MAX => Err(String::from("a number is too long")),
                _ => Ok(()),
            },
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            Value::Set(items) => items.iter_sorted().try_for_each(|item| self.add(item, depth + 1)),
            Value::Object(members) => members.iter_sorted().try_for_each(|(key, member)| {
                self.add(key, depth + 1)?;
                self.add(member, depth + 1)
            }),
            Value::Null | Value::Bool(_) | Value::Undefined => Ok(()),
        }
    }
}

/// The length of a string argument; 0 for anything else, which the builtin itself refuses.
pub fn length(values: &[Value], index: usize) -> usize {
    text(values, index).map_or(0, str::len)
}

pub fn text(values: &[Value], index: usize) -> Option<&str> {
    match values.get(index) {
        Some(Value::String(string)) => Some(string),
        _ => None,
    }
}
