//! Doubles, as `strconv.FormatFloat` and `fmt` write them.

use super::flags::Flags;

/// More than any double has.
const DIGITS_MAX: usize = 1_100;
/// The exponent from which on `%g` writes it, where no precision is asked for.
const SHORTEST_EXPONENT: i32 = 6;
const MANTISSA_BITS: i32 = 52;

/// Decimal digits without zeros at their ends, and where the point stands before them.
struct Decimal {
    digits: String,
    point: i32,
}

impl Decimal {
    /// The digits of `1.234e5`.
    fn of(scientific: &str) -> Self {
        let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
        let digits = digits.replace('.', "").trim_end_matches('0').to_owned();
        let point = if digits.is_empty() { 0 } else { exponent.parse::<i32>().unwrap_or(0) + 1 };
        Self { digits, point }
    }

    fn shortest(size: f64) -> Self {
        Self::of(&format!("{size:e}"))
    }

    fn rounded(size: f64, digits: usize) -> Self {
        Self::of(&format!("{size:.*e}", digits.clamp(1, DIGITS_MAX) - 1))
    }

    fn count(&self) -> i32 {
        i32::try_from(self.digits.len()).unwrap_or(i32::MAX)
    }

    /// `d.ddde±dd`
    fn with_exponent(&self, precision: usize, letter: char) -> String {
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        let (first, more) = digits.split_at(1);
        let more = &more[..more.len().min(precision)];
        let point = if precision > 0 { "." } else { "" };
        let zeros = "0".repeat(precision - more.len());
        let exponent = if self.digits.is_empty() { 0 } else { self.point - 1 };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{first}{point}{more}{zeros}{letter}{sign}{:02}", exponent.unsigned_abs())
    }

    /// `ddd.ddd`
    fn plain(&self, precision: usize) -> String {
        let digit = |index: i32| {
            let digit = usize::try_from(index).ok().and_then(|index| self.digits.as_bytes().get(index));
            digit.map_or('0', |digit| char::from(*digit))
        };
        let mut out: String = (0..self.point).map(digit).collect();
        if out.is_empty() {
            out.push('0');
        }
        if precision > 0 {
            out.push('.');
            out.extend((0..i32::try_from(precision).unwrap_or(i32::MAX)).map(|index| digit(self.point + index)));
        }
        out
    }
}

/// `strconv.FormatFloat` of a positive double.
fn format(size: f64, verb: char, precision: Option<usize>) -> String {
    let lower = verb.to_ascii_lowercase();
    match (lower, precision) {
        ('b', _) => binary(size),
        ('x', _) => hexadecimal(size, verb == 'X', precision),
        ('e', None) => {
            let decimal = Decimal::shortest(size);
            decimal.with_exponent(decimal.digits.len().saturating_sub(1), verb)
        }
        ('e', Some(precision)) => Decimal::rounded(size, precision.saturating_add(1)).with_exponent(precision, verb),
        ('f', Some(precision)) => {
            let sure = precision.min(DIGITS_MAX);
            let point = if sure == 0 && precision > 0 { "." } else { "" };
            format!("{size:.sure$}{point}{}", "0".repeat(precision - sure))
        }
        ('f', None) => {
            let decimal = Decimal::shortest(size);
            let precision = usize::try_from(decimal.count() - decimal.point).unwrap_or(0);
            decimal.plain(precision)
        }
        _ => general(size, if verb == 'G' { 'E' } else { 'e' }, precision),
    }
}

fn general(size: f64, letter: char, precision: Option<usize>) -> String {
    let decimal = precision.map_or_else(|| Decimal::shortest(size), |digits| Decimal::rounded(size, digits));
    let digits = decimal.count();
    let wanted = precision.map_or(digits, |precision| i32::try_from(precision.max(1)).unwrap_or(i32::MAX));
    let bound = match precision {
        None => SHORTEST_EXPONENT,
        Some(_) if wanted > digits && digits >= decimal.point => digits,
        Some(_) => wanted,
    };
    let exponent = decimal.point - 1;
    if exponent < -4 || exponent >= bound {
        return decimal.with_exponent(usize::try_from(wanted.min(digits) - 1).unwrap_or(0), letter);
    }
    let wanted = if wanted > decimal.point { digits } else { wanted };
    decimal.plain(usize::try_from(wanted - decimal.point).unwrap_or(0))
}

/// Mantissa and exponent of two; the mantissa has `MANTISSA_BITS` after its point.
fn parts(size: f64) -> (u64, i32) {
    let bits = size.to_bits();
    let exponent = i32::try_from((bits >> MANTISSA_BITS) & 0x7ff).unwrap_or(0);
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    if exponent == 0 { (mantissa, -1022) } else { (mantissa | (1 << MANTISSA_BITS), exponent - 1023) }
}

fn binary(size: f64) -> String {
    let (mantissa, exponent) = parts(size);
    format!("{mantissa}p{:+}", exponent - MANTISSA_BITS)
}

fn hexadecimal(size: f64, capitals: bool, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(size);
    if mantissa == 0 {
        exponent = 0;
    }
    mantissa <<= 60 - MANTISSA_BITS;
    while mantissa != 0 && mantissa & (1 << 60) == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision @ 0..15) = precision {
        let shift = precision * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let first = (mantissa >> 60) & 1;
    let fraction = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(digits @ 0..=15) => fraction[..digits].to_owned(),
        Some(digits) => format!("{fraction}{}", "0".repeat(digits - 15)),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let written = format!("0x{first}{point}{fraction}p{sign}{:02}", exponent.unsigned_abs());
    if capitals { written.to_uppercase() } else { written }
}

/// Whether the verb is one of doubles.
pub fn write(out: &mut String, flags: &Flags, number: f64, verb: char) -> bool {
    let (verb, default) = match verb {
        'v' => ('g', None),
        'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
        'f' | 'e' | 'E' => (verb, Some(6)),
        'F' => ('f', Some(6)),
        _ => return false,
    };
    let precision = flags.precision.or(default);
    let mut written = format(number.abs(), verb, precision);
    if flags.sharp && verb != 'b' {
        written = with_point(&written, verb, precision);
    }
    let sign = match (number.is_sign_negative(), flags.plus, flags.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    };
    let missing = flags.width.unwrap_or(0).saturating_sub(written.len() + 1);
    if (sign == "-" || flags.plus || flags.space) && flags.zero && !flags.minus && missing > 0 {
        out.push_str(sign);
        flags.fill(out, missing);
        out.push_str(&written);
    } else {
        flags.pad(out, &format!("{sign}{written}"));
    }
    true
}

/// With `#`, a point and the zeros that were left out.
fn with_point(written: &str, verb: char, precision: Option<usize>) -> String {
    let mut wanted = match verb {
        'g' | 'G' | 'x' => precision.map_or(6, |digits| i64::try_from(digits).unwrap_or(i64::MAX)),
        _ => 0,
    };
    let is_hexadecimal = matches!(verb, 'x' | 'X');
    let is_tail =
        |character: char| matches!(character, 'p' | 'P') || (!is_hexadecimal && matches!(character, 'e' | 'E'));
    let (mantissa, tail) = written.split_at(written.find(is_tail).unwrap_or(written.len()));
    let mut is_significant = false;
    for character in mantissa.chars().filter(|character| *character != '.') {
        is_significant |= character != '0';
        wanted -= i64::from(is_significant);
    }
    let mut out = mantissa.to_owned();
    if !mantissa.contains('.') {
        wanted -= i64::from(mantissa == "0");
        out.push('.');
    }
    out.push_str(&"0".repeat(usize::try_from(wanted).unwrap_or(0)));
    out.push_str(tail);
    out
}
