//! Reading a pattern character by character.

use super::pattern::Refusal;

/// What is left of a pattern.
#[derive(Clone, Copy)]
pub struct Reader<'p> {
    pub rest: &'p str,
}

impl<'p> Reader<'p> {
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// Takes `expected` where it is next.
    pub fn take(&mut self, expected: &str) -> bool {
        self.rest.strip_prefix(expected).map(|rest| self.rest = rest).is_some()
    }

    /// What was read since `before`.
    pub fn since(&self, before: Self) -> &'p str {
        &before.rest[..before.rest.len() - self.rest.len()]
    }

    /// The character that an escape stands for; as a number, since a pattern may name surrogates, which no text has.
    pub fn escape(&mut self) -> Result<u32, Refusal> {
        let before = *self;
        self.rest = self.rest.strip_prefix('\\').unwrap_or(self.rest);
        let Some(first) = self.next() else {
            return Err(Refusal::syntax("trailing backslash at end of expression", ""));
        };
        let found = match first {
            '1'..='7' if !matches!(self.peek(), Some('0'..='7')) => None,
            '0'..='7' => Some(self.octal(first)),
            'x' => self.hexadecimal(),
            'a' => Some(7),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            other => (other.is_ascii() && !other.is_ascii_alphanumeric()).then_some(u32::from(other)),
        };
        found.ok_or_else(|| Refusal::syntax("invalid escape sequence", self.since(before)))
    }

    /// Up to three digits, the first of which is read.
    fn octal(&mut self, first: char) -> u32 {
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(8)) else { break };
            value = value * 8 + digit;
            self.next();
        }
        value
    }

    /// Two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next()?;
        if first != '{' {
            return Some(first.to_digit(16)? * 16 + self.next()?.to_digit(16)?);
        }
        let (mut value, mut digits) = (0, 0);
        loop {
            let next = self.next()?;
            if next == '}' {
                return (digits > 0).then_some(value);
            }
            value = value * 16 + next.to_digit(16)?;
            digits += 1;
            if value > u32::from(char::MAX) {
                return None;
            }
        }
    }

    /// `{2}`, `{2,}`, `{2,5}`: the counts, and nothing read where it is none of them.
    pub fn counts(&mut self) -> Option<(Count, Option<Count>)> {
        let mut reader = *self;
        if !reader.take("{") {
            return None;
        }
        let min = reader.count()?;
        let max = match reader.take(",") {
            false => Some(min),
            true if reader.peek() == Some('}') => None,
            true => Some(reader.count()?),
        };
        if !reader.take("}") {
            return None;
        }
        *self = reader;
        Some((min, max))
    }

    /// Digits, without a leading zero; a number of any size.
    fn count(&mut self) -> Option<Count> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (text, rest) = self.rest.split_at(digits);
        if text.is_empty() || (text.len() > 1 && text.starts_with('0')) {
            return None;
        }
        self.rest = rest;
        Some(text.parse().unwrap_or(Count::MAX))
    }
}

pub type Count = u32;
