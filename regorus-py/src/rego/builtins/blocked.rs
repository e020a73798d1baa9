//! Builtins that a policy cannot use.

/// Why `name` is refused; None where it is not.
pub fn reason_of_block(name: &str) -> Option<&'static str> {
    Some(match name {
        "http.send" => "a decision waits for no other system",
        "net.lookup_ip_addr" => "a decision waits for no other system",
        "net.cidr_expand" => "one network can have more addresses than memory; use net.cidr_contains",
        "graph.reachable_paths" => "a small graph can have more paths than memory; use graph.reachable",
        "trace" => "nobody reads traces",
        "rand.intn" | "uuid.rfc4122" => "the same call must get the same decision",
        "opa.runtime" => "a policy knows nothing of the process it runs in",
        "json.match_schema" | "json.verify_schema" => "this engine has no JSON Schema",
        name if name.starts_with("__builtin") => "it is an internal name of the engine",
        _ => return None,
    })
}
