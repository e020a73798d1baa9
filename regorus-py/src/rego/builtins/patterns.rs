//! Builtins that match patterns: regular expressions with Go's syntax and values, which the engine's own do not have.

use std::sync::Arc;

use regorus::Value;

use super::added::operands::{string, wrong_type};
use super::go_glob;
use super::guard::Guard;
use super::weight::WEIGHT_MAX;
use crate::go_regex::{self, Pattern, Patterns, Refusal};

const REGEX_BYTES_MAX: usize = 8 << 10;
const REGEX_TEXT_BYTES_MAX: usize = 1 << 20;
/// A counted repetition can take its count in steps for each byte: `[ab]*a[ab]{400}c` takes 8 s over 1 MiB.
const REPEATED_BYTES_MAX: u64 = 16 << 20;
const SEARCHED_BYTES_MAX: usize = 64 << 10;
/// Of all matches together.
const GROUPS_MAX: usize = 100_000;
/// Each brace of a pattern is a level of the matcher's recursion.
const GLOB_BYTES_MAX: usize = 1 << 10;
const GLOB_TEXT_BYTES_MAX: usize = 64 << 10;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "regex.match" => Guard::Matching(is_match),
        "regex.is_valid" => Guard::Instead(is_valid),
        "regex.find_n" => Guard::Matching(find_n),
        "regex.find_all_string_submatch_n" => Guard::Matching(find_all_groups),
        "regex.split" => Guard::Matching(split),
        "regex.replace" => Guard::Matching(replace),
        "regex.template_match" => Guard::Matching(template_match),
        "glob.match" => Guard::Matching(glob_match),
        _ => return None,
    })
}

/// The pattern, where it may search the text.
fn pattern_for(patterns: &Patterns, pattern: &str, text: &str, text_bytes_max: usize) -> Result<Arc<Pattern>, String> {
    check_length(pattern).map_err(Refusal::reason)?;
    let pattern = patterns.get(pattern).map_err(Refusal::reason)?;
    if text.len() > text_bytes_max {
        return Err(format!("a text of more than {text_bytes_max} bytes"));
    }
    let steps = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_mul(1 + pattern.counted());
    if steps > REPEATED_BYTES_MAX {
        let (bytes, counted) = (text.len(), pattern.counted());
        return Err(format!("a text of {bytes} bytes is too long for a pattern that counts to {counted}"));
    }
    Ok(pattern)
}

pub fn check_length(pattern: &str) -> Result<(), Refusal> {
    if pattern.len() > REGEX_BYTES_MAX {
        return Err(Refusal::limit(&format!("a pattern of more than {REGEX_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn is_match(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let (pattern, text) = (string(values, 1)?, string(values, 2)?);
    Ok(Value::Bool(pattern_for(patterns, pattern, text, REGEX_TEXT_BYTES_MAX)?.is_match(text)))
}

fn is_valid(values: &[Value]) -> Result<Value, String> {
    let Some(Value::String(pattern)) = values.first() else { return Ok(Value::Bool(false)) };
    match check_length(pattern).and_then(|()| go_regex::check(pattern)) {
        Ok(()) => Ok(Value::Bool(true)),
        Err(Refusal::Syntax(_)) => Ok(Value::Bool(false)),
        Err(Refusal::Limit(reason)) => Err(reason),
    }
}

/// How many matches are wanted; all, where the number is negative.
fn wanted(values: &[Value]) -> Result<usize, String> {
    match values.get(2) {
        Some(Value::Number(number)) => match number.as_i64() {
            Some(count) => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
            None => Err(String::from("operand 3 must be integer number but got floating-point number")),
        },
        Some(other) => Err(wrong_type(3, "number", other)),
        None => Err(String::from("operand 3 is missing")),
    }
}

fn find_n(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let (pattern, text, wanted) = (string(values, 1)?, string(values, 2)?, wanted(values)?);
    let found =
        pattern_for(patterns, pattern, text, SEARCHED_BYTES_MAX)?.find_all(text, wanted).map_err(Refusal::reason)?;
    Ok(found.into_iter().map(|place| Value::from(&text[place])).collect::<Vec<_>>().into())
}

fn find_all_groups(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let (pattern, text, wanted) = (string(values, 1)?, string(values, 2)?, wanted(values)?);
    let pattern = pattern_for(patterns, pattern, text, SEARCHED_BYTES_MAX)?;
    let group = |place: Option<std::ops::Range<usize>>| Value::from(place.map_or("", |place| &text[place]));
    let found = pattern.find_all_groups(text, wanted, GROUPS_MAX).map_err(Refusal::reason)?;
    let found = found.into_iter().map(|groups| Value::from(groups.into_iter().map(group).collect::<Vec<_>>()));
    Ok(found.collect::<Vec<_>>().into())
}

fn split(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let (pattern, text) = (string(values, 1)?, string(values, 2)?);
    let pattern = pattern_for(patterns, pattern, text, SEARCHED_BYTES_MAX)?;
    let parts = pattern.split(text).map_err(Refusal::reason)?;
    Ok(parts.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

/// `regex.replace(text, pattern, replacement)`; `$0` in the replacement is the whole match.
fn replace(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let (text, pattern, replacement) = (string(values, 1)?, string(values, 2)?, string(values, 3)?);
    let pattern = pattern_for(patterns, pattern, text, SEARCHED_BYTES_MAX)?;
    pattern.replace_all(text, replacement, WEIGHT_MAX).map(Value::from).map_err(Refusal::reason)
}

/// Whether a glob can be read.
pub fn check_glob(glob: &str) -> Result<(), String> {
    glob_pattern(glob, &[]).map(|_| ())
}

fn glob_pattern(glob: &str, separators: &[char]) -> Result<String, String> {
    if glob.len() > GLOB_BYTES_MAX {
        return Err(format!("a pattern of more than {GLOB_BYTES_MAX} bytes"));
    }
    go_glob::pattern(glob, separators)
}

/// Without separators where they are null, with a dot where there are none.
fn glob_match(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let separators = match values.get(1) {
        Some(Value::Null) => vec![],
        Some(Value::Array(items)) if items.iter().next().is_none() => vec!['.'],
        Some(Value::Array(items)) => items.iter().map(separator).collect::<Result<_, _>>()?,
        Some(other) => return Err(wrong_type(2, "one of {array, null}", other)),
        None => return Err(String::from("operand 2 is missing")),
    };
    let (glob, text) = (string(values, 1)?, string(values, 3)?);
    let pattern = glob_pattern(glob, &separators)?;
    if text.len() > GLOB_TEXT_BYTES_MAX {
        return Err(format!("a text of more than {GLOB_TEXT_BYTES_MAX} bytes"));
    }
    Ok(Value::Bool(patterns.get(&pattern).map_err(Refusal::reason)?.is_match(text)))
}

fn separator(value: &Value) -> Result<char, String> {
    let characters: Vec<char> = match value {
        Value::String(text) => text.chars().collect(),
        _ => vec![],
    };
    match characters[..] {
        [one] => Ok(one),
        _ => Err(String::from("operand 2 must be an array of strings of one character")),
    }
}

/// Whether a text is made as a template says, with patterns between delimiters: `urn:{[a-z]+}:x`.
fn template_match(patterns: &Patterns, values: &[Value]) -> Result<Value, String> {
    let [template, matched, start, end] =
        [string(values, 1)?, string(values, 2)?, string(values, 3)?, string(values, 4)?];
    let pattern = template_pattern(template, start, end)?;
    Ok(Value::Bool(pattern_for(patterns, &pattern, matched, REGEX_TEXT_BYTES_MAX)?.is_match(matched)))
}

/// The whole template as one pattern; what is nested in delimiters belongs to the outermost.
pub fn template_pattern(template: &str, start: &str, end: &str) -> Result<String, String> {
    let delimiter = |name: &str, delimiter: &str| match *delimiter.as_bytes() {
        [byte] => Ok(byte),
        _ => Err(format!("{name} delimiter has to be exactly one character long but is {} long", delimiter.len())),
    };
    let (start, end) = (delimiter("start", start)?, delimiter("end", end)?);
    check_length(template).map_err(Refusal::reason)?;
    let unbalanced = || format!("unbalanced braces in {template:?}");
    let (mut pattern, mut level, mut done) = (String::from("^"), 0_usize, 0);
    for (at, byte) in template.bytes().enumerate() {
        if byte == start {
            level += 1;
            if level == 1 {
                pattern.push_str(&quoted(&template[done..at]));
                done = at + 1;
            }
        } else if byte == end {
            level = level.checked_sub(1).ok_or_else(unbalanced)?;
            if level == 0 {
                let inner = &template[done..at];
                go_regex::check(&format!("^{inner}$")).map_err(Refusal::reason)?;
                pattern.push_str(&format!("({inner})"));
                done = at + 1;
            }
        }
    }
    if level > 0 {
        return Err(unbalanced());
    }
    pattern.push_str(&quoted(&template[done..]));
    pattern.push('$');
    Ok(pattern)
}

/// A pattern of the text itself.
fn quoted(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
