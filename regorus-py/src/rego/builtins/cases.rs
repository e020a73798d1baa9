//! `upper` and `lower`, by Unicode's simple mappings of one character to one, as Go has them.

use regorus::Value;

use super::added::operands::string;
use super::guard::Guard;
use super::weight::{WEIGHT_MAX, weigh};
use crate::go_regex::is_known_to_go;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "upper" => Guard::Instead(|values| mapped(values, upper)),
        "lower" => Guard::Instead(|values| mapped(values, lower)),
        _ => return None,
    })
}

fn mapped(values: &[Value], map: fn(char) -> char) -> Result<Value, String> {
    weigh(values, WEIGHT_MAX)?;
    Ok(Value::from(string(values, 1)?.chars().map(map).collect::<String>()))
}

/// What a character becomes, where that is one character; another that Go does not know yet stays.
fn single(mut mapped: impl Iterator<Item = char>, character: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) if character.is_ascii() || (is_known_to_go(one) && is_known_to_go(character)) => one,
        _ => character,
    }
}

fn upper(character: char) -> char {
    let code = u32::from(character);
    let titled = match code {
        // Greek letters with an iota below.
        0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7 => char::from_u32(code + 8),
        0x1FB3 | 0x1FC3 | 0x1FF3 => char::from_u32(code + 9),
        _ => None,
    };
    titled.unwrap_or_else(|| single(character.to_uppercase(), character))
}

fn lower(character: char) -> char {
    if character == '\u{130}' { 'i' } else { single(character.to_lowercase(), character) }
}
