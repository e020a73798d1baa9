//! `semver.*`, as OPA reads and orders versions.

use std::cmp::Ordering;

use regorus::Value;

use super::guard::Guard;
use super::weight::text;

pub fn guard_of(name: &str) -> Option<Guard> {
    match name {
        "semver.is_valid" => Some(Guard::Instead(is_valid)),
        "semver.compare" => Some(Guard::Instead(compare)),
        _ => None,
    }
}

struct Version<'t> {
    numbers: [i64; 3],
    pre_release: &'t str,
}

fn is_number(identifier: &str) -> bool {
    !identifier.is_empty() && identifier.bytes().all(|byte| byte.is_ascii_digit())
}

fn are_identifiers(part: &str) -> bool {
    let is_one = |one: &str| !one.is_empty() && one.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    part.split('.').all(is_one)
}

fn has_leading_zero(identifier: &str) -> bool {
    identifier.len() > 1 && identifier.starts_with('0')
}

fn number(text: &str) -> Option<i64> {
    if has_leading_zero(text) || !is_number(text) { None } else { text.parse().ok() }
}

fn read(version: &str) -> Option<Version<'_>> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let (version, metadata) = version.split_once('+').map_or((version, None), |(head, tail)| (head, Some(tail)));
    let (version, pre_release) = version.split_once('-').map_or((version, None), |(head, tail)| (head, Some(tail)));
    let has_zeros = |part: &str| part.split('.').any(|one| is_number(one) && has_leading_zero(one));
    if metadata.is_some_and(|part| !are_identifiers(part))
        || pre_release.is_some_and(|part| !are_identifiers(part) || has_zeros(part))
    {
        return None;
    }
    let mut parts = version.split('.');
    let numbers = [number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?];
    parts.next().is_none().then_some(Version { numbers, pre_release: pre_release.unwrap_or_default() })
}

/// Numbers too long for 64 bits are all the largest one, as in OPA.
fn compare_identifiers(one: &str, other: &str) -> Ordering {
    let value = |text: &str| text.parse::<i64>().unwrap_or(i64::MAX);
    match (is_number(one), is_number(other)) {
        (true, true) => value(one).cmp(&value(other)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => one.cmp(other),
    }
}

fn order(one: &Version, other: &Version) -> Ordering {
    one.numbers.cmp(&other.numbers).then_with(|| match (one.pre_release, other.pre_release) {
        (one, other) if one == other => Ordering::Equal,
        ("", _) => Ordering::Greater,
        (_, "") => Ordering::Less,
        (one, other) => {
            let pairs = one.split('.').zip(other.split('.'));
            let unequal = pairs.map(|(one, other)| compare_identifiers(one, other)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| one.split('.').count().cmp(&other.split('.').count()))
        }
    })
}

fn is_valid(values: &[Value]) -> Result<Value, String> {
    Ok(Value::Bool(text(values, 0).is_some_and(|version| read(version).is_some())))
}

fn compare(values: &[Value]) -> Result<Value, String> {
    let version = |index: usize| {
        let string = text(values, index).ok_or_else(|| format!("operand {} must be string", index + 1))?;
        read(string).ok_or_else(|| format!("operand {}: string {string:?} is not a valid SemVer", index + 1))
    };
    Ok(Value::from(order(&version(0)?, &version(1)?) as i64))
}
