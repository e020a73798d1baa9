//! Hashes of RFC 6962, section 2.1.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sha2::{Digest, Sha256};

/// Of each entry.
#[pyfunction]
pub fn leaf_hashes<'py>(entries: &Bound<'py, PyList>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let py = entries.py();
    entries
        .iter()
        .map(|entry| {
            let hash = Sha256::new().chain_update([0]).chain_update(entry.extract::<&[u8]>()?).finalize();
            Ok(PyBytes::new(py, &hash))
        })
        .collect()
}

/// The root over a power of two of hashes.
#[pyfunction]
pub fn complete_root<'py>(hashes: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyBytes>> {
    let mut level = Vec::with_capacity(hashes.len());
    for hash in hashes.iter() {
        level.push(hash.extract::<[u8; 32]>()?);
    }
    if !level.len().is_power_of_two() {
        return Err(pyo3::exceptions::PyValueError::new_err("not a power of two of hashes"));
    }
    while level.len() > 1 {
        level = level
            .chunks_exact(2)
            .map(|pair| Sha256::new().chain_update([1]).chain_update(pair[0]).chain_update(pair[1]).finalize().into())
            .collect();
    }
    Ok(PyBytes::new(hashes.py(), &level[0]))
}
