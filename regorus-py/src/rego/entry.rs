//! The generated module that asks a policy for its whole answer in one evaluation.
//!
//! Asking for each rule by itself would evaluate everything again each time (three times as slow), and asking
//! for an absent rule is an error. `out` holds a pair for each rule that says something.

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

/// The module for a policy in `package` (a reference such as `data.hg.p1`) that has the rules in `names`.
/// False, an empty set or list, and undefined say nothing.
pub fn module(package: &str, has_rule: impl Fn(&str) -> bool) -> String {
    let mut text = format!("package {PACKAGE}\nimport rego.v1\nout contains \"\" if false\n");
    let verdicts: Vec<_> = VERDICTS.into_iter().filter(|name| has_rule(name)).collect();
    for name in &verdicts {
        let _ = writeln!(text, "out contains [\"{name}\", v] if v := {package}.{name}");
    }
    for name in DETAILS.into_iter().filter(|name| has_rule(name)) {
        let _ = writeln!(text, "out contains [\"{name}\", v] if {{ speaks; v := {package}.{name} }}");
    }
    for name in &verdicts {
        let _ = writeln!(text, "speaks if {{ v := {package}.{name}; v != false; v != set(); v != [] }}");
    }
    if verdicts.is_empty() {
        text.push_str("speaks if false\n");
    }
    text
}
