//! A panic ends the call, not the process, and prints nothing.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

/// Runs `work`; a panic in it is the error. PyO3's own PanicException is no Exception, and would pass by
/// every `except Exception` of a gateway.
pub fn contained<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    panic::catch_unwind(AssertUnwindSafe(work))
}

/// Panics are reported as exceptions, and nowhere else. The hook is this library's own: other Rust code in
/// the process has its own standard library, and its own hook.
pub fn silence_panics() {
    panic::set_hook(Box::new(|_| {}));
}
