//! Whether events are exactly what was sealed: the quick answer, which says yes or does not know.
//!
//! Each header is written anew from its row's columns, its payload's digest and the hash before, and compared with
//! the stored one: one comparison covers all of them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sha2::{Digest, Sha256};

use crate::record::{header, time_text};

const DIGEST_CHARACTERS: usize = 64;

/// The chain's number, header, hash and time of sealing; then of the month's row identifier, type, action, agent, time
/// of making, time of sealing, salt and payload.
type Row<'a> = (
    i64,
    &'a [u8],
    &'a [u8],
    i64,
    Option<&'a [u8]>,
    Option<&'a [u8]>,
    Option<&'a [u8]>,
    Option<&'a [u8]>,
    Option<i64>,
    Option<i64>,
    Option<&'a [u8]>,
    Option<&'a [u8]>,
);

/// What the next event is held against.
struct Link<'a> {
    org: &'a [u8],
    seq: i64,
    hash: [u8; 32],
    sealed: Option<i64>,
    sealed_text: Vec<u8>,
    header: Vec<u8>,
}

/// The hashes of the rows that are right, up to the first that may not be, and when the last of them was sealed.
#[pyfunction]
pub fn check_window<'py>(
    org: &[u8],
    seq: i64,
    previous: [u8; 32],
    sealed: Option<i64>,
    rows: &Bound<'py, PyList>,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, Option<i64>)> {
    let mut link = Link { org, seq, hash: previous, sealed: None, sealed_text: Vec::new(), header: Vec::new() };
    if let Some(time) = sealed {
        let _ = link.seal(time);
    }
    let py = rows.py();
    let held: Vec<_> = rows.iter().collect();
    let rows = held.iter().map(|row| row.extract()).collect::<PyResult<Vec<Row<'_>>>>()?;
    // Without the interpreter's lock: whoever waits for the next window in another thread needs it.
    let hashes: Vec<_> = py.detach(|| rows.into_iter().map_while(|row| link.follow(row)).collect());
    Ok((hashes.iter().map(|hash| PyBytes::new(py, hash)).collect(), link.sealed))
}

impl Link<'_> {
    /// Goes on to this event and has its hash; nothing where it may not be the next one, or not be right.
    fn follow(&mut self, row: Row<'_>) -> Option<[u8; 32]> {
        let (seq, header, hash, sealed, id, event_type, action, agent, created, event_sealed, salt, payload) = row;
        if seq != self.seq || event_sealed? != sealed || self.sealed.is_some_and(|before| sealed < before) {
            return None;
        }
        if self.sealed != Some(sealed) {
            self.seal(sealed)?;
        }
        let mut text = std::mem::take(&mut self.header);
        text.clear();
        text.reserve(header::BYTES);
        header::begin(action, agent, created?, id?, self.org, &mut text)?;
        match (salt, payload) {
            (Some(salt), Some(payload)) => {
                header::hexadecimal(&Sha256::new().chain_update(salt).chain_update(payload).finalize(), &mut text)
            }
            // Erased: what the header itself says is the only witness.
            (None, None) => text.extend(header.get(text.len()..text.len() + DIGEST_CHARACTERS)?),
            _ => return None,
        }
        header::end(&self.hash, &self.sealed_text, seq, event_type?, &mut text);
        let found: [u8; 32] = Sha256::digest(&text).into();
        if text != header || found != hash {
            return None;
        }
        self.header = text;
        self.hash = found;
        self.seq += 1;
        Some(found)
    }

    /// Events of one batch have one time: it is written once.
    fn seal(&mut self, time: i64) -> Option<()> {
        self.sealed_text.clear();
        self.sealed = Some(time);
        time_text::write(time, &mut self.sealed_text)
    }
}
