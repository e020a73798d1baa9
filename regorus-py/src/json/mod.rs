//! Strict JSON (RFC 8259) in, canonical JSON (RFC 8785, integers exact) out.

pub mod engine_reader;
pub mod engine_writer;
pub mod place;
pub mod python_reader;
pub mod python_writer;
pub mod scanner;
pub mod text;
pub mod turns;
