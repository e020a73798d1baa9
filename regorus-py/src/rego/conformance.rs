//! One of OPA's own cases, evaluated with the checks, guards and limits of a policy.
//!
//! A case is a query over modules of any package, and says whether errors of builtins are errors; a policy
//! is asked for its verdicts alone, and they always are. Everything between is the same code.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use regorus::{Engine, QueryResult, Value};

use crate::errors::{evaluation_error, rego_error};
use crate::go_regex::Patterns;
use crate::json::{engine_reader, engine_writer};
use crate::rego::builtins::guard;
use crate::rego::calculating::calculating;
use crate::rego::checks;
use crate::rego::compile::{Limits, limit};
use crate::rego::complaint::Complaint;
use crate::rego::evaluate::{failure_of, on_big_stack};
use crate::rego::failure::Failure;
use crate::rego::memory::MemoryLimit;
use crate::rego::parsed::{Parsed, sources};
use crate::rego::program::Program;
use crate::rego::source::Source;
use crate::rego::syntax::moved::Moved;

const LIMITS: Limits = Limits { time_milliseconds: 2_000, memory_bytes: 256 << 20 };

struct Case<'a> {
    query: &'a str,
    modules: &'a [(String, String)],
    data: Option<&'a [u8]>,
    input: Option<&'a [u8]>,
    /// An input that JSON cannot say, as a term of Rego.
    input_term: Option<&'a str>,
    strict: bool,
}

enum Trouble {
    Refused(Complaint),
    Failed(Failure),
}

/// The bindings of each result of `query`, or its value where it binds nothing, as a JSON list. A module
/// that is refused raises RegoError, an evaluation that fails EvaluationError.
#[pyfunction]
#[pyo3(signature = (query, modules, *, data = None, input = None, input_term = None, strict = false))]
pub fn evaluate_case<'py>(
    py: Python<'py>,
    query: &str,
    modules: Vec<(String, String)>,
    data: Option<&[u8]>,
    input: Option<&[u8]>,
    input_term: Option<&str>,
    strict: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let case = Case { query, modules: &modules, data, input, input_term, strict };
    let outcome = py.detach(|| {
        on_big_stack(|| {
            let _limit = MemoryLimit::above_present_use(LIMITS.memory_bytes);
            Ok(evaluate(&case))
        })
    });
    match outcome {
        Ok(Ok(json)) => Ok(PyBytes::new(py, &json)),
        Ok(Err(Trouble::Refused(complaint))) => Err(rego_error(py, complaint)),
        Ok(Err(Trouble::Failed(failure))) | Err(failure) => Err(evaluation_error(py, failure)),
    }
}

fn evaluate(case: &Case<'_>) -> Result<Vec<u8>, Trouble> {
    let mut engine = prepare(case)?;
    let failed = |error: anyhow::Error| Trouble::Failed(failure_of(&error, &Moved::default()));
    if let Some(input) = case.input {
        engine.set_input(read(input)?);
    }
    if let Some(term) = case.input_term {
        let results = engine.eval_query(term.to_owned(), false).map_err(failed)?;
        let value = results.result.last().and_then(|result| result.expressions.last()).map(|last| last.value.clone());
        engine.set_input(value.unwrap_or(Value::Undefined));
    }
    let results = engine.eval_query(case.query.to_owned(), false).map_err(failed)?;
    let values: Vec<_> = results.result.iter().map(value_of).collect();
    let mut json = Vec::new();
    engine_writer::write(&mut json, &Value::from(values)).map_err(|why| Trouble::Failed(Failure::error(why)))?;
    Ok(json)
}

fn prepare(case: &Case<'_>) -> Result<Engine, Trouble> {
    let refused = |error: anyhow::Error| Trouble::Refused(Complaint::about("case", error.to_string()));
    let written: Vec<_> = case.modules.iter().map(|(path, text)| Source { path, text }).collect();
    let parsed = Parsed::read(&written).map_err(Trouble::Refused)?;
    let Parsed { engine, modules, rewritten } = parsed;
    let sources = sources(&rewritten, &written);
    let program = Program::new(sources.into_iter().zip(modules.iter().map(AsRef::as_ref)).collect());
    checks::check(&program).map_err(Trouble::Refused)?;
    let (mut engine, _) = calculating(engine, &program, case.strict).map_err(Trouble::Refused)?;
    limit(&mut engine, LIMITS);
    engine.set_strict_builtin_errors(case.strict);
    guard::install(&mut engine, guard::every_name(), Patterns::default(), case.strict).map_err(refused)?;
    if let Some(data) = case.data {
        engine.add_data(read(data)?).map_err(refused)?;
    }
    Ok(engine)
}

fn read(json: &[u8]) -> Result<Value, Trouble> {
    engine_reader::read(json).map_err(|refusal| Trouble::Failed(Failure::error(refusal.describe(json))))
}

fn value_of(result: &QueryResult) -> Value {
    match &result.bindings {
        Value::Object(bindings) if !bindings.is_empty() => result.bindings.clone(),
        _ => result.expressions.last().map_or(Value::Undefined, |last| last.value.clone()),
    }
}
