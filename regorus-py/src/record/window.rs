//! Whether events are exactly what was sealed: the quick answer, which says yes or does not know.
//!
//! Each header is written anew from its row's columns, its payload's digest and the hash before, and compared with
//! the stored one: one comparison covers all of them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sha2::{Digest, Sha256};

use crate::record::time_text;

const DIGEST_BEFORE: &[u8] = b"\",\"payload_digest\":\"sha256:";
const DIGEST_CHARACTERS: usize = 64;
const HEADER_BYTES: usize = 512;

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
        text.reserve(HEADER_BYTES);
        text.extend(b"{\"action\":");
        quote(action, &mut text);
        text.extend(b",\"agent\":");
        quote(agent, &mut text);
        text.extend(b",\"created_at\":\"");
        time_text::write(created?, &mut text)?;
        text.extend(b"\",\"id\":\"");
        text.extend(id?);
        text.extend(b"\",\"org\":\"");
        text.extend(self.org);
        text.extend(DIGEST_BEFORE);
        match (salt, payload) {
            (Some(salt), Some(payload)) => {
                hexadecimal(&Sha256::new().chain_update(salt).chain_update(payload).finalize(), &mut text)
            }
            // Erased: what the header itself says is the only witness.
            (None, None) => text.extend(header.get(text.len()..text.len() + DIGEST_CHARACTERS)?),
            _ => return None,
        }
        text.extend(b"\",\"prev_hash\":\"sha256:");
        hexadecimal(&self.hash, &mut text);
        text.extend(b"\",\"sealed_at\":\"");
        text.extend(&self.sealed_text);
        text.extend(b"\",\"seq\":");
        text.extend(seq.to_string().as_bytes());
        text.extend(b",\"type\":\"");
        text.extend(event_type?);
        text.extend(b"\",\"v\":1}");
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

fn quote(value: Option<&[u8]>, text: &mut Vec<u8>) {
    match value {
        None => text.extend(b"null"),
        Some(value) => {
            text.push(b'"');
            text.extend(value);
            text.push(b'"');
        }
    }
}

fn hexadecimal(bytes: &[u8], text: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}
