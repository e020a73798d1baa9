//! Go's `big.Float`, in which OPA adds and multiplies (`topdown/aggregates.go`): mantissas of 64 bits, rounded to even.
//!
//! 0.1 + 0.2 is 0.3 there, and 0.30000000000000004 in doubles.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use regorus::Value;

use super::equal::EXACT_MAX;

/// Of numbers as they are read, and of sums.
const MANTISSA_BITS: u64 = 64;
/// OPA starts a product with a number that was a double.
const PRODUCT_BITS: u64 = 53;
/// So many digits tell any two mantissas apart.
const DIGITS_MAX: usize = 21;

/// `mantissa * 2^exponent`, with at most 64 bits of a mantissa.
#[derive(Clone, Debug)]
pub struct Float {
    mantissa: BigInt,
    exponent: i64,
}

impl Float {
    pub fn from_integer(value: i64) -> Self {
        Self { mantissa: BigInt::from(value), exponent: 0 }
    }

    /// Of a decimal number as JSON and Rust write it; None for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}").parse::<BigInt>().ok()?;
        let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        Some(Self::from_decimal(digits, exponent))
    }

    /// `digits * 10^exponent`, rounded once.
    fn from_decimal(digits: BigInt, exponent: i64) -> Self {
        let power = BigInt::from(10).pow(u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX));
        if exponent >= 0 {
            return Self::rounded(digits * power, 0, MANTISSA_BITS);
        }
        // Two bits more than are kept; a last one says whether anything is left over.
        let shift = (power.bits() + MANTISSA_BITS + 2).saturating_sub(digits.bits());
        let (sign, digits) = (digits << shift).into_parts();
        let power = power.into_parts().1;
        let mut quotient = &digits / &power;
        quotient.set_bit(0, quotient.bit(0) || &quotient * &power != digits);
        Self::rounded(BigInt::from_biguint(sign, quotient), -i64::try_from(shift).unwrap_or(i64::MAX), MANTISSA_BITS)
    }

    /// To the nearest mantissa, and to the even one of two.
    fn rounded(mantissa: BigInt, exponent: i64, bits: u64) -> Self {
        let surplus = mantissa.bits().saturating_sub(bits);
        if surplus == 0 {
            return Self { mantissa, exponent };
        }
        let (sign, mantissa) = mantissa.into_parts();
        let mut kept = &mantissa >> surplus;
        let half = BigUint::from(1_u8) << (surplus - 1);
        match (&mantissa - (&kept << surplus)).cmp(&half) {
            Ordering::Less => {}
            Ordering::Equal if !kept.bit(0) => {}
            _ => kept += 1_u8,
        }
        Self {
            mantissa: BigInt::from_biguint(sign, kept),
            exponent: exponent + i64::try_from(surplus).unwrap_or(i64::MAX),
        }
    }

    pub fn add(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |one: &Self| &one.mantissa << (one.exponent - exponent).unsigned_abs();
        Self::rounded(aligned(self) + aligned(other), exponent, MANTISSA_BITS)
    }

    pub fn multiply(&self, other: &Self) -> Self {
        Self::rounded(&self.mantissa * &other.mantissa, self.exponent + other.exponent, PRODUCT_BITS)
    }

    /// The double nearest to the shortest decimal text that Go writes for this number (`Text('g', -1)`).
    pub fn to_double(&self) -> Option<f64> {
        let (sign, mantissa) = self.mantissa.clone().into_parts();
        let one = Self { mantissa: BigInt::from(mantissa.clone()), exponent: self.exponent };
        // As a fraction of two integers.
        let shift = self.exponent.unsigned_abs();
        let (numerator, denominator) = if self.exponent >= 0 {
            (mantissa << shift, BigUint::from(1_u8))
        } else {
            (mantissa, BigUint::from(1_u8) << shift)
        };
        let magnitude = i64::try_from(numerator.bits()).ok()? - i64::try_from(denominator.bits()).ok()?;
        let first = magnitude * 30_103 / 100_000 + 1;
        let text = (0..=DIGITS_MAX + 1)
            .find_map(|digits| one.decimal(&numerator, &denominator, first - i64::try_from(digits).ok()?))?;
        let double = text.parse::<f64>().ok().filter(|double| double.is_finite())?;
        Some(if sign == Sign::Minus { -double } else { double })
    }

    /// The nearest multiple of `10^exponent` that is read as this number.
    fn decimal(&self, numerator: &BigUint, denominator: &BigUint, exponent: i64) -> Option<String> {
        let power = BigUint::from(10_u8).pow(u32::try_from(exponent.unsigned_abs()).ok()?);
        let (numerator, denominator) = if exponent >= 0 {
            (numerator.clone(), denominator * power)
        } else {
            (numerator * power, denominator.clone())
        };
        let below = &numerator / &denominator;
        let above = &below + 1_u8;
        let is_above_nearer = (&numerator << 1_u8) > (&below + &above) * &denominator;
        let in_turn = if is_above_nearer { [above, below] } else { [below, above] };
        let read = in_turn.into_iter().find(|digits| {
            let read = Self::from_decimal(BigInt::from(digits.clone()), exponent);
            read.add(&Self { mantissa: -&self.mantissa, exponent: self.exponent }).mantissa.sign() == Sign::NoSign
        })?;
        Some(format!("{read}e{exponent}"))
    }
}

/// `start` with each of `items` in turn. A double has no more than the integers up to 2^53: what is larger is refused.
pub fn fold(items: &[&Value], start: i64, step: fn(&Float, &Float) -> Float) -> Result<Value, String> {
    let mut result = Float::from_integer(start);
    for item in items {
        let Value::Number(number) = item else { return Err(String::from("an operand is no number")) };
        let number = Float::parse(&number.format_decimal()).ok_or("an operand is no finite number")?;
        result = step(&result, &number);
    }
    match result.to_double() {
        Some(double) if double.abs() < EXACT_MAX => Ok(Value::from(double)),
        _ => Err(String::from("a result that would be rounded in OPA")),
    }
}
