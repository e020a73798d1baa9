//! How RFC 8785 writes strings and doubles, and orders keys.

use std::cmp::Ordering;

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// A string with quotes; escapes as in RFC 8785 section 3.2.2.2, and so NUL as `\u0000`.
pub fn write_string(out: &mut Vec<u8>, string: &str) {
    out.push(b'"');
    let bytes = string.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        written = at + 1;
        match *byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => {
                out.extend_from_slice(b"\\u00");
                out.push(HEXADECIMAL[usize::from(control >> 4)]);
                out.push(HEXADECIMAL[usize::from(control & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// A finite double as ECMAScript's Number::toString writes it (RFC 8785 section 3.2.2.3).
pub fn write_double(out: &mut Vec<u8>, double: f64) {
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(double).as_bytes());
}

/// By UTF-16 code units (RFC 8785 section 3.2.3), which differs from UTF-8's order above U+FFFF.
pub fn compare_keys(left: &str, right: &str) -> Ordering {
    let same = left.bytes().zip(right.bytes()).take_while(|(one, other)| one == other).count();
    match (left.as_bytes().get(same), right.as_bytes().get(same)) {
        // Only lead bytes of U+E000 and above (0xEE…) are ordered differently in UTF-16.
        (Some(one), Some(other)) if *one >= 0xEE && *other >= 0xEE => left.encode_utf16().cmp(right.encode_utf16()),
        (Some(one), Some(other)) => one.cmp(other),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}
