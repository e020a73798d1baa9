//! Hexadecimal and base64 (RFC 4648).

pub fn from_hexadecimal(token: &[u8]) -> Option<Vec<u8>> {
    let digits = token.strip_prefix(b"0x").or_else(|| token.strip_prefix(b"0X")).unwrap_or(token);
    if digits.len() % 2 == 1 {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    digits.chunks_exact(2).map(|pair| u8::try_from(value(pair[0])? << 4 | value(pair[1])?).ok()).collect()
}

/// In both alphabets, padded or not, broken into lines or not.
pub fn from_base64(token: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::with_capacity(token.len());
    let (mut held, mut bits, mut digits, mut is_padded) = (0_u32, 0, 0, false);
    for byte in token {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            b'=' => {
                is_padded = true;
                continue;
            }
            _ => return None,
        };
        if is_padded {
            return None;
        }
        digits += 1;
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            data.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    (digits % 4 != 1).then_some(data)
}
