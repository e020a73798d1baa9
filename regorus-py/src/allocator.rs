//! mimalloc, the allocator of this library, gives freed memory back at once.
//!
//! By default it waits 10 ms, and then for the next allocation of the same thread. A thread that has read a large input
//! and rests would keep the memory: some 35 MB in each thread for inputs of 4 MB of small values.

use std::ffi::{c_int, c_long};

/// `mi_option_purge_delay` of mimalloc.h 2.2.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

pub fn give_back_at_once() {
    // SAFETY: the function stores an integer; the option exists in the version that Cargo.lock pins.
    unsafe { mi_option_set(PURGE_DELAY, 0) }
}
