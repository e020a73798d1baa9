//! Python objects to canonical JSON.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::scanner::NESTING_MAX;
use super::text::{compare_keys, write_double, write_string};
use super::turns::Turns;

/// Members of an object that are sorted without letting other threads have the interpreter: a millisecond's work.
const SORTED_IN_A_TURN: usize = 10_000;

/// Why a value has no canonical form, and where in it.
pub struct Unwritable {
    reason: String,
    /// From the inside out.
    steps: Vec<Step>,
}

enum Step {
    Member(String),
    Item(usize),
}

impl Unwritable {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), steps: Vec::new() }
    }

    fn inside(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// `$.a[3]: …`
    pub fn describe(&self) -> String {
        let mut path = String::from("$");
        for step in self.steps.iter().rev() {
            match step {
                Step::Item(index) => path.push_str(&format!("[{index}]")),
                Step::Member(key) if is_plain(key) => path.push_str(&format!(".{key}")),
                Step::Member(key) => path.push_str(&format!("[{key:?}]")),
            }
        }
        format!("{path}: {}", self.reason)
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub fn write(value: &Bound<'_, PyAny>) -> Result<Vec<u8>, Unwritable> {
    let mut writer = Writer { out: Vec::with_capacity(1024), turns: Turns::default() };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    turns: Turns,
}

impl Writer {
    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Unwritable> {
        self.turns.count(value.py());
        if let Ok(string) = value.cast::<PyString>() {
            write_string(&mut self.out, utf8(string)?);
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.dict(dict, deeper(depth)?)?;
        } else if let Ok(list) = value.cast::<PyList>() {
            self.items(list.iter(), deeper(depth)?)?;
        } else if value.is_none() {
            self.out.extend_from_slice(b"null");
        } else if let Ok(boolean) = value.cast::<PyBool>() {
            // Before int: a bool is one.
            self.out.extend_from_slice(if boolean.is_true() { b"true" } else { b"false" });
        } else if let Ok(integer) = value.cast::<PyInt>() {
            write_integer(&mut self.out, integer)?;
        } else if let Ok(float) = value.cast::<PyFloat>() {
            write_float(&mut self.out, float.value())?;
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.items(tuple.iter(), deeper(depth)?)?;
        } else {
            return Err(Unwritable::new(format!("{} is no JSON type", type_name(value))));
        }
        Ok(())
    }

    fn items<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> Result<(), Unwritable> {
        self.out.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(&item, depth).map_err(|error| error.inside(Step::Item(index)))?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<(), Unwritable> {
        let py = dict.py();
        let mut members = Vec::with_capacity(dict.len());
        for (key, value) in dict.iter() {
            self.turns.count(py);
            let Ok(key) = key.cast_into::<PyString>() else {
                return Err(Unwritable::new("a key that is no string"));
            };
            members.push((key, value));
        }
        let mut sorted = Vec::with_capacity(members.len());
        for (place, (key, _)) in members.iter().enumerate() {
            let key = key.to_str().map_err(|_| Unwritable::new("a key with a lone surrogate"))?;
            sorted.push((key, place));
        }
        let mut sort = || sorted.sort_unstable_by(|(one, _), (other, _)| compare_keys(one, other));
        if members.len() < SORTED_IN_A_TURN {
            sort();
        } else {
            py.detach(sort);
        }
        self.out.push(b'{');
        let mut previous = None;
        for (key, place) in sorted {
            if previous.is_some() {
                self.out.push(b',');
            }
            if previous == Some(key) {
                // Possible with subclasses of str that compare as they like.
                return Err(Unwritable::new(format!("two keys {key:?}")));
            }
            previous = Some(key);
            write_string(&mut self.out, key);
            self.out.push(b':');
            let value = &members[place].1;
            self.value(value, depth).map_err(|error| error.inside(Step::Member(key.to_owned())))?;
        }
        self.out.push(b'}');
        Ok(())
    }
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| String::from("this type"), |name| name.to_string())
}

/// Also what ends a value that contains itself.
fn deeper(depth: usize) -> Result<usize, Unwritable> {
    if depth >= NESTING_MAX {
        return Err(Unwritable::new(format!("nested more than {NESTING_MAX} deep")));
    }
    Ok(depth + 1)
}

fn utf8<'a>(string: &'a Bound<'_, PyString>) -> Result<&'a str, Unwritable> {
    string.to_str().map_err(|_| Unwritable::new("a string with a lone surrogate"))
}

fn write_integer(out: &mut Vec<u8>, integer: &Bound<'_, PyInt>) -> Result<(), Unwritable> {
    if let Ok(small) = integer.extract::<i64>() {
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(digits.format(small).as_bytes());
        return Ok(());
    }
    // int.__str__ itself: an IntEnum prints its name. It refuses more than 4,300 digits.
    let too_long = |_: PyErr| Unwritable::new("an integer with more digits than Python converts to text");
    let text = integer.py().get_type::<PyInt>().call_method1("__repr__", (integer,)).map_err(too_long)?;
    let digits = text.extract::<String>().map_err(too_long)?;
    out.extend_from_slice(digits.as_bytes());
    Ok(())
}

fn write_float(out: &mut Vec<u8>, double: f64) -> Result<(), Unwritable> {
    if !double.is_finite() {
        return Err(Unwritable::new(format!("{double} is no JSON number")));
    }
    write_double(out, double);
    Ok(())
}
