//! A long reading or writing of Python's objects lets other threads have the interpreter now and then.
//!
//! A body of 400,000 small values takes a tenth of a second to read. The event loop, which serves every other caller,
//! would wait as long for the interpreter's lock.

use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Some 3 ms of work.
const VALUES_IN_A_TURN: u32 = 10_000;

/// A lock that is released and taken again at once is never seen free by the thread that it wakes.
const PAUSE: Duration = Duration::from_micros(50);

#[derive(Default)]
pub struct Turns {
    values: u32,
}

impl Turns {
    /// One more value; where the turn is over, others have the lock.
    pub fn count(&mut self, py: Python<'_>) {
        self.values += 1;
        if self.values == VALUES_IN_A_TURN {
            self.values = 0;
            py.detach(|| thread::sleep(PAUSE));
        }
    }
}
