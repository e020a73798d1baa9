//! Sums of learned numbers over windows, and a layer of hidden units.

use super::features::Features;

const KEY_BYTES: usize = 4;
const SUM_BYTES: usize = 2;

/// A unit: the weights of the numbers, of the signs, and its bias; then what it adds to the log odds.
pub struct Unit {
    pub weights: Vec<f64>,
    pub signs: f64,
    pub bias: f64,
    pub adds: f64,
}

/// `numbers`: of each feature, one row after the other; `weights`: of each number, those of all units.
pub struct Network {
    features: Features,
    numbers: Vec<i8>,
    units: Vec<Unit>,
    weights: Vec<f64>,
    width: usize,
    bias: f64,
    smoothing_tokens: usize,
    pair_factor: u32,
}

/// The key of the token before it, the records of its tokens, and further features.
pub type Piece<Records> = (u32, Records, Vec<u32>);

/// The first piece, the piece after the last, the log odds of the signs.
pub type Window = (usize, usize, f64);

impl Network {
    /// None where the sizes do not match.
    pub fn new(
        features: Features,
        numbers: Vec<i8>,
        units: Vec<Unit>,
        bias: f64,
        smoothing_tokens: usize,
        pair_factor: u32,
    ) -> Option<Self> {
        let width = units.first()?.weights.len();
        let fits = numbers.len() == features.len() * width && units.iter().all(|unit| unit.weights.len() == width);
        if !fits || width == 0 || smoothing_tokens == 0 {
            return None;
        }
        let weights = (0..width).flat_map(|number| units.iter().map(move |unit| unit.weights[number])).collect();
        Some(Self { features, numbers, units, weights, width, bias, smoothing_tokens, pair_factor })
    }

    /// The record of a token: its first key and the sums of the numbers of all its `keys`. None without a key.
    pub fn token(&self, keys: &[u32]) -> Option<Vec<u8>> {
        let mut sums = vec![0_i16; self.width];
        for row in keys.iter().filter_map(|key| self.row(*key)) {
            for (sum, number) in sums.iter_mut().zip(row) {
                *sum = sum.saturating_add(i16::from(*number));
            }
        }
        let mut record = keys.first()?.to_le_bytes().to_vec();
        record.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
        Some(record)
    }

    /// What the network adds to the log odds of each window. None where a window names a piece that is not there, or a
    /// record is not whole.
    ///
    /// The sums are of integers, and everything else is done in one order: the same on each machine.
    pub fn log_odds<Records: AsRef<[u8]>>(&self, pieces: &[Piece<Records>], windows: &[Window]) -> Option<Vec<f64>> {
        let size = KEY_BYTES + SUM_BYTES * self.width;
        let mut sums = vec![0_i64; self.width];
        let mut tokens = vec![0];
        for (at, (before, records, keys)) in pieces.iter().enumerate() {
            let records = records.as_ref();
            if records.len() % size != 0 {
                return None;
            }
            tokens.push(tokens[at] + records.len() / size);
            sums.extend_from_within(at * self.width..);
            let own = &mut sums[(at + 1) * self.width..];
            let mut before = *before;
            for record in records.chunks_exact(size) {
                let key = u32::from_le_bytes(*record.first_chunk()?);
                // A token that repeats the one before counts nothing: rules of dashes add up otherwise.
                if key != before {
                    for (sum, two) in own.iter_mut().zip(record[KEY_BYTES..].as_chunks().0) {
                        *sum += i64::from(i16::from_le_bytes(*two));
                    }
                    self.add(own, before.wrapping_mul(self.pair_factor).wrapping_add(key));
                }
                before = key;
            }
            for key in keys {
                self.add(own, *key);
            }
        }
        let mut raised = vec![0.0; self.units.len()];
        windows
            .iter()
            .map(|(first, end, signs)| {
                if first >= end || *end > pieces.len() {
                    return None;
                }
                let norm = ((tokens[*end] - tokens[*first] + self.smoothing_tokens) as f64).sqrt();
                raised.fill(0.0);
                let (before, after) = (&sums[first * self.width..], &sums[end * self.width..]);
                for ((weights, before), after) in self.weights.chunks_exact(raised.len()).zip(before).zip(after) {
                    let sum = (after - before) as f64;
                    for (one, weight) in raised.iter_mut().zip(weights) {
                        *one += weight * sum;
                    }
                }
                Some(self.units.iter().zip(&raised).fold(self.bias, |total, (unit, sum)| {
                    total + unit.adds * (sum / norm + unit.signs * signs + unit.bias).max(0.0)
                }))
            })
            .collect()
    }

    fn add(&self, sums: &mut [i64], key: u32) {
        for (sum, number) in sums.iter_mut().zip(self.row(key).unwrap_or_default()) {
            *sum += i64::from(*number);
        }
    }

    fn row(&self, key: u32) -> Option<&[i8]> {
        Some(&self.numbers[self.features.find(key)? * self.width..][..self.width])
    }
}
