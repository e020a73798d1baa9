//! The text that replaces a match, with its references to groups.

use regex_automata::util::captures::Captures;

enum Part {
    Text(String),
    Group(usize),
    /// All groups of a name; the first that matched is meant.
    Named(Vec<usize>),
}

pub struct Replacement {
    parts: Vec<Part>,
}

impl Replacement {
    /// Reads `template`; `groups` are the names of the pattern's groups, from the second.
    pub fn read(template: &str, groups: &[Option<String>]) -> Self {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('$') {
            parts.push(Part::Text(before.to_owned()));
            rest = after;
            if let Some(after) = rest.strip_prefix('$') {
                parts.push(Part::Text(String::from("$")));
                rest = after;
            } else if let Some((name, after)) = name(rest) {
                parts.push(match index(name) {
                    Some(index) => Part::Group(index),
                    None => {
                        let is_named = |group: &Option<String>| group.as_deref() == Some(name);
                        Part::Named((1..).zip(groups).filter(|(_, group)| is_named(group)).map(|(at, _)| at).collect())
                    }
                });
                rest = after;
            } else {
                parts.push(Part::Text(String::from("$")));
            }
        }
        parts.push(Part::Text(rest.to_owned()));
        Self { parts }
    }

    pub fn write(&self, out: &mut String, text: &str, captures: &Captures) {
        let group = |index: usize| captures.get_group(index).map(|span| &text[span.range()]);
        for part in &self.parts {
            match part {
                Part::Text(plain) => out.push_str(plain),
                Part::Group(index) => out.push_str(group(*index).unwrap_or_default()),
                Part::Named(indices) => {
                    out.push_str(indices.iter().find_map(|index| group(*index)).unwrap_or_default());
                }
            }
        }
    }
}

/// The name after a dollar, as long as it goes, and what follows; None where there is none.
fn name(rest: &str) -> Option<(&str, &str)> {
    let (is_braced, inner) = rest.strip_prefix('{').map_or((false, rest), |inner| (true, inner));
    let end = inner.find(|character| !is_name(character)).unwrap_or(inner.len());
    let (name, after) = inner.split_at(end);
    if name.is_empty() {
        return None;
    }
    if is_braced { after.strip_prefix('}').map(|after| (name, after)) } else { Some((name, after)) }
}

fn is_name(character: char) -> bool {
    character == '_' || super::unicode::is_letter_or_digit(character)
}

/// A number without leading zeros.
fn index(name: &str) -> Option<usize> {
    if !name.bytes().all(|byte| byte.is_ascii_digit()) || (name.len() > 1 && name.starts_with('0')) {
        return None;
    }
    name.parse().ok()
}
