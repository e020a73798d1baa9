//! A big stack for each thread that evaluates, kept for its next evaluation.
//!
//! What a policy nests in the time that it has must also be compared and dropped, which the engine does by
//! recursion, and a stack that overflows takes the process with it. Most of the address space is never
//! touched. Mapping a fresh one for every call would cost a trivial decision a third of its time.

use std::cell::Cell;
use std::io;

const STACK_BYTES: usize = 256 << 20;
const GUARD_BYTES: usize = 64 << 10; // a multiple of every page size

thread_local! {
    static KEPT: Cell<Option<Stack>> = const { Cell::new(None) };
}

/// Runs `work`, which must not panic, on the big stack. Where it is `false` for the result's sake (`keep`),
/// the stack is given back, since much of it may have been touched.
pub fn on_big_stack<T>(work: impl FnOnce() -> T, keep: impl FnOnce(&T) -> bool) -> io::Result<T> {
    let stack = match KEPT.take() {
        Some(stack) => stack,
        None => Stack::map()?,
    };
    let result = stack.run(work);
    if keep(&result) {
        KEPT.set(Some(stack));
    }
    Ok(result)
}

/// A mapping with an inaccessible page below, where a stack that grows too far ends.
struct Stack {
    mapping: *mut libc::c_void,
}

impl Stack {
    fn map() -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no other memory.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), STACK_BYTES, access, kind, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self { mapping };
        // SAFETY: the first bytes of the mapping just made, to which nothing refers yet.
        if unsafe { libc::mprotect(mapping, GUARD_BYTES, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(stack)
    }

    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let base = self.mapping.cast::<u8>().wrapping_add(GUARD_BYTES);
        // SAFETY: the range is mapped, writable, aligned to pages, and used by nobody else: `self` was taken
        // out of the thread's cell, or is new. `work` does not unwind (contain.rs catches inside).
        unsafe { psm::on_stack(base, STACK_BYTES - GUARD_BYTES, work) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing runs on it.
        unsafe { libc::munmap(self.mapping, STACK_BYTES) };
    }
}
