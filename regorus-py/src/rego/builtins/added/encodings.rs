//! Base64 and PEM as Go reads them: line ends are skipped, and bits after the last byte do not matter.

use std::sync::LazyLock;

use data_encoding::{DecodeKind, Encoding, Specification};

fn encoding(symbols: &str, padding: Option<char>) -> Encoding {
    let mut specification = Specification::new();
    specification.symbols.push_str(symbols);
    specification.padding = padding;
    specification.check_trailing_bits = false;
    specification.ignore.push_str("\r\n");
    specification.encoding().expect("an alphabet of 64 symbols")
}

const STANDARD_SYMBOLS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SYMBOLS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static STANDARD: LazyLock<Encoding> = LazyLock::new(|| encoding(STANDARD_SYMBOLS, Some('=')));
static URL: LazyLock<Encoding> = LazyLock::new(|| encoding(URL_SYMBOLS, Some('=')));
static URL_WITHOUT_PADDING: LazyLock<Encoding> = LazyLock::new(|| encoding(URL_SYMBOLS, None));

fn decoded(encoding: &Encoding, text: &[u8]) -> Result<Vec<u8>, String> {
    encoding.decode(text).map_err(|error| {
        let position = if error.kind == DecodeKind::Length { text.len() } else { error.position };
        format!("illegal base64 data at input byte {position}")
    })
}

pub fn base64(text: &str) -> Result<Vec<u8>, String> {
    decoded(&STANDARD, text.as_bytes())
}

/// Base64url without padding, as in keys (RFC 7517).
pub fn base64url_raw(text: &str) -> Result<Vec<u8>, String> {
    decoded(&URL_WITHOUT_PADDING, text.as_bytes())
}

/// Base64url; padding that was left out is put back (RFC 7515 appendix C).
pub fn base64url(text: &str) -> Result<Vec<u8>, String> {
    if text.ends_with('=') {
        return decoded(&URL, text.as_bytes());
    }
    let padding = match text.len() % 4 {
        0 => "",
        2 => "==",
        3 => "=",
        _ => return Err(format!("illegal base64url string: {text}")),
    };
    decoded(&URL, [text, padding].concat().as_bytes())
}

pub fn in_base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}

pub fn in_base64url(bytes: &[u8]) -> String {
    data_encoding::BASE64URL_NOPAD.encode(bytes)
}

/// One block of a text (RFC 7468).
pub struct Block {
    pub label: String,
    pub contents: Vec<u8>,
}

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";

/// The first block, and what stands after its last line; None where there is none.
pub fn pem(text: &str) -> Option<(Block, &str)> {
    let mut rest = text;
    loop {
        let at = if rest.starts_with(BEGIN) { 0 } else { rest.find(&format!("\n{BEGIN}"))? + 1 };
        let after = &rest[at + BEGIN.len()..];
        match block(after) {
            Some(found) => return Some(found),
            None => rest = after,
        }
    }
}

fn block(after_begin: &str) -> Option<(Block, &str)> {
    let (line, body) = after_begin.split_once('\n')?;
    let label = line.trim_end().strip_suffix(DASHES)?;
    let end = format!("{DASHES}END {label}{DASHES}");
    let at = if body.starts_with(&end) { 0 } else { body.find(&format!("\n{end}"))? + 1 };
    let after = &body[at + end.len()..];
    let (last, rest) = after.split_once('\n').unwrap_or((after, ""));
    if !last.trim().is_empty() {
        return None;
    }
    // Headers, as old private keys have them, end with an empty line.
    let data = match body[..at].split_once("\n\n") {
        Some((headers, data)) if headers.contains(':') => data,
        _ => &body[..at],
    };
    let data: String = data.split_ascii_whitespace().collect();
    Some((Block { label: label.to_owned(), contents: base64(&data).ok()? }, rest))
}
