//! Builtins behind a guard: an extension of the same name looks at the arguments and calls the builtin.

use std::sync::OnceLock;

use anyhow::{Result, anyhow};
use regorus::unstable::{BUILTINS, Expr, Ref, Source, Span};
use regorus::{Engine, Value};

use super::{numbers, patterns, structures, texts};

/// What stands before, or in the place of, a builtin.
#[derive(Clone, Copy)]
pub enum Guard {
    /// Refuses arguments; what it lets pass goes to the builtin.
    Check(fn(&[Value]) -> Result<(), String>),
    /// Does the work itself.
    Instead(fn(&[Value]) -> Result<Value, String>),
}

fn guard_of(name: &str) -> Option<Guard> {
    texts::guard_of(name)
        .or_else(|| patterns::guard_of(name))
        .or_else(|| numbers::guard_of(name))
        .or_else(|| structures::guard_of(name))
}

/// Puts the guard of each of `names` that has one before the builtin.
pub fn install<'n>(engine: &mut Engine, names: impl IntoIterator<Item = &'n &'static str>) -> Result<()> {
    for name in names {
        if let (Some(guard), Some((_, arity))) = (guard_of(name), BUILTINS.get(name)) {
            let name: &'static str = name;
            engine.add_extension(
                name.to_owned(),
                *arity,
                Box::new(move |values: Vec<Value>| call(name, guard, &values)),
            )?;
        }
    }
    Ok(())
}

fn call(name: &'static str, guard: Guard, values: &[Value]) -> Result<Value> {
    let explain = |reason: String| anyhow!("{name}: {reason}");
    let value = match guard {
        Guard::Instead(work) => work(values).map_err(explain)?,
        Guard::Check(check) => {
            check(values).map_err(explain)?;
            let (function, _) = BUILTINS.get(name).ok_or_else(|| anyhow!("unknown function {name}"))?;
            let (span, parameters) = nowhere()?;
            let parameters = parameters.get(..values.len()).ok_or_else(|| anyhow!("too many arguments"))?;
            function(span, parameters, values, true)?
        }
    };
    // The engine looks at the limit after its own builtins, not after extensions.
    regorus::enforce_memory_limit()?;
    Ok(value)
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
