//! The digits of hexadecimal, base64 and base32 (RFC 4648), and what they decode to.

use super::spelled::{Group, alignments_of_texts, made};

const NONE: u8 = u8::MAX;

/// How a base reads a byte: the value of the digit, or `NONE` for what stands between digits.
pub struct Base {
    values: [u8; 256],
    /// Bits of a digit.
    bits: usize,
    /// Alignments, in digits.
    pub shifts: usize,
    /// None where a byte may reach over three digits.
    group: Option<Group>,
}

static HEX: Base = base(b"0123456789abcdef", b"0123456789ABCDEF", b"", 4, 2, Some(HEX_GROUP));
static BASE64: Base = base(BASE64_DIGITS, b"", b"", 6, 4, Some(BASE64_GROUP));
/// With the digits of the alphabet for URLs, too.
static BASE64_URL: Base = base(BASE64_DIGITS, b"", b"-_", 6, 4, Some(BASE64_GROUP));
static BASE32: Base = base(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"", b"", 5, 8, None);

const BASE64_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX_GROUP: Group =
    Group { digits: 6, alignments: 2, firsts: [0, 2, 4], lefts: [4; 3], rights: [0; 3], made: [made::<4, 0>; 3] };
const BASE64_GROUP: Group = Group {
    digits: 4,
    alignments: 4,
    firsts: [0, 1, 2],
    lefts: [2, 4, 6],
    rights: [4, 2, 0],
    made: [made::<2, 4>, made::<4, 2>, made::<6, 0>],
};

/// `last`: other spellings of the last digits.
const fn base(digits: &[u8], others: &[u8], last: &[u8], bits: usize, shifts: usize, group: Option<Group>) -> Base {
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < digits.len() {
        values[digits[at] as usize] = at as u8;
        if at < others.len() {
            values[others[at] as usize] = at as u8;
        }
        at += 1;
    }
    at = 0;
    while at < last.len() {
        values[last[at] as usize] = (digits.len() - last.len() + at) as u8;
        at += 1;
    }
    Base { values, bits, shifts, group }
}

impl Base {
    pub fn named(name: &str) -> Option<&'static Self> {
        match name {
            "hex" => Some(&HEX),
            "base64" => Some(&BASE64),
            "base64url" => Some(&BASE64_URL),
            "base32" => Some(&BASE32),
            _ => None,
        }
    }

    /// Whether a digit stands there. The 0 of `0x41` is none.
    pub fn is_digit(&self, text: &[u8], at: usize) -> bool {
        self.values[usize::from(text[at])] != NONE
            && !(self.bits == 4 && text[at] == b'0' && matches!(text.get(at + 1), Some(b'x' | b'X')))
    }

    /// The values of the digits.
    pub fn values(&self, text: &[u8]) -> Vec<u8> {
        let mut values = vec![0; text.len()];
        let mut count = 0;
        for (at, byte) in text.iter().enumerate() {
            let value = self.values[usize::from(*byte)];
            values[count] = value;
            count += usize::from((value != NONE) & (value != 0 || self.is_digit(text, at)));
        }
        values.truncate(count);
        values
    }

    /// The alignments, a bit for each, at which a text may come out.
    pub fn alignments_of_texts(&self, values: &[u8]) -> u8 {
        self.group.as_ref().map_or(u8::MAX, |group| alignments_of_texts(values, group))
    }

    /// The whole bytes of the values.
    pub fn decoded(&self, values: &[u8]) -> Vec<u8> {
        match self.bits {
            4 => self.of_groups::<2, 1>(values),
            5 => self.of_groups::<8, 5>(values),
            _ => self.of_groups::<4, 3>(values),
        }
    }

    /// In groups of digits that are whole bytes.
    fn of_groups<const DIGITS: usize, const BYTES: usize>(&self, values: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(values.len().div_ceil(DIGITS) * BYTES);
        let (groups, rest) = values.as_chunks::<DIGITS>();
        let mut last = [0; DIGITS];
        last[..rest.len()].copy_from_slice(rest);
        for group in groups.iter().chain([&last]) {
            let held = group.iter().fold(0, |held, digit| held << (8 * BYTES / DIGITS) | u64::from(*digit));
            bytes.extend_from_slice(&held.to_be_bytes()[8 - BYTES..]);
        }
        bytes.truncate(self.bytes(values.len()));
        bytes
    }

    /// The whole bytes before so many digits end.
    pub fn bytes(&self, digits: usize) -> usize {
        digits * self.bits / 8
    }

    /// The digit in which this byte begins.
    pub fn first_digit(&self, byte: usize) -> usize {
        byte * 8 / self.bits
    }

    /// The digit behind so many bytes.
    pub fn digits(&self, bytes: usize) -> usize {
        (bytes * 8).div_ceil(self.bits)
    }
}
