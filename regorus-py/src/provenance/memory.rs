//! Who showed which value first, for each agent, within a fixed number of values.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A keyed hash is as good a hash as any.
#[derive(Default)]
pub struct Keyed(u64);

impl Hasher for Keyed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Keyed>>;

/// Where a value was seen first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sighting {
    pub source: u32,
    pub trusted: bool,
}

/// Values of one kind in order of arrival; the oldest makes room.
#[derive(Default)]
struct Seen {
    sources: ByHash<u32>,
    order: VecDeque<u64>,
}

impl Seen {
    fn insert(&mut self, value: u64, source: u32, most: usize) -> bool {
        self.sources.insert(value, source);
        self.order.push_back(value);
        if self.order.len() > most
            && let Some(oldest) = self.order.pop_front()
        {
            self.sources.remove(&oldest);
            return true;
        }
        false
    }
}

/// What one agent was shown. What strangers showed never makes room of what was trusted.
#[derive(Default)]
struct Subject {
    owner: u64,
    trusted: Seen,
    untrusted: Seen,
    used: u64,
}

impl Subject {
    fn len(&self) -> usize {
        self.trusted.order.len() + self.untrusted.order.len()
    }

    /// Forgets the older half of what strangers showed; where that is one value at most, of what was trusted. Returns
    /// how many.
    fn halve(&mut self) -> usize {
        let seen = if self.untrusted.order.len() > 1 { &mut self.untrusted } else { &mut self.trusted };
        let count = seen.order.len().div_ceil(2);
        for value in seen.order.drain(..count) {
            seen.sources.remove(&value);
        }
        count
    }
}

pub struct Memory {
    subjects: ByHash<Subject>,
    values: usize,
    values_max: usize,
    subject_values_max: usize,
}

impl Memory {
    pub fn new(values_max: usize, subject_values_max: usize) -> Self {
        Self { subjects: ByHash::default(), values: 0, values_max, subject_values_max }
    }

    pub fn len(&self) -> usize {
        self.values
    }

    /// Whether nobody had shown this value to the subject before. `owner`: whose subject it is.
    pub fn insert(&mut self, owner: u64, subject: u64, now: u64, value: u64, sighting: Sighting) -> bool {
        let most = self.subject_values_max;
        let known = self.subjects.entry(subject).or_default();
        known.owner = owner;
        known.used = now;
        if known.trusted.sources.contains_key(&value) || known.untrusted.sources.contains_key(&value) {
            return false;
        }
        let seen = if sighting.trusted { &mut known.trusted } else { &mut known.untrusted };
        if !seen.insert(value, sighting.source, most) {
            self.values += 1;
        }
        if self.values > self.values_max {
            self.make_room(subject);
        }
        true
    }

    pub fn get(&self, subject: u64, value: u64) -> Option<Sighting> {
        let known = self.subjects.get(&subject)?;
        match known.trusted.sources.get(&value) {
            Some(source) => Some(Sighting { source: *source, trusted: true }),
            None => known.untrusted.sources.get(&value).map(|source| Sighting { source: *source, trusted: false }),
        }
    }

    pub fn forget(&mut self, subject: u64) {
        if let Some(known) = self.subjects.remove(&subject) {
            self.values -= known.len();
        }
    }

    /// Forgets whoever was shown nothing since `before`.
    pub fn forget_unused(&mut self, before: u64) {
        let values = &mut self.values;
        self.subjects.retain(|_, known| {
            let kept = known.used >= before;
            if !kept {
                *values -= known.len();
            }
            kept
        });
    }

    /// Forgets subjects of the owner with the most values, those first that were shown something longest ago, until a
    /// sixty-fourth of all values is free: no owner can make the index forget what the subjects of a smaller one were
    /// shown. Where `kept` is that owner's only one, its oldest values.
    fn make_room(&mut self, kept: u64) {
        let mut sizes = ByHash::<usize>::default();
        for known in self.subjects.values() {
            *sizes.entry(known.owner).or_default() += known.len();
        }
        let Some((largest, _)) = sizes.into_iter().max_by_key(|(_, size)| *size) else { return };
        let mut others: Vec<_> = self
            .subjects
            .iter()
            .filter(|(name, known)| known.owner == largest && **name != kept)
            .map(|(name, known)| (known.used, *name))
            .collect();
        if others.is_empty() {
            if let Some(known) = self.subjects.get_mut(&kept) {
                self.values -= known.halve();
            }
            return;
        }
        others.sort_unstable();
        let free = self.values_max - self.values_max.div_ceil(64);
        for (_, name) in others {
            self.forget(name);
            if self.values <= free {
                break;
            }
        }
    }
}
