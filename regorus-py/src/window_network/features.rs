//! Features by their keys of 32 bits, and a learned weight of each.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Keys of 32 bits are spread evenly: their first bits find a few of them.
const BUCKET_BITS: u32 = 16;
/// From here on other threads run meanwhile.
const MANY_TOKENS: usize = 4096;

/// Ascending keys.
pub struct Features {
    keys: Vec<u32>,
    starts: Vec<u32>,
}

impl Features {
    /// `bytes`: ascending unsigned integers of 4 bytes, little endian. None for others.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let (keys, rest) = bytes.as_chunks();
        let keys: Vec<u32> = keys.iter().map(|key| u32::from_le_bytes(*key)).collect();
        if !rest.is_empty() || !keys.is_sorted_by(|one, other| one < other) {
            return None;
        }
        let start = |bucket| keys.partition_point(|key| key >> (32 - BUCKET_BITS) < bucket);
        let starts =
            (0..=1_u32 << BUCKET_BITS).map(|bucket| u32::try_from(start(bucket)).ok()).collect::<Option<_>>()?;
        Some(Self { keys, starts })
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The place of a feature.
    pub fn find(&self, key: u32) -> Option<usize> {
        let bucket = (key >> (32 - BUCKET_BITS)) as usize;
        let (start, end) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        Some(start + self.keys[start..end].iter().position(|one| *one == key)?)
    }
}

/// A dict of Python would take eight times the memory.
#[pyclass(frozen, module = "regorus")]
pub struct FeatureWeights {
    features: Features,
    weights: Vec<f64>,
}

#[pymethods]
impl FeatureWeights {
    #[new]
    fn new(features: &[u8], weights: &[u8]) -> PyResult<Self> {
        let (weights, rest) = weights.as_chunks();
        let weights: Vec<f64> = weights.iter().map(|one| f64::from_le_bytes(*one)).collect();
        Features::new(features)
            .filter(|features| rest.is_empty() && features.len() == weights.len())
            .map(|features| Self { features, weights })
            .ok_or_else(|| PyValueError::new_err("features must ascend, and each must have a weight"))
    }

    fn __len__(&self) -> usize {
        self.weights.len()
    }

    fn sum(&self, keys: Vec<u32>) -> f64 {
        keys.into_iter().map(|key| self.of(key)).sum()
    }

    /// What each token counts: its own weight, and that of it and the token before.
    fn counts(
        &self,
        py: Python<'_>,
        before: u32,
        keys: Vec<u32>,
        own: Vec<f64>,
        pair_factor: u32,
    ) -> PyResult<Vec<f64>> {
        if keys.len() != own.len() {
            return Err(PyValueError::new_err("each token must have a key and a weight"));
        }
        let count = || {
            let mut before = before;
            let with_pair = |(key, own): (u32, f64)| {
                let pair = before.wrapping_mul(pair_factor).wrapping_add(key);
                // A token that repeats the one before counts nothing: rules of dashes add up otherwise.
                let counts = if key == before { 0.0 } else { own + self.of(pair) };
                before = key;
                counts
            };
            keys.iter().copied().zip(own).map(with_pair).collect()
        };
        Ok(if keys.len() >= MANY_TOKENS { py.detach(count) } else { count() })
    }
}

impl FeatureWeights {
    fn of(&self, key: u32) -> f64 {
        self.features.find(key).map_or(0.0, |at| self.weights[at])
    }
}
