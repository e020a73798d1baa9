//! Builtins that a policy cannot use.

const NO_WAITING: &str = "a decision waits for no other system";
const NO_CHANCE: &str = "the same call must get the same decision";
const NO_QUERY_RULES: &str = "queries are not checked against schemas here; use graphql.parse_query";
const NO_PRIVATE_KEYS: &str = "a policy takes no private keys apart";
const NO_CHAINS: &str = "certificates are not verified here; use crypto.x509.parse_certificates";
const NO_PROCESS: &str = "a policy knows nothing of the process it runs in";
const NO_ANNOTATIONS: &str = "annotations are comments here";
const NO_SCHEMA: &str = "this engine has no JSON Schema";

/// Those of OPA that are left out on purpose, and why.
pub const BLOCKED: [(&str, &str); 19] = [
    ("crypto.parse_private_keys", NO_PRIVATE_KEYS),
    ("crypto.x509.parse_and_verify_certificates", NO_CHAINS),
    ("crypto.x509.parse_and_verify_certificates_with_options", NO_CHAINS),
    ("crypto.x509.parse_keypair", NO_PRIVATE_KEYS),
    ("crypto.x509.parse_rsa_private_key", NO_PRIVATE_KEYS),
    ("graphql.is_valid", NO_QUERY_RULES),
    ("graphql.parse", NO_QUERY_RULES),
    ("graphql.parse_and_verify", NO_QUERY_RULES),
    ("http.send", NO_WAITING),
    ("json.match_schema", NO_SCHEMA),
    ("json.verify_schema", NO_SCHEMA),
    ("net.lookup_ip_addr", NO_WAITING),
    ("opa.runtime", NO_PROCESS),
    ("rand.intn", NO_CHANCE),
    ("rego.metadata.chain", NO_ANNOTATIONS),
    ("rego.metadata.rule", NO_ANNOTATIONS),
    ("rego.parse_module", "a policy reads no policies"),
    ("trace", "nobody reads traces"),
    ("uuid.rfc4122", NO_CHANCE),
];

/// Why `name` is refused; None where it is not.
pub fn reason_of_block(name: &str) -> Option<&'static str> {
    if name.starts_with("__builtin") {
        return Some("it is an internal name of the engine");
    }
    BLOCKED.iter().find(|(blocked, _)| *blocked == name).map(|(_, reason)| *reason)
}
