//! Where a word ends, and whether it stands as a command.

/// Characters from here on are looked at by no table: such scripts write no spaces, or words without endings.
const SPACED_END: char = '\u{e00}';
const CLAUSE_CHARACTERS: usize = 11;

pub struct Clauses {
    /// For each character before `SPACED_END`, whether it is a letter or a digit (Unicode, as Python has it).
    alphanumeric: Vec<bool>,
    /// What stands before a command.
    signs: Vec<char>,
    words: Vec<String>,
}

impl Clauses {
    pub fn new(alphanumeric: &[u8], signs: &str, words: Vec<String>) -> Self {
        Self { alphanumeric: alphanumeric.iter().map(|one| *one != 0).collect(), signs: signs.chars().collect(), words }
    }

    /// Whether a word does not end beside this character.
    pub fn goes_on(&self, character: Option<char>) -> bool {
        character.is_some_and(|one| self.alphanumeric.get(one as usize).copied().unwrap_or(false))
    }

    /// Whether the word from `start` to `end` begins a clause, and has no ending of a statement (`sends`). Scripts without
    /// spaces show no clauses: there every word may be a command.
    pub fn is_command(&self, text: &str, start: usize, end: usize) -> bool {
        let mut last = text[..end].chars().rev();
        let (one, before) = (last.next(), last.next());
        if one.is_some_and(|one| one >= SPACED_END) {
            return true;
        }
        if (one == Some('s') && before != Some('s')) || text[..end].ends_with("ing") {
            return false;
        }
        let clause = text[..start].char_indices().rev().take(CLAUSE_CHARACTERS).last().map_or(start, |(at, _)| at);
        let clause = text[clause..start].trim_end_matches(is_space);
        let Some(sign) = clause.chars().next_back() else { return true };
        let word = clause.rsplit(' ').next().unwrap_or_default();
        self.signs.contains(&sign) || self.words.iter().any(|one| one == word)
    }
}

/// As Python has it.
fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}
