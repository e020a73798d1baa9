//! What a template's expressions are: values of Go, as OPA hands them over.

use regorus::Value;

/// A value of the policy, or one that the template made.
#[derive(Clone)]
pub enum Item {
    Given(Value),
    Integer(i64),
}

pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null | Value::Undefined => "nil",
        Value::Bool(_) => "bool",
        Value::Number(_) | Value::String(_) => "string",
        Value::Array(_) | Value::Set(_) => "slice",
        Value::Object(_) => "map",
    }
}

impl Item {
    /// Numbers of the policy arrive as texts, and every text but the empty one is true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Integer(number) => *number != 0,
            Self::Given(value) => match value {
                Value::Null | Value::Undefined => false,
                Value::Bool(is_true) => *is_true,
                Value::Number(_) => true,
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Set(items) => !items.is_empty(),
                Value::Object(members) => !members.is_empty(),
            },
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "int",
            Self::Given(value) => kind(value),
        }
    }

    pub fn length(&self) -> Result<usize, String> {
        match self {
            Self::Given(Value::String(text)) => Ok(text.len()),
            Self::Given(Value::Number(number)) => Ok(number.format_decimal().len()),
            Self::Given(Value::Array(items)) => Ok(items.iter().count()),
            Self::Given(Value::Set(items)) => Ok(items.len()),
            Self::Given(Value::Object(members)) => Ok(members.len()),
            other => Err(format!("len of type {}", other.kind())),
        }
    }

    /// As Go's `fmt` prints it.
    pub fn write(&self, out: &mut String, bytes_max: usize) -> Result<(), String> {
        match self {
            Self::Integer(number) => out.push_str(&number.to_string()),
            Self::Given(value) => write(out, value, bytes_max)?,
        }
        Ok(())
    }

    pub fn text(&self) -> Option<String> {
        match self {
            Self::Given(Value::String(text)) => Some(text.to_string()),
            Self::Given(Value::Number(number)) => Some(number.format_decimal()),
            _ => None,
        }
    }
}

fn write(out: &mut String, value: &Value, bytes_max: usize) -> Result<(), String> {
    if out.len() > bytes_max {
        return Err(format!("a text of more than {bytes_max} bytes"));
    }
    let list = |out: &mut String, items: &mut dyn Iterator<Item = &Value>| {
        out.push('[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push(' ');
            }
            write_inner(out, item, bytes_max)?;
        }
        out.push(']');
        Ok(())
    };
    match value {
        Value::Null | Value::Undefined => out.push_str("<no value>"),
        Value::Bool(is_true) => out.push_str(if *is_true { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.format_decimal()),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => return list(out, &mut items.iter()),
        Value::Set(items) => return list(out, &mut items.iter_sorted()),
        Value::Object(members) => {
            out.push_str("map[");
            for (index, (key, member)) in members.iter_sorted().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_inner(out, key, bytes_max)?;
                out.push(':');
                write_inner(out, member, bytes_max)?;
            }
            out.push(']');
        }
    }
    Ok(())
}

fn write_inner(out: &mut String, value: &Value, bytes_max: usize) -> Result<(), String> {
    if matches!(value, Value::Null) {
        out.push_str("<nil>");
        return Ok(());
    }
    write(out, value, bytes_max)
}
