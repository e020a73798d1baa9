//! Bytes as an LZ4 block behind their length: entries of the journal say most things twice, in the rows that are shown
//! and in the events that are hashed.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::contain::contained;

const LENGTH_BYTES: usize = 4;

/// The length in four bytes, the most significant first, and the block. ValueError for 4 GiB and more.
#[pyfunction]
pub fn lz4_block<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let length = u32::try_from(content.len()).map_err(|_| PyValueError::new_err("too long for a block"))?;
    let mut block = vec![0; LENGTH_BYTES + get_maximum_output_size(content.len())];
    block[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    let size = contained(|| compress_into(content, &mut block[LENGTH_BYTES..]))
        .map_err(|_| PyValueError::new_err("the content cannot be compressed"))?
        .map_err(|error| PyValueError::new_err(format!("not a block: {error}")))?;
    Ok(PyBytes::new(py, &block[..LENGTH_BYTES + size]))
}

/// What `lz4_block` was given. ValueError for other bytes, and for a content of more than `bytes_max`, of which nothing is made.
#[pyfunction]
pub fn from_lz4_block<'py>(py: Python<'py>, block: &[u8], bytes_max: usize) -> PyResult<Bound<'py, PyBytes>> {
    let (length, rest) =
        block.split_first_chunk::<LENGTH_BYTES>().ok_or_else(|| PyValueError::new_err("not a block"))?;
    let length = u32::from_be_bytes(*length) as usize;
    if length > bytes_max {
        return Err(PyValueError::new_err(format!("a block of {length} bytes: more than {bytes_max}")));
    }
    PyBytes::new_with(py, length, |content| match contained(|| decompress_into(rest, content)) {
        Ok(Ok(size)) if size == length => Ok(()),
        Ok(Ok(size)) => Err(PyValueError::new_err(format!("a block of {size} bytes says that it has {length}"))),
        Ok(Err(error)) => Err(PyValueError::new_err(format!("not a block: {error}"))),
        Err(_) => Err(PyValueError::new_err("not a block: it cannot be decompressed")),
    })
}
