//! The engine's memory limit, which counts what this whole library has allocated, made one per evaluation.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What each evaluation that runs now may let the library's total grow to.
static CEILINGS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// As long as it lives, the engine stops where the library holds `bytes` more than when it was made.
/// Evaluations that run at the same time share the highest ceiling; without one there is no limit.
pub struct MemoryLimit {
    ceiling: u64,
}

impl MemoryLimit {
    pub fn above_present_use(bytes: u64) -> Self {
        let (total, _) = mimalloc::allocation_stats_snapshot();
        let ceiling = total.allocated.saturating_add(bytes);
        let mut ceilings = lock();
        ceilings.push(ceiling);
        apply(&ceilings);
        Self { ceiling }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let mut ceilings = lock();
        if let Some(index) = ceilings.iter().position(|ceiling| *ceiling == self.ceiling) {
            ceilings.swap_remove(index);
        }
        apply(&ceilings);
    }
}

fn lock() -> MutexGuard<'static, Vec<u64>> {
    CEILINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn apply(ceilings: &[u64]) {
    regorus::set_global_memory_limit(ceilings.iter().max().copied());
}
