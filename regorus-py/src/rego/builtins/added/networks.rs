//! `net.cidr_*`. The engine's own accept `10.0.0.0/+8`, which is no network to OPA.

use std::collections::BTreeSet;

use regorus::Value;

use super::Added;
use super::address::{Network, address, is_mapped, written};
use super::operands::{string, type_name};

/// Addresses that are written out; a /16, or a /112 of IPv6.
const EXPANDED_MAX: u128 = 1 << 16;
const PAIRS_MAX: usize = 1 << 16;
const TEXT_WEIGHT_MAX: usize = 1 << 20;

pub const TABLE: &[Added] = &[
    Added::new("net.cidr_contains", 2, contains),
    Added::new("net.cidr_contains_matches", 2, contains_matches).weighing(TEXT_WEIGHT_MAX),
    Added::new("net.cidr_expand", 1, expand),
    Added::new("net.cidr_intersects", 2, intersects),
    Added::new("net.cidr_is_valid", 1, is_valid),
    Added::new("net.cidr_merge", 1, merge).weighing(TEXT_WEIGHT_MAX),
];

fn contains(values: &[Value]) -> Result<Value, String> {
    let network = Network::parse(string(values, 1)?)?;
    holds(network, string(values, 2)?).map(Value::Bool)
}

/// Whether the address or network in `text` is in `network` as a whole.
fn holds(network: Network, text: &str) -> Result<bool, String> {
    if let Some(one) = address(text) {
        return Ok(network.contains(one));
    }
    let part = Network::parse(text)
        .map_err(|_| format!("not a valid textual representation of an IP address or CIDR: {text}"))?;
    Ok(network.holds(part))
}

fn intersects(values: &[Value]) -> Result<Value, String> {
    let (one, other) = (Network::parse(string(values, 1)?)?, Network::parse(string(values, 2)?)?);
    Ok(Value::Bool(one.contains(other.first) || other.contains(one.first)))
}

fn is_valid(values: &[Value]) -> Result<Value, String> {
    Ok(Value::Bool(string(values, 1).is_ok_and(|text| Network::parse(text).is_ok())))
}

fn expand(values: &[Value]) -> Result<Value, String> {
    let network = Network::parse(string(values, 1)?)?;
    let last = network.last();
    if last - network.first >= EXPANDED_MAX {
        return Err(format!("more than {EXPANDED_MAX} addresses; use net.cidr_contains"));
    }
    Ok(Value::from((network.first..=last).map(|one| Value::from(written(one))).collect::<BTreeSet<_>>()))
}

/// What `net.cidr_contains_matches` names a network by, and its text.
fn entries(position: usize, value: &Value) -> Result<Vec<(Value, Value)>, String> {
    let text = |value: &Value| match value {
        Value::String(_) => Ok(value.clone()),
        Value::Array(items) if !items.is_empty() => Ok(items.get(0).cloned().unwrap_or(Value::Undefined)),
        _ => Err(format!("operand {position}: element must be string or non-empty array")),
    };
    match value {
        Value::String(_) => Ok(vec![(value.clone(), value.clone())]),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| Ok((Value::from(index), text(item)?))).collect()
        }
        Value::Set(items) => items.iter_sorted().map(|item| Ok((item.clone(), text(item)?))).collect(),
        Value::Object(members) => members.iter_sorted().map(|(key, item)| Ok((key.clone(), text(item)?))).collect(),
        _ => Ok(Vec::new()),
    }
}

fn contains_matches(values: &[Value]) -> Result<Value, String> {
    let (Some(outer), Some(inner)) = (values.first(), values.get(1)) else {
        return Err(String::from("two operands are needed"));
    };
    let outer = entries(1, outer)?;
    if outer.is_empty() {
        return Ok(Value::from(BTreeSet::new()));
    }
    let inner = entries(2, inner)?;
    if outer.len().saturating_mul(inner.len()) > PAIRS_MAX {
        return Err(format!("more than {PAIRS_MAX} pairs of networks"));
    }
    let mut found = BTreeSet::new();
    for (outer_name, network) in &outer {
        if inner.is_empty() {
            continue;
        }
        let network = Network::parse(string(std::slice::from_ref(network), 1)?)?;
        for (inner_name, text) in &inner {
            if holds(network, string(std::slice::from_ref(text), 1)?)? {
                found.insert(Value::from(vec![outer_name.clone(), inner_name.clone()]));
            }
        }
    }
    Ok(Value::from(found))
}

/// Addresses from first to last, and how the network was written where it is still one of those given.
struct Range {
    first: u128,
    last: u128,
    text: Option<String>,
}

fn range(value: &Value) -> Result<Range, String> {
    let Value::String(text) = value else { return Err(String::from("element must be string")) };
    let Some(one) = address(text) else {
        let network = Network::parse(text)?;
        return Ok(Range { first: network.first, last: network.last(), text: Some(network.to_string()) });
    };
    if !is_mapped(one) {
        return Err(String::from("IPv6 invalid: needs prefix length"));
    }
    let prefix_bits = Network::prefix_bits_of_class(one).ok_or("an address without a class: needs prefix length")?;
    let network = Network::parse(&format!("{text}/{}", prefix_bits - 96))?;
    Ok(Range { first: network.first, last: network.last(), text: Some(format!("{text}/{}", prefix_bits - 96)) })
}

fn merge(values: &[Value]) -> Result<Value, String> {
    let mut ranges: Vec<Range> = match values.first() {
        Some(Value::Array(items)) => items.iter().map(range).collect::<Result<_, _>>()?,
        Some(Value::Set(items)) => items.iter_sorted().map(range).collect::<Result<_, _>>()?,
        Some(other) => return Err(format!("operand must be an array, not {}", type_name(other))),
        None => return Err(String::from("operand must be an array")),
    };
    ranges.sort_by_key(|range| (range.last, range.first));
    let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
    while let Some(before) = ranges.pop() {
        match merged.last_mut() {
            Some(after) if after.first.saturating_sub(1) <= before.last => {
                *after = Range { first: after.first.min(before.first), last: after.last, text: None };
            }
            _ => merged.push(before),
        }
    }
    Ok(Value::from(merged.into_iter().flat_map(networks).map(Value::from).collect::<BTreeSet<_>>()))
}

/// The fewest networks that are the range.
fn networks(range: Range) -> Vec<String> {
    if let Some(text) = range.text {
        return vec![text];
    }
    let mut found = Vec::new();
    let mut first = range.first;
    loop {
        let network = Network::largest(first, range.last);
        found.push(network.to_string());
        match network.last().checked_add(1) {
            Some(next) if network.last() < range.last => first = next,
            _ => return found,
        }
    }
}
