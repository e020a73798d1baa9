//! A compiled pattern, and what Go's `Regexp` does with one.

use std::ops::Range;
use std::time::Duration;

use cpu_time::ThreadTime;
use regex_automata::meta::{self, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input};

use super::parser::{Parsed, parse};
use super::replacement::Replacement;

/// Of states that are made while matching, in each thread.
const STATES_BYTES_MAX: usize = 1 << 20;
const ONE_PASS_BYTES_MAX: usize = 256 << 10;
/// Finding all matches can take the square of the text's length (`.*[^A-Z]|[A-Z]`), and no other clock runs here.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(50);
const SEARCHES_PER_LOOK: usize = 64;

/// Why a pattern is not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Go refuses it too, in these words.
    Syntax(String),
    /// A bound of ours.
    Limit(String),
}

impl Refusal {
    pub fn syntax(what: &str, expression: &str) -> Self {
        let colon = if expression.is_empty() { String::new() } else { format!(": `{expression}`") };
        Self::Syntax(format!("error parsing regexp: {what}{colon}"))
    }

    pub fn limit(what: &str) -> Self {
        Self::Limit(what.to_owned())
    }

    pub fn reason(self) -> String {
        match self {
            Self::Syntax(reason) | Self::Limit(reason) => reason,
        }
    }
}

pub struct Pattern {
    regex: Regex,
    /// The names of the groups, from the second (the first is the whole match).
    groups: Vec<Option<String>>,
    counted: u64,
    /// Whether its text is empty, which splits an empty text otherwise.
    is_empty: bool,
}

/// The places of the groups of a match, the whole match first.
pub type Groups = Vec<Option<Range<usize>>>;

impl Pattern {
    /// Compiles a pattern to an automaton of at most `bytes_max`.
    pub fn compile(pattern: &str, bytes_max: usize) -> Result<Self, Refusal> {
        let Parsed { hir, groups, counted } = parse(pattern)?;
        let config = meta::Config::new()
            .which_captures(WhichCaptures::All)
            .nfa_size_limit(Some(bytes_max))
            .onepass_size_limit(Some(ONE_PASS_BYTES_MAX))
            .hybrid_cache_capacity(STATES_BYTES_MAX);
        match meta::Builder::new().configure(config).build_from_hir(&hir) {
            Ok(regex) => Ok(Self { regex, groups, counted, is_empty: pattern.is_empty() }),
            Err(_) => Err(Refusal::limit(&format!("a pattern of more than {bytes_max} bytes when compiled"))),
        }
    }

    /// Bytes that it holds.
    pub fn weight(&self) -> usize {
        self.regex.memory_usage()
    }

    /// States that counted repetitions add, about.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The first `limit` matches; none of them is an empty one right after another.
    pub fn find_all(&self, text: &str, limit: usize) -> Result<Vec<Range<usize>>, Refusal> {
        let mut found = Vec::new();
        self.each(text, limit, |at| self.regex.search(&input(text, at)).map(|one| one.range()), |one| found.push(one))?;
        Ok(found)
    }

    /// As `find_all`, with the groups of each match.
    pub fn find_all_groups(&self, text: &str, limit: usize, groups_max: usize) -> Result<Vec<Groups>, Refusal> {
        let matches_max = groups_max / (self.groups.len() + 1);
        let mut captures = self.regex.create_captures();
        let mut found = Vec::new();
        let search = |at| {
            self.regex.search_captures(&input(text, at), &mut captures);
            captures.get_match().map(|_| self.groups_of(&captures))
        };
        self.each(text, limit.min(matches_max + 1), search, |one| found.push(one))?;
        if found.len() > matches_max {
            return Err(Refusal::limit(&format!("more than {groups_max} groups of matches")));
        }
        Ok(found)
    }

    fn groups_of(&self, captures: &Captures) -> Groups {
        (0..=self.groups.len()).map(|index| captures.get_group(index).map(|span| span.range())).collect()
    }

    /// Go's `allMatches`.
    fn each<M: Place>(
        &self,
        text: &str,
        limit: usize,
        mut search: impl FnMut(usize) -> Option<M>,
        mut take: impl FnMut(M),
    ) -> Result<(), Refusal> {
        let mut clock = Clock::start();
        let (mut at, mut taken, mut end_before) = (0, 0, None);
        while taken < limit && at <= text.len() {
            let Some(one) = search(at) else { break };
            clock.look()?;
            let place = one.place();
            let is_empty_again = place.end == at && Some(place.start) == end_before;
            at = if place.end == at { at + width(text, at).max(1) } else { place.end };
            end_before = Some(place.end);
            if !is_empty_again {
                taken += 1;
                take(one);
            }
        }
        Ok(())
    }

    /// What stands between the matches.
    pub fn split<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, Refusal> {
        if text.is_empty() && !self.is_empty {
            return Ok(vec![""]);
        }
        let (mut parts, mut from, mut to) = (Vec::new(), 0, 0);
        for one in self.find_all(text, usize::MAX)? {
            to = one.start;
            if one.end != 0 {
                parts.push(&text[from..to]);
            }
            from = one.end;
        }
        if to != text.len() {
            parts.push(&text[from..]);
        }
        Ok(parts)
    }

    /// Go's `ReplaceAllString`: `$1`, `${1}`, `$name` and `${name}` are groups, `$$` is a dollar.
    pub fn replace_all(&self, text: &str, replacement: &str, bytes_max: usize) -> Result<String, Refusal> {
        let replacement = Replacement::read(replacement, &self.groups);
        let mut captures = self.regex.create_captures();
        let mut clock = Clock::start();
        let (mut written, mut at, mut copied) = (String::new(), 0, 0);
        while at <= text.len() {
            self.regex.search_captures(&input(text, at), &mut captures);
            let Some(place) = captures.get_match().map(|one| one.range()) else { break };
            clock.look()?;
            written.push_str(&text[copied..place.start]);
            if place.end > copied || place.start == 0 {
                replacement.write(&mut written, text, &captures);
            }
            if written.len() > bytes_max {
                return Err(Refusal::limit("the result is too large"));
            }
            copied = place.end;
            let width = width(text, at);
            at = if at + width > place.end {
                at + width
            } else if at + 1 > place.end {
                at + 1
            } else {
                place.end
            };
        }
        written.push_str(&text[copied..]);
        Ok(written)
    }
}

fn input(text: &str, at: usize) -> Input<'_> {
    Input::new(text).range(at..).anchored(Anchored::No)
}

/// Bytes of the character there; 0 at the end.
fn width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

trait Place {
    fn place(&self) -> Range<usize>;
}

impl Place for Range<usize> {
    fn place(&self) -> Range<usize> {
        self.clone()
    }
}

impl Place for Groups {
    fn place(&self) -> Range<usize> {
        self.first().cloned().flatten().unwrap_or(0..0)
    }
}

/// Ends a search that takes too long, by the processor's time.
struct Clock {
    start: Option<ThreadTime>,
    searches: usize,
}

impl Clock {
    fn start() -> Self {
        Self { start: None, searches: 0 }
    }

    fn look(&mut self) -> Result<(), Refusal> {
        self.searches += 1;
        if self.searches % SEARCHES_PER_LOOK != 0 {
            return Ok(());
        }
        let start = self.start.get_or_insert_with(ThreadTime::now);
        if start.elapsed() > SEARCH_TIME_MAX {
            return Err(Refusal::limit("finding all matches takes too long"));
        }
        Ok(())
    }
}
