//! A template as texts and actions, and an action as words.

pub enum Piece<'t> {
    Text(&'t str),
    /// What stands between the braces.
    Action(&'t str),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// `range`, `eq`
    Name(String),
    /// `$x`, or `$`
    Variable(String),
    /// `.a`, after a space or at the start
    Field(String),
    /// `.a` directly after the word before
    Member(String),
    Dot,
    Text(String),
    Integer(i64),
    Declare,
    Assign,
    Comma,
    Open,
    Close,
}

/// Splits at `{{` and `}}`; `{{- ` and ` -}}` take the white space beside them away.
pub fn pieces(template: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    let mut trims = false;
    loop {
        let (mut text, after) = match rest.split_once("{{") {
            Some((text, after)) => (text, Some(after)),
            None => (rest, None),
        };
        if trims {
            text = text.trim_start_matches(is_space);
        }
        let Some(mut after) = after else {
            pieces.push(Piece::Text(text));
            return Ok(pieces);
        };
        if let Some(trimmed) = after.strip_prefix('-').filter(|trimmed| trimmed.starts_with(is_space)) {
            text = text.trim_end_matches(is_space);
            after = trimmed;
        }
        pieces.push(Piece::Text(text));
        let end = action_end(after)?;
        let action = &after[..end];
        rest = &after[end + 2..];
        let shorter = action.strip_suffix('-').filter(|shorter| shorter.ends_with(is_space));
        trims = shorter.is_some();
        pieces.push(Piece::Action(shorter.unwrap_or(action)));
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// Where the `}}` stands that is in no string or comment.
fn action_end(text: &str) -> Result<usize, String> {
    if text.trim_start_matches(is_space).starts_with("/*") {
        let comment = text.find("*/").ok_or("unclosed comment")? + 2;
        let end = text[comment..].find("}}").ok_or("comment ends before closing delimiter")? + comment;
        return match text[comment..end].trim_matches(is_space) {
            "" | "-" => Ok(end),
            _ => Err(String::from("comment ends before closing delimiter")),
        };
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'`' => at = string_end(text, at)?,
            b'}' if bytes.get(at + 1) == Some(&b'}') => return Ok(at),
            _ => at += 1,
        }
    }
    Err(String::from("unclosed action"))
}

/// The place after the string that begins at `start`.
fn string_end(text: &str, start: usize) -> Result<usize, String> {
    let bytes = text.as_bytes();
    let quote = bytes[start];
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 2,
            byte if *byte == quote => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(String::from("unterminated quoted string"))
}

pub fn words(action: &str) -> Result<Vec<Word>, String> {
    let trimmed = action.trim_matches(is_space);
    if trimmed.starts_with("/*") {
        return Ok(Vec::new());
    }
    let mut words = Vec::new();
    let mut rest = trimmed;
    let mut follows_directly = false;
    while let Some(first) = rest.chars().next() {
        if is_space(first) {
            rest = rest.trim_start_matches(is_space);
            follows_directly = false;
            continue;
        }
        let (word, length) = word(rest, first, follows_directly)?;
        follows_directly = matches!(word, Word::Field(_) | Word::Member(_) | Word::Variable(_) | Word::Close);
        words.push(word);
        rest = &rest[length..];
    }
    Ok(words)
}

fn word(rest: &str, first: char, follows_directly: bool) -> Result<(Word, usize), String> {
    let name_length = |text: &str| text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    Ok(match first {
        '(' => (Word::Open, 1),
        ')' => (Word::Close, 1),
        ',' => (Word::Comma, 1),
        '=' => (Word::Assign, 1),
        ':' if rest.starts_with(":=") => (Word::Declare, 2),
        '$' => {
            let length = 1 + name_length(&rest[1..]);
            (Word::Variable(rest[1..length].to_owned()), length)
        }
        '.' => match name_length(&rest[1..]) {
            0 => (Word::Dot, 1),
            length if follows_directly => (Word::Member(rest[1..=length].to_owned()), length + 1),
            length => (Word::Field(rest[1..=length].to_owned()), length + 1),
        },
        '"' | '`' => {
            let end = string_end(rest, 0)?;
            (Word::Text(unquoted(&rest[..end])?), end)
        }
        '-' | '0'..='9' => {
            let length = 1 + name_length(&rest[1..]);
            let number = rest[..length].parse().map_err(|_| format!("bad number {:?}", &rest[..length]))?;
            (Word::Integer(number), length)
        }
        '|' => return Err(String::from("pipelines are not available")),
        _ if first == '_' || first.is_alphabetic() => {
            let length = name_length(rest);
            (Word::Name(rest[..length].to_owned()), length)
        }
        other => return Err(format!("unexpected {other:?} in command")),
    })
}

/// A string of Go; its escapes are those of JSON where they are the same, and others are refused.
fn unquoted(quoted: &str) -> Result<String, String> {
    let inner = &quoted[1..quoted.len() - 1];
    if quoted.starts_with('`') {
        return Ok(inner.to_owned());
    }
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => text.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('"') => '"',
                Some('\\') => '\\',
                other => return Err(format!("the escape {other:?} is not available")),
            }),
            ('\n', _) => return Err(String::from("unterminated quoted string")),
            _ => text.push(character),
        }
    }
    Ok(text)
}
