//! The windows of a text, and what the signs in them add up to.

use std::collections::VecDeque;
use std::time::Duration;

use aho_corasick::AhoCorasick;
use cpu_time::ThreadTime;

use super::clauses::Clauses;

const WORDS_PER_LOOK_AT_CLOCK: usize = 2048;

/// `slots`: what it stands for in the signs, `commands`: what as a command; `signs`: what it may complete. Without signs: a
/// text ends.
pub struct Word {
    pub begins_word: bool,
    pub ends_word: bool,
    pub slots: Vec<usize>,
    pub commands: Vec<usize>,
    pub signs: Vec<usize>,
}

/// All `slots` stand within `within` characters, in this order where `ordered`.
pub struct Sign {
    pub slots: Vec<usize>,
    pub within: usize,
    pub ordered: bool,
    pub weight: f64,
}

/// A word that was found: the character where it begins, its number, whether it stands as a command.
pub type Hit = (usize, usize, bool);

/// Where the window begins, where the word begins and ends that completed a sign; the signs in the window, and their sum.
pub struct Seen {
    pub start: usize,
    pub word_start: usize,
    pub end: usize,
    pub signs: Vec<usize>,
    pub log_odds: f64,
}

#[derive(Default)]
pub struct Found {
    pub hits: Vec<Hit>,
    pub seen: Vec<Seen>,
    /// Whether there was time for the whole text.
    pub is_whole: bool,
}

pub struct Table {
    pub automaton: AhoCorasick,
    pub words: Vec<Word>,
    pub signs: Vec<Sign>,
    pub slots: usize,
    pub bias: f64,
    pub clauses: Clauses,
}

/// A sign in the window: the character where its word begins, the first of its words, its number.
type Active = (usize, usize, usize);

struct Window<'a> {
    signs: &'a [Sign],
    active: VecDeque<Active>,
    counts: Vec<usize>,
    log_odds: f64,
}

impl Window<'_> {
    fn leave_before(&mut self, oldest: usize) {
        while let Some((_, _, sign)) = self.active.pop_front_if(|one| one.0 < oldest) {
            self.counts[sign] -= 1;
            if self.counts[sign] == 0 {
                self.log_odds -= self.signs[sign].weight;
            }
        }
    }

    /// Whether the sign was not there before.
    fn enter(&mut self, one: Active) -> bool {
        self.active.push_back(one);
        self.counts[one.2] += 1;
        if self.counts[one.2] == 1 {
            self.log_odds += self.signs[one.2].weight;
        }
        self.counts[one.2] == 1
    }

    fn seen(&self, word_start: usize, end: usize) -> Seen {
        let start = self.active.iter().map(|one| one.1).min().unwrap_or(word_start);
        let signs = (0..self.counts.len()).filter(|sign| self.counts[*sign] > 0).collect();
        Seen { start, word_start, end, signs, log_odds: self.log_odds }
    }
}

impl Table {
    /// The windows of `characters` whose log odds are above `over`, one for each time that a sign is added.
    pub fn search(&self, text: &str, characters: usize, over: f64, wants_hits: bool, time: Duration) -> Found {
        let began = ThreadTime::now();
        let mut found = Found { is_whole: true, ..Found::default() };
        let mut last: Vec<Option<usize>> = vec![None; self.slots];
        let mut window = Window {
            signs: &self.signs,
            active: VecDeque::new(),
            counts: vec![0; self.signs.len()],
            log_odds: self.bias,
        };
        let (mut begins, mut at_byte, mut at) = (0, 0, 0);
        for (number, one) in self.automaton.find_overlapping_iter(text).enumerate() {
            let word = &self.words[one.pattern().as_usize()];
            at += text[at_byte..one.end()].chars().count();
            at_byte = one.end();
            let start = at - text[one.start()..one.end()].chars().count();
            if word.begins_word && self.clauses.goes_on(text[..one.start()].chars().next_back())
                || word.ends_word && self.clauses.goes_on(text[one.end()..].chars().next())
            {
                continue;
            }
            if word.signs.is_empty() {
                begins = at;
            }
            if number % WORDS_PER_LOOK_AT_CLOCK == 0 && began.elapsed() > time {
                found.is_whole = false;
                break;
            }
            let oldest = begins.max((at - 1).saturating_sub(characters));
            window.leave_before(oldest);
            for slot in &word.slots {
                last[*slot] = Some(start);
            }
            let commanded = !word.commands.is_empty() && self.clauses.is_command(text, one.start(), one.end());
            if wants_hits {
                found.hits.push((start, one.pattern().as_usize(), commanded));
            }
            if commanded {
                for slot in &word.commands {
                    last[*slot] = Some(start);
                }
            } else if word.slots.is_empty() {
                continue;
            }
            let mut added = false;
            for sign in &word.signs {
                if let Some(first) = self.signs[*sign].first(&last, start, begins) {
                    added |= window.enter((start, first.max(oldest), *sign));
                }
            }
            if added && window.log_odds > over {
                found.seen.push(window.seen(start, at));
            }
        }
        found
    }
}

impl Sign {
    /// The first of its words, where the word at `start` completes it.
    fn first(&self, last: &[Option<usize>], start: usize, begins: usize) -> Option<usize> {
        let earliest = begins.max(start.saturating_sub(self.within));
        let mut first = start;
        for slot in &self.slots {
            first = first.min(last[*slot].filter(|at| *at >= earliest)?);
        }
        let is_in_order = self.slots.windows(2).all(|pair| last[pair[0]] < last[pair[1]]);
        (!self.ordered || is_in_order).then_some(first)
    }
}
