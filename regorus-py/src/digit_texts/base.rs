//! The digits of hexadecimal, base64 and base32 (RFC 4648), and what they decode to.

const NONE: u8 = u8::MAX;

/// How a base reads a byte: the value of the digit, or `NONE` for what stands between digits.
pub struct Base {
    values: [u8; 256],
    /// Bits of a digit.
    bits: usize,
    /// Alignments, in digits.
    pub shifts: usize,
}

static HEX: Base = base(b"0123456789abcdef", b"0123456789ABCDEF", b"", 4, 2);
static BASE64: Base = base(BASE64_DIGITS, b"", b"", 6, 4);
/// With the digits of the alphabet for URLs, too.
static BASE64_URL: Base = base(BASE64_DIGITS, b"", b"-_", 6, 4);
static BASE32: Base = base(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"", b"", 5, 8);

const BASE64_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `last`: other spellings of the last digits.
const fn base(digits: &[u8], others: &[u8], last: &[u8], bits: usize, shifts: usize) -> Base {
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
    Base { values, bits, shifts }
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
        for at in 0..text.len() {
            values[count] = self.values[usize::from(text[at])];
            count += usize::from(self.is_digit(text, at));
        }
        values.truncate(count);
        values
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
