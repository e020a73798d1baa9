//! From texts to an engine that is ready to decide.

use std::num::NonZeroU32;
use std::time::Duration;

use regorus::unstable::{Module, Ref};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};

use crate::rego::builtins::guard;
use crate::rego::checks::{calls, packages, recursion, size, text};
use crate::rego::complaint::Complaint;
use crate::rego::entry;
use crate::rego::evaluate::on_big_stack;
use crate::rego::memory::MemoryLimit;
use crate::rego::parse::{add, parse};
use crate::rego::program::Program;
use crate::rego::source::Source;
use crate::rego::syntax::names::{arity, dotted, rule_path};
use crate::rego::syntax::prints::without_prints;

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
}

/// Work units between looks at the clock. A multiplication can double the length of a number, and eight of
/// them between two looks would take a thousand times as long as the first.
const TICKS: u32 = 8;
const TICKS_WHERE_NUMBERS_GROW: u32 = 1;

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
    let sources: Vec<_> = std::iter::once(policy).chain(libraries.iter().copied()).collect();
    for (index, source) in sources.iter().enumerate() {
        if source.path == entry::PATH || sources[..index].iter().any(|other| other.path == source.path) {
            return Err(Complaint::about(source.path, "two modules have this name"));
        }
        text::check(source.path, source.text)?;
    }
    let mut engine = Engine::new();
    let mut modules = parse(&mut engine, &sources)?;
    size::check_program(policy.path, &modules)?;
    let printless = without_any_prints(&modules, &sources)?;
    if printless.iter().any(Option::is_some) {
        let sources: Vec<_> = sources
            .iter()
            .zip(&printless)
            .map(|(source, text)| Source { path: source.path, text: text.as_deref().unwrap_or(source.text) })
            .collect();
        engine = Engine::new();
        modules = parse(&mut engine, &sources)?;
    }
    let program = Program::new(sources.iter().copied().zip(modules.iter().map(AsRef::as_ref)).collect());
    check_packages(&program, data)?;
    let builtins = calls::check(&program)?;
    recursion::check(&program)?;
    let rules = rule_names(&program)?;
    let about = |error: anyhow::Error| Complaint::from_engine(policy.path, policy.text, &error.to_string());
    let grows = modules.iter().any(|module| size::multiplies(module));
    limit_time(&mut engine, limits, if grows { TICKS_WHERE_NUMBERS_GROW } else { TICKS });
    guard::install(&mut engine, &builtins).map_err(about)?;
    if let Some(data) = data {
        engine.add_data(data.clone()).map_err(about)?;
    }
    let package = dotted(&program.parts[0].package);
    let has_rule = |name: &str| rules.iter().any(|rule| rule.split(['.', '[']).next() == Some(name));
    let generated = entry::module(&reference(&package), has_rule);
    add(&mut engine, &Source { path: entry::PATH, text: &generated })?;
    engine.compile_with_entrypoint(&entry::RULE.into()).map_err(about)?;
    Ok(Compiled { engine, package, rules, limits })
}

/// `data.hg.p1`, `data["my package"]`
pub fn reference(path: &str) -> String {
    if path.starts_with('[') { format!("data{path}") } else { format!("data.{path}") }
}

fn without_any_prints(modules: &[Ref<Module>], sources: &[Source<'_>]) -> Result<Vec<Option<String>>, Complaint> {
    modules
        .iter()
        .zip(sources)
        .map(|(module, source)| {
            size::check(source, module)?;
            Ok(without_prints(module, source.text))
        })
        .collect()
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

fn limit_time(engine: &mut Engine, limits: Limits, ticks: u32) {
    engine.set_gather_prints(true);
    engine.set_strict_builtin_errors(true);
    engine.set_execution_timer_config(ExecutionTimerConfig {
        limit: Duration::from_millis(u64::from(limits.time_milliseconds)),
        check_interval: NonZeroU32::new(ticks).unwrap_or(NonZeroU32::MIN),
    });
}
