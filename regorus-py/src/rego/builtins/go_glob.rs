//! Globs with the syntax and the values of gobwas/glob, which OPA uses, as regular expressions.

/// The regular expression of a glob.
pub fn pattern(glob: &str, separators: &[char]) -> Result<String, String> {
    let mut reader = Reader { rest: glob.chars().collect(), at: 0 };
    let one = class(separators.iter().copied(), true);
    let (mut out, mut level) = (String::from(r"(?s)\A(?:"), 0_usize);
    while let Some(next) = reader.next() {
        match next {
            '*' if reader.take('*') => out.push_str(".*"),
            '*' => out.push_str(&format!("{one}*")),
            '?' => out.push_str(&one),
            '[' => out.push_str(&reader.range()?),
            '{' => {
                level += 1;
                out.push_str("(?:");
            }
            '}' if level > 0 => {
                level -= 1;
                out.push(')');
            }
            ',' if level > 0 => out.push('|'),
            '\\' => match reader.next() {
                Some(escaped) => out.push_str(&quoted(escaped)),
                None => return Err(String::from("a glob ends with \\")),
            },
            plain => out.push_str(&quoted(plain)),
        }
    }
    if level > 0 {
        return Err(String::from("unexpected end of a glob: a brace is not closed"));
    }
    Ok(format!(r"{out})\z"))
}

fn quoted(character: char) -> String {
    if character.is_ascii_punctuation() { format!("\\{character}") } else { String::from(character) }
}

fn class(characters: impl Iterator<Item = char>, is_negated: bool) -> String {
    let inner: String = characters.map(quoted).collect();
    match (inner.is_empty(), is_negated) {
        (true, _) => String::from("."),
        (false, true) => format!("[^{inner}]"),
        (false, false) => format!("[{inner}]"),
    }
}

struct Reader {
    rest: Vec<char>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.get(self.at).copied();
        self.at += usize::from(next.is_some());
        next
    }

    fn take(&mut self, expected: char) -> bool {
        let is_next = self.rest.get(self.at) == Some(&expected);
        self.at += usize::from(is_next);
        is_next
    }

    /// `[abc]`, `[a-c]`, `[!abc]`, after the bracket, as a class.
    fn range(&mut self) -> Result<String, String> {
        let wrong = || String::from("could not parse a range of a glob");
        let is_negated = self.take('!');
        if let (Some(low), Some('-')) = (self.rest.get(self.at).copied(), self.rest.get(self.at + 1)) {
            self.at += 2;
            let high = self.next().ok_or_else(wrong)?;
            if high < low || !self.take(']') {
                return Err(wrong());
            }
            let sign = if is_negated { "^" } else { "" };
            return Ok(format!("[{sign}{}-{}]", quoted(low), quoted(high)));
        }
        let mut characters = Vec::new();
        loop {
            match self.next().ok_or_else(wrong)? {
                ']' if characters.is_empty() => return Err(wrong()),
                ']' => return Ok(class(characters.into_iter(), is_negated)),
                '\\' => characters.push(self.next().ok_or_else(wrong)?),
                plain => characters.push(plain),
            }
        }
    }
}
