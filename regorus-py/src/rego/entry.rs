//! The generated module that asks a policy for its whole answer in one evaluation.
//!
//! Asking for each rule by itself would evaluate everything again each time (three times as slow), and asking
//! for an absent rule is an error. `out` is an object with a list for each rule: of its value, or empty where it has
//! none.

use std::fmt::Write as _;

/// Package of the generated module; no policy may be in it.
pub const PACKAGE: &str = "headgate_entry";
pub const PATH: &str = "<entry>";
pub const RULE: &str = "data.headgate_entry.out";

/// The rules whose values make a decision.
pub const VERDICTS: [&str; 3] = ["deny", "require_approval", "allow"];
/// The rules that explain one. Evaluated only where there is a decision to explain: an error in the reason of
/// a policy that says nothing must not count, or leaving that policy out would change the outcome.
pub const DETAILS: [&str; 4] = ["reason", "risk_level", "approval", "capture"];

/// Whether the entry asks for the rule `name`.
pub fn is_asked(name: &str) -> bool {
    VERDICTS.contains(&name) || DETAILS.contains(&name)
}

/// The module for a policy in `package` (a reference such as `data.hg.p1`) with the rules that `has_rule` knows.
/// False, an empty set or list, and undefined say nothing. One rule with a body costs half as much as a rule for each
/// member: what a rule costs the engine is its context, not its expressions.
pub fn module(package: &str, has_rule: impl Fn(&str) -> bool) -> String {
    let verdicts: Vec<_> = VERDICTS.into_iter().filter(|name| has_rule(name)).collect();
    let details: Vec<_> = DETAILS.into_iter().filter(|name| !verdicts.is_empty() && has_rule(name)).collect();
    let members: Vec<_> = verdicts.iter().chain(&details).map(|name| format!("\"{name}\": the_{name}")).collect();
    let mut text = format!("package {PACKAGE}\nimport rego.v1\nout := {{{}}} if {{\n\ttrue\n", members.join(", "));
    for name in &verdicts {
        let _ = writeln!(text, "\tthe_{name} := [v | v := {package}.{name}]");
    }
    if !details.is_empty() {
        let all: Vec<_> = verdicts.iter().map(|name| format!("the_{name}")).collect();
        let silent = ["[]", "[false]", "[set()]", "[[]]"].map(|nothing| format!("one != {nothing}")).join("; ");
        let _ = writeln!(text, "\tspoken := [1 | some one in [{}]; {silent}]", all.join(", "));
    }
    for name in details {
        let _ = writeln!(text, "\tthe_{name} := [v | spoken != []; v := {package}.{name}]");
    }
    text.push_str("}\n");
    text
}
