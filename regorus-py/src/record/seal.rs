//! Seals events: makes their identifiers, salts, headers and hashes, each header with the hash of the one before.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sha2::{Digest, Sha256};

use crate::record::{header, time_text};

const SALT_BYTES: usize = 16;
const MICROS_2000: i64 = 946_684_800_000_000;

/// An event's type, action, agent, time of making and payload, each an element of a PostgreSQL binary array.
type Event<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a [u8], &'a [u8]);

/// Identifiers, headers, hashes and salts, each as the elements of a PostgreSQL binary array, one behind the other.
type Sealed<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// `seq` is that of the first event, `previous` the hash of the event before, `sealed` in microseconds since 2000. Salts and
/// identifiers (UUIDv7, RFC 9562, section 5.7) are derived from `seed`, which must be random and is never stored: a hash costs less than
/// a random read. ValueError names the first event that a header cannot describe.
#[pyfunction]
pub fn seal_events<'py>(
    org: &[u8],
    seq: i64,
    previous: [u8; 32],
    sealed: i64,
    seed: [u8; 32],
    events: &Bound<'py, PyList>,
) -> PyResult<Sealed<'py>> {
    let py = events.py();
    let held: Vec<_> = events.iter().collect();
    let rows = held.iter().map(|event| event.extract()).collect::<PyResult<Vec<Event<'_>>>>()?;
    let mut chain = Chain { org, hash: previous, sealed, seed, ..Chain::default() };
    py.detach(|| chain.seal_all(seq, &rows))
        .map_err(|position| PyValueError::new_err(format!("a header cannot describe event {position} of the round")))?;
    Ok((
        PyBytes::new(py, &chain.ids),
        PyBytes::new(py, &chain.headers),
        PyBytes::new(py, &chain.hashes),
        PyBytes::new(py, &chain.salts),
    ))
}

#[derive(Default)]
struct Chain<'a> {
    org: &'a [u8],
    hash: [u8; 32],
    sealed: i64,
    seed: [u8; 32],
    ids: Vec<u8>,
    headers: Vec<u8>,
    hashes: Vec<u8>,
    salts: Vec<u8>,
}

impl Chain<'_> {
    fn seal_all(&mut self, first: i64, events: &[Event<'_>]) -> Result<(), usize> {
        let mut sealed_text = Vec::new();
        time_text::write(self.sealed, &mut sealed_text).ok_or(0_usize)?;
        let mut text = Vec::with_capacity(header::BYTES);
        for (position, event) in events.iter().enumerate() {
            self.seal(first + position as i64, event, &sealed_text, &mut text).ok_or(position)?;
        }
        Ok(())
    }

    fn seal(&mut self, seq: i64, event: &Event<'_>, sealed: &[u8], text: &mut Vec<u8>) -> Option<()> {
        let (event_type, action, agent, created, payload) = *event;
        let event_type =
            value(event_type)?.filter(|kind| kind.iter().all(|&c| matches!(c, b'a'..=b'z' | b'_' | b'.')))?;
        let (action, agent) = (name(action)?, name(agent)?);
        let created = i64::from_be_bytes(value(created)??.try_into().ok()?);
        let payload = value(payload)??;
        let random = Sha256::new().chain_update(self.seed).chain_update(seq.to_be_bytes()).finalize();
        let (salt, rest) = random.split_at(SALT_BYTES);
        let id = event_id((self.sealed + MICROS_2000) / 1_000, rest, seq);
        text.clear();
        header::begin(action, agent, created, &id, self.org, text)?;
        header::hexadecimal(&Sha256::new().chain_update(salt).chain_update(payload).finalize(), text);
        header::end(&self.hash, sealed, seq, event_type, text);
        self.hash = Sha256::digest(&text).into();
        push(&mut self.ids, &id);
        push(&mut self.headers, text);
        push(&mut self.hashes, &self.hash);
        push(&mut self.salts, salt);
        Some(())
    }
}

/// The last four bytes are of the event's number: it is found by that, without an index of identifiers.
fn event_id(unix_millis: i64, random: &[u8], seq: i64) -> Vec<u8> {
    let mut uuid = [0_u8; 16];
    uuid[..6].copy_from_slice(&unix_millis.to_be_bytes()[2..]);
    uuid[6..12].copy_from_slice(&random[..6]);
    uuid[12..].copy_from_slice(&seq.to_be_bytes()[4..]);
    uuid[6] = uuid[6] & 0x0f | 0x70;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    let mut text = b"evt_".to_vec();
    for (position, byte) in uuid.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push(b'-');
        }
        header::hexadecimal(std::slice::from_ref(byte), &mut text);
    }
    text
}

/// An element's value; `Some(None)` for null. Nothing where the bytes are not one element.
fn value(element: &[u8]) -> Option<Option<&[u8]>> {
    let (length, rest) = element.split_first_chunk::<4>()?;
    match i32::from_be_bytes(*length) {
        -1 if rest.is_empty() => Some(None),
        length if usize::try_from(length) == Ok(rest.len()) => Some(Some(rest)),
        _ => None,
    }
}

/// As `value`, of an identifier. Its characters need no escape in JSON.
fn name(element: &[u8]) -> Option<Option<&[u8]>> {
    let found = value(element)?;
    let is_plain = |text: &[u8]| text.iter().all(|&c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
    found.is_none_or(is_plain).then_some(found)
}

fn push(array: &mut Vec<u8>, element: &[u8]) {
    array.extend((element.len() as i32).to_be_bytes());
    array.extend(element);
}
