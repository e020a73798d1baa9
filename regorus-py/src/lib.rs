//! Python module `regorus._engine`: the engine for Rego policies, and strict canonical JSON.

pub mod contain;
mod errors;
pub mod json;
mod json_functions;
pub mod rego;
pub mod stack;

use pyo3::prelude::*;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    contain::silence_panics();
    module.add_function(wrap_pyfunction!(json_functions::parse_json, module)?)?;
    module.add_function(wrap_pyfunction!(json_functions::canonical_json, module)?)?;
    module.add_function(wrap_pyfunction!(engine_version, module)?)?;
    module.add_class::<rego::document::Input>()?;
    module.add_class::<rego::document::Data>()?;
    module.add_class::<rego::policy::Policy>()?;
    Ok(())
}

/// Version of the regorus crate.
#[pyfunction]
fn engine_version() -> &'static str {
    env!("REGORUS_VERSION")
}
