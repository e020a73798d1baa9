//! What a decision costs here, beside the bare crate in the same run, alternating.
//!
//! `cargo run --profile release --example compare -- POLICY.rego DATA.json INPUT.json`
//! prints medians in microseconds, from the bytes of the input to the bytes of the answer.

use std::time::Instant;

use headgate_regorus::rego::compile::{Limits, compile};
use headgate_regorus::rego::document::read_input;
use headgate_regorus::rego::entry;
use headgate_regorus::rego::evaluate::{evaluate, write_answer};
use headgate_regorus::rego::source::Source;
use regorus::{Engine, Value};

const ROUNDS: usize = 5_000;
const TRIVIAL: &str = "package trivial\nallow if input.tool == \"github\"";

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut file = |name: &str| {
        let path = arguments.next().ok_or_else(|| anyhow::anyhow!("the path of the {name} is missing"))?;
        std::fs::read_to_string(path).map_err(anyhow::Error::msg)
    };
    let (policy, data, input) = (file("policy")?, file("data")?, file("input")?);
    let data = headgate_regorus::json::engine_reader::read(data.as_bytes())
        .map_err(|refusal| anyhow::anyhow!("{}", refusal.message))?;
    measure("policy given", &policy, &data, &input)?;
    measure("trivial policy", TRIVIAL, &data, &input)
}

fn measure(name: &str, policy: &str, data: &Value, input: &str) -> anyhow::Result<()> {
    let limits = Limits { time_milliseconds: 50, memory_bytes: 64 << 20 };
    let compiled = compile(Source { path: "policy.rego", text: policy }, Some(data), &[], limits)
        .map_err(|complaint| anyhow::anyhow!("{complaint:?}"))?;
    let bare = bare_engine(policy, &compiled.package, data)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let value = read_input(input.as_bytes()).map_err(anyhow::Error::msg)?;
        let answer =
            evaluate(&compiled, entry::RULE, value, write_answer).map_err(|failure| anyhow::anyhow!(failure.reason))?;
        ours.push(start.elapsed());
        std::hint::black_box(answer);
        let start = Instant::now();
        let mut engine = bare.clone();
        engine.set_input(Value::from_json_str(input)?);
        let answer = engine.eval_rule(entry::RULE.to_owned())?.to_json_str()?;
        theirs.push(start.elapsed());
        std::hint::black_box(answer);
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    let median = |times: &[std::time::Duration]| times[ROUNDS / 2].as_secs_f64() * 1e6;
    let (ours, theirs) = (median(&ours), median(&theirs));
    println!("{name}: {ours:.1} µs, bare crate {theirs:.1} µs, ratio {:.2}", ours / theirs);
    Ok(())
}

/// The crate as it comes: the same question in one entry, no limits, no guards.
fn bare_engine(policy: &str, package: &str, data: &Value) -> anyhow::Result<Engine> {
    let mut engine = Engine::new();
    engine.add_policy(String::from("policy.rego"), policy.to_owned())?;
    engine.add_data(data.clone())?;
    let mut module = format!("package {}\nimport rego.v1\n", entry::PACKAGE);
    for name in entry::VERDICTS.into_iter().chain(entry::DETAILS) {
        if engine.has_declared_rule_rooted_at("policy.rego", name)? {
            module.push_str(&format!("out contains [\"{name}\", v] if v := data.{package}.{name}\n"));
        }
    }
    engine.add_policy(String::from("entry.rego"), module)?;
    engine.compile_with_entrypoint(&entry::RULE.into())?;
    Ok(engine)
}
