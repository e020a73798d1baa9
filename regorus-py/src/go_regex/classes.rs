//! Classes of characters: Perl's and POSIX's in ASCII, and the other cases of a character.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::unicode::within_go;

pub fn range(from: char, to: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(from, to)])
}

/// With the other cases (Unicode's simple case folding) of each.
pub fn folded(class: &ClassUnicode) -> ClassUnicode {
    let mut all = within_go(class.clone());
    // The tables are compiled in; without them nothing would match where case does not count.
    if all.try_case_fold_simple().is_err() {
        return ClassUnicode::empty();
    }
    let mut all = within_go(all);
    all.union(class);
    all
}

fn of(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(from, to)| ClassUnicodeRange::new(*from, *to)))
}

/// `\d`, `\s`, `\w` and their negations.
pub fn perl(letter: char, fold: bool) -> Option<ClassUnicode> {
    let ranges: &[(char, char)] = match letter.to_ascii_lowercase() {
        'd' => &[('0', '9')],
        's' => &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')],
        'w' => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        _ => return None,
    };
    Some(group(ranges, letter.is_ascii_uppercase(), fold))
}

/// `[:alpha:]`, `[:^alpha:]`: the name without its brackets.
pub fn posix(name: &str, fold: bool) -> Option<ClassUnicode> {
    let (name, is_negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    let ranges: &[(char, char)] = match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    };
    Some(group(ranges, is_negated, fold))
}

/// Folded before it is negated, as Go does it.
fn group(ranges: &[(char, char)], is_negated: bool, fold: bool) -> ClassUnicode {
    let mut class = of(ranges);
    if fold {
        class = folded(&class);
    }
    if is_negated {
        class.negate();
    }
    class
}
