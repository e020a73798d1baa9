//! What bytes are.

use std::borrow::Cow;

const MAGICS: [(&[u8], &str); 11] = [
    (b"\x1f\x8b", "gzip"),
    (b"\x78\x01", "zlib"),
    (b"\x78\x5e", "zlib"),
    (b"\x78\x9c", "zlib"),
    (b"\x78\xda", "zlib"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x5d\x00\x00\x80\x00", "lzma"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"%PDF-", "pdf"),
];
const TAR_MAGIC: &[u8] = b"ustar";
const TAR_MAGIC_AT: usize = 257;
/// A text has at most one control character in so many.
const CHARACTERS_PER_CONTROL: usize = 50;
/// UTF-16 has at least one zero in so many bytes; where it is ASCII, every second byte is zero.
const BYTES_PER_ZERO: usize = 3;
/// Two characters: one is as likely a number.
const UTF_16_BYTES_MIN: usize = 4;

pub fn container_of(data: &[u8]) -> Option<&'static str> {
    let known = MAGICS.iter().find(|(magic, _)| data.starts_with(magic)).map(|(_, name)| *name);
    let is_tar = || data.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(TAR_MAGIC));
    known.or_else(|| is_tar().then_some("tar"))
}

pub fn as_text(data: &[u8]) -> Option<Cow<'_, str>> {
    let zeros = data.iter().filter(|byte| **byte == 0).count();
    let is_utf_16 = data.len() >= UTF_16_BYTES_MIN && data.len() % 2 == 0 && zeros * BYTES_PER_ZERO >= data.len();
    let text = if is_utf_16 {
        let read = if data[0] == 0 { u16::from_be_bytes } else { u16::from_le_bytes };
        let units = data.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
        Cow::Owned(char::decode_utf16(units).collect::<Result<String, _>>().ok()?)
    } else {
        Cow::Borrowed(std::str::from_utf8(data).ok()?)
    };
    (!text.is_empty() && is_printable(&text)).then_some(text)
}

fn is_printable(text: &str) -> bool {
    let controls = text.bytes().filter(|one| *one < b' ' && !matches!(one, b'\t' | b'\n' | b'\r' | b'\x1b')).count();
    controls == 0 || controls * CHARACTERS_PER_CONTROL <= text.chars().count()
}
