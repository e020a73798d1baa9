//! `regex.globs_match`: whether two patterns could match the same text.
//!
//! The patterns are characters, `.`, sets such as `[a-z]`, and `*` and `+` after one of them. OPA asks a library
//! (yashtewari/glob-intersection) that looks only as far as the next token, and says no to some patterns that do
//! intersect; the answers here are the same, its steps remembered so that none is taken twice.

use std::collections::{BTreeSet, HashMap};

use regorus::Value;

use super::Added;
use super::operands::string;

const PATTERN_BYTES_MAX: usize = 256;
const SET_CHARACTERS_MAX: usize = 1 << 14;
const INVALID: &str = "the input provided is invalid";

pub const TABLE: &[Added] = &[Added::new("regex.globs_match", 2, globs_match)];

fn globs_match(values: &[Value]) -> Result<Value, String> {
    let (one, other) = (string(values, 1)?, string(values, 2)?);
    if one.len().max(other.len()) > PATTERN_BYTES_MAX {
        return Err(format!("a pattern of more than {PATTERN_BYTES_MAX} bytes"));
    }
    let (one, other) = (simplified(tokens(one)?), simplified(tokens(other)?));
    let Some((one, other)) = trimmed(&one, &other) else { return Ok(Value::Bool(false)) };
    let mut search = Search { globs: [one, other], known: HashMap::new() };
    Ok(Value::Bool(search.normal([0, 0])))
}

/// Whether a pattern can be read.
pub fn check(pattern: &str) -> Result<(), String> {
    tokens(pattern).map(|_| ())
}

#[derive(Clone, PartialEq)]
enum Content {
    Character(char),
    Any,
    Set(BTreeSet<char>),
}

#[derive(Clone, Copy, PartialEq)]
enum Flag {
    Once,
    Plus,
    Star,
}

#[derive(Clone)]
struct Token {
    content: Content,
    flag: Flag,
}

fn tokens(pattern: &str) -> Result<Vec<Token>, String> {
    let characters: Vec<char> = pattern.chars().collect();
    let mut reader = Reader { pattern, characters: &characters, at: 0 };
    let mut tokens = Vec::new();
    while let Some((character, escaped)) = reader.next()? {
        let content = match character {
            _ if escaped => Content::Character(character),
            '.' => Content::Any,
            '[' => Content::Set(reader.set()?),
            ']' => return Err(reader.complain("set-close ']' with no preceding '['")),
            '+' | '*' => return Err(reader.complain(&format!("flag '{character}' must be preceded by a non-flag"))),
            _ => Content::Character(character),
        };
        let flag = match characters.get(reader.at) {
            Some('+') => Flag::Plus,
            Some('*') => Flag::Star,
            _ => Flag::Once,
        };
        if flag != Flag::Once {
            reader.at += 1;
        }
        tokens.push(Token { content, flag });
    }
    Ok(tokens)
}

struct Reader<'a> {
    pattern: &'a str,
    characters: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn complain(&self, message: &str) -> String {
        format!("input:{}, pos:{}, {message}: {INVALID}", self.pattern, self.at)
    }

    /// The next character, and whether a backslash stood before it.
    fn next(&mut self) -> Result<Option<(char, bool)>, String> {
        let Some(first) = self.characters.get(self.at).copied() else { return Ok(None) };
        if first != '\\' {
            self.at += 1;
            return Ok(Some((first, false)));
        }
        let Some(second) = self.characters.get(self.at + 1).copied() else {
            return Err(self.complain("input ends with a \\ (escape) character"));
        };
        self.at += 2;
        Ok(Some((second, true)))
    }

    /// The rest of a set, to its closing bracket.
    fn set(&mut self) -> Result<BTreeSet<char>, String> {
        let mut found = BTreeSet::new();
        let mut before = None;
        while let Some((character, escaped)) = self.next()? {
            match character {
                ']' if !escaped => return Ok(found),
                '-' if !escaped => {
                    let Some(from) = before.take() else {
                        return Err(self.complain("range character '-' must be preceded by a Unicode character"));
                    };
                    if self.at + 1 >= self.characters.len() {
                        return Err(self.complain("range character '-' must be followed by a Unicode character"));
                    }
                    let Some((to, escaped)) = self.next()? else { continue };
                    if !escaped && matches!(to, ']' | '-') {
                        return Err(self.complain("range character '-' cannot be followed by a special symbol"));
                    }
                    if to < from {
                        return Err(
                            self.complain(&format!("range is out of order: '{to}' comes before '{from}' in Unicode"))
                        );
                    }
                    found.extend((from..=to).take(SET_CHARACTERS_MAX + 1));
                }
                _ => {
                    found.insert(character);
                    before = Some(character);
                }
            }
            if found.len() > SET_CHARACTERS_MAX {
                return Err(format!("a set of more than {SET_CHARACTERS_MAX} characters"));
            }
        }
        Err(self.complain("found [ without matching ]"))
    }
}

/// `a+a*` is `a+`.
fn simplified(tokens: Vec<Token>) -> Vec<Token> {
    let mut simple: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match simple.last_mut() {
            Some(last) if token.flag != Flag::Once && last.flag != Flag::Once && token.content == last.content => {
                let plus = token.flag == Flag::Plus || last.flag == Flag::Plus;
                last.flag = if plus { Flag::Plus } else { Flag::Star };
            }
            _ => simple.push(token),
        }
    }
    simple
}

fn matches(one: &Token, other: &Token) -> bool {
    match (&one.content, &other.content) {
        (Content::Any, _) | (_, Content::Any) => true,
        (Content::Character(one), Content::Character(other)) => one == other,
        (Content::Character(one), Content::Set(set)) | (Content::Set(set), Content::Character(one)) => {
            set.contains(one)
        }
        (Content::Set(one), Content::Set(other)) => !one.is_disjoint(other),
    }
}

/// What is left without the tokens at both ends that stand for one character each; None where those differ.
/// One token is left at each end, so that a flag has something before and after it.
fn trimmed<'a>(one: &'a [Token], other: &'a [Token]) -> Option<(&'a [Token], &'a [Token])> {
    let plain = |one: &Token, other: &Token| one.flag == Flag::Once && other.flag == Flag::Once;
    let mut start = 0;
    while let (Some(left), Some(right)) = (one.get(start), other.get(start)) {
        if !plain(left, right) {
            break;
        }
        if !matches(left, right) {
            return None;
        }
        start += 1;
    }
    start = start.saturating_sub(1);
    let (mut one_end, mut other_end) = (one.len(), other.len());
    while one_end > start && other_end > start && plain(&one[one_end - 1], &other[other_end - 1]) {
        if !matches(&one[one_end - 1], &other[other_end - 1]) {
            return None;
        }
        one_end -= 1;
        other_end -= 1;
    }
    if one_end < one.len() {
        one_end += 1;
        other_end += 1;
    }
    Some((&one[start..one_end], &other[start..other_end]))
}

/// Where both globs are read; whether the tokens from there on can stand for the same text.
type Places = [usize; 2];

struct Search<'a> {
    globs: [&'a [Token]; 2],
    known: HashMap<(Option<usize>, Places), bool>,
}

impl Search<'_> {
    fn token(&self, glob: usize, places: Places) -> Option<&Token> {
        self.globs[glob].get(places[glob])
    }

    fn normal(&mut self, places: Places) -> bool {
        if let Some(answer) = self.known.get(&(None, places)) {
            return *answer;
        }
        let answer = match (self.token(0, places), self.token(1, places)) {
            (None, None) => true,
            (Some(one), Some(other)) => match (one.flag, other.flag) {
                (Flag::Once, Flag::Once) => matches(one, other) && self.normal([places[0] + 1, places[1] + 1]),
                (Flag::Once, Flag::Plus) => self.plus(1, places),
                (Flag::Once, Flag::Star) => self.star(1, places),
                (Flag::Plus, _) => self.plus(0, places),
                (Flag::Star, _) => self.star(0, places),
            },
            _ => false,
        };
        self.known.insert((None, places), answer);
        answer
    }

    /// The token of `repeated` takes at least one of the other's.
    fn plus(&mut self, repeated: usize, places: Places) -> bool {
        let (Some(token), Some(other)) = (self.token(repeated, places), self.token(1 - repeated, places)) else {
            return false;
        };
        if !matches(token, other) {
            return false;
        }
        let other_repeats = other.flag != Flag::Once;
        let mut after = places;
        after[1 - repeated] += 1;
        if self.star(repeated, after) {
            return true;
        }
        let mut without = places;
        without[repeated] += 1;
        other_repeats && self.normal(without)
    }

    /// The token of `repeated` takes tokens of the other, until the rest matches the rest.
    fn star(&mut self, repeated: usize, places: Places) -> bool {
        if let Some(answer) = self.known.get(&(Some(repeated), places)) {
            return *answer;
        }
        let answer = self.star_anew(repeated, places);
        self.known.insert((Some(repeated), places), answer);
        answer
    }

    fn star_anew(&mut self, repeated: usize, places: Places) -> bool {
        let globs = self.globs;
        let (Some(token), next) = (globs[repeated].get(places[repeated]), globs[repeated].get(places[repeated] + 1))
        else {
            return false;
        };
        for at in places[1 - repeated]..globs[1 - repeated].len() {
            let other = &globs[1 - repeated][at];
            if next.is_some_and(|next| matches(other, next)) {
                let mut rest = places;
                rest[repeated] += 1;
                rest[1 - repeated] = at;
                if self.normal(rest) {
                    return true;
                }
            }
            if !matches(other, token) {
                return false;
            }
        }
        next.is_none()
    }
}
