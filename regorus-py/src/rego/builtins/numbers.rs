//! Guards of builtins on numbers.

use regorus::Value;

use super::equal::has_fraction;
use super::go_float::{self, Float};
use super::guard::Guard;
use super::weight::{WEIGHT_MAX, length, text, weigh};
use crate::json::engine_reader;

const SHIFT_BITS_MAX: u64 = 4_096;
const RANGE_MAX: i64 = 100_000;
const PRODUCT_FACTORS_MAX: usize = 100;
/// Each takes some microseconds.
const FRACTIONS_MAX: usize = 10_000;
const NUMBER_TEXT_MAX: usize = 64;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "bits.lsh" => Guard::Check(shift),
        "numbers.range" | "numbers.range_step" => Guard::Check(range),
        "product" => Guard::Unless(product),
        "sum" => Guard::Unless(sum),
        "format_int" => Guard::Check(written_out),
        "to_number" => Guard::Instead(to_number),
        "units.parse" | "units.parse_bytes" => Guard::Check(unit),
        _ => return None,
    })
}

fn shift(values: &[Value]) -> Result<(), String> {
    weigh(values, WEIGHT_MAX)?;
    match values.get(1) {
        Some(Value::Number(number)) if number.as_u64().is_none_or(|bits| bits > SHIFT_BITS_MAX) => {
            Err(format!("the shift must be between 0 and {SHIFT_BITS_MAX} bits"))
        }
        _ => Ok(()),
    }
}

fn range(values: &[Value]) -> Result<(), String> {
    let (Some(Value::Number(from)), Some(Value::Number(to))) = (values.first(), values.get(1)) else {
        return Ok(());
    };
    let distance = to.as_i64().zip(from.as_i64()).and_then(|(to, from)| to.checked_sub(from));
    match distance {
        Some(distance) if distance.checked_abs().is_some_and(|distance| distance < RANGE_MAX) => Ok(()),
        _ => Err(format!("the range must have fewer than {RANGE_MAX} numbers between its ends")),
    }
}

fn product(values: &[Value]) -> Result<Option<Value>, String> {
    weigh(values, WEIGHT_MAX)?;
    let factors = numbers_of(values);
    if factors.len() > PRODUCT_FACTORS_MAX {
        return Err(format!("more than {PRODUCT_FACTORS_MAX} factors"));
    }
    factors
        .iter()
        .any(|one| has_fraction(one))
        .then(|| go_float::fold(&factors, 1, Float::multiply_as_double))
        .transpose()
}

fn sum(values: &[Value]) -> Result<Option<Value>, String> {
    weigh(values, WEIGHT_MAX)?;
    let terms = numbers_of(values);
    if !terms.iter().any(|one| has_fraction(one)) {
        return Ok(None);
    }
    if terms.len() > FRACTIONS_MAX {
        return Err(format!("more than {FRACTIONS_MAX} numbers with a fraction among them"));
    }
    go_float::fold(&terms, 0, Float::add).map(Some)
}

fn numbers_of(values: &[Value]) -> Vec<&Value> {
    match values.first() {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Set(items)) => items.iter_sorted().collect(),
        _ => Vec::new(),
    }
}
fn written_out(values: &[Value]) -> Result<(), String> {
    weigh(values, WEIGHT_MAX).map(|_| ())
}

/// The engine's own goes through doubles: two identifiers of twenty digits would become equal.
fn to_number(values: &[Value]) -> Result<Value, String> {
    match values.first() {
        Some(Value::Null | Value::Bool(false)) => Ok(Value::from(0_u64)),
        Some(Value::Bool(true)) => Ok(Value::from(1_u64)),
        Some(number @ Value::Number(_)) => Ok(number.clone()),
        Some(Value::String(string)) => match engine_reader::read(string.as_bytes()) {
            Ok(number @ Value::Number(_)) => Ok(number),
            _ => Err(String::from("the string is no number")),
        },
        _ => Err(String::from("the argument must be a string, number, boolean or null")),
    }
}

/// `1e100000000` would become an integer of 100 million digits.
fn unit(values: &[Value]) -> Result<(), String> {
    if length(values, 0) > NUMBER_TEXT_MAX {
        return Err(format!("a text of more than {NUMBER_TEXT_MAX} characters"));
    }
    let string = text(values, 0).unwrap_or_default();
    if string.contains('_') || !string.contains(|character: char| character.is_ascii_digit()) {
        return Err(String::from("no number"));
    }
    // The `E` of a unit, as in `1e100Ei`, has no digits behind it.
    let exponents = string.split(['e', 'E']).skip(1).map(|exponent| exponent.trim_start_matches(['+', '-']));
    let digits = exponents.map(|exponent| exponent.chars().take_while(char::is_ascii_digit).count()).max();
    if digits.unwrap_or_default() > 2 { Err(String::from("an exponent of more than two digits")) } else { Ok(()) }
}
