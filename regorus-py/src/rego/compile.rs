//! From texts to an engine that is ready to decide.

use std::num::NonZeroU32;
use std::time::Duration;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};

use crate::rego::complaint::Complaint;
use crate::rego::entry;
use crate::rego::evaluate::on_big_stack;
use crate::rego::memory::MemoryLimit;

#[derive(Clone, Copy)]
pub struct Limits {
    pub time_milliseconds: u32,
    pub memory_bytes: u64,
}

pub struct Source<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

/// A policy ready to decide.
pub struct Compiled {
    pub engine: Engine,
    pub package: String,
    /// The package as a reference, `data.hg.p1`.
    pub reference: String,
    pub rules: Vec<String>,
    pub ast: String,
    pub limits: Limits,
}

pub fn compile(policy: &Source<'_>, data: Option<&Value>, libraries: &[Source<'_>], limits: Limits) -> Result<Compiled, Complaint> {
    let outcome = on_big_stack(|| {
        let _limit = MemoryLimit::above_present_use(limits.memory_bytes);
        build(policy, data, libraries, limits)
    });
    outcome.unwrap_or_else(|failure| Err(Complaint::about(policy.path, failure.reason)))
}

fn build(policy: &Source<'_>, data: Option<&Value>, libraries: &[Source<'_>], limits: Limits) -> Result<Compiled, Complaint> {
    let mut engine = Engine::new();
    engine.set_gather_prints(true);
    engine.set_strict_builtin_errors(true);
    engine.set_execution_timer_config(ExecutionTimerConfig {
        limit: Duration::from_millis(u64::from(limits.time_milliseconds)),
        check_interval: NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN),
    });
    add(&mut engine, policy)?;
    let ast = engine.get_ast_as_json().map_err(|error| Complaint::about(policy.path, error.to_string()))?;
    for library in libraries {
        add(&mut engine, library)?;
    }
    if let Some(data) = data {
        engine.add_data(data.clone()).map_err(|error| Complaint::about(policy.path, error.to_string()))?;
    }
    let package = engine
        .get_packages()
        .ok()
        .and_then(|all| all.into_iter().next())
        .unwrap_or_default();
    let mut rules = Vec::new();
    for name in entry::VERDICTS.into_iter().chain(entry::DETAILS) {
        if engine.has_declared_rule_rooted_at(policy.path, name).unwrap_or(false) {
            rules.push(name.to_owned());
        }
    }
    let module = entry::module(&package, |name| rules.iter().any(|rule| rule == name));
    add(&mut engine, &Source { path: entry::PATH, text: &module })?;
    engine
        .compile_with_entrypoint(&entry::RULE.into())
        .map_err(|error| Complaint::from_engine(policy.path, policy.text, &error.to_string()))?;
    let name = package.trim_start_matches("data.").to_owned();
    Ok(Compiled { engine, package: name, reference: package, rules, ast, limits })
}

fn add(engine: &mut Engine, source: &Source<'_>) -> Result<(), Complaint> {
    engine
        .add_policy(source.path.to_owned(), source.text.to_owned())
        .map(|_| ())
        .map_err(|error| Complaint::from_engine(source.path, source.text, &error.to_string()))
}
