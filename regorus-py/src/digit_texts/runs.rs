//! What is text in decoded bytes.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Printable bytes in a row that count as a text.
pub const PRINTABLE_MIN: usize = 12;
/// The first bytes of gzip, ZIP, bzip2, xz and Zstandard.
pub const MAGICS: [&[u8]; 5] = [b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"];
static PACKED: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| MAGICS.map(Finder::new));

/// From where to where: what is packed, up to the end, then what is printable.
pub fn runs(data: &[u8]) -> Vec<(usize, usize)> {
    let packed = PACKED.iter().filter_map(|magic| magic.find(data)).map(|start| (start, data.len()));
    packed.chain(long_runs(data, PRINTABLE_MIN, is_printable)).collect()
}

/// From where to where so many bytes or more of a kind stand in a row.
pub fn long_runs(data: &[u8], bytes_min: usize, is_one: impl Fn(&u8) -> bool) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        // Most windows of that length hold another byte: what begins before the last of them is too short.
        while let Some(other) = data.get(start..start + bytes_min)?.iter().rposition(|byte| !is_one(byte)) {
            start += other + 1;
        }
        let rest = &data[start + bytes_min..];
        let end = start + bytes_min + rest.iter().position(|byte| !is_one(byte)).unwrap_or(rest.len());
        let found = (start, end);
        start = end + 1;
        Some(found)
    })
}

pub fn is_printable(byte: &u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
}
