//! OPA's order of values: the engine's, but sets come after objects.

use std::cmp::Ordering;

use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, weigh};

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(Guard::Instead(match name {
        "max" => |values| Ok(sorted(values)?.pop().unwrap_or(Value::Undefined)),
        "min" => |values| Ok(sorted(values)?.into_iter().next().unwrap_or(Value::Undefined)),
        "sort" => |values| sorted(values).map(Value::from),
        _ => return None,
    }))
}

fn sorted(values: &[Value]) -> Result<Vec<Value>, String> {
    weigh(values, WEIGHT_MAX)?;
    let items = match values.first() {
        Some(Value::Array(items)) => in_order(items.iter()),
        Some(Value::Set(items)) => in_order(items.iter_sorted()),
        _ => return Err(String::from("operand 1 must be one of {array, set}")),
    };
    Ok(items.into_iter().cloned().collect())
}

const fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
        Value::Set(_) => 6,
        Value::Undefined => 7,
    }
}

pub fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => one.iter().map(Ordered).cmp(other.iter().map(Ordered)),
        (Value::Set(one), Value::Set(other)) => in_order(one.iter_sorted())
            .into_iter()
            .map(Ordered)
            .cmp(in_order(other.iter_sorted()).into_iter().map(Ordered)),
        (Value::Object(one), Value::Object(other)) => {
            let pairs = |object: Vec<(&'_ Value, &'_ Value)>| -> Vec<(Value, Value)> {
                let mut pairs: Vec<(Value, Value)> =
                    object.into_iter().map(|(key, member)| (key.clone(), member.clone())).collect();
                pairs.sort_by(|(one, _), (other, _)| compare(one, other));
                pairs
            };
            let (one, other) = (pairs(one.iter_sorted().collect()), pairs(other.iter_sorted().collect()));
            let each = one.iter().zip(&other).map(|((key, member), (other_key, other_member))| {
                compare(key, other_key).then_with(|| compare(member, other_member))
            });
            each.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
        }
        _ => rank(one).cmp(&rank(other)).then_with(|| one.cmp(other)),
    }
}

/// The values of a set, or the keys of an object.
pub fn in_order<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<&'v Value> {
    let mut values: Vec<&Value> = values.collect();
    values.sort_by(|one, other| compare(one, other));
    values
}

struct Ordered<'v>(&'v Value);

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered<'_> {}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.0, other.0)
    }
}
