//! What a policy may call, and what not, for documentation and tests.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use regorus::unstable::BUILTINS;

use super::added;
use super::blocked::{BLOCKED, reason_of_block};
use super::guard::every_name;

/// Each builtin with the number of its arguments.
#[pyfunction]
pub fn builtins() -> BTreeMap<&'static str, u8> {
    let arity = |name: &'static str| {
        added::find(name).map(|ours| ours.arity).or_else(|| BUILTINS.get(name).map(|(_, arity)| *arity))
    };
    every_name().filter(|name| reason_of_block(name).is_none()).filter_map(|name| Some((name, arity(name)?))).collect()
}

/// Each builtin that is refused, with the reason.
#[pyfunction]
pub fn blocked_builtins() -> BTreeMap<&'static str, &'static str> {
    BLOCKED.into_iter().collect()
}
