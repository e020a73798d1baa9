//! The identifiers in a text, each in one spelling: mail addresses, URLs, hosts, numbers of accounts and telephones, file
//! names, ids. A text is read in the same way where a tool answers it and where a call carries it.

use super::escapes;

const TOKEN_BYTES_MAX: usize = 256;
const TOKEN_BYTES_MIN: usize = 4;
const DIGITS_MIN: usize = 6;
const JOINED_MIN: usize = 8;
const JOINED_MAX: usize = 34;
const LONG_WORD_BYTES: usize = 20;
const PHRASE_BYTES_MAX: usize = 128;
const PHRASE_BYTES_MIN: usize = 5;

/// What a token says of the value that it is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The value: an address, a URL without query and fragment, a number, an id.
    Whole = 1,
    /// Only its host. A page that names a host need not have named the address at it.
    Host = 2,
    /// A short text with spaces, such as the name of a person.
    Phrase = 3,
}

/// Reads texts; keeps its buffers.
#[derive(Default)]
pub struct Tokens {
    undone: Vec<u8>,
    spelled: Vec<u8>,
    joined: Vec<u8>,
    joined_runs: usize,
}

impl Tokens {
    /// Calls `take` for each identifier in `text`.
    pub fn each(&mut self, text: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        let mut between_quotes = text.split(|byte| *byte == b'"').skip(1).peekable();
        while let Some(quoted) = between_quotes.next() {
            if between_quotes.peek().is_some() {
                self.phrase(quoted, take);
            }
        }
        let mut undone = std::mem::take(&mut self.undone);
        for run in text.split(|byte| is_delimiter(*byte)).filter(|run| !run.is_empty()) {
            if escapes::may_hold(run) {
                escapes::undo(run, &mut undone);
                for part in undone.split(|byte| is_delimiter(*byte)).filter(|part| !part.is_empty()) {
                    self.run(part, take);
                }
            } else {
                self.run(run, take);
            }
        }
        self.end_join(take);
        self.undone = undone;
    }

    /// A value that is one short text with spaces.
    pub fn phrase(&mut self, text: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        if text.len() < PHRASE_BYTES_MIN || text.len() > PHRASE_BYTES_MAX || !text.contains(&b' ') {
            return;
        }
        let mut undone = std::mem::take(&mut self.undone);
        escapes::undo(text, &mut undone);
        self.spelled.clear();
        for word in undone.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            if !self.spelled.is_empty() {
                self.spelled.push(b' ');
            }
            self.spelled.extend(word.to_ascii_lowercase());
        }
        self.undone = undone;
        if self.spelled.len() >= PHRASE_BYTES_MIN && self.spelled.contains(&b' ') {
            take(Part::Phrase, &self.spelled);
        }
    }

    fn run(&mut self, run: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        for run in run.split(|byte| *byte == b';') {
            let run = trimmed(run);
            if run.is_empty() {
                continue;
            }
            self.join(run, take);
            if run.len() < TOKEN_BYTES_MIN || run.len() > TOKEN_BYTES_MAX {
                continue;
            }
            self.identifier(run, take);
        }
    }

    fn identifier(&mut self, run: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        let run = without_prefix(run, b"mailto:");
        if let Some(at) = find(run, b"://") {
            self.url(run.get(at + 3..).unwrap_or_default(), take);
        } else if let Some(at) = run.iter().position(|byte| *byte == b'@') {
            let (local, domain) = (run.get(..at).unwrap_or_default(), run.get(at + 1..).unwrap_or_default());
            let domain = domain.split(|byte| matches!(byte, b'?' | b'/')).next().unwrap_or_default();
            if is_host(domain) {
                let local = local.rsplit(|byte| matches!(byte, b'=' | b':')).next().unwrap_or_default();
                self.emit_joined(Part::Whole, local, domain, take);
                self.emit(Part::Host, domain, take);
            } else {
                self.emit(Part::Whole, run, take);
            }
        } else if is_host(run.split(|byte| matches!(byte, b'/' | b'?' | b':')).next().unwrap_or_default()) {
            self.url(run, take);
        } else if run.contains(&b'=') || run.contains(&b'&') {
            self.values(run, take);
        } else if is_number(run) {
            self.number(run, take);
        } else if is_identifier(run) {
            self.emit(Part::Whole, run, take);
        }
    }

    /// A URL behind its scheme: host and path as one value, the host alone, and what its query holds.
    fn url(&mut self, rest: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        let (address, query) = match rest.iter().position(|byte| matches!(byte, b'?' | b'#')) {
            Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default()),
            None => (rest, [].as_slice()),
        };
        let end = address.iter().position(|byte| *byte == b'/').unwrap_or(address.len());
        let authority = address.get(..end).unwrap_or_default();
        let authority = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
        let host = authority.split(|byte| *byte == b':').next().unwrap_or_default();
        let path = address.get(end..).unwrap_or_default();
        let path = path.strip_suffix(b"/").unwrap_or(path);
        if host.is_empty() {
            return;
        }
        if path.is_empty() {
            self.emit(Part::Whole, host, take);
        } else {
            self.spelled.clear();
            self.spelled.extend(host.to_ascii_lowercase());
            self.spelled.extend(path.to_ascii_lowercase());
            take(Part::Whole, &self.spelled);
        }
        self.emit(Part::Host, host, take);
        self.values(query, take);
    }

    /// `a=1&b=2`: the values.
    fn values(&mut self, pairs: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        for pair in pairs.split(|byte| matches!(byte, b'&' | b'#' | b'?')) {
            let value = trimmed(pair.splitn(2, |byte| *byte == b'=').last().unwrap_or_default());
            if value.len() < TOKEN_BYTES_MIN || value.contains(&b'=') {
                continue;
            }
            if is_number(value) {
                self.number(value, take);
            } else if is_identifier(value) || value.contains(&b'@') || is_host(value) {
                self.emit(Part::Whole, value, take);
            }
        }
    }

    fn number(&mut self, run: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        self.spelled.clear();
        self.spelled.extend(run.iter().filter(|byte| byte.is_ascii_digit()));
        if self.spelled.len() >= DIGITS_MIN {
            take(Part::Whole, &self.spelled);
        }
    }

    /// Numbers that are written in groups: cards, telephones (`+49 170 1234567`), IBANs (ISO 13616, groups of four).
    fn join(&mut self, run: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        let starts_iban = self.joined.is_empty() && is_iban_start(run);
        let goes_on = is_number(run) || starts_iban || (self.joins_iban() && is_iban_group(run));
        if !goes_on || self.joined.len() + run.len() > JOINED_MAX {
            self.end_join(take);
            if !is_number(run) && !is_iban_start(run) {
                return;
            }
        }
        self.joined.extend(run.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase));
        self.joined_runs += 1;
    }

    fn joins_iban(&self) -> bool {
        self.joined.first().is_some_and(u8::is_ascii_alphabetic)
    }

    fn end_join(&mut self, take: &mut impl FnMut(Part, &[u8])) {
        if self.joined_runs > 1 && self.joined.len() >= JOINED_MIN {
            take(Part::Whole, &self.joined);
        }
        self.joined.clear();
        self.joined_runs = 0;
    }

    fn emit(&mut self, part: Part, value: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        self.spelled.clear();
        self.spelled.extend(value.to_ascii_lowercase());
        take(part, &self.spelled);
    }

    fn emit_joined(&mut self, part: Part, local: &[u8], domain: &[u8], take: &mut impl FnMut(Part, &[u8])) {
        self.spelled.clear();
        self.spelled.extend(local.to_ascii_lowercase());
        self.spelled.push(b'@');
        self.spelled.extend(domain.to_ascii_lowercase());
        take(part, &self.spelled);
    }
}

pub fn is_delimiter(byte: u8) -> bool {
    byte <= b' '
        || matches!(
            byte,
            b'"' | b'\'' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|' | b',' | b'`' | b'*' | 0x7f
        )
}

fn trimmed(run: &[u8]) -> &[u8] {
    let is_edge =
        |byte: &u8| matches!(byte, b'.' | b':' | b'!' | b'?' | b'-' | b'/' | b'\\' | b'=' | b'&' | b'#' | b'~');
    let from = run.iter().position(|byte| !is_edge(byte)).unwrap_or(run.len());
    let to = run.iter().rposition(|byte| !is_edge(byte)).map_or(from, |at| at + 1);
    run.get(from..to).unwrap_or_default()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn without_prefix<'a>(run: &'a [u8], prefix: &[u8]) -> &'a [u8] {
    match run.get(..prefix.len()) {
        Some(start) if start.eq_ignore_ascii_case(prefix) => run.get(prefix.len()..).unwrap_or_default(),
        _ => run,
    }
}

/// Labels with dots between them, the last without digits (or all numbers: an address); non-ASCII letters count.
fn is_host(run: &[u8]) -> bool {
    let mut labels = 0;
    let mut last: &[u8] = &[];
    for label in run.split(|byte| *byte == b'.') {
        if label.is_empty()
            || !label.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || *byte >= 0x80)
        {
            return false;
        }
        labels += 1;
        last = label;
    }
    labels >= 2 && (last.len() >= 2 && last.iter().all(|byte| !byte.is_ascii_digit()) || labels == 4 && is_number(run))
}

fn is_number(run: &[u8]) -> bool {
    let mut digits = false;
    for byte in run {
        match byte {
            b'0'..=b'9' => digits = true,
            b'+' | b'-' | b'.' | b'/' => {}
            _ => return false,
        }
    }
    digits
}

/// Something that tells one thing from another, unlike a word.
fn is_identifier(run: &[u8]) -> bool {
    run.len() >= LONG_WORD_BYTES || run.iter().any(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'/' | b'.'))
}

fn is_iban_start(run: &[u8]) -> bool {
    run.len() >= 4
        && run.len() <= JOINED_MAX
        && run.iter().take(2).all(u8::is_ascii_uppercase)
        && run.iter().skip(2).take(2).all(u8::is_ascii_digit)
        && run.iter().all(u8::is_ascii_alphanumeric)
}

fn is_iban_group(run: &[u8]) -> bool {
    run.len() <= 4 && run.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
