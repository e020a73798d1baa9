//! Lists of small numbers in a value.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};

/// The lists of so many whole numbers from 0 to 255, each with the name of the member that holds it; none for the value
/// itself. Looks at so many values, and into no longer list.
#[pyfunction]
pub fn integer_lists<'py>(
    value: Bound<'py, PyAny>,
    length: usize,
    values_max: usize,
) -> Vec<(Option<Bound<'py, PyAny>>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left: Vec<(Option<Bound<'py, PyAny>>, Bound<'py, PyAny>)> = vec![(None, value)];
    for _ in 0..values_max {
        let Some((name, one)) = left.pop() else { break };
        if let Ok(members) = one.cast::<PyDict>() {
            left.extend(members.iter().map(|(name, member)| (Some(name), member)));
        } else if let Ok(items) = one.cast::<PyList>() {
            if items.len() == length
                && let Some(numbers) = items.iter().map(|item| small_number(&item)).collect()
            {
                found.push((name, numbers));
            } else if items.len() <= values_max {
                let nested =
                    items.iter().filter(|item| item.is_instance_of::<PyDict>() || item.is_instance_of::<PyList>());
                left.extend(nested.map(|item| (name.clone(), item)));
            }
        }
    }
    found
}

fn small_number(item: &Bound<'_, PyAny>) -> Option<u8> {
    item.cast_exact::<PyInt>().ok()?.extract().ok()
}
