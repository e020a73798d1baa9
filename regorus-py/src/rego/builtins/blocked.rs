//! Builtins that a policy cannot use.

/// Why `name` is refused; None where it is not.
pub fn reason_of_block(name: &str) -> Option<&'static str> {
    Some(match name {
        "http.send" => "a decision waits for no other system",
        "net.lookup_ip_addr" => "a decision waits for no other system",
        "trace" => "nobody reads traces",
        "rand.intn" | "uuid.rfc4122" => "the same call must get the same decision",
        "opa.runtime" => "a policy knows nothing of the process it runs in",
        "graphql.is_valid" | "graphql.parse" | "graphql.parse_and_verify" => {
            "queries are not checked against schemas here; use graphql.parse_query"
        }
        "json.match_schema" | "json.verify_schema" => "this engine has no JSON Schema",
        name if name.starts_with("__builtin") => "it is an internal name of the engine",
        _ => return None,
    })
}
