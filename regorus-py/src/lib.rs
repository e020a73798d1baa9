//! Python module `regorus._engine`: the engine for Rego policies, strict canonical JSON, the record's quick check,
//! the index of where values were first seen, and what detectors look for in every call.

mod allocator;
mod byte_patterns;
pub mod contain;
mod detached;
mod digit_texts;
mod encoded_tokens;
mod errors;
pub mod go_format;
pub mod go_regex;
mod integer_lists;
mod joined_texts;
pub mod json;
mod json_functions;
mod keyword_search;
mod pieces;
pub mod provenance;
pub mod record;
pub mod rego;
mod sign_search;
pub mod stack;
mod text_buffer;
mod window_network;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use regorus::cache;

/// The engine's own patterns are not used: src/go_regex and src/go_glob.rs are.
const PATTERNS_KEPT: cache::Config = cache::Config { regex: 0, glob: 512 };

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::give_back_at_once();
    contain::silence_panics();
    cache::configure(PATTERNS_KEPT);
    module.add_function(wrap_pyfunction!(json_functions::parse_json, module)?)?;
    module.add_function(wrap_pyfunction!(json_functions::canonical_json, module)?)?;
    module.add_function(wrap_pyfunction!(engine_version, module)?)?;
    module.add_function(wrap_pyfunction!(rego::builtins::catalogue::builtins, module)?)?;
    module.add_function(wrap_pyfunction!(rego::builtins::catalogue::blocked_builtins, module)?)?;
    module.add_function(wrap_pyfunction!(rego::builtins::alone::call_builtins, module)?)?;
    module.add_function(wrap_pyfunction!(rego::conformance::evaluate_case, module)?)?;
    module.add_function(wrap_pyfunction!(record::block::from_lz4_block, module)?)?;
    module.add_function(wrap_pyfunction!(record::block::lz4_block, module)?)?;
    module.add_function(wrap_pyfunction!(record::seal::seal_events, module)?)?;
    module.add_function(wrap_pyfunction!(record::window::check_window, module)?)?;
    module.add_function(wrap_pyfunction!(record::tree::leaf_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(record::tree::complete_root, module)?)?;
    module.add_function(wrap_pyfunction!(digit_texts::base85_texts, module)?)?;
    module.add_function(wrap_pyfunction!(digit_texts::long_words, module)?)?;
    module.add_function(wrap_pyfunction!(digit_texts::texts_in, module)?)?;
    module.add_function(wrap_pyfunction!(encoded_tokens::as_text, module)?)?;
    module.add_function(wrap_pyfunction!(encoded_tokens::container_of, module)?)?;
    module.add_function(wrap_pyfunction!(encoded_tokens::encoded_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(encoded_tokens::from_base64, module)?)?;
    module.add_function(wrap_pyfunction!(encoded_tokens::from_hexadecimal, module)?)?;
    module.add_function(wrap_pyfunction!(joined_texts::edges_of, module)?)?;
    module.add_function(wrap_pyfunction!(joined_texts::joined_fields, module)?)?;
    module.add_function(wrap_pyfunction!(joined_texts::joined_lines, module)?)?;
    module.add_function(wrap_pyfunction!(integer_lists::integer_lists, module)?)?;
    module.add_class::<pieces::LabelledPieces>()?;
    module.add_class::<pieces::ListedWords>()?;
    module.add_class::<byte_patterns::BytePattern>()?;
    module.add_class::<byte_patterns::ByteMatch>()?;
    module.add_class::<byte_patterns::PatternSet>()?;
    module.add_class::<byte_patterns::SetMatches>()?;
    module.add_class::<digit_texts::DigitTexts>()?;
    module.add("JOINED_CREDENTIAL_CHARACTERS_MAX", joined_texts::CREDENTIAL_CHARACTERS_MAX)?;
    module.add("JOINED_ENDS_MAX", joined_texts::ENDS_MAX)?;
    module.add("JOINED_LINES_CHARACTERS_MAX", joined_texts::LINES_CHARACTERS_MAX)?;
    module.add("LISTED_LABEL_BYTES_MAX", pieces::LABEL_BYTES_MAX)?;
    module.add("LISTED_LINES_MAX", pieces::LINES_MAX)?;
    module.add("TEXT_SEPARATOR", PyBytes::new(module.py(), text_buffer::SEPARATOR))?;
    module.add_class::<keyword_search::KeywordSearch>()?;
    module.add_class::<sign_search::SignSearch>()?;
    module.add_class::<text_buffer::TextBuffer>()?;
    module.add_class::<window_network::FeatureWeights>()?;
    module.add_class::<window_network::WindowNetwork>()?;
    module.add_class::<provenance::index::ProvenanceIndex>()?;
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
