//! The Python class: texts in, sightings out. Values are kept as keyed hashes (SipHash-2-4), never as themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use siphasher::sip::SipHasher24;

use crate::contain::contained;
use crate::provenance::memory::{Memory, Sighting};
use crate::provenance::tokens::{Part, Tokens, is_delimiter};
use crate::rego::failure::Failure;

/// Of the chunk before: an identifier that two chunks share is read whole.
const OVERLAP_BYTES: usize = 256;

#[pyclass(frozen, module = "regorus")]
pub struct ProvenanceIndex {
    hasher: SipHasher24,
    state: Mutex<State>,
}

struct State {
    memory: Memory,
    tokens: Tokens,
}

#[pymethods]
impl ProvenanceIndex {
    #[new]
    fn new(key: [u8; 16], values_max: usize, subject_values_max: usize) -> PyResult<Self> {
        if values_max == 0 || subject_values_max == 0 {
            return Err(PyValueError::new_err("an index holds at least one value"));
        }
        let memory = Memory::new(values_max, subject_values_max);
        Ok(Self {
            hasher: SipHasher24::new_with_key(&key),
            state: Mutex::new(State { memory, tokens: Tokens::default() }),
        })
    }

    fn __len__(&self) -> usize {
        self.lock().memory.len()
    }

    /// Reads what a source showed to a subject; the hashes of what was new, eight bytes each. The word that a subject
    /// begins with names its owner.
    fn observe<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        now: u64,
        text: &[u8],
        source: u32,
        trusted: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let fresh = guarded(|| {
            let (owner, subject) = (self.owner(subject), self.hash(0, subject.as_bytes()));
            let mut fresh = Vec::new();
            let State { memory, tokens } = &mut *self.lock();
            tokens.each(text, &mut |part, token| {
                let value = self.hash(part as u8, token);
                if memory.insert(owner, subject, now, value, Sighting { source, trusted }) {
                    fresh.extend(value.to_le_bytes());
                }
            });
            fresh
        })?;
        Ok(PyBytes::new(py, &fresh))
    }

    /// Takes over what another process has observed.
    fn absorb(&self, subject: &str, now: u64, hashes: &[u8], source: u32, trusted: bool) -> PyResult<()> {
        if !hashes.len().is_multiple_of(8) {
            return Err(PyValueError::new_err("a hash has eight bytes"));
        }
        guarded(|| {
            let (owner, subject) = (self.owner(subject), self.hash(0, subject.as_bytes()));
            let memory = &mut self.lock().memory;
            for hash in hashes.as_chunks::<8>().0 {
                memory.insert(owner, subject, now, u64::from_le_bytes(*hash), Sighting { source, trusted });
            }
        })
    }

    /// For each text, where its value was first seen: source, trusted, and whether the value itself was (or only its
    /// host); None: nobody showed it, or not all of it.
    fn look_up(&self, subjects: Vec<String>, texts: Vec<String>) -> PyResult<Vec<Option<(u32, bool, bool)>>> {
        guarded(|| {
            let subjects: Vec<u64> = subjects.iter().map(|subject| self.hash(0, subject.as_bytes())).collect();
            let State { memory, tokens } = &mut *self.lock();
            let get = |value: u64| subjects.iter().find_map(|subject| memory.get(*subject, value));
            texts.iter().map(|text| self.origin(text.as_bytes(), tokens, &get)).collect()
        })
    }

    fn forget(&self, subject: &str) -> PyResult<()> {
        guarded(|| self.lock().memory.forget(self.hash(0, subject.as_bytes())))
    }

    fn forget_unused(&self, before: u64) -> PyResult<()> {
        guarded(|| self.lock().memory.forget_unused(before))
    }

    /// The last bytes of a chunk that belong before the next one.
    #[staticmethod]
    fn overlap<'py>(py: Python<'py>, text: &[u8]) -> Bound<'py, PyBytes> {
        let tail = text.get(text.len().saturating_sub(OVERLAP_BYTES)..).unwrap_or_default();
        let from = if tail.len() < text.len() {
            tail.iter().position(|byte| is_delimiter(*byte)).unwrap_or(tail.len())
        } else {
            0
        };
        PyBytes::new(py, tail.get(from..).unwrap_or_default())
    }
}

impl ProvenanceIndex {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owner(&self, subject: &str) -> u64 {
        self.hash(0, subject.split(' ').next().unwrap_or_default().as_bytes())
    }

    fn hash(&self, part: u8, token: &[u8]) -> u64 {
        use std::hash::Hasher;
        let mut hasher = self.hasher;
        hasher.write(&[part]);
        hasher.write(token);
        hasher.finish()
    }

    /// One stranger in it makes the whole text a stranger's; it is trusted only where all of it is.
    fn origin(
        &self,
        text: &[u8],
        tokens: &mut Tokens,
        get: &impl Fn(u64) -> Option<Sighting>,
    ) -> Option<(u32, bool, bool)> {
        let mut phrase = None;
        tokens.phrase(text, &mut |part, token| phrase = get(self.hash(part as u8, token)));
        if let Some(sighting) = phrase {
            return Some((sighting.source, sighting.trusted, true));
        }
        let mut found = Found::default();
        let mut whole: Option<Option<Sighting>> = None;
        tokens.each(text, &mut |part, token| match part {
            Part::Whole => {
                found.settle(whole.take(), None);
                whole = Some(get(self.hash(part as u8, token)));
            }
            Part::Host => {
                let host = get(self.hash(part as u8, token));
                found.settle(whole.take(), host);
            }
            Part::Phrase => {}
        });
        found.settle(whole.take(), None);
        found.answer()
    }
}

/// A panic is an exception that `except Exception` catches.
fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    contained(work).map_err(|panic| PyRuntimeError::new_err(Failure::panic(&*panic).reason))
}

/// What was found of the values of one text.
#[derive(Default)]
struct Found {
    stranger: Option<(Sighting, bool)>,
    trusted: Option<Sighting>,
    has_unknown: bool,
}

impl Found {
    /// A value, and its host where it has one: the value itself counts first.
    fn settle(&mut self, whole: Option<Option<Sighting>>, host: Option<Sighting>) {
        let Some(whole) = whole else { return };
        match (whole, host) {
            (Some(sighting), _) if sighting.trusted => self.trusted = self.trusted.or(Some(sighting)),
            (Some(sighting), _) => self.stranger = self.stranger.filter(|(_, exact)| *exact).or(Some((sighting, true))),
            (None, Some(sighting)) if !sighting.trusted => {
                self.stranger = self.stranger.or(Some((sighting, false)));
                self.has_unknown = true;
            }
            // Everybody knows the hosts of mail: a trusted host trusts no address.
            (None, _) => self.has_unknown = true,
        }
    }

    fn answer(self) -> Option<(u32, bool, bool)> {
        match (self.stranger, self.trusted) {
            (Some((sighting, exact)), _) => Some((sighting.source, false, exact)),
            (None, Some(sighting)) if !self.has_unknown => Some((sighting.source, true, true)),
            _ => None,
        }
    }
}
