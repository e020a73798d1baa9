//! Tokens (section 2.1).

use std::iter::Peekable;
use std::str::CharIndices;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    End,
    /// `!`, `{`, `...`
    Punctuator(&'static str),
    Name,
    Int,
    Float,
    String,
    BlockString,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    /// Without quotes, escapes resolved.
    pub text: String,
    pub line: usize,
    pub column: usize,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "<EOF>",
            Self::Punctuator(text) => text,
            Self::Name => "Name",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::String => "String",
            Self::BlockString => "BlockString",
        }
    }
}

impl Token {
    /// `Name "query"`
    pub fn describe(&self) -> String {
        if self.text.is_empty() { self.kind.name().to_owned() } else { format!("{} {:?}", self.kind.name(), self.text) }
    }
}

const PUNCTUATORS: [(&str, char); 13] = [
    ("!", '!'),
    ("$", '$'),
    ("&", '&'),
    ("(", '('),
    (")", ')'),
    (":", ':'),
    ("=", '='),
    ("@", '@'),
    ("[", '['),
    ("]", ']'),
    ("{", '{'),
    ("}", '}'),
    ("|", '|'),
];

pub struct Lexer<'t> {
    text: &'t str,
    characters: Peekable<CharIndices<'t>>,
    line: usize,
    column: usize,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, characters: text.char_indices().peekable(), line: 1, column: 1 }
    }

    fn at(&mut self) -> usize {
        self.characters.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn rest(&mut self) -> &'t str {
        let at = self.at();
        &self.text[at..]
    }

    fn peek(&mut self) -> Option<char> {
        self.characters.peek().map(|(_, character)| *character)
    }

    fn advance(&mut self) -> Option<char> {
        let (_, character) = self.characters.next()?;
        self.column += 1;
        if character == '\n' || (character == '\r' && self.peek() != Some('\n')) {
            self.line += 1;
            self.column = 1;
        }
        Some(character)
    }

    fn skip(&mut self, characters: usize) {
        for _ in 0..characters {
            self.advance();
        }
    }

    fn complain(&self, message: &str) -> String {
        located(message, self.line, self.column)
    }

    fn skip_ignored(&mut self) {
        while let Some(character) = self.peek() {
            match character {
                '\t' | ' ' | ',' | '\n' | '\r' | '\u{feff}' => {
                    self.advance();
                }
                '#' => {
                    while self.peek().is_some_and(|character| !matches!(character, '\n' | '\r')) {
                        self.advance();
                    }
                }
                _ => return,
            }
        }
    }

    pub fn next(&mut self) -> Result<Token, String> {
        self.skip_ignored();
        let (line, column) = (self.line, self.column);
        let token = |kind, text: String| Ok(Token { kind, text, line, column });
        let Some(first) = self.peek() else { return token(Kind::End, String::new()) };
        if let Some((text, _)) = PUNCTUATORS.iter().find(|(_, character)| *character == first) {
            self.advance();
            return token(Kind::Punctuator(text), String::new());
        }
        match first {
            '.' if self.rest().starts_with("...") => {
                self.skip(3);
                token(Kind::Punctuator("..."), String::new())
            }
            '"' if self.rest().starts_with("\"\"\"") => token(Kind::BlockString, self.block_string()?),
            '"' => token(Kind::String, self.string()?),
            '-' | '0'..='9' => {
                let (kind, text) = self.number()?;
                token(kind, text)
            }
            _ if first == '_' || first.is_ascii_alphabetic() => {
                let start = self.at();
                while self.peek().is_some_and(|character| character == '_' || character.is_ascii_alphanumeric()) {
                    self.advance();
                }
                let end = self.at();
                token(Kind::Name, self.text[start..end].to_owned())
            }
            '\'' => {
                Err(self.complain("Unexpected single quote character ('), did you mean to use a double quote (\")?"))
            }
            other => Err(self.complain(&format!("Cannot parse the unexpected character {:?}.", other.to_string()))),
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        if !self.peek().is_some_and(|character| character.is_ascii_digit()) {
            let found = self.peek().map_or_else(|| String::from("<EOF>"), |character| format!("\"{character}\""));
            return Err(self.complain(&format!("Invalid number, expected digit but got: {found}.")));
        }
        while self.peek().is_some_and(|character| character.is_ascii_digit()) {
            self.advance();
        }
        Ok(())
    }

    fn accept(&mut self, wanted: &[char]) -> bool {
        let accepts = self.peek().is_some_and(|character| wanted.contains(&character));
        if accepts {
            self.advance();
        }
        accepts
    }

    fn number(&mut self) -> Result<(Kind, String), String> {
        let start = self.at();
        let mut kind = Kind::Int;
        self.accept(&['-']);
        if self.accept(&['0']) {
            if let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                return Err(self.complain(&format!("Invalid number, unexpected digit after 0: \"{digit}\".")));
            }
        } else {
            self.digits()?;
        }
        if self.accept(&['.']) {
            kind = Kind::Float;
            self.digits()?;
        }
        if self.accept(&['e', 'E']) {
            kind = Kind::Float;
            self.accept(&['-', '+']);
            self.digits()?;
        }
        let end = self.at();
        Ok((kind, self.text[start..end].to_owned()))
    }

    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        self.advance();
        loop {
            match self.peek() {
                None | Some('\n' | '\r') => return Err(self.complain("Unterminated string.")),
                Some('"') => {
                    self.advance();
                    return Ok(text);
                }
                Some('\\') => {
                    self.advance();
                    text.push(self.escape()?);
                }
                Some(character) if character < ' ' && character != '\t' => {
                    return Err(self.complain("Invalid character within String."));
                }
                Some(character) => {
                    self.advance();
                    text.push(character);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let invalid = |this: &Self| this.complain("Invalid character escape sequence.");
        Ok(match self.advance() {
            Some(character @ ('"' | '/' | '\\')) => character,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let mut code = 0;
                for _ in 0..4 {
                    let digit = self.advance().and_then(|character| character.to_digit(16));
                    code = code * 16 + digit.ok_or_else(|| invalid(self))?;
                }
                // Half of a surrogate pair is no character; Go writes this one for it.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(invalid(self)),
        })
    }

    fn block_string(&mut self) -> Result<String, String> {
        let mut raw = String::new();
        self.skip(3);
        loop {
            let rest = self.rest();
            if rest.starts_with("\"\"\"") {
                self.skip(3);
                return Ok(without_indentation(&raw));
            }
            if rest.starts_with("\\\"\"\"") {
                self.skip(4);
                raw.push_str("\"\"\"");
                continue;
            }
            match self.advance() {
                None => return Err(self.complain("Unterminated string.")),
                Some('\r') => {
                    self.accept(&['\n']);
                    raw.push('\n');
                }
                Some(character) if character < ' ' && !matches!(character, '\t' | '\n') => {
                    return Err(self.complain("Invalid character within String."));
                }
                Some(character) => raw.push(character),
            }
        }
    }
}

pub fn located(message: &str, line: usize, column: usize) -> String {
    format!("{message} in GraphQL string at location {line}:{column}")
}

/// BlockStringValue (section 2.9.4), with the first line counted for the indentation as OPA's parser does.
fn without_indentation(raw: &str) -> String {
    let indentation = |line: &str| line.find(|character| !matches!(character, ' ' | '\t'));
    let common = raw.split('\n').filter_map(indentation).min();
    let mut lines: Vec<&str> = raw.split('\n').collect();
    if let Some(common) = common {
        for line in lines.iter_mut().skip(1) {
            *line = line.get(common..).unwrap_or_default();
        }
    }
    let is_blank = |line: &&str| indentation(line).is_none();
    let start = lines.iter().position(|line| !is_blank(line)).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !is_blank(line)).map_or(start, |last| last + 1);
    lines[start..end].join("\n")
}
