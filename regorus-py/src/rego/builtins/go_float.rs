//! Go's `big.Float`, in which OPA calculates (`v1/topdown/arithmetic.go`, `v1/topdown/aggregates.go`): mantissas of 64
//! bits, rounded to even.
//!
//! 0.1 + 0.2 is 0.3 there, and 0.30000000000000004 in doubles.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use regorus::Value;

use super::equal::EXACT_MAX;

/// The precision of numbers as they are read, and of the results of operators.
const MANTISSA_BITS: u64 = 64;
/// The precision of `product`, which starts with a double in OPA.
const PRODUCT_BITS: u64 = 53;
/// Zeros at the end of a whole number, beyond its shortest digits.
const ZEROS_MAX: usize = 1_000;
/// Doubles are between `2^-1074` and `2^1024`.
const DOUBLE_BITS_MAX: i64 = 1_100;

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

    pub fn from_big(value: BigInt) -> Self {
        Self::rounded(value, 0, MANTISSA_BITS)
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
        // Two more bits than are kept; the last bit is set if there is a remainder.
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

    pub fn subtract(&self, other: &Self) -> Self {
        self.add(&Self { mantissa: -&other.mantissa, exponent: other.exponent })
    }

    pub fn multiply(&self, other: &Self) -> Self {
        self.times(other, MANTISSA_BITS)
    }

    /// As `product` multiplies.
    pub fn multiply_as_double(&self, other: &Self) -> Self {
        self.times(other, PRODUCT_BITS)
    }

    fn times(&self, other: &Self, bits: u64) -> Self {
        Self::rounded(&self.mantissa * &other.mantissa, self.exponent + other.exponent, bits)
    }

    /// None for a divisor of zero.
    pub fn divide(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        // Two more bits than are kept; the last bit is set if there is a remainder.
        let shift = (other.mantissa.bits() + MANTISSA_BITS + 2).saturating_sub(self.mantissa.bits());
        let (left, right) = (self.mantissa.sign(), other.mantissa.sign());
        let (numerator, denominator) = (self.mantissa.magnitude() << shift, other.mantissa.magnitude());
        let mut quotient = &numerator / denominator;
        quotient.set_bit(0, quotient.bit(0) || &quotient * denominator != numerator);
        let sign = if left == right { Sign::Plus } else { Sign::Minus };
        let exponent = self.exponent - other.exponent - i64::try_from(shift).unwrap_or(i64::MAX);
        Some(Self::rounded(BigInt::from_biguint(sign, quotient), exponent, MANTISSA_BITS))
    }

    pub fn is_zero(&self) -> bool {
        self.mantissa.sign() == Sign::NoSign
    }

    pub fn is_whole(&self) -> bool {
        let shift = self.exponent.unsigned_abs();
        self.exponent >= 0 || self.is_zero() || self.mantissa.trailing_zeros().is_some_and(|zeros| zeros >= shift)
    }

    /// Returns what Go writes for a whole number (`Text('f', -1)`): the fewest digits that identify it, then zeros. None
    /// for a fraction, or more than `ZEROS_MAX` zeros.
    pub fn to_integer(&self) -> Option<BigInt> {
        let Decimal { digits, point } = self.shortest();
        let zeros = usize::try_from(point).ok()?.checked_sub(digits.len()).filter(|zeros| *zeros <= ZEROS_MAX)?;
        let number = BigUint::from_radix_be(&digits, 10)? * BigUint::from(10_u8).pow(u32::try_from(zeros).ok()?);
        Some(BigInt::from_biguint(self.mantissa.sign(), number))
    }

    /// The double nearest to the shortest decimal text that Go writes for this number (`Text('g', -1)`).
    pub fn to_double(&self) -> Option<f64> {
        // Without their digits, which may be a hundred thousand: numbers that no double is near to.
        let bits = self.exponent.saturating_add_unsigned(self.mantissa.bits());
        if self.is_zero() || bits < -DOUBLE_BITS_MAX {
            return Some(0.0);
        }
        if bits > DOUBLE_BITS_MAX {
            return None;
        }
        let Decimal { digits, point } = self.shortest();
        let digits: String = digits.iter().map(|digit| char::from(digit + b'0')).collect();
        let double = format!("0.{digits}e{point}").parse::<f64>().ok().filter(|double| double.is_finite())?;
        Some(if self.mantissa.sign() == Sign::Minus { -double } else { double })
    }

    /// Returns the shortest decimal of the absolute value, as `math/big` finds it (`roundShortest` in `ftoa.go`): the
    /// last digit is not always the nearest.
    fn shortest(&self) -> Decimal {
        if self.is_zero() {
            return Decimal { digits: vec![0], point: 1 };
        }
        let bits = MANTISSA_BITS + 1;
        let surplus = bits.saturating_sub(self.mantissa.bits());
        let mantissa = self.mantissa.magnitude() << surplus;
        let exponent = self.exponent - i64::try_from(surplus).unwrap_or(i64::MAX);
        let mut exact = Decimal::new(&mantissa, exponent);
        let (lower, upper) = (Decimal::new(&(&mantissa - 1_u8), exponent), Decimal::new(&(&mantissa + 1_u8), exponent));
        // Numbers halfway to a neighbour are read as the one with an even mantissa.
        let inclusive = !mantissa.bit(1);
        for index in 0..exact.digits.len() {
            let (digit, low, high) = (exact.at(index), lower.at(index), upper.at(index));
            let may_cut = low != digit || inclusive && index + 1 == lower.digits.len();
            let may_raise = digit != high && (inclusive || digit + 1 < high || index + 1 < upper.digits.len());
            if may_cut || may_raise {
                exact.cut(index + 1, may_raise && (!may_cut || exact.is_nearer_above(index + 1)));
                break;
            }
        }
        exact
    }
}

/// `0.digits * 10^point`. The digits are 0 to 9; the last one is not 0, except in zero.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    fn new(mantissa: &BigUint, exponent: i64) -> Self {
        let power = u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX);
        let (number, below) =
            if exponent >= 0 { (mantissa << power, 0) } else { (mantissa * BigUint::from(5_u8).pow(power), exponent) };
        let digits = number.to_radix_be(10);
        let point = i64::try_from(digits.len()).unwrap_or(i64::MAX) + below;
        let mut decimal = Self { digits, point };
        decimal.trim();
        decimal
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
    }

    fn at(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or_default()
    }

    /// Whether the number rounds up when it is cut to `count` digits.
    fn is_nearer_above(&self, count: usize) -> bool {
        if self.at(count) == 5 && count + 1 == self.digits.len() {
            self.at(count - 1) % 2 == 1
        } else {
            self.at(count) >= 5
        }
    }

    fn cut(&mut self, count: usize, raise: bool) {
        self.digits.truncate(count);
        if raise {
            while self.digits.last() == Some(&9) {
                self.digits.pop();
            }
            match self.digits.last_mut() {
                Some(last) => *last += 1,
                None => {
                    self.digits.push(1);
                    self.point += 1;
                }
            }
        }
        self.trim();
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
