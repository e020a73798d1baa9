//! The Python class.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::features::Features;
use super::network::{Network, Piece, Unit, Window};

/// From here on other threads run meanwhile.
const MANY_WINDOWS: usize = 256;

/// Python's: weights, of the signs, bias, what it adds.
type UnitTuple = (Vec<f64>, f64, f64, f64);

#[pyclass(frozen, module = "regorus")]
pub struct WindowNetwork {
    network: Network,
}

#[pymethods]
impl WindowNetwork {
    #[new]
    fn new(
        features: &[u8],
        numbers: &[u8],
        units: Vec<UnitTuple>,
        bias: f64,
        smoothing_tokens: usize,
        pair_factor: u32,
    ) -> PyResult<Self> {
        let numbers = numbers.iter().map(|one| one.cast_signed()).collect();
        let units = units.into_iter().map(|(weights, signs, bias, adds)| Unit { weights, signs, bias, adds }).collect();
        Features::new(features)
            .and_then(|features| Network::new(features, numbers, units, bias, smoothing_tokens, pair_factor))
            .map(|network| Self { network })
            .ok_or_else(|| {
                PyValueError::new_err("features must ascend, and have as many numbers as each unit has weights")
            })
    }

    /// The record of a token, for `log_odds`.
    fn token<'py>(&self, py: Python<'py>, keys: Vec<u32>) -> PyResult<Bound<'py, PyBytes>> {
        let record = self.network.token(&keys).ok_or_else(|| PyValueError::new_err("a token has a key"))?;
        Ok(PyBytes::new(py, &record))
    }

    /// What the network adds to the log odds of each window.
    fn log_odds(&self, py: Python<'_>, pieces: Vec<Piece<PyBackedBytes>>, windows: Vec<Window>) -> PyResult<Vec<f64>> {
        let score = || self.network.log_odds(&pieces, &windows);
        let scored = if windows.len() >= MANY_WINDOWS { py.detach(score) } else { score() };
        scored.ok_or_else(|| PyValueError::new_err("a window names a piece that is not there, or a record is cut"))
    }
}
