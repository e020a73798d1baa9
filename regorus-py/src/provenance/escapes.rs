//! Undoes the spellings that a reader of JSON, HTML or a URL undoes: an address is the same address behind them.

/// Whether a text may hold an escape at all.
pub fn may_hold(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b'\\' | b'&' | b'%'))
}

/// JSON's escapes (RFC 8259, section 7), character references of HTML that stand in addresses (HTML, 13.5), and percent
/// signs (RFC 3986, section 2.1), each once. What is no escape stays.
pub fn undo(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at + 1..).unwrap_or_default();
        let undone = match byte {
            b'\\' => json(rest),
            b'&' => reference(rest),
            b'%' => rest.get(..2).and_then(|pair| number(pair, 16)).map(|code| (code, 2)),
            _ => None,
        };
        match undone {
            // A percent sign stands for a byte, the others for a character.
            Some((code, length)) if byte == b'%' => {
                out.push(code as u8);
                at += 1 + length;
            }
            Some((code, length)) => {
                let mut encoded = [0; 4];
                out.extend(char::from_u32(code).unwrap_or(' ').encode_utf8(&mut encoded).as_bytes());
                at += 1 + length;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
}

fn json(rest: &[u8]) -> Option<(u32, usize)> {
    match rest.first()? {
        b'u' => Some((number(rest.get(1..5)?, 16)?, 5)),
        b'n' | b'r' | b't' | b'b' | b'f' => Some((u32::from(b' '), 1)),
        other @ (b'/' | b'"' | b'\\') => Some((u32::from(*other), 1)),
        _ => None,
    }
}

fn reference(rest: &[u8]) -> Option<(u32, usize)> {
    const NAMED: [(&[u8], u8); 7] = [
        (b"amp;", b'&'),
        (b"commat;", b'@'),
        (b"period;", b'.'),
        (b"sol;", b'/'),
        (b"colon;", b':'),
        (b"nbsp;", b' '),
        (b"quot;", b'"'),
    ];
    if rest.first() == Some(&b'#') {
        let end = rest.iter().take(10).position(|byte| *byte == b';')?;
        let digits = rest.get(1..end)?;
        let code = match digits.first()? {
            b'x' | b'X' => number(digits.get(1..)?, 16)?,
            _ => number(digits, 10)?,
        };
        return Some((code, end + 1));
    }
    NAMED.iter().find(|(name, _)| rest.starts_with(name)).map(|(name, byte)| (u32::from(*byte), name.len()))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    if digits.first().is_none_or(|first| *first == b'+') {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}
