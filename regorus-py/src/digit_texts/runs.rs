//! What is text in decoded bytes.

use memchr::memmem;

/// Printable bytes in a row that count as a text.
pub const PRINTABLE_MIN: usize = 12;
/// The first bytes of gzip, ZIP, bzip2, xz and Zstandard.
const PACKED: [&[u8]; 5] = [b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"];

/// From where to where: what is packed, up to the end, then what is printable.
pub fn runs(data: &[u8]) -> Vec<(usize, usize)> {
    let packed = PACKED.iter().filter_map(|magic| memmem::find(data, magic)).map(|start| (start, data.len()));
    let mut found: Vec<_> = packed.collect();
    let mut start = 0;
    for (at, byte) in data.iter().enumerate() {
        if !is_printable(byte) {
            if at - start >= PRINTABLE_MIN {
                found.push((start, at));
            }
            start = at + 1;
        }
    }
    if data.len() - start >= PRINTABLE_MIN {
        found.push((start, data.len()));
    }
    found
}

pub fn is_printable(byte: &u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
}
