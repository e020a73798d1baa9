//! One evaluation: limited in time and memory, on a stack of its own, no panic getting out.

use cpu_time::ThreadTime;
use regorus::{LimitError, Value};

use crate::contain::contained;
use crate::json::engine_writer;
use crate::rego::compile::{Compiled, Limits};
use crate::rego::complaint::place_in;
use crate::rego::failure::{Failure, FailureKind};
use crate::rego::memory::MemoryLimit;
use crate::rego::syntax::moved::Moved;
use crate::stack;

/// How often one call is evaluated on a machine that is too busy for it.
const ATTEMPTS_MAX: u32 = 3;

/// Runs `work` on a big stack; a panic in it is the error.
pub fn on_big_stack<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let contained = || contained(work).unwrap_or_else(|panic| Err(Failure::panic(&*panic)));
    stack::on_big_stack(contained, Result::is_ok)
        .unwrap_or_else(|error| Err(Failure::memory(format!("no stack to evaluate on: {error}"))))
}

/// Evaluates `rule` with a copy of the engine (a few reference counts) and hands its value to `finish`.
///
/// The engine's timer knows only the clock on the wall. Where it ends an evaluation that did not have the
/// processor for as long, the machine was busy, not the policy: it is evaluated again.
pub fn evaluate<T>(
    compiled: &Compiled,
    rule: &str,
    input: Value,
    finish: impl Fn(&Value) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Limits { time_milliseconds, memory_bytes } = compiled.limits;
    on_big_stack(move || {
        let _limit = MemoryLimit::above_present_use(memory_bytes);
        let allowed = u128::from(time_milliseconds);
        let started = ThreadTime::now();
        for _ in 0..ATTEMPTS_MAX {
            let mut engine = compiled.engine.clone();
            engine.set_input(input.clone());
            match engine.eval_rule(rule.to_owned()) {
                Ok(value) => return finish(&value),
                Err(error) => {
                    let failure = failure_of(&error, &compiled.moved);
                    if failure.kind != FailureKind::TimeLimit || started.elapsed().as_millis() >= allowed {
                        return Err(failure);
                    }
                }
            }
        }
        Err(Failure::time("the machine is too busy to evaluate the policy in time"))
    })
}

pub fn failure_of(error: &anyhow::Error, moved: &Moved) -> Failure {
    let text = error.to_string();
    let kind = match error.downcast_ref::<LimitError>() {
        Some(LimitError::TimeLimitExceeded { .. }) => FailureKind::TimeLimit,
        Some(LimitError::MemoryLimitExceeded { .. }) => FailureKind::MemoryLimit,
        // Raised below a guarded builtin, a limit arrives as text.
        _ if text.contains("exceeded time limit") => FailureKind::TimeLimit,
        _ if text.contains("exceeded memory limit") => FailureKind::MemoryLimit,
        _ => FailureKind::Error,
    };
    let reason = match kind {
        FailureKind::TimeLimit => String::from("the policy exceeded its time limit"),
        FailureKind::MemoryLimit => String::from("the policy exceeded its memory limit"),
        _ => place_and_message(&text, moved),
    };
    Failure { reason, kind }
}

/// The engine's picture of the place as one line: `policy.rego:3:5: …`.
fn place_and_message(text: &str, moved: &Moved) -> String {
    let message = text.rsplit_once("error: ").map_or(text, |(_, message)| message).trim();
    let path = text.split_once("--> ").and_then(|(_, rest)| rest.split_once(':')).map(|(path, _)| path);
    match path.and_then(|path| place_in(path, text).map(|place| (path, place))) {
        Some((path, place)) => {
            let (line, column) = moved.place(path, place);
            format!("{path}:{line}:{column}: {message}")
        }
        None => message.to_owned(),
    }
}

/// The answer of the entry module as a JSON object of the values that there are.
pub fn write_answer(answer: &Value) -> Result<Vec<u8>, Failure> {
    let unanswered = || Failure::error(String::from("the policy gave no answer"));
    let Value::Object(answer) = answer else { return Err(unanswered()) };
    let mut members: Vec<(&str, &Value)> = Vec::new();
    for (name, values) in answer.iter() {
        let (Value::String(name), Value::Array(values)) = (name, values) else { return Err(unanswered()) };
        if let Some(value) = values.get(0) {
            members.push((name, value));
        }
    }
    members.sort_by_key(|(name, _)| *name);
    let mut out = Vec::with_capacity(128);
    out.push(b'{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        crate::json::text::write_string(&mut out, name);
        out.push(b':');
        engine_writer::write(&mut out, value)
            .map_err(|reason| Failure::error(format!("the value of {name}: {reason}")))?;
    }
    out.push(b'}');
    Ok(out)
}

/// Any value as JSON; nothing where it is undefined.
pub fn write_value(value: &Value) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    if *value != Value::Undefined {
        engine_writer::write(&mut out, value).map_err(Failure::error)?;
    }
    Ok(out)
}
