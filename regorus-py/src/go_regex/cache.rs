//! Compiled patterns: those that a policy's text names, and others, which all policies of the process share.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lru::LruCache;

use super::pattern::{Pattern, Refusal};

/// Of a pattern. One of this size takes 50 ms to compile, and no clock runs while it is.
const AUTOMATON_BYTES_MAX: usize = 1 << 20;
/// Of one that is compiled when its policy is: `\pL{1,255}` has 9 MB.
const CONSTANT_BYTES_MAX: usize = 16 << 20;
/// Of all that a policy's text names.
const CONSTANTS_BYTES_MAX: usize = 32 << 20;
const PATTERNS_MAX: NonZeroUsize = NonZeroUsize::new(2_048).unwrap();
/// Of all that are kept.
const BYTES_MAX: usize = 64 << 20;
/// What is not seen of a pattern: its text, its names, its refusal.
const BYTES_EACH: usize = 1 << 10;

type Outcome = Result<Arc<Pattern>, Refusal>;

struct Kept {
    patterns: LruCache<String, Outcome>,
    bytes: usize,
}

fn bytes_of(outcome: &Outcome) -> usize {
    BYTES_EACH + outcome.as_ref().map_or(0, |pattern| pattern.weight())
}

impl Kept {
    fn keep(&mut self, pattern: &str, outcome: &Outcome) {
        self.bytes += bytes_of(outcome);
        if let Some((_, old)) = self.patterns.push(pattern.to_owned(), outcome.clone()) {
            self.bytes -= bytes_of(&old);
        }
        while self.bytes > BYTES_MAX {
            let Some((_, old)) = self.patterns.pop_lru() else { break };
            self.bytes -= bytes_of(&old);
        }
    }
}

fn kept() -> &'static Mutex<Kept> {
    static KEPT: OnceLock<Mutex<Kept>> = OnceLock::new();
    KEPT.get_or_init(|| Mutex::new(Kept { patterns: LruCache::new(PATTERNS_MAX), bytes: 0 }))
}

/// The patterns of a policy.
#[derive(Default)]
pub struct Patterns {
    constants: HashMap<String, Arc<Pattern>>,
    bytes: usize,
}

impl Patterns {
    /// Compiles a pattern that the policy's text names.
    pub fn add(&mut self, pattern: &str) -> Result<(), Refusal> {
        if self.constants.contains_key(pattern) {
            return Ok(());
        }
        let compiled = Pattern::compile(pattern, CONSTANT_BYTES_MAX)?;
        self.bytes += compiled.weight();
        if self.bytes > CONSTANTS_BYTES_MAX {
            return Err(Refusal::limit(&format!("patterns of more than {CONSTANTS_BYTES_MAX} bytes when compiled")));
        }
        self.constants.insert(pattern.to_owned(), Arc::new(compiled));
        Ok(())
    }

    pub fn get(&self, pattern: &str) -> Result<Arc<Pattern>, Refusal> {
        self.constants.get(pattern).cloned().map_or_else(|| compiled(pattern), Ok)
    }
}

/// The pattern, compiled now or before. One that was refused is not tried again.
fn compiled(pattern: &str) -> Outcome {
    let lock = || kept().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(outcome) = lock().patterns.get(pattern) {
        return outcome.clone();
    }
    let outcome = Pattern::compile(pattern, AUTOMATON_BYTES_MAX).map(Arc::new);
    lock().keep(pattern, &outcome);
    outcome
}
