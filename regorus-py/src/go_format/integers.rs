//! Integers: those of 64 bits as `fmt` writes them, longer ones as `math/big` does.

use super::flags::Flags;
use super::quote;

/// A base, and whether its digits are capitals.
fn base_of(verb: char) -> Option<(u32, bool)> {
    Some(match verb {
        'v' | 'd' => (10, false),
        'b' => (2, false),
        'o' | 'O' => (8, false),
        'x' => (16, false),
        'X' => (16, true),
        _ => return None,
    })
}

fn in_base(number: u64, base: u32, capitals: bool) -> String {
    match (base, capitals) {
        (2, _) => format!("{number:b}"),
        (8, _) => format!("{number:o}"),
        (16, false) => format!("{number:x}"),
        (16, true) => format!("{number:X}"),
        _ => number.to_string(),
    }
}

/// Whether the verb is one of integers.
pub fn write(out: &mut String, flags: &Flags, number: i64, verb: char) -> bool {
    if let Some((base, capitals)) = base_of(verb) {
        write_in_base(out, flags, number, (base, capitals), verb);
        return true;
    }
    let character = u32::try_from(number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
    match verb {
        'c' => flags.pad(out, &character.to_string()),
        'q' => flags.pad(out, &quote::character(character, flags.plus)),
        'U' => write_unicode(out, flags, number),
        _ => return false,
    }
    true
}

fn write_in_base(out: &mut String, flags: &Flags, number: i64, (base, capitals): (u32, bool), verb: char) {
    let (negative, size) = (number < 0, number.unsigned_abs());
    let digits_min = match (flags.precision, flags.width) {
        (Some(0), _) if size == 0 => return flags.pad_with_spaces(out, ""),
        (Some(precision), _) => precision,
        (None, Some(width)) if flags.zero && !flags.minus => {
            width.saturating_sub(usize::from(negative || flags.plus || flags.space))
        }
        _ => 0,
    };
    let digits = in_base(size, base, capitals);
    let digits = format!("{}{digits}", "0".repeat(digits_min.saturating_sub(digits.len())));
    let prefix = match base {
        2 if flags.sharp => "0b",
        8 if flags.sharp && !digits.starts_with('0') => "0",
        16 if flags.sharp && capitals => "0X",
        16 if flags.sharp => "0x",
        _ => "",
    };
    let octal = if verb == 'O' { "0o" } else { "" };
    let sign = match (negative, flags.plus, flags.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    };
    flags.pad_with_spaces(out, &format!("{sign}{octal}{prefix}{digits}"));
}

/// `U+0078`, with `#` and the character.
fn write_unicode(out: &mut String, flags: &Flags, number: i64) {
    let bits = u64::from_ne_bytes(number.to_ne_bytes());
    let digits = flags.precision.unwrap_or(0).max(4);
    let shown =
        u32::try_from(bits).ok().and_then(char::from_u32).filter(|found| flags.sharp && quote::is_print(*found));
    let shown = shown.map_or(String::new(), |found| format!(" '{found}'"));
    let hex = format!("{bits:X}");
    let zeros = "0".repeat(digits.saturating_sub(hex.len()));
    flags.pad_with_spaces(out, &format!("U+{zeros}{hex}{shown}"));
}

/// A longer integer, by its decimal, hexadecimal, octal and binary digits; false for a verb of others.
pub fn write_long(out: &mut String, flags: &Flags, number: &num_bigint::BigInt, verb: char) -> bool {
    let digits = match verb {
        'b' => format!("{number:b}"),
        'o' | 'O' => format!("{number:o}"),
        'd' | 's' | 'v' => number.to_string(),
        'x' => format!("{number:x}"),
        'X' => format!("{number:X}"),
        _ => return false,
    };
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits.as_str()), |digits| (true, digits));
    let sign = match (negative, flags.plus || flags.plus_value, flags.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    };
    let prefix = match (verb, flags.sharp || flags.sharp_value) {
        ('O', _) => "0o",
        ('b', true) => "0b",
        ('o', true) => "0",
        ('x', true) => "0x",
        ('X', true) => "0X",
        _ => "",
    };
    let mut zeros = flags.precision.unwrap_or(0).saturating_sub(digits.len());
    let length = sign.len() + prefix.len() + zeros + digits.len();
    let missing = flags.width.unwrap_or(0).saturating_sub(length);
    let (mut left, mut right) = (0, 0);
    if flags.minus {
        right = missing;
    } else if flags.zero && flags.precision.is_none() {
        zeros = missing;
    } else {
        left = missing;
    }
    out.push_str(&" ".repeat(left));
    out.push_str(&format!("{sign}{prefix}{}{digits}", "0".repeat(zeros)));
    out.push_str(&" ".repeat(right));
    true
}
