package hg.PACKAGE

import rego.v1

mine if input.tool == "TOOL"

sensitive_tools := {"stripe", "aws", "gcp", "payroll", "vault"}

write_ops := {"create", "update", "delete", "merge", "transfer", "send"}

blocked_words := ["drop table", "rm -rf", "shutdown", "mkfs"]

secret_patterns := [
	`AKIA[0-9A-Z]{16}`,
	`(?i)bearer\s+[a-z0-9._-]{20,}`,
	`-----BEGIN [A-Z ]*PRIVATE KEY-----`,
]

is_write if input.operation in write_ops

host := input.params.host

is_internal if endswith(host, ".internal.example.com")

is_internal if startswith(host, "10.")

known_host if host in data.allowlist.hosts

amount := to_number(object.get(input.params, "amount", 0))

text := lower(sprintf("%v %v", [object.get(input.params, "title", ""), object.get(input.params, "body", "")]))

deny contains msg if {
	mine
	some word in blocked_words
	contains(text, word)
	msg := sprintf("blocked phrase %q in %v.%v", [word, input.tool, input.operation])
}

deny contains msg if {
	mine
	some pattern in secret_patterns
	regex.match(pattern, input.params.body)
	msg := "the body holds what looks like a credential"
}

deny contains msg if {
	mine
	not known_host
	not is_internal
	msg := sprintf("host %v is not on the allowlist", [host])
}

deny contains "over the hard limit" if {
	mine
	amount > data.limits.hard
}

require_approval contains msg if {
	mine
	is_write
	input.tool in sensitive_tools
	msg := sprintf("%v on %v needs a reviewer", [input.operation, input.tool])
}

require_approval contains "large amount" if {
	mine
	amount > data.limits.soft[input.agent.id]
}

require_approval contains "p1: protected branch" if {
	mine
	input.operation == "merge"
	some branch in data.protected[input.params.repo]
	branch == input.params.branch
}

allow if {
	mine
	count(deny) == 0
	count(require_approval) == 0
	input.agent.id in data.agents
}

risk_level := "critical" if count(deny) > 0

else := "high" if count(require_approval) > 0

else := "low"

reason := concat("; ", sort(deny)) if count(deny) > 0
