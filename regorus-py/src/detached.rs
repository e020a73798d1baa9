//! Work that is long enough to let other threads of Python run meanwhile.

use pyo3::prelude::*;

/// Of its text. To give the interpreter back and to take it again costs more than to look at a shorter one.
const LARGE_BYTES: usize = 16 << 10;

pub fn detached<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes >= LARGE_BYTES { py.detach(work) } else { work() }
}
