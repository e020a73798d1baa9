//! Guards of builtins that match patterns.

use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, length};

const REGEX_BYTES_MAX: usize = 8 << 10;
const REGEX_TEXT_BYTES_MAX: usize = 1 << 20;
/// Finding all matches takes the square of the text's length for patterns such as `.*[^A-Z]|[A-Z]`.
const SEARCHED_BYTES_MAX: usize = 8 << 10;
/// Each brace of a pattern is a level of the matcher's recursion.
const GLOB_BYTES_MAX: usize = 1 << 10;
const GLOB_TEXT_BYTES_MAX: usize = 64 << 10;

pub fn guard_of(name: &str) -> Option<Guard> {
    Some(match name {
        "regex.match" => Guard::Check(|values| regex(length(values, 0), length(values, 1), REGEX_TEXT_BYTES_MAX)),
        "regex.is_valid" => Guard::Check(|values| regex(length(values, 0), 0, 0)),
        "regex.find_n" | "regex.find_all_string_submatch_n" | "regex.split" => {
            Guard::Check(|values| regex(length(values, 0), length(values, 1), SEARCHED_BYTES_MAX))
        }
        "regex.replace" => Guard::Check(replace),
        "regex.template_match" => {
            Guard::Check(|values| regex(length(values, 0), length(values, 1), SEARCHED_BYTES_MAX))
        }
        "glob.match" => Guard::Check(|values| glob(length(values, 0), length(values, 2))),
        "glob.quote_meta" => Guard::Check(|values| glob(length(values, 0), 0)),
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
