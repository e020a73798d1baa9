//! Builtins behind a guard: an extension of the same name looks at the arguments and calls the builtin.

use std::sync::{Arc, OnceLock};

use anyhow::{Result, anyhow};
use regorus::unstable::{BUILTINS, Expr, Ref, Source, Span};
use regorus::{Engine, LimitError, Value};

use super::added::{self, Added};
use super::{
    cases, dates, equal, indent, numbers, operators, order, paths, patterns, queries, structures, texts, versions, yaml,
};
use crate::go_regex::Patterns;

/// What stands before, or in the place of, a builtin.
#[derive(Clone, Copy)]
pub enum Guard {
    /// Refuses arguments; what it lets pass goes to the builtin.
    Check(fn(&[Value]) -> Result<(), String>),
    /// Answers, or leaves it to the builtin.
    Unless(fn(&[Value]) -> Result<Option<Value>, String>),
    /// Does the work itself.
    Instead(fn(&[Value]) -> Result<Value, String>),
    /// Does the work itself, with the patterns of its policy.
    Matching(fn(&Patterns, &[Value]) -> Result<Value, String>),
}

fn guard_of(name: &str) -> Option<Guard> {
    equal::guard_of(name)
        .or_else(|| indent::guard_of(name))
        .or_else(|| yaml::guard_of(name))
        .or_else(|| order::guard_of(name))
        .or_else(|| versions::guard_of(name))
        .or_else(|| cases::guard_of(name))
        .or_else(|| texts::guard_of(name))
        .or_else(|| patterns::guard_of(name))
        .or_else(|| numbers::guard_of(name))
        .or_else(|| queries::guard_of(name))
        .or_else(|| paths::guard_of(name))
        .or_else(|| dates::guard_of(name))
        .or_else(|| structures::guard_of(name))
}

/// Puts the guard of each of `names` that has one before the builtin, and adds those that are ours. Where
/// errors are not `strict`, a call that fails is undefined, as OPA has it by default.
pub fn install(
    engine: &mut Engine,
    names: impl IntoIterator<Item = &'static str>,
    patterns: Patterns,
    strict: bool,
) -> Result<()> {
    let patterns = Arc::new(patterns);
    for name in names {
        let (arity, work) = match (added::find(name), guard_of(name), BUILTINS.get(name)) {
            (Some(ours), _, _) => (ours.arity, Work::Ours(ours)),
            (None, Some(guard), Some((_, arity))) => (*arity, Work::Guarded(guard)),
            _ => continue,
        };
        let patterns = Arc::clone(&patterns);
        let call = move |values: Vec<Value>| match call(name, work, &patterns, &values) {
            Err(error) if !strict && !is_limit(&error) => Ok(Value::Undefined),
            outcome => outcome,
        };
        engine.add_extension(name.to_owned(), arity, Box::new(call))?;
    }
    Ok(())
}

/// Adds the function that calculates expressions (`syntax::operators`) under `name`.
pub fn install_operators(engine: &mut Engine, name: &str, strict: bool) -> Result<()> {
    let call = move |values: Vec<Value>| match operators::calculate(&values) {
        Err(_) if !strict => Ok(Value::Undefined),
        outcome => {
            regorus::enforce_memory_limit()?;
            outcome.map_err(|reason| anyhow!(reason))
        }
    };
    engine.add_extension(name.to_owned(), 2, Box::new(call))
}

/// One call of the builtin of that name, without a policy.
pub fn call_alone(name: &str, values: &[Value]) -> Result<Value> {
    let (name, work) = match (added::find(name), guard_of(name), BUILTINS.get_key_value(name)) {
        (Some(ours), _, _) => (ours.name, Work::Ours(ours)),
        (None, Some(guard), Some((name, _))) => (*name, Work::Guarded(guard)),
        (None, None, Some((name, _))) => return engines_own(name, values),
        _ => return Err(anyhow!("unknown function {name}")),
    };
    call(name, work, &Patterns::default(), values)
}

/// All that may be called.
pub fn every_name() -> impl Iterator<Item = &'static str> {
    let ours = added::all().map(|ours| ours.name);
    let engines = BUILTINS.keys().copied().filter(|name| added::find(name).is_none());
    ours.chain(engines)
}

fn is_limit(error: &anyhow::Error) -> bool {
    error.downcast_ref::<LimitError>().is_some()
}

#[derive(Clone, Copy)]
enum Work {
    Ours(&'static Added),
    Guarded(Guard),
}

fn call(name: &'static str, work: Work, patterns: &Patterns, values: &[Value]) -> Result<Value> {
    let explain = |reason: String| anyhow!("{name}: {reason}");
    equal::check(name, values).map_err(explain)?;
    let value = match work {
        Work::Ours(ours) => ours.call(values).map_err(explain)?,
        Work::Guarded(Guard::Instead(work)) => work(values).map_err(explain)?,
        Work::Guarded(Guard::Matching(work)) => work(patterns, values).map_err(explain)?,
        Work::Guarded(Guard::Check(check)) => {
            check(values).map_err(explain)?;
            engines_own(name, values)?
        }
        Work::Guarded(Guard::Unless(work)) => match work(values).map_err(explain)? {
            Some(value) => value,
            None => engines_own(name, values)?,
        },
    };
    equal::check_result(name, values, &value).map_err(explain)?;
    // The engine looks at the limit after its own builtins, not after extensions.
    regorus::enforce_memory_limit()?;
    Ok(value)
}

/// The builtin itself.
pub fn engines_own(name: &str, values: &[Value]) -> Result<Value> {
    let (function, _) = BUILTINS.get(name).ok_or_else(|| anyhow!("unknown function {name}"))?;
    let (span, parameters) = nowhere()?;
    let parameters = parameters.get(..values.len()).ok_or_else(|| anyhow!("too many arguments"))?;
    function(span, parameters, values, true)
}

/// A place for builtins to complain about; the engine puts the call's own place before it.
fn nowhere() -> Result<&'static (Span, Vec<Ref<Expr>>)> {
    static NOWHERE: OnceLock<(Span, Vec<Ref<Expr>>)> = OnceLock::new();
    if let Some(place) = NOWHERE.get() {
        return Ok(place);
    }
    let source = Source::from_contents(String::from("builtin"), String::from("builtin"))?;
    let span = Span { source, line: 1, col: 1, start: 0, end: 7 };
    let parameter = || Ref::new(Expr::Null { span: span.clone(), value: Value::Null, eidx: 0 });
    let parameters = (0..8).map(|_| parameter()).collect();
    Ok(NOWHERE.get_or_init(|| (span, parameters)))
}
