//! JSON text to Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use super::place::Refusal;
use super::scanner::{self, Builder, NumberToken};
use super::turns::Turns;

/// Python's own limit for turning text into an int (`sys.int_info.default_max_str_digits`).
pub const INTEGER_DIGITS_MAX: usize = 4_300;

pub enum ReadError {
    Refused(Refusal),
    Python(PyErr),
}

impl From<Refusal> for ReadError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<PyErr> for ReadError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

pub fn read<'py>(py: Python<'py>, text: &[u8]) -> Result<Bound<'py, PyAny>, ReadError> {
    scanner::read(text, &mut PythonBuilder { py, turns: Turns::default() })
}

struct PythonBuilder<'py> {
    py: Python<'py>,
    turns: Turns,
}

impl<'py> Builder for PythonBuilder<'py> {
    type Value = Bound<'py, PyAny>;
    type Object = Bound<'py, PyDict>;
    type Error = ReadError;

    fn null(&mut self) -> Self::Value {
        self.turns.count(self.py);
        self.py.None().into_bound(self.py)
    }

    fn boolean(&mut self, value: bool) -> Self::Value {
        self.turns.count(self.py);
        PyBool::new(self.py, value).to_owned().into_any()
    }

    fn number(&mut self, token: NumberToken<'_>, offset: usize) -> Result<Self::Value, ReadError> {
        self.turns.count(self.py);
        if token.is_integer {
            return self.integer(token, offset);
        }
        match token.text.parse::<f64>() {
            Ok(double) if double.is_finite() => Ok(PyFloat::new(self.py, double).into_any()),
            _ => Err(Refusal::new(offset, "a number too large for a double").into()),
        }
    }

    fn string(&mut self, value: &str) -> Self::Value {
        self.turns.count(self.py);
        PyString::new(self.py, value).into_any()
    }

    fn array(&mut self, items: Vec<Self::Value>) -> Result<Self::Value, ReadError> {
        self.turns.count(self.py);
        Ok(PyList::new(self.py, items)?.into_any())
    }

    fn start_object(&mut self) -> Self::Object {
        self.turns.count(self.py);
        PyDict::new(self.py)
    }

    fn insert(&mut self, object: &mut Self::Object, key: &str, value: Self::Value) -> Result<bool, ReadError> {
        self.turns.count(self.py);
        let members = object.len();
        object.set_item(PyString::new(self.py, key), value)?;
        Ok(object.len() > members)
    }

    fn finish_object(&mut self, object: Self::Object) -> Self::Value {
        object.into_any()
    }
}

impl<'py> PythonBuilder<'py> {
    fn integer(&self, token: NumberToken<'_>, offset: usize) -> Result<Bound<'py, PyAny>, ReadError> {
        if let Ok(small) = token.text.parse::<i64>() {
            return Ok(small.into_pyobject(self.py).map_or_else(|never| match never {}, Bound::into_any));
        }
        if token.digits() > INTEGER_DIGITS_MAX {
            return Err(Refusal::new(offset, format!("an integer of more than {INTEGER_DIGITS_MAX} digits")).into());
        }
        Ok(self.py.get_type::<PyInt>().call1((token.text,))?)
    }
}
