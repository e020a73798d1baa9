//! From texts to an engine that is ready to decide.

use std::num::NonZeroU32;
use std::time::Duration;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};

use crate::rego::builtins::guard;
use crate::rego::calculating::calculating;
use crate::rego::checks::{self, packages, patterns};
use crate::rego::complaint::Complaint;
use crate::rego::entry;
use crate::rego::evaluate::on_big_stack;
use crate::rego::memory::MemoryLimit;
use crate::rego::parse::add;
use crate::rego::parsed::{Parsed, sources};
use crate::rego::program::Program;
use crate::rego::source::Source;
use crate::rego::syntax::moved::Moved;
use crate::rego::syntax::names::{arity, dotted, rule_path};

/// Work units between looks at the clock.
const TICKS: NonZeroU32 = NonZeroU32::new(8).unwrap();

#[derive(Clone, Copy)]
pub struct Limits {
    pub time_milliseconds: u32,
    pub memory_bytes: u64,
}

/// A policy ready to decide.
pub struct Compiled {
    pub engine: Engine,
    /// `hg.p1`
    pub package: String,
    /// The rules of its own package, functions left out.
    pub rules: Vec<String>,
    pub limits: Limits,
    /// For the columns in errors.
    pub moved: Moved,
}

pub fn compile(
    policy: Source<'_>,
    data: Option<&Value>,
    libraries: &[Source<'_>],
    limits: Limits,
) -> Result<Compiled, Complaint> {
    let outcome = on_big_stack(|| {
        let _limit = MemoryLimit::above_present_use(limits.memory_bytes);
        Ok(build(policy, data, libraries, limits))
    });
    outcome.unwrap_or_else(|failure| Err(Complaint::about(policy.path, failure.reason)))
}

fn build(
    policy: Source<'_>,
    data: Option<&Value>,
    libraries: &[Source<'_>],
    limits: Limits,
) -> Result<Compiled, Complaint> {
    let written: Vec<_> = std::iter::once(policy).chain(libraries.iter().copied()).collect();
    let parsed = Parsed::read(&written)?;
    let Parsed { engine, modules, rewritten } = parsed;
    let sources = sources(&rewritten, &written);
    let program = Program::new(sources.into_iter().zip(modules.iter().map(AsRef::as_ref)).collect());
    check_packages(&program, data)?;
    let builtins = checks::check(&program)?;
    let patterns = patterns::check(&program)?;
    let rules = rule_names(&program)?;
    let about = |error: anyhow::Error| Complaint::from_engine(policy.path, policy.text, &error.to_string());
    let package = dotted(&program.parts[0].package);
    let (mut engine, moved) = calculating(engine, &program, true)?;
    limit(&mut engine, limits);
    guard::install(&mut engine, builtins, patterns, true).map_err(about)?;
    if let Some(data) = data {
        engine.add_data(data.clone()).map_err(about)?;
    }
    let has_rule = |name: &str| rules.iter().any(|rule| rule.split(['.', '[']).next() == Some(name));
    let generated = entry::module(&reference(&package), has_rule);
    add(&mut engine, &Source { path: entry::PATH, text: &generated })?;
    engine.compile_with_entrypoint(&entry::RULE.into()).map_err(about)?;
    Ok(Compiled { engine, package, rules, limits, moved })
}

/// `data.hg.p1`, `data["my package"]`
pub fn reference(path: &str) -> String {
    if path.starts_with('[') { format!("data{path}") } else { format!("data.{path}") }
}

fn check_packages(program: &Program<'_>, data: Option<&Value>) -> Result<(), Complaint> {
    for (index, part) in program.parts.iter().enumerate() {
        let check = if index == 0 { packages::check_policy } else { packages::check_library };
        check(part.source.path, &part.package)?;
        packages::check_imports(&part.source, part.module)?;
        if let Some(data) = data {
            packages::check_data(part.source.path, &part.package, data)?;
        }
    }
    match data {
        Some(data) => packages::check_data(entry::PATH, &[entry::PACKAGE.to_owned()], data),
        None => Ok(()),
    }
}

fn rule_names(program: &Program<'_>) -> Result<Vec<String>, Complaint> {
    let policy = &program.parts[0];
    let mut names = Vec::new();
    for rule in &policy.module.policy {
        let path = rule_path(rule);
        let name = dotted(&path);
        let is_asked = path.first().is_some_and(|root| entry::is_asked(root));
        if arity(rule).is_some() {
            if is_asked {
                let message = format!("{name} is what the policy answers, and cannot be a function");
                return Err(policy.source.complain(rule.span(), message));
            }
        } else if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// What every engine here runs under.
pub fn limit(engine: &mut Engine, limits: Limits) {
    engine.set_gather_prints(true);
    engine.set_strict_builtin_errors(true);
    engine.set_execution_timer_config(ExecutionTimerConfig {
        limit: Duration::from_millis(u64::from(limits.time_milliseconds)),
        check_interval: TICKS,
    });
}
