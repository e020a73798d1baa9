//! An event's header: canonical JSON (RFC 8785), whose SHA-256 is the event's hash. `headgate.audit.chain` describes it.

use crate::record::time_text;

/// Enough for nearly all headers.
pub const BYTES: usize = 512;

/// Writes everything before the payload's digest. `created` is in microseconds since 2000. Nothing where a header cannot say the time.
pub fn begin(
    action: Option<&[u8]>,
    agent: Option<&[u8]>,
    created: i64,
    id: &[u8],
    org: &[u8],
    text: &mut Vec<u8>,
) -> Option<()> {
    text.extend(b"{\"action\":");
    quote(action, text);
    text.extend(b",\"agent\":");
    quote(agent, text);
    text.extend(b",\"created_at\":\"");
    time_text::write(created, text)?;
    text.extend(b"\",\"id\":\"");
    text.extend(id);
    text.extend(b"\",\"org\":\"");
    text.extend(org);
    text.extend(b"\",\"payload_digest\":\"sha256:");
    Some(())
}

/// Writes everything after the payload's digest.
pub fn end(previous: &[u8; 32], sealed: &[u8], seq: i64, event_type: &[u8], text: &mut Vec<u8>) {
    text.extend(b"\",\"prev_hash\":\"sha256:");
    hexadecimal(previous, text);
    text.extend(b"\",\"sealed_at\":\"");
    text.extend(sealed);
    text.extend(b"\",\"seq\":");
    text.extend(seq.to_string().as_bytes());
    text.extend(b",\"type\":\"");
    text.extend(event_type);
    text.extend(b"\",\"v\":1}");
}

pub fn hexadecimal(bytes: &[u8], text: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn quote(value: Option<&[u8]>, text: &mut Vec<u8>) {
    match value {
        None => text.extend(b"null"),
        Some(value) => {
            text.push(b'"');
            text.extend(value);
            text.push(b'"');
        }
    }
}
