//! `json.filter` and `json.remove`. The engine's own take `/a` for another path than `a`, and so keep what was to be
//! removed, and let a longer path hide a shorter one; these do as OPA does.

use std::collections::{BTreeMap, BTreeSet};

use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, weigh};

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "json.filter" => Guard::Instead(filter),
        "json.remove" => Guard::Instead(remove),
        _ => return None,
    })
}

/// What paths lead to: a whole value, or parts of it.
enum Paths {
    Whole,
    Parts(BTreeMap<Value, Paths>),
}

fn arguments(values: &[Value]) -> Result<(&Value, BTreeMap<Value, Paths>), String> {
    weigh(values, WEIGHT_MAX)?;
    let [object @ Value::Object(_), paths] = values else {
        return Err(String::from("operand 1 must be object"));
    };
    let mut parts = BTreeMap::new();
    match paths {
        Value::Array(paths) => paths.iter().try_for_each(|path| add(&mut parts, &segments(path)?)),
        Value::Set(paths) => paths.iter_sorted().try_for_each(|path| add(&mut parts, &segments(path)?)),
        _ => Err(String::from("operand 2 must be one of {set, array}")),
    }?;
    Ok((object, parts))
}

/// A path as a text (RFC 6901, the first slash optional) or a list of keys.
fn segments(path: &Value) -> Result<Vec<Value>, String> {
    match path {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => {
            let key = |part: &str| Value::from(part.replace("~1", "/").replace("~0", "~"));
            Ok(text.trim_start_matches('/').split('/').map(key).collect())
        }
        Value::Array(keys) => Ok(keys.iter().cloned().collect()),
        _ => Err(String::from("operand 2 must contain string paths or arrays of path segments")),
    }
}

fn add(parts: &mut BTreeMap<Value, Paths>, path: &[Value]) -> Result<(), String> {
    match path {
        [] => Ok(()),
        [last] => {
            parts.insert(last.clone(), Paths::Whole);
            Ok(())
        }
        [first, rest @ ..] => match parts.entry(first.clone()).or_insert_with(|| Paths::Parts(BTreeMap::new())) {
            Paths::Whole => Ok(()),
            Paths::Parts(parts) => add(parts, rest),
        },
    }
}

fn index(at: usize) -> Value {
    Value::from(at.to_string())
}

fn filter(values: &[Value]) -> Result<Value, String> {
    let (object, parts) = arguments(values)?;
    Ok(kept(object, &Paths::Parts(parts)))
}

fn kept(value: &Value, paths: &Paths) -> Value {
    let Paths::Parts(parts) = paths else { return value.clone() };
    match value {
        Value::Object(members) => Value::from(
            members
                .iter_sorted()
                .filter_map(|(key, member)| Some((key.clone(), kept(member, parts.get(key)?))))
                .collect::<BTreeMap<_, _>>(),
        ),
        Value::Array(items) => Value::from(
            items
                .iter()
                .enumerate()
                .filter_map(|(at, item)| Some(kept(item, parts.get(&index(at))?)))
                .collect::<Vec<_>>(),
        ),
        Value::Set(items) => Value::from(
            items.iter_sorted().filter_map(|item| Some(kept(item, parts.get(item)?))).collect::<BTreeSet<_>>(),
        ),
        _ => value.clone(),
    }
}

fn remove(values: &[Value]) -> Result<Value, String> {
    let (object, parts) = arguments(values)?;
    Ok(rest(object, Some(&Paths::Parts(parts))).unwrap_or_else(Value::new_object))
}

/// What is left; None for a value that is removed.
fn rest(value: &Value, paths: Option<&Paths>) -> Option<Value> {
    let parts = match paths {
        None => return Some(value.clone()),
        Some(Paths::Whole) => return None,
        Some(Paths::Parts(parts)) => parts,
    };
    Some(match value {
        Value::Object(members) => Value::from(
            members
                .iter_sorted()
                .filter_map(|(key, member)| Some((key.clone(), rest(member, parts.get(key))?)))
                .collect::<BTreeMap<_, _>>(),
        ),
        Value::Array(items) => Value::from(
            items.iter().enumerate().filter_map(|(at, item)| rest(item, parts.get(&index(at)))).collect::<Vec<_>>(),
        ),
        Value::Set(items) => {
            Value::from(items.iter_sorted().filter_map(|item| rest(item, parts.get(item))).collect::<BTreeSet<_>>())
        }
        _ => value.clone(),
    })
}
