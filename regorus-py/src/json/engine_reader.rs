//! JSON text to the engine's values, with every integer exact.
//!
//! The engine's own reader goes through doubles above 64 bits: `123456789012345678901` would not equal the
//! same literal in a policy, and a deny would miss. Here numbers become what the same literal in a policy is.

use std::collections::BTreeMap;

use regorus::Value;

use super::place::Refusal;
use super::scanner::{self, Builder, NumberToken};

/// More digits than any identifier or amount has, few enough for every operator.
pub const DIGITS_MAX: usize = 64;

pub fn read(text: &[u8]) -> Result<Value, Refusal> {
    scanner::read(text, &mut EngineBuilder { takes_last: false })
}

/// For texts of which another standard says that the last of two equal keys counts.
pub fn read_last_of_duplicates(text: &[u8]) -> Result<Value, Refusal> {
    scanner::read(text, &mut EngineBuilder { takes_last: true })
}

struct EngineBuilder {
    takes_last: bool,
}

impl Builder for EngineBuilder {
    type Value = Value;
    type Object = BTreeMap<Value, Value>;
    type Error = Refusal;

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn boolean(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn number(&mut self, token: NumberToken<'_>, offset: usize) -> Result<Value, Refusal> {
        if token.is_integer {
            if let Ok(unsigned) = token.text.parse::<u64>() {
                return Ok(Value::from(unsigned));
            }
            if let Ok(signed) = token.text.parse::<i64>() {
                return Ok(Value::from(signed));
            }
        }
        if token.digits() > DIGITS_MAX {
            return Err(Refusal::new(offset, format!("a number of more than {DIGITS_MAX} digits")));
        }
        // 1e100000000 would be an exact integer of 100 million digits: only what a double reaches goes on.
        if !token.text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(Refusal::new(offset, "a number too large for a double"));
        }
        Value::from_numeric_string(token.text).map_err(|_| Refusal::new(offset, "a number the engine cannot hold"))
    }

    fn string(&mut self, value: &str) -> Value {
        Value::String(value.into())
    }

    fn array(&mut self, items: Vec<Value>) -> Result<Value, Refusal> {
        Ok(Value::from(items))
    }

    fn start_object(&mut self) -> Self::Object {
        BTreeMap::new()
    }

    fn insert(&mut self, object: &mut Self::Object, key: &str, value: Value) -> Result<bool, Refusal> {
        Ok(object.insert(Value::String(key.into()), value).is_none() || self.takes_last)
    }

    fn finish_object(&mut self, object: Self::Object) -> Value {
        Value::from(object)
    }
}
