//! What is text in decoded bytes.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Printable bytes in a row that count as a text.
pub const PRINTABLE_MIN: usize = 12;
/// The first bytes of gzip, ZIP, bzip2, xz and Zstandard.
static PACKED: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| {
    [b"\x1f\x8b\x08".as_slice(), b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"].map(Finder::new)
});

/// From where to where: what is packed, up to the end, then what is printable.
pub fn runs(data: &[u8]) -> Vec<(usize, usize)> {
    let packed = PACKED.iter().filter_map(|magic| magic.find(data)).map(|start| (start, data.len()));
    let mut found: Vec<_> = packed.collect();
    let mut start = 0;
    // Most windows of that length hold a byte that is not printable: what begins before the last of them is too short.
    while let Some(window) = data.get(start..start + PRINTABLE_MIN) {
        if let Some(at) = window.iter().rposition(|byte| !is_printable(byte)) {
            start += at + 1;
            continue;
        }
        let rest = &data[start..];
        let end = start + rest.iter().position(|byte| !is_printable(byte)).unwrap_or(rest.len());
        found.push((start, end));
        start = end + 1;
    }
    found
}

pub fn is_printable(byte: &u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
}
