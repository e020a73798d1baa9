//! The operators `+ - * / %` (OPA's `v1/topdown/arithmetic.go`) and `in` (`v1/topdown/aggregates.go`) with OPA's
//! values. Integers are exact, except in quotients; everything else has mantissas of 64 bits, where a double has 53.
//! `0.1 + 0.2 == 0.3` and `1 / 3 * 3 == 1` hold.
//!
//! A whole expression is calculated at once, so only its value is rounded to a double. OPA's functions `plus`, `minus`,
//! `mul`, `div` and `rem` are here too.

use num_bigint::{BigInt, Sign};
use regorus::Value;

use super::added::Added;
use super::added::operands::wrong_type;
use super::go_float::Float;

pub const TABLE: &[Added] = &[
    Added::new("plus", 2, |values| apply_to(b'+', values)),
    Added::new("minus", 2, |values| apply_to(b'-', values)),
    Added::new("mul", 2, |values| apply_to(b'*', values)),
    Added::new("div", 2, |values| apply_to(b'/', values)),
    Added::new("rem", 2, |values| apply_to(b'%', values)),
];

/// A step that pushes the next operand. Every other step is an operator.
pub const OPERAND: char = '.';

/// In place of the steps: the operands are a value, or a key and a value, and a collection.
pub const IN: &str = "in";

const TOO_LONG: &str = "a result of more than 4,096 bits";
/// A product has at most the bits of both factors.
const BITS_MAX: u64 = 4_096;

enum Operand {
    Value(Value),
    Small(i64),
    Integer(BigInt),
    /// No whole number.
    Float(Float),
}

/// Returns the value of an expression. `values` are its steps in postfix notation (`"..+.*"` for `(a + b) * c`) and an
/// array of its operands. The error is a message without a place.
pub fn calculate(values: &[Value]) -> Result<Value, String> {
    let [Value::String(steps), Value::Array(operands)] = values else {
        return Err(String::from("an expression is its steps and its operands"));
    };
    if steps.as_ref() == IN {
        return membership(&operands.iter().collect::<Vec<_>>());
    }
    let mut operands = operands.iter();
    let mut stack = Vec::with_capacity(operands.len());
    for step in steps.bytes() {
        if step == OPERAND as u8 {
            stack.push(Operand::Value(operands.next().ok_or("too few operands")?.clone()));
        } else {
            let (right, left) = stack.pop().zip(stack.pop()).ok_or("too few operands")?;
            stack.push(apply(step, left, right)?);
        }
    }
    value_of(stack.pop().ok_or("no operand")?)
}

/// What holds no members, as a number, has none.
fn membership(operands: &[&Value]) -> Result<Value, String> {
    let is_member = match operands {
        [value, Value::Array(items)] => items.contains(value),
        [value, Value::Set(items)] => items.contains(value),
        [value, Value::Object(members)] => members.values().any(|member| member == *value),
        [key, value, collection @ (Value::Array(_) | Value::Object(_))] => {
            **value != Value::Undefined && collection[*key] == **value
        }
        [_, _] | [_, _, _] => false,
        _ => return Err(String::from("in has two operands or three")),
    };
    Ok(Value::Bool(is_member))
}

fn apply_to(operator: u8, values: &[Value]) -> Result<Value, String> {
    let [left, right] = values else { return Err(String::from("an operator has two operands")) };
    value_of(apply(operator, Operand::Value(left.clone()), Operand::Value(right.clone()))?)
}

fn apply(operator: u8, left: Operand, right: Operand) -> Result<Operand, String> {
    if operator == b'-'
        && let (Operand::Value(Value::Set(left)), Operand::Value(Value::Set(right))) = (&left, &right)
    {
        return Ok(Operand::Value(Value::from(left.difference(right))));
    }
    let (left, right) = (number(1, left)?, number(2, right)?);
    if let (Operand::Small(left), Operand::Small(right)) = (&left, &right)
        && let Some(value) = of_small(operator, *left, *right)?
    {
        return Ok(Operand::Small(value));
    }
    if operator != b'/'
        && let (Some(left), Some(right)) = (integer(&left), integer(&right))
    {
        return of_integers(operator, &left, &right);
    }
    let (left, right) = (float(left)?, float(right)?);
    let result = match operator {
        b'+' => left.add(&right),
        b'-' => left.subtract(&right),
        b'*' => left.multiply(&right),
        b'/' => left.divide(&right).ok_or("divide by zero")?,
        _ => return Err(String::from("modulo on floating-point number")),
    };
    if !result.is_whole() {
        return Ok(Operand::Float(result));
    }
    result.to_integer().map(Operand::Integer).ok_or_else(|| String::from(TOO_LONG))
}

/// None if the result is not an integer of 64 bits.
fn of_small(operator: u8, left: i64, right: i64) -> Result<Option<i64>, String> {
    Ok(match operator {
        b'+' => left.checked_add(right),
        b'-' => left.checked_sub(right),
        b'*' => left.checked_mul(right),
        b'/' if right == 0 => return Err(String::from("divide by zero")),
        b'/' if left.checked_rem(right) == Some(0) => left.checked_div(right),
        b'/' => None,
        _ if right == 0 => return Err(String::from("modulo by zero")),
        _ => left.checked_rem(right),
    })
}

/// Exact; a remainder has the sign of the dividend, as in Go.
fn of_integers(operator: u8, left: &BigInt, right: &BigInt) -> Result<Operand, String> {
    let result = match operator {
        b'+' => left + right,
        b'-' => left - right,
        b'*' => left * right,
        _ if right.sign() == Sign::NoSign => return Err(String::from("modulo by zero")),
        _ => left % right,
    };
    if result.bits() > BITS_MAX { Err(String::from(TOO_LONG)) } else { Ok(Operand::Integer(result)) }
}

fn number(position: usize, operand: Operand) -> Result<Operand, String> {
    let Operand::Value(value) = operand else { return Ok(operand) };
    let Value::Number(number) = &value else { return Err(wrong_type(position, "number", &value)) };
    if let Some(small) = number.as_i64() {
        return Ok(Operand::Small(small));
    }
    let text = number.format_decimal();
    if let Ok(integer) = text.parse() {
        return Ok(Operand::Integer(integer));
    }
    Float::parse(&text).map(Operand::Float).ok_or_else(|| String::from("an operand is no finite number"))
}

fn integer(operand: &Operand) -> Option<BigInt> {
    match operand {
        Operand::Small(small) => Some(BigInt::from(*small)),
        Operand::Integer(integer) => Some(integer.clone()),
        Operand::Float(_) | Operand::Value(_) => None,
    }
}

fn float(operand: Operand) -> Result<Float, String> {
    match operand {
        Operand::Small(small) => Ok(Float::from_integer(small)),
        Operand::Integer(integer) => Ok(Float::from_big(integer)),
        Operand::Float(float) => Ok(float),
        Operand::Value(_) => Err(String::from("an operand is no number")),
    }
}

fn value_of(operand: Operand) -> Result<Value, String> {
    match operand {
        Operand::Value(value) => Ok(value),
        Operand::Small(small) => Ok(Value::from(small)),
        Operand::Integer(integer) => {
            Value::from_numeric_string(&integer.to_string()).map_err(|error| error.to_string())
        }
        Operand::Float(float) => match float.to_double() {
            Some(double) if double != 0.0 => Ok(Value::from(double)),
            _ => Err(String::from("a result too close to zero for a double")),
        },
    }
}
