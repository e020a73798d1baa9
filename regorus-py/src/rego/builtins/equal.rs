//! Calls that the engine answers otherwise than OPA: an error, which denies, is no wrong answer.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use regorus::Value;

use super::guard::Guard;
use super::weight::{WEIGHT_MAX, text, weigh};
use crate::go_format::{AMBIGUOUS, has_one_spelling};

/// Up to it, a double has every integer.
pub const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Builtins that are looked at by `check` alone.
pub fn guard_of(name: &str) -> Option<Guard> {
    matches!(
        name,
        "abs"
            | "ceil"
            | "floor"
            | "round"
            | "bits.and"
            | "bits.or"
            | "bits.xor"
            | "bits.negate"
            | "bits.rsh"
            | "base64.decode"
            | "base64.is_valid"
            | "base64url.decode"
    )
    .then_some(Guard::Check(|_| Ok(())))
}

pub fn check(name: &str, values: &[Value]) -> Result<(), String> {
    let string = text(values, 0).unwrap_or_default();
    if matches!(name, "format_int" | "json.marshal" | "json.marshal_with_options" | "yaml.marshal") {
        // A value that holds another many times over has no end when it is looked through.
        weigh(values, WEIGHT_MAX)?;
    }
    match name {
        "ceil" | "floor" => numbers(values).and_then(|()| below_zero(values)),
        "format_int" if !values.iter().any(has_fraction) => one_spelling(values),
        "format_int" => numbers(values).and_then(|()| below_zero(values)),
        "abs" | "round" => numbers(values),
        "json.marshal" | "json.marshal_with_options" => {
            values.iter().try_for_each(sets_ordered).and_then(|()| one_spelling(values))
        }
        "yaml.marshal" => values.iter().try_for_each(|value| sets_ordered(value)),
        "units.parse_bytes" => bytes(string),
        "json.unmarshal" => long_fraction(string),
        "base64.decode" | "base64.is_valid" | "base64url.decode" => base64(string, name),
        "time.parse_ns" => parsed(string, text(values, 1).unwrap_or_default()),
        "time.parse_rfc3339_ns" => rfc3339(string),
        "net.cidr_merge" => mapped(values),
        "yaml.unmarshal" | "yaml.is_valid" => yaml(string),
        "replace" if text(values, 1) == Some("") && !string.is_ascii() => Err(String::from("nothing to be replaced")),
        "to_number" if string.contains(char::is_whitespace) => Err(String::from("the string is no number")),
        "to_number" => long_fraction(string).and_then(|()| short_exponent(string)),
        "units.parse" if string.starts_with(['.', '-', '+']) && !has_digit_before_exponent(string) => {
            Err(String::from("no number"))
        }
        _ => Ok(()),
    }
}

/// The engine has no value in silence where OPA has an error, and writes some otherwise.
pub fn check_result(name: &str, values: &[Value], value: &Value) -> Result<(), String> {
    let string = text(values, 0).unwrap_or_default();
    match (name, value) {
        ("units.parse" | "units.parse_bytes", Value::Undefined) => Err(String::from("no number with a known unit")),
        ("yaml.marshal", Value::String(written)) if written.contains(['\'', '"', '|', '>']) => {
            Err(String::from("a text that needs quotes"))
        }
        ("yaml.marshal", Value::String(written)) if written.chars().any(|character| character > '\u{ffff}') => {
            Err(String::from("a character that OPA escapes"))
        }
        ("base64.decode" | "base64url.decode" | "hex.decode", Value::String(text)) if text.contains('\u{fffd}') => {
            no_text(name, values, text)
        }
        ("json.patch", Value::Undefined) => Err(String::from("the patches do not fit")),
        ("units.parse" | "units.parse_bytes", Value::Number(number))
            if (string.contains('.') || has_exponent(string) || number.as_u64().is_none())
                && number.as_f64().is_none_or(|double| double.abs() >= EXACT_MAX) =>
        {
            Err(String::from("a result with more digits than a double has"))
        }
        ("units.parse", Value::Number(number)) if number.as_f64().is_some_and(has_long_fraction) => {
            Err(String::from("a result with more than ten decimals, which OPA rounds"))
        }
        ("yaml.marshal", _) => values.iter().try_for_each(whole),
        _ => Ok(()),
    }
}

/// Go takes each byte that is no text for a character, the engine some bytes together.
fn no_text(name: &str, values: &[Value], decoded: &str) -> Result<(), String> {
    let string = text(values, 0).unwrap_or_default();
    let bytes = match name {
        "hex.decode" => HEXLOWER_PERMISSIVE.decode(string.as_bytes()),
        "base64.decode" => BASE64.decode(string.as_bytes()),
        _ => BASE64URL_NOPAD.decode(string.trim_end_matches('=').as_bytes()),
    };
    let bytes = bytes.map_err(|_| String::from("not encoded as it should be"))?;
    let (mut rest, mut read) = (&bytes[..], String::new());
    while !rest.is_empty() {
        let valid = std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len);
        read.push_str(&String::from_utf8_lossy(&rest[..valid]));
        rest = &rest[valid..];
        if !rest.is_empty() {
            read.push('\u{fffd}');
            rest = &rest[1..];
        }
    }
    if read == decoded { Ok(()) } else { Err(String::from("what is decoded is no text")) }
}

/// All values in a value, itself too.
fn each(value: &Value, look: &mut dyn FnMut(&Value)) {
    look(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| each(item, look)),
        Value::Set(items) => items.iter_sorted().for_each(|item| each(item, look)),
        Value::Object(members) => members.iter_sorted().for_each(|(key, member)| {
            each(key, look);
            each(member, look);
        }),
        _ => {}
    }
}

fn whole(value: &Value) -> Result<(), String> {
    let mut found = false;
    each(value, &mut |one| found |= matches!(one, Value::Number(number) if number.as_i64().is_none()));
    if found { Err(String::from("a fraction may be written otherwise in OPA; use json.marshal")) } else { Ok(()) }
}

pub fn has_fraction(value: &Value) -> bool {
    let mut found = false;
    each(value, &mut |one| found |= matches!(one, Value::Number(number) if !number.is_integer()));
    found
}

/// From 10^21 on a double has an exponent in JSON, which is not kept here.
fn one_spelling(values: &[Value]) -> Result<(), String> {
    let mut found = false;
    let is_ambiguous = |one: &Value| {
        matches!(one, Value::Number(number)
        if number.as_i64().is_none() && number.as_big().is_some_and(|long| !has_one_spelling(&long)))
    };
    values.iter().for_each(|value| each(value, &mut |one| found |= is_ambiguous(one)));
    if found { Err(String::from(AMBIGUOUS)) } else { Ok(()) }
}

fn below_zero(values: &[Value]) -> Result<(), String> {
    match values.first() {
        Some(Value::Number(number)) if number.as_f64().is_some_and(|double| double > -1.0 && double < 0.0) => {
            Err(String::from("OPA rounds a fraction between -1 and 0 the other way"))
        }
        _ => Ok(()),
    }
}

fn bytes(string: &str) -> Result<(), String> {
    let Some((_, fraction)) = string.split_once('.') else { return Ok(()) };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = fraction.split_at(digits);
    let has_unit = !unit.trim_matches(['b', 'B', ' ', '"']).is_empty();
    let number = string.len() - unit.len();
    let is_binary = unit.contains(['i', 'I']) && !has_exponent(string);
    match digits {
        "" => Err(String::from("a fraction of a byte")),
        zeros if zeros.bytes().all(|digit| digit == b'0') => Ok(()),
        _ if digits.len() <= 3 && has_unit && !(is_binary && rounds_up(&string[..number], unit)) => Ok(()),
        _ => Err(String::from("a fraction of a byte")),
    }
}

/// The engine rounds to whole bytes, OPA cuts.
fn rounds_up(number: &str, unit: &str) -> bool {
    let power = unit.chars().next().and_then(|letter| "kmgtpe".find(letter.to_ascii_lowercase())).unwrap_or(0) + 1;
    let factor = 1_024_f64.powi(i32::try_from(power).unwrap_or(1));
    number.parse::<f64>().is_ok_and(|number| (number * factor).fract().abs() >= 0.5)
}

/// `1e3`, and not `1E`, which is a unit.
fn has_exponent(string: &str) -> bool {
    string
        .to_ascii_lowercase()
        .split('e')
        .skip(1)
        .any(|rest| rest.starts_with(|next: char| next.is_ascii_digit() || matches!(next, '+' | '-')))
}

fn has_digit_before_exponent(string: &str) -> bool {
    string.split(['e', 'E']).next().is_some_and(|number| number.bytes().any(|byte| byte.is_ascii_digit()))
}

fn has_long_fraction(double: f64) -> bool {
    format!("{double:.10}").parse::<f64>() != Ok(double)
}

/// Go refuses what a 32-bit exponent does not hold, of zero too.
fn short_exponent(string: &str) -> Result<(), String> {
    let exponent = string.split_once(['e', 'E']).map_or("", |(_, exponent)| exponent);
    if exponent.len() > 9 { Err(String::from("an exponent of more than nine characters")) } else { Ok(()) }
}

/// Doubles have seventeen digits.
fn long_fraction(string: &str) -> Result<(), String> {
    let is_number = |character: char| character.is_ascii_digit() || matches!(character, '.' | 'e' | 'E' | '+' | '-');
    if string.split(|character| !is_number(character)).any(|number| number.len() > 17 && number.contains('.')) {
        return Err(String::from("a number of more digits than a double has"));
    }
    Ok(())
}

/// OPA calculates with 64 bits of a mantissa, and rounds what is longer.
fn numbers(values: &[Value]) -> Result<(), String> {
    let is_large = |value: &Value| match value {
        Value::Number(number) if number.is_integer() => number.as_i64().is_none() && number.as_u64().is_none(),
        Value::Number(number) => number.as_f64().is_some_and(|double| double.abs() >= 9.2e18),
        _ => false,
    };
    let found = match values.first() {
        Some(Value::Array(items)) => items.iter().any(is_large),
        Some(Value::Set(items)) => items.iter_sorted().any(is_large),
        _ => values.iter().any(is_large),
    };
    if found { Err(String::from("an integer of more than 64 bits would be rounded in OPA")) } else { Ok(()) }
}

/// The engine puts sets before objects, OPA after them.
fn mixed(collection: &Value) -> Result<(), String> {
    let (mut sets, mut objects) = (0, false);
    each(collection, &mut |one| {
        sets += usize::from(matches!(one, Value::Set(_)));
        objects |= matches!(one, Value::Object(_));
    });
    if objects && sets > usize::from(matches!(collection, Value::Set(_))) {
        return Err(String::from("sets and objects have another order in OPA"));
    }
    Ok(())
}

fn sets_ordered(value: &Value) -> Result<(), String> {
    let mut outcome = Ok(());
    each(value, &mut |one| {
        if matches!(one, Value::Set(_)) && outcome.is_ok() {
            outcome = mixed(one);
        }
    });
    outcome
}

fn base64(string: &str, name: &str) -> Result<(), String> {
    let data = string.trim_end_matches('=');
    if data.contains(['=', '\r', '\n']) {
        return Err(String::from("base64 with padding or line ends within"));
    }
    let last = data.bytes().last().unwrap_or(b'A');
    let digit = match last {
        b'A'..=b'Z' => last - b'A',
        b'a'..=b'z' => last - b'a' + 26,
        b'0'..=b'9' => last - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => 0,
    };
    let rest = match data.len() % 4 {
        2 => digit & 15,
        3 => digit & 3,
        1 if name == "base64url.decode" => 1,
        _ => 0,
    };
    if rest != 0 { Err(String::from("base64 with bits left over")) } else { Ok(()) }
}

fn parsed(layout: &str, value: &str) -> Result<(), String> {
    if layout.contains("__2")
        || layout.contains("002")
        || value.contains(',') != layout.contains(',')
        || value.contains(":60")
        || value.contains(['t', 'z'])
        || fraction_digits(layout).is_some_and(|digits| fraction_digits(value) != Some(digits))
        || (value.contains(':') && !layout.contains(':') && layout.contains("20"))
        || layout.contains("MST")
        || matches!(layout, "UnixDate" | "RFC822" | "RFC850" | "RFC1123")
    {
        return Err(String::from("a layout or a time that the engine reads otherwise than OPA"));
    }
    Ok(())
}

/// The digits after the first point; None without one, or with a `9`, which takes any number of them.
fn fraction_digits(text: &str) -> Option<usize> {
    let (_, fraction) = text.split_once('.')?;
    if text.contains(".9") && text.contains("2006") {
        return None;
    }
    Some(fraction.bytes().take_while(u8::is_ascii_digit).count())
}

fn rfc3339(value: &str) -> Result<(), String> {
    let bytes = value.as_bytes();
    if bytes.get(10) != Some(&b'T') || value.contains(":60") || value.contains([',', 't', 'z', ' ']) {
        return Err(String::from("not a time as RFC 3339 has it"));
    }
    Ok(())
}

fn mapped(values: &[Value]) -> Result<(), String> {
    let is_mapped = |value: &Value| matches!(value, Value::String(text) if text.to_ascii_lowercase().contains("ffff:"));
    let found = match values.first() {
        Some(Value::Array(items)) => items.iter().any(is_mapped),
        Some(Value::Set(items)) => items.iter_sorted().any(is_mapped),
        _ => false,
    };
    if found { Err(String::from("an IPv4 address in IPv6")) } else { Ok(()) }
}

/// Words that are booleans in the YAML of OPA, and texts in the engine's.
fn yaml(string: &str) -> Result<(), String> {
    let is_word =
        |character: char| !(character.is_alphanumeric() || matches!(character, '.' | '+' | '-' | '_' | '~' | '='));
    let differs = |word: &str| {
        matches!(word.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "=" | "~")
            || (word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '.' | '-'))
                && word.len() > 1
                && !word.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
            || (word.len() > 1 && word.trim_start_matches('-').starts_with('0'))
    };
    if string.contains("---")
        || string.split(is_word).any(differs)
        || string.contains(['!', '&', '|', '>', '\\'])
        || string.contains("<<")
    {
        return Err(String::from("a word, number or tag that YAML 1.1 and 1.2 read differently"));
    }
    Ok(())
}
