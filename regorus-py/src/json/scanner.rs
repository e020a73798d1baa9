//! A reader of RFC 8259 texts that refuses whatever two readers could understand differently.
//!
//! Refused: invalid UTF-8, a byte order mark, duplicate keys, lone surrogates, numbers beyond the limits of
//! the builder, nesting beyond 127, anything after the value. RFC 8259 sections 4, 8.2 and 9 leave these to
//! the implementation, and a gateway that reads another thing than the tool behind it is no gateway.

use std::borrow::Cow;

use super::place::Refusal;

/// Containers within containers; the engine's own limit, and enough for every stack.
pub const NESTING_MAX: usize = 127;

/// Values of all kinds in one text, a tenth of a second. Ten megabytes of `[],` are 3.5 million, held the event
/// loop for a second, and are ten kilobytes of gzip.
pub const VALUES_MAX: usize = 500_000;

/// A number as it was written.
#[derive(Clone, Copy)]
pub struct NumberToken<'a> {
    pub text: &'a str,
    /// Neither fraction nor exponent.
    pub is_integer: bool,
}

impl NumberToken<'_> {
    /// Decimal digits of the significand as written.
    pub fn digits(&self) -> usize {
        self.text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit).count()
    }
}

/// What the values are made of.
pub trait Builder {
    type Value;
    type Object;
    type Error: From<Refusal>;

    fn null(&mut self) -> Self::Value;
    fn boolean(&mut self, value: bool) -> Self::Value;
    /// `offset` is where the number starts.
    fn number(&mut self, token: NumberToken<'_>, offset: usize) -> Result<Self::Value, Self::Error>;
    fn string(&mut self, value: &str) -> Self::Value;
    fn array(&mut self, items: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;
    fn start_object(&mut self) -> Self::Object;
    /// False: the key was there already.
    fn insert(&mut self, object: &mut Self::Object, key: &str, value: Self::Value) -> Result<bool, Self::Error>;
    fn finish_object(&mut self, object: Self::Object) -> Self::Value;
}

/// Reads one text.
pub fn read<B: Builder>(text: &[u8], builder: &mut B) -> Result<B::Value, B::Error> {
    let valid = std::str::from_utf8(text).map_err(|error| Refusal::new(error.valid_up_to(), "invalid UTF-8"))?;
    let mut scanner = Scanner { text: valid, bytes: valid.as_bytes(), at: 0, depth: 0, values: 0, builder };
    scanner.skip_space();
    let value = scanner.value()?;
    scanner.skip_space();
    if scanner.at < scanner.bytes.len() {
        return Err(scanner.refuse("text after the value").into());
    }
    Ok(value)
}

struct Scanner<'a, 'b, B: Builder> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    values: usize,
    builder: &'b mut B,
}

impl<'a, B: Builder> Scanner<'a, '_, B> {
    fn refuse(&self, message: impl Into<String>) -> Refusal {
        Refusal::new(self.at, message)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<B::Value, B::Error> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(self.refuse(format!("more than {VALUES_MAX} values")).into());
        }
        match self.peek() {
            Some(b'"') => {
                let string = self.string()?;
                Ok(self.builder.string(&string))
            }
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => {
                let offset = self.at;
                let token = self.number()?;
                self.builder.number(token, offset)
            }
            Some(b't') => {
                self.word("true")?;
                Ok(self.builder.boolean(true))
            }
            Some(b'f') => {
                self.word("false")?;
                Ok(self.builder.boolean(false))
            }
            Some(b'n') => {
                self.word("null")?;
                Ok(self.builder.null())
            }
            Some(_) => Err(self.unexpected("a value").into()),
            None => Err(self.refuse("the text ends where a value should be").into()),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<B::Value, B::Error>) -> Result<B::Value, B::Error> {
        if self.depth >= NESTING_MAX {
            return Err(self.refuse(format!("nested more than {NESTING_MAX} deep")).into());
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<B::Value, B::Error> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return self.builder.array(items);
        }
        loop {
            items.push(self.value()?);
            if self.is_last(b']')? {
                return self.builder.array(items);
            }
        }
    }

    fn object(&mut self) -> Result<B::Value, B::Error> {
        let mut object = self.builder.start_object();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(self.builder.finish_object(object));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key").into());
            }
            let key_offset = self.at;
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("a colon").into());
            }
            self.at += 1;
            self.skip_space();
            let value = self.value()?;
            if !self.builder.insert(&mut object, &key, value)? {
                return Err(Refusal::new(key_offset, format!("duplicate key {key:?}")).into());
            }
            if self.is_last(b'}')? {
                return Ok(self.builder.finish_object(object));
            }
        }
    }

    /// After a member: true at the end of the container, false after a comma.
    fn is_last(&mut self, end: u8) -> Result<bool, Refusal> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                Ok(false)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.unexpected(&format!("a comma or {:?}", char::from(end)))),
        }
    }

    fn unexpected(&self, wanted: &str) -> Refusal {
        match self.text[self.at..].chars().next() {
            Some(found) => self.refuse(format!("expected {wanted}, found {found:?}")),
            None => self.refuse(format!("expected {wanted}, found the end of the text")),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Refusal> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// `-? int frac? exp?` (RFC 8259 section 6), never `01`, `+1`, `.5`, `1.`.
    fn number(&mut self) -> Result<NumberToken<'a>, Refusal> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(Refusal::new(start, "a number starts with a needless zero"));
            }
        } else {
            self.digits()?;
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(NumberToken { text: &self.text[start..self.at], is_integer })
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Refusal> {
        let open = self.at;
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let string = &self.text[start..self.at];
            self.at += 1;
            return Ok(Cow::Borrowed(string));
        }
        let mut string = String::from(&self.text[start..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(string));
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => return Err(self.refuse("a control character in a string must be escaped")),
                None => return Err(Refusal::new(open, "a string without an end")),
            }
            let start = self.at;
            self.skip_plain();
            string.push_str(&self.text[start..self.at]);
        }
    }

    fn skip_plain(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)).unwrap_or(rest.len());
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let start = self.at;
        let plain = match self.bytes.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(Refusal::new(start, "an unknown escape")),
        };
        self.at += 2;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, Refusal> {
        let start = self.at;
        let lone = || Refusal::new(start, "a lone surrogate");
        let first = self.code_unit()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first >= 0xDC00 || !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(lone());
        }
        let second = self.code_unit()?;
        if !(0xDC00..=0xDFFF).contains(&second) {
            return Err(lone());
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or_else(lone)
    }

    /// `\uXXXX`
    fn code_unit(&mut self) -> Result<u32, Refusal> {
        let digits = self.bytes.get(self.at + 2..self.at + 6).filter(|four| four.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(self.refuse("\\u needs four hexadecimal digits"));
        };
        let unit = digits.iter().fold(0, |unit, digit| unit << 4 | char::from(*digit).to_digit(16).unwrap_or(0));
        self.at += 6;
        Ok(unit)
    }
}
