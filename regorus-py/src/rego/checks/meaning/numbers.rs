//! Numbers that are not what their text says: the engine keeps fractions as doubles and no spelling, OPA both.

use regorus::unstable::{Expr, Span};

use super::Meaning;

/// What writes numbers as OPA's policy spells them: `json.marshal(1e2)` is `1e2` there.
const WRITERS: [&str; 4] = ["json.marshal", "json.marshal_with_options", "sprintf", "yaml.marshal"];

pub fn expression(meaning: &mut Meaning<'_, '_>, expression: &Expr) {
    match expression {
        Expr::Number { span, .. } if is_rounded(span.text()) => {
            meaning.complain(span, "more digits than are kept: write a number that a double holds");
        }
        Expr::Call { fcn, params, .. } if meaning.builtin(fcn).is_some_and(|(name, _)| WRITERS.contains(&name)) => {
            if let Some(span) = params.iter().find_map(|parameter| spelled(parameter)) {
                meaning.complain(span, "OPA writes this number as it is spelled: leave exponent and last zeros out");
            }
        }
        _ => {}
    }
}

/// The first number of a value that is written out which has another spelling than JSON's.
fn spelled(value: &Expr) -> Option<&Span> {
    match value {
        Expr::Number { span, .. } => (!is_plain(span.text())).then_some(span),
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().find_map(|item| spelled(item)),
        Expr::Object { fields, .. } => {
            fields.iter().find_map(|(_, key, value)| spelled(key).or_else(|| spelled(value)))
        }
        _ => None,
    }
}

/// `1.5`, `100`; not `1.50`, `1e2`.
fn is_plain(text: &str) -> bool {
    !text.contains(['e', 'E']) && !(text.contains('.') && text.ends_with('0'))
}

/// Whether a fraction has other digits than the shortest text of its double.
fn is_rounded(text: &str) -> bool {
    let (digits, exponent) = significant(text);
    if exponent >= 0 {
        return false; // an integer, which is exact
    }
    let Ok(double) = text.parse::<f64>() else { return true };
    significant(&format!("{double:e}")) != (digits, exponent)
}

/// The digits without zeros around them, and the power of ten of the last one. (Zero has none, and 0.)
fn significant(text: &str) -> (String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat().chars().filter(char::is_ascii_digit).collect();
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return (String::new(), 0);
    }
    let small = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let exponent = exponent.parse::<i64>().unwrap_or(0) - small(fraction.len()) + small(digits.len() - kept.len());
    (kept.trim_start_matches('0').to_owned(), exponent)
}
