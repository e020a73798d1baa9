//! Texts.

use super::flags::Flags;
use super::quote;

fn truncated<'t>(flags: &Flags, text: &'t str) -> &'t str {
    let end = flags.precision.and_then(|count| text.char_indices().nth(count));
    end.map_or(text, |(end, _)| &text[..end])
}

/// Whether the verb is one of texts.
pub fn write(out: &mut String, flags: &Flags, text: &str, verb: char) -> bool {
    match verb {
        'q' => write_quoted(out, flags, text),
        'v' if flags.sharp_value => write_quoted(out, flags, text),
        'v' | 's' => flags.pad(out, truncated(flags, text)),
        'x' | 'X' => write_hex(out, flags, text.as_bytes(), verb == 'X'),
        _ => return false,
    }
    true
}

fn write_quoted(out: &mut String, flags: &Flags, text: &str) {
    let text = truncated(flags, text);
    if flags.sharp && quote::can_be_raw(text) {
        flags.pad(out, &format!("`{text}`"));
    } else {
        flags.pad(out, &quote::text(text, flags.plus));
    }
}

fn write_hex(out: &mut String, flags: &Flags, bytes: &[u8], capitals: bool) {
    let bytes = flags.precision.and_then(|count| bytes.get(..count)).unwrap_or(bytes);
    let prefix = match (flags.sharp, capitals) {
        (false, _) => "",
        (true, false) => "0x",
        (true, true) => "0X",
    };
    let mut written = String::with_capacity(bytes.len() * 2);
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && flags.space {
            written.push(' ');
        }
        if index == 0 || flags.space {
            written.push_str(prefix);
        }
        written.push_str(&if capitals { format!("{byte:02X}") } else { format!("{byte:02x}") });
    }
    flags.pad(out, &written);
}
