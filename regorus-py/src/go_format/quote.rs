//! Go's `strconv.Quote` and what it takes for printable.

use std::sync::OnceLock;

use regex_syntax::hir::ClassUnicode;

use crate::go_regex::unicode::{holds, property};

/// Go's `strconv.IsPrint`: letters, marks, numbers, punctuation, symbols, and the space.
pub fn is_print(character: char) -> bool {
    static PRINTED: OnceLock<ClassUnicode> = OnceLock::new();
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    let printed = || {
        let mut all = ClassUnicode::empty();
        ["L", "M", "N", "P", "S"]
            .into_iter()
            .filter_map(|name| property(name, false))
            .for_each(|class| all.union(&class));
        all
    };
    holds(PRINTED.get_or_init(printed), character)
}

fn escape(out: &mut String, character: char, quote: char, ascii_only: bool) {
    if character == quote || character == '\\' {
        out.push('\\');
        out.push(character);
        return;
    }
    if is_print(character) && !(ascii_only && !character.is_ascii()) {
        out.push(character);
        return;
    }
    match character {
        '\u{07}' => out.push_str("\\a"),
        '\u{08}' => out.push_str("\\b"),
        '\u{0c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{0b}' => out.push_str("\\v"),
        '\0'..='\u{1f}' | '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(character))),
        '\0'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push_str(&format!("\\U{:08x}", u32::from(character))),
    }
}

/// In double quotes.
pub fn text(text: &str, ascii_only: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    text.chars().for_each(|character| escape(&mut out, character, '"', ascii_only));
    out.push('"');
    out
}

/// In single quotes.
pub fn character(character: char, ascii_only: bool) -> String {
    let mut out = String::from("'");
    escape(&mut out, character, '\'', ascii_only);
    out.push('\'');
    out
}

/// Go's `strconv.CanBackquote`.
pub fn can_be_raw(text: &str) -> bool {
    !text
        .chars()
        .any(|character| matches!(character, '\u{feff}' | '`' | '\u{7f}') || (character < ' ' && character != '\t'))
}
