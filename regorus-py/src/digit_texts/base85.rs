//! Texts in base85: RFC 1924's alphabet, Ascii85 (Adobe's too) and Z85 (ZeroMQ RFC 32).

use super::runs::{is_printable, long_runs, runs};

const TOKEN_MIN: usize = 20;
/// Decoded first: they tell whether it is worth decoding all.
const TRIED_DIGITS: usize = 20;
const LOOKED_AT: usize = 100;
/// Ordinary tokens have fewer of these signs.
static MARKS: Digits = digits(b"!#$&()*;<>?@^`{|}~[]\"'%,:.\\");
const GROUP_DIGITS: usize = 5;
const LAST_DIGIT: u64 = 84;

/// The value of each digit; `NONE` for what is none.
type Digits = [u8; 256];
const NONE: u8 = u8::MAX;

static RFC_1924: Digits =
    digits(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~");
static Z85: Digits = digits(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#");
static ASCII_85: Digits =
    digits(b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu");

const fn digits(alphabet: &[u8]) -> Digits {
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < alphabet.len() {
        values[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    values
}

/// From where to where a token stands, and a text that it spells.
pub fn base85_texts(text: &[u8]) -> Vec<(usize, usize, Vec<u8>)> {
    let mut found = Vec::new();
    for (start, end) in long_runs(text, TOKEN_MIN, u8::is_ascii_graphic) {
        let token = &text[start..end];
        for data in is_likely(token).then(|| decoded(token)).into_iter().flatten() {
            let of_token = runs(&data).into_iter().map(|(from, to)| (start, end, data[from..to].to_vec()));
            found.extend(of_token);
        }
    }
    found
}

fn is_likely(token: &[u8]) -> bool {
    let start = &token[..token.len().min(LOOKED_AT)];
    let marks = start.iter().filter(|byte| MARKS[usize::from(**byte)] != NONE).count();
    let has = |test: fn(&u8) -> bool| start.iter().any(test);
    start.len() < 12 * marks
        && 12 * marks < 9 * start.len()
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_uppercase) || !has(u8::is_ascii_lowercase))
}

/// In each alphabet in which it begins with a text.
fn decoded(token: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let adobe = token.strip_prefix(b"<~").unwrap_or(token);
    let adobe = adobe.strip_suffix(b"~>").unwrap_or(adobe);
    [(token, &RFC_1924), (adobe, &ASCII_85), (token, &Z85)].into_iter().filter_map(|(token, digits)| {
        let tried = in_alphabet(&token[..token.len().min(TRIED_DIGITS)], digits)?;
        if tried.is_empty() || !tried.iter().all(is_printable) {
            return None;
        }
        in_alphabet(token, digits)
    })
}

/// None where it is not base85. A last group of n digits is n - 1 bytes.
fn in_alphabet(token: &[u8], digits: &Digits) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(token.len());
    let (mut number, mut held) = (0_u64, 0);
    for byte in token {
        if *byte == b'z' && held == 0 && digits[usize::from(b'z')] == NONE {
            bytes.extend_from_slice(&[0; 4]);
            continue;
        }
        let value = Some(digits[usize::from(*byte)]).filter(|value| *value != NONE)?;
        number = number * 85 + u64::from(value);
        held += 1;
        if held == GROUP_DIGITS {
            bytes.extend_from_slice(&u32::try_from(number).ok()?.to_be_bytes());
            (number, held) = (0, 0);
        }
    }
    if held > 0 {
        let filled = (held..GROUP_DIGITS).fold(number, |number, _| number * 85 + LAST_DIGIT);
        bytes.extend_from_slice(&u32::try_from(filled).ok()?.to_be_bytes()[..held - 1]);
    }
    Some(bytes)
}
