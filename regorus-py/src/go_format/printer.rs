//! The loop over a format: flags, argument numbers, width, precision, verb.

use regorus::Value;

use super::flags::Flags;
use super::{floats, integers, term, texts};

/// A width or a precision beyond it is no number for Go.
const NUMBER_MAX: i64 = 1_000_000;
const MISSING: &str = "(MISSING)";
const BAD_INDEX: &str = "(BADINDEX)";

enum Argument {
    Integer(i64),
    Long(num_bigint::BigInt),
    Double(f64),
    Text(String),
}

impl Argument {
    fn of(value: &Value, bytes_max: usize) -> Result<Self, String> {
        Ok(match value {
            Value::Number(number) => match (number.as_i64(), number.as_big(), number.as_f64()) {
                (Some(integer), ..) => Self::Integer(integer),
                (_, Some(long), _) if !term::has_one_spelling(&long) => return Err(String::from(term::AMBIGUOUS)),
                (_, Some(long), _) => Self::Long((*long).clone()),
                (.., Some(double)) => Self::Double(double),
                _ => return Err(String::from("a number that is neither whole nor a double")),
            },
            Value::String(text) => Self::Text(text.to_string()),
            other => {
                let mut text = String::new();
                term::write(&mut text, other, bytes_max)?;
                Self::Text(text)
            }
        })
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "int64",
            Self::Long(_) => "*big.Int",
            Self::Double(_) => "float64",
            Self::Text(_) => "string",
        }
    }

    fn write(&self, out: &mut String, flags: &Flags, verb: char) -> Result<(), String> {
        if verb == 'T' {
            texts::write(out, flags, self.kind(), 's');
            return Ok(());
        }
        let is_known = match self {
            Self::Integer(number) => integers::write(out, flags, *number, verb),
            Self::Double(number) => floats::write(out, flags, *number, verb),
            Self::Text(text) => texts::write(out, flags, text, verb),
            // Go writes where it lies in memory.
            Self::Long(_) if matches!(verb, 'p' | 'w') => return Err(format!("%{verb} of a long integer")),
            Self::Long(number) => {
                if !integers::write_long(out, flags, number, verb) {
                    out.push_str(&format!("%!{verb}(big.Int={number})"));
                }
                true
            }
        };
        if !is_known {
            out.push_str(&format!("%!{verb}({}=", self.kind()));
            self.write(out, flags, 'v')?;
            out.push(')');
        }
        Ok(())
    }
}

/// `fmt.Sprintf`; an error where it is longer than `bytes_max`.
pub fn sprintf(format: &str, values: &[Value], bytes_max: usize) -> Result<String, String> {
    let arguments = values.iter().map(|value| Argument::of(value, bytes_max)).collect::<Result<Vec<_>, _>>()?;
    let mut printer = Printer {
        rest: format,
        arguments: &arguments,
        next: 0,
        is_reordered: false,
        is_good: true,
        out: String::with_capacity(format.len()),
    };
    while let Some((before, after)) = printer.rest.split_once('%') {
        printer.out.push_str(before);
        printer.rest = after;
        if !printer.verb()? {
            break;
        }
        if printer.out.len() > bytes_max {
            return Err(format!("a text of more than {bytes_max} bytes"));
        }
    }
    printer.out.push_str(printer.rest);
    printer.extra()?;
    Ok(printer.out)
}

struct Printer<'a> {
    rest: &'a str,
    arguments: &'a [Argument],
    next: usize,
    is_reordered: bool,
    is_good: bool,
    out: String,
}

impl Printer<'_> {
    fn take(&mut self, character: char) -> bool {
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            let flag = match self.rest.as_bytes().first() {
                Some(b'#') => &mut flags.sharp,
                Some(b'0') => &mut flags.zero,
                Some(b'+') => &mut flags.plus,
                Some(b'-') => &mut flags.minus,
                Some(b' ') => &mut flags.space,
                _ => return flags,
            };
            *flag = true;
            self.rest = &self.rest[1..];
        }
    }

    /// Digits at the beginning; a number that is far too long ends the format.
    fn number(&mut self) -> Option<i64> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut number = 0_i64;
        for digit in self.rest.bytes().take(digits) {
            if number > NUMBER_MAX {
                self.rest = "";
                return None;
            }
            number = number * 10 + i64::from(digit - b'0');
        }
        self.rest = &self.rest[digits..];
        (digits > 0).then_some(number)
    }

    /// `[2]`: the argument that is next. Whether there is such a number.
    fn index(&mut self) -> bool {
        if !self.rest.starts_with('[') {
            return false;
        }
        self.is_reordered = true;
        let Some(end) = self.rest.find(']').filter(|_| self.rest.len() >= 3) else {
            self.rest = &self.rest[1..];
            self.is_good = false;
            return false;
        };
        let (inner, rest) = (&self.rest[1..end], &self.rest[end + 1..]);
        let mut within = Printer { rest: inner, out: String::new(), ..*self };
        let number = within.number().filter(|_| within.rest.is_empty() && !inner.is_empty());
        self.rest = rest;
        let wanted = number.and_then(|number| usize::try_from(number - 1).ok());
        match wanted.filter(|wanted| *wanted < self.arguments.len()) {
            Some(wanted) => self.next = wanted,
            None => self.is_good = false,
        }
        number.is_some()
    }

    /// `*`: the next argument, where it is an integer that is not too large.
    fn star(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        match argument {
            Argument::Integer(number) if (-NUMBER_MAX..=NUMBER_MAX).contains(number) => Some(*number),
            _ => None,
        }
    }

    fn width(&mut self, flags: &mut Flags, after_index: &mut bool) {
        if self.take('*') {
            let width = self.star();
            match width {
                None => self.out.push_str("%!(BADWIDTH)"),
                Some(..0) => (flags.minus, flags.zero) = (true, false),
                Some(_) => {}
            }
            flags.width = width.and_then(|width| usize::try_from(width.unsigned_abs()).ok());
            *after_index = false;
            return;
        }
        flags.width = self.number().and_then(|width| usize::try_from(width).ok());
        if *after_index && flags.width.is_some() {
            self.is_good = false;
        }
    }

    fn precision(&mut self, flags: &mut Flags, after_index: &mut bool) {
        // A point at the end of the format is a verb.
        if self.rest.len() < 2 || !self.take('.') {
            return;
        }
        if *after_index {
            self.is_good = false;
        }
        *after_index = self.index();
        if self.take('*') {
            flags.precision = self.star().and_then(|precision| usize::try_from(precision).ok());
            if flags.precision.is_none() {
                self.out.push_str("%!(BADPREC)");
            }
            *after_index = false;
            return;
        }
        flags.precision = Some(self.number().and_then(|precision| usize::try_from(precision).ok()).unwrap_or(0));
    }

    /// What follows a percent sign; false at the end of the format.
    fn verb(&mut self) -> Result<bool, String> {
        self.is_good = true;
        let mut flags = self.flags();
        let is_simple = self.rest.starts_with(|first: char| first.is_ascii_lowercase());
        if !is_simple || self.next >= self.arguments.len() {
            let mut after_index = self.index();
            self.width(&mut flags, &mut after_index);
            self.precision(&mut flags, &mut after_index);
            if !after_index {
                self.index();
            }
        }
        let mut characters = self.rest.chars();
        let Some(verb) = characters.next() else {
            self.out.push_str("%!(NOVERB)");
            return Ok(false);
        };
        self.rest = characters.as_str();
        let argument = self.arguments.get(self.next);
        match argument {
            _ if verb == '%' => self.out.push('%'),
            _ if !self.is_good => self.out.push_str(&format!("%!{verb}{BAD_INDEX}")),
            None => self.out.push_str(&format!("%!{verb}{MISSING}")),
            Some(argument) => {
                if matches!(verb, 'v' | 'w') {
                    (flags.sharp_value, flags.plus_value) = (flags.sharp, flags.plus);
                    (flags.sharp, flags.plus) = (false, false);
                }
                argument.write(&mut self.out, &flags, verb)?;
                self.next += 1;
            }
        }
        Ok(true)
    }

    /// Arguments that no verb has asked for.
    fn extra(&mut self) -> Result<(), String> {
        let left = self.arguments.get(self.next..).unwrap_or_default();
        if self.is_reordered || left.is_empty() {
            return Ok(());
        }
        self.out.push_str("%!(EXTRA ");
        for (index, argument) in left.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(argument.kind());
            self.out.push('=');
            argument.write(&mut self.out, &Flags::default(), 'v')?;
        }
        self.out.push(')');
        Ok(())
    }
}
