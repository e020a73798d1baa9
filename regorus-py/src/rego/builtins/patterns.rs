//! Guards of builtins that match patterns.

use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, length, text};

const REGEX_BYTES_MAX: usize = 8 << 10;
const REGEX_TEXT_BYTES_MAX: usize = 1 << 20;
/// A counted repetition can take its count in steps for each byte: `[ab]*a[ab]{400}c` takes 8 s over 1 MiB.
const REPEATED_BYTES_MAX: usize = 16 << 20;
/// Finding all matches takes the square of the text's length for patterns such as `.*[^A-Z]|[A-Z]`.
const SEARCHED_BYTES_MAX: usize = 8 << 10;
/// Each brace of a pattern is a level of the matcher's recursion.
const GLOB_BYTES_MAX: usize = 1 << 10;
const GLOB_TEXT_BYTES_MAX: usize = 64 << 10;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "regex.match" => Guard::Check(matching),
        "regex.is_valid" => Guard::Check(|values| regex(length(values, 0), 0, 0)),
        "regex.find_n" | "regex.find_all_string_submatch_n" | "regex.split" => {
            Guard::Check(|values| regex(length(values, 0), length(values, 1), SEARCHED_BYTES_MAX))
        }
        "regex.replace" => Guard::Check(replace),
        "regex.template_match" => Guard::Instead(template_match),
        "glob.match" => Guard::Check(|values| glob(length(values, 0), length(values, 2))),
        _ => return None,
    })
}

fn regex(pattern: usize, searched: usize, searched_max: usize) -> Result<(), String> {
    if pattern > REGEX_BYTES_MAX {
        return Err(format!("a pattern of more than {REGEX_BYTES_MAX} bytes"));
    }
    if searched > searched_max {
        return Err(format!("a text of more than {searched_max} bytes"));
    }
    Ok(())
}

fn matching(values: &[Value]) -> Result<(), String> {
    let searched = length(values, 1);
    regex(length(values, 0), searched, REGEX_TEXT_BYTES_MAX)?;
    let steps = 1 + repetitions(text(values, 0).unwrap_or_default());
    if searched.saturating_mul(steps) > REPEATED_BYTES_MAX {
        return Err(format!("a text of {searched} bytes is too long for a pattern that counts to {}", steps - 1));
    }
    Ok(())
}

/// The sum of the counts in `{3}`, `{3,}` and `{3,5}`.
fn repetitions(pattern: &str) -> usize {
    let counts = pattern.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(counts, _)| counts);
    let largest = |counts: &str| counts.split(',').filter_map(|count| count.trim().parse::<usize>().ok()).max();
    counts.filter_map(largest).fold(0, usize::saturating_add)
}

/// `regex.replace(text, pattern, replacement)`; `$0` in the replacement is the whole match.
fn replace(values: &[Value]) -> Result<(), String> {
    let searched = length(values, 0);
    regex(length(values, 1), searched, SEARCHED_BYTES_MAX)?;
    let replacement = length(values, 2);
    let largest = (searched + 1) * (replacement + 1) + searched * replacement;
    if largest > WEIGHT_MAX { Err(String::from("the result could be too large")) } else { Ok(()) }
}

fn glob(pattern: usize, matched: usize) -> Result<(), String> {
    if pattern > GLOB_BYTES_MAX {
        return Err(format!("a pattern of more than {GLOB_BYTES_MAX} bytes"));
    }
    if matched > GLOB_TEXT_BYTES_MAX {
        return Err(format!("a text of more than {GLOB_TEXT_BYTES_MAX} bytes"));
    }
    Ok(())
}

/// Whether a text is made as a template says, with patterns between delimiters: `urn:{[a-z]+}:x`. The engine's own
/// panics where a delimiter is the last character of a text.
fn template_match(values: &[Value]) -> Result<Value, String> {
    let [Some(template), Some(matched), Some(start), Some(end)] = [0, 1, 2, 3].map(|index| text(values, index)) else {
        return Err(String::from("the arguments must be strings"));
    };
    regex(template.len(), matched.len(), SEARCHED_BYTES_MAX)?;
    let delimiter = |name: &str, delimiter: &str| match *delimiter.as_bytes() {
        [byte] => Ok(byte),
        _ => Err(format!("{name} delimiter has to be exactly one character long but is {} long", delimiter.len())),
    };
    let pattern = template_pattern(template, delimiter("start", start)?, delimiter("end", end)?)?;
    let compiled = regex::Regex::new(&pattern).map_err(|error| error.to_string())?;
    Ok(Value::Bool(compiled.is_match(matched)))
}

/// The whole template as one pattern; what is nested in delimiters belongs to the outermost.
fn template_pattern(template: &str, start: u8, end: u8) -> Result<String, String> {
    let unbalanced = || format!("unbalanced braces in {template:?}");
    let (mut pattern, mut level, mut done) = (String::from("^"), 0_usize, 0);
    for (at, byte) in template.bytes().enumerate() {
        if byte == start {
            level += 1;
            if level == 1 {
                pattern.push_str(&regex::escape(&template[done..at]));
                done = at + 1;
            }
        } else if byte == end {
            level = level.checked_sub(1).ok_or_else(unbalanced)?;
            if level == 0 {
                let inner = &template[done..at];
                regex::Regex::new(&format!("^{inner}$")).map_err(|error| error.to_string())?;
                pattern.push_str(&format!("({inner})"));
                done = at + 1;
            }
        }
    }
    if level > 0 {
        return Err(unbalanced());
    }
    pattern.push_str(&regex::escape(&template[done..]));
    pattern.push('$');
    Ok(pattern)
}
